#include "onnx/proto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "ir/nesting.h"
#include "onnx/altered.h"
#include "onnx/elem_type.h"
#include "onnx/layout_functions.h"

namespace t2o::onnx {
namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";
constexpr int kMetadataIrVersion = 10;

void set_header(pb::TensorProto& p, const Tensor& t) {
  p.mutable_dims()->Add(t.dims().begin(), t.dims().end());
  p.set_data_type(tensor_proto_type(t.dtype()));
  for (const std::string& s : t.strings()) p.add_string_data(s);
}

void set_data(pb::TensorProto& p, const Tensor& t) {
  if (t.byte_size() == 0) return;
  std::string& raw = *p.mutable_raw_data();
  raw.reserve(t.byte_size());
  t.storage()->stream([&](Bytes b) { raw.append(reinterpret_cast<const char*>(b.data()), b.size()); });
}

void set_tensor(pb::TensorProto& p, const std::string& name, const Tensor& t) {
  set_header(p, t);
  p.set_name(name);
  set_data(p, t);
}

void add_entry(pb::StringStringEntryProto& e, const std::string& key, const std::string& value) {
  e.set_key(key);
  e.set_value(value);
}

// What the file says besides the graph.
void add_metadata(const ir::Model& model, const ir::ModelGraph& graph, Skeleton& s) {
  s.model.set_producer_name("tf2onnx-cpp");
  s.model.set_producer_version(model.producer_version);
  if (!model.doc_string.empty()) s.model.set_doc_string(model.doc_string);
  for (const auto& [input, tensor] : graph.input_defaults)
    set_tensor(*s.graph.add_initializer(), input, *tensor);
  auto props = altered_props(*graph.graph);
  for (const auto* more : {&model.properties, &graph.properties}) append(props, *more);
  std::ranges::sort(props);
  for (const auto& [key, value] : props) add_entry(*s.model.add_metadata_props(), key, value);
}

using NodeSink = std::function<void(const ir::Node&, const pb::NodeProto&)>;

class ProtoBuilder {
 public:
  ProtoBuilder(const WriteOptions& options, int ir_version, NodeSink sink)
      : options_(options), ir_version_(ir_version), sink_(std::move(sink)) {}

  Skeleton build(const ir::Graph& g) {
    Skeleton s;
    pb::ModelProto& m = s.model;
    m.set_ir_version(ir_version_);
    for (Value* v : g.constants())
      if (v->is_used()) initializers_.push_back(v);
    fill_graph(g, s.graph, 0);
    set_opsets(m);
    for (const std::string& f : functions_) define_channels_last(*m.add_functions(), f, options_.target);
    s.initializers = std::move(initializers_);
    return s;
  }

 private:
  void set_opsets(pb::ModelProto& m) const {
    auto import = [&](std::string_view domain, int version) {
      pb::OperatorSetIdProto& o = *m.add_opset_import();
      o.set_domain(std::string(domain));
      o.set_version(version);
    };
    import("", options_.target.opset);
    std::map<std::string, int> versions;
    for (const std::string& d : domains_) versions[d] = d == kMlDomain ? options_.target.ml_opset : 1;
    for (const auto& [domain, version] : options_.extra_opsets) versions[domain] = version;
    for (const auto& [domain, version] : versions)
      if (!domain.empty()) import(domain, version);
  }

  static void set_value_info(pb::ValueInfoProto& p, const Value& v) {
    p.set_name(v.name());
    if (v.dtype() == DType::undefined) return;
    pb::TypeProto& type = is_sequence(v.dtype())
                              ? *p.mutable_type()->mutable_sequence_type()->mutable_elem_type()
                              : *p.mutable_type();
    pb::TypeProto_Tensor& t = *type.mutable_tensor_type();
    t.set_elem_type(tensor_proto_type(element_of(v.dtype())));
    if (!v.shape().ranked()) return;
    pb::TensorShapeProto& shape = *t.mutable_shape();
    for (const Dim d : v.shape().dims()) {
      pb::TensorShapeProto_Dimension& dim = *shape.add_dim();
      if (is_known(d)) dim.set_dim_value(d);
      if (is_symbol(d)) dim.set_dim_param(v.graph()->symbols().name(d));
    }
  }

  // ONNX's inference takes an unknown width of a flat attention's values for 0, and finds fault with what
  // reads the result; the widths of what is expanded it does not see.
  static bool must_be_told(const Value& v) {
    const bool has_width = v.shape().ranked() && v.shape().rank() == 3 && is_known(v.shape()[2]);
    return has_width && std::ranges::any_of(v.uses(), [](const ir::Use& u) {
             return u.input == 2 && u.node->op() == "Attention";
           });
  }

  void fill_graph(const ir::Graph& g, pb::GraphProto& p, int depth) {
    if (depth > ir::kDeepestNesting)
      fail(Code::bad_model,
           "subgraphs are nested more than " + std::to_string(ir::kDeepestNesting) + " deep in graph '" +
               g.name() + "'",
           "do not nest the conditionals and loops so deeply; no runtime can read such a model");
    p.set_name(g.name());
    for (const Value* v : g.inputs()) set_value_info(*p.add_input(), *v);
    for (const Value* v : g.outputs()) set_value_info(*p.add_output(), *v);
    if (depth > 0) fill_constants(g, p);
    pb::NodeProto passing;  // the main graph's nodes are made one after the other
    for (const ir::Node& n : g.nodes()) {
      if (depth == 0) {
        passing.Clear();
        fill_node(n, passing, depth);
        sink_(n, passing);
      } else {
        fill_node(n, *p.add_node(), depth);
      }
      for (const Value* v : n.outputs())
        if (!v->is_graph_output() && v->dtype() != DType::undefined &&
            (options_.value_info || must_be_told(*v)))
          set_value_info(*p.add_value_info(), *v);
    }
  }

  void fill_constants(const ir::Graph& subgraph, pb::GraphProto& p) {
    for (Value* v : subgraph.constants()) {
      if (!v->is_used()) continue;
      const Tensor& t = *v->constant();
      const bool stays = v->is_graph_output() || t.dtype() == DType::string || t.byte_size() < kSmallTensor;
      if (stays) {
        set_tensor(*p.add_initializer(), v->name(), *v->constant());
      } else {
        initializers_.push_back(v);
      }
    }
  }

  void fill_node(const ir::Node& n, pb::NodeProto& p, int depth) {
    const OpName op = split_op(n.op());
    p.set_name(n.name());
    p.set_op_type(std::string(op.type));
    if (!op.domain.empty()) p.set_domain(std::string(op.domain));
    domains_.emplace(op.domain);
    if (op.domain == kChannelsLastDomain) functions_.emplace(op.type);
    for (const Value* v : n.inputs()) p.add_input(v ? v->name() : "");
    for (const Value* v : n.outputs()) p.add_output(v->name());
    for (const ir::NamedAttr& a : n.attrs()) fill_attr(a, n, *p.add_attribute(), depth);
    if (options_.node_metadata) set_origin(n.origin(), p);
  }

  void set_origin(const Origin& o, pb::NodeProto& p) const {
    if (o.node.empty() && o.op.empty()) return;
    if (ir_version_ < kMetadataIrVersion) {
      p.set_doc_string(o.op + " '" + o.node + "'" +
                       (o.function.empty() ? "" : " in function '" + o.function + "'"));
      return;
    }
    add_entry(*p.add_metadata_props(), "source_node", o.node);
    add_entry(*p.add_metadata_props(), "source_op", o.op);
    if (!o.function.empty()) add_entry(*p.add_metadata_props(), "source_function", o.function);
  }

  void fill_attr(const ir::NamedAttr& a, const ir::Node& n, pb::AttributeProto& p, int depth) {
    p.set_name(a.name);
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) {
      p.set_type(pb::AttributeProto::INT);
      p.set_i(*i);
    } else if (const auto* f = std::get_if<float>(&a.value)) {
      p.set_type(pb::AttributeProto::FLOAT);
      p.set_f(*f);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      p.set_type(pb::AttributeProto::STRING);
      p.set_s(*s);
    } else if (const auto* d = std::get_if<DType>(&a.value)) {
      p.set_type(pb::AttributeProto::INT);
      p.set_i(tensor_proto_type(*d));
    } else if (const auto* t = std::get_if<TensorPtr>(&a.value)) {
      p.set_type(pb::AttributeProto::TENSOR);
      set_header(*p.mutable_t(), **t);
      set_data(*p.mutable_t(), **t);
    } else if (const auto* g = std::get_if<GraphPtr>(&a.value)) {
      p.set_type(pb::AttributeProto::GRAPH);
      fill_graph(**g, *p.mutable_g(), depth + 1);
    } else {
      fill_list(a, n, p, depth);
    }
  }

  void fill_list(const ir::NamedAttr& a, const ir::Node& n, pb::AttributeProto& p, int depth) {
    if (const auto* is = std::get_if<Ints>(&a.value)) {
      p.set_type(pb::AttributeProto::INTS);
      p.mutable_ints()->Add(is->begin(), is->end());
    } else if (const auto* fs = std::get_if<Floats>(&a.value)) {
      p.set_type(pb::AttributeProto::FLOATS);
      p.mutable_floats()->Add(fs->begin(), fs->end());
    } else if (const auto* ss = std::get_if<Strings>(&a.value)) {
      p.set_type(pb::AttributeProto::STRINGS);
      for (const std::string& s : *ss) p.add_strings(s);
    } else if (const auto* ds = std::get_if<DTypes>(&a.value)) {
      p.set_type(pb::AttributeProto::INTS);
      for (const DType d : *ds) p.add_ints(tensor_proto_type(d));
    } else if (const auto* gs = std::get_if<Graphs>(&a.value)) {
      p.set_type(pb::AttributeProto::GRAPHS);
      for (const GraphPtr& g : *gs) fill_graph(*g, *p.add_graphs(), depth + 1);
    } else {
      fail(Code::internal, "attribute '" + a.name + "' of " + n.op() + " '" + n.name() +
                               "' has a type that ONNX does not have");
    }
  }

  const WriteOptions& options_;
  int ir_version_;
  NodeSink sink_;  // of the main graph's
  Values initializers_;
  std::set<std::string> domains_, functions_;  // the functions of our own that the nodes call
};

int ir_version_of(DType t) {
  switch (t) {
    case DType::i2:
    case DType::u2:
      return 13;
    case DType::i4:
    case DType::u4:
      return 10;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      return 9;
    default:
      return 4;  // since then initializers need not be inputs
  }
}

int ir_version_of(const Attr& a) {
  if (const auto* d = std::get_if<DType>(&a)) return ir_version_of(*d);
  if (const auto* t = std::get_if<TensorPtr>(&a)) return ir_version_of((*t)->dtype());
  return 0;
}

}  // namespace

OpName split_op(std::string_view op) {
  const std::size_t at = op.rfind("::");
  if (at == std::string_view::npos) return {"", op};
  const std::string_view domain = op.substr(0, at);
  return {domain == "ai.onnx" ? "" : domain, op.substr(at + 2)};
}

int tensor_proto_type(DType t) {
  const int type = elem_type(t);
  if (type == 0) fail(Code::unsupported_type, "ONNX has no element type '" + std::string(name(t)) + "'");
  return type;
}

void set_tensor_header(pb::TensorProto& p, const Value& constant) {
  set_header(p, *constant.constant());
  p.set_name(constant.name());
}

Skeleton to_skeleton(const ir::Model& model, const ir::ModelGraph& graph, const WriteOptions& options) {
  std::string nodes;
  const NodeSink append = [&](const ir::Node&, const pb::NodeProto& p) {
    const std::size_t size = p.ByteSizeLong();
    if (size > std::size_t{std::numeric_limits<std::int32_t>::max()})
      fail(Code::output, "the model has a node of more than 2 GB", "make its string constants smaller");
    append_field_start(nodes, pb::GraphProto::kNodeFieldNumber, size);
    nodes.resize(nodes.size() + size);
    p.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(nodes.data() + nodes.size() - size));
  };
  const ir::Graph& g = *graph.graph;
  Skeleton s = ProtoBuilder(options, checked_ir_version(g, options), append).build(g);
  add_metadata(model, graph, s);
  s.nodes = std::move(nodes);
  return s;
}

void each_node(const ir::Graph& g, const WriteOptions& options,
               const std::function<void(const ir::Node&, const pb::NodeProto&)>& sink) {
  ProtoBuilder(options, checked_ir_version(g, options), sink).build(g);
}

void append_field_start(std::string& out, int field, std::uint64_t length) {
  out += static_cast<char>(field << 3 | 2);
  for (; length >= 0x80; length >>= 7) out += static_cast<char>(length | 0x80);
  out += static_cast<char>(length);
}

pb::ModelProto to_proto(const ir::Model& model, const WriteOptions& options) {
  Skeleton s = to_skeleton(model, model.graphs.front(), options);
  pb::GraphProto nodes;
  nodes.ParseFromString(s.nodes);
  s.graph.mutable_node()->Swap(nodes.mutable_node());
  for (const Value* v : s.initializers) set_tensor(*s.graph.add_initializer(), v->name(), *v->constant());
  *s.model.mutable_graph() = s.graph;
  return std::move(s.model);
}

int lowest_ir_version(const ir::Graph& graph) {
  int lowest = 4;
  auto need = [&](int version) { lowest = std::max(lowest, version); };
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph& g = *todo.back();
    todo.pop_back();
    for (const Value* v : g.inputs()) need(ir_version_of(v->dtype()));
    for (const Value* v : g.constants())
      if (v->is_used()) need(ir_version_of(v->dtype()));
    for (const ir::Node& n : g.nodes()) {
      for (const Value* v : n.outputs()) need(ir_version_of(v->dtype()));
      if (is_channels_last_function(n.op())) need(kFunctionIrVersion);
      for (const ir::NamedAttr& a : n.attrs()) need(ir_version_of(a.value));
      ir::for_each_subgraph(n, [&](const ir::Graph& sub) { todo.push_back(&sub); });
    }
  }
  return lowest;
}

int checked_ir_version(const ir::Graph& g, const WriteOptions& options) {
  if (options.ir_version == 0) return options.target.ir_version;
  const int lowest = lowest_ir_version(g), highest = opset_table().back().ir_version;
  const std::string wished = "IR version " + std::to_string(options.ir_version);
  if (options.ir_version > highest)
    fail(Code::bad_option, "there is no " + wished,
         "choose one from " + std::to_string(lowest) + " to " + std::to_string(highest));
  if (options.ir_version < lowest)
    fail(Code::bad_option,
         wished + " cannot express an element type or a function of this model; the model needs IR version " +
             std::to_string(lowest),
         "use IR version " + std::to_string(lowest) + " or higher");
  return options.ir_version;
}

}  // namespace t2o::onnx
