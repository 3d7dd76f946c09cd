#include "op_mappers/complex.h"

#include <algorithm>
#include <stdexcept>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "tfgraph/values.h"

namespace t2o::op_mappers {
namespace {

bool surely_equal(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] != b[i] || a[i] == kUnknownDim) return false;
  return true;
}

Values map_complex(MapperContext& c) {  // the parts broadcast
  Value *re = c.in(0), *im = c.in(1);
  if (!surely_equal(re->shape(), im->shape())) {
    Value* shape = c.shape_of(re);
    Value* other = c.shape_of(im);
    re = c.expand(re, other);
    im = c.expand(im, shape);
  }
  return {pairs(c, {re, im})};
}

Values map_real_part(MapperContext& c) { return {parts(c, c.in(0)).re}; }
Values map_imaginary_part(MapperContext& c) { return {parts(c, c.in(0)).im}; }

Values map_angle(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  return apply(c, "Atan2", {z.im, z.re});
}

// Fourier transforms, and what moves or weights their results: of what is infinite there neither part is
// known to be so, for that goes by the order of their sums.
bool is_spectrum(Value* z, int steps = 16) {
  constexpr std::string_view kMoves[] = {
      "StridedSlice", "Slice", "Transpose", "Reshape", "Squeeze", "GatherV2",    "ExpandDims", "ConcatV2",
      "Pack",         "Mul",   "Pad",       "PadV2",   "Conj",    "BroadcastTo", "RealDiv",    "Cast"};
  while (steps-- > 0) {
    z = tfgraph::through_identities(z);
    const ir::Node* n = z->producer();
    if (!n) return false;
    if (n->op().find("FFT") != std::string::npos) return true;
    if (!contains(kMoves, n->op())) return false;
    if (n->op() == "ConcatV2" || n->op() == "Pack")
      return std::ranges::all_of(
          n->inputs(), [&](Value* part) { return !is_complex(part->dtype()) || is_spectrum(part, steps); });
    z = n->input(0);
  }
  return false;
}

// sqrt(re^2 + im^2): often the parts are there, and no pairs that could be reduced.
Values map_abs(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  if (!is_spectrum(c.node().input(0))) return {absolute(c, z)};
  Value* re = c.mul(z.re, z.re);
  return {c.sqrt(c.add(re, c.mul(z.im, z.im)))};
}

// Of a complex number a real type takes the real part, as TensorFlow's Cast does.
Values map_cast(MapperContext& c) {
  const bool from_complex = is_complex(c.node().input(0)->dtype());
  const bool to_complex = is_complex(c.node().output(0)->dtype());
  if (from_complex && !to_complex) return apply(c, "Cast", {parts(c, c.in(0)).re});
  if (from_complex) {
    const Complex z = parts(c, c.in(0));
    return {pairs(c, {apply_one(c, "Cast", {z.re}), apply_one(c, "Cast", {z.im})})};
  }
  Value* re = apply_one(c, "Cast", {c.in(0)});
  Value* im = apply_one(c, "ZerosLike", {re});
  return {pairs(c, {re, im})};
}

Values map_shape(MapperContext& c) {
  Values out;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const auto z = known_parts(c, c.in(i));
    Value* shape = z ? c.shape_of(z->re) : c.dims(c.in(i), 0, -1);
    out.push_back(c.cast(shape, c.output_dtype(i)));
  }
  return out;
}

Value* half(MapperContext& c, Value* n) { return c.div(n, c.i64(2)); }

Values map_size(MapperContext& c) {
  const auto z = known_parts(c, c.in(0));
  Value* size = z ? c.size_of(z->re) : half(c, c.size_of(c.in(0)));
  return {c.cast(size, c.output_dtype())};
}

Values map_rank(MapperContext& c) {
  const auto z = known_parts(c, c.in(0));
  Value* rank = c.rank_of(z ? z->re : c.in(0));
  if (!z) rank = c.sub(rank, c.i64(1));
  return {c.cast(rank, DType::i32)};
}

Complex conjugate(MapperContext& c, Complex z) { return {z.re, c.neg(z.im)}; }

Values map_conjugate_transpose(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* re = apply_one(c, "Transpose", {z.re, c.in(1)});
  Value* im = apply_one(c, "Transpose", {z.im, c.in(1)});
  return {pairs(c, {re, c.neg(im)})};
}

Values map_ones_like(MapperContext& c) {
  Value* re = parts(c, c.in(0)).re;
  return {pairs(c, {apply_one(c, "OnesLike", {re}), apply_one(c, "ZerosLike", {re})})};
}

// A complex number has the bits of its two parts.
Values map_bitcast(MapperContext& c) {
  const DType from = c.node().input(0)->dtype(), to = c.node().output(0)->dtype();
  if (part_type(from) != part_type(to))
    c.fail(Code::unsupported_type, "Bitcast of complex numbers, but to or from their parts",
           "bitcast the parts: tf.math.real(x) and tf.math.imag(x)");
  return {c.in(0)};
}

// Rows whose mapper is as right for the parts as for real numbers.
const char* const kByParts[] = {
    // what moves elements
    "Identity", "IdentityN", "StopGradient", "Snapshot", "DeepCopy", "PreventGradient", "GuaranteeConst",
    "PlaceholderWithDefault", "EnsureShape", "Print", "Reshape", "ExpandDims", "Squeeze", "Transpose",
    "BroadcastTo", "Concat", "ConcatV2", "Pack", "ParallelConcat", "Unpack", "Split", "SplitV", "Slice",
    "StridedSlice", "Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd", "OneHot", "Tile",
    "Pad", "PadV2", "MirrorPad", "StridedSliceGrad", "TensorStridedSliceUpdate", "Fill", "ZerosLike", "Empty",
    "Select", "SelectV2", "Reverse", "ReverseV2", "ReverseSequence", "Roll", "MatrixDiag", "MatrixDiagV2",
    "MatrixDiagV3", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "MatrixSetDiag",
    "MatrixSetDiagV2", "MatrixSetDiagV3", "MatrixBandPart", "BatchMatrixDiag", "BatchMatrixDiagPart",
    "BatchMatrixSetDiag", "BatchMatrixBandPart", "Diag", "DiagPart", "TensorScatterUpdate", "DynamicStitch",
    "ParallelDynamicStitch", "DynamicPartition", "SpaceToBatchND", "BatchToSpaceND", "SpaceToBatch",
    "BatchToSpace", "SpaceToDepth", "DepthToSpace", "ExtractImagePatches", "RaggedTensorToTensor",
    "RaggedTensorToSparse", "RaggedFillEmptyRows",
    // what is linear
    "Add", "AddV2", "AddN", "AccumulateNV2", "Sub", "Neg", "BiasAdd", "BiasAddV1", "Sum", "Mean", "Cumsum",
    "SparseToDense", "SparseReorder", "SparseSlice", "SparseSplit", "SparseConcat", "SparseReduceSum",
    "SparseTensorDenseAdd", "SparseFillEmptyRows", "InplaceUpdate", "InplaceAdd", "InplaceSub",
    "RaggedGather", "BiasAddGrad", "SegmentSumV2", "MirrorPadGrad", "ScatterNd", "TensorScatterAdd",
    "TensorScatterSub", "ScatterNdNonAliasingAdd", "SegmentSum", "SegmentMean", "UnsortedSegmentSum"};

}  // namespace

void register_complex(OpRegistry& r) {
  for (const char* op : kByParts) {
    if (!r.knows(op)) throw std::logic_error(std::string("no row of real numbers for ") + op);
    const auto rows = r.table().at(op);
    for (const auto& [since, row] : rows)
      r.complex(op).since(since).note(row.note).ignores(row.ignored).by(by_parts(row.map));
  }
  r.complex("Complex").by(map_complex);
  r.complex("Real").by(map_real_part);
  r.complex("Imag").by(map_imaginary_part);
  r.complex("Conj").by(of_one(conjugate));
  r.complex("Angle").by(map_angle);
  r.complex("ComplexAbs")
      .note("for complex128 and Fourier transforms it overflows where the square of a part overflows")
      .by(map_abs);
  r.complex("Cast").by(map_cast);
  r.complex("Bitcast").note("from and to the parts").by(map_bitcast);
  r.complex("Shape").by(map_shape);
  r.complex("ShapeN").ignores({"N"}).by(map_shape);
  r.complex("Size").by(map_size);
  r.complex("Rank").by(map_rank);
  r.complex("ConjugateTranspose").by(map_conjugate_transpose);
  r.complex("OnesLike").by(map_ones_like);
}

}  // namespace t2o::op_mappers
