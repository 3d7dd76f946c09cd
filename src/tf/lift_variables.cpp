#include "tf/lift_variables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/nesting.h"
#include "tf/op_defs.h"
#include "tf/region.h"
#include "tf/variable_access.h"
#include "tf/variable_writes.h"
#include "tf/variables.h"

namespace t2o::tf {
namespace {

using Number = std::size_t;  // of a variable

bool is_handle(const Value* v) { return v && v->dtype() == DType::resource; }

std::vector<ir::Graph*> subgraphs_of(const ir::Node& n) {
  std::vector<ir::Graph*> all;
  ir::for_each_subgraph(n, [&](ir::Graph& g) { all.push_back(&g); });
  return all;
}

// Appends to a list attribute, if the node has one with an entry for each of its `count` tensors.
template <class T>
void extend(Attrs& attrs, std::string_view name, std::size_t count, const T& more) {
  for (ir::NamedAttr& a : attrs)
    if (auto* list = std::get_if<T>(&a.value); list && a.name == name && list->size() == count)
      list->insert(list->end(), more.begin(), more.end());
}

void set_type_at(ir::Node& n, const char* list, std::size_t i, DType type) {
  const auto* types = n.attr_if<DTypes>(list);
  if (!types || i >= types->size()) return;
  DTypes changed = *types;
  changed[i] = type;
  n.graph()->set_attr(n, list, std::move(changed));
}

ir::OutputSpec type_of(const Value* v) { return {{}, v->dtype(), v->shape()}; }

// An output of a subgraph is the output of one of its own nodes.
Value* own_output(ir::Graph& g, Value* v, const ir::Node& holder, const std::string& name) {
  return add_identity(g, v, name, holder.shared_origin());
}

// The values of the variables that have been written. A branch or a body has the changes alone, on top of
// what was there in front of it.
class Now {
 public:
  explicit Now(const Now* around = nullptr) : around_(around) {}
  Value* find(Number k) const {
    for (const Now* n = this; n; n = n->around_)
      if (const auto it = n->own_.find(k); it != n->own_.end()) return it->second;
    return nullptr;
  }
  void set(Number k, Value* v) { own_[k] = v; }
  const std::map<Number, Value*>& own() const { return own_; }
  void note_changes(const Now& before, std::set<Number>& changed) const {
    for (const auto& [k, v] : own_)
      if (before.find(k) != v) changed.insert(k);
  }

 private:
  const Now* around_;
  std::map<Number, Value*> own_;
};

class Lifter {
 public:
  Lifter(ir::Graph& main, std::vector<Variable>& variables, const std::set<std::string>& changed,
         const ImportRequest& request, Diagnostics& out)
      : main_(main), variables_(variables), changed_(changed), request_(request), out_(out) {}
  void run();

 private:
  void add_inputs();
  void lift(ir::Graph&, Now&);
  void visit(ir::Node&, Now&);
  void read(ir::Node&, Now&);
  void write(ir::Node&, Now&);
  void hand_on(ir::Node&, Now&);
  void take_type(ir::Node&);
  void check_taken(const ir::Node&, const Now&);
  void bind_arguments(ir::Node&, std::size_t skip, Now&);
  void lift_branches(ir::Node&, Now&);
  void lift_loop(ir::Node&, Now&);
  void return_handle(ir::Node&, std::size_t output, const std::vector<Now>&);
  void carry_handles(ir::Node&, const ir::Graph& body, const std::vector<std::size_t>& handles);
  void refuse_choice(const ir::Node&, Number) const;
  void add_results(ir::Node&, const std::set<Number>&, const Values& more_inputs, Now&);
  std::string name_in(const ir::Graph&, Number) const;
  std::optional<Number> variable_of(const Value*) const;
  Value* value(Number, const ir::Node& reader, const Now&);
  Value* initial(Number, const ir::Node& reader);
  std::set<Number> written_in(const ir::Graph&) const;

  ir::Graph& main_;
  std::vector<Variable>& variables_;
  const std::set<std::string>& changed_;
  const ImportRequest& request_;
  Diagnostics& out_;
  std::unordered_map<const Value*, Number> handles_;
  std::unordered_map<Value*, ir::OutputSpec>
      types_;                 // of the values in the place of handles; set when all nodes have been visited
  std::set<Number> written_;  // anywhere
  struct Taken {
    Number variable;
    const Value* value;
  };
  std::unordered_map<const Value*, Taken>
      taken_;  // what the control flow of TensorFlow 1 hands on of variables that are written
  bool gave_up_ = false;
};

void Lifter::run() {
  for (Number i = 0; i < variables_.size(); ++i) handles_[variables_[i].handle] = i;
  written_ = written_in(main_);
  if (request_.keep_state) add_inputs();
  Now now;
  lift(main_, now);
  for (const auto& [i, v] : now.own()) variables_[i].last = v;
  for (const auto& [v, type] : types_) v->graph()->set_type(v, type.dtype, type.shape);
  for (const Variable& v : variables_)
    if (!v.handle->is_used()) main_.erase(*v.handle->producer());
}

void Lifter::add_inputs() {
  for (const Number i : written_) {
    const VariableRef& ref = variables_[i].ref;
    const Value* constant = initial(i, *variables_[i].handle->producer());
    if (!constant->constant()) continue;  // it has no value, which is reported
    variables_[i].stored = constant->constant();
    main_.rename(variables_[i].initial, ref.node + "/initial");
    variables_[i].initial =
        main_.add_input(ref.shared_name.empty() ? ref.node : ref.shared_name, constant->dtype(), ref.shape);
  }
}

// The variables that nodes of the graph and of its subgraphs write.
std::set<Number> Lifter::written_in(const ir::Graph& graph) const {
  std::set<Number> found;
  std::vector<const ir::Graph*> work{&graph};
  while (!work.empty()) {
    const ir::Graph& g = *work.back();
    work.pop_back();
    for (const ir::Node& n : g.nodes()) {
      ir::for_each_subgraph(n, [&](const ir::Graph& sub) { work.push_back(&sub); });
      if (!is_handle(n.input(0)) || op_kind(n.op(), find_op_def(n.op())) != OpKind::write_variable) continue;
      if (const auto k = variable_of(n.input(0))) found.insert(*k);
    }
  }
  return found;
}

std::optional<Number> Lifter::variable_of(const Value* v) const {
  while (is_op(v, OpKind::pass_through) && !handles_.contains(v)) v = v->producer()->input(0);
  const auto it = handles_.find(v);
  return it == handles_.end() ? std::nullopt : std::optional(it->second);
}

Value* Lifter::value(Number k, const ir::Node& reader, const Now& now) {
  Value* written = now.find(k);
  return written ? written : initial(k, reader);
}

Value* Lifter::initial(Number i, const ir::Node& reader) {
  Variable& v = variables_[i];
  if (v.initial) return v.initial;
  try {
    const TensorPtr tensor = request_.variable && !gave_up_ ? request_.variable(v.ref) : nullptr;
    if (tensor) return v.initial = main_.add_constant(v.ref.node, tensor);
    if (!gave_up_)
      out_.push_back({.code = Code::bad_model,
                      .message = "variable '" + (v.ref.shared_name.empty() ? v.ref.node : v.ref.shared_name) +
                                 "' has no value",
                      .remedy = "Give the checkpoint or SavedModel that belongs to the graph.",
                      .origin = {v.ref.node, v.ref.op, ""}});
  } catch (const ConversionError& e) {
    gave_up_ = gave_up_ || e.diagnostic().code == Code::bad_file;  // the next variable would say the same
    out_.push_back(e.diagnostic());
    out_.back().origin = reader.origin();
  }
  return v.initial = main_.add_input("poison", v.ref.dtype, v.ref.shape);  // the graph is discarded
}

void Lifter::lift(ir::Graph& g, Now& now) {
  for (ir::Node& n : g.nodes()) visit(n, now);
}

void Lifter::visit(ir::Node& n, Now& now) {
  const auto& in = n.inputs();
  if (!taken_.empty()) check_taken(n, now);
  if (!ir::holds_subgraph(n)) {
    if (std::ranges::none_of(in, is_handle) && n.op() == "ReadVariableOp" && n.input_count() == 1)
      return read(n, now);  // of a handle that is its value already
    const auto is_of_variable = [&](const Value* v) { return is_handle(v) && variable_of(v).has_value(); };
    if (std::ranges::none_of(in, is_of_variable)) return take_type(n);
  }
  switch (op_kind(n.op(), find_op_def(n.op()))) {
    case OpKind::read_variable:
      return read(n, now);
    case OpKind::write_variable:
      return write(n, now);
    case OpKind::pass_through:
      return;  // variable_of() looks through it
    case OpKind::if_:
    case OpKind::case_:
      return lift_branches(n, now);
    case OpKind::while_:
      return lift_loop(n, now);
    default:
      ir::for_each_subgraph(n, [&](ir::Graph& sub) { lift(sub, now); });
      return hand_on(n, now);
  }
}

void Lifter::read(ir::Node& n, Now& now) {
  const auto k = variable_of(n.input(0));
  Value* v = k ? value(*k, n, now) : n.input(0);
  ir::Graph& g = *n.graph();
  if (!n.output()->is_graph_output()) {
    g.replace_all_uses(n.output(), v);
    return g.erase(n);
  }
  g.set_op(n, "Identity");
  for (const char* attr : {"dtype", "T"}) g.remove_attr(n, attr);
  g.set_attr(n, "T", v->dtype());
  g.set_input(n, 0, v);
  g.set_type(n.output(), v->dtype(), v->shape());
  if (n.output()->name().empty()) g.rename(n.output(), n.origin().label());
}

void Lifter::write(ir::Node& n, Now& now) {
  const auto k = variable_of(n.input(0));
  if (!k || !has_written_value(n.op()))
    refuse(n, Code::unsupported_op,
           std::string(n.op()) + " changes a variable in a way that " +
               (request_.keep_state ? "--stateful-io does not support"
                                    : "is not supported where its value is read later"),
           request_.keep_state ? "Change it by assign, assign_add, assign_sub or scatter_update."
                               : "Export the model for inference, or name outputs that do not need it.");
  Value* before = takes_old_value(n.op()) ? value(*k, n, now) : nullptr;
  now.set(*k, replace_write(n, before));
}

// An operator that takes the variable's value for its handle.
void Lifter::hand_on(ir::Node& n, Now& now) {
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    const auto k = is_handle(n.input(i)) ? variable_of(n.input(i)) : std::nullopt;
    if (!k) continue;
    Value* v = value(*k, n, now);
    n.graph()->set_input(n, i, v);
    if (written_.contains(*k) && hands_on(n))
      for (const Value* out : n.outputs()) taken_[out] = {*k, v};
  }
  take_type(n);
}

// What the control flow of TensorFlow 1 hands on has the type of the value that stands for the handle.
void Lifter::take_type(ir::Node& n) {
  if (n.outputs().empty() || !is_handle(n.output()) || !hands_on(n)) return;
  const bool is_merge = is_op(n, OpKind::merge);
  const Value* from = nullptr;
  for (std::size_t i = 0; i < (is_merge ? n.input_count() : 1); ++i)
    if (!from && n.input(i) && !is_handle(n.input(i))) from = n.input(i);
  if (!from) return;
  n.graph()->set_attr(n, "T", from->dtype());
  for (std::size_t i = 0; i < (is_merge ? 1 : n.outputs().size()); ++i)
    n.graph()->set_type(n.output(i), from->dtype(), from->shape());
}

// The value is the one that the variable had when the handle went into the loop or branch; a reader of the
// handle reads it later.
void Lifter::check_taken(const ir::Node& n, const Now& now) {
  for (const Value* in : n.inputs()) {
    const auto it = taken_.find(in);
    if (it == taken_.end()) continue;
    const Taken taken = it->second;
    if (value(taken.variable, n, now) != taken.value)
      refuse(n, Code::unsupported_op,
             "reads variable '" + variables_[taken.variable].ref.node +
                 "', which has been changed since a loop or a branch of TensorFlow 1 took its handle",
             "Read the variable outside of the loop or the branch.");
    if (hands_on(n))
      for (const Value* out : n.outputs()) taken_[out] = taken;
  }
}

std::string Lifter::name_in(const ir::Graph& g, Number i) const {
  return g.name() + "/" + variables_[i].ref.node;
}

// A handle among the inputs becomes the value of the variable; in the subgraphs, the input for it still means
// the variable.
void Lifter::bind_arguments(ir::Node& n, std::size_t skip, Now& now) {
  for (std::size_t i = skip; i < n.input_count(); ++i) {
    const auto k = is_handle(n.input(i)) ? variable_of(n.input(i)) : std::nullopt;
    if (!k) continue;
    Value* v = value(*k, n, now);
    n.graph()->set_input(n, i, v);
    for (const ir::Graph* g : subgraphs_of(n)) {
      if (i - skip >= g->inputs().size()) continue;
      Value* argument = g->inputs()[i - skip];
      handles_[argument] = *k;
      types_[argument] = type_of(v);
    }
    set_type_at(n, skip == 0 ? "T" : "Tin", i - skip, v->dtype());
  }
}

void Lifter::lift_branches(ir::Node& n, Now& now) {
  bind_arguments(n, 1, now);
  const std::vector<ir::Graph*> branches = subgraphs_of(n);
  std::vector<Now> after(branches.size(), Now(&now));
  for (std::size_t b = 0; b < branches.size(); ++b) lift(*branches[b], after[b]);
  for (std::size_t r = 0; r < n.outputs().size(); ++r)
    if (is_handle(n.output(r))) return_handle(n, r, after);
  std::set<Number> changed;
  for (const Now& one : after) one.note_changes(now, changed);
  if (changed.empty()) return;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    ir::Graph& g = *branches[b];
    Values outputs = g.outputs();
    for (const Number i : changed) outputs.push_back(own_output(g, value(i, n, after[b]), n, name_in(g, i)));
    g.set_outputs(std::move(outputs));
  }
  add_results(n, changed, {}, now);
}

// A handle that a conditional returns: of the one variable that all branches return, or of a value that does
// not change.
void Lifter::return_handle(ir::Node& n, std::size_t r, const std::vector<Now>& after) {
  const std::vector<ir::Graph*> branches = subgraphs_of(n);
  std::vector<Number> all;
  for (const ir::Graph* g : branches) {
    const auto k = r < g->outputs().size() ? variable_of(g->outputs()[r]) : std::nullopt;
    if (!k) return;
    all.push_back(*k);
  }
  const bool is_one = std::ranges::all_of(all, [&](Number k) { return k == all[0]; });
  for (const Number k : all)
    if (!is_one) refuse_choice(n, k);
  for (std::size_t b = 0; b < branches.size(); ++b) {
    Values outputs = branches[b]->outputs();
    Value* v = value(all[b], n, after[b]);
    outputs[r] = own_output(*branches[b], v, n, branches[b]->name() + "/" + v->name());
    types_[n.output(r)] = type_of(v);
    branches[b]->set_outputs(std::move(outputs));
  }
  const ir::OutputSpec& type = types_.at(n.output(r));
  set_type_at(n, "Tout", r, type.dtype);
  if (is_one)
    handles_[n.output(r)] = all[0];
  else
    n.graph()->set_type(n.output(r), type.dtype, type.shape);
}

void Lifter::refuse_choice(const ir::Node& n, Number i) const {
  if (!changed_.contains(identity_of(variables_[i].ref))) return;
  refuse(n, Code::unsupported_op,
         "its data decides which variable a handle stands for, and the model changes '" +
             variables_[i].ref.node + "', one of them",
         "Read the variables outside, and let it choose between their values.");
}

// Handles that a loop hands on from round to round. Some stand for one variable in all rounds; the others are
// values that each round may exchange.
void Lifter::carry_handles(ir::Node& n, const ir::Graph& body, const std::vector<std::size_t>& handles) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t i : handles) {
      const auto before = variable_of(body.inputs()[i]), after = variable_of(body.outputs()[i]);
      if (!before) continue;
      if (before == after) {
        handles_[n.output(i)] = *before;
        continue;
      }
      changed = true;
      refuse_choice(n, *before);
      if (after) refuse_choice(n, *after);
      const DType type = n.input(i)->dtype();
      for (ir::Graph* g : subgraphs_of(n)) {
        g->set_type(g->inputs()[i], type, {});
        handles_.erase(g->inputs()[i]);
        types_.erase(g->inputs()[i]);
      }
      handles_.erase(n.output(i));
      n.graph()->set_type(n.output(i), type, {});
    }
  }
}

void Lifter::lift_loop(ir::Node& n, Now& now) {
  const auto* condition_attr = n.attr_if<GraphPtr>("cond");
  const auto* body_attr = n.attr_if<GraphPtr>("body");
  if (!condition_attr || !body_attr) return;
  ir::Graph &condition = **condition_attr, &body = **body_attr;
  const std::size_t count = n.outputs().size();
  if (body.inputs().size() != count || body.outputs().size() != count || condition.inputs().size() != count)
    return;
  std::vector<std::size_t> handles;
  for (std::size_t i = 0; i < count; ++i)
    if (is_handle(n.input(i)) && variable_of(n.input(i))) handles.push_back(i);
  bind_arguments(n, 0, now);
  carry_handles(n, body, handles);
  const std::set<Number> written = written_in(body);
  Now in_condition(&now), in_body(&now);
  Values before;
  for (const Number k : written) {
    const VariableRef& ref = variables_[k].ref;
    before.push_back(value(k, n, now));
    for (auto& [g, values] : {std::pair{&condition, &in_condition}, std::pair{&body, &in_body}})
      values->set(k, g->add_input(name_in(*g, k), before.back()->dtype(), ref.shape));
  }
  const Now at_first = in_condition;
  lift(condition, in_condition);
  std::set<Number> changed;
  in_condition.note_changes(at_first, changed);
  if (!changed.empty())
    refuse(n, Code::unsupported_op, "changes a variable in the condition of a loop",
           "Change it in the loop's body.");
  lift(body, in_body);
  Values outputs = body.outputs();
  for (const std::size_t i : handles) {
    const auto k = variable_of(outputs[i]);
    if (k && k == variable_of(body.inputs()[i])) {
      outputs[i] = body.inputs()[i];
      types_[n.output(i)] = type_of(n.input(i));
    } else if (k) {
      Value* v = value(*k, n, in_body);
      outputs[i] = own_output(body, v, n, body.name() + "/" + v->name());
    }
  }
  for (const Number k : written) outputs.push_back(own_output(body, in_body.find(k), n, name_in(body, k)));
  body.set_outputs(std::move(outputs));
  if (!written.empty()) add_results(n, written, before, now);
}

// Puts a node with more inputs and outputs in the place of the node; the outputs are the values of variables
// from now on.
void Lifter::add_results(ir::Node& n, const std::set<Number>& results, const Values& more_inputs, Now& now) {
  ir::Graph& g = *n.graph();
  const std::size_t count = n.outputs().size();
  ir::NodeSpec spec{.op = n.op(), .inputs = n.inputs(), .attrs = n.attrs(), .origin = n.shared_origin()};
  append(spec.inputs, more_inputs);
  for (const Value* v : n.outputs()) spec.outputs.push_back(type_of(v));
  DTypes types;
  Shapes shapes;
  for (const Number i : results) {
    const VariableRef& ref = variables_[i].ref;
    const DType type = value(i, n, now)->dtype();
    spec.outputs.push_back({n.name() + "/" + ref.node, type, ref.shape});
    types.push_back(type);
    shapes.push_back(ref.shape);
  }
  for (const char* list : {"T", "Tout"}) extend(spec.attrs, list, count, types);
  extend(spec.attrs, "output_shapes", count, shapes);
  for (const ir::NamedAttr& a : spec.attrs)
    if (std::holds_alternative<GraphPtr>(a.value) || std::holds_alternative<Graphs>(a.value))
      g.remove_attr(n, a.name);  // the new node holds them
  ir::Node& made = g.add(std::move(spec), &n);
  for (std::size_t i = 0; i < count; ++i) {
    g.replace_all_uses(n.output(i), made.output(i));
    g.take_name(made.output(i), n.output(i));
    if (const auto it = handles_.find(n.output(i)); it != handles_.end())
      handles_[made.output(i)] = it->second;
    if (const auto it = types_.find(n.output(i)); it != types_.end()) types_[made.output(i)] = it->second;
  }
  g.erase(n);
  std::size_t next = count;
  for (const Number i : results) now.set(i, made.output(next++));
}

}  // namespace

void lift_variables(ir::Graph& main, std::vector<Variable>& variables, const std::set<std::string>& changed,
                    const ImportRequest& request, Diagnostics& out) {
  Lifter(main, variables, changed, request, out).run();
}

}  // namespace t2o::tf
