#include <algorithm>
#include <optional>

#include "rewriters/all.h"
#include "tf/op_builder.h"

namespace t2o::rewriters {
namespace {

bool is_filled_with(const Value* v, double number) {
  const TensorPtr& t = v->constant();
  if (!t || !is_float(t->dtype()) || t->elements() == 0) return false;
  for (std::int64_t i = 0; i < t->elements(); ++i)
    if (t->float_at(i) != number) return false;
  return true;
}

Pat filled(double number) {
  const Pat all = constant().where([number](const Value* v) { return is_filled_with(v, number); });
  return all | op("Fill", any(), all);
}

std::optional<std::int64_t> whole_number(const Value* v) {
  if (!v->constant() || !is_int(v->dtype()) || v->constant()->elements() != 1) return std::nullopt;
  return v->constant()->int_at(0);
}

// The axis from which on the sizes of x are multiplied: Prod(Shape(x)[k:]).
std::optional<int> first_of_product(const Value* v, const Value* x) {
  const ir::Node* prod = v->producer();
  const ir::Node* slice = prod && prod->op() == "Prod" ? prod->input(0)->producer() : nullptr;
  if (!slice || slice->op() != "StridedSlice" || slice->input_count() != 4) return std::nullopt;
  const ir::Node* shape = slice->input(0)->producer();
  const auto begin = whole_number(slice->input(1)), step = whole_number(slice->input(3));
  const auto mask = [&](const char* name) { return slice->attr_or<std::int64_t>(name, 0); };
  const bool to_the_end = mask("end_mask") == 1 && mask("begin_mask") == 0 && mask("shrink_axis_mask") == 0;
  if (!shape || shape->op() != "Shape" || shape->input(0) != x || !to_the_end || !begin || step != 1)
    return std::nullopt;
  return static_cast<int>(*begin < 0 ? *begin + x->shape().rank() : *begin);
}

std::optional<int> first_of_size(std::int64_t size, const Shape& x) {
  std::int64_t product = 1;
  for (int i = x.rank(); i-- > 0 && is_known(x[i]);) {
    product *= x[i];
    if (product == size) return i;
  }
  return std::nullopt;
}

// The reshape to [1, rows, columns, 1]: the axis of x at which the columns begin.
std::optional<int> first_axis(const Value* dims, const Value* x) {
  if (!x->shape().ranked() || x->shape().rank() < 2) return std::nullopt;
  std::optional<int> first;
  if (dims->constant()) {
    const Ints d = dims->constant()->to_ints();
    if (d.size() == 4 && d[0] == 1 && d[3] == 1) first = first_of_size(d[2], x->shape());
  } else if (const ir::Node* pack = dims->producer();
             pack && pack->op() == "Pack" && pack->input_count() == 4) {
    if (whole_number(pack->input(0)) != 1 || whole_number(pack->input(3)) != 1) return std::nullopt;
    const auto size = whole_number(pack->input(2));
    first = size ? first_of_size(*size, x->shape()) : first_of_product(pack->input(2), x);
  }
  return first && *first > 0 && *first < x->shape().rank() ? first : std::nullopt;
}

// Back to the shape of x: that itself, or a constant with at most one size that is not certain.
bool is_shape_of(const Value* dims, const Value* x) {
  if (const ir::Node* n = dims->producer()) return n->op() == "Shape" && n->input(0) == x;
  if (!dims->constant()) return false;
  const Ints d = dims->constant()->to_ints();
  int uncertain = 0;
  for (std::size_t i = 0; i < d.size() && static_cast<int>(d.size()) == x->shape().rank(); ++i)
    if (d[i] <= 0 || d[i] != x->shape()[static_cast<int>(i)]) ++uncertain;
  return static_cast<int>(d.size()) == x->shape().rank() && uncertain <= 1;
}

bool trains_channels_first(const Value* v) {
  const ir::Node& n = *v->producer();
  return n.attr_or<std::int64_t>("is_training", 0) != 0 &&
         n.attr_or<std::string>("data_format", "") == "NCHW";
}

struct LayerNorm {
  const Pat x = any(), image_dims = any(), dims = any(), unread = any();
  const Pat batch_norm = op("FusedBatchNorm|FusedBatchNormV2|FusedBatchNormV3", op("Reshape", x, image_dims),
                            filled(1), filled(0), unread, any())
                             .where(trains_channels_first);
  const Pat root = op("Reshape", batch_norm, dims);

  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const auto first = first_axis(m[image_dims], data);
    const auto* epsilon = m[batch_norm]->producer()->attr_if<float>("epsilon");
    if (!first || !epsilon || data->dtype() != DType::f32 || !is_shape_of(m[dims], data)) return nullptr;
    const Ints axes = ints_from(*first, data->shape().rank());
    Ints narrow = data->shape().dims();
    std::fill(narrow.begin() + *first, narrow.end(), 1);
    Value* over = r.constant(Tensor::of<std::int64_t>({std::ssize(axes)}, axes));
    const auto make = [&](const char* op, Values in, const Shape& shape) {
      return r.make(tf::op_spec(op, std::move(in), {}, {shape}));
    };
    const auto mean_of = [&](Value* v) {
      return r.make(tf::op_spec("Mean", {v, over}, {{"keep_dims", 1}}, {narrow}));
    };
    Value* mean = mean_of(data);
    Value* difference = make("Sub", {data, mean}, data->shape());
    Value* variance = mean_of(make("Square", {difference}, data->shape()));
    Value* shifted = make("AddV2", {variance, r.constant(Tensor::scalar<float>(*epsilon))}, narrow);
    Value* inverse = make("Rsqrt", {shifted}, narrow);
    return make("Mul", {difference, inverse}, data->shape());
  }
};

}  // namespace

// Layers of Keras 2 normalize [1, rows, columns, 1] as an image, because there was a fast kernel for that.
Rewriter layer_norm_of_batch_norm() {
  const LayerNorm n;
  Rewriter done = rewriter("layer_norm_of_batch_norm", n.root,
                           [n](const Match& m, Rewrite& r) { return n.replace(m, r); });
  done.reads_shapes_of = [](const ir::Node& batch_norm) {
    return batch_norm.op().starts_with("FusedBatchNorm") &&
           batch_norm.attr_or<std::int64_t>("is_training", 1) != 0;
  };
  return done;
}

}  // namespace t2o::rewriters
