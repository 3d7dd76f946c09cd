#include "op_mappers/fft.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string_view>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kLongestByMatrices = 1024;  // beside ONNX DFT

bool is_power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

bool has_length(const Value* x, const Value* length, int axis) {
  const auto n = constant_ints(length);
  return n && x->shape().ranked() && x->shape()[axis] == (*n)[0];
}

// A DFT of a length that is no power of two takes several transforms: the product with a matrix is faster.
bool by_matrices(Dft form, Value* length) {
  if (form == Dft::matrices) return true;
  const auto n = constant_ints(length);
  return n && (*n)[0] <= kLongestByMatrices && !is_power_of_two((*n)[0]);
}

// ... and which in f32 lose up to half of the digits.
DType work_type(DType t, Value* length) {
  const auto n = constant_ints(length);
  return n && is_power_of_two((*n)[0]) ? t : DType::f64;
}

// Of pairs, or of real numbers with a last axis of size 1. The axis is counted without the last.
Value* dft(MapperContext& c, Dft form, Value* x, Value* length, int axis, Attrs attrs) {
  Values in = {x, length};
  if (form == Dft::axis_input)
    in.push_back(c.i64(axis - 1));
  else
    attrs.push_back({"axis", axis - 1});
  if (form != Dft::axis_input && !length) in.pop_back();
  return c.emit("DFT", std::move(in), std::move(attrs));
}

Value* one_more(MapperContext& c, Value* length) {  // length / 2 + 1
  Value* half = c.div(length, c.i64(2));
  return c.add(half, c.i64(1));
}

// Without imaginary parts the last axis has a size of 1.
Value* cast_pairs(MapperContext& c, Complex z, DType t) {
  if (!z.im) return c.unsqueeze(c.cast(z.re, t), {-1});
  return c.cast(pairs(c, z), t);
}

// The kernel's own 1 / n has the precision of f32. The inverse of f64 is the forward transform with the parts
// swapped, twice.
Complex exact_inverse(MapperContext& c, Dft form, Complex z, Value* n, int axis) {
  const Complex swapped = parts(c, dft(c, form, pairs(c, {z.im, z.re}), nullptr, axis, {}));
  Value* size = c.cast(n, DType::f64);
  return {c.div(swapped.im, size), c.div(swapped.re, size)};
}

}  // namespace

Complex transform(MapperContext& c, Transform t, Complex z, int axis) {
  const DType type = z.re->dtype();
  Value* n = c.dim(z.re, axis);
  const Complex given = {z.re, surely_zero(z.im) ? nullptr : z.im};
  if (by_matrices(t.form, n))
    return multiply(c, given, fourier_matrices(c, {type, n, n, n, t.inverse ? 1.0 : -1.0, t.inverse}), axis);
  const DType work = work_type(type, n);
  if (t.inverse && type == DType::f64) return exact_inverse(c, t.form, z, n, axis);
  Attrs attrs;
  if (t.inverse) attrs.push_back({"inverse", 1});
  Value* y = dft(c, t.form, cast_pairs(c, given, work), nullptr, axis, std::move(attrs));
  return parts(c, c.cast(y, type));
}

Complex forward_real(MapperContext& c, Dft form, Value* x, Value* length) {
  const DType type = x->dtype();
  if (by_matrices(form, length)) {
    Value* rows = c.dim(x, -1);
    return multiply(c, {x, nullptr}, fourier_matrices(c, {type, length, rows, one_more(c, length), -1}), -1);
  }
  Value* wide = c.unsqueeze(c.cast(x, work_type(type, length)), {-1});
  Value* filled_up = has_length(x, length, -1) ? nullptr : length;
  Value* y = dft(c, form, wide, filled_up, -1, {{"onesided", 1}});
  return parts(c, c.cast(y, type));
}

namespace {

constexpr std::int64_t kLongestBySmallMatrix = 512;

// Whether all readers take the real and the imaginary part apart.
bool is_read_in_parts(const Value* z) {
  static constexpr std::array<std::string_view, 7> kReaders = {"ComplexAbs", "Real", "Imag", "Angle",
                                                               "Conj",       "Mul",  "IRFFT"};
  const auto takes_parts = [](const ir::Use& u) { return contains(kReaders, u.node->op()); };
  return !z->is_graph_output() && std::ranges::all_of(z->uses(), takes_parts);
}

// The DFT of x by products with small matrices. Up to this length they are faster than a DFT (for a single
// row nearly as fast), and as exact. The imaginary parts that are 0 (the first, and that of n / 2) are +0, as
// in TensorFlow. Null: not applicable.
Value* forward_real_small(MapperContext& c, Value* x, Value* length) {
  const auto n = constant_ints(length);
  const Shape& shape = x->shape();
  if (!n || x->dtype() != DType::f32 || !shape.ranked() || shape.rank() == 0) return nullptr;
  if ((*n)[0] > (is_power_of_two((*n)[0]) ? kLongestBySmallMatrix : kLongestByMatrices)) return nullptr;
  const std::int64_t rows = is_known(shape[-1]) ? shape[-1] : (*n)[0], count = (*n)[0] / 2 + 1;
  if (is_read_in_parts(c.node().output())) {
    Value* height = c.constant(rows);
    Value* width = c.constant(count);
    return pairs(c,
                 multiply(c, {x, nullptr}, fourier_matrices(c, {DType::f32, length, height, width, -1}), -1));
  }
  Value* matrix = fourier_pairs(c, (*n)[0], rows, count);
  Ints dims = repeated(0, shape.rank() - 1);
  dims.insert(dims.end(), {count, 2});
  return c.reshape(c.matmul(x, matrix), dims);
}

// z with the frequencies it lacks: conj(z[n - k]) for k from n / 2 + 1 to n - 1
Complex all_frequencies(MapperContext& c, Complex z, Value* n) {
  Value* count = c.sub(n, c.dim(z.re, -1));
  Value* start = c.unsqueeze(count, {0});
  Value* end = c.ints({0});
  Value* axes = c.ints({-1});
  Value* steps = c.ints({-1});
  Value* re = c.slice(z.re, start, end, axes, steps);
  Value* im = c.neg(c.slice(z.im, start, end, axes, steps));
  return {c.concat({z.re, re}, -1), c.concat({z.im, im}, -1)};
}

// The real part of z, which are pairs.
Value* real_part(MapperContext& c, Value* z) { return c.gather(z, c.i64(0), -1); }

// y = the inverse of all n frequencies, in which two frequencies k and n - k add the conjugates of each
// other: the real part of the inverse of z where those of a pair count twice and the others are 0.
Value* inverse_of_odd(MapperContext& c, Dft form, Value* z, Value* length, std::int64_t n) {
  std::vector<double> weights(static_cast<std::size_t>(n / 2 + 1), 2);
  weights[0] = 1;
  Value* factors = c.cast(c.constant<double>({n / 2 + 1, 1}, weights), z->dtype());
  return real_part(c, dft(c, form, c.mul(z, factors), length, -1, {{"inverse", 1}}));
}

// What the first and the last half of the frequencies are multiplied by in half_as_long: for each frequency k
// below h = n / 2 a factor of (re, im) and one of (im, re).
struct HalfFactors {
  std::vector<double> same, swapped;
  void add(double a, double b, double c, double d) {
    same.insert(same.end(), {a, b});
    swapped.insert(swapped.end(), {c, d});
  }
};

// With w = exp(2 pi i k / n), u[k] = z[k] (1 + i w) / 2 + conj(z[h - k]) (1 - i w) / 2 has the inverse
// transform y[0] + i y[1], y[2] + i y[3] ... The imaginary parts of z[0] and z[h] count as 0.
Value* half_as_long(MapperContext& c, Value* z, std::int64_t n) {
  const std::int64_t h = n / 2;
  HalfFactors front, back;
  for (std::int64_t k = 0; k < h; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const double re = (1 - std::sin(angle)) / 2, im = 4 * k == n ? 0 : std::cos(angle) / 2, rest = 1 - re;
    const double inner = k == 0 ? 0 : 1;
    front.add(re, re * inner, 0 - im * inner, im);
    back.add(rest, 0 - rest * inner, 0 - im * inner, 0 - im);
  }
  const auto product = [&](Value* part, const HalfFactors& f) {
    Value* same = c.mul(part, c.cast(c.constant<double>({h, 2}, f.same), part->dtype()));
    Value* other = c.gather(part, c.ints({1, 0}), -1);
    Value* swapped = c.mul(other, c.cast(c.constant<double>({h, 2}, f.swapped), part->dtype()));
    return c.add(same, swapped);
  };
  Value* low = product(c.slice(z, {0}, {h}, {-2}), front);
  return c.add(low, product(c.slice(z, {h}, {0}, {-2}, {-1}), back));
}

// The pairs of an inverse transform of half the length are the results, one behind the other.
Value* inverse_of_even(MapperContext& c, Dft form, Value* z, std::int64_t n) {
  Value* y = dft(c, form, half_as_long(c, z, n), nullptr, -1, {{"inverse", 1}});
  if (!z->shape().ranked()) return c.reshape_to(y, c.concat({c.dims(z, 0, -2), c.ints({n})}, 0));
  Ints dims = repeated(0, z->shape().rank() - 1);
  dims.back() = n;
  return c.reshape(y, dims);
}

}  // namespace

Value* inverse_real(MapperContext& c, Dft form, Complex z, Value* length) {
  const DType type = z.re->dtype();
  const auto n = constant_ints(length);
  const bool power_of_two = n && is_power_of_two((*n)[0]);
  const bool short_rows = type == DType::f32 && power_of_two && (*n)[0] <= kLongestBySmallMatrix;
  if (by_matrices(form, length) || short_rows) {
    const Matrices m = fourier_matrices(c, {type, length, one_more(c, length), length, -1, true, true});
    Value* even = c.matmul(z.re, m.cosine);
    return c.add(even, c.matmul(z.im, m.sine));
  }
  if (type == DType::f64 && !power_of_two)
    return exact_inverse(c, form, all_frequencies(c, z, length), length, -1).re;
  Value* wide = cast_pairs(c, z, work_type(type, length));
  if (!n) {  // not every runtime takes both attributes, but all other forms are slower
    Value* y = dft(c, form, wide, length, -1, {{"inverse", 1}, {"onesided", 1}});
    return c.cast(c.squeeze(y, {-1}), type);
  }
  Value* y = (*n)[0] % 2 == 0 ? inverse_of_even(c, form, wide, (*n)[0])
                              : inverse_of_odd(c, form, wide, length, (*n)[0]);
  return c.cast(y, type);
}

namespace {

// ---- the ops

// The first `length` along the axis, of which there are not fewer.
Value* first(MapperContext& c, Value* x, Value* length, int axis) {
  if (has_length(x, length, axis)) return x;
  Value* end = c.unsqueeze(length, {0});
  Value* start = c.ints({0});
  return c.slice(x, start, end, c.ints({axis}));
}

Complex first(MapperContext& c, Complex z, Value* length, int axis) {
  return {first(c, z.re, length, axis), first(c, z.im, length, axis)};
}

Value* length_of(MapperContext& c, int axis, int axes) {  // fft_length has one element for each axis
  Value* lengths = c.cast(c.in(1), DType::i64);
  return c.gather(lengths, c.i64(axis + axes), 0);
}

bool is_length_of_input(MapperContext& c, int axis, int axes) {
  const auto& known = c.in(1)->known_elements();
  const Shape& shape = c.in(0)->shape();
  const auto i = static_cast<std::size_t>(axis + axes);
  return known && i < known->size() && shape.ranked() && shape.rank() >= axes && shape[axis] == (*known)[i] &&
         shape[axis] != kUnknownDim;
}

void check_axes(MapperContext& c, int axes) {
  const Shape& shape = c.node().input(0)->shape();
  if (shape.ranked() && shape.rank() < axes)
    c.fail(Code::bad_model, "the transform is along " + std::to_string(axes) + " axes, the input has " +
                                std::to_string(shape.rank()));
}

void check_lengths(MapperContext& c, int axes) {
  check_axes(c, axes);
  const auto lengths = c.maybe_ints(1);
  const bool ok = !lengths || (lengths->size() == static_cast<std::size_t>(axes) &&
                               std::ranges::all_of(*lengths, [](std::int64_t n) { return n > 0; }));
  if (!ok) c.fail(Code::bad_model, "fft_length needs a size above 0 for each axis of the transform");
}

Mapper map_fft(Transform t, int axes) {
  return [t, axes](MapperContext& c) {
    check_axes(c, axes);
    Complex z = parts(c, c.in(0));
    for (int axis = -1; axis >= -axes; --axis) z = transform(c, t, z, axis);
    return Values{pairs(c, z)};
  };
}

Mapper map_rfft(Dft form, int axes) {
  return [form, axes](MapperContext& c) {
    check_lengths(c, axes);
    Value* x = c.in(0);
    for (int axis = -1; axis >= -axes; --axis)
      if (!is_length_of_input(c, axis, axes)) x = first(c, x, length_of(c, axis, axes), axis);
    Value* length = length_of(c, -1, axes);
    Value* y = axes == 1 ? forward_real_small(c, x, length) : nullptr;
    if (y) return Values{y};
    Complex z = forward_real(c, form, x, length);
    for (int axis = -2; axis >= -axes; --axis) z = transform(c, {form, false}, z, axis);
    return Values{pairs(c, z)};
  };
}

Mapper map_irfft(Dft form, int axes) {
  return [form, axes](MapperContext& c) {
    check_lengths(c, axes);
    Complex z = parts(c, c.in(0));
    Value* length = length_of(c, -1, axes);
    z = first(c, z, one_more(c, length), -1);
    for (int axis = -2; axis >= -axes; --axis) {
      z = first(c, z, length_of(c, axis, axes), axis);
      z = transform(c, {form, true}, z, axis);
    }
    return Values{inverse_real(c, form, z, length)};
  };
}

}  // namespace

void register_fft(OpRegistry& r) {
  const std::string below_17 =
      "below opset 17 by matrices, at most 4096 long, of unknown length in the precision of f32";
  const std::pair<int, Dft> forms[] = {{11, Dft::matrices}, {17, Dft::axis_attribute}, {20, Dft::axis_input}};
  for (const auto& [since, form] : forms) {
    const std::string names[] = {"", "2D", "3D"};
    for (int axes = 1; axes <= 3; ++axes) {
      const std::string& n = names[axes - 1];
      const std::string note = since == 11 ? below_17 : "";
      r.complex("FFT" + n).since(since).note(note).by(map_fft({form, false}, axes));
      r.complex("IFFT" + n).since(since).note(note).by(map_fft({form, true}, axes));
      r.complex("RFFT" + n).since(since).note(note).by(map_rfft(form, axes));
      r.complex("IRFFT" + n).since(since).note(note).by(map_irfft(form, axes));
    }
  }
}

}  // namespace t2o::op_mappers
