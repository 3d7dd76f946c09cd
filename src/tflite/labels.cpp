#include "tflite/labels.h"

#include "tfgraph/paths.h"

namespace t2o::tflite {
namespace {

using B = schema::BuiltinOperator;

// "Softmax:0" -> "Softmax". A converter that copies a tensor appends to the number: "Softmax:0_int16".
std::string_view without_number(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const bool is_numbered = colon != std::string_view::npos && colon + 1 < name.size() &&
                           name[colon + 1] >= '0' && name[colon + 1] <= '9';
  return is_numbered ? name.substr(0, colon) : name;
}

std::string readable(std::string_view name) {
  std::string path = tfgraph::without_made_up(without_number(name));
  const std::size_t slash = path.rfind('/');
  const std::size_t last = slash == std::string::npos ? 0 : slash + 1;
  if (tfgraph::is_made_up(std::string_view(path).substr(last))) path.resize(last == 0 ? 0 : slash);
  return path;
}

template <class F>
void each_name(std::string_view joined, F&& f) {
  for (std::size_t from = 0; from <= joined.size();) {
    const std::size_t end = std::min(joined.find(';', from), joined.size());
    if (const std::string path = readable(joined.substr(from, end - from)); !path.empty()) f(path);
    from = end + 1;
  }
}

// The converter names a weight after operators that read it.
std::string of_weight(std::string_view joined, const char* role) {
  std::string found;
  each_name(joined, [&](const std::string& path) {
    const std::string layer = tfgraph::layer_of(path);
    if (found.empty() && layer != path)
      found = (layer.empty() ? path.substr(0, path.find('/')) : layer) + "/" + role;
  });
  return found;
}

}  // namespace

std::string Labels::first_name(const std::string& joined) {
  const Strings all = names(joined);
  return all.empty() ? "" : all[0];
}

Strings Labels::names(const std::string& joined) {
  Strings all;
  each_name(joined, [&](const std::string& path) { all.push_back(path); });
  return all;
}

std::string Labels::of(std::size_t subgraph, std::int64_t tensor) {
  const std::string name = model_->tensor_name(subgraph, tensor);
  const Roles& weights = roles(subgraph);
  if (const auto weight = weights.find(tensor); weight != weights.end())
    if (std::string label = of_weight(name, weight->second); !label.empty()) return label;
  std::string label = first_name(name);
  if (label.find("ReadVariableOp") == std::string::npos) return label;
  return tfgraph::of_weight(label, tfgraph::Named::by_reader);
}

const Labels::Roles& Labels::roles(std::size_t subgraph) {
  const auto [at, fresh] = roles_.try_emplace(subgraph);
  Roles& roles = at->second;
  if (!fresh) return roles;
  const schema::SubGraph& g = model_->subgraph(subgraph);
  const auto note = [&](const schema::Operator& o, unsigned input, const char* role) {
    if (count(o.inputs()) <= input) return;
    const std::int64_t t = o.inputs()->Get(input);
    if (t >= 0 && model_->has_data(model_->tensor(subgraph, t))) roles.try_emplace(t, role);
  };
  for (unsigned k = 0; k < count(g.operators()); ++k) {
    const schema::Operator& o = *g.operators()->Get(k);
    const B op = model_->builtin(o);
    if (!contains({B::CONV_2D, B::CONV_3D, B::DEPTHWISE_CONV_2D, B::FULLY_CONNECTED, B::TRANSPOSE_CONV}, op))
      continue;
    note(o, 1, "kernel");
    note(o, op == B::TRANSPOSE_CONV ? 3 : 2, "bias");
  }
  return roles;
}

}  // namespace t2o::tflite
