#include "verify/candidate.h"

#include <algorithm>

#include "diagnostics.h"
#include "onnx/image_layout.h"
#include "verify/compare.h"

namespace t2o::verify {
namespace {

constexpr const char* kStateOutput = "_out";
const Ints kToNchw = onnx::channels_first_perm(4), kToNhwc = onnx::channels_last_perm(4);

std::string listed(const std::vector<engines::TensorInfo>& infos) {
  std::string text;
  for (const engines::TensorInfo& i : infos) text += (text.empty() ? "'" : ", '") + i.name + "'";
  return text;
}

std::string bare(const std::string& name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

const engines::TensorInfo* find(const std::vector<engines::TensorInfo>& infos, const std::string& name) {
  const auto it = std::ranges::find_if(infos, [&](const auto& i) { return bare(i.name) == bare(name); });
  return it == infos.end() ? nullptr : &*it;
}

Shape permuted(const Shape& s, const Ints& permutation) {
  if (!s.ranked() || s.rank() != static_cast<int>(permutation.size())) return s;
  Ints dims;
  for (const std::int64_t p : permutation) dims.push_back(nth(s.dims(), p));
  return Shape(std::move(dims));
}

// ONNX Runtime shows an unknown rank as rank 0; only rank and sizes that TensorFlow does not contradict are
// taken over.
void sharpen(Shape& shape, const Shape& declared) {
  if (declared.rank() == 0) return;
  if (const auto merged = merge(shape, declared)) shape = *merged;
}

}  // namespace

TensorPtr transposed(const TensorPtr& t, const Ints& permutation) {
  const auto rank = permutation.size();
  const std::size_t size = bit_width(t->dtype()) / 8;
  if (t->dims().size() != rank || size == 0)
    fail(Code::bad_model, "a tensor of " + std::string(name(t->dtype())) + shape_text(t->dims()) +
                              " cannot be transposed to another layout");
  Ints dims(rank), strides(rank), position(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto from = static_cast<std::size_t>(permutation[i]);
    dims[i] = t->dims()[from];
    strides[i] =
        element_count(Ints(t->dims().begin() + static_cast<std::ptrdiff_t>(from) + 1, t->dims().end()));
  }
  std::vector<std::byte> bytes(t->byte_size());
  const Bytes source = t->bytes();
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < rank; ++k) at += position[k] * strides[k];
    std::memcpy(bytes.data() + i * size, source.data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t k = rank; k-- > 0;) {
      if (++position[k] < dims[k]) break;
      position[k] = 0;
    }
  }
  return std::make_shared<Tensor>(t->dtype(), std::move(dims), heap_storage(std::move(bytes)));
}

Candidate::Candidate(engines::OrtSession session, const tf2onnx::Options& source, std::vector<Port>& inputs,
                     std::vector<Port>& outputs)
    : session_(std::move(session)) {
  find_states();
  std::vector<engines::TensorInfo> takes = session_.inputs();
  for (const engines::TensorInfo& optional : session_.optional_inputs())  // but for states
    if (!contains(states_, optional.name)) takes.push_back(optional);
  inputs_ = match(takes, inputs, source.inputs_as_nchw, "inputs");
  std::vector<engines::TensorInfo> results = session_.outputs();
  results.resize(results.size() - states_.size());  // they stand behind the others
  outputs_ = match(results, outputs, source.outputs_as_nchw, "outputs");
}

void Candidate::find_states() {
  for (const engines::TensorInfo& state : session_.optional_inputs())
    if (find(session_.outputs(), state.name + kStateOutput)) states_.push_back(state.name);
}

namespace {

// --dequantize makes numbers of codes.
void check_codes(const engines::TensorInfo& info, const Port& port) {
  if (port.codes.step == 0 || info.dtype == DType::undefined || is_float(info.dtype) == is_float(port.dtype))
    return;
  const bool has_numbers = is_float(info.dtype);
  fail(Code::bad_option,
       "'" + info.name + "' holds " + (has_numbers ? "numbers" : "codes") + " in the ONNX model (" +
           std::string(name(info.dtype)) + "), and " + (has_numbers ? "codes" : "numbers") +
           " in the source (" + std::string(name(port.dtype)) + ")",
       has_numbers ? "verify an export of --dequantize with --dequantize" : "leave out --dequantize");
}

}  // namespace

std::vector<Candidate::Match> Candidate::match(const std::vector<engines::TensorInfo>& infos,
                                               std::vector<Port>& ports,
                                               const std::vector<std::string>& as_nchw,
                                               const std::string& what) {
  const bool by_name = std::ranges::all_of(ports, [&](const Port& p) { return find(infos, p.name); });
  if (infos.size() != ports.size())
    fail(Code::bad_option,
         "the ONNX model has " + std::to_string(infos.size()) + " " + what + " (" + listed(infos) +
             "), the source " + std::to_string(ports.size()),
         "Give the same --signature, --inputs and --outputs as for the conversion.");
  std::vector<Match> matches;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const engines::TensorInfo& info = by_name ? *find(infos, ports[i].name) : infos[i];
    const bool nchw = std::ranges::any_of(as_nchw, [&](const std::string& n) {
      return bare(n) == bare(ports[i].name) || bare(n) == bare(ports[i].tensor);
    });
    ports[i].name = info.name;
    if (is_complex(ports[i].dtype)) {  // its shape has one more axis
      matches.push_back({info.name, nchw});
      continue;
    }
    check_codes(info, ports[i]);
    sharpen(ports[i].shape, nchw ? permuted(info.shape, kToNhwc) : info.shape);
    matches.push_back({info.name, nchw});
  }
  return matches;
}

engines::Feeds Candidate::feeds(const std::vector<TensorPtr>& inputs) const {
  engines::Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    feeds.emplace_back(inputs_[i].name,
                       inputs_[i].nchw ? transposed(inputs[i], kToNchw) : complex_as_pairs(inputs[i]));
  return feeds;
}

std::vector<TensorPtr> Candidate::run(const std::vector<TensorPtr>& inputs) {
  Strings names;
  for (const Match& m : outputs_) names.push_back(m.name);
  for (const std::string& state : states_) names.push_back(state + kStateOutput);
  engines::Feeds all = feeds(inputs);
  append(all, state_);
  std::vector<TensorPtr> results = session_.run(all, names);
  state_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i)
    state_.emplace_back(states_[i], results[outputs_.size() + i]);
  results.resize(outputs_.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (outputs_[i].nchw) results[i] = transposed(results[i], kToNhwc);
  return results;
}

}  // namespace t2o::verify
