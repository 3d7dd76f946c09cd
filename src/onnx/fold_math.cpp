// Folding of arithmetic on small constants. Integers are computed in int64 and wrap when stored; floats in
// double, rounded once.
#include <algorithm>
#include <cmath>

#include "ir/graph.h"
#include "onnx/fold_parts.h"

namespace t2o::onnx::folding {
namespace {

bool integral(DType t) { return is_int(t) && bit_width(t) >= 8; }
bool real(DType t) { return contains({DType::f32, DType::f64, DType::f16, DType::bf16}, t); }

TensorPtr from_ints(DType t, Ints dims, const Ints& v) {  // wraps
  return converted(Tensor::of<std::int64_t>(std::move(dims), v), t);
}
TensorPtr from_floats(DType t, Ints dims, const std::vector<double>& v) {
  if (t == DType::f32) return Tensor::of<float>(std::move(dims), std::vector<float>(v.begin(), v.end()));
  return converted(Tensor::of<double>(std::move(dims), v), t);
}
TensorPtr from_bools(Ints dims, const Ints& v) { return from_ints(DType::boolean, std::move(dims), v); }

struct Broadcast {
  Ints dims;
  std::vector<Ints> strides;  // for each operand
  std::int64_t index(std::size_t operand, std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += i % dims[d] * strides[operand][d];
      i /= dims[d];
    }
    return at;
  }
};

std::optional<Broadcast> broadcast_shapes(const std::vector<Ints>& shapes) {
  Broadcast b;
  for (const Ints& t : shapes) b.dims.resize(std::max(b.dims.size(), t.size()), 1);
  for (const Ints& t : shapes)
    for (std::size_t i = 0; i < t.size(); ++i) {
      std::int64_t& d = b.dims[b.dims.size() - t.size() + i];
      if (d == 1)
        d = t[i];
      else if (t[i] != 1 && t[i] != d)
        return std::nullopt;
    }
  for (const Ints& t : shapes) {
    Ints s(b.dims.size(), 0);
    std::int64_t step = 1;
    for (std::size_t i = t.size(); i-- > 0;) {
      if (t[i] != 1) s[b.dims.size() - t.size() + i] = step;
      step *= t[i];
    }
    b.strides.push_back(std::move(s));
  }
  if (element_count(b.dims) > kMaxElements) return std::nullopt;
  return b;
}
std::optional<Broadcast> broadcast(const std::vector<const Tensor*>& in) {
  std::vector<Ints> shapes;
  for (const Tensor* t : in) shapes.push_back(t->dims());
  return broadcast_shapes(shapes);
}

template <class F>
Ints map_ints(const Broadcast& b, const Tensor& x, const Tensor& y, F f) {
  Ints out = repeated(0, element_count(b.dims));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    out[i] = f(x.int_at(b.index(0, n)), y.int_at(b.index(1, n)));
  }
  return out;
}
std::vector<double> spread(const Broadcast& b, std::size_t operand, const Tensor& t) {
  std::vector<double> v = t.to_floats();
  const auto n = static_cast<std::size_t>(element_count(b.dims));
  if (v.size() == n) return v;
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = nth(v, b.index(operand, static_cast<std::int64_t>(i)));
  return out;
}
template <class R, class F>
std::vector<R> map_floats(const Broadcast& b, const Tensor& x, const Tensor& y, F f) {
  const std::vector<double> p = spread(b, 0, x), q = spread(b, 1, y);
  std::vector<R> out(p.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(p[i], q[i]);
  return out;
}

using U = std::uint64_t;
std::int64_t wrap(U u) { return static_cast<std::int64_t>(u); }

bool any_zero(const Tensor& t) {
  for (std::int64_t i = 0; i < t.elements(); ++i)
    if (t.int_at(i) == 0) return true;
  return false;
}

// With the sign of the dividend or, as ONNX has it for integers, of the divisor.
std::int64_t remainder(std::int64_t p, std::int64_t q, bool of_dividend) {
  if (q == -1) return 0;
  const std::int64_t r = p % q;
  return !of_dividend && r != 0 && (r < 0) != (q < 0) ? r + q : r;
}

// Of unsigned numbers, by less than their width.
std::optional<Ints> shifted(const Broadcast& b, const Tensor& x, const Tensor& y, const Attrs& attrs) {
  const auto width = static_cast<std::int64_t>(bit_width(x.dtype()));
  const Ints by = y.to_ints();
  if (std::ranges::any_of(by, [&](std::int64_t n) { return n < 0 || n >= width; })) return std::nullopt;
  const std::string* direction = string_attr(attrs, "direction");
  const bool left = direction && *direction == "LEFT";
  return map_ints(b, x, y, [left](std::int64_t p, std::int64_t q) {
    return wrap(left ? static_cast<U>(p) << q : static_cast<U>(p) >> q);
  });
}

std::optional<Ints> int_arithmetic(const std::string& op, const Broadcast& b, const Tensor& x,
                                   const Tensor& y, const Attrs& attrs) {
  const auto go = [&](auto f) { return map_ints(b, x, y, f); };
  if (op == "Add")
    return go([](std::int64_t p, std::int64_t q) { return wrap(static_cast<U>(p) + static_cast<U>(q)); });
  if (op == "Sub")
    return go([](std::int64_t p, std::int64_t q) { return wrap(static_cast<U>(p) - static_cast<U>(q)); });
  if (op == "Mul")
    return go([](std::int64_t p, std::int64_t q) { return wrap(static_cast<U>(p) * static_cast<U>(q)); });
  if (op == "BitwiseAnd") return go([](std::int64_t p, std::int64_t q) { return p & q; });
  if (op == "BitwiseOr") return go([](std::int64_t p, std::int64_t q) { return p | q; });
  if (op == "BitwiseXor") return go([](std::int64_t p, std::int64_t q) { return p ^ q; });
  if (op == "BitShift") return shifted(b, x, y, attrs);
  if (x.dtype() == DType::u64) return std::nullopt;                      // whose upper half is negative here
  if ((op == "Div" || op == "Mod") && any_zero(y)) return std::nullopt;  // the runtime's to report
  if (op == "Mod") {
    const bool of_dividend = int_attr(attrs, "fmod", 0) != 0;
    return go([of_dividend](std::int64_t p, std::int64_t q) { return remainder(p, q, of_dividend); });
  }
  if (op == "Div") {
    return go(
        [](std::int64_t p, std::int64_t q) { return q == -1 ? wrap(U{0} - static_cast<U>(p)) : p / q; });
  }
  return std::nullopt;
}

std::optional<std::vector<double>> float_arithmetic(const std::string& op, const Broadcast& b,
                                                    const Tensor& x, const Tensor& y) {
  const auto go = [&](auto f) { return map_floats<double>(b, x, y, f); };
  if (op == "Add") return go([](double p, double q) { return p + q; });
  if (op == "Sub") return go([](double p, double q) { return p - q; });
  if (op == "Mul") return go([](double p, double q) { return p * q; });
  if (op == "Div") return go([](double p, double q) { return p / q; });
  if (op == "Mod") return go([](double p, double q) { return std::fmod(p, q); });
  if (op == "Pow") return go([](double p, double q) { return std::pow(p, q); });
  return std::nullopt;
}

std::optional<Ints> compare(const std::string& op, const Broadcast& b, const Tensor& x, const Tensor& y) {
  const auto go = [&](auto f) {
    return real(x.dtype()) ? map_floats<std::int64_t>(b, x, y, f) : map_ints(b, x, y, f);
  };
  if (op == "Equal") return go([](auto p, auto q) { return std::int64_t{p == q}; });
  if (op == "Less") return go([](auto p, auto q) { return std::int64_t{p < q}; });
  if (op == "LessOrEqual") return go([](auto p, auto q) { return std::int64_t{p <= q}; });
  if (op == "Greater") return go([](auto p, auto q) { return std::int64_t{p > q}; });
  if (op == "GreaterOrEqual") return go([](auto p, auto q) { return std::int64_t{p >= q}; });
  return std::nullopt;
}

double reduce_float(const std::string& op, double acc, double v) {
  if (op == "ReduceProd") return acc * v;
  if (op == "ReduceMax") return std::isnan(acc) || std::isnan(v) ? NAN : std::max(acc, v);
  if (op == "ReduceMin") return std::isnan(acc) || std::isnan(v) ? NAN : std::min(acc, v);
  return acc + v;
}
std::int64_t reduce_int(const std::string& op, std::int64_t acc, std::int64_t v) {
  if (op == "ReduceProd") return wrap(static_cast<U>(acc) * static_cast<U>(v));
  if (op == "ReduceMax") return std::max(acc, v);
  if (op == "ReduceMin") return std::min(acc, v);
  return wrap(static_cast<U>(acc) + static_cast<U>(v));
}

}  // namespace

TensorPtr unary(const std::string& op, const Tensor& x) {
  if (x.elements() > kMaxElements) return nullptr;
  if (op == "Not" && x.dtype() == DType::boolean) {
    Ints v = x.to_ints();
    for (std::int64_t& b : v) b = b == 0;
    return from_bools(x.dims(), v);
  }
  if (integral(x.dtype()) && op == "BitwiseNot" && x.dtype() != DType::u64) {
    Ints v = x.to_ints();
    for (std::int64_t& i : v) i = ~i;
    return from_ints(x.dtype(), x.dims(), v);
  }
  if (integral(x.dtype()) && op == "Sign" && x.dtype() != DType::u64) {
    Ints v = x.to_ints();
    for (std::int64_t& i : v) i = i == 0 ? 0 : i < 0 ? -1 : 1;
    return from_ints(x.dtype(), x.dims(), v);
  }
  if (integral(x.dtype()) && (op == "Neg" || op == "Abs") && x.dtype() != DType::u64) {
    Ints v = x.to_ints();
    for (std::int64_t& i : v) i = op == "Neg" || i < 0 ? wrap(U{0} - static_cast<U>(i)) : i;
    return from_ints(x.dtype(), x.dims(), v);
  }
  if (!real(x.dtype())) return nullptr;
  static const std::vector<std::pair<std::string_view, double (*)(double)>> kFunctions = {
      {"Sign", [](double v) { return v > 0   ? 1.0
                                     : v < 0 ? -1.0
                                             : v; }},
      {"Neg", [](double v) { return -v; }},
      {"Abs", [](double v) { return std::fabs(v); }},
      {"Sqrt", [](double v) { return std::sqrt(v); }},
      {"Exp", [](double v) { return std::exp(v); }},
      {"Log", [](double v) { return std::log(v); }},
      {"Floor", [](double v) { return std::floor(v); }},
      {"Cos", [](double v) { return std::cos(v); }},
      {"Sin", [](double v) { return std::sin(v); }},
      {"Tanh", [](double v) { return std::tanh(v); }},
      {"Erf", [](double v) { return std::erf(v); }},
      {"Sigmoid", [](double v) { return 1.0 / (1.0 + std::exp(-v)); }},
      {"Relu", [](double v) { return v < 0 ? 0.0 : v; }},
      {"Ceil", [](double v) { return std::ceil(v); }},
      {"Reciprocal", [](double v) { return 1.0 / v; }},
      {"Round", [](double v) { return std::nearbyint(v); }}};
  for (const auto& [name, f] : kFunctions)
    if (name == op) {
      std::vector<double> v = x.to_floats();
      std::ranges::transform(v, v.begin(), f);
      return from_floats(x.dtype(), x.dims(), v);
    }
  return nullptr;
}

TensorPtr binary(const std::string& op, const Tensor& x, const Tensor& y, const Attrs& attrs) {
  if (x.dtype() != y.dtype()) return nullptr;
  const auto b = broadcast({&x, &y});
  if (!b) return nullptr;
  if (x.dtype() == DType::boolean && (op == "And" || op == "Or"))
    return from_bools(b->dims, map_ints(*b, x, y, [&](std::int64_t p, std::int64_t q) {
                        return std::int64_t{op == "And" ? p && q : p || q};
                      }));
  const bool comparable =
      integral(x.dtype()) ? x.dtype() != DType::u64 : real(x.dtype()) || x.dtype() == DType::boolean;
  if (comparable)
    if (auto r = compare(op, *b, x, y)) return from_bools(b->dims, *r);
  if (integral(x.dtype()))
    if (auto r = int_arithmetic(op, *b, x, y, attrs)) return from_ints(x.dtype(), b->dims, *r);
  if (real(x.dtype()))
    if (auto r = float_arithmetic(op, *b, x, y)) return from_floats(x.dtype(), b->dims, *r);
  return nullptr;
}

// Of matrices, or of stacks of them that broadcast.
TensorPtr matmul(const Tensor& x, const Tensor& y) {
  constexpr std::int64_t kMostProducts = 1 << 22;  // some milliseconds
  if (!real(x.dtype()) || x.dtype() != y.dtype() || x.rank() < 2 || y.rank() < 2) return nullptr;
  if (x.elements() > kMostProducts || y.elements() > kMostProducts) return nullptr;
  const auto r = static_cast<std::size_t>(x.rank()), s = static_cast<std::size_t>(y.rank());
  const std::int64_t m = x.dims()[r - 2], k = x.dims()[r - 1], n = y.dims()[s - 1];
  if (y.dims()[s - 2] != k || m == 0 || n == 0 || k == 0 || m * n > kMaxElements || m * n * k > kMostProducts)
    return nullptr;
  const auto stacks = broadcast_shapes(
      {Ints(x.dims().begin(), x.dims().end() - 2), Ints(y.dims().begin(), y.dims().end() - 2)});
  const std::int64_t count = stacks ? element_count(stacks->dims) : 0;
  if (count == 0 || count * m * n > kMaxElements || count * m * n * k > kMostProducts) return nullptr;
  const std::vector<double> a = x.to_floats(), b = y.to_floats();
  std::vector<double> out(static_cast<std::size_t>(count * m * n), 0.0);
  for (std::int64_t i = 0; i < count * m; ++i) {
    const double* row = a.data() + (stacks->index(0, i / m) * m + i % m) * k;
    const double* matrix = b.data() + stacks->index(1, i / m) * k * n;
    double* to = out.data() + i * n;
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j) to[j] += row[l] * matrix[l * n + j];
  }
  Ints dims = stacks->dims;
  dims.insert(dims.end(), {m, n});
  return from_floats(x.dtype(), dims, out);
}

TensorPtr clip(const std::vector<TensorPtr>& in) {
  TensorPtr x = in[0];
  if (!real(x->dtype()) && !integral(x->dtype())) return nullptr;
  if (in.size() > 1 && in[1]) x = variadic("Max", {x, in[1]});
  if (x && in.size() > 2 && in[2]) x = variadic("Min", {x, in[2]});
  return x;
}

TensorPtr variadic(const std::string& op, const std::vector<TensorPtr>& in) {
  TensorPtr acc = in[0];
  for (std::size_t k = 1; k < in.size(); ++k) {
    if (!in[k] || in[k]->dtype() != acc->dtype()) return nullptr;
    const auto b = broadcast({acc.get(), in[k].get()});
    if (!b) return nullptr;
    if (op == "Sum") {
      acc = binary("Add", *acc, *in[k], {});
    } else if (integral(acc->dtype()) && acc->dtype() != DType::u64) {
      acc = from_ints(acc->dtype(), b->dims, map_ints(*b, *acc, *in[k], [&](std::int64_t p, std::int64_t q) {
                        return op == "Max" ? std::max(p, q) : std::min(p, q);
                      }));
    } else if (real(acc->dtype())) {
      acc = from_floats(acc->dtype(), b->dims, map_floats<double>(*b, *acc, *in[k], [&](double p, double q) {
                          return reduce_float("Reduce" + op, p, q);
                        }));
    } else {
      return nullptr;
    }
    if (!acc) return nullptr;
  }
  return acc;
}

TensorPtr where(const std::vector<TensorPtr>& in) {
  if (in.size() != 3 || !in[1] || !in[2] || in[0]->dtype() != DType::boolean ||
      in[1]->dtype() != in[2]->dtype())
    return nullptr;
  const auto b = broadcast({in[0].get(), in[1].get(), in[2].get()});
  const std::size_t width = bit_width(in[1]->dtype()) / 8;
  if (!b || width == 0) return nullptr;
  std::vector<std::byte> out(static_cast<std::size_t>(element_count(b->dims)) * width);
  for (std::size_t i = 0; i * width < out.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    const std::size_t from = in[0]->int_at(b->index(0, n)) != 0 ? 1 : 2;
    std::memcpy(out.data() + i * width,
                in[from]->bytes().data() + static_cast<std::size_t>(b->index(from, n)) * width, width);
  }
  return std::make_shared<Tensor>(in[1]->dtype(), b->dims, heap_storage(std::move(out)));
}

TensorPtr reduce(const std::string& op, const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const Tensor& x = *in[0];
  const bool is_mean = op == "ReduceMean";
  if (!contains({"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"}, op) && (!is_mean || !real(x.dtype())))
    return nullptr;
  if ((!integral(x.dtype()) && !real(x.dtype())) || x.dtype() == DType::u64 || x.elements() > kMaxElements)
    return nullptr;
  Ints given;
  if (in.size() > 1 && in[1])
    given = in[1]->to_ints();
  else if (const Ints* a = ints_attr(attrs, "axes"))
    given = *a;
  if (given.empty() && int_attr(attrs, "noop_with_empty_axes", 0) != 0) return nullptr;
  if (given.empty()) given = ints_from(0, x.rank());
  const auto axes = normal_axes(given, x.rank());
  if (!axes) return nullptr;
  Ints kept = x.dims(), squeezed, step(kept.size(), 0);
  for (const std::int64_t a : *axes) nth(kept, a) = 1;
  std::int64_t s = 1;
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (kept[i] == x.dims()[i]) step[i] = kept[i] == 1 ? 0 : s;
    s *= kept[i];
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (!contains(*axes, static_cast<std::int64_t>(i))) squeezed.push_back(kept[i]);
  if (x.elements() == 0 && op != "ReduceSum" && op != "ReduceProd") return nullptr;
  const auto n = static_cast<std::size_t>(element_count(kept));
  const Broadcast b{x.dims(), {step}};
  const Ints& dims = int_attr(attrs, "keepdims", 1) != 0 ? kept : squeezed;
  std::vector<bool> started(n, false);
  const double neutral = op == "ReduceProd" ? 1 : 0;
  std::vector<double> f(n, neutral);
  Ints v(n, static_cast<std::int64_t>(neutral));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto at = static_cast<std::size_t>(b.index(0, i));
    if (real(x.dtype()))
      f[at] = started[at] ? reduce_float(op, f[at], x.float_at(i)) : x.float_at(i);
    else
      v[at] = started[at] ? reduce_int(op, v[at], x.int_at(i)) : x.int_at(i);
    started[at] = true;
  }
  if (is_mean)
    for (double& sum : f) sum /= static_cast<double>(x.elements() / std::ssize(f));
  return real(x.dtype()) ? from_floats(x.dtype(), dims, f) : from_ints(x.dtype(), dims, v);
}

TensorPtr range(const std::vector<TensorPtr>& in) {
  if (in.size() != 3 || !in[1] || !in[2]) return nullptr;
  for (const TensorPtr& t : in)
    if (!integral(t->dtype()) || t->elements() != 1) return nullptr;
  const std::int64_t start = in[0]->int_at(0), limit = in[1]->int_at(0), delta = in[2]->int_at(0);
  if (delta == 0) return nullptr;
  const double count =
      std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  if (count > static_cast<double>(kMaxElements)) return nullptr;
  Ints v(static_cast<std::size_t>(std::max(0.0, count)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = start + static_cast<std::int64_t>(i) * delta;
  return from_ints(in[0]->dtype(), {static_cast<std::int64_t>(v.size())}, v);
}

}  // namespace t2o::onnx::folding
