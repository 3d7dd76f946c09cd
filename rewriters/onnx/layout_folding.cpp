#include "rewriters/onnx/layout_folding.h"

#include <algorithm>
#include <map>
#include <optional>
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

constexpr std::int64_t kMostChannels = 1 << 16;

// Runtimes work any factor into the weights, also one that makes them infinite.
bool is_linear(const ir::Node& n) {
  const TensorPtr c = n.op() == "Add" || n.op() == "Mul" ? n.input(1)->constant() : nullptr;
  return c && can_scale(c->dtype()) && c->elements() <= kMostChannels && is_moderate(c->to_floats());
}

// A Transpose into the form gives its input in permuted form under another name; likewise a Transpose out of
// it. So both are left out of the problem, and come back where the solution needs them.
//
// A Reshape carries the form over to tensors of other axes (Form::carried): if it splits the batch of an
// image into batch and time, the permuted image becomes a permuted video. So each value has a form of its
// own.
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
    const auto changed = std::ranges::count_if(order_, [&](const ir::Node* n) {
      const Member& m = members_.at(n);
      return cut_.is_one(m.in) || cut_.is_one(m.out);
    });
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
    const Form* form;    // of its data and outputs
    bool moves = false;  // a Reshape that carries a form, or a Transpose with a perm of its own
    // Do its data have their form, do its outputs? The same where the role ties them.
    MinCut::Variable in = MinCut::kZero, out = MinCut::kZero;
    const Form *there = nullptr, *back = nullptr;  // of a Reshape: what it carries from its data, to its data
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
    for (const ir::Node& n : g_.nodes())
      if (is_entry(n) || is_exit(n))
        for (const Value* v : {n.input(0), n.output()}) have(v, form_);
    for (std::size_t i = 0; i < values_.size() || take_reached(); ++i) {
      const Value* v = values_[i];
      const Form& f = *form_of(v);
      if (ir::Node* p = v->producer(); p && p->graph() == &g_) visit(*p, f);
      for (const ir::Use& u : v->uses())
        if (u.node->graph() == &g_) visit(*u.node, f);
    }
    std::erase_if(order_, [&](const ir::Node* n) {
      if (settle(*n, members_.at(n))) return false;
      members_.erase(n);
      return true;
    });
  }

  const Form* form_of(const Value* v) const {
    const auto it = forms_.find(v);
    return it == forms_.end() ? nullptr : it->second;
  }
  const Form& kept(Form f) { return kept_.try_emplace(f.perm(), f).first->second; }
  bool has(const Value* v, const Form& f) const {
    const Form* own = form_of(v);
    return own && own->perm() == f.perm();
  }
  void have(const Value* v, const Form& f) {
    if (f.has(v) && forms_.emplace(v, &f).second && !v->constant()) values_.push_back(v);
  }

  // If a value can be reached in several forms, it gets the form of the Transposes; else the one that moves
  // the first axes least, which passes more Reshapes that split and merge the first axes.
  void reach(const Value* v, const Form& f) {
    if (f.perm() == form_.perm()) return have(v, f);
    if (f.has(v) && !form_of(v)) reached_[f.perm()].push_back({v, &f});
  }
  bool take_reached() {
    const std::size_t before = values_.size();
    while (!reached_.empty() && values_.size() == before) {
      const auto first = reached_.extract(reached_.begin());
      for (const auto& [v, f] : first.mapped()) have(v, *f);
    }
    return values_.size() > before;
  }

  void visit(ir::Node& n, const Form& f) {
    if (members_.contains(&n) || is_entry(n) || is_exit(n)) return;
    if (is_op(&n, "Transpose") && (!perm_of(&n) || !n.input(0)->shape().ranked())) return;
    Member m{{}, &f};
    if (n.op() != "Transpose") m.role = role_of(n, f, target_);
    m.moves = m.role.kind == Role::Kind::fixed;
    if (m.moves && !is_op(&n, "Transpose") && (!is_op(&n, "Reshape") || n.input(0)->constant())) return;
    if (is_op(&n, "Reshape")) {
      if (const auto there = carried(n.input(0), n.output())) reach(n.output(), kept(*there));
      if (const auto back = carried(n.output(), n.input(0))) reach(n.input(0), kept(*back));
    }
    if (!m.moves)
      for (const Value* v : values_in_form(n, m.role)) reach(v, f);
    members_.emplace(&n, std::move(m));
    order_.push_back(&n);
  }

  static Values values_in_form(const ir::Node& n, const Role& role) {
    Values all;
    for (const std::size_t i : role.data) all.push_back(n.input(i));
    if (role.kind != Role::Kind::absorbs) append(all, n.outputs());
    return all;
  }

  // When all forms are known: the node's choices. False: it has none.
  bool settle(const ir::Node& n, Member& m) {
    if (n.op() == "Reshape" && settle_reshape(n, m)) return true;
    if (n.op() == "Transpose") {
      m.role = {Role::Kind::tied, {0}, 0};
      if (form_of(n.input(0))) m.in = cut_.add();
      if (form_of(n.output())) m.out = cut_.add();
    }
    if (m.moves) return n.op() == "Transpose";
    const Values all = values_in_form(n, m.role);
    if (std::ranges::any_of(all, [&](const Value* v) { return m.form->has(v) && !has(v, *m.form); }))
      return false;
    const MinCut::Variable choice = cut_.add();
    m.in = choice;
    if (m.role.kind != Role::Kind::absorbs) m.out = choice;
    return true;
  }

  // A Reshape ties both sides if it carries one's form over to the other. If it moves more than axes of size
  // 1, and the sides have other forms, each of them has a choice.
  bool settle_reshape(const ir::Node& n, Member& m) {
    const Value *x = n.input(0), *y = n.output();
    const auto there = carried(x, y), back = carried(y, x);
    const auto goes = [&](const Form& of_result) { return can_reshape_into(n, of_result); };
    const bool can_carry = there && goes(*there), can_give = form_of(y) && goes(*form_of(y));
    const bool ties = can_carry && has(y, *there);
    if (!ties && (!m.moves || !(can_carry || (can_give && back)))) return false;
    m = {{Role::Kind::tied, {0}, n.input(1)->constant() ? 0 : kNodeOfSizes}, m.form};
    m.moves = true;
    if (can_carry) m.there = &kept(*there);
    if (back) m.back = &kept(*back);
    if (can_carry) m.in = cut_.add();
    if (ties)
      m.out = m.in;
    else if (can_give)
      m.out = cut_.add();
    if (!back && !ties && can_give) cut_.cost_if(m.out, m.in, MinCut::kForbidden);
    return true;
  }
  std::optional<Form> carried(const Value* from, const Value* to) const {
    const Form* f = form_of(from);
    return f ? f->carried(from->shape(), to->shape()) : std::nullopt;
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
  // ---- what the choices cost
  MinCut::Variable form_of_producer(const Value* v) const {
    if (v->producer() && is_exit(*v->producer())) return MinCut::kOne;
    const Member* m = member(v->producer());
    return m ? m->out : MinCut::kZero;
  }
  MinCut::Variable form_of_use(const ir::Use& u) const {
    if (u.node->graph() != &g_) return MinCut::kZero;
    if (is_entry(*u.node)) return MinCut::kOne;
    return is_choice(u) ? members_.at(u.node).in : MinCut::kZero;
  }

  void state_costs() {
    for (const ir::Node* n : order_) {
      const Member& m = members_.at(n);
      cut_.cost_if(m.in, MinCut::kZero, m.role.cost);
      if (m.moves)
        n->op() == "Reshape" ? state_cost_of_reshape(*n, m) : state_cost_of_transpose(*n, m);
      else if (belongs_to_convolution(*n))
        cut_.cost_if(MinCut::kOne, m.in, kTie);
    }
    for (const Value* v : values_) state_cost(v);
  }

  // What it costs to give y in the form that it shall have. A Transpose in front of it or behind it merges
  // with the one that the Reshape needs.
  void state_cost_of_reshape(const ir::Node& n, const Member& m) {
    if (m.in == m.out) return;
    const Value *x = n.input(0), *y = n.output();
    const ir::Node *front = only_reader(x) ? x->producer() : nullptr, *behind = only_reader(y);
    const Form* of_y = form_of(y);
    const Ints same = ints_from(0, y->shape().rank());
    const auto there = [&](const Ints& perm, const Form* to) {
      return m.there ? transposing_cost(*y, m.there->shape(y->shape()), perm_between(m.there, perm, to)) : 0;
    };
    const auto more = [](const ir::Node& t, std::int64_t merged) {
      return std::max<std::int64_t>(merged - transposing_cost(*t.input(0), t.input(0)->shape(), *perm_of(&t)),
                                    0);
    };
    const Ints *p = perm_of(front), *q = perm_of(behind);
    const std::int64_t in = q ? more(*behind, there(*q, nullptr)) : there(same, nullptr),
                       both = there(same, of_y);
    std::int64_t out = 0;
    if (m.back && p) out = more(*front, transposing_cost(*x, front->input(0)->shape(), m.back->entries(*p)));
    if (m.back && !p) out = transposing_cost(*x, x->shape(), m.back->perm());
    cut_.cost_of(m.in, m.out, {{{0, out}, {in, both}}});
  }

  // A Transpose of its own perm has another one if its sides have other forms.
  void state_cost_of_transpose(const ir::Node& n, const Member& m) {
    const Value *x = n.input(0), *y = n.output();
    const auto cost = [&](const Form* in, const Form* out) {
      return transposing_cost(*x, in ? in->shape(x->shape()) : x->shape(),
                              perm_between(in, *perm_of(&n), out));
    };
    const Form *in = form_of(x), *out = form_of(y);
    cut_.cost_of(m.in, m.out,
                 {{{cost(nullptr, nullptr), cost(nullptr, out)}, {cost(in, nullptr), cost(in, out)}}});
  }

  // A value is transposed once, whoever needs it in the other form.
  void state_cost(const Value* v) {
    const MinCut::Variable from = form_of_producer(v);
    const bool is_interface = at_interface_ && (v->is_graph_input() || v->is_graph_output());
    const std::int64_t cost = is_interface ? 1 : transposing_cost(*v, v->shape(), form_of(v)->perm());
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
    if (m->moves) return n.op() == "Reshape" ? rebuild_reshape(n, *m) : rebuild_transpose(n, *m);
    const bool one = cut_.is_one(m->in);
    for (const std::size_t i : m->role.data)
      g_.set_input(n, i, one ? permuted(n.input(i), n) : plain(n.input(i), n));
    if (!one) return;
    permute(n, *m->form, target_);
    if (m->role.kind == Role::Kind::absorbs) return;
    for (Value* v : n.outputs()) give_permuted(v, m->form->shape(v->shape()), n);
  }

  void give_permuted(Value* v, Shape shape, ir::Node& n) {
    g_.set_type(v, v->dtype(), std::move(shape));
    g_.alter(v, ir::Alteration::transpose(form_of(v)->perm()));
    is_permuted_.insert(v);
    give_plain_form(v, n);
  }

  void rebuild_transpose(ir::Node& n, const Member& m) {
    const bool in = cut_.is_one(m.in), out = cut_.is_one(m.out);
    Value *x = n.input(0), *y = n.output();
    const Form *of_x = in ? form_of(x) : nullptr, *of_y = out ? form_of(y) : nullptr;
    g_.set_attr(n, "perm", perm_between(of_x, *perm_of(&n), of_y));
    g_.set_input(n, 0, in ? permuted(x, n) : plain(x, n));
    if (out) give_permuted(y, of_y->shape(y->shape()), n);
  }

  void rebuild_reshape(ir::Node& n, const Member& m) {
    const bool in = cut_.is_one(m.in), out = cut_.is_one(m.out);
    Value *x = n.input(0), *y = n.output(), *from = in ? permuted(x, n) : plain(x, n);
    const Form* of_y = form_of(y);
    g_.set_input(n, 0, from);
    if (!in && !out) return;
    Emitter e(n, target_);
    if (!in) from = e.transpose(from, m.back->perm());
    const Form& given = in ? *m.there : *of_y;
    Value* to = e.emit("Reshape", {from, sizes_in(n, given, e)});
    if (n.attr("allowzero"))
      g_.set_attr(*to->producer(), "allowzero", n.attr_or<std::int64_t>("allowzero", 0));
    g_.set_type(to, to->dtype(), given.shape(y->shape()));
    if (in) to = e.transpose(to, perm_between(&given, ints_from(0, given.rank()), out ? of_y : nullptr));
    const Shape shape = out ? of_y->shape(y->shape()) : y->shape();
    if (!take_over(g_, y, to)) return;  // never: the Reshape is a node of its own
    if (of_y) forms_.emplace(to, of_y);
    if (out)
      give_permuted(to, shape, n);
    else
      g_.set_type(to, to->dtype(), shape);
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
    Value* other = transpose_or_reshape(e, itself(v), into ? form_of(v)->perm() : form_of(v)->inverse());
    other_.emplace(v, other);
    other_.emplace(other, v);
    if (into) is_permuted_.insert(other);
    return other;
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
    Value* other = transpose_or_reshape(e, v, form_of(v)->inverse());
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

  static constexpr std::int64_t kTie = 1, kNodeOfSizes = 64;

  ir::Graph& g_;
  const Form form_;
  const onnx::Target& target_;
  const bool at_interface_;  // transposing the model's inputs and outputs costs nothing
  MinCut cut_;
  std::unordered_map<const ir::Node*, Member> members_;
  std::vector<ir::Node*> order_;                         // the members, as found
  std::unordered_set<const ir::Node*> entries_, exits_;  // the Transposes into the form and out of it
  std::map<Ints, std::vector<std::pair<const Value*, const Form*>>>
      reached_;                                          // those that may get a form, by its perm
  std::vector<const Value*> values_;                     // those that may be in either form, as found
  std::unordered_map<const Value*, const Form*> forms_;  // theirs
  std::map<Ints, Form> kept_;                            // forms that Reshapes carry on, by their perm
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
