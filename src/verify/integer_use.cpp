#include "verify/integer_use.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "tfgraph/facts.h"
#include "tfgraph/values.h"

namespace t2o::verify {
namespace {

using Ops = std::unordered_set<std::string_view>;

// Operators whose first input goes on as it is, in another shape at most.
bool hands_on_first(std::string_view op) {
  static const Ops ops = {"BroadcastTo",  "Cast",  "ExpandDims", "Reshape",      "Reverse",
                          "ReverseV2",    "Slice", "Split",      "StridedSlice", "Squeeze",
                          "StopGradient", "Tile",  "Transpose",  "Unpack"};
  return ops.contains(op);
}
bool joins(std::string_view op) { return contains({"Pack", "ConcatV2", "Concat", "IdentityN"}, op); }

// Arithmetic of all its inputs that any integers will do for.
bool calculates(std::string_view op) {
  static const Ops ops = {
      "Abs",      "Add",      "AddN",   "AddV2",   "BitwiseAnd",        "BitwiseOr",   "BitwiseXor", "Div",
      "FloorDiv", "FloorMod", "Invert", "Maximum", "Minimum",           "Mod",         "Mul",        "Neg",
      "RealDiv",  "Sign",     "Sub",    "Square",  "SquaredDifference", "TruncateDiv", "TruncateMod"};
  return ops.contains(op);
}

// What it gives is no more the integer: where it leads to tells nothing of the input.
bool ends(std::string_view op) {
  static const Ops ops = {"ArgMax",   "ArgMin",   "Equal", "Greater", "GreaterEqual", "Less",     "LessEqual",
                          "NotEqual", "OnesLike", "Rank",  "Shape",   "Size",         "ZerosLike"};
  return ops.contains(op);
}
bool reduces(std::string_view op) { return contains({"Sum", "Max", "Min", "Prod"}, op); }

// The size of the table that the node takes a place of; 0: it takes none, or the size is not known.
Dim rows_of(const ir::Node& n, std::size_t input) {
  const Value* table = n.input(0);
  if (n.op() == "OneHot" && input == 0) {
    const auto depth = tfgraph::known_scalar(n.input(1));
    return depth && *depth >= 1 ? static_cast<Dim>(*depth) : 0;
  }
  if (input != 1 || !table->shape().ranked()) return 0;
  std::int64_t axis = 0;
  if (n.op() == "GatherV2") {
    const auto at = n.input(2) ? tfgraph::known_scalar(n.input(2)) : std::nullopt;
    if (!at) return 0;
    axis = static_cast<std::int64_t>(*at);
    if (axis < 0) axis += table->shape().rank();
  } else if (n.op() != "Gather" && n.op() != "ResourceGather") {
    return 0;
  }
  if (n.op() != "GatherV2") axis = tfgraph::int_attr(n, "batch_dims");
  if (axis < 0 || axis >= table->shape().rank()) return 0;
  const Dim rows = table->shape()[static_cast<int>(axis)];
  return is_known(rows) ? rows : 0;
}

class Walk {
 public:
  IntegerUse run(const Value& input) {
    use_.is_number = use_.stays_integer = true;
    todo_.push_back({&input, true});
    while (!todo_.empty()) {
      const Step s = todo_.back();
      todo_.pop_back();
      for (const ir::Use& u : s.value->uses()) visit(*u.node, u.input, s.is_input_itself);
    }
    use_.stays_integer = use_.stays_integer && use_.is_number;
    return use_;
  }

 private:
  struct Step {
    const Value* value;
    bool is_input_itself;  // not computed of it
  };

  void follow(const ir::Node& n, bool is_input_itself) {
    for (const Value* v : n.outputs())
      if (!is_int(v->dtype()))
        use_.stays_integer = false;
      else if (seen_.insert({v, is_input_itself}).second)
        todo_.push_back({v, is_input_itself});
  }

  void visit(const ir::Node& n, std::size_t input, bool is_input_itself) {
    const std::string& op = n.op();
    if (const Dim rows = rows_of(n, input); rows > 0) {
      use_.is_number = false;
      if (is_input_itself) use_.below = std::min(use_.below.value_or(rows), rows);
    } else if (tfgraph::is_identity(n) || (hands_on_first(op) && input == 0) ||
               (op == "Split" && input == 1) ||
               (joins(op) && !(op == "ConcatV2" && input + 1 == n.input_count()))) {
      follow(n, is_input_itself);
    } else if (calculates(op) || (reduces(op) && input == 0)) {
      follow(n, false);
    } else if ((op == "SelectV2" || op == "Select") && input > 0) {
      follow(n, is_input_itself);
    } else if (!ends(op)) {
      use_.is_number = false;
    }
  }

  IntegerUse use_;
  std::vector<Step> todo_;
  std::set<std::pair<const Value*, bool>> seen_;
};

}  // namespace

IntegerUse use_of(const Value& input) { return Walk().run(input); }

}  // namespace t2o::verify
