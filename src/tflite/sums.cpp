#include "tflite/sums.h"

#include <algorithm>
#include <cmath>

#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

constexpr double kNear = 1.0 / 1024;      // of a code
constexpr double kEnough = 3e-5;          // of a code: more than the float errors of a sum
constexpr std::size_t kMostTies = 16384;  // more of them: halves are common, and no scales round all of them
constexpr double kLowestRatio = 0x1p-10, kHighestRatio = 0x1p8;  // LiteRT adds others in another way

// A pair of codes whose sum lies near the middle of two codes. If the ratios of the scales are higher by the
// parts dx and dy, room + x * dx + y * dy is how far it is on the right side.
struct Tie {
  double x, y, room;
};

struct Ratios {
  double x, y;
};

Ratios ratios_of(float x, float y, float result) {
  return {static_cast<double>(x / result), static_cast<double>(y / result)};
}

// As integers of 21 bits.
struct Factors {
  std::int64_t x, y;
  int shift;
  Ratios ratios() const {
    return {std::ldexp(static_cast<double>(x), -shift), std::ldexp(static_cast<double>(y), -shift)};
  }
};

Factors factors_of(const Ratios& r) {
  const int shift = 20 - std::ilogb(std::max(r.x, r.y));
  return {std::llrint(std::ldexp(r.x, shift)), std::llrint(std::ldexp(r.y, shift)), shift};
}

std::vector<Tie> ties_of(const Steps& x, const Steps& y, const Steps& result, const Factors& f) {
  std::vector<Tie> ties;
  const std::int64_t half = std::int64_t{1} << (f.shift - 1);
  const double code = std::ldexp(1, f.shift);
  const auto near = static_cast<std::int64_t>(kNear * code);
  for (std::int64_t a = x.lowest; a <= x.highest; ++a) {
    for (std::int64_t b = y.lowest; b <= y.highest; ++b) {
      const std::int64_t part_x = a * f.x, part_y = b * f.y;
      const std::int64_t rounded = (part_x + part_y + half) >> f.shift;
      const std::int64_t above = part_x + part_y + half - (rounded << f.shift);  // of the lower middle
      const bool is_low = above < half;
      const std::int64_t distance = is_low ? above : 2 * half - above;
      const std::int64_t below = is_low ? rounded - 1 : rounded;  // the step below the middle
      if (distance > near || below < result.lowest || below >= result.highest) continue;
      const double direction = is_low ? 1 : -1;
      ties.push_back({direction * static_cast<double>(part_x) / code,
                      direction * static_cast<double>(part_y) / code, static_cast<double>(distance) / code});
    }
  }
  return ties;
}

// What the sums lack of enough room, squared: 0 if a runtime's floats round all of them right.
double lack(const std::vector<Tie>& ties, double dx, double dy) {
  double sum = 0;
  for (const Tie& t : ties) {
    const double missing = std::max(0.0, kEnough - (t.room + t.x * dx + t.y * dy));
    sum += missing * missing;
  }
  return sum;
}

double lack(const std::vector<Tie>& ties, const Ratios& exact, const Ratios& r) {
  return lack(ties, r.x / exact.x - 1, r.y / exact.y - 1);
}

// The parts with the least lack: on a grid, then on finer ones around the best point.
Ratios best_parts(const std::vector<Tie>& ties) {
  constexpr int kLevels = 4, kSide = 6;
  Ratios best{0, 0};
  double least = lack(ties, 0, 0), width = 4e-6;
  for (int level = 0; level < kLevels; ++level, width /= 4) {
    const Ratios center = best;
    for (int i = -kSide; i <= kSide; ++i) {
      for (int k = -kSide; k <= kSide; ++k) {
        const Ratios parts{center.x + width * i / kSide, center.y + width * k / kSide};
        const double here = lack(ties, parts.x, parts.y);
        if (here >= least) continue;
        least = here;
        best = parts;
      }
    }
  }
  return best;
}

float moved(float x, int steps) {  // to a neighbouring float
  for (; steps > 0; --steps) x = std::nextafter(x, INFINITY);
  for (; steps < 0; ++steps) x = std::nextafter(x, 0.0F);
  return x;
}

Steps steps_of(const Quantization& q, DType type) {
  const std::int64_t lowest = (type == DType::i8 ? -128 : 0) - q.zero_points[0];
  return {q.scales[0], lowest, lowest + 255};
}

bool is_usual(double ratio) { return ratio >= kLowestRatio && ratio < kHighestRatio; }

}  // namespace

std::optional<SumScales> sum_scales(const Steps& x, const Steps& y, const Steps& result) {
  const Ratios in_file = ratios_of(x.scale, y.scale, result.scale);
  if (!is_usual(in_file.x) || !is_usual(in_file.y)) return {};
  const Factors factors = factors_of(in_file);
  const Ratios exact = factors.ratios();
  const std::vector<Tie> ties = ties_of(x, y, result, factors);
  if (ties.size() > kMostTies) return {};
  double least = lack(ties, exact, in_file);
  if (least == 0) return {};
  const Ratios parts = best_parts(ties);
  const auto best_result = static_cast<float>(static_cast<double>(x.scale) / (exact.x * (1 + parts.x)));
  std::optional<SumScales> best;
  for (int i = -2; i <= 2; ++i) {  // of the floats around the best numbers
    const float to = moved(best_result, i);
    const auto best_y = static_cast<float>(exact.y * (1 + parts.y) * static_cast<double>(to));
    for (int k = -2; k <= 2; ++k) {
      const SumScales here{moved(best_y, k), to};
      const double its_lack = lack(ties, exact, ratios_of(x.scale, here.y, here.result));
      if (its_lack >= least) continue;
      least = its_lack;
      best = here;
    }
  }
  return best;
}

std::optional<Values> sum_of_codes(Op& op, bool is_difference, schema::ActivationFunctionType f) {
  using F = schema::ActivationFunctionType;
  const auto x = op.quantization(0), y = op.quantization(1);
  auto result = op.output_quantization();
  const DType type = op.output_type();
  if (!x || !y || !result || !is_byte(type) || op.input_type(0) != type || op.input_type(1) != type)
    return {};
  if (!x->is_per_tensor() || !y->is_per_tensor() || !result->is_per_tensor()) return {};
  if (f != F::NONE && f != F::RELU) return {};  // the ends of other ranges are numbers that codes stand for
  const std::size_t own = op.is_only_reader(1) ? 1 : 0;
  if (!op.is_only_reader(own)) return {};
  Steps of_x = steps_of(*x, type), of_y = steps_of(*y, type), of_result = steps_of(*result, type);
  if (is_difference) of_y = {of_y.scale, -of_y.highest, -of_y.lowest};
  if (f == F::RELU) of_result.lowest = std::max<std::int64_t>(of_result.lowest, 0);
  const auto scales = own == 1 ? sum_scales(of_x, of_y, of_result) : sum_scales(of_y, of_x, of_result);
  if (!scales) return {};
  Quantization of_own = own == 1 ? *y : *x;
  of_own.scales[0] = scales->y;
  result->scales[0] = scales->result;
  Values terms(2);
  terms[1 - own] = op.in(1 - own);
  terms[own] = op.numbers_of_codes(own, of_own);
  Value* sum = op.activation(op.make(op.row().tf, terms), f);
  op.as_codes(true);
  return Values{op.codes_of_result(sum, *result)};
}

}  // namespace t2o::tflite
