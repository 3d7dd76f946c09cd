#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace t2o {

// A pattern is an expression that reads like its formula:
//   const Pat x = any(), gamma = constant();
//   const Pat mean = op("Mean", x, axes).with("keep_dims", 1);
//   const Pat y = op("Add|AddV2", op("Mul", x, inv), op("Sub", beta, op("Mul", mean, inv)));
// A Pat that appears in several places must match the same value in all of them. Operands of commutative operators match in
// either order.
class Pat {
 public:
  struct Term;
  explicit Pat(std::shared_ptr<const Term> t) : term_(std::move(t)) {}

  Pat where(std::function<bool(const Value*)> predicate) const;
  Pat with(std::string attr, Attr value) const;
  Pat with(std::string attr, int value) const { return with(std::move(attr), Attr(std::int64_t{value})); }
  Pat output(std::size_t index) const;  // this output of the operator instead of the first
  friend Pat operator|(const Pat&, const Pat&);  // matches either
  const Term* id() const { return term_.get(); }

 private:
  std::shared_ptr<const Term> term_;
};

Pat any();
Pat constant();
Pat make_op(std::string_view ops, std::vector<Pat> inputs);  // "Add|AddV2"
template <class... P> Pat op(std::string_view ops, const P&... inputs) { return make_op(ops, {inputs...}); }

class Match {
 public:
  Value* operator[](const Pat& p) const;                   // null if the alternative with p did not match
  const TensorPtr& constant(const Pat& p) const { return (*this)[p]->constant(); }
  Value* root() const { return root_; }

 private:
  friend class Matcher;
  std::vector<std::pair<const Pat::Term*, Value*>> bound_;
  Value* root_ = nullptr;
};

// Makes the nodes of a replacement before the match's root, with the origin of the root.
class Rewrite {
 public:
  Rewrite(ir::Graph& g, ir::Node& root) : g_(g), root_(root) {}
  Value* make(std::string op, Values inputs, Attrs attrs = {});  // with the root's dtype and shape
  Value* make(std::string op, Values inputs, Attrs attrs, DType, Shape);
  Value* make(ir::NodeSpec);  // as it is; its first result. tf/op_builder.h makes specs of TensorFlow's operators
  Value* constant(TensorPtr);
  ir::Graph& graph() { return g_; }

 private:
  ir::Graph& g_;
  ir::Node& root_;
};

struct Rewriter {
  std::string name;
  std::function<int(ir::Graph&)> run;       // how many times it changed the graph; the phase then removes the nodes that nothing reads
  std::vector<std::string> looks_for = {};  // the rewriter runs only on a graph with one of these operators; empty: on any graph
  // True if the rewriter reads the shapes of this node's inputs. A frozen graph does not hold them, so they are inferred first.
  std::function<bool(const ir::Node&)> reads_shapes_of = {};
};

// Replaces each match of root by the value that `replace` returns. Null declines; then `replace` must have changed nothing. The
// engine refuses a match if a node outside of it reads a value other than the root, so a replacement never removes a value that
// has a reader.
using Replace = std::function<Value*(const Match&, Rewrite&)>;
Rewriter rewriter(std::string name, Pat root, Replace replace);
// Runs the rewriters one after the other over the whole graph, those that look for an operator of the graph.
Rewriter in_turn(std::string name, std::vector<Rewriter> forms, std::vector<std::string> looks_for);

// Calls `change` for each node; it returns how often it changed the graph. It may erase the node, and insert nodes in front of it.
Rewriter for_each_node(std::string name, std::vector<std::string> looks_for, std::function<int(ir::Graph&, ir::Node&)> change);

// Makes the readers of `from` read `to`. `to` gets the name of `from` if it is a new value or `from` is a graph output. Returns
// false and changes nothing if `from` is a graph output and `to` cannot be one: a graph output needs a node of this graph.
bool take_over(ir::Graph&, Value* from, Value* to);
// The same; if `to` cannot be the graph output, the output becomes an Identity of `to`.
void replace_value(ir::Graph& g, Value* from, Value* to);

// The rewriters whose attempts are printed to stderr (--trace-match).
void trace_matches(std::vector<std::string> names);
void trace_match(const std::string& rewriter, const Value* at, const char* what);  // for rewriters without patterns

}  // namespace t2o
