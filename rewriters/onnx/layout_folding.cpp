#include "rewriters/onnx/layout_folding.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/layout_rules.h"
#include "rewriters/onnx/min_cut.h"
#include "rewriters/onnx/per_channel.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {
namespace {

bool is_transpose(const ir::Node& n, const Ints& perm) {
  const Ints* p = perm_of(&n);
  return p && *p == perm;
}

// A Transpose into the form gives its input in permuted form under another name; likewise a Transpose out of
// it. So both are left out of the problem, and come back where the solution needs them.
class LayoutFolding {
 public:
  LayoutFolding(ir::Graph& g, Form form, const onnx::Target& target, bool at_interface)
      : g_(g), form_(std::move(form)), target_(target), at_interface_(at_interface && !g.parent()) {}

  int run() {
    classify_transposes();
    find_region();
    if (members_.empty()) return 0;
    state_costs();
    cut_.solve();
    const auto changed = std::ranges::count_if(
        order_, [&](const ir::Node* n) { return cut_.is_one(members_.at(n).variable); });
    if (changed == 0) return 0;
    for (ir::Node* n = g_.first(); n;) {
      ir::Node* next = n->next();
      rebuild(*n);
      n = next;
    }
    g_.erase_dead();
    return static_cast<int>(changed);
  }

 private:
  struct Member {
    Role role;
    MinCut::Variable variable;
  };

  // A Transpose that is its own inverse is taken for one out of the form where what it reads has no choice,
  // else for one into it.
  void classify_transposes() {
    const bool involution = form_.perm() == form_.inverse();
    for (const ir::Node& n : g_.nodes()) {
      if (!is_transpose(n, form_.perm()) && !is_transpose(n, form_.inverse())) continue;
      if (!n.input(0)->shape().ranked()) continue;  // those that read it instead need its rank
      const ir::Node* producer = n.input(0)->producer();
      const bool is_exit = involution
                               ? !producer || role_of(*producer, form_, target_).kind == Role::Kind::fixed
                               : is_transpose(n, form_.inverse());
      (is_exit ? exits_ : entries_).insert(&n);
    }
  }
  bool is_entry(const ir::Node& n) const { return entries_.contains(&n); }
  bool is_exit(const ir::Node& n) const { return exits_.contains(&n); }

  // ---- the nodes that have a choice: those that are connected with a Transpose of this form by others that
  // have one
  void find_region() {
    std::vector<const Value*> queue;
    for (ir::Node& n : g_.nodes())
      if (is_entry(n) || is_exit(n)) queue.insert(queue.end(), {n.input(0), n.output()});
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (!form_.has(queue[i]) || queue[i]->constant() || !seen_.insert(queue[i]).second) continue;
      values_.push_back(queue[i]);
      if (ir::Node* p = queue[i]->producer(); p && p->graph() == &g_) visit(*p, queue);
      for (const ir::Use& u : queue[i]->uses())
        if (u.node->graph() == &g_) visit(*u.node, queue);
    }
  }

  void visit(ir::Node& n, std::vector<const Value*>& queue) {
    if (members_.contains(&n) || n.op() == "Transpose") return;
    Role role = role_of(n, form_, target_);
    if (role.kind == Role::Kind::fixed) return;
    for (const std::size_t i : role.data) queue.push_back(n.input(i));
    if (role.kind != Role::Kind::absorbs) queue.insert(queue.end(), n.outputs().begin(), n.outputs().end());
    members_.emplace(&n, Member{std::move(role), cut_.add()});
    order_.push_back(&n);
  }

  const Member* member(const ir::Node* n) const {
    const auto it = n ? members_.find(n) : members_.end();
    return it == members_.end() ? nullptr : &it->second;
  }

  // Operators that a convolution which leaves the form here could include: its bias and scale, and the
  // activation that runtimes fuse. If choices cost the same, they stay with the convolution.
  bool belongs_to_convolution(const ir::Node& n) const {
    static const std::unordered_set<std::string_view> kActivations = {"Clip", "HardSigmoid", "LeakyRelu",
                                                                      "Relu", "Sigmoid",     "Tanh"};
    const ir::Node* behind = &n;
    const auto in_front = [&] {
      return only_reader(behind->input(0)) ? behind->input(0)->producer() : nullptr;
    };
    if (kActivations.contains(n.op())) behind = in_front();
    for (int depth = 0; depth < 4 && behind && is_linear(*behind); ++depth) behind = in_front();
    const ir::Node* conv =
        behind && behind != &n && is_exit(*behind) ? behind->input(0)->producer() : nullptr;
    return conv && (conv->op() == "Conv" || conv->op() == "ConvTranspose") && only_reader(conv->output());
  }
  // Runtimes work any factor into the weights, also one that makes them infinite.
  static bool is_linear(const ir::Node& n) {
    const TensorPtr c = n.op() == "Add" || n.op() == "Mul" ? n.input(1)->constant() : nullptr;
    return c && can_scale(c->dtype()) && c->elements() <= kMostChannels && is_moderate(c->to_floats());
  }

  // ---- what the choices cost
  MinCut::Variable form_of_producer(const Value* v) const {
    if (v->producer() && is_exit(*v->producer())) return MinCut::kOne;
    const Member* m = member(v->producer());
    return m && m->role.kind != Role::Kind::absorbs ? m->variable : MinCut::kZero;
  }
  MinCut::Variable form_of_use(const ir::Use& u) const {
    if (u.node->graph() != &g_) return MinCut::kZero;
    if (is_entry(*u.node)) return MinCut::kOne;
    return is_choice(u) ? members_.at(u.node).variable : MinCut::kZero;
  }

  void state_costs() {
    for (const ir::Node* n : order_) {
      const Member& m = members_.at(n);
      cut_.cost_if(m.variable, MinCut::kZero, m.role.cost);
      if (belongs_to_convolution(*n)) cut_.cost_if(MinCut::kOne, m.variable, kTie);
    }
    for (const Value* v : values_) state_cost(v);
  }

  // A value is transposed once, whoever needs it in the other form.
  void state_cost(const Value* v) {
    const MinCut::Variable from = form_of_producer(v);
    const bool is_interface = at_interface_ && (v->is_graph_input() || v->is_graph_output());
    const std::int64_t cost = is_interface                        ? 1
                              : form_.moves_only_ones(v->shape()) ? kReshape
                                                                  : transposed_bytes(*v);
    std::vector<MinCut::Variable> to;
    for (const ir::Use& u : v->uses()) to.push_back(form_of_use(u));
    if (v->is_graph_output()) to.push_back(MinCut::kZero);
    std::ranges::sort(to);
    to.erase(std::unique(to.begin(), to.end()), to.end());
    if (to.size() == 1) {
      cut_.cost_if(to[0], from, cost);
      cut_.cost_if(from, to[0], cost);
      return;
    }
    const MinCut::Variable some_one = cut_.add(), all_one = cut_.add();
    for (const MinCut::Variable t : to) {
      cut_.cost_if(t, some_one, MinCut::kForbidden);
      cut_.cost_if(all_one, t, MinCut::kForbidden);
    }
    cut_.cost_if(some_one, from, cost);
    cut_.cost_if(from, all_one, cost);
  }

  // ---- the graph as chosen, in the order of its nodes
  void rebuild(ir::Node& n) {
    if (is_entry(n)) return rebuild_entry(n);
    if (is_exit(n)) return rebuild_exit(n);
    const Member* m = member(&n);
    if (!m) return;
    const bool one = cut_.is_one(m->variable);
    for (const std::size_t i : m->role.data)
      g_.set_input(n, i, one ? permuted(n.input(i), n) : plain(n.input(i), n));
    if (!one) return;
    permute(n, form_, target_);
    if (m->role.kind == Role::Kind::absorbs) return;
    for (Value* v : n.outputs()) {
      g_.set_type(v, v->dtype(), form_.shape(v->shape()));
      g_.alter(v, ir::Alteration::transpose(form_.perm()));
      is_permuted_.insert(v);
      give_plain_form(v, n);
    }
  }

  // Transpose(x, perm) is x where x is permuted already; else it is x's permuted form for everybody.
  void rebuild_entry(ir::Node& n) {
    Value* x = n.input(0);
    Value* y = n.output();
    Value* there = is_permuted_.contains(x) ? x : other_form(x);
    if (!there) {
      g_.set_input(n, 0, plain(x, n));
      other_.emplace(x, y);
    } else if (y->is_graph_output() && y->uses().empty() && take_over(g_, y, there)) {
      // the output is `there` itself
    } else if (y->is_graph_output()) {  // which is a node's own
      g_.set_op(n, "Identity");
      g_.remove_attr(n, "perm");
      g_.set_input(n, 0, there);
    } else {
      same_.emplace(y, there);
      const std::vector<ir::Use> uses = y->uses();
      for (const ir::Use& u : uses)
        if (!is_rebuilt(u)) u.node->graph()->set_input(*u.node, u.input, there);
    }
  }

  // Transpose(x, inverse): whose readers want it permuted read x.
  void rebuild_exit(ir::Node& n) {
    Value* x = plain(n.input(0), n);
    g_.set_input(n, 0, x);
    other_.emplace(n.output(), x);
    if (x->producer() && !x->is_of_source())  // so that it has a name of the source's when the Transpose goes
      g_.derive(x, n.output(), {ir::Alteration::transpose(form_.perm())});
  }

  Value* other_form(const Value* v) const {
    const auto it = other_.find(v);
    return it == other_.end() ? nullptr : it->second;
  }

  Value* itself(Value* v) const {
    const auto it = same_.find(v);
    return it == same_.end() ? v : it->second;
  }

  Value* permuted(Value* v, ir::Node& before) {
    if (is_permuted_.contains(v)) return v;
    if (Value* known = other_form(v)) return known;
    return convert(v, true, before);
  }
  Value* plain(Value* v, ir::Node& before) {
    if (!is_permuted_.contains(v)) return itself(v);
    if (Value* known = other_form(v)) return known;
    return convert(v, false, before);
  }

  Value* convert(Value* v, bool into, ir::Node& before) {
    const auto origin = v->producer() ? v->producer()->shared_origin()
                                      : std::make_shared<const Origin>(Origin{v->name(), "", {}});
    Emitter e(g_, target_, origin, &before);
    Value* other = transpose_or_reshape(e, itself(v), into ? form_.perm() : form_.inverse());
    other_.emplace(v, other);
    other_.emplace(other, v);
    if (into) is_permuted_.insert(other);
    return other;
  }

  // Where only dims of 1 move, a Reshape does it, for which a size of 0 would be that of v's there.
  static Value* transpose_or_reshape(Emitter& e, Value* v, const Ints& perm) {
    const Form to(perm);
    Ints dims = to.shape(v->shape()).dims();
    int unknown = 0;
    for (std::int64_t& d : dims)
      if (!is_known(d)) d = -1, ++unknown;
    const bool is_empty = contains(dims, 0);
    if (v->constant() || is_empty || unknown > 1 || !to.moves_only_ones(v->shape()))
      return e.transpose(v, perm);
    return e.reshape(v, std::move(dims));
  }

  // Does the node that reads here say, when its turn comes, in which form?
  bool is_choice(const ir::Use& u) const {
    const Member* m = u.node->graph() == &g_ ? member(u.node) : nullptr;
    return m && contains(m->role.data, u.input);
  }

  // Does it take what it reads from the tables when its turn comes? `there` is another tensor to them than y.
  bool is_rebuilt(const ir::Use& u) const {
    return is_choice(u) || (u.node->graph() == &g_ && (is_entry(*u.node) || is_exit(*u.node)));
  }

  // Readers outside of the choice read the value as it was; a graph output keeps its name.
  void give_plain_form(Value* v, ir::Node& n) {
    const std::vector<ir::Use> uses = v->uses();
    const auto wants_plain = [&](const ir::Use& u) {
      return !is_choice(u) && (u.node->graph() != &g_ || !is_entry(*u.node));
    };
    if (!v->is_graph_output() && std::ranges::none_of(uses, wants_plain)) return;
    Value* old_form = plain_behind(v, n);
    if (v->is_graph_output()) move_output(v, old_form);
    for (const ir::Use& u : uses)
      if (wants_plain(u)) u.node->graph()->set_input(*u.node, u.input, old_form);
  }

  Value* plain_behind(Value* v, ir::Node& n) {
    if (n.next()) return plain(v, *n.next());
    Emitter e(g_, target_, n.shared_origin());
    Value* other = transpose_or_reshape(e, v, form_.inverse());
    other_.emplace(v, other);
    other_.emplace(other, v);
    return other;
  }

  void move_output(Value* from, Value* to) {
    Values outputs = g_.outputs();
    std::ranges::replace(outputs, from, to);
    const std::string name = from->name();
    g_.set_outputs(std::move(outputs));
    g_.rename(from, name + "/permuted");
    g_.rename(to, name);
    g_.mark_source(to);
  }

  static constexpr std::int64_t kReshape = 16, kTie = 1, kMostChannels = 1 << 16;

  ir::Graph& g_;
  const Form form_;
  const onnx::Target& target_;
  const bool at_interface_;  // transposing the model's inputs and outputs costs nothing
  MinCut cut_;
  std::unordered_map<const ir::Node*, Member> members_;
  std::vector<ir::Node*> order_;                         // the members, as found
  std::unordered_set<const ir::Node*> entries_, exits_;  // the Transposes into the form and out of it
  std::vector<const Value*> values_;                     // those that may be in either form
  std::unordered_set<const Value*> seen_;                // the same
  std::unordered_set<const Value*> is_permuted_;
  std::unordered_map<const Value*, Value*> other_;  // the same tensor in the other form
  std::unordered_map<const Value*, Value*>
      same_;  // of a Transpose that is none any more: the same tensor in the same form
};

}  // namespace

int fold_into(ir::Graph& g, const Form& form, const onnx::Target& target, bool at_interface) {
  return LayoutFolding(g, form, target, at_interface).run();
}

}  // namespace t2o::rewriters
