#include "rewriters/onnx/facts.h"

#include <algorithm>

#include "onnx/emitter.h"

namespace t2o::rewriters {

ir::Node* only_reader(const Value* v) {
  const bool one = v->uses().size() == 1 && !v->is_graph_output();
  return one && v->uses()[0].node->graph() == v->graph() ? v->uses()[0].node : nullptr;
}

std::optional<double> number_of(const Value* v) {
  const Tensor* t = v ? v->constant().get() : nullptr;
  return t && t->elements() == 1 && (is_float(t->dtype()) || is_int(t->dtype()))
             ? std::optional(t->float_at(0))
             : std::nullopt;
}

bool is_number(const Value* v, double number) { return number_of(v) == number; }

bool is_scalar_constant(const Value* v) { return is_float(v->dtype()) && number_of(v); }

bool is_op(const ir::Node* n, std::string_view op) { return n && n->op() == op; }

const Ints* perm_of(const ir::Node* n) { return is_op(n, "Transpose") ? n->attr_if<Ints>("perm") : nullptr; }

std::optional<EinsumLetters> einsum_letters(const ir::Node& n) {
  if (n.op() != "Einsum" || n.input_count() != 2) return std::nullopt;
  auto text = n.attr_or<std::string>("equation", "");
  std::erase(text, ' ');
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == text.npos || arrow == text.npos || arrow < comma) return std::nullopt;
  return EinsumLetters{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                       text.substr(arrow + 2)};
}

bool repeats_elements(const ir::Node* n) {
  const auto is = [&](const char* attr, const char* value) {
    return n->attr_or<std::string>(attr, "") == value;
  };
  return is_op(n, "Resize") && is("mode", "nearest") && is("coordinate_transformation_mode", "asymmetric") &&
         is("nearest_mode", "floor") && n->input(2) && n->input(2)->constant() && !n->input(3);
}

std::optional<Ints> axes_of(const ir::Node& n) {
  if (const auto* axes = n.attr_if<Ints>("axes")) return *axes;
  const Value* axes = n.input(1);
  return axes && axes->constant() ? std::optional(axes->constant()->to_ints()) : std::nullopt;
}

int from_front(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

int axis_of(const ir::Node& n, const Value* of, std::int64_t otherwise) {
  return from_front(n.attr_or<std::int64_t>("axis", otherwise), of->shape().rank());
}

bool reduces_some(const ir::Node& n) {
  const auto axes = axes_of(n);
  const Shape& s = n.input(0)->shape();
  return s.ranked() && axes && !axes->empty() && std::ranges::all_of(*axes, [&](std::int64_t a) {
           const Dim d = s[from_front(a, s.rank())];
           return is_known(d) && d > 0;
         });
}

bool equal_dims(Dim a, Dim b) { return a == b && a != kUnknownDim; }

bool same_size(Dim a, Dim b) { return equal_dims(a, b) && a != 0; }

// One of the first two dims is the same, so both are.
Value* before_heads(const Value* v, std::int64_t width) {
  const ir::Node* n = v->producer();
  if (!is_op(n, "Reshape")) return nullptr;
  const Shape &x = n->input(0)->shape(), &y = v->shape();
  if (!x.ranked() || x.rank() != 3 || x[2] != width) return nullptr;
  const auto dims = constant_ints(n->input(1));
  const bool copied = dims && ((*dims)[0] == 0 || (*dims)[1] == 0) && !n->attr("allowzero");
  const bool same = same_size(x[0], y[0]) || same_size(x[1], y[1]);
  return copied || same ? n->input(0) : nullptr;
}

}  // namespace t2o::rewriters
