#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/portable/rows.h"

// A reduction over axes with gaps between them is one for each group of neighbours, the last group first: the
// numbers of the axes in front stay.
namespace t2o::rewriters {
namespace {

bool is_exact_in_turn(const ir::Node& n) {
  if (n.op() == "ReduceMean") return is_float(n.output()->dtype());  // of integers each mean is cut off
  return contains({"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"}, n.op());
}

std::vector<Ints> groups_of(Ints axes) {
  std::vector<Ints> groups;
  for (const std::int64_t a : axes) {
    if (groups.empty() || groups.back().back() + 1 != a) groups.emplace_back();
    groups.back().push_back(a);
  }
  return groups;
}

}  // namespace

Rewriter reduce_in_turn(const onnx::Target& target) {
  const std::vector<std::string> ops = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"};
  return for_each_node("reduce_in_turn", ops, [target](ir::Graph& g, ir::Node& n) {
    const auto given = is_exact_in_turn(n) && n.input(0)->shape().ranked() ? axes_of(n) : std::nullopt;
    if (!given) return false;
    Ints axes;
    for (const std::int64_t a : *given) axes.push_back(from_front(a, n.input(0)->shape().rank()));
    std::ranges::sort(axes);
    auto groups = groups_of(axes);
    if (groups.size() < 2) return false;
    Emitter e(n, target);
    Value* y = n.input(0);
    for (auto group = groups.rbegin(); group != groups.rend(); ++group)
      y = e.reduce(n.op(), y, *group, n.attr_or<std::int64_t>("keepdims", 1) != 0);
    return take_over(g, n.output(), y);
  });
}

}  // namespace t2o::rewriters
