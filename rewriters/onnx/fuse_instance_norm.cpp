#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/image_layout.h"
#include "rewriters/all.h"
#include "rewriters/onnx/norm_pattern.h"
#include "rewriters/onnx/per_channel.h"
#include "rewriters/runtime/table.h"

namespace t2o::rewriters {
namespace {

// Where the channels are in what is normalized over all axes but them and the batch: 1 or the last one.
std::optional<int> channel_axis(const Ints& axes, int rank) {
  if (axes.empty() || static_cast<int>(axes.size()) != rank - 2) return std::nullopt;
  const auto is_range = [&](std::int64_t first) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != first + static_cast<std::int64_t>(i)) return false;
    return true;
  };
  if (is_range(1)) return rank - 1;
  return rank > 3 && is_range(2) ? std::optional(1) : std::nullopt;  // of rank 3 it is a layer normalization
}

struct InstanceNorm : NormPattern {
  onnx::DTypeSet types;
  onnx::Target target;
  InstanceNorm(onnx::DTypeSet t, onnx::Target at) : types(t), target(std::move(at)) {}

  Value* channels(Emitter& e, const Doubles& values, DType type) const {
    return e.cast(e.constant(channel_tensor(type == DType::f64 ? type : DType::f32, values)), type);
  }

  std::optional<Ints> axes(const Match& m, const Value* y) const {
    const Value* data = m[x];
    if (!data->shape().ranked() || !types.has(data->dtype()) || y->shape() != data->shape())
      return std::nullopt;
    const auto of_mean = axes_of_mean(m[mean], data->shape().rank());
    return of_mean == axes_of_mean(m[variance], data->shape().rank()) ? of_mean : std::nullopt;
  }

  Attrs epsilon_of(const Match& m) const {
    return {{"epsilon", static_cast<float>(m.constant(epsilon)->float_at(0))}};
  }

  Value* replace(const Match& m) const {
    const auto normalized = axes(m, m.root());
    Value* data = m[x];
    const int rank = normalized ? data->shape().rank() : 0;
    const auto axis = normalized ? channel_axis(*normalized, rank) : std::nullopt;
    if (!axis || !is_known(data->shape()[*axis])) return nullptr;
    const auto count = static_cast<std::size_t>(data->shape()[*axis]);
    const auto factors =
        m[gamma] ? per_channel(m[gamma], rank, *axis, data->shape()[*axis]) : Doubles(count, 1);
    const auto offsets =
        m[beta] ? per_channel(m[beta], rank, *axis, data->shape()[*axis]) : Doubles(count, 0);
    if (!factors || !offsets) return nullptr;
    ir::Node& root = *m.root()->producer();
    Emitter e(root, target);
    const bool last = *axis == rank - 1;
    Value* t = last ? e.transpose(data, onnx::channels_first_perm(rank)) : data;
    Value* factor = channels(e, *factors, data->dtype());
    Value* offset = channels(e, *offsets, data->dtype());
    Value* y = e.emit("InstanceNormalization", {t, factor, offset}, epsilon_of(m));
    return last ? e.transpose(y, onnx::channels_last_perm(rank)) : y;
  }
};

// The reshapes around it tell the groups: [batch, ..., channels] -> [batch, ..., groups, channels of a
// group], and back.
struct GroupNorm : InstanceNorm {
  const Pat dims = any();  // of the reshape behind it
  using InstanceNorm::InstanceNorm;

  struct Found {
    Value* image;
    std::int64_t groups, channels;
    Doubles factors, offsets;
  };

  // gamma and beta of [groups, channels of a group] behind ones, or of one element
  static std::optional<Doubles> per_group_channel(const Value* v, std::int64_t groups, std::int64_t size) {
    const TensorPtr& t = v->constant();
    if (!t || !can_scale(v->dtype())) return std::nullopt;
    const std::int64_t count = t->elements();
    const bool matrix =
        t->rank() >= 2 && t->dims().back() == size && t->dims()[t->dims().size() - 2] == groups;
    if (count != 1 && (count != groups * size || !matrix)) return std::nullopt;
    Doubles values;
    for (std::int64_t i = 0; i < groups * size; ++i) values.push_back(t->float_at(count == 1 ? 0 : i));
    return values;
  }

  // What was split into groups: the dims in front of the channels are the same.
  static Value* image_of(const Value* parts) {
    const ir::Node* n = parts->producer();
    if (!is_op(n, "Reshape")) return nullptr;
    const Shape &from = n->input(0)->shape(), &to = parts->shape();
    if (!from.ranked() || from.rank() < 3 || to.rank() != from.rank() + 1 || !is_known(to[-1]) ||
        !is_known(to[-2]) || to[-1] * to[-2] != from[-1])
      return nullptr;
    int differences = 0;
    for (int i = 0; i + 1 < from.rank(); ++i)
      if (from[i] != to[i] || from[i] == kUnknownDim) ++differences;
    return differences <= 1 && from[-1] != 0 ? n->input(0) : nullptr;
  }

  std::optional<Found> find(const Match& m) const {
    const auto normalized = axes(m, m.root()->producer()->input(0));
    Value* parts = m[x];
    const int rank = normalized ? parts->shape().rank() : 0;
    Value* image = rank >= 4 ? image_of(parts) : nullptr;
    if (!image) return std::nullopt;
    Ints wanted = ints_from(1, rank - 1);
    wanted.back() = rank - 1;
    if (*normalized != wanted) return std::nullopt;
    const std::int64_t groups = parts->shape()[-2], size = parts->shape()[-1];
    const auto count = static_cast<std::size_t>(groups * size);
    const auto factors = m[gamma] ? per_group_channel(m[gamma], groups, size) : Doubles(count, 1);
    const auto offsets = m[beta] ? per_group_channel(m[beta], groups, size) : Doubles(count, 0);
    if (!factors || !offsets) return std::nullopt;
    return Found{image, groups, groups * size, *factors, *offsets};
  }

  // [batch, channels, ...] -> [batch, groups, ...]: without an inferred size, which a batch of none leaves
  // open.
  static Value* grouped(Emitter& e, const Found& f, Value* image) {
    const Ints& s = image->shape().dims();
    Ints sizes{0, f.groups, f.channels / f.groups};
    for (std::size_t i = 2; i < s.size(); ++i) sizes[2] = s[i] > 0 && sizes[2] > 0 ? sizes[2] * s[i] : -1;
    if (sizes[2] > 0) return e.reshape(image, sizes);
    Value* batch = e.dims(image, 0, 1);
    Value* channels = e.ints({f.groups, f.channels / f.groups});
    Value* rest = e.dims(image, 2, static_cast<int>(s.size()));
    return e.reshape_to(image, e.concat({batch, channels, rest}, 0));
  }

  // Groups of channels are a GroupNormalization, or else an instance normalization of the groups.
  Value* normalized_image(Emitter& e, const Found& f, Value* image, const Attrs& eps) const {
    Value* factor = channels(e, f.factors, image->dtype());
    Value* offset = channels(e, f.offsets, image->dtype());
    if (f.groups == f.channels) return e.emit("InstanceNormalization", {image, factor, offset}, eps);
    if (target.opset >= 21 && runtime::may_make(target, "GroupNormalization", image->dtype())) {
      Attrs attrs = eps;
      attrs.push_back({"num_groups", f.groups});
      Value* y = e.emit("GroupNormalization", {image, factor, offset}, attrs);
      e.graph().set_type(y, image->dtype(), image->shape());
      return y;
    }
    const auto count = static_cast<std::size_t>(f.groups);
    Value* one = channels(e, Doubles(count, 1), image->dtype());
    Value* zero = channels(e, Doubles(count, 0), image->dtype());
    Value* y = e.emit("InstanceNormalization", {grouped(e, f, image), one, zero}, eps);
    Ints sizes = image->shape().dims();
    sizes[0] = 0;  // the batch, as it is
    const bool are_known = std::all_of(sizes.begin() + 1, sizes.end(), [](Dim d) { return d > 0; });
    y = are_known ? e.reshape(y, sizes) : e.reshape_to(y, e.shape_of(image));
    Ints column = repeated(1, image->shape().rank() - 1);
    column[0] = f.channels;
    y = e.mul(y, e.reshape(factor, column));
    return e.add(y, e.reshape(offset, column));
  }

  Value* replace(const Match& m) const {
    const auto f = find(m);
    if (!f) return nullptr;
    ir::Node& root = *m.root()->producer();
    Emitter e(root, target);
    const int rank = f->image->shape().rank();
    Value* y = normalized_image(e, *f, e.transpose(f->image, onnx::channels_first_perm(rank)), epsilon_of(m));
    y = e.transpose(y, onnx::channels_last_perm(rank));
    const Shape& s = m.root()->shape();
    const bool is_image = s.ranked() && s == y->shape() && std::ranges::count(s.dims(), kUnknownDim) == 0;
    return is_image ? y : e.reshape_to(y, m[dims]);
  }
};

template <class Norm, class Root>
void add_forms(std::vector<Rewriter>& forms, const std::string& name, const Norm& n, const Root& root_of) {
  const Replace replace = [n](const Match& m, Rewrite&) { return n.replace(m); };
  for (const Pat& y : {n.shifted(), n.scaled(), n.shifted_only(), n.plain()})
    forms.push_back(rewriter(name, root_of(y), replace));
}

}  // namespace

Rewriter fuse_instance_norm(const onnx::Target& target) {
  const std::string name = "fuse_instance_norm";
  const auto types = kernel_types("InstanceNormalization", target);
  if (types.empty()) return {name, [](ir::Graph&) { return 0; }};
  std::vector<Rewriter> forms;
  const GroupNorm groups(types, target);
  add_forms(forms, name, groups, [&](const Pat& y) { return op("Reshape", y, groups.dims); });
  add_forms(forms, name, InstanceNorm(types, target), [](const Pat& y) { return y; });
  return in_turn(name, std::move(forms), {"ReduceMean", "ReduceSum"});
}

}  // namespace t2o::rewriters
