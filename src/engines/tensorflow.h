#pragma once
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diagnostics.h"
#include "engines/onnxruntime.h"
#include "engines/refusal.h"
#include "ir/attr.h"

namespace t2o::engines {

std::vector<std::string> tensorflow_libraries(const std::string& explicit_path);  // the files to try
std::string tensorflow_version(const std::string& library = "");  // throws Code::engine_missing

class TfError : public Refusal {  // what TensorFlow itself refuses
 public:
  using Refusal::Refusal;
};

struct TfFunction {  // an attribute of type "func"; its body is in the graph's library
  std::string name;
};

// Unlike Attr this knows bool, which TensorFlow wants apart from int.
using TfAttrValue = std::variant<bool, std::int64_t, float, std::string, std::vector<bool>, Ints, Floats,
                                 Strings, DType, DTypes, Shape, Shapes, TensorPtr, TfFunction>;
struct TfAttr {
  std::string name;
  TfAttrValue value;
};

struct TfInput {  // one tensor, "x" or "x:1", or a list of them for an input that takes a list
  TfInput(const char* tensor) : tensors{tensor} {}
  TfInput(std::string tensor) : tensors{std::move(tensor)} {}
  TfInput(Strings list) : tensors(std::move(list)), is_list(true) {}
  Strings tensors;
  bool is_list = false;
};

struct TfOp {
  std::string op, name;
  std::vector<TfInput> inputs = {};
  std::vector<TfAttr> attrs = {};
  Strings control = {};  // operations that run before
};

class TfDefinition {  // of a function
 public:
  const std::string& name() const { return name_; }

 private:
  friend class TfGraph;
  std::string name_;
  std::shared_ptr<void> function_;
};

// A graph of TensorFlow's. Copies share the same graph. What TensorFlow refuses is a ConversionError with its
// message.
class TfGraph {
 public:
  explicit TfGraph(const std::string& library = "");

  std::string add(const TfOp& op);  // gives the name back
  std::string placeholder(const std::string& name, DType dtype, const Shape& shape);
  std::string constant(const std::string& name, const TensorPtr& value);
  using InputMap =
      std::vector<std::pair<std::string, std::string>>;  // tensor of the GraphDef -> tensor of this graph
  // This graph as a function that other graphs may call; their own functions are not taken along.
  TfDefinition define(const std::string& name, const Strings& inputs, const Strings& outputs) const;
  void add(const TfDefinition&);
  void import(Bytes graph_def, const std::string& prefix = "", const InputMap& inputs = {});
  std::string graph_def() const;
  std::string op_def(const std::string& op) const;  // a serialized OpDef

  bool has(const std::string& tensor) const;  // the operation exists and has such an output
  int outputs(const std::string& operation) const;
  struct Operation {
    std::string name, op;
  };
  std::vector<Operation> operations() const;
  DType dtype(const std::string& tensor) const;  // undefined for those that cannot be fetched
  Shape shape(const std::string& tensor) const;  // as TensorFlow's own inference sees it
  void set_shape(const std::string& tensor, const Shape& shape);

 private:
  friend class TfSession;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

struct TfSessionOptions {
  bool single_threaded = false;
  bool optimize = false;  // let Grappler and the other optimizers change the graph
  std::string library = {};
};

class TfSession {
 public:
  explicit TfSession(TfGraph graph, const TfSessionOptions& = {});  // later additions to the graph take part
  static TfSession load_saved_model(const std::string& folder, const Strings& tags,
                                    const TfSessionOptions& = {});
  TfSession(TfSession&&) noexcept;
  TfSession& operator=(TfSession&&) noexcept;
  ~TfSession();

  const TfGraph& graph() const { return graph_; }
  // Tensors by name, "x" or "x:1"; targets are operations that run for their effect.
  std::vector<TensorPtr> run(const Feeds& feeds, const Strings& fetches, const Strings& targets = {});

 private:
  struct Impl;
  TfSession(TfGraph graph, std::unique_ptr<Impl> impl);
  TfGraph graph_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace t2o::engines
