#include <algorithm>

#include "support/wire_writer.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// StableHLO's operators: TensorFlow's own, or those with which TensorFlow calls XLA.
namespace t2o::tflite {
namespace {

using namespace schema;

Ints longs(const flatbuffers::Vector<std::int64_t>* v) {
  const auto all = items(v);
  return Ints(all.begin(), all.end());
}

Value* list(Op& op, const Ints& v) { return op.ints(v, DType::i64); }

Ints static_dims(const Op& op) {
  const Shape s = op.shape(op.output());
  if (!s.is_static()) op.fail(Code::not_yet, "the sizes of its result are not known");
  return s.dims();
}

// ---- of each element

struct Form {
  const char *numbers, *integers, *booleans;
};
Form form_of(B op) {
  switch (op) {
    case B::STABLEHLO_ADD:
      return {"AddV2", "AddV2", "LogicalOr"};
    case B::STABLEHLO_MULTIPLY:
      return {"Mul", "Mul", "LogicalAnd"};
    case B::STABLEHLO_MAXIMUM:
      return {"Maximum", "Maximum", "LogicalOr"};
    case B::STABLEHLO_MINIMUM:
      return {"Minimum", "Minimum", "LogicalAnd"};
    case B::STABLEHLO_AND:
      return {"BitwiseAnd", "BitwiseAnd", "LogicalAnd"};
    case B::STABLEHLO_OR:
      return {"BitwiseOr", "BitwiseOr", "LogicalOr"};
    case B::STABLEHLO_DIVIDE:
      return {"RealDiv", "TruncateDiv", nullptr};
    default:
      return {};
  }
}

Values by_type(Op& op) {
  const Form f = form_of(op.row().op);
  Value *a = op.in(0), *b = op.in(1);
  const char* tf = a->dtype() == DType::boolean ? f.booleans : is_int(a->dtype()) ? f.integers : f.numbers;
  if (!tf) op.fail(Code::bad_model, "it does not take elements of type " + std::string(name(a->dtype())));
  return {op.make(tf, {a, b})};
}

Values compare(Op& op) {
  using D = StablehloComparisonDirection;
  const auto& o = op.options2<StablehloCompareOptions>();
  if (o.compare_type() == StablehloComparisonType::STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER)
    op.fail(Code::unsupported_attr, "a comparison in the total order of floats is not supported");
  constexpr std::pair<D, const char*> kOps[] = {{D::STABLEHLO_COMPARISON_DIRECTION_EQ, "Equal"},
                                                {D::STABLEHLO_COMPARISON_DIRECTION_NE, "NotEqual"},
                                                {D::STABLEHLO_COMPARISON_DIRECTION_GE, "GreaterEqual"},
                                                {D::STABLEHLO_COMPARISON_DIRECTION_GT, "Greater"},
                                                {D::STABLEHLO_COMPARISON_DIRECTION_LE, "LessEqual"},
                                                {D::STABLEHLO_COMPARISON_DIRECTION_LT, "Less"}};
  Value *a = op.in(0), *b = op.in(1);
  const bool is_equality = o.comparison_direction() <= D::STABLEHLO_COMPARISON_DIRECTION_NE;
  if (a->dtype() == DType::boolean && !is_equality) {
    a = op.make("Cast", {a}, {{"DstT", DType::i32}});
    b = op.make("Cast", {b}, {{"DstT", DType::i32}});
  }
  for (const auto& [direction, tf] : kOps)
    if (direction == o.comparison_direction()) return {op.make(tf, {a, b})};
  op.fail(Code::bad_model, "it compares in an unknown direction");
}

// min, x, max
Values clamp(Op& op) {
  Value* low = op.make("Maximum", {op.in(1), op.in(0)});
  return {op.make("Minimum", {low, op.in(2)})};
}

Values convert(Op& op) { return {op.make("Cast", {op.in(0)}, {{"DstT", op.output_type()}})}; }

// sign(x) * |x|^(1/3)
Values cube_root(Op& op) {
  Value* x = op.in(0);
  Value* size = op.make("Pow", {op.make("Abs", {x}), op.scalar_like(x, 1.0 / 3)});
  return {op.make("Mul", {op.make("Sign", {x}), size})};
}

// ---- that move elements

Values reshape(Op& op) {
  Ints dims = op.shape(op.output()).dims();
  if (std::count(dims.begin(), dims.end(), kUnknownDim) > 1)
    op.fail(Code::not_yet, "the sizes of its result are not known");
  std::replace(dims.begin(), dims.end(), Dim{kUnknownDim}, std::int64_t{-1});
  return {op.reshape(op.in(0), dims)};
}

Values concatenate(Op& op) {
  Values all = op.all();
  all.push_back(
      op.scalar(DType::i32, static_cast<double>(op.options2<StablehloConcatenateOptions>().dimension())));
  return {op.make("ConcatV2", all)};
}

Values broadcast_in_dim(Op& op) {
  const Ints axes = longs(op.options2<StablehloBroadcastInDimOptions>().broadcast_dimensions()),
             dims = static_dims(op);
  const Shape from = op.shape(op.input(0));
  Ints own(dims.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || static_cast<std::size_t>(axes[i]) >= dims.size() ||
        i >= static_cast<std::size_t>(from.rank()))
      op.fail(Code::bad_model, "broadcast_dimensions does not fit its tensors");
    own[static_cast<std::size_t>(axes[i])] = from[static_cast<int>(i)];
  }
  return {op.make("BroadcastTo", {op.reshape(op.in(0), own), op.ints(dims)})};
}

Values slice(Op& op) {
  const auto& o = op.options2<StablehloSliceOptions>();
  Value* begin = op.ints(longs(o.start_indices()));
  Value* end = op.ints(longs(o.limit_indices()));
  return {op.make("StridedSlice", {op.in(0), begin, end, op.ints(longs(o.strides()))})};
}

Values transpose(Op& op) {
  return {op.transpose(op.in(0), longs(op.options2<StablehloTransposeOptions>().permutation()))};
}

Values iota(Op& op) {
  const Ints dims = static_dims(op);
  const std::int64_t axis = op.options2<StablehloIotaOptions>().iota_dimension();
  if (axis < 0 || static_cast<std::size_t>(axis) >= dims.size())
    op.fail(Code::bad_model, "its axis is not one of its result");
  Value* zero = op.scalar(DType::i32, 0);
  Value* size = op.scalar(DType::i32, static_cast<double>(dims[static_cast<std::size_t>(axis)]));
  Value* numbers = op.make("Range", {zero, size, op.scalar(DType::i32, 1)});
  Ints own(dims.size(), 1);
  own[static_cast<std::size_t>(axis)] = -1;
  Value* all = op.make("BroadcastTo", {op.reshape(numbers, own), op.ints(dims)});
  return {op.output_type() == DType::i32 ? all : op.make("Cast", {all}, {{"DstT", op.output_type()}})};
}

// The place of a slice: one number for each axis, in inputs of their own or in one.
Value* starts(Op& op, std::size_t first) {
  Values parts;
  for (std::size_t i = first; i < op.input_count(); ++i) parts.push_back(op.reshape(op.in(i), {-1}));
  if (parts.empty()) return op.ints({});
  if (parts.size() == 1) return parts[0];
  parts.push_back(op.scalar(DType::i32, 0));
  return op.make("ConcatV2", parts);
}

Values dynamic_slice(Op& op) {
  Value* at = starts(op, 1);
  const Ints sizes = longs(op.options2<StablehloDynamicSliceOptions>().slice_sizes());
  return {op.make("XlaDynamicSlice", {op.in(0), at, op.ints(sizes, at->dtype())})};
}

Values dynamic_update_slice(Op& op) {
  Value* at = starts(op, 2);
  return {op.make("XlaDynamicUpdateSlice", {op.in(0), op.in(1), at})};
}

Values pad(Op& op) {
  const auto& o = op.options2<StablehloPadOptions>();
  Value* low = list(op, longs(o.edge_padding_low()));
  Value* high = list(op, longs(o.edge_padding_high()));
  return {op.make("XlaPad", {op.in(0), op.in(1), low, high, list(op, longs(o.interior_padding()))})};
}

// x, the distance of elements along each axis, what stands between them
Values dilate(Op& op) {
  Value* distances = op.in(1);
  Value* between = op.make("Sub", {distances, op.scalar_like(distances, 1)});
  Value* none = op.make("ZerosLike", {distances});
  return {op.make("XlaPad", {op.in(0), op.in(2), none, none, between})};
}

GraphPtr computation(Op& op, std::int64_t subgraph) {
  GraphPtr g = op.lowering().computation(op.scope(), subgraph);
  if (g->outputs().empty()) op.fail(Code::bad_model, "its computation has no result");
  return g;
}

// ---- with XLA's dimension numbers

using Field = std::pair<std::uint32_t, Ints>;
std::string message(std::initializer_list<Field> fields) {
  std::string text;
  for (const auto& [field, numbers] : fields)
    for (const std::int64_t n : numbers) append_number(text, field, static_cast<std::uint64_t>(n));
  return text;
}

Values gather(Op& op) {
  const auto& o = op.options2<StablehloGatherOptions>();
  const std::string numbers = message({{1, longs(o.offset_dims())},
                                       {2, longs(o.collapsed_slice_dims())},
                                       {3, longs(o.start_index_map())},
                                       {4, {o.index_vector_dim()}}});
  Value* at = op.in(1);
  return {op.make(
      "XlaGather", {op.in(0), at, op.ints(longs(o.slice_sizes()), at->dtype())},
      {{"dimension_numbers", numbers}, {"indices_are_sorted", std::int64_t{o.indices_are_sorted()}}})};
}

Values scatter(Op& op) {
  const auto& o = op.options2<StablehloScatterOptions>();
  if (op.input_count() != 3)
    op.fail(Code::unsupported_attr, "a scatter into several tensors at once is not supported");
  const std::string numbers = message({{1, longs(o.update_window_dims())},
                                       {2, longs(o.inserted_window_dims())},
                                       {3, longs(o.scatter_dims_to_operand_dims())},
                                       {4, {o.index_vector_dim()}}});
  const GraphPtr update = computation(op, o.update_computation_subgraph_index());
  return {op.make("XlaScatter", {op.in(0), op.in(1), op.in(2)},
                  {{"update_computation", update},
                   {"dimension_numbers", numbers},
                   {"indices_are_sorted", std::int64_t{o.indices_are_sorted()}}})};
}

Values dot_general(Op& op) {
  const auto& o = op.options2<StablehloDotGeneralOptions>();
  const std::string numbers = message({{1, longs(o.lhs_contracting_dimensions())},
                                       {2, longs(o.rhs_contracting_dimensions())},
                                       {3, longs(o.lhs_batching_dimensions())},
                                       {4, longs(o.rhs_batching_dimensions())}});
  return {op.make("XlaDotV2", {op.in(0), op.in(1)},
                  {{"dimension_numbers", numbers},
                   {"precision_config", std::string()},
                   {"preferred_element_type", op.output_type()}})};
}

Values convolution(Op& op) {
  const auto& o = op.options2<StablehloConvolutionOptions>();
  const std::string numbers = message({{3, {o.kernel_input_feature_dimension()}},
                                       {4, {o.kernel_output_feature_dimension()}},
                                       {6, longs(o.kernel_spatial_dimensions())},
                                       {7, {o.input_batch_dimension()}},
                                       {8, {o.input_feature_dimension()}},
                                       {9, {o.output_batch_dimension()}},
                                       {10, {o.output_feature_dimension()}},
                                       {11, longs(o.input_spatial_dimensions())},
                                       {12, longs(o.output_spatial_dimensions())}});
  Value* kernel = op.in(1);
  Ints turned;
  for (unsigned i = 0; i < count(o.window_reversal()); ++i)
    if (o.window_reversal()->Get(i) != 0 && i < count(o.kernel_spatial_dimensions()))
      turned.push_back(o.kernel_spatial_dimensions()->Get(i));
  if (!turned.empty()) kernel = op.make("ReverseV2", {kernel, op.ints(turned)});
  const auto or_default = [&](const flatbuffers::Vector<std::int64_t>* v, std::int64_t value,
                              std::size_t each) {
    return list(op, count(v) != 0 ? longs(v) : Ints(each * count(o.kernel_spatial_dimensions()), value));
  };
  Value* strides = or_default(o.window_strides(), 1, 1);
  Value* padding = or_default(o.padding(), 0, 2);
  Value* input_dilation = or_default(o.lhs_dilation(), 1, 1);
  Value* kernel_dilation = or_default(o.rhs_dilation(), 1, 1);
  Value* groups = op.scalar(DType::i64, static_cast<double>(o.feature_group_count()));
  return {op.make("XlaConvV2", {op.in(0), kernel, strides, padding, input_dilation, kernel_dilation, groups},
                  {{"dimension_numbers", numbers},
                   {"precision_config", std::string()},
                   {"preferred_element_type", op.output_type()},
                   {"batch_group_count", o.batch_group_count()}})};
}

// ---- with computations

Values reduce(Op& op) {
  const auto& o = op.options2<StablehloReduceOptions>();
  const Ints axes = longs(o.dimensions());
  const GraphPtr body = computation(op, o.body_subgraph_index());
  if (op.input_count() == 2)
    return {op.make("XlaReduce", {op.in(0), op.in(1)}, {{"dimensions_to_reduce", axes}, {"reducer", body}})};
  const Values all = op.all();
  DTypes types;
  for (std::size_t i = 0; i < all.size() / 2; ++i) types.push_back(all[i]->dtype());
  return op.make_all("XlaVariadicReduceV2", all,
                     {{"T", types}, {"dimensions_to_reduce", axes}, {"reducer", body}});
}

Values sort(Op& op) {
  const auto& o = op.options2<StablehloSortOptions>();
  Values all = op.all();
  all.push_back(op.scalar(DType::i32, static_cast<double>(o.dimension())));
  const GraphPtr comparator = computation(op, o.comparator_subgraph_index());
  return op.make_all("XlaVariadicSort", all,
                     {{"comparator", comparator}, {"is_stable", std::int64_t{o.is_stable()}}});
}

Values windows(Op& op, Values in, const GraphPtr& computation) {
  return {op.make("XlaReduceWindow", std::move(in), {{"computation", computation}})};
}

Values stablehlo_reduce_window(Op& op) {
  const auto& o = op.options2<StablehloReduceWindowOptions>();
  if (op.input_count() != 2)
    op.fail(Code::unsupported_attr, "windows of several tensors at once are not supported");
  const std::size_t rank = count(o.window_dimensions());
  const auto or_default = [&](const flatbuffers::Vector<std::int64_t>* v, std::int64_t value,
                              std::size_t each) {
    return list(op, count(v) != 0 ? longs(v) : Ints(each * rank, value));
  };
  Values in{op.in(0), op.in(1), list(op, longs(o.window_dimensions()))};
  for (const auto* v : {o.window_strides(), o.base_dilations(), o.window_dilations()})
    in.push_back(or_default(v, 1, 1));
  in.push_back(or_default(o.padding(), 0, 2));
  return windows(op, std::move(in), computation(op, o.body_subgraph_index()));
}

// x, initial value, sizes, strides and dilations of the windows
Values reduce_window(Op& op) {
  using R = ReduceWindowFunction;
  constexpr std::pair<R, const char*> kOps[] = {{R::ADD, "AddV2"},       {R::MUL, "Mul"},
                                                {R::MINIMUM, "Minimum"}, {R::MAXIMUM, "Maximum"},
                                                {R::ALL, "LogicalAnd"},  {R::ANY, "LogicalOr"}};
  const R how = op.options2<ReduceWindowOptions>().reduce_function();
  const auto* found =
      std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& o) { return o.first == how; });
  if (found == std::end(kOps)) op.fail(Code::bad_model, "it reduces windows in an unknown way");
  Value* x = op.in(0);
  GraphPtr computation = op.scope().graph->make_subgraph();
  computation->set_name("reduce");
  Scope scope{.subgraph = op.scope().subgraph, .graph = computation.get()};
  Value* a = computation->add_input("reduce/a", x->dtype(), Shape(Ints{}));
  Value* b = computation->add_input("reduce/b", x->dtype(), Shape(Ints{}));
  computation->set_outputs({op.within(scope).make(found->second, {a, b})});
  const auto rank = op.rank(0);
  Value* sizes = op.in(2);
  Value* dilation = op.ints(Ints(rank, 1), sizes->dtype());
  Value* padding = op.ints(Ints(2 * rank, 0), sizes->dtype());
  return windows(op, {x, op.in(1), sizes, op.in(3), dilation, op.in(4), padding}, computation);
}

constexpr Row kRows[] = {
    {B::DILATE, nullptr, nullptr, dilate},
    {B::REDUCE_WINDOW, nullptr, nullptr, reduce_window},
    {B::STABLEHLO_ABS, "Abs"},
    {B::STABLEHLO_ADD, nullptr, nullptr, by_type},
    {B::STABLEHLO_AND, nullptr, nullptr, by_type},
    {B::STABLEHLO_BROADCAST_IN_DIM, nullptr, nullptr, broadcast_in_dim},
    {B::STABLEHLO_CBRT, nullptr, nullptr, cube_root},
    {B::STABLEHLO_CLAMP, nullptr, nullptr, clamp},
    {B::STABLEHLO_COMPARE, nullptr, nullptr, compare},
    {B::STABLEHLO_CONCATENATE, nullptr, nullptr, concatenate},
    {B::STABLEHLO_CONVERT, nullptr, nullptr, convert},
    {B::STABLEHLO_CONVOLUTION, nullptr, nullptr, convolution},
    {B::STABLEHLO_COSINE, "Cos"},
    {B::STABLEHLO_DIVIDE, nullptr, nullptr, by_type},
    {B::STABLEHLO_DOT_GENERAL, nullptr, nullptr, dot_general},
    {B::STABLEHLO_DYNAMIC_SLICE, nullptr, nullptr, dynamic_slice},
    {B::STABLEHLO_DYNAMIC_UPDATE_SLICE, nullptr, nullptr, dynamic_update_slice},
    {B::STABLEHLO_EXPONENTIAL, "Exp"},
    {B::STABLEHLO_FLOOR, "Floor"},
    {B::STABLEHLO_GATHER, nullptr, nullptr, gather},
    {B::STABLEHLO_IOTA, nullptr, nullptr, iota},
    {B::STABLEHLO_LOG, "Log"},
    {B::STABLEHLO_LOGISTIC, "Sigmoid"},
    {B::STABLEHLO_MAXIMUM, nullptr, nullptr, by_type},
    {B::STABLEHLO_MINIMUM, nullptr, nullptr, by_type},
    {B::STABLEHLO_MULTIPLY, nullptr, nullptr, by_type},
    {B::STABLEHLO_NEGATE, "Neg"},
    {B::STABLEHLO_OR, nullptr, nullptr, by_type},
    {B::STABLEHLO_PAD, nullptr, nullptr, pad},
    {B::STABLEHLO_POWER, "Pow"},
    {B::STABLEHLO_REDUCE, nullptr, nullptr, reduce},
    {B::STABLEHLO_REDUCE_WINDOW, nullptr, nullptr, stablehlo_reduce_window},
    {B::STABLEHLO_REMAINDER, "TruncateMod"},
    {B::STABLEHLO_RESHAPE, nullptr, nullptr, reshape},
    {B::STABLEHLO_RSQRT, "Rsqrt"},
    {B::STABLEHLO_SCATTER, nullptr, nullptr, scatter},
    {B::STABLEHLO_SELECT, "SelectV2"},
    {B::STABLEHLO_SHIFT_LEFT, "LeftShift"},
    {B::STABLEHLO_SLICE, nullptr, nullptr, slice},
    {B::STABLEHLO_SORT, nullptr, nullptr, sort},
    {B::STABLEHLO_SUBTRACT, "Sub"},
    {B::STABLEHLO_TANH, "Tanh"},
    {B::STABLEHLO_TRANSPOSE, nullptr, nullptr, transpose},
};

}  // namespace

std::span<const Row> stablehlo_rows() { return kRows; }

}  // namespace t2o::tflite
