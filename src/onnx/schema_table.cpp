#include "onnx/schema_table.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <tuple>
// onnx's own
#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>
#include <onnx/defs/schema.h>

namespace t2o::onnx {
namespace {

using ::onnx::OpSchema;

struct Row {
  std::string_view domain, op;
  int since;
  OpSchema (*make)();

  auto key() const { return std::tuple(op, domain, since); }
};

template <class Schema>
OpSchema make() {
  return ::onnx::GetOpSchema<Schema>();
}

auto sorted_table() {
  using namespace ::onnx;  // the classes that the rows name
  std::array table{
#include "schema_table.inc"
  };
  std::sort(table.begin(), table.end(), [](const Row& a, const Row& b) { return a.key() < b.key(); });
  return table;
}

}  // namespace

const OpSchema* find_schema(std::string_view domain, std::string_view op, int opset) {
  static const auto kTable = sorted_table();
  static std::array<std::unique_ptr<const OpSchema>, kTable.size()> made;
  static std::mutex mutex;
  const auto behind = std::upper_bound(kTable.begin(), kTable.end(), std::tuple(op, domain, opset),
                                       [](const auto& key, const Row& r) { return key < r.key(); });
  if (behind == kTable.begin()) return nullptr;
  const Row& row = *std::prev(behind);
  if (row.op != op || row.domain != domain) return nullptr;
  const std::lock_guard lock(mutex);
  auto& schema = made[static_cast<std::size_t>(&row - kTable.data())];
  if (!schema) {
    auto fresh = std::make_unique<OpSchema>(row.make());
    fresh->Finalize();
    schema = std::move(fresh);
  }
  return schema.get();
}

}  // namespace t2o::onnx
