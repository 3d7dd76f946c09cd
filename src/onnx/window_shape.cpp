#include "onnx/window_shape.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "onnx/emitter.h"

namespace t2o::onnx {
namespace {

template <class T>
const T* attr_of(const Attrs& attrs, std::string_view name) {
  const auto it = std::ranges::find_if(attrs, [&](const ir::NamedAttr& a) { return a.name == name; });
  return it == attrs.end() ? nullptr : std::get_if<T>(&it->value);
}

Ints ints_or(const Attrs& attrs, std::string_view name, std::size_t count, std::int64_t fallback) {
  const Ints* given = attr_of<Ints>(attrs, name);
  return given && given->size() == count ? *given : Ints(count, fallback);
}

struct Window {
  Ints extent, strides, begins, ends;
};

// Empty where it is not known.
std::optional<Window> window_of(std::string_view op, const Values& in, const Attrs& attrs,
                                std::size_t spatial) {
  const auto* auto_pad = attr_of<std::string>(attrs, "auto_pad");
  const auto* ceil_mode = attr_of<std::int64_t>(attrs, "ceil_mode");
  if ((auto_pad && *auto_pad != "NOTSET") || (ceil_mode && *ceil_mode != 0) ||
      attr_of<Ints>(attrs, "output_shape"))
    return std::nullopt;
  Window w;
  const Ints* kernel = attr_of<Ints>(attrs, "kernel_shape");
  if (kernel && kernel->size() == spatial)
    w.extent = *kernel;
  else if (op.starts_with("Conv") && in[1]->shape().ranked() &&
           in[1]->shape().rank() == static_cast<int>(spatial) + 2)
    w.extent.assign(in[1]->shape().dims().begin() + 2, in[1]->shape().dims().end());
  if (w.extent.size() != spatial || !std::ranges::all_of(w.extent, [](Dim d) { return d > 0; }))
    return std::nullopt;
  const Ints dilations = ints_or(attrs, "dilations", spatial, 1),
             pads = ints_or(attrs, "pads", 2 * spatial, 0);
  for (std::size_t i = 0; i < spatial; ++i) w.extent[i] = (w.extent[i] - 1) * dilations[i] + 1;
  w.strides = ints_or(attrs, "strides", spatial, 1);
  w.begins.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  w.ends.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  return w;
}

// d + n, of a symbol or a number; n may be negative
Dim shifted(Dim d, std::int64_t n, Symbols& s) {
  return n >= 0 ? add_dims(d, n, s) : subtract_dims(d, -n, s);
}

Dim slid(Dim in, const Window& w, std::size_t i, Symbols& s) {
  const Dim room = shifted(in, w.begins[i] + w.ends[i] - w.extent[i], s);
  return shifted(floor_divide_dims(room, w.strides[i], s), 1, s);
}

Dim unslid(Dim in, const Window& w, std::size_t i, std::int64_t output_padding, Symbols& s) {
  return shifted(multiply_dims(in, w.strides[i], s),
                 w.extent[i] - w.strides[i] - w.begins[i] - w.ends[i] + output_padding, s);
}

// What is done to each dim that is a symbol in the input and unknown in the result.
template <class F>
Shape by_axis(const Shape& input, const Shape& inferred, F f) {
  if (!input.ranked() || input.rank() != inferred.rank()) return inferred;
  Ints dims = inferred.dims();
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == kUnknownDim && is_symbol(input.dims()[i])) dims[i] = f(i, input.dims()[i]);
  return Shape(std::move(dims));
}

// By amounts of which some are computed: the other axes are known.
Shape padded_in_part(const Values& in, const Shape& inferred, Symbols& s) {
  const Ints &pads = *in[1]->known_elements(), &x = in[0]->shape().dims();
  if (pads.size() != 2 * x.size() || inferred.rank() != in[0]->shape().rank()) return inferred;
  Ints dims = inferred.dims();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (dims[i] == kUnknownDim && x[i] != kUnknownDim && is_known(pads[i]) && is_known(pads[i + x.size()]))
      dims[i] = shifted(x[i], pads[i] + pads[i + x.size()], s);
  return Shape(std::move(dims));
}

Shape padded(const Values& in, const Shape& inferred, Symbols& s) {
  if (in.size() <= 3 && in[1]->known_elements() && in[0]->shape().ranked())
    return padded_in_part(in, inferred, s);
  if (in.size() > 3 || !in[1]->constant() || !in[0]->shape().ranked()) return inferred;
  const Ints pads = in[1]->constant()->to_ints();
  const auto rank = static_cast<std::size_t>(in[0]->shape().rank());
  if (pads.size() != 2 * rank) return inferred;
  return by_axis(in[0]->shape(), inferred,
                 [&](std::size_t i, Dim d) { return shifted(d, pads[i] + pads[i + rank], s); });
}

Shape resized(const Values& in, const Attrs& attrs, const Shape& inferred, Symbols& s) {
  if (attr_of<Ints>(attrs, "axes") || in.size() < 3 || !in[2] || !in[2]->constant() ||
      (in.size() > 3 && in[3]))
    return inferred;
  const Tensor& scales = *in[2]->constant();
  if (scales.elements() != inferred.rank()) return inferred;
  return by_axis(in[0]->shape(), inferred, [&](std::size_t i, Dim d) {
    const double scale = scales.float_at(static_cast<std::int64_t>(i));
    return scale >= 1 && scale < 1e6 && scale == std::floor(scale)
               ? multiply_dims(d, static_cast<Dim>(scale), s)
               : kUnknownDim;
  });
}

Shape tiled(const Values& in, const Shape& inferred, Symbols& s) {
  if (!in[1]->constant() || in[1]->constant()->elements() != inferred.rank()) return inferred;
  return by_axis(in[0]->shape(), inferred, [&](std::size_t i, Dim d) {
    const std::int64_t times = in[1]->constant()->int_at(static_cast<std::int64_t>(i));
    return times > 0 ? multiply_dims(d, times, s) : kUnknownDim;
  });
}

// The axes that are not cut keep their size; one that is, from 0 on and one by one to a size, has that of
// both that is smaller.
Shape cut(const Values& in, const Shape& inferred, Symbols& s) {
  const Shape& x = in[0]->shape();
  if (in.size() < 4 || !in[3] || !in[3]->constant() || !x.ranked() || x.rank() != inferred.rank())
    return inferred;
  Ints axes = in[3]->constant()->to_ints(), dims = inferred.dims();
  for (std::int64_t& a : axes) a = a < 0 ? a + x.rank() : a;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == kUnknownDim && !contains(axes, static_cast<std::int64_t>(i))) dims[i] = x.dims()[i];
  const auto starts = constant_ints(in[1]), steps = in.size() > 4 && in[4] ? constant_ints(in[4]) : Ints{1};
  const auto& ends = in[2]->known_elements();
  if (axes.size() == 1 && starts == Ints{0} && steps == Ints{1} && ends && ends->size() == 1 &&
      ends->front() != kUnknownDim) {
    Dim& d = nth(dims, axes[0]);
    if (d == kUnknownDim && nth(x.dims(), axes[0]) != kUnknownDim)
      d = smaller_dim(nth(x.dims(), axes[0]), ends->front(), s);
  }
  return Shape(std::move(dims));
}

Shape joined(const Values& in, const Attrs& attrs, const Shape& inferred, Symbols& s) {
  const auto* given = attr_of<std::int64_t>(attrs, "axis");
  const std::int64_t axis = given && *given < 0 ? *given + inferred.rank() : given ? *given : 0;
  if (axis < 0 || axis >= inferred.rank() || nth(inferred.dims(), axis) != kUnknownDim) return inferred;
  Dim sum = 0;
  for (const Value* v : in)
    sum = v->shape().ranked() && v->shape().rank() == inferred.rank() && sum != kUnknownDim
              ? add_dims(sum, v->shape()[static_cast<int>(axis)], s)
              : kUnknownDim;
  Ints dims = inferred.dims();
  nth(dims, axis) = sum;
  return Shape(std::move(dims));
}

}  // namespace

Shape windowed_shape(std::string_view op, const Values& in, const Attrs& attrs, const Shape& inferred,
                     Symbols& symbols) {
  if (op == "Pad") return padded(in, inferred, symbols);
  if (op == "Resize") return resized(in, attrs, inferred, symbols);
  if (op == "Tile") return tiled(in, inferred, symbols);
  if (op == "Slice") return cut(in, inferred, symbols);
  if (op == "Concat") return joined(in, attrs, inferred, symbols);
  const bool slides = contains({"Conv", "MaxPool", "AveragePool"}, op);
  if ((!slides && op != "ConvTranspose") || inferred.rank() < 3) return inferred;
  const auto spatial = static_cast<std::size_t>(inferred.rank()) - 2;
  const std::optional<Window> w = window_of(op, in, attrs, spatial);
  if (!w) return inferred;
  const Ints output_padding = ints_or(attrs, "output_padding", spatial, 0);
  return by_axis(in[0]->shape(), inferred, [&](std::size_t i, Dim d) {
    if (i < 2) return kUnknownDim;
    return slides ? slid(d, *w, i - 2, symbols) : unslid(d, *w, i - 2, output_padding[i - 2], symbols);
  });
}

}  // namespace t2o::onnx
