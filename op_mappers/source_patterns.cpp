#include "op_mappers/source_patterns.h"

namespace t2o::op_mappers {
namespace {

bool is_op(const ir::Value* v, std::string_view op) {
  return v && v->producer() && v->producer()->op() == op;
}

bool is_constant(const ir::Value* v, std::int64_t expected) {
  return v && v->constant() && is_int(v->dtype()) && v->constant()->elements() == 1 &&
         v->constant()->int_at(0) == expected;
}

bool is_rank(const ir::Value* v, const ir::Value* of) {
  return is_op(v, "Rank") && v->producer()->input(0) == of;
}

}  // namespace

bool is_all_axes(const ir::Value* axes, const ir::Value* of) {
  if (!is_op(axes, "Range")) return false;
  const ir::Node& range = *axes->producer();
  return is_constant(range.input(0), 0) && is_rank(range.input(1), of) && is_constant(range.input(2), 1);
}

bool is_reversed_axes(const ir::Value* perm, const ir::Value* of) {
  if (!is_op(perm, "Sub")) return false;
  const ir::Node& sub = *perm->producer();
  if (!is_op(sub.input(0), "Sub") || !is_all_axes(sub.input(1), of)) return false;
  const ir::Node& last = *sub.input(0)->producer();
  return is_rank(last.input(0), of) && is_constant(last.input(1), 1);
}

}  // namespace t2o::op_mappers
