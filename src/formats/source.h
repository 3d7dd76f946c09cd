#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics.h"
#include "ir/graph.h"
#include "support/storage.h"
#include "tf2onnx/options.h"

// What every model format gives, whatever its files look like.
namespace t2o {

// An entry point of a model, under a name.
struct ModelSignature {
  struct Tensor {
    std::string key;     // the name that a user knows
    std::string tensor;  // its name in the model's graph
    DType dtype = DType::undefined;
    Shape shape = {};
    Strings dim_names = {};  // by axis, "" where there is none; may be empty
  };
  std::string name;
  std::vector<Tensor> inputs, outputs;
};

// The graph of one entry point, in a dialect that the mappers know.
struct Prepared {
  GraphPtr graph;           // null: the errors are reported
  Strings inputs, outputs;  // for each input and output of the graph its tensor in the model; "" for that of a state
  std::vector<std::pair<std::string, TensorPtr>> input_defaults;  // values of inputs that may be left out
  Strings files;  // beside the model, which constants are read from when they are written
};

// The part of a model that its outputs need, in the model's own format, with its variables as constants.
class FrozenModel {
 public:
  virtual ~FrozenModel() = default;
  virtual std::size_t size() const = 0;
  virtual void stream(const std::function<void(Bytes)>& write) const = 0;
};

// Gives a graph's values the shapes that its mapping would infer.
using InferShapes = std::function<void(ir::Graph&)>;

// An opened model. The file is read once; each function that takes options is of the entry point that they choose, and fails if the
// model does not have it. One Source gives the graphs of several entry points, one after the other.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string description(const tf2onnx::Options&) const = 0;  // "saved_model, signature serving_default, TensorFlow 2.21.0"
  virtual std::vector<ModelSignature> signatures() const = 0;
  virtual std::map<std::string, std::size_t> op_counts() const = 0;  // of the file, with its functions
  // Do the options cut the graph at tensors that the model's own runtime can neither feed nor return?
  virtual bool cuts_inside(const tf2onnx::Options&) const = 0;
  // The graph that the options choose. Everything that is wrong with them is reported. The graph must outlive the Source: the
  // storages of its constants own the mapped file. Graphs that have a weight in common map it at the same place (Storage::identity).
  virtual Prepared prepare(const tf2onnx::Options&, const InferShapes&, Diagnostics&) const = 0;
  // For --output-frozen-graph. Reports what cannot be frozen; a format without such a form reports that, and returns null.
  virtual std::shared_ptr<const FrozenModel> freeze(const tf2onnx::Options&, const Prepared&, Diagnostics&) const = 0;
};
using SourcePtr = std::unique_ptr<Source>;

}  // namespace t2o
