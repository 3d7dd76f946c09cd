#include <algorithm>

#include "ir/text.h"
#include "ir/text_cursor.h"
#include "ir/text_lexis.h"
#include "ir/text_tensor.h"

namespace t2o::ir {
namespace {

struct ValueType {
  DType dtype = DType::undefined;
  Shape shape;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view source) : in_(text, source) {}

  GraphPtr parse() {
    auto g = std::make_shared<Graph>();
    if (!in_.eat_word("graph")) in_.fail("expected 'graph'");
    graph(*g, 0);
    if (!in_.at_end()) in_.fail("expected nothing after the graph");
    resolve_forward_references();
    return g;
  }

 private:
  struct ForwardReference {
    Node* node;
    std::size_t input;
    std::string name;
    std::size_t position;
  };
  struct Definition {
    OutputSpec spec;
    std::optional<Ints> known_elements;
  };

  // ---- statements
  void graph(Graph& g, int depth) {  // behind the word "graph"
    if (depth > kDeepestText) in_.fail("graphs are nested too deep");
    if (in_.at_word() || in_.at_string()) g.set_name(in_.word_or_string("a name"));
    if (in_.at_word() || in_.at_string()) g.set_dialect(in_.word_or_string("a dialect"));
    in_.expect('{');
    Values outputs;
    while (!in_.eat('}')) {
      if (in_.eat_word("input")) {
        input(g);
      } else if (in_.eat_word("const")) {
        constant(g);
      } else if (in_.eat_word("output")) {
        do outputs.push_back(defined_value(g));
        while (in_.eat(','));
      } else {
        node(g, depth);
      }
    }
    g.set_outputs(std::move(outputs));
  }

  void input(Graph& g) {
    const std::string name = fresh_name();
    in_.expect(':');
    ValueType t = type(g);
    values_[name] = g.add_input(name, t.dtype, std::move(t.shape));
    if (auto known = known_elements(g)) g.set_known_elements(values_[name], std::move(*known));
  }

  void constant(Graph& g) {
    const std::string name = fresh_name();
    in_.expect(':');
    values_[name] = g.add_constant(name, parse_tensor(in_));
  }

  void node(Graph& g, int depth) {
    std::vector<Definition> definitions;
    NodeSpec spec;
    if (in_.at('%')) {
      do definitions.push_back(definition(g));
      while (in_.eat(','));
      in_.expect('=');
    }
    spec.op = in_.op_name();
    if (in_.at_string()) {
      spec.name = in_.string("a name");
    } else if (!definitions.empty()) {
      spec.name = definitions[0].spec.name;
    }
    std::vector<ForwardReference> later;
    spec.inputs = operands(g, later);
    if (in_.eat('{')) spec.attrs = attrs(g, depth + 1);
    if (in_.eat('@')) spec.origin = origin();
    for (const Definition& d : definitions) spec.outputs.push_back(d.spec);

    Node& n = g.add(std::move(spec));
    for (std::size_t i = 0; i < definitions.size(); ++i) {
      values_[n.output(i)->name()] = n.output(i);
      if (definitions[i].known_elements) g.set_known_elements(n.output(i), *definitions[i].known_elements);
    }
    for (ForwardReference& r : later) {
      r.node = &n;
      forward_.push_back(std::move(r));
    }
  }

  Definition definition(Graph& g) {
    Definition d;
    d.spec.name = fresh_name();
    values_[d.spec.name] = nullptr;  // taken; readable once the node is there
    if (!in_.eat(':')) return d;
    ValueType t = type(g);
    d.spec.dtype = t.dtype;
    d.spec.shape = std::move(t.shape);
    d.known_elements = known_elements(g);
    return d;
  }

  Values operands(Graph& g, std::vector<ForwardReference>& later) {
    Values inputs;
    in_.expect('(');
    if (in_.eat(')')) return inputs;
    do {
      if (in_.eat_word("const")) {
        inputs.push_back(g.add_constant(unused_name(), parse_tensor(in_)));
        values_[inputs.back()->name()] = inputs.back();
      } else if (in_.eat_word("_")) {
        inputs.push_back(nullptr);
      } else {
        const std::size_t position = in_.position();
        std::string name = value_name();
        const auto found = values_.find(name);
        Value* v = found == values_.end() ? nullptr : found->second;
        if (v) check_visible(*v, g, position);
        if (!v) later.push_back({nullptr, inputs.size(), std::move(name), position});
        inputs.push_back(v);
      }
    } while (in_.eat(','));
    in_.expect(')');
    return inputs;
  }

  std::shared_ptr<const Origin> origin() {
    Origin o;
    o.node = in_.string("the name of a node");
    o.op = in_.string("an operator");
    if (in_.eat_word("in")) o.function = in_.string("the name of a function");
    return std::make_shared<const Origin>(std::move(o));
  }

  // ---- names
  std::string value_name() {
    in_.expect('%');
    return in_.value_name();
  }

  std::string fresh_name() {
    const std::size_t position = in_.position();
    std::string name = value_name();
    if (name.empty()) in_.fail_at(position, "a value needs a name");
    if (values_.contains(name)) in_.fail_at(position, "'%" + name + "' is defined twice");
    return name;
  }

  // For a constant without one. A name that the text defines later must stay free: hence the unusual first
  // character.
  std::string unused_name() {
    for (;;) {
      std::string name = "const:" + std::to_string(++constants_);
      if (!values_.contains(name)) return name;
    }
  }

  Value* defined_value(Graph& g) {
    const std::size_t position = in_.position();
    const std::string name = value_name();
    const auto found = values_.find(name);
    if (found == values_.end() || !found->second) in_.fail_at(position, "'%" + name + "' is not defined");
    check_visible(*found->second, g, position);
    return found->second;
  }

  void check_visible(const Value& v, const Graph& from, std::size_t position) const {
    const Graph* g = &from;
    while (g && g != v.graph()) g = g->parent();
    if (!g) in_.fail_at(position, "'%" + v.name() + "' is inside of a subgraph and not visible here");
  }

  void resolve_forward_references() {
    for (const ForwardReference& r : forward_) {
      const auto found = values_.find(r.name);
      if (found == values_.end()) in_.fail_at(r.position, "'%" + r.name + "' is not defined");
      check_visible(*found->second, *r.node->graph(), r.position);
      r.node->graph()->set_input(*r.node, r.input, found->second);
    }
  }

  // ---- types
  ValueType type(const Graph& g) {
    const std::size_t position = in_.position();
    const std::string dtype = in_.word("an element type");
    const bool is_sequence = dtype.starts_with("seq_");
    const auto t = dtype_from_name(is_sequence ? dtype.substr(4) : dtype);
    if (!t) in_.fail_at(position, "there is no element type '" + dtype + "'");
    return {is_sequence ? sequence_of(*t) : *t, shape(g)};
  }

  Shape shape(const Graph& g) {
    in_.expect('[');
    if (in_.eat(']')) return Shape::scalar();
    if (in_.eat('*')) {
      in_.expect(']');
      return {};
    }
    return Shape(dims(g, ']'));
  }

  Ints dims(const Graph& g, char end) {
    Ints dims;
    do {
      if (in_.eat('?')) {
        dims.push_back(kUnknownDim);
      } else if (in_.at_word() || in_.at_string()) {
        dims.push_back(g.symbols().intern(in_.word_or_string("a dim")));
      } else {
        dims.push_back(in_.size());
      }
    } while (in_.eat(','));
    in_.expect(end);
    return dims;
  }

  std::optional<Ints> known_elements(const Graph& g) {
    if (!in_.eat('<')) return std::nullopt;
    if (in_.eat('>')) return Ints{};
    return dims(g, '>');
  }

  // ---- attributes
  Attrs attrs(Graph& g, int depth) {  // behind the brace
    Attrs as;
    if (in_.eat('}')) return as;
    do {
      const std::size_t position = in_.position();
      std::string name = in_.word_or_string("the name of an attribute");
      if (std::ranges::any_of(as, [&](const NamedAttr& a) { return a.name == name; }))
        in_.fail_at(position, "attribute '" + name + "' stands here twice");
      in_.expect('=');
      as.push_back({std::move(name), attr(g, depth)});
    } while (in_.eat(','));
    in_.expect('}');
    return as;
  }

  Attr attr(Graph& g, int depth) {
    if (in_.at_string()) return in_.string("a string");
    if (in_.eat('[')) return list(g, depth);
    if (in_.at_number()) return number();
    if (in_.eat_word("const")) return parse_tensor(in_);
    if (in_.eat_word("shape")) return shape(g);
    if (in_.eat_word("func")) return function(g, depth);
    if (in_.eat_word("graph")) {
      GraphPtr sub = g.make_subgraph();
      graph(*sub, depth);
      return sub;
    }
    const std::size_t position = in_.position();
    const std::string w = in_.word("a value");
    if (w == "true" || w == "false") return std::int64_t{w == "true"};
    if (in_.at('[')) return empty_list(w, position);
    if (const auto t = dtype_from_name(w)) return *t;
    in_.fail_at(position, "'" + w + "' is not a value; strings need quotes");
  }

  Attr number() {
    const std::size_t position = in_.position();
    const Number n = in_.number();
    const std::string error = "the number does not fit its type";
    if (n.is_float) {
      const auto v = parse_real<float>(n);
      if (!v) in_.fail_at(position, error);
      return *v;
    }
    const auto v = parse_int<std::int64_t>(n);
    if (!v) in_.fail_at(position, error);
    return *v;
  }

  Func function(Graph& g, int depth) {
    if (depth > kDeepestText) in_.fail("functions are nested too deep");
    Func f;
    f.name = in_.string("the name of a function");
    if (in_.eat('{')) f.attrs = attrs(g, depth + 1);
    return f;
  }

  Attr empty_list(const std::string& kind, std::size_t position) {
    in_.expect('[');
    in_.expect(']');
    if (kind == "floats") return Floats{};
    if (kind == "strings") return Strings{};
    if (kind == "dtypes") return DTypes{};
    if (kind == "shapes") return Shapes{};
    if (kind == "funcs") return Funcs{};
    if (kind == "graphs") return Graphs{};
    in_.fail_at(position, "there is no list of '" + kind + "'");
  }

  Attr list(Graph& g, int depth) {  // behind the bracket
    if (in_.eat(']')) return Ints{};
    const std::size_t position = in_.position();
    std::vector<Attr> items;
    do {
      if (in_.at('[')) in_.fail("a list cannot hold a list");
      items.push_back(attr(g, depth));
    } while (in_.eat(','));
    in_.expect(']');
    Attr result;
    if (!as_list<std::int64_t>(items, result) && !as_floats(items, result) &&
        !as_list<std::string>(items, result) && !as_list<DType>(items, result) &&
        !as_list<Shape>(items, result) && !as_list<Func>(items, result) && !as_list<GraphPtr>(items, result))
      in_.fail_at(
          position,
          "the items of a list must be of one kind: numbers, strings, types, shapes, functions or graphs");
    return result;
  }

  template <class T>
  static bool as_list(std::vector<Attr>& items, Attr& result) {
    if (!std::ranges::all_of(items, [](const Attr& a) { return std::holds_alternative<T>(a); })) return false;
    std::vector<T> list;
    for (Attr& a : items) list.push_back(std::move(std::get<T>(a)));
    result = std::move(list);
    return true;
  }

  static bool as_floats(const std::vector<Attr>& items, Attr& result) {
    Floats list;
    for (const Attr& a : items) {
      if (const auto* f = std::get_if<float>(&a)) {
        list.push_back(*f);
      } else if (const auto* i = std::get_if<std::int64_t>(&a)) {
        list.push_back(static_cast<float>(*i));
      } else {
        return false;
      }
    }
    result = std::move(list);
    return true;
  }

  TextCursor in_;
  std::unordered_map<std::string, Value*> values_;  // null: the node is being read
  std::vector<ForwardReference> forward_;
  int constants_ = 0;
};

}  // namespace

GraphPtr parse_graph(std::string_view text, std::string_view source) { return Parser(text, source).parse(); }

}  // namespace t2o::ir
