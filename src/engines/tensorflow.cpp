#include "engines/tensorflow.h"

#include <algorithm>
#include <charconv>

#include "engines/tensorflow_api.h"
#include "engines/tensorflow_tensor.h"

namespace t2o::engines {

using tf_api::Api;
using tf_api::check;
using tf_api::Output;
using tf_api::Status;
using tf_api::StatusPtr;

std::string tensorflow_version(const std::string& library) { return tf_api::api(library).version(); }

struct TfGraph::Impl {
  const Api* api;
  tf_api::Graph* graph;
  explicit Impl(const Api& a) : api(&a), graph(a.new_graph()) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { api->delete_graph(graph); }

  Output find(const std::string& tensor) const;  // operation null: there is none
  Output get(const std::string& tensor) const;
};

namespace {

std::pair<std::string, int> split_tensor_name(const std::string& tensor) {
  const std::size_t colon = tensor.rfind(':');
  int index = 0;
  if (colon == std::string::npos) return {tensor, 0};
  const auto [end, error] = std::from_chars(tensor.data() + colon + 1, tensor.data() + tensor.size(), index);
  if (error != std::errc() || end != tensor.data() + tensor.size() || index < 0) return {tensor, 0};
  return {tensor.substr(0, colon), index};
}

struct BufferPtr {
  const Api* api;
  tf_api::Buffer* buffer = api->new_buffer();
  explicit BufferPtr(const Api& a) : api(&a) {}
  BufferPtr(const BufferPtr&) = delete;
  BufferPtr& operator=(const BufferPtr&) = delete;
  ~BufferPtr() { api->delete_buffer(buffer); }
  std::string text() const { return {static_cast<const char*>(buffer->data), buffer->length}; }
};

int rank_for_tf(const Shape& s) { return s.ranked() ? s.rank() : -1; }
Ints dims_for_tf(const Shape& s) {
  Ints dims = s.ranked() ? s.dims() : Ints{};
  for (std::int64_t& d : dims) d = std::max<std::int64_t>(d, -1);  // a symbol is an unknown size
  return dims;
}

struct AttrSetter {
  const Api& api;
  tf_api::OperationDescription* description;
  const char* name;

  void operator()(bool v) const { api.set_bool(description, name, v); }
  void operator()(std::int64_t v) const { api.set_int(description, name, v); }
  void operator()(float v) const { api.set_float(description, name, v); }
  void operator()(const std::string& v) const { api.set_string(description, name, v.data(), v.size()); }
  void operator()(const Ints& v) const {
    api.set_ints(description, name, v.data(), static_cast<int>(v.size()));
  }
  void operator()(const Floats& v) const {
    api.set_floats(description, name, v.data(), static_cast<int>(v.size()));
  }
  void operator()(DType v) const { api.set_type(description, name, tf_api::type_code(v)); }
  void operator()(const TfFunction& v) const {
    api.set_function(description, name, v.name.data(), v.name.size());
  }
  void operator()(const Shape& v) const {
    api.set_shape(description, name, dims_for_tf(v).data(), rank_for_tf(v));
  }
  void operator()(const std::vector<bool>& v) const {
    const std::vector<unsigned char> bytes(v.begin(), v.end());
    api.set_bools(description, name, bytes.data(), static_cast<int>(bytes.size()));
  }
  void operator()(const Strings& v) const {
    std::vector<const void*> data;
    std::vector<std::size_t> sizes;
    for (const std::string& s : v) {
      data.push_back(s.data());
      sizes.push_back(s.size());
    }
    api.set_strings(description, name, data.data(), sizes.data(), static_cast<int>(v.size()));
  }
  void operator()(const DTypes& v) const {
    std::vector<int> codes;
    for (const DType t : v) codes.push_back(tf_api::type_code(t));
    api.set_types(description, name, codes.data(), static_cast<int>(codes.size()));
  }
  void operator()(const Shapes& v) const {
    std::vector<Ints> dims;
    std::vector<const std::int64_t*> data;
    std::vector<int> ranks;
    for (const Shape& s : v) {
      dims.push_back(dims_for_tf(s));
      ranks.push_back(rank_for_tf(s));
    }
    for (const Ints& d : dims) data.push_back(d.data());
    api.set_shapes(description, name, data.data(), ranks.data(), static_cast<int>(v.size()));
  }
  void operator()(const TensorPtr& v) const {
    const StatusPtr status(api);
    const tf_api::OwnedTensor tensor(api, *v);
    api.set_tensor(description, name, tensor.get(), status.get());
    check(api, status, std::string("attribute ") + name);
  }
};

}  // namespace

Output TfGraph::Impl::find(const std::string& tensor) const {
  const auto [operation_name, index] = split_tensor_name(tensor);
  tf_api::Operation* operation = api->operation_by_name(graph, operation_name.c_str());
  if (!operation || index >= api->num_outputs(operation)) return {nullptr, 0};
  return {operation, index};
}

Output TfGraph::Impl::get(const std::string& tensor) const {
  const Output output = find(tensor);
  if (!output.operation) fail(Code::bad_option, "TensorFlow: the graph has no tensor '" + tensor + "'");
  return output;
}

TfGraph::TfGraph(const std::string& library) : impl_(std::make_shared<Impl>(tf_api::api(library))) {}

std::string TfGraph::add(const TfOp& op) {
  const Api& api = *impl_->api;
  std::vector<std::vector<Output>>
      inputs;  // looked up first: a description that was begun cannot be given up
  std::vector<tf_api::Operation*> control;
  for (const TfInput& input : op.inputs) {
    inputs.emplace_back();
    for (const std::string& tensor : input.tensors) inputs.back().push_back(impl_->get(tensor));
  }
  for (const std::string& name : op.control) {
    control.push_back(api.operation_by_name(impl_->graph, name.c_str()));
    if (!control.back()) fail(Code::bad_option, "TensorFlow: the graph has no operation '" + name + "'");
  }
  if (api.operation_by_name(impl_->graph, op.name.c_str()))
    fail(Code::bad_option, "TensorFlow: the graph has an operation '" + op.name + "' already");
  tf_api::OperationDescription* description = api.new_operation(impl_->graph, op.op.c_str(), op.name.c_str());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i].is_list)
      api.add_input_list(description, inputs[i].data(), static_cast<int>(inputs[i].size()));
    else
      api.add_input(description, inputs[i].front());
  }
  for (tf_api::Operation* operation : control) api.add_control_input(description, operation);
  for (const TfAttr& attr : op.attrs) std::visit(AttrSetter{api, description, attr.name.c_str()}, attr.value);
  const StatusPtr status(api);
  api.finish_operation(description, status.get());
  check(api, status, op.op + " '" + op.name + "'");
  return op.name;
}

std::string TfGraph::placeholder(const std::string& name, DType dtype, const Shape& shape) {
  return add({.op = "Placeholder", .name = name, .attrs = {{"dtype", dtype}, {"shape", shape}}});
}

std::string TfGraph::constant(const std::string& name, const TensorPtr& value) {
  return add({.op = "Const", .name = name, .attrs = {{"dtype", value->dtype()}, {"value", value}}});
}

TfDefinition TfGraph::define(const std::string& name, const Strings& inputs, const Strings& outputs) const {
  const Api& api = *impl_->api;
  const auto found = [&](const Strings& tensors) {
    std::vector<Output> list;
    for (const std::string& t : tensors) list.push_back(impl_->get(t));
    return list;
  };
  const std::vector<Output> in = found(inputs), out = found(outputs);
  const StatusPtr status(api);
  tf_api::Function* function =
      api.to_function(impl_->graph, name.c_str(), 0, -1, nullptr, static_cast<int>(in.size()), in.data(),
                      static_cast<int>(out.size()), out.data(), nullptr, nullptr, nullptr, status.get());
  check(api, status, "function '" + name + "'");
  TfDefinition definition;
  definition.name_ = name;
  definition.function_ = {function,
                          [&api](void* f) { api.delete_function(static_cast<tf_api::Function*>(f)); }};
  return definition;
}

void TfGraph::add(const TfDefinition& definition) {
  const StatusPtr status(*impl_->api);
  impl_->api->copy_function(impl_->graph, static_cast<tf_api::Function*>(definition.function_.get()), nullptr,
                            status.get());
  check(*impl_->api, status, "function '" + definition.name_ + "'");
}

void TfGraph::import(Bytes graph_def, const std::string& prefix, const InputMap& inputs) {
  const Api& api = *impl_->api;
  const std::unique_ptr<tf_api::ImportOptions, void (*)(tf_api::ImportOptions*)> options(
      api.new_import_options(), api.delete_import_options);
  api.import_prefix(options.get(), prefix.c_str());
  for (const auto& [from, to] : inputs) {
    const auto [operation, index] = split_tensor_name(from);
    api.import_input(options.get(), operation.c_str(), index, impl_->get(to));
  }
  const tf_api::Buffer buffer{graph_def.data(), graph_def.size(), nullptr};
  const StatusPtr status(api);
  api.import_graph_def(impl_->graph, &buffer, options.get(), status.get());
  check(api, status, "the GraphDef");
}

std::string TfGraph::graph_def() const {
  const BufferPtr buffer(*impl_->api);
  const StatusPtr status(*impl_->api);
  impl_->api->to_graph_def(impl_->graph, buffer.buffer, status.get());
  check(*impl_->api, status, "serialization");
  return buffer.text();
}

std::string TfGraph::op_def(const std::string& op) const {
  const BufferPtr buffer(*impl_->api);
  const StatusPtr status(*impl_->api);
  impl_->api->get_op_def(impl_->graph, op.c_str(), buffer.buffer, status.get());
  check(*impl_->api, status, op);
  return buffer.text();
}

bool TfGraph::has(const std::string& tensor) const { return impl_->find(tensor).operation != nullptr; }

int TfGraph::outputs(const std::string& operation) const {
  tf_api::Operation* found = impl_->api->operation_by_name(impl_->graph, operation.c_str());
  if (!found) fail(Code::bad_option, "TensorFlow: the graph has no operation '" + operation + "'");
  return impl_->api->num_outputs(found);
}

std::vector<TfGraph::Operation> TfGraph::operations() const {
  std::vector<Operation> all;
  std::size_t position = 0;
  while (tf_api::Operation* operation = impl_->api->next_operation(impl_->graph, &position))
    all.push_back({impl_->api->operation_name(operation), impl_->api->operation_type(operation)});
  return all;
}

DType TfGraph::dtype(const std::string& tensor) const {
  return tf_api::type_of_code(impl_->api->output_type(impl_->get(tensor)));
}

Shape TfGraph::shape(const std::string& tensor) const {
  const Api& api = *impl_->api;
  const Output output = impl_->get(tensor);
  const StatusPtr status(api);
  const int rank = api.get_tensor_rank(impl_->graph, output, status.get());
  check(api, status, "the shape of " + tensor);
  if (rank < 0) return {};
  Ints dims = repeated(0, rank);
  api.get_tensor_shape(impl_->graph, output, dims.data(), rank, status.get());
  check(api, status, "the shape of " + tensor);
  return Shape(std::move(dims));
}

void TfGraph::set_shape(const std::string& tensor, const Shape& shape) {
  const StatusPtr status(*impl_->api);
  impl_->api->set_tensor_shape(impl_->graph, impl_->get(tensor), dims_for_tf(shape).data(),
                               rank_for_tf(shape), status.get());
  check(*impl_->api, status, "the shape of " + tensor);
}

struct TfSession::Impl {
  const Api* api;
  tf_api::Session* session;
  Impl(const Api& a, tf_api::Session* s) : api(&a), session(s) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const StatusPtr status(*api);
    api->close_session(session, status.get());
    api->delete_session(session, status.get());
  }
};

namespace {

// A serialized ConfigProto.
std::string config(const TfSessionOptions& o) {
  std::string proto;
  // intra_op_parallelism_threads = 1; inter_op_parallelism_threads = -1: all operations run in the caller's
  // thread
  if (o.single_threaded) proto += std::string("\x10\x01\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
  // graph_options { optimizer_options { opt_level: L0 } rewrite_options { disable_meta_optimizer: true } }
  if (!o.optimize)
    proto +=
        std::string("\x52\x12\x1a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x52\x03\x98\x01\x01", 20);
  return proto;
}

using SessionOptionsPtr = std::unique_ptr<tf_api::SessionOptions, void (*)(tf_api::SessionOptions*)>;
SessionOptionsPtr session_options(const Api& api, const TfSessionOptions& o) {
  SessionOptionsPtr options(api.new_session_options(), api.delete_session_options);
  const std::string proto = config(o);
  const StatusPtr status(api);
  api.set_config(options.get(), proto.data(), proto.size(), status.get());
  check(api, status, "session options");
  return options;
}

}  // namespace

TfSession::TfSession(TfGraph graph, std::unique_ptr<Impl> impl)
    : graph_(std::move(graph)), impl_(std::move(impl)) {}
TfSession::TfSession(TfSession&&) noexcept = default;
TfSession& TfSession::operator=(TfSession&&) noexcept = default;
TfSession::~TfSession() = default;

TfSession::TfSession(TfGraph graph, const TfSessionOptions& o) : graph_(std::move(graph)) {
  const Api& api = *graph_.impl_->api;
  const StatusPtr status(api);
  tf_api::Session* session =
      api.new_session(graph_.impl_->graph, session_options(api, o).get(), status.get());
  check(api, status, "a session");
  impl_ = std::make_unique<Impl>(api, session);
}

TfSession TfSession::load_saved_model(const std::string& folder, const Strings& tags,
                                      const TfSessionOptions& o) {
  TfGraph graph(o.library);
  const Api& api = *graph.impl_->api;
  std::vector<const char*> tag_list;
  for (const std::string& tag : tags) tag_list.push_back(tag.c_str());
  const StatusPtr status(api);
  tf_api::Session* session =
      api.load_saved_model(session_options(api, o).get(), nullptr, folder.c_str(), tag_list.data(),
                           static_cast<int>(tag_list.size()), graph.impl_->graph, nullptr, status.get());
  check(api, status, folder);
  return TfSession(std::move(graph), std::make_unique<Impl>(api, session));
}

std::vector<TensorPtr> TfSession::run(const Feeds& feeds, const Strings& fetches, const Strings& targets) {
  const Api& api = *impl_->api;
  std::vector<Output> inputs, outputs;
  std::vector<const tf_api::Operation*> operations;
  std::vector<tf_api::OwnedTensor> owned;
  std::vector<tf_api::TensorHandle*> values;
  owned.reserve(feeds.size());
  for (const auto& [tensor, value] : feeds) {
    inputs.push_back(graph_.impl_->get(tensor));
    owned.emplace_back(api, *value);
    values.push_back(owned.back().get());
  }
  for (const std::string& tensor : fetches) outputs.push_back(graph_.impl_->get(tensor));
  for (const std::string& name : targets) {
    operations.push_back(api.operation_by_name(graph_.impl_->graph, name.c_str()));
    if (!operations.back()) fail(Code::bad_option, "TensorFlow: the graph has no operation '" + name + "'");
  }
  std::vector<tf_api::TensorHandle*> raw(fetches.size());
  const StatusPtr status(api);
  api.session_run(impl_->session, nullptr, inputs.data(), values.data(), static_cast<int>(inputs.size()),
                  outputs.data(), raw.data(), static_cast<int>(outputs.size()), operations.data(),
                  static_cast<int>(operations.size()), nullptr, status.get());
  check(api, status, "run");
  std::vector<tf_api::FetchedTensor> fetched;
  for (tf_api::TensorHandle* tensor : raw) fetched.emplace_back(tensor, api.delete_tensor);
  std::vector<TensorPtr> results;
  for (std::size_t i = 0; i < fetched.size(); ++i)
    results.push_back(tf_api::read_tensor(api, fetched[i].get(), fetches[i]));
  return results;
}

}  // namespace t2o::engines
