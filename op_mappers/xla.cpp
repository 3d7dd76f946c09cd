#include "op_mappers/xla.h"
#include "op_mappers/wide_integers.h"

#include <algorithm>
#include <limits>

#include "support/wire.h"

namespace t2o::op_mappers {
namespace {

constexpr std::size_t kLongestFormula = 4096;
constexpr int kDeepestFormula = 64;

std::string plain_name(const std::string& op) {
  if (op == "AddV2") return "Add";
  if (op == "Select") return "SelectV2";
  return op;
}

bool commutes(const std::string& op) {
  for (const char* o : {"Add", "Mul", "Maximum", "Minimum", "LogicalAnd", "LogicalOr", "Equal", "NotEqual",
                        "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    if (op == o) return true;
  return false;
}

std::string number_text(const Tensor& t) {
  if (t.elements() != 1 || t.dtype() == DType::string) return "constant";
  if (!is_float(t.dtype())) return std::to_string(t.to_ints()[0]);
  const double v = t.to_floats()[0];
  return v == 0 ? "0" : v != v ? "nan" : std::to_string(v);
}

std::string formula(const Value* v, const ir::Graph& g, int depth) {
  v = behind_identity(v);
  for (std::size_t i = 0; i < g.inputs().size(); ++i)
    if (v == g.inputs()[i]) return "a" + std::to_string(i);
  if (v->constant()) return number_text(*v->constant());
  const ir::Node* n = v->producer();
  if (!n || depth == kDeepestFormula) return {};
  std::string op = plain_name(n->op());
  Strings parts;
  std::size_t length = 0;
  for (const Value* in : n->inputs()) {
    parts.push_back(in ? formula(in, g, depth + 1) : "");
    length += parts.back().size();
    if (parts.back().empty() || length > kLongestFormula) return {};
  }
  if (op.starts_with("Greater")) {
    op = "Less" + op.substr(7);
    std::ranges::reverse(parts);
  }
  if (commutes(op)) std::ranges::sort(parts);
  if (op == "Cast" || op == "Bitcast") op += ":" + std::string(name(v->dtype()));
  std::string text = op + (v->index() == 0 ? "" : ":" + std::to_string(v->index())) + "(";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ",") + parts[i];
  return text + ")";
}

}  // namespace

XlaMessage::XlaMessage(MapperContext& c, const std::string& attribute,
                       std::initializer_list<std::uint32_t> known) {
  const auto bytes = c.attr<std::string>(attribute);
  try {
    for (WireReader r(std::as_bytes(std::span(bytes.data(), bytes.size()))); r.next();) {
      if (!contains(known, r.field()))
        c.fail(Code::unsupported_attr,
               "field " + std::to_string(r.field()) + " of its " + attribute + " is not known");
      Ints& list = fields_[r.field()];
      r.each_varint([&](std::uint64_t v) { list.push_back(static_cast<std::int64_t>(v)); });
    }
  } catch (const ConversionError& e) {
    if (e.diagnostic().code != Code::bad_file) throw;
    c.fail(Code::bad_model, "its " + attribute + " is not a serialized message of XLA's");
  }
}

const Ints& XlaMessage::list(std::uint32_t field) const {
  static const Ints none;
  const auto it = fields_.find(field);
  return it == fields_.end() ? none : it->second;
}

std::int64_t XlaMessage::number(std::uint32_t field) const {
  return list(field).empty() ? 0 : list(field).back();
}

bool has_axis(const Ints& axes, std::int64_t axis) { return contains(axes, axis); }

Ints joined(const Ints& a, const Ints& b) {
  Ints all = a;
  append(all, b);
  return all;
}

void check_axes(MapperContext& c, const Ints& axes, std::int64_t rank, const std::string& what) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank)
      c.fail(Code::bad_model, what + " names axis " + std::to_string(axes[i]) + " of a tensor of rank " +
                                  std::to_string(rank));
    if (std::ranges::count(axes, axes[i]) != 1)
      c.fail(Code::bad_model, what + " names axis " + std::to_string(axes[i]) + " twice");
  }
}

Ints const_entries(MapperContext& c, std::size_t input, std::size_t count, std::int64_t lowest,
                   const std::string& what) {
  const Ints v = c.const_ints(input);
  if (v.size() != count)
    c.fail(Code::bad_model,
           what + " has " + std::to_string(v.size()) + " entries instead of " + std::to_string(count));
  for (const std::int64_t x : v)
    if (x < lowest || x > std::numeric_limits<std::int32_t>::max())
      c.fail(Code::bad_model, what + " has an entry " + std::to_string(x));
  return v;
}

const Value* behind_identity(const Value* v) {
  while (v->producer() && v->producer()->op() == "Identity") v = v->producer()->input(0);
  return v;
}

std::string formula(const Value* result, const ir::Graph& computation) {
  return formula(result, computation, 0);
}

Combiner combiner(MapperContext& c, const ir::Graph& g) {
  if (g.inputs().size() != 2 || g.outputs().size() != 1)
    c.fail(Code::bad_model, "computation '" + g.name() + "' does not make one value of two");
  const std::string text = formula(g.outputs()[0], g);
  constexpr std::pair<const char*, Combiner> kKnown[] = {{"Add(a0,a1)", Combiner::add},
                                                         {"Mul(a0,a1)", Combiner::mul},
                                                         {"Maximum(a0,a1)", Combiner::max},
                                                         {"Minimum(a0,a1)", Combiner::min},
                                                         {"LogicalAnd(a0,a1)", Combiner::logical_and},
                                                         {"LogicalOr(a0,a1)", Combiner::logical_or},
                                                         {"a1", Combiner::second}};
  for (const auto& [known, what] : kKnown)
    if (text == known) return what;
  c.fail(Code::unsupported_attr,
         "computation '" + g.name() + "'" + (text.empty() ? "" : ", " + text + ",") + " has no ONNX form",
         "use a sum, a product, a maximum, a minimum, a logical and or a logical or");
}

bool is_neutral(const Value* init, Combiner how) {
  const TensorPtr& t = init->constant();
  if (!t || t->elements() != 1) return false;
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (how) {
    case Combiner::add:
    case Combiner::logical_or:
      return t->to_floats()[0] == 0;
    case Combiner::mul:
    case Combiner::logical_and:
      return t->to_floats()[0] == 1;
    case Combiner::max:
    case Combiner::min:
      break;
    case Combiner::second:
      return false;
  }
  if (is_float(t->dtype())) return t->to_floats()[0] == (how == Combiner::max ? -inf : inf);
  const unsigned bits = static_cast<unsigned>(bit_width(t->dtype()));
  const bool is_unsigned = is_unsigned_int(t->dtype());
  const std::int64_t v = t->to_ints()[0];
  if (is_unsigned)
    return how == Combiner::max ? v == 0 : v == static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits));
  const std::int64_t highest = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return how == Combiner::max ? v == -highest - 1 : v == highest;
}

Value* combine(MapperContext& c, Combiner how, Value* a, Value* b) {
  switch (how) {
    case Combiner::add:
      return c.add(a, b);
    case Combiner::mul:
      return c.mul(a, b);
    case Combiner::max:
      return larger(c, a, b);
    case Combiner::min:
      return smaller(c, a, b);
    case Combiner::logical_and:
      return c.logical_and(a, b);
    case Combiner::logical_or:
      return c.logical_or(a, b);
    case Combiner::second:
      break;
  }
  return b;
}

// Each element becomes a row of its own, with `amount` behind it; those behind the last are cut off.
Value* spread_apart(Emitter& e, Value* x, std::size_t rank, int axis, std::int64_t amount, Value* fill) {
  if (amount == 0) return x;
  Ints pads(2 * (rank + 1), 0);
  pads[rank + 1 + static_cast<std::size_t>(axis) + 1] = amount;
  Value* rows = e.pad(e.unsqueeze(x, {axis + 1}), e.ints(pads), fill);
  Value* before = e.dims(x, 0, axis);
  Value* along = e.mul(e.dims(x, axis, axis + 1), e.ints({amount + 1}));
  Value* behind = e.dims(x, axis + 1, onnx::kToEnd);
  Value* whole = e.reshape_to(rows, e.concat({before, along, behind}, 0));
  return e.slice(whole, {0}, {-amount}, {axis});
}

Value* sizes_of(Emitter& e, Value* x, const Ints& axes) {
  Values each;
  for (const std::int64_t a : axes) each.push_back(e.dims(x, static_cast<int>(a), static_cast<int>(a) + 1));
  return each.size() == 1 ? each[0] : e.concat(each, 0);
}

Value* clamped(Emitter& e, Value* start, Value* room) {
  Value* zero = e.i64(0);
  Value* low = e.minimum(start, room);
  return e.maximum(low, zero);
}

}  // namespace t2o::op_mappers
