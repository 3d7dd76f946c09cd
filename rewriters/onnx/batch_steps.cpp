#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/batch_scan.h"
#include "rewriters/onnx/facts.h"

// A layer that is written out for each step of a sequence, as Keras 3 leaves a TimeDistributed one, works on
// all steps at once, as one batch:
//   Concat(f(x[:, 0]), f(x[:, 1]) ...)  ->  f of a Reshape, and a Reshape
namespace t2o::rewriters {
namespace {

using onnx::Trait;

// Something of each step: a row of a tensor, the same for all, or what the same operator makes of such.
struct Part {
  enum { kRow, kShared, kMade } kind = kMade;
  Values values;            // of the steps
  std::vector<Part*> from;  // of a made one, its inputs
  Value* all = nullptr;     // of all steps, in the end
};

// All sizes but that of the batch are known.
bool has_known_row(const Shape& s) {
  return s.ranked() && s.rank() >= 1 &&
         std::all_of(s.dims().begin() + 1, s.dims().end(), [](Dim d) { return is_known(d) && d > 0; });
}

Dim row_size(const Shape& s) {
  return std::accumulate(s.dims().begin() + 1, s.dims().end(), Dim{1}, std::multiplies<>());
}

Ints swapped(int rank) {
  Ints perm = ints_from(0, rank);
  std::swap(perm[0], perm[1]);
  return perm;
}

bool has_equal_attrs(const ir::Node& a, const ir::Node& b) {
  if (a.op() != b.op() || a.attrs().size() != b.attrs().size()) return false;
  return std::ranges::all_of(a.attrs(), [&](const ir::NamedAttr& x) {
    const Attr* y = b.attr(x.name);
    return y && !std::holds_alternative<GraphPtr>(x.value) && !std::holds_alternative<TensorPtr>(x.value) &&
           x.value == *y;
  });
}

bool is_same(const Value* a, const Value* b) {
  if (a == b) return true;
  return a && b && a->constant() && b->constant() && same_content(*a->constant(), *b->constant());
}

class Join {
 public:
  Join(ir::Graph& g, const onnx::Target& target, ir::Node& stack) : g_(g), target_(target), stack_(stack) {}

  bool run() {
    const auto* axis = stack_.attr_if<std::int64_t>("axis");
    if (!axis || (*axis != 0 && *axis != 1) || stack_.input_count() < 2) return false;
    Values last;
    for (const Value* v : stack_.inputs()) {
      const ir::Node* n = v ? v->producer() : nullptr;
      if (!is_op(n, "Unsqueeze") || axes_of(*n) != Ints{*axis} || only_reader(v) != &stack_) return false;
      ends_.insert(n);
      last.push_back(n->input(0));
    }
    Part* root = part_of(last);
    if (!find(root) || !base_ || root->kind != Part::kMade || !has_known_row(last[0]->shape()) || escapes())
      return false;
    replace(*root, static_cast<int>(*axis));
    return true;
  }

 private:
  Part* part_of(const Values& values) {
    auto& p = parts_[values[0]];
    if (!p) {
      p = std::make_unique<Part>();
      p->values = values;
      order_.push_back(p.get());
    }
    const bool same = p->values == values ||
                      std::equal(values.begin(), values.end(), p->values.begin(), p->values.end(), is_same);
    return same ? p.get() : nullptr;
  }

  // Gives each part its inputs; order_ has a part behind what is made of it.
  bool find(Part* root) {
    if (!root) return false;
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (!settle(*order_[i])) return false;
    return true;
  }

  bool settle(Part& p) {
    const Value* first = p.values[0];
    const bool shared = std::ranges::all_of(p.values, [&](const Value* v) { return is_same(v, first); });
    if (!first || shared) {
      p.kind = Part::kShared;
      return shared && (!first || first->constant());  // else it may have rows of the batch as well
    }
    if (is_row(p)) {
      p.kind = Part::kRow;
      return true;
    }
    const ir::Node* n = first->producer();
    if (!n || n->outputs().size() != 1 || !has_known_batch(p)) return false;
    for (const Value* v : p.values) {
      const ir::Node* other = v->producer();
      if (!other || other->graph() != &g_ || !has_equal_attrs(*n, *other) ||
          other->input_count() != n->input_count() || other->outputs().size() != 1)
        return false;
      nodes_.insert(other);
    }
    for (std::size_t k = 0; k < n->input_count(); ++k) {
      Values in;
      for (const Value* v : p.values) in.push_back(v->producer()->input(k));
      Part* from = in[0] ? part_of(in) : nullptr;
      if (!from && !std::ranges::all_of(in, [](const Value* v) { return !v; })) return false;
      p.from.push_back(from);
    }
    return works_by_row(*n);
  }

  bool has_known_batch(const Part& p) const {
    const Shape& s = p.values[0]->shape();
    return has_known_row(s) && std::ranges::all_of(p.values, [&](const Value* v) {
             return v->shape().ranked() && v->shape().rank() == s.rank() &&
                    std::equal(s.dims().begin() + 1, s.dims().end(), v->shape().dims().begin() + 1);
           });
  }

  // Step i is row i of one tensor, all of whose rows are there.
  bool is_row(const Part& p) {
    Value* x = nullptr;
    std::int64_t axis = 0;
    for (std::size_t i = 0; i < p.values.size(); ++i) {
      const ir::Node* n = p.values[i]->producer();
      if (!is_op(n, "Gather") || n->input(1)->shape() != Shape::scalar() ||
          !is_number(n->input(1), static_cast<double>(i)))
        return false;
      const auto a = n->attr_or<std::int64_t>("axis", 0);
      if (i == 0) x = n->input(0), axis = a;
      if (n->input(0) != x || a != axis) return false;
    }
    if (!x->shape().ranked() || x->shape().rank() < 2 || (axis != 0 && axis != 1) ||
        x->shape()[static_cast<int>(axis)] != static_cast<Dim>(p.values.size()) ||
        !has_known_row(p.values[0]->shape()))
      return false;
    const ir::Node* n = x->producer();
    const auto* perm = perm_of(n);
    if (axis == 0 && perm && *perm == swapped(x->shape().rank())) {
      x = n->input(0);
      axis = 1;
    }
    if (base_ && (base_ != x || batch_first_ != (axis == 1))) return false;  // one sequence
    base_ = x;
    batch_first_ = axis == 1;
    return true;
  }

  // What it makes of a row is not touched by other rows of the batch.
  static bool works_by_row(const ir::Node& n);

  // Only the joined steps read what they make.
  bool escapes() const {
    for (const ir::Node* n : nodes_)
      for (const ir::Use& u : n->output()->uses())
        if (!nodes_.contains(u.node) && !ends_.contains(u.node)) return true;
    return std::ranges::any_of(nodes_, [](const ir::Node* n) { return n->output()->is_graph_output(); });
  }

  static Ints with_batch(const Shape& row) {
    Ints dims = row.dims();
    dims[0] = -1;
    return dims;
  }

  // The rows as one batch; not put into steps and taken apart again.
  Value* rows(Emitter& e, const Shape& row) const {
    const ir::Node* n = base_->producer();
    const bool was_joined =
        is_op(n, "Reshape") && n->input(0)->shape().ranked() && batch_first_ &&
        n->input(0)->shape().rank() == row.rank() && has_known_row(n->input(0)->shape()) &&
        std::equal(row.dims().begin() + 1, row.dims().end(), n->input(0)->shape().dims().begin() + 1);
    return was_joined ? n->input(0) : e.reshape(base_, with_batch(row));
  }

  void replace(const Part& root, int axis) {
    Emitter e(stack_, target_);
    for (const Part* p : sorted()) make(e, *const_cast<Part*>(p));
    const Shape& row = root.values[0]->shape();
    Ints dims = with_batch(row);
    dims.insert(dims.begin() + (batch_first_ ? 1 : 0), static_cast<Dim>(root.values.size()));
    Value* y = e.reshape(root.all, dims);
    if (batch_first_ != (axis == 1)) y = e.transpose(y, swapped(row.rank() + 1));
    g_.set_type(y, y->dtype(), stack_.output()->shape());
    replace_value(g_, stack_.output(), y);
  }

  // Inputs before what is made of them.
  std::vector<Part*> sorted() const {
    std::unordered_map<const ir::Node*, Part*> by_node;
    std::vector<Part*> all;
    for (Part* p : order_) {
      if (p->kind != Part::kMade)
        all.push_back(p);
      else
        by_node[p->values[0]->producer()] = p;
    }
    for (ir::Node& n : g_.nodes())
      if (const auto it = by_node.find(&n); it != by_node.end()) all.push_back(it->second);
    return all;
  }

  void make(Emitter& e, Part& p) {
    const ir::Node* n = p.values[0] ? p.values[0]->producer() : nullptr;
    if (p.kind == Part::kShared) {
      p.all = p.values[0];
    } else if (p.kind == Part::kRow) {
      p.all = rows(e, p.values[0]->shape());
    } else if (n->op() == "Reshape") {
      p.all = e.reshape(p.from[0]->all, with_batch(p.values[0]->shape()));
    } else {
      Values in;
      for (const Part* from : p.from) in.push_back(from ? from->all : nullptr);
      p.all = e.emit(n->op(), in, n->attrs());
    }
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  ir::Node& stack_;
  std::unordered_map<const Value*, std::unique_ptr<Part>> parts_;  // by the value of the first step
  std::vector<Part*> order_;
  std::unordered_set<const ir::Node*> nodes_, ends_;
  Value* base_ = nullptr;
  bool batch_first_ = false;
};

bool is_weights(const Value* v, int most_axes) {
  return !v || (v->constant() && v->shape().rank() <= most_axes);
}

bool Join::works_by_row(const ir::Node& n) {
  static const std::unordered_set<std::string_view> kPools = {"MaxPool", "AveragePool", "GlobalAveragePool",
                                                              "GlobalMaxPool"};
  const std::string_view op = n.op();
  const bool broadcasts = onnx::has(op, Trait::broadcasts);
  const Shape &x = n.input(0)->shape(), &y = n.output()->shape();
  const auto is_step = [&](const Value* v) { return v && !v->constant() && v->graph() == n.graph(); };
  if (!is_step(n.input(0)) && !broadcasts) return false;
  const auto weights_behind = [&](std::size_t first, int most_axes) {
    for (std::size_t i = first; i < n.input_count(); ++i)
      if (!is_weights(n.input(i), most_axes)) return false;
    return true;
  };
  if (onnx::has(op, Trait::elementwise)) return weights_behind(1, 0);
  if (kPools.contains(op) || op == "DepthToSpace" || op == "SpaceToDepth") return true;
  if (contains({"Conv", "BatchNormalization", "InstanceNormalization"}, op)) return weights_behind(1, 8);
  if (op == "Gemm") return !n.attr("transA") && is_weights(n.input(1), 2) && is_weights(n.input(2), 1);
  if (op == "MatMul") return x.rank() >= 2 && is_weights(n.input(1), 2);
  if (op == "Transpose") {
    const auto* perm = n.attr_if<Ints>("perm");
    return perm && !perm->empty() && perm->front() == 0;
  }
  if (op == "Reshape") {
    const auto dims = constant_ints(n.input(1));
    return dims && has_known_row(x) && has_known_row(y) && row_size(x) == row_size(y);
  }
  if (op == "Pad") {
    const auto pads = n.input(1) ? constant_ints(n.input(1)) : std::nullopt;
    return pads && pads->size() == 2 * static_cast<std::size_t>(x.rank()) && pads->front() == 0 &&
           nth(*pads, x.rank()) == 0 && weights_behind(2, 1);
  }
  if (op == "Flatten") return x.rank() >= 2 && y.rank() == 2 && !n.attr("axis");
  if (onnx::has(op, Trait::reduces) || op == "Squeeze" || op == "Unsqueeze") {
    const auto axes = axes_of(n);
    const int rank = op == "Unsqueeze" ? y.rank() : x.rank();
    return axes && !axes->empty() && (n.input_count() < 2 || n.input(1)->constant()) &&
           std::ranges::all_of(*axes, [&](std::int64_t a) { return a != 0 && a != -rank; });
  }
  if (op == "Softmax") {
    const auto axis = n.attr_or<std::int64_t>("axis", 0);
    return axis != 0 && axis != -x.rank();
  }
  if (op == "Concat") {
    const auto axis = n.attr_or<std::int64_t>("axis", 0);
    return axis != 0 && axis != -y.rank() && std::ranges::all_of(n.inputs(), is_step);
  }
  if (!broadcasts || (op == "PRelu" && !is_step(n.input(0)))) return false;  // which is not broadcast itself
  // Another tensor has no axis for the batch, or is of the steps as well.
  return std::ranges::all_of(n.inputs(), [&](const Value* v) {
    if (!v || !v->shape().ranked()) return false;
    return v->constant() ? v->shape().rank() < y.rank() || v->shape()[0] == 1 : v->shape().rank() == y.rank();
  });
}

}  // namespace

Rewriter batch_steps(const onnx::Target& target) {
  return for_each_node("batch_steps", {"Concat", "Scan"}, [target](ir::Graph& g, ir::Node& n) {
    return n.op() == "Scan" ? batch_scan(g, target, n) : n.op() == "Concat" && Join(g, target, n).run();
  });
}

}  // namespace t2o::rewriters
