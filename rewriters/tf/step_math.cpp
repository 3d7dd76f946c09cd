#include "rewriters/tf/step_math.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace t2o::rewriters {
namespace {

constexpr std::size_t kMostTerms = 256;

using Ops = std::vector<std::string_view>;

bool transposes_a(const ir::Node& n) { return int_attr(n, "transpose_a") != 0 || int_attr(n, "adj_x") != 0; }

}  // namespace

// ---- columns

Columns StepMath::operand(const Columns& c, std::size_t i) {
  Value* in = c.value->producer()->input(i);
  const std::int64_t w = width(in);
  if (w == 1 && width(c.value) != 1) return {in, 0, 1};  // broadcast
  return {in, c.begin, c.count};
}

bool StepMath::resolve_once(Columns& c) {
  c.value = through_identities(c.value);
  const ir::Node* n = c.value->producer();
  if (!n || c.value->graph() != &loop_->body()) return false;
  if (n->op() == "Split" || n->op() == "SplitV") {
    const bool even = n->op() == "Split";
    Value* of = n->input(even ? 1 : 0);
    if (!is_last(n->input(even ? 0 : 2), of)) return false;
    std::int64_t before = 0;
    for (std::size_t k = 0; k < c.value->index(); ++k) {
      const std::int64_t w = width(n->output(k));
      if (w < 0) return false;
      before += w;
    }
    c = {of, c.begin + before, c.count};
    return true;
  }
  if (n->op() == "Slice" || n->op() == "StridedSlice") {
    Value* of = n->input(0);
    const int r = rank(of);
    const auto range = last_axis_slice(*n, r < 0 ? 2 : r, width(of));
    if (!range) return false;
    c = {of, c.begin + range->begin, c.count};
    return true;
  }
  if (n->op() == "Mul") {  // by ones: dropout of a finished model
    for (std::size_t i = 0; i < 2; ++i)
      if (is_ones_for(n->input(i), n->input(1 - i))) {
        c = {n->input(1 - i), c.begin, c.count};
        return true;
      }
    return false;
  }
  if (n->op() == "ConcatV2") {
    if (!is_last(n->inputs().back(), n->input(0))) return false;
    std::int64_t at = 0;
    for (std::size_t i = 0; i + 1 < n->input_count(); ++i) {
      const std::int64_t w = width(n->input(i));
      if (w < 0) return false;
      if (c.begin >= at && c.begin + c.count <= at + w) {
        c = {n->input(i), c.begin - at, c.count};
        return true;
      }
      at += w;
    }
  }
  return false;
}

// Ones that a product with x broadcasts over x, not x over them.
bool StepMath::is_ones_for(Value* ones, Value* x) {
  ones = through_identities(ones);
  x = through_identities(x);
  if (is_op(ones, "OnesLike") && through_identities(ones->producer()->input(0)) == x) return true;
  const Value* o = loop_->outside(ones);
  if (!o || !o->shape().is_static() || !is_ones(loop_->outside(ones))) return false;
  const Ints& dims = o->shape().dims();
  const std::int64_t columns = dims.empty() ? 1 : dims.back();
  if (columns != 1 && columns != width(x)) return false;
  if (dims.size() < 2 || (dims.size() == 2 && dims[0] == 1)) return true;
  const Value* rows = loop_->item_of(x);
  return dims.size() == 2 && rows && rows->shape().ranked() && rows->shape().rank() == 3 &&
         rows->shape()[1] == dims[0];
}

Columns StepMath::resolve(Columns c) {
  while (resolve_once(c)) {
  }
  return c;
}

const ir::Node* StepMath::made_by(const Columns& c, const std::vector<std::string_view>& ops) const {
  const ir::Node* n = c.value->graph() == &loop_->body() ? c.value->producer() : nullptr;
  return n && contains(ops, n->op()) ? n : nullptr;
}

// A masked state has the parts of either branch.
std::vector<Columns> StepMath::parts(Value* v) {
  v = through_identities(v);
  Values work = {v};
  std::unordered_set<const Value*> seen;
  while (!work.empty()) {
    Value* from = through_identities(work.back());
    work.pop_back();
    if (!seen.insert(from).second) continue;
    if (is_op(from, "Select") || is_op(from, "SelectV2"))
      work.insert(work.end(), {from->producer()->input(2), from->producer()->input(1)});
    const auto widths = widths_of_parts(from);
    if (widths.size() < 2) continue;
    std::vector<Columns> all_parts;
    std::int64_t at = 0;
    for (const std::int64_t w : widths) {
      all_parts.push_back({v, at, w});
      at += w;
    }
    return all_parts;
  }
  return {all(v)};
}

// Of the operands of a concatenation; none where one of them is unknown.
Ints StepMath::widths_of_parts(Value* v) {
  if (!is_op(v, "ConcatV2") || !is_last_axis(v->producer()->inputs().back(), 2)) return {};
  Ints widths;
  for (std::size_t i = 0; i + 1 < v->producer()->input_count(); ++i) {
    widths.push_back(width(v->producer()->input(i)));
    if (widths.back() < 0) return {};
  }
  return widths;
}

bool StepMath::is_vector(Value* v) {
  if (!loop_->is_invariant(v)) return false;
  const int r = rank(v);
  if (r == 0 || r == 1) return true;
  const Value* o = loop_->outside(v);
  return r == 2 && o && o->shape().ranked() && o->shape()[0] == 1;
}

// ---- linear forms

// Nobody takes a sum of two terms that are none, nor one of very many: then the rest is left out.
Linear StepMath::linear(const Columns& c) {
  Linear out;
  std::vector<Term> work = {{c, 1}};
  while (!work.empty() && out.others.size() < 2) {
    const Term t = work.back();
    work.pop_back();
    if (out.size() + work.size() > kMostTerms) {
      out.others.assign(2, t.columns);
      break;
    }
    const std::size_t behind = work.size();
    add_term(t, work, out);
    std::reverse(work.begin() + static_cast<std::ptrdiff_t>(behind), work.end());  // the first addend on top
  }
  return out;
}

void StepMath::add_term(Term t, std::vector<Term>& addends, Linear& out) {
  const Columns c = resolve(t.columns);
  if (is_vector(c.value)) {
    out.biases.push_back({c, t.sign});
    return;
  }
  if (const ir::Node* n = made_by(c, {"Add", "AddV2", "AddN", "BiasAdd", "BiasAddV1"})) {
    for (std::size_t i = 0; i < n->input_count(); ++i) addends.push_back({operand(c, i), t.sign});
    return;
  }
  if (made_by(c, {"Sub"})) {
    addends.push_back({operand(c, 0), t.sign});
    addends.push_back({operand(c, 1), -t.sign});
    return;
  }
  if (made_by(c, {"Neg"})) {
    addends.push_back({operand(c, 0), -t.sign});
    return;
  }
  if (const ir::Node* n = made_by(c, kMatMuls); n && add_product(c, *n, t.sign, out)) return;
  if (const ir::Node* n = made_by(c, {"Mul"}); n && add_scaled(c, *n, t.sign, out)) return;
  out.others.push_back(t.sign < 0 ? Columns{c.value, c.begin, -1} : c);  // nobody takes a negative one
}

bool StepMath::add_product(const Columns& c, const ir::Node& n, double sign, Linear& out) {
  Value* weight = n.input(1);
  if (transposes_a(n) || !loop_->is_invariant(weight) || c.count < 0) return false;
  const bool transposed = StepMath::transposes_b(n);
  Range columns{c.begin, c.count};
  if (!transposed) {
    const Columns w = resolve({weight, c.begin, c.count});
    weight = w.value;
    columns.begin = w.begin;
  }
  if (rank(weight) != 2) return false;
  const std::size_t before = out.products.size();
  if (add_products(all(n.input(0)), 0, {{}, weight, {0, 0}, columns, transposed, sign}, out)) return true;
  out.products.resize(before);
  return false;
}

// The parts of a concatenated operand meet the rows of the weight one after another.
bool StepMath::add_products(const Columns& whole, std::int64_t row, Product p, Linear& out) {
  std::vector<Columns> work = {whole};
  while (!work.empty()) {
    const Columns a = resolve(work.back());
    work.pop_back();
    if (a.count <= 0 || out.size() + work.size() > kMostTerms) return false;
    const ir::Node* n = made_by(a, {"ConcatV2"});
    if (n && a.begin == 0 && a.count == width(a.value)) {
      if (!is_last_axis(n->inputs().back(), 2)) return false;
      for (std::size_t i = n->input_count() - 1; i-- > 0;) work.push_back(all(n->input(i)));
      continue;
    }
    p.operand = a;
    p.rows = {row, a.count};
    out.products.push_back(p);
    row += a.count;
  }
  return true;
}

bool StepMath::products(const std::vector<Columns>& operands, Value* weight, Range columns,
                        std::vector<Product>& out) {
  if (!loop_->is_invariant(weight)) return false;
  Linear l;
  std::int64_t row = 0;
  for (const Columns& c : operands) {
    if (!add_products(c, row, {{}, weight, {0, 0}, columns, false, 1}, l)) return false;
    row += c.count;
  }
  out = std::move(l.products);
  return true;
}

bool StepMath::add_scaled(const Columns& c, const ir::Node& n, double sign, Linear& out) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_vector(n.input(i)) || loop_->is_invariant(n.input(1 - i))) continue;
    out.diagonals.push_back({resolve(operand(c, 1 - i)), resolve(operand(c, i)), sign});
    return true;
  }
  return false;
}

// ---- activations

struct StepMath::Affine {  // scale * argument + offset
  double scale = 1, offset = 0;
  Columns argument;
};

bool StepMath::scalar_operand(const Columns& c, double& scalar, std::size_t& other) {
  for (std::size_t i = 0; i < 2; ++i) {
    Value* o = loop_->outside(c.value->producer()->input(i));
    const auto s = o ? known_scalar(o) : std::nullopt;
    if (!s) continue;
    scalar = *s;
    other = 1 - i;
    return true;
  }
  return false;
}

StepMath::Affine StepMath::affine(Columns c) {
  Affine a{.argument = resolve(c)};
  for (;;) {
    const ir::Node* n = made_by(a.argument, {"Mul", "RealDiv", "Add", "AddV2", "Sub", "Neg"});
    double s = -1;
    std::size_t other = 0;
    if (!n || (n->op() != "Neg" && !scalar_operand(a.argument, s, other))) return a;
    if (n->op() == "RealDiv" && (other != 0 || s == 0)) return a;
    if (n->op() == "Mul" || n->op() == "Neg") a.scale *= s;
    if (n->op() == "RealDiv") a.scale /= s;
    if (n->op() == "Add" || n->op() == "AddV2") a.offset += a.scale * s;
    if (n->op() == "Sub") {
      a.offset += a.scale * (other == 0 ? -s : s);
      if (other == 1) a.scale = -a.scale;
    }
    a.argument = resolve(operand(a.argument, other));
  }
}

bool StepMath::clipped(const Columns& c, Columns& argument, double& low, double& high) {
  const auto bound = [&](const ir::Node& n, std::size_t i) {
    Value* o = loop_->outside(n.input(i));
    return o ? known_scalar(o) : std::nullopt;
  };
  if (const ir::Node* n = made_by(c, {"ClipByValue"})) {
    const auto a = bound(*n, 1), b = bound(*n, 2);
    if (!a || !b) return false;
    low = *a, high = *b;
    argument = operand(c, 0);
    return true;
  }
  if (made_by(c, {"Relu6"})) {
    low = 0, high = 6;
    argument = operand(c, 0);
    return true;
  }
  for (const bool max_first : {true, false}) {
    std::size_t other = 0;
    double s = 0;
    if (!made_by(c, {max_first ? "Maximum" : "Minimum"}) || !scalar_operand(c, s, other)) continue;
    (max_first ? low : high) = s;
    const Columns inner = resolve(operand(c, other));
    if (!made_by(inner, {max_first ? "Minimum" : "Maximum"}) || !scalar_operand(inner, s, other))
      return false;
    (max_first ? high : low) = s;
    argument = operand(inner, other);
    return true;
  }
  return false;
}

Activation StepMath::activation(const Columns& c, Columns& argument) {
  argument = resolve(c);
  if (const ir::Node* n =
          made_by(argument, {"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "Elu", "LeakyRelu"})) {
    Activation a{n->op()};
    if (a.name == "Elu") a.alpha = 1;
    if (const auto* alpha = n->attr_if<float>("alpha"); alpha && a.name == "LeakyRelu") a.alpha = *alpha;
    argument = operand(argument, 0);
    return a;
  }
  // s2 * clip(s1 * x + o1, low, high) + o2 with the bounds 0 and 1: max(0, min(1, alpha * x + beta))
  const Affine outer = affine(argument);
  double low = 0, high = 0;
  Columns inner;
  if (clipped(outer.argument, inner, low, high)) {
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6; };
    if (near(outer.scale * low + outer.offset, 0) && near(outer.scale * high + outer.offset, 1)) {
      const Affine a = affine(inner);
      argument = a.argument;
      return {"HardSigmoid", static_cast<float>(outer.scale * a.scale),
              static_cast<float>(outer.scale * a.offset + outer.offset)};
    }
  }
  if (made_by(outer.argument, {"Tanh"}) && outer.offset == 0 && outer.scale != 1) {  // a * tanh(b * x)
    const Affine a = affine(operand(outer.argument, 0));
    if (a.offset == 0) {
      argument = a.argument;
      return {"ScaledTanh", static_cast<float>(outer.scale), static_cast<float>(a.scale)};
    }
  }
  return {"Affine", 1, 0};
}

}  // namespace t2o::rewriters
