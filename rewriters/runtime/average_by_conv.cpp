#include <algorithm>
#include <limits>

#include "onnx/emitter.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime's AveragePool of opset 19 and above works pixel by pixel wherever it cannot work on blocks of
// 16 channels: 2 to 10 times slower than a convolution of each channel with one weight. The pool divides the
// sum; the convolution does not, so whole numbers in front of a threshold keep the pool.
namespace t2o::rewriters {
namespace {

constexpr std::int64_t kBlock = 16;          // channels
constexpr std::int64_t kFewProducts = 4096;  // for which a node more or less is what counts
constexpr std::int64_t kMostWeights = 1 << 20;

struct Pool {
  Ints kernel, strides, pads, in, out;  // in, out: of the spatial axes
  std::int64_t channels = 0;
  bool counts_padding = false;
  bool padded() const {
    return std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; });
  }
};

std::int64_t product(const Ints& v) {
  std::int64_t all = 1;
  for (const std::int64_t i : v)
    if (__builtin_mul_overflow(all, i, &all)) return std::numeric_limits<std::int64_t>::max();
  return all;
}

bool is_flag_set(const ir::Node& n, const char* name) { return n.attr_or<std::int64_t>(name, 0) != 0; }

std::optional<Pool> read(const ir::Node& n) {
  const auto* kernel = n.op() == "AveragePool" ? n.attr_if<Ints>("kernel_shape") : nullptr;
  if (!kernel || n.attr("auto_pad") || n.attr("dilations") || is_flag_set(n, "ceil_mode") ||
      n.input(0)->dtype() != DType::f32)
    return std::nullopt;
  const std::size_t spatial = kernel->size();
  const Shape &x = n.input(0)->shape(), &y = n.output()->shape();
  if (!x.ranked() || !y.ranked() || static_cast<std::size_t>(x.rank()) != spatial + 2 || !is_known(x[1]))
    return std::nullopt;
  const auto* strides = n.attr_if<Ints>("strides");
  const auto* pads = n.attr_if<Ints>("pads");
  Pool p{*kernel, strides ? *strides : Ints(spatial, 1), pads ? *pads : Ints(2 * spatial, 0), {}, {},
         x[1],    is_flag_set(n, "count_include_pad")};
  for (int i = 2; i < x.rank(); ++i) {
    p.in.push_back(is_known(x[i]) ? x[i] : 0);
    p.out.push_back(is_known(y[i]) ? y[i] : 0);
  }
  return p;
}

// How many pixels of the image are in the windows along one axis.
std::vector<double> counts(const Pool& p, std::size_t axis) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < p.out[axis]; ++i) {
    const std::int64_t start = i * p.strides[axis] - p.pads[axis];
    const std::int64_t first = std::max<std::int64_t>(start, 0),
                       last = std::min(start + p.kernel[axis], p.in[axis]);
    out.push_back(static_cast<double>(last - first));
  }
  return out;
}

// What sums are divided by.
std::vector<double> divisors(const Pool& p, bool of_pixels) {
  std::vector<double> all{static_cast<double>(product(p.kernel))};
  for (std::size_t axis = 0; of_pixels && axis < p.kernel.size(); ++axis)
    for (const double count : counts(p, axis)) all.push_back(count);
  return all;
}

// The window's size by the pixels that it has of the image: [1, 1, spatial ...]
Value* shares(Emitter& e, const Pool& p) {
  std::vector<double> all{1};
  for (std::size_t axis = 0; axis < p.kernel.size(); ++axis) {
    std::vector<double> longer;
    for (const double before : all)
      for (const double count : counts(p, axis))
        longer.push_back(before * static_cast<double>(p.kernel[axis]) / count);
    all = std::move(longer);
  }
  Ints dims{1, 1};
  append(dims, p.out);
  return e.constant(std::move(dims), std::vector<float>(all.begin(), all.end()));
}

Value* convolved(Emitter& e, Value* x, const Pool& p) {
  Ints dims{p.channels, 1};
  append(dims, p.kernel);
  const auto window = static_cast<float>(product(p.kernel));
  Value* weights =
      e.constant(std::move(dims),
                 std::vector<float>(static_cast<std::size_t>(p.channels * product(p.kernel)), 1 / window));
  Value* y =
      e.emit("Conv", {x, weights},
             {{"kernel_shape", p.kernel}, {"strides", p.strides}, {"pads", p.pads}, {"group", p.channels}});
  return p.padded() && !p.counts_padding ? e.mul(y, shares(e, p)) : y;
}

bool replace(ir::Graph& g, const onnx::Target& target, ir::Node& n, ExactSums& sums) {
  const auto p = read(n);
  if (!p) return false;
  const bool sized = product(p->in) > 0 && product(p->out) > 0;
  const bool whole = sized && p->in == p->kernel && !p->padded();
  const bool blocked = p->kernel.size() == 2 && p->channels % kBlock == 0;
  const bool needs_shares = p->padded() && !p->counts_padding;
  if (!whole && (blocked || product(p->kernel) == 1 || (needs_shares && !sized))) return false;
  const std::int64_t weights = product({p->channels, product(p->kernel)});
  if (!whole && (weights > kMostWeights || product(p->out) > kMostWeights)) return false;
  if (!whole && sized && p->channels * product(p->out) * product(p->kernel) < kFewProducts) return false;
  if (!whole && sums.need(n.input(0), n.output(), divisors(*p, needs_shares))) return false;
  Emitter e(n, target);
  Value* y = whole ? e.emit("GlobalAveragePool", {n.input(0)}) : convolved(e, n.input(0), *p);
  g.set_type(y, y->dtype(), n.output()->shape());
  return take_over(g, n.output(), y);
}

}  // namespace

Rewriter average_by_conv(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    ExactSums sums;
    for (ir::Node& n : g.nodes()) changes += replace(g, target, n, sums) ? 1 : 0;
    return changes;
  };
  return {"average_by_conv", run, {"AveragePool"}};
}

}  // namespace t2o::rewriters
