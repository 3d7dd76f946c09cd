#include "verify/tflite/lite_reference.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "diagnostics.h"
#include "engines/litert.h"
#include "verify/random.h"
#include "verify/tflite/lite_facts.h"

namespace t2o::verify {
namespace {

using engines::LiteKernels;
using engines::LiteModel;
using engines::LiteSignature;
using engines::LiteTensor;

LiteKernels other(LiteKernels k) {
  return k == LiteKernels::xnnpack ? LiteKernels::builtin : LiteKernels::xnnpack;
}

std::string name_of(LiteKernels k) { return k == LiteKernels::xnnpack ? "XNNPACK" : "builtin"; }

std::optional<std::size_t> find(const std::vector<LiteTensor>& tensors, const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const LiteTensor& t) { return t.name == name; });
  if (found == tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tensors.begin());
}

bool has_all(const std::vector<LiteTensor>& tensors, const std::vector<Port>& ports) {
  return std::all_of(ports.begin(), ports.end(), [&](const Port& p) { return find(tensors, p.tensor); });
}

// Tensors without names are named by their place in the file, which LiteRT does not tell.
bool has_as_many_nameless(const std::vector<LiteTensor>& tensors, const std::vector<Port>& ports) {
  return tensors.size() == ports.size() &&
         std::all_of(tensors.begin(), tensors.end(), [](const LiteTensor& t) { return t.name.empty(); });
}

bool fits(const std::vector<LiteTensor>& tensors, const std::vector<Port>& ports) {
  return has_all(tensors, ports) || has_as_many_nameless(tensors, ports);
}

// The signature that the options name goes first, then that which the conversion takes by itself, then the
// main graph.
std::size_t choose(const std::vector<LiteSignature>& all, const tf2onnx::Options& o, const Ports& ports) {
  const auto rank = [&](const LiteSignature& s) {
    if (!o.signature.empty() && s.key == o.signature) return 0;
    return s.key == "serving_default" ? 1 : s.key.empty() ? 2 : 3;
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (fits(all[i].inputs, ports.inputs) && fits(all[i].outputs, ports.outputs) &&
        (!best || rank(all[i]) < rank(all[*best])))
      best = i;
  if (best) return *best;
  fail(Code::bad_option,
       "LiteRT runs whole models alone: it neither takes nor returns their inner tensors, and no signature "
       "has "
       "these inputs and outputs",
       "verify the model without --inputs and --outputs, or with those of the model");
}

std::vector<std::size_t> places(const std::vector<LiteTensor>& tensors, const std::vector<Port>& ports) {
  std::vector<std::size_t> result;
  const bool by_name = has_all(tensors, ports);
  for (std::size_t i = 0; i < ports.size(); ++i)
    result.push_back(by_name ? *find(tensors, ports[i].tensor) : i);
  return result;
}

bool holds_codes(const LiteTensor& t) {
  return t.is_quantized() && is_int(t.dtype) && bit_width(t.dtype) <= 16;
}

// The tensor has codes, and the exported model, which was dequantized, has their numbers.
bool is_dequantized(const Port& port, const LiteTensor& t) { return holds_codes(t) && is_float(port.dtype); }

struct Coding {
  double scale, zero_point, lowest, highest;
};
Coding coding_of(const LiteTensor& t) {
  const double count = std::exp2(bit_width(t.dtype)), lowest = is_signed_int(t.dtype) ? -count / 2 : 0;
  return {static_cast<double>(t.scales[0]),
          t.zero_points.empty() ? 0.0 : static_cast<double>(t.zero_points[0]), lowest, lowest + count - 1};
}

TensorPtr codes_of(const Tensor& numbers, const LiteTensor& t) {
  const Coding c = coding_of(t);
  std::vector<double> values = numbers.to_floats();
  for (double& v : values) v = std::clamp(std::nearbyint(v / c.scale) + c.zero_point, c.lowest, c.highest);
  return tensor_of(t.dtype, numbers.dims(), values);
}

TensorPtr numbers_of(const Tensor& codes, const LiteTensor& t) {
  const Coding c = coding_of(t);
  std::vector<double> values = codes.to_floats();
  for (double& v : values) v = (v - c.zero_point) * c.scale;
  return tensor_of(DType::f32, codes.dims(), values);
}

// What LiteRT knows of a tensor goes before what the file says; but of an open size it may know the stored
// one.
void complete(Port& port, const LiteTensor& t) {
  const int bits = static_cast<int>(bit_width(t.dtype));
  const bool knows_stored = port.shape.ranked() && t.shape.ranked() && t.shape.dims() == port.in_file;
  const auto merged = knows_stored ? std::nullopt : merge(port.shape, t.shape);
  if (merged) port.shape = *merged;
  if (is_dequantized(port, t)) {
    const Coding c = coding_of(t);
    port.codes = {c.scale, bits, c.scale * (c.lowest - c.zero_point)};
    return;
  }
  port.dtype = t.dtype;
  if (holds_codes(t)) port.codes = {1, bits};
}

class LiteReference : public Reference {
 public:
  LiteReference(const tf2onnx::Options& options, Ports ports, const EngineOptions& engine)
      : Reference(std::move(ports)),
        path_(options.model),
        library_(engine.litert_library),
        tensorflow_(engine.tensorflow_library),
        facts_(facts_of_lite_model(options.model)),
        threads_(std::max(engine.threads, 1)),
        kernels_(options.reference_kernels == tf2onnx::ReferenceKernels::builtin ? LiteKernels::builtin
                                                                                 : LiteKernels::xnnpack),
        model_(open(kernels_)) {
    signature_ = choose(model_.signatures(), options, ports_);
    const LiteSignature& s = model_.signatures()[signature_];
    const std::vector<std::size_t> inputs = places(s.inputs, ports_.inputs);
    outputs_ = places(s.outputs, ports_.outputs);
    port_of_input_.assign(s.inputs.size(), ports_.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) port_of_input_[inputs[i]] = i;
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
      if (port_of_input_[i] == ports_.inputs.size())
        fail(Code::bad_option,
             "LiteRT runs whole models, and the exported model has no input '" + s.inputs[i].name + "'",
             "verify the model without --inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Port& port = ports_.inputs[i];
      if (const auto codes = facts_.made_codes.find(port.tensor);
          options.dequantize && codes != facts_.made_codes.end())
        port.codes = codes->second;
      if (const auto sizes = facts_.sizes.find(port.tensor); sizes != facts_.sizes.end())
        port.in_file = sizes->second;
      complete(port, s.inputs[inputs[i]]);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      Port& port = ports_.outputs[i];
      if (const auto codes = facts_.codes.find(port.tensor); codes != facts_.codes.end())
        port.codes = codes->second;
      complete(port, s.outputs[outputs_[i]]);
    }
  }

  Runtime runtime() const override {
    return {"LiteRT", model_.version().version, name_of(kernels_), name_of(other(kernels_))};
  }

  std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs) override {
    const bool goes_on = keeps_state_ && has_run_;
    has_run_ = true;
    return run_in(model_, inputs, goes_on);
  }

  std::vector<TensorPtr> run_otherwise(const std::vector<TensorPtr>& inputs) override {
    if (!other_) other_ = std::make_unique<LiteModel>(open(other(kernels_)));
    return run_in(*other_, inputs, false);
  }

  bool quantizes() const override { return facts_.quantizes; }
  void keep_state() override { keeps_state_ = true; }

  // A run repeats the last one from the same state: what differs then is drawn.
  bool draws_random_numbers() const override { return threads_ == 1 || !facts_.drawn.empty(); }
  bool is_drawn(std::size_t output) const override {
    return facts_.drawn.contains(ports_.outputs[output].tensor);
  }

 private:
  LiteModel open(LiteKernels kernels) const {
    const auto& flex = facts_.flex_operators;
    return LiteModel::from_file(path_, {.library = library_,
                                        .kernels = kernels,
                                        .threads = threads_,
                                        .flex_operators = {flex.begin(), flex.end()},
                                        .tensorflow_library = tensorflow_});
  }

  std::vector<TensorPtr> run_in(LiteModel& model, const std::vector<TensorPtr>& inputs, bool goes_on) const {
    std::vector<TensorPtr> fed;
    const LiteSignature& s = model.signatures()[signature_];
    for (std::size_t i = 0; i < port_of_input_.size(); ++i) {
      const std::size_t port = port_of_input_[i];
      const bool other = is_dequantized(ports_.inputs[port], s.inputs[i]);
      fed.push_back(other ? codes_of(*inputs[port], s.inputs[i]) : inputs[port]);
    }
    const std::vector<TensorPtr> all = model.run(signature_, fed, goes_on);
    std::vector<TensorPtr> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorPtr& result = all.at(outputs_[i]);
      const bool other = is_dequantized(ports_.outputs[i], s.outputs[outputs_[i]]);
      results.push_back(other ? numbers_of(*result, s.outputs[outputs_[i]]) : result);
    }
    return results;
  }

  std::string path_, library_, tensorflow_;
  LiteFacts facts_;
  int threads_;
  LiteKernels kernels_;
  LiteModel model_;
  std::unique_ptr<LiteModel> other_;
  std::size_t signature_ = 0;
  std::vector<std::size_t> port_of_input_;  // by LiteRT's inputs
  std::vector<std::size_t> outputs_;        // by the ports
  bool keeps_state_ = false, has_run_ = false;
};

}  // namespace

std::unique_ptr<Reference> lite_reference(const tf2onnx::Options& options, Ports ports,
                                          const EngineOptions& engine) {
  return std::make_unique<LiteReference>(options, std::move(ports), engine);
}

}  // namespace t2o::verify
