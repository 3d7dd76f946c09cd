#include "tests/support/coverage.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "op_mappers/registry.h"

namespace t2o::test {
namespace {

class Coverage {
 public:
  Coverage() {
    if (const char* path = std::getenv("T2O_COVERAGE_FILE")) path_ = path;
  }
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;
  ~Coverage() {
    if (path_.empty()) return;
    std::ofstream file(path_, std::ios::trunc);
    for (const auto& [row, dtypes] : rows_) {
      file << row.first << '\t' << row.second << '\t';
      for (const DType t : dtypes) file << (t == *dtypes.begin() ? "" : " ") << name(t);
      file << '\n';
    }
  }

  void add(const ir::Graph& g, int opset) {
    for (const ir::Node& n : g.nodes()) {
      const std::string op = OpRegistry::form_of(n);
      if (const OpRegistry::Entry* row = op.starts_with("t2o.") ? nullptr : tf_registry().find(op, opset)) {
        std::set<DType>& dtypes = rows_[{op, row->since}];
        if (n.input_count() != 0 && n.input(0)) dtypes.insert(n.input(0)->dtype());
        else if (!n.outputs().empty()) dtypes.insert(n.output(0)->dtype());
      }
      ir::for_each_subgraph(n, [&](const ir::Graph& inner) { add(inner, opset); });
    }
  }

 private:
  std::string path_;
  std::map<std::pair<std::string, int>, std::set<DType>> rows_;
};

}  // namespace

void record_coverage(const ir::Graph& source, int opset) {
  static Coverage coverage;
  coverage.add(source, opset);
}

}  // namespace t2o::test
