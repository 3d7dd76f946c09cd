#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

DType real_of(DType complex) { return complex == c64 ? f32 : f64; }

TEST(Fft, OneAxis) {
  for (const char* op : {"FFT", "IFFT"})
    for (const DType t : {c64, c128}) {
      for (const std::int64_t n : {1, 2, 3, 4, 7, 12, 16})
        op_case(op).in(t, {2, 3, n}).attr("Tcomplex", t).check();
      op_case(op).in(t, {5}).attr("Tcomplex", t).check();
      op_case(op).in(t, {0, 8}).attr("Tcomplex", t).check();
    }
}

TEST(Fft, SeveralAxes) {
  for (const char* op : {"FFT2D", "IFFT2D"}) {
    op_case(op).in(c64, {0, 5}).check();
    op_case(op).in(c64, {0, 4, 6}).attr("Tcomplex", c64).check();
    op_case(op).in(c64, {2, 4, 6}).attr("Tcomplex", c64).empty().check();
    op_case(op).in(c128, {3, 5}).attr("Tcomplex", c128).check();
  }
  for (const char* op : {"FFT3D", "IFFT3D"}) {
    op_case(op).in(c64, {2, 4, 3, 6}).attr("Tcomplex", c64).empty().check();
    op_case(op).in(c128, {2, 4, 5}).attr("Tcomplex", c128).check();
    op_case(op).in(c64, {0, 2, 3, 4}).attr("Tcomplex", c64).check();
  }
}

TEST(Fft, Real) {
  for (const DType t : {c64, c128}) {
    const auto forward = [t](Ints dims, std::int32_t n) {
      return op_case("RFFT")
          .in(real_of(t), std::move(dims))
          .i32s({n})
          .attr("Treal", real_of(t))
          .attr("Tcomplex", t);
    };
    for (const std::int32_t n : {1, 2, 3, 4, 7, 12, 16}) forward({2, 3, n}, n).check();
    forward({2, 8}, 5).check();
    forward({2, 9}, 8).check();
    forward({3, 256}, 256).check();
    forward({600}, 512).check();
    forward({9}, 9).check();
    forward({0, 8}, 8).check();
    const auto inverse = [t](Ints dims, std::int32_t n) {
      return op_case("IRFFT").in(t, std::move(dims)).i32s({n}).attr("Treal", real_of(t)).attr("Tcomplex", t);
    };
    for (const std::int32_t n : {1, 2, 3, 4, 7, 12, 16}) inverse({2, 3, n / 2 + 1}, n).check();
    inverse({2, 8}, 8).check();
    inverse({2, 8}, 7).check();
    inverse({5}, 9).check();
  }
}

// Long transforms of an even length are one of half the length. No form is a one-sided inverse, which ONNX Runtime
// up to 1.20 refuses. The imaginary parts of the first frequency and of n / 2 do not count.
TEST(Fft, LongInverseOfRealNumbers) {
  const auto inverse = [](DType t, Ints dims, std::int32_t n) {
    return op_case("IRFFT").in(t, std::move(dims)).i32s({n}).attr("Treal", real_of(t)).attr("Tcomplex", t);
  };
  inverse(c64, {3, 257}, 512).gives({{"DFT", 0}, {"MatMul", 2}}, 17).check();
  for (const std::int32_t n : {1024, 2048, 1026})
    inverse(c64, {3, n / 2 + 1}, n).gives({{"DFT", 1}, {"MatMul", 0}}, 17).check();
  inverse(c64, {2, 2, 700}, 1024).since(17).empty().check();
  inverse(c64, {2, 514}, 1027).gives({{"DFT", 1}, {"Mul", 1}}, 17).check();
  for (const std::int32_t n : {2, 4, 64})
    inverse(c128, {3, n / 2 + 1}, n).gives({{"DFT", 1}}, 17).tol(1e-12, 1e-12).only_opsets({17, 21}).check();
}

TEST(Fft, RealSeveralAxes) {
  op_case("RFFT2D").in(f32, {2, 4, 6}).i32s({4, 6}).attr("Treal", f32).attr("Tcomplex", c64).empty().check();
  op_case("RFFT2D").in(f32, {5, 8}).i32s({3, 4}).attr("Treal", f32).attr("Tcomplex", c64).check();
  op_case("RFFT3D").in(f64, {2, 4, 3, 6}).i32s({4, 3, 5}).attr("Treal", f64).attr("Tcomplex", c128).empty().check();
  op_case("IRFFT2D").in(c64, {2, 4, 4}).i32s({4, 6}).attr("Treal", f32).attr("Tcomplex", c64).empty().check();
  op_case("IRFFT2D").in(c64, {4, 4}).i32s({3, 5}).attr("Treal", f32).attr("Tcomplex", c64).check();
  graph_case("the shape of IRFFT2D", [](Builder& b) {
    const std::string y = b.op("IRFFT2D", {b.input(c64, {2, 4, 4}), b.input(Tensor::of<std::int32_t>({2}, {4, 6}))}, {{"Treal", f32}, {"Tcomplex", c64}});
    b.output(b.op("Shape", {y}));
    b.output(y);
  }).check();
  op_case("IRFFT3D").in(c128, {2, 4, 3, 4}).i32s({4, 3, 7}).attr("Treal", f64).attr("Tcomplex", c128).empty().check();
}

TEST(Fft, LengthsKnownAtRunTime) {
  op_case("RFFT").in(f32, {2, 12}).i32s({12}, fed).attr("Treal", f32).attr("Tcomplex", c64).check();
  op_case("RFFT").in(f32, {2, 12}).i32s({7}, fed).attr("Treal", f32).attr("Tcomplex", c64).check();
  op_case("IRFFT").in(c64, {2, 7}).i32s({12}, fed).attr("Treal", f32).attr("Tcomplex", c64).check();
  op_case("IRFFT").in(c64, {2, 7}).i32s({9}, fed).attr("Treal", f32).attr("Tcomplex", c64).check();
  for (const std::int32_t n : {1, 2, 3, 9, 12})
    op_case("IRFFT")
        .in(c128, {2, 7})
        .i32s({n}, fed)
        .attr("Treal", f64)
        .attr("Tcomplex", c128)
        .tol(1e-11, 1e-11)
        .check();
  op_case("RFFT2D").in(f32, {2, 5, 8}).i32s({5, 8}, fed).attr("Treal", f32).attr("Tcomplex", c64).check();
}

TEST(Fft, OfRealNumbers) {
  for (const auto& [t, z] : {std::pair(f32, c64), std::pair(f64, c128)})
    for (const char* op : {"FFT", "IFFT", "FFT2D", "IFFT2D"})
      for (const std::int64_t n : {8, 6})
        graph_case(op, [=, t = t, z = z](Builder& b) {
          const std::string x = b.input(t, {2, 4, n});
          const std::string cast = b.op("Cast", {x}, {{"DstT", z}});
          b.output(b.op(op, {cast}, {{"Tcomplex", z}}));
        }).check();
}

// Lengths at which ONNX Runtime's own DFT in f32 has few digits.
TEST(Fft, Precision) {
  for (const char* op : {"FFT", "IFFT"})
    op_case(op).in(c128, {2, 12}).attr("Tcomplex", c128).tol(1e-12, 1e-12).only_opsets({17, 21}).check();
  for (const std::int64_t n : {400, 1000, 1100})
    op_case("FFT").in(c64, {2, n}).attr("Tcomplex", c64).tol(1e-4, 2e-4).check();
}

// The parts of a spectrum go on without being put together again.
TEST(Fft, Chain) {
  graph_case("filter",
             [](Builder& b) {
               const std::string x = b.input(f32, {2, 10});
               const std::string length = b.constant_of<std::int32_t>({1}, {10});
               const std::string z = b.op("RFFT", {x, length}, {{"Treal", f32}, {"Tcomplex", c64}});
               const std::string filtered = b.op("Mul", {z, b.const_input(c64, {6})});
               b.output(b.op("IRFFT", {filtered, length}, {{"Treal", f32}, {"Tcomplex", c64}}));
               b.output(b.op("ComplexAbs", {z}, {{"Tout", f32}}));
               b.output(b.op("Angle", {z}, {{"Tout", f32}}));
             })
      .tol(1e-3, 1e-4)
      .check();
}

// The first imaginary part and that of n / 2 are +0: beside a negative real part the angle is pi, not -pi.
TEST(Fft, AnglesOfRealBins) {
  for (const std::int32_t n : {8, 10})
    graph_case("angles",
               [n](Builder& b) {
                 const std::string x = b.input(f32, {4, n});
                 const std::string length = b.constant_of<std::int32_t>({1}, {n});
                 const std::string z = b.op("RFFT", {x, length}, {{"Treal", f32}, {"Tcomplex", c64}});
                 b.output(b.op("Angle", {z}, {{"Tout", f32}}));
               })
        .without({Mode::rank})
        .check();
}

}  // namespace
}  // namespace t2o::numeric
