#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "op_mappers/all.h"
#include "op_mappers/fft.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kWidest = 65536, kFarthest = 1 << 30;  // of a window; between windows
constexpr std::int64_t kMostWeights = 1 << 24;
constexpr double kHighestFrequency = 1e9;

// 0.5 - 0.5 cos(2 pi i / n)
Value* hann_window(MapperContext& c, std::int64_t n) {
  std::vector<float> w;
  for (std::int64_t i = 0; i < n; ++i)
    w.push_back(static_cast<float>(
        0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n))));
  return c.constant({n}, w);
}

// [samples, channels] -> [channels, frames, size], as many frames as there are whole ones
Value* frames_of(MapperContext& c, Value* x, std::int64_t size, std::int64_t stride) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  // max(samples - size + stride, 0) / stride
  Value* samples = c.dim(x, 0);
  Value* room = c.add(samples, c.i64(stride - size));
  Value* filled = c.maximum(room, zero);
  Value* count = c.div(filled, c.constant(stride));
  Value* frame = c.range(zero, count, one);
  Value* begins = c.mul(frame, c.constant(stride));
  Value* column = c.unsqueeze(begins, {1});
  Value* index = c.add(column, c.ints(ints_from(0, size)));
  return c.gather(c.transpose(x, {1, 0}), index, 1);
}

Mapper map_audio_spectrogram(Dft form) {
  return [form](MapperContext& c) {
    const auto size = c.attr<std::int64_t>("window_size"), stride = c.attr<std::int64_t>("stride");
    const Shape& shape = c.in(0)->shape();
    if (size < 2 || stride < 1 || (shape.ranked() && shape.rank() != 2))
      c.fail(Code::bad_model,
             "AudioSpectrogram needs samples of channels, a window of 2 or more and a stride of 1 or more");
    if (size > kWidest || stride > kFarthest)
      c.fail(Code::unsupported_attr, "a window or stride of " + std::to_string(std::max(size, stride)));
    const auto length = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
    Value* frames = frames_of(c, c.in(0), size, stride);
    Value* windowed = c.mul(frames, hann_window(c, size));
    const Complex z = forward_real(c, form, windowed, c.constant(length));
    Value* re = c.mul(z.re, z.re);
    Value* power = c.add(re, c.mul(z.im, z.im));
    return Values{c.flag("magnitude_squared") ? power : c.sqrt(power)};
  };
}

// ---- Mfcc

struct MelBand {
  std::int64_t bins, channels;
  double sample_rate, lower, upper;
};

// TensorFlow gives zeros for a band that ends behind the last bin.
bool ends_behind_bins(const MelBand& b) {
  const double hertz_per_bin = 0.5 * b.sample_rate / static_cast<double>(b.bins - 1);
  return is_known(b.bins) && static_cast<std::int64_t>(b.upper / hertz_per_bin) >= b.bins;
}

// The same of a number of bins that is known when the model runs: 0 or 1.
Value* has_bins_for(MapperContext& c, const MelBand& b) {
  Value* bins = c.cast(c.dim(c.in(0), -1), DType::f64);
  const double per_interval = b.upper / (0.5 * b.sample_rate);
  Value* last = c.mul(c.sub(bins, c.scalar(DType::f64, 1)), c.scalar(DType::f64, per_interval));
  return c.cast(c.less(c.floor(last), bins), DType::f32);
}

double mel(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

// [bins, channels]: triangles between the centers, which are equally far apart in mel. DC and what is outside
// of the band is out.
struct MelWeights {
  std::int64_t begin, end;  // of the bins that count; what is infinite elsewhere spoils nothing
  std::vector<float> matrix;
};
MelWeights mel_weights(const MelBand& b) {
  const double low = mel(b.lower);
  const double spacing = (mel(b.upper) - low) / static_cast<double>(b.channels + 1);
  std::vector<double> centers;
  for (std::int64_t i = 0; i <= b.channels; ++i)
    centers.push_back(low + spacing * static_cast<double>(i + 1));
  const double hertz_per_bin = 0.5 * b.sample_rate / static_cast<double>(b.bins - 1);
  const auto first = static_cast<std::int64_t>(1.5 + b.lower / hertz_per_bin);
  const auto last = static_cast<std::int64_t>(b.upper / hertz_per_bin);
  const std::int64_t begin = std::min(first, b.bins - 1), end = std::clamp(last + 1, begin + 1, b.bins);
  std::vector<float> w(static_cast<std::size_t>((end - begin) * b.channels), 0.0F);
  std::int64_t next = 0;  // the first center that is not below
  for (std::int64_t i = first; i <= last && i < b.bins; ++i) {
    const double m = mel(static_cast<double>(i) * hertz_per_bin);
    while (next < b.channels && nth(centers, next) < m) ++next;
    const double above = nth(centers, next);
    const double below = next == 0 ? low : nth(centers, next - 1);
    const double share = (above - m) / (above - below);
    if (next > 0) nth(w, (i - begin) * b.channels + next - 1) += static_cast<float>(share);
    if (next < b.channels) nth(w, (i - begin) * b.channels + next) += static_cast<float>(1 - share);
  }
  return {begin, end, std::move(w)};
}

// The bins that count, times their weights.
Value* mel_energy(MapperContext& c, const MelBand& b, Value* magnitude) {
  MelWeights w = mel_weights(b);
  Value* weights = c.constant({w.end - w.begin, b.channels}, w.matrix);
  if (w.begin > 0 || w.end < b.bins) magnitude = c.slice(magnitude, {w.begin}, {w.end}, {-1});
  return c.matmul(c.sqrt(magnitude), weights);
}

// The same of a number of bins that is known when the model runs.
Value* runtime_mel_energy(MapperContext& c, const MelBand& b, Value* magnitude) {
  const auto wide = [&](double v) { return c.scalar(DType::f64, v); };
  Value* bins = c.dim(c.in(0), -1);
  Value* intervals = c.cast(c.sub(bins, c.i64(1)), DType::f64);
  Value* hertz_per_bin = c.div(wide(0.5 * b.sample_rate), intervals);
  Value* bin = c.cast(iota(c, bins), DType::f64);
  Value* first = c.floor(c.add(c.div(wide(b.lower), hertz_per_bin), wide(1.5)));
  Value* last = c.floor(c.div(wide(b.upper), hertz_per_bin));
  Value* from_first = c.greater_equal(bin, first);
  Value* is_in = c.logical_and(from_first, c.less_equal(bin, last));
  Value* hertz = c.mul(bin, hertz_per_bin);
  Value* place = c.mul(c.log(c.add(c.div(hertz, wide(700)), wide(1))), wide(1127));  // in mel
  const double low = mel(b.lower), spacing = (mel(b.upper) - low) / static_cast<double>(b.channels + 1);
  std::vector<double> centers;
  for (std::int64_t i = 1; i <= b.channels; ++i) centers.push_back(low + spacing * static_cast<double>(i));
  Value* distance = c.abs(c.sub(c.unsqueeze(place, {1}), c.constant({b.channels}, centers)));
  Value* weight = c.maximum(c.sub(wide(1), c.div(distance, wide(spacing))), wide(0));
  Value* weights = c.cast(c.where(c.unsqueeze(is_in, {1}), weight, wide(0)), DType::f32);
  Value* zero = c.scalar_like(magnitude, 0);
  Value* heard = c.where(is_in, magnitude, zero);
  return c.matmul(c.sqrt(heard), weights);
}

// [channels, coefficients]: sqrt(2 / n) cos(pi / n (j + 1/2) i)
std::vector<float> cosine_transform(MapperContext& c, std::int64_t n, std::int64_t coefficients) {
  if (n > kMostWeights / coefficients)
    c.fail(Code::unsupported_attr, std::to_string(coefficients) + " coefficients of " + std::to_string(n) +
                                       " channels need more weights than a model should have");
  std::vector<float> w;
  const double scale = std::sqrt(2.0 / static_cast<double>(n)),
               step = std::numbers::pi / static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < coefficients; ++i)
      w.push_back(static_cast<float>(
          scale * std::cos(static_cast<double>(i) * step * (static_cast<double>(j) + 0.5))));
  return w;
}

Values map_mfcc(MapperContext& c) {
  const Shape& shape = c.in(0)->shape();
  const MelBand band = {shape.ranked() && is_known(shape[-1]) ? shape[-1] : kUnknownDim,
                        c.attr<std::int64_t>("filterbank_channel_count"), static_cast<double>(c.const_int(1)),
                        c.attr<float>("lower_frequency_limit"), c.attr<float>("upper_frequency_limit")};
  const auto coefficients = c.attr<std::int64_t>("dct_coefficient_count");
  const bool counts_ok = (band.bins >= 2 || !is_known(band.bins)) && band.channels >= 1 &&
                         coefficients >= 1 && coefficients <= band.channels;
  const bool band_ok = band.lower >= 0 && band.upper > band.lower && band.upper < kHighestFrequency;
  if (!counts_ok || !band_ok || band.sample_rate < 1)
    c.fail(Code::bad_model,
           "the band, the number of channels or that of coefficients of Mfcc is out of range");
  if (is_known(band.bins) ? band.channels > kMostWeights / band.bins : band.channels > kWidest)
    c.fail(Code::unsupported_attr, std::to_string(band.channels) + " channels");
  Value* energy = is_known(band.bins) ? mel_energy(c, band, c.in(0)) : runtime_mel_energy(c, band, c.in(0));
  Value* logarithm = c.log(c.clip(energy, 1e-12, std::nullopt));
  std::vector<float> transform = cosine_transform(c, band.channels, coefficients);
  if (ends_behind_bins(band)) transform.assign(transform.size(), 0.0F);
  Value* cosines = c.constant({band.channels, coefficients}, transform);
  if (!is_known(band.bins) && band.upper > 0.5 * band.sample_rate)
    cosines = c.mul(cosines, has_bins_for(c, band));
  return {c.matmul(logarithm, cosines)};
}

}  // namespace

void register_audio(OpRegistry& r) {
  r.op("AudioSpectrogram").by(map_audio_spectrogram(Dft::matrices));
  r.op("AudioSpectrogram").since(17).by(map_audio_spectrogram(Dft::axis_attribute));
  r.op("AudioSpectrogram").since(20).by(map_audio_spectrogram(Dft::axis_input));
  r.op("Mfcc").note("constant sample rate").by(map_mfcc);
}

}  // namespace t2o::op_mappers
