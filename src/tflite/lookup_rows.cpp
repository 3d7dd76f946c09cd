#include "tflite/op.h"

// Rows that are found by keys or by sparse places.
namespace t2o::tflite {
namespace {

using namespace schema;

// The sum of each row's products with the weights, divided as the combiner says. indices [n, rank of shape]:
// the place of each id; along the last axis they are combined.
struct Combined {
  Value *places, *count, *dims;
};

// Row-major numbers of the places without their last coordinate.
Combined combined_places(Op& op) {
  Value *indices = op.in(1), *shape = op.in(2);
  Value* outer =
      op.make("Slice", {shape, op.ints({0}), op.make("Sub", {op.make("Shape", {shape}), op.ints({1})})});
  Value* axis = op.scalar(DType::i32, 0);
  Value* strides =
      op.make("Cumprod", {outer, axis}, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}});
  Value* all = op.make("Shape", {indices});
  Value* but_last = op.make("Sub", {all, op.ints({0, 1})});
  Value* rows = op.make("Slice", {indices, op.ints({0, 0}), but_last});
  Value* places = op.make("Sum", {op.make("Mul", {rows, strides}), op.ints({1})});
  return {places, op.make("Prod", {outer, op.ints({0})}), outer};
}

Values embedding_lookup_sparse(Op& op) {
  const CombinerType combiner = op.options<EmbeddingLookupSparseOptions>().combiner();
  const auto rank = static_cast<std::int64_t>(op.rank(4));
  if (rank < 2) op.fail(Code::bad_model, "its table has no rows");
  const Combined c = combined_places(op);
  Value *ids = op.in(0), *weights = op.in(3), *table = op.weights(4);
  Ints column{-1};
  column.resize(static_cast<std::size_t>(rank), 1);
  Value* rows = op.make("GatherV2", {table, ids, op.scalar(DType::i32, 0)});
  Value* weighted = op.make("Mul", {rows, op.reshape(weights, column)});
  Value* sums = op.make("UnsortedSegmentSum", {weighted, c.places, c.count});
  if (combiner != CombinerType::SUM) {
    Value* each = combiner == CombinerType::SQRTN ? op.make("Square", {weights}) : weights;
    Value* total = op.make("UnsortedSegmentSum", {each, c.places, c.count});
    if (combiner == CombinerType::SQRTN) total = op.make("Sqrt", {total});
    Value* number = op.make("UnsortedSegmentSum", {op.make("OnesLike", {weights}), c.places, c.count});
    Value* is_empty = op.make("Equal", {number, op.scalar_like(number, 0)});
    total = op.make("SelectV2", {is_empty, op.scalar_like(total, 1), total});
    sums = op.make("RealDiv", {sums, op.reshape(total, column)});
  }
  Value* row = op.make("Slice", {op.make("Shape", {table}), op.ints({1}), op.ints({-1})});
  Value* dims = op.make("ConcatV2", {c.dims, row, op.scalar(DType::i32, 0)});
  return {op.make("Reshape", {sums, dims})};
}

// lookup [n], keys [k], values [k, ...]: for each the value of its key (0: there is none), and whether there
// is one
Values hashtable_lookup(Op& op) {
  if (op.output_type() == DType::string)
    op.fail(Code::unsupported_type, "a table of strings has no ONNX form");
  const auto rank = op.rank(2);
  Value *lookup = op.in(0), *keys = op.in(1), *values = op.in(2);
  Value* is_key = op.make("Equal", {op.reshape(lookup, {-1, 1}), keys});
  Value* found = op.make("Any", {is_key, op.ints({1})});
  Value* place =
      op.make("ArgMax", {op.make("Cast", {is_key}, {{"DstT", DType::i32}}), op.scalar(DType::i32, 1)},
              {{"output_type", DType::i32}});
  Value* rows = op.make("GatherV2", {values, place, op.scalar(DType::i32, 0)});
  Ints column{-1};
  column.resize(rank, 1);
  Value* result = op.make("SelectV2", {op.reshape(found, column), rows, op.scalar_like(rows, 0)});
  return {result, op.make("Cast", {found}, {{"DstT", op.output_type(1)}})};
}

constexpr Row kRows[] = {
    {B::EMBEDDING_LOOKUP_SPARSE, nullptr, nullptr, embedding_lookup_sparse},
    {B::HASHTABLE_LOOKUP, nullptr, nullptr, hashtable_lookup},
};

}  // namespace

std::span<const Row> lookup_rows() { return kRows; }

}  // namespace t2o::tflite
