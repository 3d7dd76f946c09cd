#include "coverage.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include "op_mappers/registry.h"

namespace t2o::numeric {
namespace {

class Coverage {
 public:
  Coverage() {
    if (const char* path = std::getenv("T2O_COVERAGE_FILE")) path_ = path;
  }
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;
  ~Coverage() { write(); }
  void add(const std::string& op, int since) { rows_.insert({op, since}); }

 private:
  void write() {
    if (path_.empty()) return;
    std::ifstream before(path_);
    std::string op;
    for (int since = 0; before >> op >> since;) rows_.insert({op, since});
    before.close();
    std::ofstream after(path_, std::ios::trunc);
    for (const auto& [name, since] : rows_) after << name << ' ' << since << '\n';
  }
  std::string path_;
  std::set<std::pair<std::string, int>> rows_;
};

}  // namespace

void record_coverage(const std::string& op, int opset) {
  static Coverage coverage;
  if (const OpRegistry::Entry* entry = tf_registry().find(op, opset)) coverage.add(op, entry->since);
}

}  // namespace t2o::numeric
