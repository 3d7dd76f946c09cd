#include "onnx/data_dims.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "onnx/integer_facts.h"
#include "onnx/op_traits.h"
#include "support/lists.h"

namespace t2o::onnx {
namespace {

constexpr std::size_t kMostValues = 4096;  // of one walk; beyond them sizes may be anything

// Their results have as many elements as the values of the inputs say.
constexpr std::string_view kOfData[] = {
    "NonZero", "Unique", "NonMaxSuppression",  "Compress",  "StringSplit", "Loop",
    "Scan",    "If",     "ConcatFromSequence", "SequenceAt"};
// These have the sizes that one of their inputs states; it is the number of this input.
constexpr std::pair<std::string_view, std::size_t> kStated[] = {
    {"Reshape", 1},         {"Expand", 1}, {"Tile", 1},   {"Pad", 1},
    {"ConstantOfShape", 0}, {"TopK", 1},   {"OneHot", 1}, {"Split", 1}};

bool is_stated_by_sizes(const Value* v) { return !v || v->constant() || is_made_of_sizes(v); }

bool states_data(const ir::Node& n) {
  for (const auto& [op, input] : kStated)
    if (n.op() == op) return !is_stated_by_sizes(n.input(input));
  if (n.op() == "Slice" || n.op() == "Range")
    return !std::ranges::all_of(n.inputs().begin() + (n.op() == "Slice" ? 1 : 0), n.inputs().end(),
                                is_stated_by_sizes);
  return contains(kOfData, n.op());
}

bool has_known_sizes(const Value* v) {
  return v->shape().ranked() && std::ranges::all_of(v->shape().dims(), [](Dim d) { return d > 0; });
}

}  // namespace

bool has_dims_of_data(const Value* value) {
  std::vector<const Value*> todo = {value};
  std::unordered_set<const Value*> seen = {value};
  while (!todo.empty()) {
    const Value* v = todo.back();
    todo.pop_back();
    if (v->constant() || has_known_sizes(v)) continue;
    const ir::Node* n = v->producer();
    if (!n) {
      if (v->graph()->parent()) return true;  // what a loop carries
      continue;
    }
    if (states_data(*n) || seen.size() > kMostValues) return true;
    for (const Value* in : n->inputs())
      if (in && seen.insert(in).second) todo.push_back(in);
  }
  return false;
}

bool is_fed(const Value* v) {
  for (const ir::Node* n = v->producer(); n; n = v->producer()) {
    if (!has(n->op(), Trait::moves) && !contains({"Cast", "Pad", "Concat"}, n->op())) return false;
    v = n->input(0);
  }
  return !v->constant();
}

}  // namespace t2o::onnx
