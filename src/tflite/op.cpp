#include "tflite/op.h"

#include <algorithm>

#include "support/lists.h"
#include "tf/op_builder.h"
#include "tfgraph/internal_ops.h"
#include "tflite/activation_bounds.h"
#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

const Row* const* table() {
  static const auto rows = [] {
    std::vector<const Row*> all(static_cast<std::size_t>(B::MAX) + 1);
    for (const auto family :
         {elementwise_rows(), array_rows(), layer_rows(), control_flow_rows(), quantize_rows(), custom_rows(),
          state_rows(), recurrent_rows(), lookup_rows(), table_rows(), stablehlo_rows()})
      for (const Row& r : family) all[static_cast<std::size_t>(r.op)] = &r;
    return all;
  }();
  return rows.data();
}

// The first input and the result have the same sizes.
bool keeps_sizes(std::string_view tf) {
  return contains({"Identity", "Cast", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs",
                   tfgraph::kQuantize, tfgraph::kDequantize},
                  tf);
}

template <class T>
TensorPtr number(double v) {
  return Tensor::scalar<T>(static_cast<T>(v));
}

}  // namespace

const Row* find_row(B op) {
  if (op < B::MIN || op > B::MAX) return nullptr;
  return table()[static_cast<std::size_t>(op)];
}

const void* Op::empty_table() {
  static const flatbuffers::FlatBufferBuilder* const builder = [] {
    auto* b = new flatbuffers::FlatBufferBuilder;
    b->Finish(flatbuffers::Offset<flatbuffers::Table>(b->EndTable(b->StartTable())));
    return b;
  }();
  return builder->GetBufferPointer();
}

std::int64_t Op::input_index(std::size_t i) const {  // -1: it is missing
  return i < input_count() ? op_->inputs()->Get(static_cast<unsigned>(i)) : -1;
}

Value* Op::numbers_of_codes(std::size_t i, const Quantization& q) const {
  Value* c = codes(i);
  return lowering_->dequantize(*scope_->graph, c, q, lowering_->label(*scope_, input_index(i)));
}

Value* Op::codes_of_result(Value* numbers, const Quantization& q) const {
  const auto& origin = numbers->producer()->shared_origin();
  const std::string name = lowering_->label(*scope_, op_->outputs()->Get(0), origin->label());
  return lowering_->quantize(*scope_->graph, numbers, q, output_type(), {name, origin});
}

bool Op::is_only_reader(std::size_t i) const {
  return has(i) && scope_->reads[static_cast<std::size_t>(input_index(i))] == 1;
}

const schema::Tensor& Op::input(std::size_t i) const {
  if (!has(i)) fail(Code::bad_model, "its input " + std::to_string(i) + " is missing");
  return lowering_->model().tensor(scope_->subgraph, input_index(i));
}

const schema::Tensor& Op::output(std::size_t i) const {
  if (i >= output_count()) fail(Code::bad_model, "it has no output " + std::to_string(i));
  return lowering_->model().tensor(scope_->subgraph, op_->outputs()->Get(static_cast<unsigned>(i)));
}

DType Op::input_type(std::size_t i) const {
  input(i);
  return lowering_->dtype(*scope_, input_index(i));
}

DType Op::output_type(std::size_t i) const {
  output(i);
  return lowering_->dtype(*scope_, op_->outputs()->Get(static_cast<unsigned>(i)));
}

std::optional<Quantization> Op::output_quantization() const {
  output();
  return lowering_->quantization(*scope_, op_->outputs()->Get(0));
}

std::optional<Ints> Op::sizes(std::size_t i) const {
  Ints stated = ints_of(input(i).shape());
  const Slot& slot = scope_->slots.at(static_cast<std::size_t>(input_index(i)));
  const Value* v = slot.codes ? slot.codes : slot.numbers;
  if (!stated.empty() || !v || !v->producer()) return stated;
  while (v->producer() && keeps_sizes(v->producer()->op())) v = v->producer()->inputs()[0];
  if (v->constant()) return v->constant()->dims();
  return v->shape().is_static() ? std::optional(v->shape().dims()) : std::nullopt;
}

std::size_t Op::rank(std::size_t i) const {
  if (const auto known = sizes(i)) return known->size();
  fail(Code::not_yet, "an operator computes its input " + std::to_string(i) +
                          ", and the file does not state its sizes, which the conversion needs");
}

Ints Op::dims(std::size_t i, std::size_t rank) const {
  this->rank(i);
  Ints dims = *sizes(i);
  if (dims.size() != rank)
    fail(Code::bad_model, "its input " + std::to_string(i) + " has " + std::to_string(dims.size()) +
                              " axes instead of " + std::to_string(rank));
  return dims;
}

void Op::bind_handle(std::size_t i, std::size_t state) {
  output(i);
  scope_->slots[static_cast<std::size_t>(op_->outputs()->Get(static_cast<unsigned>(i)))].state = state;
}

std::size_t Op::state(std::size_t i) const {
  input(i);
  const auto state = scope_->slots[static_cast<std::size_t>(input_index(i))].state;
  if (!state) fail(Code::bad_model, "its input " + std::to_string(i) + " is no variable");
  return *state;
}

std::optional<Quantization> Op::quantization_in_file(std::size_t i) const {
  input(i);
  return lowering_->quantization_in_file(*scope_, input_index(i));
}

std::optional<Quantization> Op::quantization(std::size_t i) const {
  input(i);
  return lowering_->quantization(*scope_, input_index(i));
}

Value* Op::codes(std::size_t i) const {
  input(i);
  return lowering_->codes(*scope_, input_index(i));
}

Value* Op::weights(std::size_t i) const {
  input(i);
  return lowering_->numbers(*scope_, input_index(i));
}

// The first tool that made 8-bit weights wrote i8 codes as tensors of type u8. The runtime's kernels for
// floats and quantized weights take all bytes for i8, without a zero point.
Value* Op::layer_weights(std::size_t i) const {
  const Model& model = lowering_->model();
  const bool is_of_floats = model.dtype(output(0)) == DType::f32;
  if (!is_of_floats || model.dtype(input(i)) != DType::u8 || !quantization_in_file(i)) return weights(i);
  return lowering_->signed_numbers(*scope_, input_index(i));
}

Value* Op::in(std::size_t i) const { return moves_codes_ ? codes(i) : weights(i); }

Values Op::all() const {
  Values values;
  for (std::size_t i = 0; i < input_count(); ++i)
    if (has(i)) values.push_back(in(i));
  return values;
}

Values Op::make_all(const std::string& tf, Values inputs, Attrs attrs) {
  if (contains(inputs, nullptr)) fail(Code::bad_model, "it lacks an input that it needs");
  ir::NodeSpec spec;
  try {
    spec = tf::op_spec(tf, std::move(inputs), std::move(attrs));
  } catch (const ConversionError& e) {
    fail(Code::bad_model, "its tensors do not fit the operator: " + e.diagnostic().message);
  }
  return add(std::move(spec));
}

Values Op::add(ir::NodeSpec spec) {
  spec.origin = origin_;
  spec.name_later = true;
  return scope_->graph->add(std::move(spec)).outputs();
}

Values Op::make_from_node_def(Bytes node_def, Values inputs) {
  return add(tf::spec_of_node_def(node_def, lowering_->model().owner(), std::move(inputs)));
}

Values Op::make_own_all(const std::string& op, Values inputs, Attrs attrs, std::size_t outputs) {
  ir::NodeSpec spec{.op = op, .attrs = std::move(attrs)};
  spec.outputs.assign(outputs, {"", inputs.at(0)->dtype(), Shape()});
  spec.inputs = std::move(inputs);
  return add(std::move(spec));
}

Values Op::make_foreign(const std::string& op, Values inputs, Attrs attrs,
                        std::vector<ir::OutputSpec> outputs) {
  return add(
      {.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .outputs = std::move(outputs)});
}

Value* Op::make_own(const std::string& op, Values inputs, Attrs attrs) {
  return make_own_all(op, std::move(inputs), std::move(attrs), 1)[0];
}

Op Op::within(Scope& body) const {
  Op inner = *this;
  inner.scope_ = &body;
  return inner;
}

Shape Op::shape(const schema::Tensor& t) const {
  const Shape stated = lowering_->model().shape(t);
  return lowering_->has_sizes_of_file() ? stated
                                        : Shape(Ints(static_cast<std::size_t>(stated.rank()), kUnknownDim));
}

Value* Op::constant(TensorPtr t) {
  return scope_->graph->add_constant(origin_->label().empty() ? "const" : origin_->label() + "/const",
                                     std::move(t));
}

Value* Op::ints(const Ints& v, DType type) {
  const Ints dims{static_cast<std::int64_t>(v.size())};
  if (type == DType::i64) return constant(Tensor::of<std::int64_t>(dims, v));
  return constant(Tensor::of<std::int32_t>(dims, std::vector<std::int32_t>(v.begin(), v.end())));
}

Value* Op::scalar(DType type, double v) {
  switch (type) {
    case DType::f32:
      return constant(number<float>(v));
    case DType::f64:
      return constant(number<double>(v));
    case DType::i8:
      return constant(number<std::int8_t>(v));
    case DType::u8:
      return constant(number<std::uint8_t>(v));
    case DType::i16:
      return constant(number<std::int16_t>(v));
    case DType::u16:
      return constant(number<std::uint16_t>(v));
    case DType::i32:
      return constant(number<std::int32_t>(v));
    case DType::u32:
      return constant(number<std::uint32_t>(v));
    case DType::i64:
      return constant(number<std::int64_t>(v));
    case DType::u64:
      return constant(number<std::uint64_t>(v));
    case DType::boolean:
      return constant(Tensor::scalar<bool>(v != 0));
    case DType::f16:
      return constant(Tensor::scalar<std::uint16_t>(float_to_half(static_cast<float>(v)))->with_dtype(type));
    case DType::bf16:
      return constant(
          Tensor::scalar<std::uint16_t>(float_to_bfloat(static_cast<float>(v)))->with_dtype(type));
    default:
      fail(Code::unsupported_type, "it is not supported for elements of type " + std::string(name(type)));
  }
}

Value* Op::activation(Value* y, schema::ActivationFunctionType f) {
  using F = schema::ActivationFunctionType;
  const auto bound = [&](double b) { return bound_of_codes(b, output_quantization()); };
  switch (f) {
    case F::NONE:
      return y;
    case F::RELU:
      return make("Relu", {y});
    case F::RELU6:
      if (const double high = bound(kSix); high != kSix)
        return make("ClipByValue", {y, scalar_like(y, 0), scalar_like(y, high)});
      return make("Relu6", {y});
    case F::RELU_N1_TO_1:
      return make("ClipByValue", {y, scalar_like(y, bound(-1)), scalar_like(y, bound(1))});
    case F::TANH:
      return make("Tanh", {y});
    default:
      fail(Code::unsupported_attr, "its fused activation " +
                                       std::string(schema::EnumNameActivationFunctionType(f)) +
                                       " is not supported");
  }
}

Ints ints_of(const flatbuffers::Vector<std::int32_t>* v) {
  const auto all = items(v);
  return Ints(all.begin(), all.end());
}

DType type_option(const Op& op, schema::TensorType t) {
  const DType type = dtype_of(t);
  if (type == DType::undefined) op.fail(Code::bad_model, "it names an element type that does not exist");
  return type;
}

}  // namespace t2o::tflite
