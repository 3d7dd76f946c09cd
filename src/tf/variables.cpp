#include "tf/variables.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "diagnostics.h"

namespace t2o::tf {
namespace {

constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

std::optional<Extent> parse_extent(std::string_view text) {
  if (text == "-") return Extent{};
  Extent x;
  const char* const end = text.data() + text.size();
  const auto start = std::from_chars(text.data(), end, x.start);
  if (start.ec != std::errc{} || start.ptr == end || *start.ptr != ',') return {};
  const auto length = std::from_chars(start.ptr + 1, end, x.length);
  if (length.ec != std::errc{} || length.ptr != end || x.start < 0 || x.length < 0) return {};
  return x;
}

// "100 16 0,50:-": the full dims, then the extents of the slice.
std::optional<Extents> parse_slice(std::string_view spec) {
  const std::size_t space = spec.rfind(' ');
  std::string_view rest = space == std::string_view::npos ? spec : spec.substr(space + 1);
  Extents out;
  while (true) {
    const std::size_t colon = rest.find(':');
    const auto x = parse_extent(rest.substr(0, colon));
    if (!x) return {};
    out.push_back(*x);
    if (colon == std::string_view::npos) return out;
    rest.remove_prefix(colon + 1);
  }
}

std::string describe(const VariableRef& v) {
  const std::string& name = v.shared_name.empty() ? v.node : v.shared_name;
  return "the variable '" + name + "'" + (v.node.empty() || v.node == name ? "" : " (node '" + v.node + "')");
}

std::string describe(const Shape& s) {
  if (!s.ranked()) return "[...]";
  std::string out = "[";
  for (const Dim d : s.dims()) out += (out.size() > 1 ? "," : "") + (is_known(d) ? std::to_string(d) : "?");
  return out + "]";
}

}  // namespace

Variables::Variables(CheckpointPtr checkpoint, RestoreMap restored, Captures captures, Bytes object_graph,
                     Owner owner)
    : checkpoint_(std::move(checkpoint)),
      restored_(std::move(restored)),
      captures_(std::move(captures)),
      object_graph_(object_graph),
      owner_(std::move(owner)) {}

const VariableKeys& Variables::keys() const {
  if (!object_graph_read_) {
    object_graph_read_ = true;
    if (!object_graph_.empty() && checkpoint_->contains(kObjectGraphKey)) {
      const TensorPtr tracked = checkpoint_->read(kObjectGraphKey);
      if (tracked->dtype() == DType::string && tracked->elements() == 1)
        keys_ = read_variable_keys(object_graph_, std::as_bytes(std::span(tracked->strings()[0])), captures_);
    }
  }
  return keys_;
}

// A signature may have captured the object; else its node is the one that the object's entry is restored
// into.
ObjectNodes Variables::object_nodes() const {
  ObjectNodes nodes;
  const auto add = [&](std::size_t object, const std::string& node) {
    const auto [at, fresh] = nodes.emplace(object, node);
    if (!fresh) at->second = std::min(at->second, node);
  };
  for (const auto& [node, object] : captures_) add(object, node);
  std::unordered_map<std::string_view, std::string_view> restored;
  for (const auto& [node, from] : restored_)
    if (from.slice.empty()) restored.emplace(from.key, node);
  const auto& by_object = keys().by_object;
  for (std::size_t i = 0; i < by_object.size(); ++i)
    if (const auto found = restored.find(by_object[i]); !by_object[i].empty() && found != restored.end())
      nodes.emplace(i, found->second);
  return nodes;
}

const std::string* Variables::key_by_object_graph(const VariableRef& v) const {
  keys();
  if (const auto found = keys_.by_node.find(v.node); found != keys_.by_node.end()) return &found->second;
  const auto found = keys_.by_name.find(v.shared_name);
  return found == keys_.by_name.end() ? nullptr : &found->second;
}

TensorPtr Variables::find(const VariableRef& v) const {
  if (const auto found = restored_.find(v.node); found != restored_.end()) {
    const auto& [key, slice] = found->second;
    if (slice.empty()) return checkpoint_->read(key);
    if (const auto extents = parse_slice(slice)) return checkpoint_->read_slice(key, *extents);
    fail(Code::bad_model,
         describe(v) + " is restored from the slice '" + slice + "', which is not understood");
  }
  if (const std::string* key = key_by_object_graph(v)) {
    if (!key->empty()) return checkpoint_->read(*key);
    fail(Code::bad_model,
         "several variables of the model are called '" + v.shared_name +
             "', and the graph has no restore op that tells which checkpoint entry belongs to node '" +
             v.node + "'");
  }
  for (const std::string& key : {v.shared_name, v.node})
    if (!key.empty() && checkpoint_->contains(key)) return checkpoint_->read(key);
  fail(Code::bad_model, "the checkpoint " + checkpoint_->prefix() + " has no entry for " + describe(v),
       "give the checkpoint that belongs to the graph");
}

TensorPtr Variables::operator()(const VariableRef& v) const {
  TensorPtr t = find(v);
  const std::string where = " in the checkpoint " + checkpoint_->prefix();
  if (v.dtype != DType::undefined && t->dtype() != v.dtype)
    fail(Code::bad_model, describe(v) + " is of type " + std::string(name(v.dtype)) + " in the graph, but " +
                              std::string(name(t->dtype())) + where);
  if (!merge(v.shape, t->shape()))
    fail(Code::bad_model, describe(v) + " has the shape " + describe(v.shape) + " in the graph, but " +
                              describe(t->shape()) + where);
  return t;
}

std::string identity_of(const VariableRef& v) {
  return v.container + '\0' + (v.shared_name.empty() ? v.node : v.shared_name);
}

VariableRef variable_ref(const NodeDef& n, const AttrContext& context) {
  VariableRef ref{.node = std::string(n.name), .shared_name = "", .container = "", .op = std::string(n.op)};
  const auto read = [&](const char* name, auto& into) {
    const Bytes* raw = n.attr(name);
    if (raw == nullptr) return;
    const Attr attr = decode_attr(*raw, context);
    if (const auto* value = std::get_if<std::decay_t<decltype(into)>>(&attr)) into = *value;
  };
  read("shared_name", ref.shared_name);
  read("container", ref.container);
  read("dtype", ref.dtype);
  read("shape", ref.shape);
  return ref;
}

std::function<TensorPtr(const VariableRef&)> no_variables(std::string source, std::string remedy) {
  return [source = std::move(source), remedy = std::move(remedy)](const VariableRef& v) -> TensorPtr {
    fail(Code::bad_file,
         source + " has " + describe(v) + ", but no checkpoint with the values of its variables", remedy);
  };
}

}  // namespace t2o::tf
