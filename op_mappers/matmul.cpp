
#include "op_mappers/all.h"
#include "op_mappers/fused.h"

namespace t2o::op_mappers {
namespace {

// Without a rank: [lead..., rows, columns] as [product of lead, rows, columns].
Value* swap_last_two_unranked(Emitter& e, Value* x) {
  Value* shape = e.shape_of(x);
  Value* lead = e.slice(shape, {0}, {-2}, {0});
  Value* matrix = e.slice(shape, {-2}, {INT64_MAX}, {0});
  Value* flat = e.reshape_to(x, e.concat({e.product(lead), matrix}, 0));
  Value* swapped = e.transpose(flat, {0, 2, 1});
  return e.reshape_to(swapped, e.concat({lead, e.gather(matrix, e.ints({1, 0}), 0)}, 0));
}

Value* swap_last_two(Emitter& e, Value* x) {
  if (!x->shape().ranked()) return swap_last_two_unranked(e, x);
  const std::int64_t rank = x->shape().rank();
  if (rank < 2) e.fail(Code::bad_model, "a matrix is needed, the input has rank " + std::to_string(rank));
  Ints perm = ints_from(0, rank);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.transpose(x, perm);
}

Value* matrix_product(MapperContext& c, const char* transpose_a, const char* transpose_b) {
  Value *a = c.in(0), *b = c.in(1);
  if (c.flag(transpose_a)) a = c.transpose(a, {1, 0});
  if (c.flag(transpose_b)) b = c.transpose(b, {1, 0});
  return c.matmul(a, b);
}
Values map_matmul(MapperContext& c) { return {matrix_product(c, "transpose_a", "transpose_b")}; }
Values map_fused_matmul(MapperContext& c) {
  return {apply_fused_ops(c, matrix_product(c, "transpose_a", "transpose_b"), 2, Layout::channels_last)};
}

Value* batch_product(MapperContext& c, Value* a, Value* b) {
  if (c.flag("adj_x")) a = swap_last_two(c, a);
  if (c.flag("adj_y")) b = swap_last_two(c, b);
  return c.matmul(a, b);
}
Values map_batch_matmul(MapperContext& c) { return {batch_product(c, c.in(0), c.in(1))}; }
Values map_batch_matmul_v3(MapperContext& c) {
  const DType result = part_type(c.attr<DType>("Tout"));
  Value* a = c.cast(c.in(0), result);
  Value* b = c.cast(c.in(1), result);
  return {batch_product(c, a, b)};
}

// Either operand may be bfloat16, the product is float32; sparseness is a hint only.
Values map_sparse_matmul(MapperContext& c) {
  Value* a = c.cast(c.in(0), DType::f32);
  Value* b = c.cast(c.in(1), DType::f32);
  if (c.flag("transpose_a")) a = c.transpose(a, {1, 0});
  if (c.flag("transpose_b")) b = c.transpose(b, {1, 0});
  return {c.matmul(a, b)};
}

// (a1 b2 - a2 b1, a2 b0 - a0 b2, a0 b1 - a1 b0) along the last axis
Values map_cross(MapperContext& c) {
  Value* next = c.ints({1, 2, 0});
  Value* after = c.ints({2, 0, 1});
  Value* a_next = c.gather(c.in(0), next, -1);
  Value* b_after = c.gather(c.in(1), after, -1);
  Value* a_after = c.gather(c.in(0), after, -1);
  Value* b_next = c.gather(c.in(1), next, -1);
  Value* left = c.mul(a_next, b_after);
  Value* right = c.mul(a_after, b_next);
  return {c.sub(left, right)};
}

}  // namespace

void register_matmul(OpRegistry& r) {
  r.op("MatMul").ignores({"grad_a", "grad_b"}).by(map_matmul);
  r.op("_FusedMatMul").ignores({"num_args"}).by(map_fused_matmul);
  r.op("BatchMatMul", "BatchMatMulV2").ignores({"grad_x", "grad_y"}).by(map_batch_matmul);
  r.op("BatchMatMulV3").ignores({"grad_x", "grad_y"}).by(map_batch_matmul_v3);
  r.op("SparseMatMul").ignores({"a_is_sparse", "b_is_sparse"}).by(map_sparse_matmul);
  r.op("Cross").by(map_cross);
}

}  // namespace t2o::op_mappers
