#include <set>

#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Hash tables whose contents the file holds.
namespace t2o::tflite {
namespace {

using namespace schema;

Values hashtable(Op& op) {
  const std::int32_t id = op.options<HashtableOptions>().table_id();
  op.bind_handle(0, op.lowering().states().of_variable("table", std::to_string(id)));
  return {nullptr};
}

// The first import counts, as in LiteRT.
Values import(Op& op) {
  if (op.scope().graph->parent())
    op.fail(Code::not_yet, "it fills a table in a loop or a branch, which is not supported yet");
  const TensorPtr &keys = op.in(1)->constant(), &values = op.in(2)->constant();
  if (!keys || !values)
    op.fail(Code::not_constant, "it fills a table with keys or values that the model computes",
            "look the keys up outside of the model");
  op.lowering().tables().try_emplace(op.state(0), keys, values);
  return {};
}

const Table& table(Op& op) {
  const auto& all = op.lowering().tables();
  const auto found = all.find(op.state(0));
  if (found == all.end()) op.fail(Code::bad_model, "nothing has filled its table");
  return found->second;
}

Values find(Op& op) {
  const Table& t = table(op);
  const DType keys = t.keys->dtype(), values = t.values->dtype();
  const bool is_possible =
      (keys == DType::string && values == DType::i64) || (keys == DType::i64 && values == DType::string);
  if (!is_possible || t.keys->elements() != t.values->elements() || t.keys->elements() == 0)
    op.fail(Code::bad_model, "its table is none of strings by integers or of integers by strings");
  if (op.in(1)->dtype() != keys || op.in(2)->dtype() != values)
    op.fail(Code::bad_model, "its keys or its default are of another type than the table");
  ir::Graph& g = *op.scope().graph;
  return op.make_foreign(
      std::string(tfgraph::kLookup),
      {op.in(1), g.add_constant("keys", t.keys), g.add_constant("values", t.values), op.in(2)}, {},
      {{"", values, op.in(1)->shape()}});
}

Values size(Op& op) {
  const Table& t = table(op);
  std::set<std::string> strings;
  std::set<std::int64_t> numbers;
  if (t.keys->dtype() == DType::string) {
    strings.insert(t.keys->strings().begin(), t.keys->strings().end());
  } else {
    for (std::int64_t i = 0; i < t.keys->elements(); ++i) numbers.insert(t.keys->int_at(i));
  }
  return {op.make("Identity",
                  {op.ints({static_cast<std::int64_t>(strings.size() + numbers.size())}, DType::i64)})};
}

constexpr Row kRows[] = {
    {B::HASHTABLE, nullptr, nullptr, hashtable},
    {B::HASHTABLE_FIND, nullptr, nullptr, find},
    {B::HASHTABLE_IMPORT, nullptr, nullptr, import},
    {B::HASHTABLE_SIZE, nullptr, nullptr, size},
};

}  // namespace

std::span<const Row> table_rows() { return kRows; }

}  // namespace t2o::tflite
