#include "harness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "op_mappers/registry.h"

namespace t2o::numeric {

namespace {

TensorPtr emptied(const Tensor& t) {
  Ints dims = t.dims();
  dims[0] = 0;
  if (t.dtype() == DType::string) return std::make_shared<Tensor>(std::move(dims), Strings{});
  return std::make_shared<Tensor>(t.dtype(), std::move(dims), heap_storage({}));
}

}  // namespace

bool is_special(const TensorPtr& t, bool with_infinities) {
  if (contains(t->dims(), 0)) return true;
  const TensorPtr numbers = test::as_onnx(t);
  if (!is_float(numbers->dtype())) return false;
  const double least = numbers->dtype() == DType::f16 ? 0x1p-14 : numbers->dtype() == DType::f64 ? 0x1p-1022 : 0x1p-126;
  const std::vector<double> values = numbers->to_floats();
  return std::any_of(values.begin(), values.end(), [&](double v) {
    return std::isnan(v) || (with_infinities && std::isinf(v)) || (v != 0 && std::abs(v) < least);
  });
}

// ---- Builder

TensorPtr Builder::random(DType dtype, const Ints& dims, std::optional<verify::Range> range) {
  verify::Random random(verify::mix(1, seed_ + "/" + std::to_string(next_)));
  return verify::random_tensor(dtype == any ? dtype_ : dtype, dims, random, range);
}

std::string Builder::input(DType dtype, const Ints& dims, std::optional<verify::Range> range) {
  return input(random(dtype, dims, range));
}

std::string Builder::input(const TensorPtr& value) {
  const TensorPtr fed = empty_ && value->rank() > 0 ? emptied(*value) : value;
  const std::string tensor = "x" + std::to_string(next_++);
  graph_.placeholder(tensor, fed->dtype(), test::shape_in(mode_, fed->dims()));
  feeds_.emplace_back(tensor, fed);
  return tensor;
}

std::string Builder::const_input(DType dtype, const Ints& dims, std::optional<verify::Range> range) {
  return const_input(random(dtype, dims, range));
}

std::string Builder::const_input(const TensorPtr& value) {
  reads_specials_ = reads_specials_ || (is_float(value->dtype()) && is_special(value, false));
  return graph_.constant("c" + std::to_string(next_++), value);
}

std::string Builder::op(const std::string& op, std::vector<TfInput> inputs, std::vector<TfAttr> attrs,
                        std::string name) {
  for (TfAttr& attr : attrs)
    if (auto* dtype = std::get_if<DType>(&attr.value); dtype && *dtype == any) *dtype = dtype_;
  if (name.empty()) name = op + "_" + std::to_string(next_++);
  return graph_.add({op, std::move(name), std::move(inputs), std::move(attrs)});
}

// ---- the words of a case

Case op_case(std::string op) {
  Case c(op);
  c.op_ = std::move(op);
  return c;
}

Case graph_case(std::string title, std::function<void(Builder&)> build) {
  Case c(std::move(title));
  c.lambda_ = std::move(build);
  return c;
}

Case& Case::in(DType dtype, Ints dims, Kind kind) {
  inputs_.push_back({dtype, std::move(dims), kind, nullptr, {}, {}});
  return *this;
}
Case& Case::in(TensorPtr value, Kind kind) {
  inputs_.push_back({value->dtype(), value->dims(), kind, value, {}, {}});
  return *this;
}
Case& Case::values_as(DType dtype, Ints dims, std::vector<double> v, Kind kind) {
  inputs_.push_back({dtype, std::move(dims), kind, nullptr, {}, std::move(v)});
  return *this;
}
Case& Case::range(double low, double high) {
  inputs_.back().range = verify::Range{low, high};
  return *this;
}
Case& Case::as_list(std::size_t count) {
  inputs_.back().list = count;
  return *this;
}
Case& Case::attr(std::string attr_name, TfAttrValue value) {
  attrs_.push_back({std::move(attr_name), std::move(value)});
  return *this;
}
Case& Case::outputs(std::size_t count) {
  output_count_ = count;
  return *this;
}
Case& Case::dtypes(DTypes expansion) {
  dtypes_ = std::move(expansion);
  return *this;
}
Case& Case::nan_inf() {
  nan_inf_ = true;
  return *this;
}
Case& Case::empty() {
  empty_ = true;
  return *this;
}
Case& Case::only_opsets(std::vector<int> opsets) {
  opsets_ = std::move(opsets);
  return *this;
}
Case& Case::since(int opset) {
  since_ = opset;
  return *this;
}
Case& Case::without(std::set<Mode> modes) {
  without_ = std::move(modes);
  return *this;
}
Case& Case::options(std::function<void(Options&)> change) {
  change_ = std::move(change);
  return *this;
}
Case& Case::note(std::string text) {
  note_ = std::move(text);
  return *this;
}
Case& Case::tol(double relative, double absolute) {
  tolerance_ = {relative, absolute};
  return *this;
}
Case& Case::gives(std::map<std::string, std::size_t> operators, int since, std::set<Mode> modes) {
  gives_.push_back({std::move(operators), since, std::move(modes)});
  return *this;
}
Case& Case::shape_only() {
  shape_only_ = true;
  return *this;
}
Case& Case::refuses(Code code, std::string message_part, std::set<Mode> modes) {
  refusals_.push_back({code, std::move(message_part), std::move(modes)});
  return *this;
}
Case& Case::refuses_below(int opset, Code code, std::string message_part) {
  refusals_.push_back({code, std::move(message_part), {}, opset});
  return *this;
}

const Case::Refusal* Case::refusal(Mode mode, int opset) const {
  for (const Refusal& r : refusals_)
    if ((r.modes.empty() || r.modes.contains(mode)) && (r.below_opset == 0 || opset < r.below_opset))
      return &r;
  return nullptr;
}

// ---- the graph of an op case

void Case::build(Builder& b) const {
  if (lambda_)
    lambda_(b);
  else
    build_op(b);
}

void Case::build_op(Builder& b) const {
  std::vector<TfInput> inputs;
  Strings names;
  for (const In& in : inputs_) {
    TensorPtr value = in.value;
    if (!in.numbers.empty())
      value = verify::tensor_of(in.dtype == any ? b.dtype() : in.dtype, in.dims, in.numbers);
    if (!value) value = b.random(in.dtype, in.dims, in.range);
    names.push_back(in.kind == constant ? b.const_input(value) : b.input(value));
    inputs.emplace_back(names.back());
    if (in.list != 0) {
      inputs.resize(inputs.size() - in.list, TfInput(""));
      inputs.emplace_back(Strings(names.end() - static_cast<std::ptrdiff_t>(in.list), names.end()));
    }
  }
  const std::string op = b.op(op_, std::move(inputs), attrs_, "op");
  const std::size_t count = output_count_.value_or(static_cast<std::size_t>(b.graph().outputs(op)));
  for (std::size_t i = 0; i < count; ++i) b.output(op + ":" + std::to_string(i));
}

}  // namespace t2o::numeric
