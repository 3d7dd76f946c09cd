// What values are drawn, and how wrong rounding may make them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "drawer.h"
#include "ir/complex.h"

namespace t2o::random_graphs {
namespace {

double step_of(DType t) {  // between neighbouring numbers, of 1
  switch (t) {
    case DType::f64:
    case DType::c128:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

double least_normal(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128:
      return std::numeric_limits<double>::min();
    case DType::f16:
      return 0x1p-14;
    default:
      return static_cast<double>(std::numeric_limits<float>::min());
  }
}

bool has_floats(const Tensor& t) { return is_float(t.dtype()) || is_complex(t.dtype()); }

std::vector<double> floats_of(const Tensor& t) {
  return complex_as_pairs(std::make_shared<Tensor>(t))->to_floats();
}

TensorPtr tensor_from(const Tensor& like, const std::vector<double>& values) {
  if (!is_complex(like.dtype())) return verify::tensor_of(like.dtype(), like.dims(), values);
  const TensorPtr pairs = complex_as_pairs(std::make_shared<Tensor>(like));
  return std::make_shared<Tensor>(like.dtype(), like.dims(), verify::tensor_of(pairs->dtype(), pairs->dims(), values)->storage());
}

// Numbers whose sums and products of a few are exact: multiples of a power of two, none of them big.
bool on_grid(const Tensor& t) {
  if (!has_floats(t)) return true;
  const bool narrow = step_of(t.dtype()) > 1e-4;
  const double per_one = narrow ? 2 : 64, most = narrow ? 30 : 30000;
  const std::vector<double> values = floats_of(t);
  return std::all_of(values.begin(), values.end(), [&](double v) {
    return std::isfinite(v) && v * per_one == std::floor(v * per_one) && std::abs(v) <= most;
  });
}

// Of an integer type: its limits, those of smaller types, and what lies beside them.
std::int64_t edge(DType t, verify::Random& random) {
  const auto bits = static_cast<int>(bit_width(t));
  const bool is_signed = is_signed_int(t);
  const std::uint64_t top = is_signed ? (std::uint64_t{1} << (bits - 1)) - 1 : ~std::uint64_t{0} >> (64 - bits);
  const std::vector<std::uint64_t> edges = {0, 1, 2, ~std::uint64_t{0}, top, top - 1, top + 1, top + 2, top / 2, top / 2 + 1,
                                            0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0x80000005, 0xffffffff,
                                            0x100000000, 0x100000007, (std::uint64_t{1} << 53) + 1, (std::uint64_t{1} << 24) + 1};
  return static_cast<std::int64_t>(edges[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(edges.size()) - 1))]);
}

TensorPtr from_ints(DType t, const Ints& dims, const Ints& values) {  // the low bits of each
  const std::size_t width = bit_width(t) / 8;
  std::vector<std::byte> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * width, &values[i], width);
  return std::make_shared<Tensor>(t, dims, heap_storage(std::move(bytes)));
}

Ints random_ints(DType t, std::size_t count, Domain domain, verify::Random& random) {
  Ints v(count);
  const double kind = random.uniform();
  const std::int64_t low = is_signed_int(t) ? -10 : 0, bits = static_cast<std::int64_t>(bit_width(t));
  for (std::int64_t& x : v) {
    if (domain == Domain::shift) x = random.integer(0, bits - 1);
    else if (domain == Domain::small || kind < 0.5) x = random.integer(low, 20);
    else if (kind < 0.8) x = edge(t, random);
    else x = static_cast<std::int64_t>(random.bits());
    const std::uint64_t kept = static_cast<std::uint64_t>(x) << (64 - bits);
    if (domain == Domain::divisor && kept == 0) x = 3;
    if (domain == Domain::positive) x = random.integer(1, 20);
  }
  return v;
}

}  // namespace

bool fits(const Tensor& t, DType to) {
  if (!is_int(to) || !is_float(t.dtype())) return true;
  const auto bits = static_cast<int>(bit_width(to));
  const double high = is_signed_int(to) ? std::ldexp(1.0, bits - 1) : std::ldexp(1.0, bits);
  const double low = is_signed_int(to) ? -high : 0;
  for (const double v : t.to_floats())
    if (!(v >= low && v < high)) return false;
  return true;
}

bool is_ordinary(const Tensor& t) {
  if (t.elements() == 0) return false;
  if (!has_floats(t)) return true;
  const double least = least_normal(t.dtype()), most = t.dtype() == DType::f16 ? 2e4 : 1e15;
  const std::vector<double> values = floats_of(t);
  return std::all_of(values.begin(), values.end(), [&](double v) {
    return std::isfinite(v) && (v == 0 || std::abs(v) >= least) && std::abs(v) <= most;
  });
}

TensorPtr Drawer::random_tensor(DType t, const Ints& d, Domain domain) {
  auto count = static_cast<std::size_t>(element_count(d));
  if (is_int(t)) return from_ints(t, d, random_ints(t, count, domain, random_));
  if (t == DType::boolean) return verify::random_tensor(t, d, random_);
  const TensorPtr like = std::make_shared<Tensor>(t, d, heap_storage(std::vector<std::byte>(byte_size(t, element_count(d)))));
  const bool grid = chance(0.5);
  const std::vector<double> specials = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(), -0.0, 1e-41, 3e38};
  std::vector<double> values(is_complex(t) ? 2 * count : count);
  for (double& v : values) {
    v = grid ? static_cast<double>(between(-16, 16)) / 4 : random_.normal();
    if (domain == Domain::unit) v = grid ? static_cast<double>(between(-3, 3)) / 4 : random_.uniform() * 1.8 - 0.9;
    if (domain == Domain::positive) v = std::abs(v) + 0.25;
    if (domain == Domain::divisor && std::abs(v) < 0.25) v = 0.5;
    if (special() && chance(0.06)) v = one_of(specials);
  }
  return tensor_from(*like, values);
}

namespace {

// Each float as wrong as it may be: all too big, all too small, or any of both.
TensorPtr perturbed(const Tensor& t, const std::vector<double>& errors, double relative, int pattern, verify::Random& random) {
  std::vector<double> values = floats_of(t);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double sign = pattern == 0 ? 1 : pattern == 1 ? -1 : random.uniform() < 0.5 ? 1 : -1;
    values[i] += sign * ((errors.empty() ? 0 : errors[i]) + relative * std::abs(values[i]));
  }
  return tensor_from(t, values);
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// False where that shows that the result is of no use.
bool widen(const Tensor& right, const Tensor& other, std::vector<double>& errors) {
  if (right.dims() != other.dims()) return false;
  if (!has_floats(right)) return same_content(right, other);
  const std::vector<double> a = floats_of(right), b = floats_of(other);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_same(a[i], b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return false;
    errors[i] = std::max(errors[i], 2 * std::abs(a[i] - b[i]));
  }
  return true;
}

double coarsest_step(const Step& s) {  // of what is computed inside
  double coarsest = 0;
  for (const auto& [name, body] : s.bodies)
    for (const Step& inner : body->steps) {
      coarsest = std::max(coarsest, coarsest_step(inner));
      for (const TensorPtr& t : inner.results)
        if (has_floats(*t)) coarsest = std::max(coarsest, step_of(t->dtype()));
    }
  return coarsest;
}

void add_rounding(const Tensor& t, Rounding rounding, double least_step, std::vector<double>& errors) {
  if (rounding == Rounding::moves || !has_floats(t)) return;
  const std::vector<double> values = floats_of(t);
  double largest = 0;
  for (const double v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  // Functions of f64 may be computed in f32, and those of f16 and bf16 round on their way in one engine and not in the other.
  const bool wide = step_of(t.dtype()) < 1e-10;
  const double step = std::max(least_step, rounding == Rounding::many && wide ? 0x1p-23 : step_of(t.dtype()));
  const double steps = rounding == Rounding::once ? 2 : step > 1e-4 ? 4 : 64;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]))
      errors[i] += steps * step * (std::abs(values[i]) + (rounding == Rounding::many ? std::min(1.0, largest) : 0));
}

bool useless(const Tensor& t, const std::vector<double>& errors) {
  if (!has_floats(t) || errors.empty()) return false;
  const std::vector<double> values = floats_of(t);
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) largest = std::max(largest, std::abs(values[i]));
    worst = std::max(worst, errors[i]);
  }
  return worst > (step_of(t.dtype()) > 1e-4 ? 0.3 : 0.02) * largest;
}

}  // namespace

// Sums that are exact by themselves are not where a rewriter computes them together with what follows: those errors count where
// what follows rounds, and do not where it does not (a threshold behind exact sums has to be right).
void Drawer::measure_errors(Step& step, Rounding rounding) {
  std::vector<Ref> floats;
  bool inexact = false, grid = true;
  for (const In& in : step.inputs)
    for (const Ref r : in.refs) {
      inexact = inexact || !exact(r);
      grid = grid && on_grid(tensor(r));
      if (has_floats(tensor(r)) && std::find(floats.begin(), floats.end(), r) == floats.end()) floats.push_back(r);
    }
  for (const TensorPtr& t : step.results) grid = grid && on_grid(*t);
  const bool exact_result = !inexact && (rounding == Rounding::moves || (rounding == Rounding::once && grid));
  step.errors.assign(step.results.size(), {});
  step.loose = step.errors;
  std::vector<std::vector<double>>& errors = step.loose;
  for (std::size_t i = 0; i < step.results.size(); ++i)
    if (has_floats(*step.results[i])) errors[i].assign(floats_of(*step.results[i]).size(), 0);
  std::vector<bool> useful(step.results.size(), true);
  for (int pattern = 0; !floats.empty() && pattern < 5; ++pattern) {
    std::vector<std::pair<Ref, TensorPtr>> replaced;
    for (const Ref r : floats) {
      const double relative = rounding == Rounding::moves ? 0 : 2 * step_of(dtype(r));
      const auto& loose = recipe_.steps[r.step].loose[static_cast<std::size_t>(r.output)];
      replaced.emplace_back(r, perturbed(tensor(r), loose, relative, pattern, random_));
    }
    const std::vector<TensorPtr> other = run(step, replaced);
    for (std::size_t i = 0; i < other.size(); ++i) useful[i] = useful[i] && widen(*step.results[i], *other[i], errors[i]);
  }
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    if (!errors[i].empty()) add_rounding(*step.results[i], rounding, coarsest_step(step), errors[i]);
    useful[i] = useful[i] && !useless(*step.results[i], errors[i]);
    if (!useful[i] && !exact_result) throw Dropped();
    if (!useful[i]) errors[i].clear();
  }
  if (!exact_result) step.errors = errors;
}

}  // namespace t2o::random_graphs
