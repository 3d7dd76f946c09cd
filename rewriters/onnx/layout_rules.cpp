#include "rewriters/onnx/layout_rules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {
namespace {

using onnx::Trait;
using Kind = Role::Kind;

struct Rule {
  Role (*role)(const ir::Node&, const Form&);
  void (*permute)(ir::Node&, const Form&, Emitter&);
};

std::int64_t int_of(const ir::Node& n, std::string_view attr, std::int64_t fallback) {
  return n.attr_or(attr, fallback);
}

const TensorPtr* constant_input(const ir::Node& n, std::size_t i) {
  return n.input(i) && n.input(i)->constant() ? &n.input(i)->constant() : nullptr;
}

bool is_constant_or_absent(const ir::Node& n, std::size_t i) { return !n.input(i) || n.input(i)->constant(); }

// Absent: all, as an empty list. nullopt: not known.
std::optional<Ints> axes_or_all(const ir::Node& n) {
  return n.attr("axes") || n.input(1) ? axes_of(n) : Ints{};
}

void set_axes(ir::Node& n, Ints axes, Emitter& e, std::size_t input = 1) {
  if (n.attr("axes"))
    e.graph().set_attr(n, "axes", std::move(axes));
  else if (n.input(input))
    e.graph().set_input(n, input, e.ints(axes));
}

// The cost of a node that computes sizes, and of one that adds axes of size 1.
constexpr std::int64_t kNodeOfSizes = 64, kReshape = 16;

Role only_if(bool possible, Kind kind, std::vector<std::size_t> data = {0}) {
  return possible ? Role{kind, std::move(data), 0} : Role{};
}

void nothing(ir::Node&, const Form&, Emitter&) {}

Role unary_role(const ir::Node& n, const Form& f) {
  return only_if(f.has(n.input(0)) && f.has(n.output()), Kind::tied);
}

// ---- elementwise with broadcasting

bool is_one_element(const Value* v) { return v->shape().elements() == 1; }

Shape lifted(const Shape& s, int rank) {
  Ints dims = repeated(1, rank - s.rank());
  dims.insert(dims.end(), s.dims().begin(), s.dims().end());
  return Shape(dims);
}

Role broadcast_role(const ir::Node& n, const Form& f) {
  Role r{Kind::tied, {}, 0};
  if (!f.has(n.output())) return {};
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    const Value* v = n.input(i);
    if (!v->shape().ranked() || v->shape().rank() > f.rank()) return {};
    if (v->constant()) continue;
    if (f.has(v))
      r.data.push_back(i);
    else if (v->shape().rank() > 1)
      r.cost += f.moves_only_ones(lifted(v->shape(), f.rank())) ? kReshape : transposed_bytes(*v);
  }
  return r.data.empty() ? Role{} : r;
}

Value* permuted_constant(const Value* v, const Form& f, Emitter& e) {
  const Shape full = lifted(v->shape(), f.rank());
  const TensorPtr t = v->constant()->with_dims(full.dims());
  Value* c = e.constant(onnx::transposed(t, f.perm()), v->name());
  e.graph().derive(c, v, {ir::Alteration::reshape(full), ir::Alteration::transpose(f.perm())});
  return c;
}

// A tensor of lower rank, broadcast against a permuted one.
Value* permuted_operand(Value* v, const Form& f, Emitter& e) {
  if (is_one_element(v) && v->shape().rank() <= 1) return v;
  if (v->constant()) return permuted_constant(v, f, e);
  const Ints leading = ints_from(0, f.rank() - v->shape().rank());
  if (v->shape().rank() == 1) {  // the last axis, wherever it is now
    const std::int64_t place = f.axis(-1);
    Ints behind;
    for (std::int64_t i = 1; i < f.rank() - place; ++i) behind.push_back(i);
    return e.unsqueeze(v, behind);
  }
  Value* full = e.unsqueeze(v, leading);
  return e.transpose(full, f.perm());
}

void permute_operands(ir::Node& n, const Form& f, Emitter& e) {
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    Value* v = n.input(i);
    if (v->constant() ? !is_one_element(v) || v->shape().rank() > f.rank() : !f.has(v))
      e.graph().set_input(n, i, permuted_operand(v, f, e));
  }
}

// ---- an axis in an attribute

Role axis_role(const ir::Node& n, const Form& f) {
  for (const Value* v : n.outputs())
    if (!f.has(v)) return {};
  return unary_role(n, f);
}
template <int fallback>
void permute_axis(ir::Node& n, const Form& f, Emitter& e) {
  e.graph().set_attr(n, "axis", f.axis(int_of(n, "axis", fallback)));
}

Role concat_role(const ir::Node& n, const Form& f) {
  Role r{Kind::tied, {}, 0};
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    if (!f.has(n.input(i))) return {};
    if (!n.input(i)->constant()) r.data.push_back(i);
  }
  return r.data.empty() || !f.has(n.output()) ? Role{} : r;
}
void permute_concat(ir::Node& n, const Form& f, Emitter& e) {
  permute_axis<0>(n, f, e);
  for (std::size_t i = 0; i < n.input_count(); ++i)
    if (n.input(i)->constant()) e.graph().set_input(n, i, permuted_constant(n.input(i), f, e));
}

Role arg_role(const ir::Node& n, const Form& f) {
  if (int_of(n, "keepdims", 1) != 0) return unary_role(n, f);
  return only_if(f.has(n.input(0)) && f.keeps_order_without({int_of(n, "axis", 0)}), Kind::absorbs);
}

// One entry of a list stays one entry of a list: the axis goes with it.
Role gather_role(const ir::Node& n, const Form& f) {
  const Value* indices = n.input(1);
  if (!f.has(n.input(0)) || !indices->shape().ranked()) return {};
  if (indices->shape().rank() == 1) return only_if(f.has(n.output()), Kind::tied);
  return only_if(indices->shape().rank() == 0 && f.keeps_order_without({int_of(n, "axis", 0)}),
                 Kind::absorbs);
}

// One scale for all has no axis, nor has the operator the attribute before opset 13.
bool is_per_tensor(const ir::Node& n) {
  return n.input(1)->shape().ranked() && n.input(1)->shape().rank() == 0;
}
void permute_scale_axis(ir::Node& n, const Form& f, Emitter& e) {
  if (!is_per_tensor(n)) permute_axis<1>(n, f, e);
}

Role per_axis_role(const ir::Node& n, const Form& f) {
  return int_of(n, "block_size", 0) != 0 ? Role{} : unary_role(n, f);
}

Role cumsum_role(const ir::Node& n, const Form& f) {
  return constant_input(n, 1) ? unary_role(n, f) : Role{};
}
void permute_cumsum(ir::Node& n, const Form& f, Emitter& e) {
  e.graph().set_input(n, 1, e.i64(f.axis((*constant_input(n, 1))->int_at(0))));
}

// ---- reductions

Role reduce_role(const ir::Node& n, const Form& f) {
  const auto axes = axes_or_all(n);
  if (!axes || !f.has(n.input(0)) || (axes->empty() && int_of(n, "noop_with_empty_axes", 0) != 0)) return {};
  if (int_of(n, "keepdims", 1) != 0) return unary_role(n, f);
  return only_if(axes->empty() || f.keeps_order_without(*axes), Kind::absorbs);
}
void permute_axes(ir::Node& n, const Form& f, Emitter& e) {
  Ints axes = f.axes(*axes_or_all(n));
  std::ranges::sort(axes);
  if (!axes.empty()) set_axes(n, std::move(axes), e);
}

// ---- lists with an entry for each axis

Role slice_role(const ir::Node& n, const Form& f) {
  if (!is_constant_or_absent(n, 3) || (!n.input(3) && n.input(1)->shape().elements() != f.rank())) return {};
  return unary_role(n, f);
}
void permute_slice(ir::Node& n, const Form& f, Emitter& e) {
  const TensorPtr* t = constant_input(n, 3);
  Ints axes = t ? (*t)->to_ints() : ints_from(0, f.rank());
  while (n.input_count() < 4) e.graph().add_node_input(n, nullptr);
  e.graph().set_input(n, 3, e.ints(f.axes(std::move(axes))));
}

// The sizes that a Concat joins, with a Cast behind it or not, for this reader alone: joined in the order of
// the form. Else null.
Value* joined_list(const Value* list, const Form& f, Emitter& e) {
  const ir::Node* join = list->producer();
  const ir::Node* cast = is_op(join, "Cast") ? join : nullptr;
  if (cast) join = only_reader(cast->input(0)) ? cast->input(0)->producer() : nullptr;
  if (!is_op(join, "Concat") || !only_reader(list) || static_cast<int>(join->input_count()) != f.rank())
    return nullptr;
  const auto is_one = [](const Value* v) { return v->shape().elements() == 1; };
  if (!std::ranges::all_of(join->inputs(), is_one)) return nullptr;
  Values parts;
  for (const std::int64_t p : f.perm()) parts.push_back(nth(join->inputs(), p));
  Value* joined = e.concat(std::move(parts), 0);
  return cast ? e.cast(joined, list->dtype()) : joined;
}

// A list that is computed when the model runs is put into order by a Gather.
Value* permuted_list(Value* list, const Form& f, Emitter& e, bool twice = false) {
  if (Value* joined = twice ? nullptr : joined_list(list, f, e)) return joined;
  Ints order = f.perm();
  if (twice)
    for (const std::int64_t p : f.perm()) order.push_back(p + f.rank());
  Value* indices = e.ints(order);
  return e.gather(list, indices, 0);
}

bool is_list(const Value* v, std::int64_t n) { return v->shape().elements() == n; }

Role pad_role(const ir::Node& n, const Form& f) {
  if (n.input(3)) return constant_input(n, 3) ? unary_role(n, f) : Role{};
  return is_list(n.input(1), 2 * f.rank()) ? unary_role(n, f) : Role{};
}
void permute_pad(ir::Node& n, const Form& f, Emitter& e) {
  if (n.input(3)) return set_axes(n, f.axes((*constant_input(n, 3))->to_ints()), e, 3);
  e.graph().set_input(n, 1, permuted_list(n.input(1), f, e, true));
}

// A single number has any form: Expand makes the tensor in the form that is asked for.
Role list_role(const ir::Node& n, const Form& f) {
  if (n.op() == "Expand" && is_one_element(n.input(0)) && f.has(n.output()))
    return is_list(n.input(1), f.rank()) ? Role{Kind::produces, {}, kNodeOfSizes} : Role{};
  return is_list(n.input(1), f.rank()) ? unary_role(n, f) : Role{};
}
void permute_list(ir::Node& n, const Form& f, Emitter& e) {
  e.graph().set_input(n, 1, permuted_list(n.input(1), f, e));
}

// Repeated pixels are so in any order of the axes; other modes have kernels for some orders only.
Role resize_role(const ir::Node& n, const Form& f) {
  const auto* mode = n.attr_if<std::string>("mode");
  const bool by_scales =
      n.input(2) && n.input(2)->constant() && is_list(n.input(2), f.rank()) && !n.input(3) && !n.attr("axes");
  return mode && *mode == "nearest" && by_scales ? unary_role(n, f) : Role{};
}
void permute_resize(ir::Node& n, const Form& f, Emitter& e) {
  e.graph().set_input(n, 2, permuted_list(n.input(2), f, e));
}

// ---- axes that come and go

Role squeeze_role(const ir::Node& n, const Form& f) {
  const auto axes = axes_or_all(n);
  return only_if(axes && !axes->empty() && f.has(n.input(0)) && f.keeps_order_without(*axes), Kind::absorbs);
}

Role unsqueeze_role(const ir::Node& n, const Form& f) {
  const auto axes = axes_or_all(n);
  return only_if(axes && f.has(n.output()) && f.keeps_order_without(*axes), Kind::produces, {});
}

// The sizes of a constant Reshape, in the permuted order: at most one of them may be unknown.
std::optional<Ints> target_sizes(const Shape& s) {
  Ints sizes = s.dims();
  int unknown = 0;
  for (std::int64_t& d : sizes)
    if (!is_known(d))
      d = -1, ++unknown;
    else if (d == 0)
      return std::nullopt;
  return unknown <= 1 ? std::optional(sizes) : std::nullopt;
}

Role reshape_role(const ir::Node& n, const Form& f) {
  if (f.has(n.output()) && f.moves_only_ones(n.output()->shape()) && constant_input(n, 1) &&
      target_sizes(n.output()->shape()) && !n.input(0)->constant())
    return {Kind::produces, {}, 0};
  if (!f.has(n.input(0)) || !f.moves_only_ones(n.input(0)->shape())) return {};
  if (n.op() == "Flatten") return only_if(int_of(n, "axis", 1) == 1 && f.perm()[0] == 0, Kind::absorbs);
  const TensorPtr* sizes = constant_input(n, 1);  // a 0 names a dim of the input
  if (!sizes) return {};
  const Ints all = (*sizes)->to_ints();
  const auto is_copied = [&](std::size_t i) { return all[i] != 0 || (i == 0 && f.perm()[0] == 0); };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!is_copied(i)) return {};
  return {Kind::absorbs, {0}, 0};
}
void permute_reshape(ir::Node& n, const Form& f, Emitter& e) {
  if (reshape_role(n, f).kind == Kind::produces)
    e.graph().set_input(n, 1, e.ints(*target_sizes(f.shape(n.output()->shape()))));
}

// ---- what works along the last axis, whatever the order of the others

bool keeps_last_axis(const Form& f) { return f.perm().back() == f.rank() - 1; }

Role matmul_role(const ir::Node& n, const Form& f) {
  const Shape& w = n.input(1)->shape();
  return only_if(keeps_last_axis(f) && w.ranked() && w.rank() == 2 && f.has(n.input(0)) && f.has(n.output()),
                 Kind::tied);
}
Role normalization_role(const ir::Node& n, const Form& f) {
  const std::int64_t axis = int_of(n, "axis", -1);
  return only_if(keeps_last_axis(f) && (axis == -1 || axis == f.rank() - 1) && n.outputs().size() == 1 &&
                     f.has(n.input(0)),
                 Kind::tied);
}

// What reads the shape reads it in the old order.
Role shape_role(const ir::Node& n, const Form& f) {
  return f.has(n.input(0)) ? Role{Kind::absorbs, {0}, kNodeOfSizes} : Role{};
}
void permute_shape(ir::Node& n, const Form& f, Emitter& e) {
  const auto bound = [&](const char* attr, std::int64_t fallback) {
    const std::int64_t b = int_of(n, attr, fallback);
    return std::clamp<std::int64_t>(b < 0 ? b + f.rank() : b, 0, f.rank());
  };
  const std::int64_t start = bound("start", 0), end = std::max(start, bound("end", f.rank()));
  Value* old = n.output();
  Value* permuted = e.emit("Shape", {n.input(0)});
  Value* indices = e.ints(Ints(f.inverse().begin() + start, f.inverse().begin() + end));
  Value* ordered = e.gather(permuted, indices, 0);
  replace_value(e.graph(), old, ordered);
}

Role absorb_any(const ir::Node& n, const Form& f) { return only_if(f.has(n.input(0)), Kind::absorbs); }

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Rule> t;
    for (const auto op : onnx::ops_with_traits())
      if (onnx::has(op, Trait::elementwise))
        t[op] = {unary_role, nothing};
      else if (onnx::has(op, Trait::broadcasts))
        t[op] = {broadcast_role, permute_operands};
      else if (onnx::has(op, Trait::reduces))
        t[op] = {reduce_role, permute_axes};
    t["MatMul"] = {matmul_role, nothing};
    t["LayerNormalization"] = t["RMSNormalization"] = {normalization_role, nothing};
    t["Concat"] = {concat_role, permute_concat};
    t["Split"] = {axis_role, permute_axis<0>};
    t["Softmax"] = t["LogSoftmax"] = t["Hardmax"] = {axis_role, permute_axis<-1>};
    t["TopK"] = t["LpNormalization"] = {axis_role, permute_axis<-1>};
    t["ArgMax"] = t["ArgMin"] = {arg_role, permute_axis<0>};
    t["Gather"] = {gather_role, permute_axis<0>};
    t["QuantizeLinear"] = t["DequantizeLinear"] = {per_axis_role, permute_scale_axis};
    t["CumSum"] = t["CumProd"] = {cumsum_role, permute_cumsum};
    t["Slice"] = {slice_role, permute_slice};
    t["Pad"] = {pad_role, permute_pad};
    t["Tile"] = t["Expand"] = {list_role, permute_list};
    t["Resize"] = {resize_role, permute_resize};
    t["Squeeze"] = {squeeze_role, permute_axes};
    t["Unsqueeze"] = {unsqueeze_role, permute_axes};
    t["Reshape"] = t["Flatten"] = {reshape_role, permute_reshape};
    t["Shape"] = {shape_role, permute_shape};
    t["Size"] = {absorb_any, nothing};
    return t;
  }();
  return table;
}

bool means_something_else(const ir::Node& n,
                          const onnx::Target& target) {  // before opset 13, all axes from `axis` on
  return target.opset < 13 && contains({"Softmax", "LogSoftmax", "Hardmax"}, n.op());
}

}  // namespace

// Where more than one size is unknown, a 0 copies the first size of the input, which stays the first.
bool can_reshape_into(const ir::Node& n, const Form& f) {
  if (n.op() != "Reshape" || !f.has(n.output())) return false;
  const TensorPtr* sizes = constant_input(n, 1);
  if (!sizes) return is_list(n.input(1), f.rank());
  if (target_sizes(n.output()->shape())) return true;
  const Ints all = (*sizes)->to_ints();
  return int_of(n, "allowzero", 0) == 0 && f.perm()[0] == 0 && std::count(all.begin() + 1, all.end(), 0) == 0;
}

Value* sizes_in(const ir::Node& n, const Form& f, Emitter& e) {
  const TensorPtr* sizes = constant_input(n, 1);
  if (!sizes) return permuted_list(n.input(1), f, e);
  const auto known = target_sizes(n.output()->shape());
  return e.ints(f.entries(known ? *known : (*sizes)->to_ints()));
}

std::int64_t transposed_bytes(const Value& v) {
  constexpr std::int64_t kNode = 64, kGuess = 32, kMost = std::int64_t{1} << 40;
  std::int64_t n = 1;
  for (const Dim d : v.shape().dims()) {
    const bool is_batch = is_symbol(d) && v.graph()->symbols().name(d).ends_with("batch");
    const std::int64_t size = is_known(d) ? std::max<std::int64_t>(d, 1) : is_batch ? 1 : kGuess;
    if (__builtin_mul_overflow(n, size, &n) || n > kMost) n = kMost;
  }
  return kNode + n * static_cast<std::int64_t>(std::max<std::size_t>(bit_width(v.dtype()) / 8, 1));
}

std::int64_t transposing_cost(const Value& v, const Shape& shape, const Ints& perm) {
  constexpr std::int64_t kSingle = 8;  // measured: 6 to 11
  if (std::ranges::is_sorted(perm)) return 0;
  const Form form(perm);
  if (form.moves_only_ones(shape)) return kReshape;
  return transposed_bytes(v) * (form.moves_runs() ? 1 : kSingle);
}

// Where only dims of 1 move, a Reshape does it, for which a size of 0 would be that of v's there.
Value* transpose_or_reshape(Emitter& e, Value* v, const Ints& perm) {
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

Role role_of(const ir::Node& n, const Form& f, const onnx::Target& target) {
  const auto it = rules().find(n.op());
  if (it == rules().end() || n.input_count() == 0 || !n.input(0) || means_something_else(n, target))
    return {};
  return it->second.role(n, f);
}

void permute(ir::Node& n, const Form& f, const onnx::Target& target) {
  Emitter e(n, target);
  rules().at(n.op()).permute(n, f, e);
}

}  // namespace t2o::rewriters
