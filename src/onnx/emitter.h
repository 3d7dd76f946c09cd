#pragma once
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/graph.h"
#include "onnx/opset_table.h"

namespace t2o {

namespace onnx {
inline constexpr int kToEnd = std::numeric_limits<int>::max();  // where a slice ends
}

using onnx::Target;

// Makes ONNX nodes. Knows the opset differences of ONNX schemas, which element types the target runtime has kernels for, and
// folds on the spot when every input is a constant; mappers know none of this. Each result has the dtype and shape that the
// ONNX schema's own inference gives it.
class Emitter {
 public:
  Emitter(ir::Graph& g, const Target& target, std::shared_ptr<const Origin> origin, ir::Node* before = nullptr)
      : g_(&g), target_(&target), origin_(std::move(origin)), before_(before) {}
  Emitter(ir::Node& at, const Target& target) : Emitter(*at.graph(), target, at.shared_origin(), &at) {}  // in front of the node

  // ---- the general way: any ONNX operator; "domain::Op" for another domain than ai.onnx
  Value* emit(const std::string& op, Values in, Attrs attrs = {});
  Values emit_n(const std::string& op, Values in, Attrs attrs, std::size_t outputs);

  // ---- constants
  Value* constant(TensorPtr, std::string_view hint = "");
  template <class T> requires std::is_arithmetic_v<T> Value* constant(T scalar) { return constant(Tensor::scalar<T>(scalar)); }
  template <class T> Value* constant(Ints dims, const std::vector<T>& v) { return constant(Tensor::of<T>(std::move(dims), v)); }
  Value* i64(std::int64_t v) { return constant(v); }    // rank 0
  Value* ints(const Ints& v);                           // 1-D i64
  Value* scalar_like(const Value* like, double v);      // a rank-0 constant of like's dtype; saturates
  Value* scalar(DType, double v);

  // ---- operators whose form differs between opsets, or that everyone needs
  Value* cast(Value*, DType);                           // no node when it has the dtype already
  Value* cast_like(Value* x, const Value* like) { return cast(x, like->dtype()); }
  Value* identity(Value*);
  Value* transpose(Value*, Ints perm);
  Value* reshape(Value*, Ints dims);                    // 0: the input's dim; -1: inferred. A literal 0-sized dim: see reshape_to
  Value* reshape_to(Value*, Value* dims);               // runtime dims with TensorFlow's meaning (0 is a size)
  Value* squeeze(Value*, Ints axes);
  Value* unsqueeze(Value*, Ints axes);                  // axes of the result; needs no rank when they are >= 0
  Value* concat(Values, std::int64_t axis);
  Values split(Value*, const Ints& sizes, std::int64_t axis);
  Value* slice(Value*, Ints starts, Ints ends, Ints axes, Ints steps = {});
  template <std::same_as<Value*> V> Value* slice(Value* x, V starts, V ends, V axes, Value* steps = nullptr) {  // runtime bounds, 1-D
    return slice_at(x, starts, ends, axes, steps);  // a template, so that {0} is never taken for a null Value*
  }
  Value* gather(Value*, Value* indices, std::int64_t axis);
  Value* reduce(const std::string& op, Value*, const Ints& axes, bool keep_dims);      // "ReduceSum" ...; empty axes: none are reduced
  template <std::same_as<Value*> V> Value* reduce(const std::string& op, Value* x, V axes, bool keep_dims) {  // runtime axes;
    return reduce_at(op, x, axes, keep_dims);                                                                 // opset >= 18, ReduceSum >= 13
  }
  Value* reduce_all(const std::string& op, Value*, bool keep_dims);
  Value* shape_of(Value*);                              // 1-D i64; a constant when static
  Value* dims(Value*, int first, int last);             // Shape[first:last]; last past the end: to the end
  Value* dim(Value*, int axis);                         // rank 0
  Value* rank_of(Value*);                               // rank 0, i64
  Value* size_of(Value*);                               // rank 0, i64
  Value* product(Value* dims);                          // of sizes: one number, 1-D
  Value* expand(Value*, Value* dims);
  Value* tile(Value*, Value* repeats);
  Value* pad(Value*, Value* pads, Value* value, const std::string& mode = "constant");  // pads: 1-D i64, begins then ends
  Value* clip(Value*, std::optional<double> low, std::optional<double> high);
  Value* where(Value* condition, Value* x, Value* y);   // also for bool, which ONNX Runtime has no kernel for
  Value* range(Value* start, Value* limit, Value* delta);
  Value* softmax(Value*, std::int64_t axis, bool log = false);
  Values topk(Value*, Value* k, std::int64_t axis, bool largest, bool sorted = true);
  Value* cumsum(Value*, Value* axis, bool exclusive, bool reverse);

  // ---- arithmetic shorthand; operands broadcast and have one dtype
  Value* add(Value* a, Value* b) { return emit("Add", {a, b}); }
  Value* sub(Value* a, Value* b) { return emit("Sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return emit("Mul", {a, b}); }
  Value* div(Value* a, Value* b) { return emit("Div", {a, b}); }
  Value* mod(Value* a, Value* b) { return emit("Mod", {a, b}); }  // of integers; the sign is that of b
  Value* matmul(Value* a, Value* b) { return emit("MatMul", {a, b}); }
  Value* neg(Value* a) { return emit("Neg", {a}); }
  Value* abs(Value* a) { return emit("Abs", {a}); }
  Value* sqrt(Value* a) { return emit("Sqrt", {a}); }
  Value* exp(Value* a) { return emit("Exp", {a}); }
  Value* log(Value* a) { return emit("Log", {a}); }
  Value* sin(Value* a) { return emit("Sin", {a}); }
  Value* cos(Value* a) { return emit("Cos", {a}); }
  Value* sign(Value* a) { return emit("Sign", {a}); }
  Value* floor(Value* a) { return emit("Floor", {a}); }
  Value* ceil(Value* a) { return emit("Ceil", {a}); }
  Value* round(Value* a) { return emit("Round", {a}); }  // halves to even
  Value* reciprocal(Value* a) { return emit("Reciprocal", {a}); }
  Value* is_nan(Value* a) { return emit("IsNaN", {a}); }
  Value* equal(Value* a, Value* b) { return emit("Equal", {a, b}); }
  Value* less(Value* a, Value* b) { return emit("Less", {a, b}); }
  Value* greater(Value* a, Value* b) { return emit("Greater", {a, b}); }
  Value* greater_equal(Value* a, Value* b);
  Value* less_equal(Value* a, Value* b);
  Value* logical_and(Value* a, Value* b) { return emit("And", {a, b}); }
  Value* logical_or(Value* a, Value* b) { return emit("Or", {a, b}); }
  Value* logical_not(Value* a) { return emit("Not", {a}); }
  Value* minimum(Value* a, Value* b);
  Value* maximum(Value* a, Value* b);

  int opset() const { return target_->opset; }  // for Emitter's own kin; a mapper that asks belongs into another row
  const Target& target() const { return *target_; }
  bool strict() const { return target_->strict; }  // docs/fidelity.md: whether what only NaN, infinities, denormals or nothing need is written
  ir::Graph& graph() const { return *g_; }
  const Origin& origin() const { return *origin_; }
  const std::shared_ptr<const Origin>& shared_origin() const { return origin_; }

  [[noreturn]] void fail(Code, std::string why, std::string remedy = "", SourceLoc at = SourceLoc::here()) const;

 private:
  Value* slice_at(Value*, Value* starts, Value* ends, Value* axes, Value* steps);
  bool may_be_empty(const Value*) const;  // as far as the fidelity counts
  Value* reduce_at(const std::string& op, Value*, Value* axes, bool keep_dims);
  [[noreturn]] void fail_without_operator(const std::string& op) const;
  void name_dims(Value*) const;
  Values emit_raw(const std::string& op, Values in, Attrs attrs, std::size_t outputs);  // no casts for kernels

  ir::Graph* g_;
  const Target* target_;
  std::shared_ptr<const Origin> origin_;
  ir::Node* before_;
};

// True when v is a constant, or all its elements are known (the Shape of a static tensor): then its elements.
std::optional<Ints> constant_ints(const Value* v);

}  // namespace t2o
