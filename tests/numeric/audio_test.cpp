#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Audio, Spectrogram) {
  const auto spectrogram = [](Ints dims, std::int64_t size, std::int64_t stride, bool squared) {
    return op_case("AudioSpectrogram")
        .in(f32, std::move(dims))
        .attr("window_size", size)
        .attr("stride", stride)
        .attr("magnitude_squared", squared)
        .tol(1e-3, 1e-4);
  };
  spectrogram({200, 2}, 30, 10, false).check();
  spectrogram({200, 1}, 64, 32, true).check();
  spectrogram({64, 1}, 64, 7, false).check();
  spectrogram({50, 1}, 64, 7, false).check();
  spectrogram({100, 3}, 8, 20, true).check();
}

TEST(Audio, Mfcc) {
  const auto mfcc = [](Ints dims, std::int32_t rate) {
    return op_case("Mfcc").in(f32, std::move(dims)).range(0, 3).scalar(rate).tol(1e-3, 1e-3);
  };
  mfcc({2, 5, 257}, 16000).check();
  mfcc({1, 4, 257}, 16000).attr("lower_frequency_limit", 7000.0F).attr("upper_frequency_limit", 9000.0F).attr("filterbank_channel_count", 5)
      .attr("dct_coefficient_count", 5).note("a band that ends behind the bins").check();
  mfcc({1, 5, 129}, 8000)
      .attr("filterbank_channel_count", 20)
      .attr("dct_coefficient_count", 10)
      .attr("upper_frequency_limit", 3000.0F)
      .attr("lower_frequency_limit", 100.0F)
      .check();
  op_case("Mfcc").values<float>({1, 2, 9}, {NAN, 1, 2, 3, 0.5F, NAN, INFINITY, -3, NAN, 0, 1, NAN, 1, 1, 1, 1, 1, 1}).scalar<std::int32_t>(16000)
      .attr("filterbank_channel_count", 4).attr("dct_coefficient_count", 3).tol(1e-3, 1e-3).note("only 20 to 4000 Hz are heard").check();
}

}  // namespace
}  // namespace t2o::numeric
