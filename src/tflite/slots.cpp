#include <algorithm>

#include "tf/op_builder.h"
#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"

// The values of tensors, and their quantization. Codes have the type of the file. The quantization stands in
// the graph in nodes of its own: t2o.QuantizeLinear makes codes of numbers, t2o.DequantizeLinear numbers of
// codes. So no pass that knows nothing of quantization can lose it.
namespace t2o::tflite {
namespace {

bool is_code(DType t) {
  return t == DType::i8 || t == DType::u8 || t == DType::i16 || t == DType::i4 || t == DType::u4 ||
         t == DType::i2;
}

// Codes of less than a byte, a byte each: ONNX Runtime has integer kernels for these alone.
TensorPtr unpacked(const TensorPtr& t) {
  const std::size_t width = bit_width(t->dtype());
  const bool is_signed = is_signed_int(t->dtype());
  const StoragePtr packed = t->storage();
  const auto fill = [=](std::span<std::byte> out) {
    const Bytes from = packed->bytes();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const unsigned bits =
          std::to_integer<unsigned>(from[i * width / 8]) >> (i * width % 8) & ((1U << width) - 1);
      const bool is_negative = is_signed && (bits >> (width - 1)) != 0;
      out[i] = static_cast<std::byte>(is_negative ? bits | (0xFFU << width) : bits);
    }
    packed->release();
  };
  return std::make_shared<Tensor>(is_signed ? DType::i8 : DType::u8, t->dims(),
                                  computed_storage(static_cast<std::size_t>(t->elements()), fill));
}

TensorPtr zero_points_of(const Quantization& q, DType type) {
  std::vector<std::byte> bytes;
  const std::size_t width = bit_width(type);
  for (std::size_t i = 0; i < q.zero_points.size(); ++i) {
    const auto z = static_cast<std::uint64_t>(q.zero_points[i]);
    for (std::size_t b = 0; b < width / 8; ++b) bytes.push_back(static_cast<std::byte>(z >> (8 * b)));
  }
  Ints dims;
  if (!q.is_per_tensor()) dims.push_back(static_cast<std::int64_t>(q.zero_points.size()));
  return std::make_shared<Tensor>(type, dims, heap_storage(std::move(bytes)));
}

TensorPtr scales_of(const Quantization& q) {
  if (q.is_per_tensor()) return Tensor::scalar(q.scales[0]);
  return Tensor::of<float>({static_cast<std::int64_t>(q.scales.size())}, q.scales);
}

Value* quantization_node(ir::Graph& g, std::string_view op, Value* x, const Quantization& q, DType codes,
                         DType result, const Label& label) {
  ir::NodeSpec spec{.op = std::string(op), .name_later = true};
  spec.origin = label.origin ? label.origin : std::make_shared<const Origin>(Origin{label.tensor, "", ""});
  spec.inputs = {x, g.add_constant(label.tensor + "/scale", scales_of(q)),
                 g.add_constant(label.tensor + "/zero_point", zero_points_of(q, codes))};
  if (!q.is_per_tensor()) spec.attrs.push_back({"axis", q.axis});
  spec.outputs = {{"", result, x->shape()}};
  return g.add(std::move(spec)).output();
}

}  // namespace

Value* identity(ir::Graph& g, Value* v) {
  ir::NodeSpec spec = tf::op_spec("Identity", {v}, {}, {v->shape()});
  spec.origin = v->producer() ? v->producer()->shared_origin()
                              : std::make_shared<const Origin>(Origin{v->name(), "", ""});
  spec.name_later = true;
  return g.add(std::move(spec)).output();
}

Value* Lowering::dequantize(ir::Graph& g, Value* codes, const Quantization& q, const Label& label) {
  return quantization_node(g, tfgraph::kDequantize, codes, q, codes->dtype(), DType::f32, label);
}

Value* Lowering::quantize(ir::Graph& g, Value* numbers, const Quantization& q, DType type,
                          const Label& label) {
  if (numbers->dtype() != DType::f32)
    fail(Code::bad_model, "its result has a scale, but is of type " + std::string(name(numbers->dtype())));
  return quantization_node(g, tfgraph::kQuantize, numbers, q, type, type, label);
}

std::optional<Quantization> Lowering::quantization_in_file(const Scope& s, std::int64_t tensor) const {
  const schema::Tensor& t = model_->tensor(s.subgraph, tensor);
  return is_code(model_->dtype(t)) ? model_->quantization(t) : std::nullopt;
}

std::optional<Quantization> Lowering::quantization(const Scope& s, std::int64_t tensor) const {
  return dequantizes_ ? std::nullopt : quantization_in_file(s, tensor);
}

DType Lowering::dtype(const Scope& s, std::int64_t tensor) const {
  const bool is_dequantized = dequantizes_ && quantization_in_file(s, tensor);
  return is_dequantized ? DType::f32 : model_->dtype(model_->tensor(s.subgraph, tensor));
}

Slot& Lowering::slot_or_handle(Scope& s, std::int64_t tensor) {
  model_->tensor(s.subgraph, tensor);  // is there
  Slot& slot = s.slots[static_cast<std::size_t>(tensor)];
  return slot.state ? slot : this->slot(s, tensor);
}

Slot& Lowering::slot(Scope& s, std::int64_t tensor) {
  model_->tensor(s.subgraph, tensor);  // is there
  Slot& slot = s.slots[static_cast<std::size_t>(tensor)];
  if (slot.codes || slot.numbers) return slot;
  if (slot.state)
    fail(Code::bad_model, "it takes the variable '" + states_.name(*slot.state) + "' for a tensor");
  const schema::Tensor& t = model_->tensor(s.subgraph, tensor);
  const std::string name = model_->tensor_name(s.subgraph, tensor);
  TensorPtr constant = model_->constant(t);
  if (!constant && t.is_variable())
    fail(Code::not_yet, "'" + name + "' is a state, which only operators that know states may read");
  const auto inputs = items(model_->subgraph(s.subgraph).inputs());
  if (!constant && s.is_main && std::find(inputs.begin(), inputs.end(), tensor) != inputs.end())
    fail(Code::bad_option, "it needs the model's input '" + name + "', which --inputs leaves out",
         "add it to --inputs, or cut the graph behind this operator");
  if (!constant) fail(Code::bad_model, "no operator before it computes '" + name + "', which it reads");
  slot.quantization = quantization(s, tensor);
  const auto in_file = quantization_in_file(s, tensor);
  const bool is_packed = in_file && bit_width(constant->dtype()) < 8;
  if (is_packed) constant = unpacked(constant);
  if (in_file && dequantizes_) constant = dequantized(constant, *in_file);
  Value* v = s.graph->add_constant(label(s, tensor, "constant"), constant);
  if (!is_packed || dequantizes_) s.graph->mark_source(v);
  (slot.quantization ? slot.codes : slot.numbers) = v;
  return slot;
}

Value* Lowering::numbers(Scope& s, std::int64_t tensor) {
  Slot& slot = this->slot(s, tensor);
  if (!slot.numbers) slot.numbers = dequantize(*s.graph, slot.codes, *slot.quantization, label(s, tensor));
  return slot.numbers;
}

Value* Lowering::signed_numbers(Scope& s, std::int64_t tensor) {
  const TensorPtr codes = model_->constant(model_->tensor(s.subgraph, tensor));
  if (!codes) return numbers(s, tensor);
  Quantization q = *quantization_in_file(s, tensor);
  std::ranges::fill(q.zero_points, 0);
  const Label from = label(s, tensor);
  const TensorPtr as_signed = codes->with_dtype(DType::i8);
  if (dequantizes_) return s.graph->add_constant(from.tensor, dequantized(as_signed, q));
  return dequantize(*s.graph, s.graph->add_constant(from.tensor, as_signed), q, from);
}

std::string Lowering::label(const Scope& s, std::int64_t tensor, const std::string& otherwise) {
  std::string own = labels_.of(s.subgraph, tensor);
  if (!own.empty()) return own;
  const auto output = s.is_main ? outputs_.find(tensor) : outputs_.end();
  const std::string as_output = output == outputs_.end() ? "" : Labels::first_name(output->second);
  return as_output.empty() ? otherwise : as_output;
}

Label Lowering::label(const Scope& s, std::int64_t tensor) {
  const Value* codes = s.slots[static_cast<std::size_t>(tensor)].codes;
  const ir::Node* made_by = codes && codes->producer() ? codes->producer() : nullptr;
  std::string text = label(s, tensor, made_by ? made_by->origin().label() : "tensor");
  return {text,
          std::make_shared<const Origin>(Origin{model_->tensor_name(s.subgraph, tensor), "", "", text})};
}

Value* Lowering::codes(Scope& s, std::int64_t tensor) {
  Slot& slot = this->slot(s, tensor);
  return slot.codes ? slot.codes : slot.numbers;
}

// The names of the graph's outputs are kept for these.
void Lowering::name_value(Scope& s, Value*& v, std::int64_t tensor) {
  if (!v->name().empty() || v->graph() != s.graph || !v->producer()) v = identity(*s.graph, v);
  std::string name = label(s, tensor, v->producer()->origin().label());
  const auto output = output_names_.find(name);
  if (output != output_names_.end() && (!s.is_main || output->second != tensor)) name += "/inner";
  s.graph->rename(v, name);
  s.graph->mark_source(v);
}

void Lowering::bind_codes(Scope& s, std::int64_t tensor, Value* v) {
  Slot& slot = s.slots[static_cast<std::size_t>(tensor)];
  slot = {};
  slot.quantization = quantization(s, tensor);
  slot.codes = v;
  name_value(s, slot.codes, tensor);
}

// The range of the codes that a dequantized tensor has in the file.
std::optional<Range> Lowering::range_of_codes(const Scope& s, std::int64_t tensor, const Value* v) const {
  const auto q = quantization_in_file(s, tensor);
  if (!q || !q->is_per_tensor() || v->dtype() != DType::f32) return {};
  return range_of(*q, model_->dtype(model_->tensor(s.subgraph, tensor)));
}

// The inputs of a model are taken to lie in the ranges of their codes.
void Lowering::note_range(const Scope& s, std::int64_t tensor, const Value* input) {
  if (const auto of_codes = range_of_codes(s, tensor, input)) bounds_.add(input, *of_codes);
}

// What a dequantized tensor keeps of the range of its codes.
Value* Lowering::cut(const Scope& s, std::int64_t tensor, Value* v) {
  const auto of_codes = range_of_codes(s, tensor, v);
  if (!of_codes || !may_hide_activation(*of_codes)) return v;
  const auto range = lost_activation(*of_codes, bounds_.of(v));
  if (!range) return v;
  const auto end = [&](double number) {
    return s.graph->add_constant("range", Tensor::scalar(static_cast<float>(number)));
  };
  ir::NodeSpec spec = range->high == kSix ? tf::op_spec("Relu6", {v}, {}, {v->shape()})
                                          : tf::op_spec("ClipByValue", {v, end(range->low), end(range->high)},
                                                        {}, {v->shape()});
  spec.origin = v->producer() ? v->producer()->shared_origin() : nullptr;
  spec.name_later = true;
  return s.graph->add(std::move(spec)).output();
}

void Lowering::bind_numbers(Scope& s, std::int64_t tensor, Value* v,
                            const std::shared_ptr<const Origin>& origin) {
  const DType type = dtype(s, tensor);
  if (const auto q = quantization(s, tensor)) {
    Label of = {label(s, tensor).tensor, origin};
    if (v->producer())
      of = {label(s, tensor, v->producer()->origin().label()), v->producer()->shared_origin()};
    return bind_codes(s, tensor, quantize(*s.graph, v, *q, type, of));
  }
  if (v->dtype() != type)
    fail(Code::bad_model, "its result is of type " + std::string(name(v->dtype())) +
                              ", and the file states " + std::string(name(type)));
  if (dequantizes_ && v->is_graph_input())
    note_range(s, tensor, v);
  else if (dequantizes_)
    v = cut(s, tensor, v);
  Slot& slot = s.slots[static_cast<std::size_t>(tensor)];
  slot = {};
  slot.numbers = v;
  name_value(s, slot.numbers, tensor);
  if (dequantizes_) bounds_.of(slot.numbers);  // now, so that the next operator need not look far back
}

}  // namespace t2o::tflite
