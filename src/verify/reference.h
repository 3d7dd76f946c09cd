#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tf2onnx/options.h"
#include "verify/inputs.h"

namespace t2o::verify {

struct EngineOptions {
  int threads = 0;  // 0: the engine's own choice, which is one for LiteRT
  std::string tensorflow_library = {}, litert_library = {};  // paths; empty: they are searched
};

// The interface that the two models share, by the source's prepared graph.
struct Ports {
  std::vector<Port> inputs, outputs;  // names as in the exported model
  DType coarsest = DType::undefined;  // of the types that the source computes in: f16, bf16 or else undefined
  bool fakes_quantization = false;    // --quantize-mode changes what the export computes
};

// What runs the source model.
struct Runtime {
  std::string name, version;               // "LiteRT", "2.17.1"
  std::string kernels, other_kernels = {};  // "XNNPACK", "builtin"; empty where there is one kind
};

// The source model, run by its own runtime through the interface that its conversion has.
class Reference {
 public:
  explicit Reference(Ports ports) : ports_(std::move(ports)) {}
  virtual ~Reference() = default;
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::vector<Port>& outputs() const { return ports_.outputs; }
  DType coarsest() const { return ports_.coarsest; }
  bool fakes_quantization() const { return ports_.fakes_quantization; }
  virtual Runtime runtime() const = 0;
  // Throws engines::Refusal for what the runtime does not run.
  virtual std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs) = 0;
  // The same by the runtime's other kernels, which are as right, and without a state. Empty: it has none.
  virtual std::vector<TensorPtr> run_otherwise(const std::vector<TensorPtr>&) { return {}; }
  // It computes with codes where the exported model computes with numbers, or the other way round.
  virtual bool quantizes() const { return false; }
  virtual void keep_state() = 0;  // a run goes on where the last one has ended
  virtual bool draws_random_numbers() const = 0;
  virtual bool is_drawn(std::size_t) const { return false; }  // an output, though the runtime gives the same in each run

 protected:
  Ports ports_;
};
std::unique_ptr<Reference> open_reference(const tf2onnx::Options&, const EngineOptions&);

// The tensors inside of the source's prepared graph, for one set of inputs.
class Intermediates {
 public:
  virtual ~Intermediates() = default;
  virtual bool has(const std::string& value) const = 0;  // can this value of the graph be computed?
  virtual std::vector<TensorPtr> compute(const Strings& values) = 0;
};

}  // namespace t2o::verify
