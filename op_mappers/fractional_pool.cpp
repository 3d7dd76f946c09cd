#include <algorithm>
#include <cmath>
#include <utility>

#include "op_mappers/numbers.h"
#include "op_mappers/philox.h"
#include "op_mappers/pool_grad.h"
#include "op_mappers/wide_integers.h"

// Pooling over windows of sizes that differ by one, in an order that is drawn (Graham, 2014). Where the seeds
// say which, that is the same in each run.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kWidest = 1 << 24;

class Draws {
 public:
  Draws(std::int64_t seed, std::int64_t seed2)
      : key_{static_cast<philox::Word>(seed) & philox::kLow, static_cast<philox::Word>(seed) >> 32},
        counter_{0, static_cast<philox::Word>(seed2)} {}

  std::vector<philox::Word> take(std::int64_t n) {  // whole blocks
    std::vector<philox::Word> words;
    for (; n > 0; n -= 4) {
      const philox::Block b = philox::block(key_, counter_);
      append(words, b);
      counter_ = philox::plus(counter_, 1);
    }
    return words;
  }

 private:
  std::array<philox::Word, 2> key_, counter_;
};

// a[i] = ceil(ratio (i + u)) between 1 and in + 1, with u so small that the first and the last window are no
// wider than the others.
Ints pseudo_random_sizes(std::int64_t in, std::int64_t out, Draws& draws) {
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const std::int64_t k = in / out;
  const auto words = draws.take(2);
  const double left = static_cast<double>(k + 2) / ratio - 1;
  const double right = static_cast<double>(in + 1 - k) / ratio - static_cast<double>(out - 1);
  const auto mantissa = static_cast<double>((words[0] & 0xfffff) << 32 | words[1]);
  const double u = std::ldexp(mantissa, -52) * std::min(left, right);
  Ints sizes;
  std::int64_t begin = 1;
  for (std::int64_t i = 1; i <= out; ++i) {
    const auto end =
        i == out ? in + 1 : static_cast<std::int64_t>(std::ceil(ratio * (static_cast<double>(i) + u)));
    sizes.push_back(end - begin);
    begin = end;
  }
  return sizes;
}

Ints random_sizes(std::int64_t in, std::int64_t out, Draws& draws) {
  const auto n = static_cast<std::size_t>(out);
  Ints sizes(n, in / out);
  std::fill_n(sizes.begin(), in % out, in / out + 1);
  const auto words = draws.take(out);
  for (std::size_t i = 0; i + 1 < n; ++i)
    std::swap(sizes[i], sizes[i + static_cast<std::size_t>(words[i] % (n - i))]);
  return sizes;
}

// Where the windows begin, and where the last one ends.
Ints sequence(std::int64_t in, std::int64_t out, bool pseudo_random, Draws& draws) {
  const Ints sizes = pseudo_random ? pseudo_random_sizes(in, out, draws) : random_sizes(in, out, draws);
  const bool regular = in % out == 0;
  Ints ends{0};
  for (const std::int64_t size : sizes) ends.push_back(ends.back() + (regular ? in / out : size));
  return ends;
}

struct Windows {
  Ints places, sizes;  // [windows, widest], where a shorter one ends with its last place again; [windows]
  std::int64_t count, widest;
};

Windows windows_of(const Ints& ends, bool overlapping) {
  Windows w{{}, {}, static_cast<std::int64_t>(ends.size()) - 1, 0};
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    const std::int64_t last = std::min(ends[i + 1] - (overlapping ? 0 : 1), ends.back() - 1);
    w.sizes.push_back(last - ends[i] + 1);
    w.widest = std::max(w.widest, w.sizes.back());
  }
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    for (std::int64_t k = 0; k < w.widest; ++k) w.places.push_back(ends[i] + std::min(k, w.sizes[i] - 1));
  return w;
}

// One axis: its windows, reduced.
Value* pooled(MapperContext& c, Value* x, const Windows& w, int axis, bool maximum) {
  Value* parts = c.gather(x, c.constant(Ints{w.count, w.widest}, w.places), axis);
  if (maximum) return all_bits(c, c.reduce("ReduceMax", parts, Ints{axis + 1}, false), parts);
  std::vector<std::uint8_t> counts;
  for (const std::int64_t size : w.sizes)
    for (std::int64_t k = 0; k < w.widest; ++k) counts.push_back(k < size);
  Ints dims{w.count, w.widest};
  dims.insert(dims.end(), static_cast<std::size_t>(3 - axis), 1);
  Value* there = c.cast(c.constant(dims, counts), DType::boolean);
  return wrapping_sum(c, c.where(there, parts, c.scalar_like(x, 0)),
                      [&](Value* numbers) { return c.reduce("ReduceSum", numbers, Ints{axis + 1}, false); });
}

Value* window_areas(MapperContext& c, const Windows& rows, const Windows& columns, const Value* like) {
  Ints areas;
  for (const std::int64_t h : rows.sizes)
    for (const std::int64_t w : columns.sizes) areas.push_back(h * w);
  return c.cast_like(c.constant(Ints{rows.count, columns.count, 1}, areas), like);
}

template <bool maximum>
Values map_fractional_pool(MapperContext& c) {
  const auto seed = c.attr_or<std::int64_t>("seed", 0), seed2 = c.attr_or<std::int64_t>("seed2", 0);
  const bool pseudo_random = c.flag("pseudo_random"), overlapping = c.flag("overlapping");
  if (!c.flag("deterministic") || (seed == 0 && seed2 == 0))
    c.fail(Code::unsupported_attr, "the windows are random and differ from run to run",
           "give it a seed (deterministic=True), or pool with fixed windows for inference");
  const auto ratios = c.attr<Floats>("pooling_ratio");
  Draws draws(seed, seed2);
  Windows w[2];
  Values sequences;
  for (const int i : {0, 1}) {
    const std::int64_t in = c.dim_of(0, i + 1);
    const float ratio = ratios.size() == 4 ? ratios[static_cast<std::size_t>(i) + 1] : 0;
    const auto out = ratio >= 1 ? static_cast<std::int64_t>(std::floor(static_cast<float>(in) / ratio)) : 0;
    if (out < 1 || in > kWidest) c.fail(Code::bad_model, "pooling_ratio does not fit the image");
    const Ints ends = sequence(in, out, pseudo_random, draws);
    sequences.push_back(c.ints(ends));
    w[i] = windows_of(ends, overlapping);
  }
  Value* x = c.in(0);
  if (maximum && is_float(x->dtype()) &&
      c.strict()) {  // it starts at the lowest finite number, and passes over NaN
    Value* low = lowest(c, x->dtype());
    x = c.where(c.greater(x, low), x, low);
  }
  Value* y = pooled(c, pooled(c, x, w[0], 1, maximum), w[1], 2, maximum);
  if (!maximum) y = c.div(y, window_areas(c, w[0], w[1], y));
  return {y, sequences[0], sequences[1]};
}

}  // namespace

void register_fractional_pools(OpRegistry& r) {
  const std::string note = "with a seed; height and width known";
  r.op("FractionalMaxPool").note(note).by(map_fractional_pool<true>);
  r.op("FractionalAvgPool").note(note).by(map_fractional_pool<false>);
}

}  // namespace t2o::op_mappers
