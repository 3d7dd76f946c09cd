#include "recipe.h"

#include <algorithm>

#include "ir/complex.h"
#include "verify/compare.h"

namespace t2o::random_graphs {
namespace {

constexpr std::int64_t kShownElements = 40;

void add_node(engines::TfGraph& graph, const Recipe& r, const Step& step, test::Mode mode, const std::string& prefix) {
  if (step.kind == Kind::constant) {
    graph.constant(step.name, step.value);
  } else if (step.kind != Kind::op) {
    graph.placeholder(step.name, step.value->dtype(), test::shape_in(mode, step.value->dims()));
  } else if (is_drawn_in_nodes(step)) {
    add_in_nodes(graph, r, step);
  } else {
    engines::TfOp op{step.op, step.name, {}, step.attrs, {}};
    for (const In& in : step.inputs) {
      Strings names;
      for (const Ref ref : in.refs) names.push_back(tensor_name(r, ref));
      op.inputs.push_back(in.is_list ? engines::TfInput(names) : engines::TfInput(names.at(0)));
    }
    for (std::size_t i = 0; i < step.bodies.size(); ++i)
      op.attrs.push_back({step.bodies[i].first, engines::TfFunction{prefix + step.name + "_" + std::to_string(i)}});
    graph.add(op);
  }
}

// The functions of a step are defined in the graph that calls them and, for those inside of functions, in all around it.
void define_bodies(std::vector<engines::TfGraph> graphs, const Step& step, const std::string& prefix) {
  if (is_drawn_in_nodes(step)) return;
  for (std::size_t i = 0; i < step.bodies.size(); ++i) {
    const Recipe& body = *step.bodies[i].second;
    const std::string function = prefix + step.name + "_" + std::to_string(i), inner = function + "_";
    engines::TfGraph inside;
    graphs.push_back(inside);
    Strings arguments, results;
    for (const Step& s : body.steps) {
      define_bodies(graphs, s, inner);
      add_node(inside, body, s, test::Mode::rank, inner);
      if (s.kind == Kind::argument) arguments.push_back(s.name);
    }
    for (const Ref r : body.outputs) results.push_back(tensor_name(body, r));
    graphs.pop_back();
    const engines::TfDefinition definition = inside.define(function, arguments, results);
    for (engines::TfGraph& g : graphs) g.add(definition);
  }
}

std::string attr_text(const engines::TfAttrValue& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(float v) const { return std::to_string(v); }
    std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
    std::string operator()(const std::vector<bool>& v) const { return std::to_string(v.size()) + " bools"; }
    std::string operator()(const Ints& v) const { return verify::shape_text(v); }
    std::string operator()(const Floats& v) const { return std::to_string(v.size()) + " floats"; }
    std::string operator()(const Strings& v) const { return std::to_string(v.size()) + " strings"; }
    std::string operator()(DType v) const { return std::string(t2o::name(v)); }
    std::string operator()(const DTypes& v) const {
      std::string s;
      for (const DType t : v) s += (s.empty() ? "" : ",") + std::string(t2o::name(t));
      return "(" + s + ")";
    }
    std::string operator()(const Shape& v) const { return v.ranked() ? verify::shape_text(v.dims()) : "?"; }
    std::string operator()(const Shapes& v) const { return std::to_string(v.size()) + " shapes"; }
    std::string operator()(const TensorPtr&) const { return "tensor"; }
    std::string operator()(const engines::TfFunction& v) const { return v.name; }
  };
  return std::visit(Text(), value);
}

std::string elements_text(const Tensor& t) {
  const TensorPtr plain = complex_as_pairs(std::make_shared<Tensor>(t));
  std::string s;
  for (std::int64_t i = 0; i < std::min(plain->elements(), kShownElements); ++i)
    s += (i ? " " : "") + verify::element_text(*plain, i);
  return s + (plain->elements() > kShownElements ? " ..." : "");
}

void print(const Recipe& r, const std::string& indent, std::string& text) {
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const Step& step = r.steps[i];
    text += indent + step.name + " = ";
    if (step.kind != Kind::op) {
      text += std::string(t2o::name(step.value->dtype())) + verify::shape_text(step.value->dims()) + " {" +
              elements_text(*step.value) + "}\n";
      continue;
    }
    text += step.op + "(";
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      std::string list;
      for (const Ref ref : step.inputs[k].refs) list += (list.empty() ? "" : ", ") + tensor_name(r, ref);
      text += (k ? ", " : "") + (step.inputs[k].is_list ? "[" + list + "]" : list);
    }
    text += ")";
    for (const auto& [name, value] : step.attrs) text += " " + name + "=" + attr_text(value);
    for (const TensorPtr& t : step.results)
      text += " -> " + std::string(t2o::name(t->dtype())) + verify::shape_text(t->dims()) + " {" +
              elements_text(*t) + "}";
    text += "\n";
    for (const auto& [name, body] : step.bodies) {
      text += indent + "  " + name + ":\n";
      print(*body, indent + "    ", text);
    }
  }
  text += indent + "outputs:";
  for (const Ref ref : r.outputs) text += " " + tensor_name(r, ref);
  text += "\n";
}

void varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

int onnx_type(DType t) {
  switch (t) {
    case DType::f32: return 1;
    case DType::u8: return 2;
    case DType::i8: return 3;
    case DType::u16: return 4;
    case DType::i16: return 5;
    case DType::i32: return 6;
    case DType::i64: return 7;
    case DType::boolean: return 9;
    case DType::f16: return 10;
    case DType::f64: return 11;
    case DType::u32: return 12;
    case DType::u64: return 13;
    case DType::c64: return 14;
    case DType::c128: return 15;
    default: return 16;
  }
}

}  // namespace

std::string tensor_name(const Recipe& r, Ref ref) {
  if (is_drawn_in_nodes(r.steps[ref.step])) return r.steps[ref.step].name + "/y" + std::to_string(ref.output);
  return r.steps[ref.step].name + (ref.output == 0 ? "" : ":" + std::to_string(ref.output));
}

void add_step(engines::TfGraph& graph, const Recipe& r, const Step& step, test::Mode mode) {
  define_bodies({graph}, step, "f_");
  add_node(graph, r, step, mode, "f_");
}

Built build(const Recipe& r, test::Mode mode) {
  Built built;
  for (const Step& step : r.steps) {
    add_step(built.graph, r, step, mode);
    if (step.kind == Kind::fed) built.feeds.emplace_back(step.name, step.value);
  }
  for (const Ref ref : r.outputs) {
    const std::string name = tensor_name(r, ref);
    built.outputs.push_back(name.find(':') == std::string::npos ? name + ":0" : name);
  }
  return built;
}

Recipe pruned(const Recipe& r) {
  std::vector<bool> needed(r.steps.size());
  for (const Ref ref : r.outputs) needed[ref.step] = true;
  for (std::size_t i = r.steps.size(); i-- > 0;) {
    if (r.steps[i].kind == Kind::argument) needed[i] = true;  // they are the function's signature
    if (!needed[i]) continue;
    for (const In& in : r.steps[i].inputs)
      for (const Ref ref : in.refs) needed[ref.step] = true;
  }
  Recipe out;
  out.special = r.special;
  std::vector<std::size_t> place(r.steps.size());
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (!needed[i]) continue;
    place[i] = out.steps.size();
    out.steps.push_back(r.steps[i]);
    for (In& in : out.steps.back().inputs)
      for (Ref& ref : in.refs) ref.step = place[ref.step];
  }
  for (const Ref ref : r.outputs) out.outputs.push_back({place[ref.step], ref.output});
  return out;
}

std::size_t count_ops(const Recipe& r) {
  std::size_t n = 0;
  for (const Step& s : r.steps) {
    n += s.kind == Kind::op ? 1 : 0;
    for (const auto& [name, body] : s.bodies) n += count_ops(*body);
  }
  return n;
}

bool has_op(const Recipe& r, std::string_view op) {
  return std::any_of(r.steps.begin(), r.steps.end(), [&](const Step& s) {
    return s.op == op || std::any_of(s.bodies.begin(), s.bodies.end(), [&](const auto& b) { return has_op(*b.second, op); });
  });
}

std::string to_text(const Recipe& r) {
  std::string text;
  print(r, "  ", text);
  return text;
}

std::string tensor_proto(const Tensor& t, const std::string& name) {
  std::string out;
  for (const std::int64_t d : t.dims()) {
    out += '\x08';  // dims
    varint(out, static_cast<std::uint64_t>(d));
  }
  out += '\x10';  // data_type
  varint(out, static_cast<std::uint64_t>(onnx_type(t.dtype())));
  out += '\x42';  // name
  varint(out, name.size());
  out += name + '\x4a';  // raw_data
  varint(out, t.byte_size());
  const Bytes bytes = t.bytes();
  return out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace t2o::random_graphs
