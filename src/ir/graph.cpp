#include "ir/graph.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/findings.h"
#include "support/hash_set.h"

namespace t2o::ir {

// Names of values and of nodes are two spaces, as in ONNX; each is shared by a graph and its subgraphs. A
// name counts as taken when another of the same hash is: no two names that are in use have one, and the
// values keep the text.
struct Graph::Names {
  class Space {
   public:
    std::string claim(std::string_view wanted) {
      std::string n(wanted);
      if (take(n)) return n;
      for (int& i = next_[n];;) {
        std::string candidate = n + "_" + std::to_string(++i);
        if (take(candidate)) return candidate;
      }
    }
    bool is_free(std::string_view n) const { return !taken_.contains(hash_of(n)); }
    void drop(std::string_view n) { taken_.erase(hash_of(n)); }
    void make_room(std::size_t n) { taken_.reserve(n); }
    void reserve(const std::string& n) {
      if (take(n)) reserved_.insert(n);
    }
    std::string claim_reserved(std::string_view wanted) {
      if (std::string n(wanted); reserved_.erase(n)) return n;
      return claim(wanted);
    }

   private:
    static std::size_t hash_of(std::string_view n) { return std::hash<std::string_view>()(n); }
    bool take(std::string_view n) { return taken_.insert(hash_of(n)); }

    std::unordered_set<std::string> reserved_;
    HashSet taken_;
    std::unordered_map<std::string, int> next_;
  };
  Space values, nodes;

  const std::string* op(std::string&& name) { return &*ops_.insert(std::move(name)).first; }

 private:
  std::unordered_set<std::string> ops_;
};

const std::string& Node::name() const {
  return name_ ? *name_ : outputs_.empty() ? *op_ : outputs_[0]->name();
}

const Attr* Node::attr(std::string_view name) const {
  for (const NamedAttr& a : attrs_)
    if (a.name == name) return &a.value;
  return nullptr;
}

namespace {
// What a graph shares with its subgraphs beside the names.
struct Shared : Symbols {
  std::shared_ptr<void> findings;
};

void forget(const Graph& g) { findings_of(g).reset(); }

// The program's own attributes say what a node means, not what it computes.
void forget_unless_own(const Graph& g, std::string_view attr) {
  if (!attr.starts_with("t2o.")) forget(g);
}
}  // namespace

std::shared_ptr<void>& findings_of(const Graph& g) { return static_cast<Shared&>(g.symbols()).findings; }

Graph::Graph() : names_(std::make_shared<Names>()), symbols_(std::make_shared<Shared>()) {}

// A subgraph that goes alone, as that of a node that could not be made, is read by nobody's values any more.
// Nesting may be deep: a graph inside goes when it holds none itself.
Graph::~Graph() {
  forget(*this);
  if (parent_) {
    set_outputs({});
    for (Node& n : nodes()) release_edges(n);
  }
  std::vector<GraphPtr> inner;
  const auto take_one = [&](GraphPtr& g) {
    if (g) g->parent_ = nullptr;  // which goes too
    inner.push_back(std::move(g));
  };
  const auto take = [&](Graph& g) {
    for (Node& n : g.nodes_)
      for (NamedAttr& a : n.attrs_) {
        if (auto* one = std::get_if<GraphPtr>(&a.value)) take_one(*one);
        if (auto* many = std::get_if<Graphs>(&a.value)) std::ranges::for_each(*many, take_one);
      }
  };
  take(*this);
  while (!inner.empty()) {
    const GraphPtr g = std::move(inner.back());
    inner.pop_back();
    if (g && g.use_count() == 1) take(*g);
  }
}

GraphPtr Graph::make_subgraph() {
  auto g = std::make_shared<Graph>();
  g->names_ = names_;
  g->symbols_ = symbols_;
  g->parent_ = this;
  g->dialect_ = dialect_;
  return g;
}

Value* Graph::new_value(std::string_view wanted) {
  Value& v = values_.emplace_back();
  if (!wanted.empty()) v.name_ = names_->values.claim(wanted);
  v.graph_ = this;
  return &v;
}

Value* Graph::add_input(std::string wanted, DType dtype, Shape shape) {
  Value* v = new_value(wanted);
  v->dtype_ = dtype;
  v->shape_ = std::move(shape);
  v->is_input_ = true;
  inputs_.push_back(v);
  return v;
}

Value* Graph::add_constant(std::string wanted, TensorPtr t) {
  Value* v = new_value(wanted);
  constants_.push_back(v);
  set_constant(v, std::move(t));
  return v;
}

void Graph::set_constant(Value* v, TensorPtr t) {
  if (v->constant_) forget(*this);
  v->dtype_ = t->dtype();
  v->shape_ = t->shape();
  v->constant_ = std::move(t);
}

namespace {
// "Gelu" of "com.microsoft::Gelu" and "t2o.Gelu".
std::string_view plain_name(std::string_view op) { return op.substr(op.find_last_of(".:") + 1); }

std::string output_name(const std::string& base, std::size_t i) {
  return i == 0 ? base : base + ":" + std::to_string(i);
}
}  // namespace

Node& Graph::add(NodeSpec s, Node* before) {
  static const auto kNoOrigin = std::make_shared<const Origin>();
  Node& n = nodes_.emplace_back();
  n.graph_ = this;
  n.op_ = names_->op(std::move(s.op));
  n.attrs_ = std::move(s.attrs);
  n.origin_ = s.origin ? std::move(s.origin) : kNoOrigin;
  const bool own_name =
      !s.name.empty() && (s.outputs.empty() || (!s.outputs[0].name.empty() && s.outputs[0].name != s.name));
  if (own_name) n.name_ = std::make_unique<std::string>(names_->nodes.claim(s.name));
  const std::string& base = s.name.empty() ? *n.op_ : s.name;
  n.inputs_.reserve(s.inputs.size());
  for (Value* v : s.inputs) add_node_input(n, v);
  for (OutputSpec& o : s.outputs) {
    Value* v = new_value(!o.name.empty() || s.name_later ? o.name : output_name(base, n.outputs_.size()));
    v->dtype_ = o.dtype;
    v->shape_ = std::move(o.shape);
    v->producer_ = &n;
    v->index_ = static_cast<std::uint32_t>(n.outputs_.size());
    n.outputs_.push_back(v);
  }
  insert(n, before);
  return n;
}

void Graph::insert(Node& n, Node* before) {
  n.next_ = before;
  n.prev_ = before ? before->prev_ : last_;
  (n.prev_ ? n.prev_->next_ : first_) = &n;
  (before ? before->prev_ : last_) = &n;
  ++node_count_;
}

void Graph::unhook(Node& n) {
  (n.prev_ ? n.prev_->next_ : first_) = n.next_;
  (n.next_ ? n.next_->prev_ : last_) = n.prev_;
  n.next_ = n.prev_ = nullptr;
  --node_count_;
}

void Graph::link(Node& n, std::size_t i, Value* v) {
  n.inputs_[i] = v;
  if (!v) return;
  n.use_index(i) = static_cast<std::uint32_t>(v->uses_.size());
  v->uses_.push_back({&n, i});
}

void Graph::unlink(Node& n, std::size_t i) {
  Value* v = n.inputs_[i];
  if (!v) return;
  const std::uint32_t at = n.use_index(i);
  v->uses_[at] = v->uses_.back();
  v->uses_.pop_back();
  if (at < v->uses_.size()) v->uses_[at].node->use_index(v->uses_[at].input) = at;
  n.inputs_[i] = nullptr;
}

void Graph::add_node_input(Node& n, Value* v) {
  if (!n.outputs_.empty()) forget(*this);  // a node that is being made has no outputs yet
  n.inputs_.push_back(nullptr);
  if (n.inputs_.size() > n.few_uses_.size()) {
    if (!n.more_uses_) n.more_uses_ = std::make_unique<std::vector<std::uint32_t>>();
    n.more_uses_->push_back(0);
  }
  link(n, n.inputs_.size() - 1, v);
}

void Graph::set_input(Node& n, std::size_t i, Value* v) {
  if (n.inputs_[i] == v) return;
  forget(*this);
  unlink(n, i);
  link(n, i, v);
}

void Graph::set_type(Value* v, DType dtype, Shape shape) {
  if (v->dtype_ != dtype && v->dtype_ != DType::undefined) forget(*this);
  v->dtype_ = dtype;
  v->shape_ = std::move(shape);
}

void Graph::set_known_elements(Value* v, Ints elements) {
  v->known_elements_ = std::make_shared<const Ints>(std::move(elements));
}

void Graph::set_attr(Node& n, std::string key, Attr value) {
  forget_unless_own(*this, key);
  for (NamedAttr& a : n.attrs_)
    if (a.name == key) {
      a.value = std::move(value);
      return;
    }
  n.attrs_.push_back({std::move(key), std::move(value)});
}

void Graph::remove_attr(Node& n, std::string_view key) {
  forget_unless_own(*this, key);
  std::erase_if(n.attrs_, [&](const NamedAttr& a) { return a.name == key; });
}

void Graph::set_op(Node& n, std::string op) {
  forget(*this);
  n.op_ = names_->op(std::move(op));
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == to) return;
  while (!from->uses_.empty()) {
    const Use u = from->uses_.back();
    unlink(*u.node, u.input);
    link(*u.node, u.input, to);
  }
  if (from->output_uses_ == 0) return;
  Graph& g = *from->graph_;  // a subgraph's output may be a value of the graph around it: then its list is
                             // not ours to see
  for (Value*& o : g.outputs_)
    if (o == from) {
      o = to;
      --from->output_uses_;
      ++to->output_uses_;
    }
  if (from->output_uses_ != 0)
    throw std::logic_error("a value of an outer graph is an output of a subgraph: put an Identity between");
}

void Graph::rename(Value* v, std::string_view wanted) {
  if (v->name_ == wanted) return;
  if (!v->name_.empty()) names_->values.drop(v->name_);
  v->name_ = names_->values.claim_reserved(wanted);
}

void Graph::alter(Value* v, Alteration::Step step) {
  if (v->is_of_source_) derive(v, v, {std::move(step)});
}

void Graph::derive(Value* to, const Value* from, const std::vector<Alteration::Step>& steps) {
  if (!from->is_of_source_) return;
  auto both = from->alteration_ ? std::make_unique<Alteration>(*from->alteration_)
                                : std::make_unique<Alteration>(from->name_);
  for (const Alteration::Step& s : steps) both->add(s);
  to->alteration_ = std::move(both);
  to->is_of_source_ = true;
}

void Graph::take_name(Value* to, Value* from) {
  const std::string wanted = from->name_;
  if (!wanted.empty()) {
    rename(from, wanted + "/old");
    rename(to, wanted);
  } else if (!to->name_.empty()) {  // name_rest() gives one
    names_->values.drop(to->name_);
    to->name_.clear();
  }
  to->alteration_ = std::move(from->alteration_);
  to->is_of_source_ = std::exchange(from->is_of_source_, false);
}

// The elements of a constant in another order are still that constant: the order stands in the metadata.
void Graph::name_altered() {
  const auto name = [&](Value* v) {
    const Alteration* a = v->alteration_.get();
    if (!a || v->is_input_ || v->is_graph_output()) return;
    if (v->constant_ && a->only_moves())
      rename(v, a->source());
    else if (!a->steps().empty())
      rename(v, a->source() + std::string(a->suffix()));
  };
  std::vector<Graph*> todo{this};
  while (!todo.empty()) {
    Graph* g = todo.back();
    todo.pop_back();
    for (Value* v : g->constants_) name(v);
    for (Node& n : g->nodes()) {
      for (Value* v : n.outputs_) name(v);
      for_each_subgraph(n, [&](Graph& inner) { todo.push_back(&inner); });
    }
  }
}

void Graph::reserve(std::size_t values) { names_->values.make_room(values); }

void Graph::reserve_name(std::string_view wanted) { names_->values.reserve(std::string(wanted)); }

void Graph::name_rest() {
  std::vector<Graph*> todo{this};
  while (!todo.empty()) {
    Graph* g = todo.back();
    todo.pop_back();
    for (Node& n : g->nodes()) {
      for (Value* v : n.outputs_)
        if (v->name_.empty()) {
          const std::string base = n.origin_->label().empty()
                                       ? *n.op_
                                       : n.origin_->label() + "/" + std::string(plain_name(*n.op_));
          v->name_ =
              names_->values.claim(output_name(v->index_ == 0 ? base : n.outputs_[0]->name_, v->index_));
        }
      for_each_subgraph(n, [&](Graph& inner) { todo.push_back(&inner); });
    }
  }
}

namespace {

bool is_output(const Value& v) { return v.is_graph_output() && !v.graph()->parent(); }
bool is_altered(const Value& v) { return v.alteration() && !v.alteration()->steps().empty(); }

// Is the node called by its value's name? Not if the interface gives it, or if it says what was done to the
// value.
bool names_node(const Value& v, const std::string& label) {
  if (is_output(v) || !v.name().starts_with(label)) return false;
  return v.name().size() == label.size() || (v.name()[label.size()] == '/' && !is_altered(v));
}

}  // namespace

void Graph::name_nodes() {
  const auto name_of = [&](const Node& n) {  // no value and no node has it
    const std::string& label = n.origin_->label();
    const Value& v = *n.outputs_[0];
    const bool is_result = is_output(v) || (is_altered(v) && v.alteration()->source() == label);
    return names_->values.claim(
        is_result && names_->values.is_free(label) ? label : label + "/" + std::string(plain_name(*n.op_)));
  };
  std::vector<Graph*> todo{this};
  while (!todo.empty()) {
    Graph* g = todo.back();
    todo.pop_back();
    for (Node& n : g->nodes()) {
      const std::string& label = n.origin_->label();
      if (!label.empty() && !n.outputs_.empty() && !names_node(*n.outputs_[0], label)) {
        if (n.name_) names_->nodes.drop(*n.name_);
        n.name_ = std::make_unique<std::string>(name_of(n));
      }
      for (NamedAttr& a : n.attrs_)
        if (auto* inner = std::get_if<GraphPtr>(&a.value)) {
          (*inner)->set_name(n.name() + "/" + a.name);
          todo.push_back(inner->get());
        }
    }
  }
}

void Graph::set_outputs(Values outputs) {
  for (Value* v : outputs_) --v->output_uses_;
  for (Value* v : outputs) ++v->output_uses_;
  outputs_ = std::move(outputs);
}

void Graph::remove_input(Value* v) {
  if (v->is_used()) throw std::logic_error("remove_input: '" + v->name_ + "' is read");
  std::erase(inputs_, v);
  v->is_input_ = false;
  names_->values.drop(v->name_);
}

void Graph::reorder_inputs(Values inputs) { inputs_ = std::move(inputs); }

void Graph::move_before(Node& n, Node* before) {
  if (before == &n) return;
  unhook(n);
  insert(n, before);
}

void Graph::release_edges(Node& n) {
  for (std::size_t i = 0; i < n.inputs_.size(); ++i) unlink(n, i);
  std::vector<Graph*> inner;  // a worklist: nesting may be deep
  auto collect = [&](const Node& m) { for_each_subgraph(m, [&](Graph& g) { inner.push_back(&g); }); };
  collect(n);
  while (!inner.empty()) {
    Graph* g = inner.back();
    inner.pop_back();
    g->set_outputs({});
    for (Node& m : g->nodes()) {
      for (std::size_t i = 0; i < m.inputs_.size(); ++i) unlink(m, i);
      collect(m);
    }
  }
}

void Graph::erase(Node& n) {
  for (const Value* v : n.outputs_)
    if (v->is_used()) throw std::logic_error("erase: '" + v->name_ + "' is still read");
  release_edges(n);
  for (const Value* v : n.outputs_) names_->values.drop(v->name_);
  if (n.name_) names_->nodes.drop(*n.name_);
  unhook(n);
  // Its place in the deque stays until the graph goes; what it holds does not.
  n.attrs_ = {};
  n.inputs_ = {};
  n.more_uses_.reset();
  for (Value* v : n.outputs_) v->uses_ = {};
}

// Consumers stand behind producers, so one walk from the end does it; a subgraph is gone through before what
// stands in front of its node, since it reads that. The walks stand on a stack of their own: nesting may be
// deep.
std::size_t Graph::erase_dead() {
  const auto erase_unread_constants = [](Graph& g) {
    std::erase_if(g.constants_, [&](Value* v) {
      if (v->is_used()) return false;
      g.names_->values.drop(v->name_);
      v->constant_.reset();
      return true;
    });
  };
  struct Walk {
    Graph* g;
    Node* n;
  };
  std::size_t erased = 0;
  std::vector<Walk> walks = {{this, last_}};
  while (!walks.empty()) {
    const auto [g, n] = walks.back();
    if (!n) {
      erase_unread_constants(*g);
      walks.pop_back();
      continue;
    }
    walks.back().n = n->prev_;
    if (std::ranges::none_of(n->outputs_, [](const Value* v) { return v->is_used(); })) {
      g->erase(*n);
      ++erased;
    } else {
      for_each_subgraph(*n, [&](Graph& inner) { walks.push_back({&inner, inner.last_}); });
    }
  }
  return erased;
}

Values Graph::constants() const { return constants_; }

}  // namespace t2o::ir
