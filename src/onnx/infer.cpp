#include "onnx/infer.h"

#include <algorithm>
#include <array>
#include <list>

#include "onnx/elem_type.h"
#include "onnx/elements.h"
#include "onnx/fold.h"
// onnx's own
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

namespace t2o::onnx {
namespace {

using google::protobuf::Arena;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

constexpr std::int64_t kMaxDataElements = 512;  // of a constant that inference may want to look into

void set_dim(TensorShapeProto& shape, Dim d, const Symbols& symbols) {
  auto* dim = shape.add_dim();
  if (is_known(d)) dim->set_dim_value(d);
  if (is_symbol(d)) dim->set_dim_param(symbols.name(d));
}

Dim dim_of(const TensorShapeProto::Dimension& d, Symbols& symbols) {
  if (d.has_dim_value())
    return std::max(d.dim_value(), kUnknownDim);  // as an element it may be negative: that is no dim
  if (d.has_dim_param() && !d.dim_param().empty()) return symbols.intern(d.dim_param());
  return kUnknownDim;
}

void set_type(TypeProto& type, const Value& v, const Symbols& symbols) {
  auto* t = (is_sequence(v.dtype()) ? type.mutable_sequence_type()->mutable_elem_type() : &type)
                ->mutable_tensor_type();
  t->set_elem_type(elem_type(element_of(v.dtype())));
  if (!v.shape().ranked()) return;
  auto* shape = t->mutable_shape();
  for (const Dim d : v.shape().dims()) set_dim(*shape, d, symbols);
}

void set_tensor(TensorProto& p, const Tensor& t) {
  p.set_data_type(elem_type(t.dtype()));
  for (const std::int64_t d : t.dims()) p.add_dims(d);
  const Bytes b = t.bytes();
  p.set_raw_data(b.data(), b.size());
}

struct AttrToProto {
  AttributeProto& p;
  void operator()(std::int64_t v) const { p.set_type(AttributeProto::INT), p.set_i(v); }
  void operator()(float v) const { p.set_type(AttributeProto::FLOAT), p.set_f(v); }
  void operator()(const std::string& v) const { p.set_type(AttributeProto::STRING), p.set_s(v); }
  void operator()(const Ints& v) const {
    p.set_type(AttributeProto::INTS);
    p.mutable_ints()->Add(v.begin(), v.end());
  }
  void operator()(const Floats& v) const {
    p.set_type(AttributeProto::FLOATS);
    p.mutable_floats()->Add(v.begin(), v.end());
  }
  void operator()(const Strings& v) const {
    p.set_type(AttributeProto::STRINGS);
    for (const std::string& s : v) p.add_strings(s);
  }
  void operator()(DType v) const { p.set_type(AttributeProto::INT), p.set_i(elem_type(v)); }
  void operator()(const TensorPtr& v) const {
    p.set_type(AttributeProto::TENSOR);
    if (v->dtype() != DType::string && v->elements() <= kMaxDataElements) set_tensor(*p.mutable_t(), *v);
  }
  void operator()(const GraphPtr&) const { p.set_type(AttributeProto::GRAPH); }
  template <class T>
  void operator()(const T&) const {}  // the source dialects' kinds do not occur here
};

// The two context interfaces of onnx, over our values.
class Context final : public ::onnx::InferenceContext, public ::onnx::DataPropagationContext {
 public:
  Context(const Values& inputs, const Attrs& attrs, std::size_t outputs, Symbols& symbols)
      : inputs_(inputs),
        attrs_(attrs),
        symbols_(symbols),
        arena_(room_.data(), room_.size()),
        in_types_(inputs.size()),
        out_types_(outputs),
        out_data_(outputs) {
    for (TypeProto*& t : out_types_) t = Arena::CreateMessage<TypeProto>(&arena_);
  }

  const AttributeProto* getAttribute(const std::string& name) const override {
    for (const auto& [n, p] : attr_protos_)
      if (n == name) return &p;
    for (const ir::NamedAttr& a : attrs_) {
      if (a.name != name) continue;
      auto& [n, p] = attr_protos_.emplace_back(name, AttributeProto());
      p.set_name(name);
      std::visit(AttrToProto{p}, a.value);
      return &p;
    }
    return nullptr;
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  const TypeProto* getInputType(std::size_t i) const override {
    if (i >= inputs_.size() || !inputs_[i]) return nullptr;
    if (!in_types_[i]) {
      in_types_[i] = Arena::CreateMessage<TypeProto>(&arena_);
      set_type(*in_types_[i], *inputs_[i], symbols_);
    }
    return in_types_[i];
  }
  bool hasInput(std::size_t i) const override { return i < inputs_.size() && inputs_[i]; }
  const TensorProto* getInputData(std::size_t i) const override {
    if (i >= inputs_.size() || !inputs_[i] || !inputs_[i]->constant()) return nullptr;
    const Tensor& t = *inputs_[i]->constant();
    if (t.dtype() == DType::string || t.elements() > kMaxDataElements) return nullptr;
    TensorProto& p = data_.emplace_back();
    set_tensor(p, t);
    return &p;
  }
  std::size_t getNumOutputs() const override { return out_types_.size(); }
  TypeProto* getOutputType(std::size_t i) override { return i < out_types_.size() ? out_types_[i] : nullptr; }
  const TypeProto* getOutputType(std::size_t i) const override {
    return i < out_types_.size() ? out_types_[i] : nullptr;
  }
  ::onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }
  const ::onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const TensorShapeProto* getSymbolicInput(std::size_t i) const override {
    return i < inputs_.size() && inputs_[i] && inputs_[i]->known_elements() ? elements_of(*inputs_[i])
                                                                            : nullptr;
  }

  // Data propagation.
  const TensorShapeProto* getInputData(std::size_t i) override {
    return i < inputs_.size() && inputs_[i] ? elements_of(*inputs_[i]) : nullptr;
  }
  void addOutputData(std::size_t i, TensorShapeProto&& p) override {
    if (i < out_data_.size()) out_data_[i] = std::make_unique<TensorShapeProto>(std::move(p));
  }
  bool any_elements_known() const {
    for (const Value* v : inputs_)
      if (v && v->known_elements()) return true;
    return false;
  }
  const TensorShapeProto* output_data(std::size_t i) const { return out_data_[i].get(); }

 private:
  const TensorShapeProto* elements_of(const Value& v) const {
    TensorShapeProto p;
    if (v.known_elements()) {
      for (const Dim d : *v.known_elements()) set_dim(p, d, symbols_);
    } else if (v.constant() && is_int(v.dtype()) && v.constant()->rank() <= 1 &&
               v.constant()->elements() <= kMaxDataElements) {
      for (const std::int64_t i : v.constant()->to_ints()) p.add_dim()->set_dim_value(i);
    } else if (v.shape() != Shape(Ints{0})) {  // nothing is known of the elements, and there are some
      return nullptr;
    }
    return &shapes_.emplace_back(std::move(p));
  }

  const Values& inputs_;
  const Attrs& attrs_;
  Symbols& symbols_;
  std::array<char, 2048> room_;  // enough for the types of most nodes: no allocation
  mutable Arena arena_;
  mutable std::vector<TypeProto*> in_types_;
  std::vector<TypeProto*> out_types_;
  std::vector<std::unique_ptr<TensorShapeProto>> out_data_;
  mutable std::list<std::pair<std::string, AttributeProto>> attr_protos_;
  mutable std::list<TensorProto> data_;
  mutable std::list<TensorShapeProto> shapes_;
};

Inferred read_type(const TypeProto& t, Symbols& symbols) {
  Inferred r;
  if (t.has_sequence_type())
    r.dtype = sequence_of(dtype_of_elem_type(t.sequence_type().elem_type().tensor_type().elem_type()));
  if (!t.has_tensor_type()) return r;
  r.dtype = dtype_of_elem_type(t.tensor_type().elem_type());
  if (!t.tensor_type().has_shape()) return r;
  Ints dims;
  for (const auto& d : t.tensor_type().shape().dim()) dims.push_back(dim_of(d, symbols));
  r.shape = Shape(std::move(dims));
  return r;
}

// The elements only where they can be a shape: one-dimensional or scalar integers.
void take_elements(Inferred& r, std::shared_ptr<const Ints> elements) {
  if (!elements || !is_int(r.dtype) || !r.shape.ranked() || r.shape.rank() > 1) return;
  const auto count = static_cast<std::int64_t>(elements->size());
  if (r.shape.rank() == 0 ? count != 1 : is_known(r.shape[0]) && r.shape[0] != count) return;
  if (r.shape.rank() == 1) r.shape = Shape(Ints{count});
  r.elements = std::move(elements);
}

void read_elements(Inferred& r, const TensorShapeProto* data, Symbols& symbols) {
  if (!data) return;
  Ints elements;
  for (const auto& d : data->dim()) elements.push_back(dim_of(d, symbols));
  take_elements(r, std::make_shared<const Ints>(std::move(elements)));
}

// The parts of a list that a Split takes apart.
void split_elements(std::vector<Inferred>& parts, const Value& list) {
  const auto elements = list.known_elements();
  if (!elements || !list.shape().ranked() || list.shape().rank() != 1) return;
  auto next = elements->begin();
  for (Inferred& part : parts) {
    if (!part.shape.is_static() || part.shape.rank() != 1 || elements->end() - next < part.shape[0]) return;
    take_elements(part, std::make_shared<const Ints>(next, next + part.shape[0]));
    next += part.shape[0];
  }
}

// Of sizes that are known at run time only: the other axes keep theirs.
void split_shapes(std::vector<Inferred>& parts, const Value& x, const Attrs& attrs) {
  if (!x.shape().ranked() || x.shape().rank() == 0) return;
  std::int64_t axis = 0;
  for (const ir::NamedAttr& a : attrs)
    if (const auto* i = std::get_if<std::int64_t>(&a.value); i && a.name == "axis") axis = *i;
  if (axis < 0) axis += x.shape().rank();
  if (axis < 0 || axis >= x.shape().rank()) return;
  Ints dims = x.shape().dims();
  nth(dims, axis) = kUnknownDim;
  for (Inferred& part : parts)
    if (!part.shape.ranked()) part.shape = Shape(dims);
}

bool is_unknown(Dim d) { return d == kUnknownDim; }

// The schemas of Slice and Gather take a bound or an index that is no number for 0.
bool is_taken_for_zero(const OpInfo& info, const Values& inputs) {
  if (info.op != "Slice" && info.op != "Gather") return false;
  return std::any_of(inputs.begin() + 1, inputs.end(), [](const Value* v) {
    const auto elements = v ? v->known_elements() : nullptr;
    return elements && !v->constant() && std::ranges::any_of(*elements, [](Dim d) { return !is_known(d); });
  });
}

// Constants among what is computed, as the amounts of a Pad along one axis.
bool joins_known_numbers(const OpInfo& info, const Values& inputs) {
  return info.op == "Concat" && std::ranges::any_of(inputs, [](const Value* v) {
           return v && v->constant() && is_int(v->dtype()) && v->shape().rank() == 1;
         });
}

}  // namespace

std::vector<Inferred> infer(const OpInfo& info, const Values& inputs, const Attrs& attrs, std::size_t outputs,
                            Symbols& symbols) {
  std::vector<Inferred> result(outputs);
  Context context(inputs, attrs, outputs, symbols);
  try {
    info.schema->GetTypeAndShapeInferenceFunction()(context);
    for (std::size_t i = 0; i < outputs; ++i)
      result[i] = read_type(*static_cast<::onnx::InferenceContext&>(context).getOutputType(i), symbols);
    const bool shape_maths = context.any_elements_known() || info.op == "Shape" || info.op == "Size" ||
                             joins_known_numbers(info, inputs);
    if (shape_maths && info.schema->has_data_propagation_function() && !is_taken_for_zero(info, inputs)) {
      info.schema->GetDataPropagationFunction()(context);
      for (std::size_t i = 0; i < outputs; ++i) read_elements(result[i], context.output_data(i), symbols);
    }
    if (shape_maths && outputs == 1) {
      const auto elements = elements_of_result(info.op, inputs, attrs, symbols);
      if (elements && (!result[0].elements || std::ranges::count_if(*elements, is_unknown) <
                                                  std::ranges::count_if(*result[0].elements, is_unknown)))
        take_elements(result[0], elements);
    }
    if (info.op == "Split") {
      split_shapes(result, *inputs[0], attrs);
      split_elements(result, *inputs[0]);
    }
    if (outputs == 1) result[0].shape = refined_shape(info.op, inputs, attrs, result[0].shape, symbols);
  } catch (const std::exception& e) {
    t2o::fail(Code::bad_model, "the shapes do not fit ONNX " + info.op + ": " + e.what());
  }
  for (std::size_t i = 0; i < outputs; ++i)  // some schemas leave the element type to the type parameter
    if (result[i].dtype == DType::undefined) {
      const int p = info.param_of_output(i);
      for (std::size_t k = 0; p >= 0 && k < inputs.size(); ++k)
        if (inputs[k] && info.param_of_input(k) == p) result[i].dtype = inputs[k]->dtype();
    }
  return result;
}

TensorPtr as_tensor(const Inferred& r) {
  if (!r.elements || !std::ranges::all_of(*r.elements, is_known)) return nullptr;
  if (r.dtype != DType::i64 && r.dtype != DType::i32) return nullptr;
  return converted(Tensor::of<std::int64_t>(r.shape.dims(), *r.elements), r.dtype);
}

TensorPtr as_nothing(const Inferred& r) {
  if (r.dtype == DType::undefined || is_complex(r.dtype) || !r.shape.ranked()) return nullptr;
  const Ints& dims = r.shape.dims();
  if (!std::ranges::all_of(dims, is_known) || !contains(dims, 0)) return nullptr;
  if (r.dtype == DType::string) return std::make_shared<Tensor>(dims, Strings{});
  return std::make_shared<Tensor>(r.dtype, dims, heap_storage({}));
}

}  // namespace t2o::onnx
