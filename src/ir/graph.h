#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.h"
#include "ir/alteration.h"
#include "ir/attr.h"

namespace t2o::ir {

struct Use {
  Node* node;
  std::size_t input;
};

// One tensor of the graph: a graph input, a constant, or an output of a node. Const to everyone; only Graph mutates edges.
class Value {
 public:
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Node* producer() const { return producer_; }  // null for a graph input and a constant
  std::size_t index() const { return index_; }  // which output of its producer
  const TensorPtr& constant() const { return constant_; }  // null when it is not one
  const std::vector<Use>& uses() const { return uses_; }   // in no particular order
  bool is_graph_output() const { return output_uses_ != 0; }
  bool is_graph_input() const { return is_input_; }
  bool is_used() const { return !uses_.empty() || output_uses_ != 0; }
  Graph* graph() const { return graph_; }

  // The known elements of a small integer tensor that is not a constant, e.g. {batch, 28, -1} for the Shape of an image. The
  // entries are dims as in Shape. Null if nothing is known.
  const std::shared_ptr<const Ints>& known_elements() const { return known_elements_; }

  // The name comes from the source, and the value holds the source's tensor of this name, except for the alteration.
  bool is_of_source() const { return is_of_source_; }
  const Alteration* alteration() const { return alteration_.get(); }  // null: none

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  Shape shape_;
  Node* producer_ = nullptr;
  TensorPtr constant_;
  std::shared_ptr<const Ints> known_elements_;
  std::unique_ptr<Alteration> alteration_;
  std::vector<Use> uses_;
  Graph* graph_ = nullptr;
  std::uint32_t index_ = 0, output_uses_ = 0;
  DType dtype_ = DType::undefined;
  bool is_input_ = false, is_of_source_ = false;
};

class Node {
 public:
  const std::string& name() const;               // its own name, else the name of its first output
  const std::string& op() const { return *op_; }  // "Conv2D", "Conv", "t2o.LayerNormalization", "com.microsoft::Gelu"
  const Origin& origin() const { return *origin_; }
  const std::shared_ptr<const Origin>& shared_origin() const { return origin_; }
  std::size_t input_count() const { return inputs_.size(); }
  Value* input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }  // null: an omitted optional input
  const Values& inputs() const { return inputs_; }
  const Values& outputs() const { return outputs_; }
  Value* output(std::size_t i = 0) const { return outputs_.at(i); }
  const Attrs& attrs() const { return attrs_; }
  const Attr* attr(std::string_view name) const;  // null when absent
  template <class T> const T* attr_if(std::string_view name) const {
    const Attr* a = attr(name);
    return a ? std::get_if<T>(a) : nullptr;
  }
  template <class T> T attr_or(std::string_view name, T otherwise) const {
    const T* a = attr_if<T>(name);
    return a ? *a : otherwise;
  }
  Graph* graph() const { return graph_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }

 private:
  friend class Graph;
  std::uint32_t& use_index(std::size_t i) { return i < few_uses_.size() ? few_uses_[i] : (*more_uses_)[i - few_uses_.size()]; }

  const std::string* op_ = nullptr;    // shared among the nodes of the graph, because many nodes have few ops
  std::unique_ptr<std::string> name_;  // null if it has no name of its own
  std::shared_ptr<const Origin> origin_;
  Values inputs_, outputs_;
  std::array<std::uint32_t, 2> few_uses_ = {};              // the position of this edge in inputs_[i]->uses_
  std::unique_ptr<std::vector<std::uint32_t>> more_uses_;  // the same for the third input and all after it
  Attrs attrs_;
  Graph* graph_ = nullptr;
  Node *next_ = nullptr, *prev_ = nullptr;
};

struct OutputSpec {
  std::string name;  // made unique; if empty, the node's name
  DType dtype = DType::undefined;
  Shape shape = {};
};

struct NodeSpec {
  std::string op;
  Values inputs = {};
  Attrs attrs = {};
  std::vector<OutputSpec> outputs = {};
  std::shared_ptr<const Origin> origin = {};
  std::string name = {};    // also for outputs without a name of their own; if empty, the op
  bool name_later = false;  // the outputs get no name before name_rest()
};

// Nodes in execution order, owned here with their values; addresses are stable, pointers never own. A node of a subgraph may
// read values of the graphs around it.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  GraphPtr make_subgraph();  // shares names and symbols; to be held by an attribute of a node of this graph
  Graph* parent() const { return parent_; }

  const std::string& name() const { return name_; }
  const std::string& dialect() const { return dialect_; }  // "tf", "tflite", "onnx"
  void set_name(std::string n) { name_ = std::move(n); }
  void set_dialect(std::string d) { dialect_ = std::move(d); }
  Symbols& symbols() const { return *symbols_; }
  void share_symbols(const Graph& from) { symbols_ = from.symbols_; }

  Value* add_input(std::string name, DType, Shape);
  Value* add_constant(std::string name, TensorPtr);
  Node& add(NodeSpec, Node* before = nullptr);  // unique names are made here, nowhere else

  void set_type(Value*, DType, Shape);
  void set_known_elements(Value*, Ints);
  void set_constant(Value*, TensorPtr);  // gives a constant another content, with its dtype and shape
  void set_attr(Node&, std::string name, Attr);
  void remove_attr(Node&, std::string_view name);
  void set_op(Node&, std::string op);
  void set_input(Node&, std::size_t i, Value*);
  void add_node_input(Node&, Value*);
  void replace_all_uses(Value* from, Value* to);  // also the uses as a graph output
  void rename(Value*, std::string_view name);     // takes the name; made unique
  void reserve(std::size_t values);               // room for so many names
  void reserve_name(std::string_view name);       // no other value gets this name until rename() asks for it
  void mark_source(Value* v) { v->is_of_source_ = true; }  // the value holds the source's tensor of its name
  void alter(Value*, Alteration::Step);           // records that the value holds another form; no effect on a value without a source's name
  void derive(Value* to, const Value* from, const std::vector<Alteration::Step>&);  // a constant computed from another one
  void take_name(Value* to, Value* from);         // `to` holds what `from` held and gets its name; `from` has no reader any more
  void name_altered();                            // gives altered values names with a suffix, except inputs and outputs
  void name_rest();                               // names the values that were added with name_later, after their origin: "<label>/<Op>"
  void name_nodes();                              // the last names: of nodes whose value is called otherwise, and of subgraphs
  void set_outputs(Values);
  void remove_input(Value*);                      // a graph input that nothing reads
  void reorder_inputs(Values);                    // the same inputs in another order
  void move_before(Node&, Node* before);
  void erase(Node&);                              // nothing may read its outputs
  std::size_t erase_dead();                       // nodes without effect on the outputs, and unread constants

  const Values& inputs() const { return inputs_; }
  const Values& outputs() const { return outputs_; }
  Values constants() const;  // in the order of creation, without erased ones
  std::size_t node_count() const { return node_count_; }
  Node* first() const { return first_; }
  Node* last() const { return last_; }

  class iterator {  // during the walk, the current node may be erased, and nodes may be inserted before it
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node;
    using difference_type = std::ptrdiff_t;
    using pointer = Node*;
    using reference = Node&;
    explicit iterator(Node* n) : n_(n), next_(n ? n->next() : nullptr) {}
    Node& operator*() const { return *n_; }
    Node* operator->() const { return n_; }
    iterator& operator++() {
      n_ = next_;
      next_ = n_ ? n_->next() : nullptr;
      return *this;
    }
    bool operator==(const iterator& o) const { return n_ == o.n_; }

   private:
    Node *n_, *next_;
  };
  struct Range {
    Node* first;
    iterator begin() const { return iterator(first); }
    iterator end() const { return iterator(nullptr); }
  };
  Range nodes() const { return {first_}; }

 private:
  struct Names;
  Value* new_value(std::string_view name);
  void link(Node&, std::size_t i, Value*);
  void unlink(Node&, std::size_t i);
  void release_edges(Node&);
  void insert(Node&, Node* before);
  void unhook(Node&);

  std::string name_ = "graph", dialect_ = "onnx";
  std::deque<Node> nodes_;
  std::deque<Value> values_;
  Node *first_ = nullptr, *last_ = nullptr;
  std::size_t node_count_ = 0;
  Values inputs_, outputs_, constants_;
  std::shared_ptr<Names> names_;
  std::shared_ptr<Symbols> symbols_;
  Graph* parent_ = nullptr;
};

// Calls f(subgraph) for every graph that an attribute of the node holds.
template <class F> void for_each_subgraph(const Node& n, F&& f) {
  for (const NamedAttr& a : n.attrs()) {
    if (const auto* g = std::get_if<GraphPtr>(&a.value)) f(**g);
    if (const auto* gs = std::get_if<Graphs>(&a.value))
      for (const GraphPtr& g : *gs) f(*g);
  }
}

}  // namespace t2o::ir
