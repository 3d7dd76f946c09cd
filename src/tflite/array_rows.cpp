#include "tflite/op.h"

// Operators that move elements, make tensors of sizes, or search.
namespace t2o::tflite {
namespace {

using namespace schema;

std::int64_t flag(bool b) { return b ? 1 : 0; }

// A file states the sizes in the second input; one of the first version states them in the options.
Values reshape(Op& op) {
  if (op.has(1)) {
    Value* dims = op.in(1);
    return {op.make("Reshape", {op.in(0), dims})};
  }
  Ints dims = ints_of(op.options<ReshapeOptions>().new_shape());
  if (dims == Ints{0} && count(op.output().shape()) == 0) dims.clear();  // how a scalar was written once
  return {op.reshape(op.in(0), dims)};
}

Attrs squeeze(const Op& op) {
  return {{"squeeze_dims", ints_of(op.options<SqueezeOptions>().squeeze_dims())}};
}

Values concatenation(Op& op) {
  const auto& o = op.options<ConcatenationOptions>();
  if (o.fused_activation_function() != ActivationFunctionType::NONE) op.as_codes(false);  // it is of numbers
  Values all = op.all();
  if (all.size() == 1) return {op.activation(op.make("Identity", {all[0]}), o.fused_activation_function())};
  all.push_back(op.scalar(DType::i32, o.axis()));
  return {op.activation(op.make("ConcatV2", all), o.fused_activation_function())};
}

Attrs pack(const Op& op) { return {{"axis", std::int64_t{op.options<PackOptions>().axis()}}}; }
Attrs unpack(const Op& op) {
  const auto& o = op.options<UnpackOptions>();
  return {{"axis", std::int64_t{o.axis()}}, {"num", std::int64_t{o.num()}}};
}
Attrs split(const Op& op) { return {{"num_split", static_cast<std::int64_t>(op.output_count())}}; }

Values gather(Op& op) {
  const auto& o = op.options<GatherOptions>();
  Value* axis = op.scalar(DType::i32, o.axis());
  return {op.make("GatherV2", {op.in(0), op.in(1), axis}, {{"batch_dims", std::int64_t{o.batch_dims()}}})};
}
Values embedding_lookup(Op& op) {
  Value* axis = op.scalar(DType::i32, 0);
  Value* table = op.moves_codes() ? op.in(1) : op.layer_weights(1);
  return {op.make("GatherV2", {table, op.in(0), axis})};
}

Values strided_slice(Op& op) {
  const auto& o = op.options<StridedSliceOptions>();
  Value *begin = op.in(1), *end = op.in(2);
  if (o.offset()) end = op.make("AddV2", {begin, end});
  return {op.make("StridedSlice", {op.in(0), begin, end, op.in(3)},
                  {{"begin_mask", std::int64_t{o.begin_mask()}},
                   {"end_mask", std::int64_t{o.end_mask()}},
                   {"ellipsis_mask", std::int64_t{o.ellipsis_mask()}},
                   {"new_axis_mask", std::int64_t{o.new_axis_mask()}},
                   {"shrink_axis_mask", std::int64_t{o.shrink_axis_mask()}}})};
}

// A quantized tensor is padded with the code of 0, or with the code that the third input holds.
Value* padded(Op& op, Value* x, Value* paddings, const Quantization& q) {
  return op.make("PadV2", {x, paddings, op.scalar_like(x, static_cast<double>(q.zero_points[0]))});
}
Values pad(Op& op) {
  const auto q = op.moves_codes() ? op.quantization(0) : std::nullopt;
  if (!q) return {op.make("Pad", {op.in(0), op.in(1)})};
  return {padded(op, op.in(0), op.in(1), *q)};
}
// The paddings are of the axes behind the batch, as many as there are blocks.
Values space_to_batch(Op& op) {
  Value *x = op.in(0), *blocks = op.in(1), *paddings = op.in(2);
  const auto q = op.moves_codes() ? op.quantization(0) : std::nullopt;
  if (!q || q->zero_points[0] == 0) return {op.make("SpaceToBatchND", {x, blocks, paddings})};
  const std::int64_t axes = op.dims(2, 2)[0], rest = static_cast<std::int64_t>(op.rank(0)) - 1 - axes;
  if (rest < 0) op.fail(Code::bad_model, "it has more blocks than axes behind the batch");
  const auto none = [&](std::int64_t n) {
    return op.reshape(op.ints(Ints(static_cast<std::size_t>(2 * n))), {n, 2});
  };
  Value* all = op.make("ConcatV2", {none(1), paddings, none(rest), op.scalar(DType::i32, 0)});
  return {op.make("SpaceToBatchND", {padded(op, x, all, *q), blocks, none(axes)})};
}
Attrs mirror_pad(const Op& op) {
  const bool symmetric = op.options<MirrorPadOptions>().mode() == MirrorPadMode::SYMMETRIC;
  return {{"mode", std::string(symmetric ? "SYMMETRIC" : "REFLECT")}};
}

Attrs space_to_depth(const Op& op) {
  return {{"block_size", std::int64_t{op.options<SpaceToDepthOptions>().block_size()}}};
}
Attrs depth_to_space(const Op& op) {
  return {{"block_size", std::int64_t{op.options<DepthToSpaceOptions>().block_size()}}};
}
Attrs reverse_sequence(const Op& op) {
  const auto& o = op.options<ReverseSequenceOptions>();
  return {{"seq_dim", std::int64_t{o.seq_dim()}}, {"batch_dim", std::int64_t{o.batch_dim()}}};
}

Values shape(Op& op) {
  return {op.make("Shape", {op.codes(0)},
                  {{"out_type", type_option(op, op.options<ShapeOptions>().out_type())}})};
}
Values rank(Op& op) { return {op.make("Rank", {op.codes(0)})}; }
Values bitcast(Op& op) {
  if (op.quantization_in_file(0) && !op.quantization(0))
    op.fail(Code::unsupported_op, "it takes the bits of codes, which a dequantized model does not have",
            "convert without --dequantize");
  return {op.make("Bitcast", {op.codes(0)}, {{"type", op.output_type()}})};
}

Attrs one_hot(const Op& op) { return {{"axis", std::int64_t{op.options<OneHotOptions>().axis()}}}; }
Attrs unique(const Op& op) {
  return {{"out_idx", type_option(op, op.options<UniqueOptions>().idx_out_type())}};
}

// Its results have as many rows as were asked for.
Attrs nms_v4(const Op&) { return {{"pad_to_max_output_size", std::int64_t{1}}}; }

// Three ranks of indices mean the same in both: one place, places on an axis, and places.
Attrs sparse_to_dense(const Op& op) {
  return {{"validate_indices", flag(op.options<SparseToDenseOptions>().validate_indices())}};
}

Attrs seeds(const Op& op) {
  const auto& o = op.options<RandomOptions>();
  return {{"seed", std::int64_t{o.seed()}}, {"seed2", std::int64_t{o.seed2()}}};
}
Values random_values(Op& op) {
  Attrs attrs = seeds(op);
  attrs.push_back({"dtype", op.output_type()});
  return {op.make(op.row().tf, {op.in(0)}, attrs)};
}
Values multinomial(Op& op) {
  Attrs attrs = seeds(op);
  attrs.push_back({"output_dtype", op.output_type()});
  return {op.make("Multinomial", {op.in(0), op.in(1)}, attrs)};
}

Values dynamic_update_slice(Op& op) {
  return {op.make("XlaDynamicUpdateSlice", {op.in(0), op.in(1), op.in(2)})};
}

constexpr Codes kMoved = Codes::moved;

constexpr Row kRows[] = {
    {B::BATCH_TO_SPACE_ND, "BatchToSpaceND", nullptr, nullptr, kMoved},
    {B::BITCAST, nullptr, nullptr, bitcast},
    {B::BROADCAST_ARGS, "BroadcastArgs"},
    {B::BROADCAST_TO, "BroadcastTo", nullptr, nullptr, kMoved},
    {B::CONCATENATION, nullptr, nullptr, concatenation, kMoved},
    {B::DEPTH_TO_SPACE, "DepthToSpace", depth_to_space, nullptr, kMoved},
    {B::DYNAMIC_UPDATE_SLICE, nullptr, nullptr, dynamic_update_slice, kMoved},
    {B::EMBEDDING_LOOKUP, nullptr, nullptr, embedding_lookup, kMoved},
    {B::EXPAND_DIMS, "ExpandDims", nullptr, nullptr, kMoved},
    {B::FILL, "Fill", nullptr, nullptr, kMoved},
    {B::GATHER, nullptr, nullptr, gather, kMoved},
    {B::GATHER_ND, "GatherNd", nullptr, nullptr, kMoved},
    {B::MATRIX_DIAG, "MatrixDiag"},
    {B::MATRIX_SET_DIAG, "MatrixSetDiag"},
    {B::MIRROR_PAD, "MirrorPad", mirror_pad, nullptr, kMoved},
    {B::MULTINOMIAL, nullptr, nullptr, multinomial},
    {B::NON_MAX_SUPPRESSION_V4, "NonMaxSuppressionV4", nms_v4},
    {B::NON_MAX_SUPPRESSION_V5, "NonMaxSuppressionV5", nms_v4},
    {B::ONE_HOT, "OneHot", one_hot, nullptr, kMoved},
    {B::PACK, "Pack", pack, nullptr, kMoved},
    {B::PAD, nullptr, nullptr, pad, kMoved},
    {B::PADV2, "PadV2", nullptr, nullptr, kMoved},
    {B::RANDOM_STANDARD_NORMAL, "RandomStandardNormal", nullptr, random_values},
    {B::RANDOM_UNIFORM, "RandomUniform", nullptr, random_values},
    {B::RANGE, "Range"},
    {B::RANK, nullptr, nullptr, rank},
    {B::RESHAPE, nullptr, nullptr, reshape, kMoved},
    {B::REVERSE_SEQUENCE, "ReverseSequence", reverse_sequence, nullptr, kMoved},
    {B::REVERSE_V2, "ReverseV2", nullptr, nullptr, kMoved},
    {B::RFFT2D, "RFFT2D"},
    {B::SCATTER_ND, "ScatterNd"},
    {B::SEGMENT_SUM, "SegmentSum"},
    {B::SELECT, "Select", nullptr, nullptr, kMoved},
    {B::SELECT_V2, "SelectV2", nullptr, nullptr, kMoved},
    {B::SHAPE, nullptr, nullptr, shape},
    {B::SLICE, "Slice", nullptr, nullptr, kMoved},
    {B::SPACE_TO_BATCH_ND, nullptr, nullptr, space_to_batch, kMoved},
    {B::SPACE_TO_DEPTH, "SpaceToDepth", space_to_depth, nullptr, kMoved},
    {B::SPARSE_TO_DENSE, "SparseToDense", sparse_to_dense},
    {B::SPLIT, "Split", split, nullptr, kMoved},
    {B::SPLIT_V, "SplitV", split, nullptr, kMoved},
    {B::SQUEEZE, "Squeeze", squeeze, nullptr, kMoved},
    {B::STRIDED_SLICE, nullptr, nullptr, strided_slice, kMoved},
    {B::TILE, "Tile", nullptr, nullptr, kMoved},
    {B::TOPK_V2, "TopKV2", nullptr, nullptr, kMoved},
    {B::TRANSPOSE, "Transpose", nullptr, nullptr, kMoved},
    {B::UNIQUE, "Unique", unique},
    {B::UNPACK, "Unpack", unpack, nullptr, kMoved},
    {B::UNSORTED_SEGMENT_MAX, "UnsortedSegmentMax"},
    {B::UNSORTED_SEGMENT_MIN, "UnsortedSegmentMin"},
    {B::UNSORTED_SEGMENT_PROD, "UnsortedSegmentProd"},
    {B::UNSORTED_SEGMENT_SUM, "UnsortedSegmentSum"},
    {B::WHERE, "Where"},
    {B::ZEROS_LIKE, "ZerosLike"},
};

}  // namespace

std::span<const Row> array_rows() { return kRows; }

}  // namespace t2o::tflite
