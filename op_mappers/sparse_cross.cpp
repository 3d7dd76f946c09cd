#include "op_mappers/sparse_cross.h"

#include <limits>

#include "op_mappers/apply.h"

// Crosses of integers, as Keras' HashedCrossing makes them: each feature of a row with each one of the other
// columns. They are hashed into one number of 64 bits, held as an i64, whose products are the same modulo
// 2^64.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
const std::int64_t kFactor = static_cast<std::int64_t>(0xc6a4a7935bd1e995ULL);

Value* number(MapperContext& c, std::int64_t n) { return c.i64(n); }

Value* exclusive_or(MapperContext& c, Value* a, Value* b) { return apply_one(c, "BitwiseXor", {a, b}); }

Value* mixed(MapperContext& c, Value* x) {  // x ^ (x >> 47), zeros come in
  Value* by = c.cast(number(c, 47), DType::u64);
  Value* moved = c.emit("BitShift", {c.cast(x, DType::u64), by}, {{"direction", std::string("RIGHT")}});
  return exclusive_or(c, x, c.cast(moved, DType::i64));
}

// TensorFlow's FingerprintCat64.
Value* joined(MapperContext& c, Value* a, Value* b) {
  Value* factor = number(c, kFactor);
  Value* first = exclusive_or(c, a, factor);
  Value* second = c.mul(mixed(c, c.mul(b, factor)), factor);
  Value* both = c.mul(exclusive_or(c, first, second), factor);
  return mixed(c, c.mul(mixed(c, both), factor));
}

// Of x without a sign: 2^63 more than it seems where it seems negative. As many buckets as the greatest i64
// stand for none.
Value* bucket(MapperContext& c, Value* x, Value* count) {
  Value* zero = number(c, 0);
  Value* is_high = c.less(x, zero);
  Value* low = c.where(is_high, c.sub(x, number(c, kLeast)), x);
  Value* rest = c.mod(low, count);
  Value* more = c.add(c.mod(number(c, kMost), count), number(c, 1));  // 2^63 modulo count, or count
  Value* missing = c.sub(count, rest);
  Value* fits = c.less(more, missing);
  Value* high = c.where(fits, c.add(rest, more), c.sub(more, missing));
  return c.where(is_high, high, rest);
}

// [batch, crosses]: the last column's features change fastest.
Value* crossed(MapperContext& c, Value* start, std::size_t first, std::size_t columns) {
  Value* all = start;
  for (std::size_t i = 0; i < columns; ++i) {
    Value* column = c.in(first + i);
    if (column->dtype() != DType::i64)
      c.fail(Code::unsupported_type, "a cross of strings, which are hashed",
             "use numbers instead of strings: {cut after}");
    if (!all) {
      all = column;
      continue;
    }
    Value* down = c.unsqueeze(all, {2});
    Value* both = joined(c, down, c.unsqueeze(column, {1}));
    Value* sizes = c.mul(c.dims(all, 1, 2), c.dims(column, 1, 2));
    all = c.reshape_to(both, c.concat({c.dims(column, 0, 1), sizes}, 0));
  }
  return all;
}

void want_dense(MapperContext& c) {
  if (c.attr<std::int64_t>("N") != 0)
    c.fail(Code::unsupported_op, "a cross of sparse columns, whose rows have any number of features",
           "cross dense columns");
}

Values sparse(MapperContext& c, Value* values) {
  Value* shape = c.shape_of(values);
  Value* all = c.expand(c.constant<bool>(true), shape);
  Value* at = c.transpose(c.emit("NonZero", {all}), {1, 0});
  return {at, c.reshape(values, {-1}), shape};
}

// The key goes before the first column.
Values map_cross(MapperContext& c) {
  want_dense(c);
  if (!c.flag("hashed_output")) c.fail(Code::unsupported_attr, "a cross as text", "set hashed_output");
  const auto buckets = c.attr<std::int64_t>("num_buckets"), key = c.attr<std::int64_t>("hash_key");
  Value* x = crossed(c, c.constant(Ints{1, 1}, std::vector<std::int64_t>{key}), 0, c.input_count());
  return sparse(c, bucket(c, x, number(c, buckets == 0 ? kMost : buckets)));
}

Values map_cross_hashed(MapperContext& c) {
  want_dense(c);
  const std::size_t columns = c.input_count() - 3;
  if (c.maybe_ints(columns + 1) != Ints{0})
    c.fail(Code::unsupported_attr, "a strong hash is not supported", "cross with strong_hash=False");
  Value* buckets = c.reshape(c.in(columns), {});
  Value* count = c.where(c.equal(buckets, number(c, 0)), number(c, kMost), buckets);
  return sparse(c, bucket(c, crossed(c, nullptr, 0, columns), count));
}

}  // namespace

void register_sparse_cross(OpRegistry& r) {
  const std::string limits = "dense columns of integers";
  const std::vector<std::string> columns{"sparse_types", "dense_types"};
  r.op("SparseCross").note(limits + ", hashed_output").ignores(columns).by(map_cross);
  r.op("SparseCrossHashed").note(limits + ", strong_hash=False").ignores(columns).by(map_cross_hashed);
}

}  // namespace t2o::op_mappers
