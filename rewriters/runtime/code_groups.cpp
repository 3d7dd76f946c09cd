#include "rewriters/runtime/code_groups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ir/contents.h"
#include "onnx/op_traits.h"

namespace t2o::rewriters {
namespace {

template <std::size_t N>
bool is_one_of(const std::string& op, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

bool is_code(const Value* v) { return v && v->dtype() == DType::i8 && !v->constant(); }

bool has_text(const ir::Node& n, const char* attr, std::string_view text) {
  const auto* value = n.attr_if<std::string>(attr);
  return value && *value == text;
}

// The interface between a boundary of the model and codes of u8 is there already.
bool is_unsigned_interface(const Value* v) {
  const auto is = [](const ir::Node* n, const char* op) { return n && n->op() == op; };
  if (v->is_graph_input())
    return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& use) {
      if (!is(use.node, "DequantizeLinear")) return false;
      const auto& readers = use.node->output()->uses();
      return std::all_of(readers.begin(), readers.end(), [&](const ir::Use& u) {
        return is(u.node, "QuantizeLinear") && u.node->output()->dtype() == DType::u8;
      });
    });
  if (!v->uses().empty() || !is(v->producer(), "QuantizeLinear")) return false;
  const ir::Node* dq = v->producer()->input(0)->producer();
  return is(dq, "DequantizeLinear") && dq->input(0)->dtype() == DType::u8;
}

// Operators that the runtime computes in floats, or no faster with codes: a Softmax of 100,000 u8 codes takes
// 209 us and one of floats 34 us. With a QuantizeLinear right behind a DequantizeLinear, codes get another
// scale.
bool computes_in_floats(const ir::Node* n) {
  static constexpr std::string_view kOps[] = {
      "Softmax", "LogSoftmax",     "Sigmoid",         "Tanh", "Exp", "Log", "Sqrt", "Sub", "Div", "Elu",
      "Gelu",    "QuantizeLinear", "DequantizeLinear"};
  return n && is_one_of(n->op(), kOps);
}

// A result of the model that an operator computes in floats, or an input that such operators alone read.
bool is_boundary_of_floats(const Value* v) {
  const auto is = [](const ir::Node* n, const char* op) { return n && n->op() == op; };
  if (!v->is_graph_input())
    return v->uses().empty() && is(v->producer(), "QuantizeLinear") &&
           computes_in_floats(v->producer()->input(0)->producer());
  return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& use) {
    if (!is(use.node, "DequantizeLinear") || use.node->output()->is_graph_output()) return false;
    const auto& readers = use.node->output()->uses();
    return std::all_of(readers.begin(), readers.end(),
                       [](const ir::Use& u) { return computes_in_floats(u.node); });
  });
}

}  // namespace

bool moves_codes(const ir::Node& n) {
  static constexpr std::string_view kOps[] = {"Concat",        "Where", "Pad",       "MaxPool",
                                              "Max",           "Min",   "ReduceMax", "ReduceMin",
                                              "TensorScatter", "TopK",  "Clip",      "ConstantOfShape"};
  const std::string& op = n.op();
  if (onnx::has(op, onnx::Trait::moves) || is_one_of(op, kOps)) return true;
  if (op == "ScatterElements" || op == "ScatterND")
    return !n.attr("reduction") || has_text(n, "reduction", "none");
  if (op == "Resize")
    return has_text(n, "mode", "nearest") &&
           !has_text(n, "coordinate_transformation_mode", "tf_crop_and_resize");
  return op == "OneHot" && !is_code(n.input(0)) && !is_code(n.input(1));
}

bool compares_codes(const ir::Node& n) {
  static constexpr std::string_view kOps[] = {"Shape", "Size",        "ArgMax",  "ArgMin",        "Equal",
                                              "Less",  "LessOrEqual", "Greater", "GreaterOrEqual"};
  return is_one_of(n.op(), kOps);
}

bool is_offset_type(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::i16 || t == DType::i32 || t == DType::i64;
}

CodeGroups::CodeGroups(ir::Graph& main) {
  for (const ir::Graph* g : ir::contents_of(main).graphs)
    for (const ir::Node& n : g->nodes()) visit(n);
  for (Value* v : values_)
    if (v->graph() == &main && (v->is_graph_input() || v->is_graph_output()) &&
        (is_unsigned_interface(v) || is_boundary_of_floats(v)))
      fix(v);
}

std::size_t CodeGroups::add(Value* v) {
  const auto [at, is_new] = index_.emplace(v, groups_.size());
  if (is_new) {
    values_.push_back(v);
    groups_.push_back({.parent = groups_.size()});
  }
  return at->second;
}

std::size_t CodeGroups::root(std::size_t i) const {
  while (groups_[i].parent != i) i = groups_[i].parent;
  return i;
}

// The smaller index becomes the root, and the way to it is shortened.
void CodeGroups::join(Value* a, Value* b) {
  if (!is_code(a) || !is_code(b)) return;
  std::size_t i = add(a), k = add(b);
  const std::size_t to = std::min(root(i), root(k)), from = std::max(root(i), root(k));
  if (to != from) {
    groups_[to].is_fixed |= groups_[from].is_fixed;
    groups_[to].is_used |= groups_[from].is_used;
    if (!groups_[to].scale) groups_[to].scale = groups_[from].scale;
    groups_[from].parent = to;
  }
  for (std::size_t at : {i, k})
    while (at != to) at = std::exchange(groups_[at].parent, to);
}

void CodeGroups::fix(Value* v) {
  if (is_code(v)) groups_[root(add(v))].is_fixed = true;
}

void CodeGroups::visit(const ir::Node& n) {
  if (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear") return visit_conversion(n);
  if (n.op() == "Cast") return visit_cast(n);
  visit_subgraphs(n);
  if (n.op() == "If" || n.op() == "Loop" || n.op() == "Scan") return;
  const bool moves = moves_codes(n);
  Value* first = nullptr;
  const auto each = [&](Value* v) {
    if (!is_code(v)) return;
    add(v);
    if (!moves && !compares_codes(n)) fix(v);
    if (!first) first = v;
    join(first, v);
  };
  for (Value* v : n.inputs()) each(v);
  for (Value* v : n.outputs()) each(v);
}

void CodeGroups::visit_conversion(const ir::Node& n) {
  Value* codes = n.op() == "QuantizeLinear" ? n.output() : n.input(0);
  if (!is_code(codes)) return;
  Group& g = groups_[root(add(codes))];
  const Value* zero_point = n.input(2);
  if (!zero_point || !zero_point->constant() || zero_point->dtype() != DType::i8) g.is_fixed = true;
  g.is_used = true;
  if (!g.is_fixed && !g.scale && zero_point->shape().is_scalar() && n.input(1)->constant() &&
      n.input(1)->dtype() == DType::f32)
    g.scale = &n;
}

void CodeGroups::visit_cast(const ir::Node& n) {
  Value *x = n.input(0), *y = n.output();
  if (is_code(x)) add(x);
  if (is_code(y)) add(y);
  if (!is_offset_type(y->dtype())) fix(x);
  if (!is_offset_type(x->dtype())) fix(y);
}

void CodeGroups::visit_subgraphs(const ir::Node& n) {
  const bool is_if = n.op() == "If", is_loop = n.op() == "Loop", is_scan = n.op() == "Scan";
  ir::for_each_subgraph(n, [&](ir::Graph& body) {
    if (!is_if && !is_loop && !is_scan) {
      for (Value* v : body.inputs()) fix(v);
      for (Value* v : body.outputs()) fix(v);
      return;
    }
    const Values &in = body.inputs(), &out = body.outputs();
    const std::size_t first = is_loop ? 1 : 0;  // of the body's outputs, that is the node's first
    for (std::size_t i = 0; i < n.outputs().size() && first + i < out.size(); ++i)
      join(n.output(i), out[first + i]);
    for (std::size_t i = 0; !is_if && i < n.input_count() && i < in.size(); ++i) join(n.input(i), in[i]);
    const auto* scanned = n.attr_if<std::int64_t>("num_scan_inputs");
    const std::size_t states = is_if ? 0 : in.size() - (scanned ? static_cast<std::size_t>(*scanned) : 0);
    const std::size_t begin = is_loop ? 2 : 0;  // of the body's inputs, that is a state
    for (std::size_t i = begin; i < states && i - begin + first < out.size(); ++i)
      join(in[i], out[i - begin + first]);
  });
  for (Value* v : n.inputs())
    if (is_code(v)) add(v);
  for (Value* v : n.outputs())
    if (is_code(v)) add(v);
}

const CodeGroups::Group* CodeGroups::group_of(const Value* v) const {
  const auto it = index_.find(v);
  return it == index_.end() ? nullptr : &groups_[root(it->second)];
}

bool CodeGroups::may_be_unsigned(const Value* v) const {
  const Group* g = group_of(v);
  return g && g->is_used && !g->is_fixed;
}

const ir::Node* CodeGroups::scaled_by(const Value* v) const {
  const Group* g = group_of(v);
  return g ? g->scale : nullptr;
}

std::vector<Value*> CodeGroups::values() const {
  std::vector<Value*> all;
  for (Value* v : values_)
    if (may_be_unsigned(v)) all.push_back(v);
  return all;
}

}  // namespace t2o::rewriters
