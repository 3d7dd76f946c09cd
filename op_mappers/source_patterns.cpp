#include "op_mappers/source_patterns.h"

#include "tfgraph/values.h"

namespace t2o::op_mappers {
namespace {

using tfgraph::is_number;
using tfgraph::is_op;

bool is_list(const ir::Value* v, const Ints& expected) {
  return v && v->constant() && is_int(v->dtype()) && v->constant()->to_ints() == expected;
}

bool is_height_and_width(const ir::Value* v, const ir::Value* image) {
  if (!is_op(v, "StridedSlice")) return false;
  const ir::Node& n = *v->producer();
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    if (n.attr_or<std::int64_t>(mask, 0) != 0) return false;
  return is_op(n.input(0), "Shape") && n.input(0)->producer()->input(0) == image &&
         is_list(n.input(1), {1}) && is_list(n.input(2), {3}) && is_list(n.input(3), {1});
}

bool is_rank(const ir::Value* v, const ir::Value* of) {
  return is_op(v, "Rank") && v->producer()->input(0) == of;
}

}  // namespace

bool is_all_axes(const ir::Value* axes, const ir::Value* of) {
  if (!is_op(axes, "Range")) return false;
  const ir::Node& range = *axes->producer();
  return is_number(range.input(0), 0) && is_rank(range.input(1), of) && is_number(range.input(2), 1);
}

bool is_reversed_axes(const ir::Value* perm, const ir::Value* of) {
  if (!is_op(perm, "Sub")) return false;
  const ir::Node& sub = *perm->producer();
  if (!is_op(sub.input(0), "Sub") || !is_all_axes(sub.input(1), of)) return false;
  const ir::Node& last = *sub.input(0)->producer();
  return is_rank(last.input(0), of) && is_number(last.input(1), 1);
}

std::optional<Ints> factors_of_size(const ir::Value* size, const ir::Value* image) {
  if (!is_op(size, "Mul")) return std::nullopt;
  const ir::Node& n = *size->producer();
  const int second = is_height_and_width(n.input(0), image) ? 1 : 0;
  const ir::Value* factors = n.input(second);
  if (!is_height_and_width(n.input(1 - second), image) || !factors->constant() || !is_int(factors->dtype()))
    return std::nullopt;
  Ints all = factors->constant()->to_ints();
  if (all.size() == 1) all.resize(2, all[0]);
  return all.size() == 2 && all[0] > 0 && all[1] > 0 ? std::optional(all) : std::nullopt;
}

}  // namespace t2o::op_mappers
