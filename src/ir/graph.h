#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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

  // What is known of the elements of a small integer tensor that is no constant, e.g. {batch, 28, -1} for the Shape of an
  // image: dims as in Shape. Null when nothing is known.
  const std::shared_ptr<const Ints>& known_elements() const { return known_elements_; }

  // The name is one of the source's, and the value holds the source's tensor of this name, but for the alteration.
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
  const std::string& name() const;               // its own, else that of its first output
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
  Graph* graph() const { return graph_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }

 private:
  friend class Graph;
  std::uint32_t& use_index(std::size_t i) { return i < few_uses_.size() ? few_uses_[i] : (*more_uses_)[i - few_uses_.size()]; }

  const std::string* op_ = nullptr;    // of the graph's names: there are few, and many nodes
  std::unique_ptr<std::string> name_;  // null: none of its own
  std::shared_ptr<const Origin> origin_;
  Values inputs_, outputs_;
  std::array<std::uint32_t, 2> few_uses_ = {};              // where in inputs_[i]->uses_ this edge stands
  std::unique_ptr<std::vector<std::uint32_t>> more_uses_;  // of the third input and those behind it
  Attrs attrs_;
  Graph* graph_ = nullptr;
  Node *next_ = nullptr, *prev_ = nullptr;
};

struct OutputSpec {
  std::string name;  // made unique; empty: after the node
  DType dtype = DType::undefined;
  Shape shape = {};
};

struct NodeSpec {
  std::string op;
  Values inputs = {};
  Attrs attrs = {};
  std::vector<OutputSpec> outputs = {};
  std::shared_ptr<const Origin> origin = {};
  std::string name = {};    // also of the outputs that have none of their own; empty: the op
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
  void set_constant(Value*, TensorPtr);  // of a constant: other content (dtype and shape follow it)
  void set_attr(Node&, std::string name, Attr);
  void remove_attr(Node&, std::string_view name);
  void set_op(Node&, std::string op);
  void set_input(Node&, std::size_t i, Value*);
  void add_node_input(Node&, Value*);
  void replace_all_uses(Value* from, Value* to);  // also where from is a graph output
  void rename(Value*, std::string_view name);     // takes the name; made unique
  void reserve(std::size_t values);               // room for so many names
  void reserve_name(std::string_view name);       // kept free of other values until rename() asks for it
  void mark_source(Value* v) { v->is_of_source_ = true; }  // its name is that of the source's tensor that it holds
  void alter(Value*, Alteration::Step);           // it holds another form of what it held; without effect on what is not of the source
  void derive(Value* to, const Value* from, const std::vector<Alteration::Step>&);  // a constant, made of another
  void take_name(Value* to, Value* from);         // of what `to` holds now as well; nobody reads `from` any more
  void name_altered();                            // what is altered gets a name that says so; inputs and outputs keep theirs
  void name_rest();                               // names what was added with name_later, after its origin: "<node>/<Op>"
  void set_outputs(Values);
  void remove_input(Value*);                      // a graph input that nothing reads
  void reorder_inputs(Values);                    // the same inputs in another order
  void move_before(Node&, Node* before);
  void erase(Node&);                              // nothing may read its outputs
  std::size_t erase_dead();                       // nodes without effect on the outputs, and unread constants

  const Values& inputs() const { return inputs_; }
  const Values& outputs() const { return outputs_; }
  Values constants() const;  // in the order of their making, without the erased
  std::size_t node_count() const { return node_count_; }
  Node* first() const { return first_; }
  Node* last() const { return last_; }

  class iterator {  // the current node may be erased or have nodes put before it during the walk
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
