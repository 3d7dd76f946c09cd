#include <gtest/gtest.h>

#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const DTypes complexes = {c64, c128};

TEST(Complex, FromParts) {
  for (const DType t : {f32, f64}) {
    const DType z = t == f32 ? c64 : c128;
    op_case("Complex").in(t, {2, 3}).in(t, {2, 3}).attr("Tout", z).nan_inf().empty().check();
    op_case("Complex").in(t, {2, 1, 3}).in(t, {4, 1}).attr("Tout", z).check();
    op_case("Complex").in(t, {2, 3}).in(t, {}, constant).attr("Tout", z).check();
    op_case("Complex").in(t, {}).in(t, {}).attr("Tout", z).check();
    for (const char* op : {"Real", "Imag", "Angle", "ComplexAbs"}) {
      op_case(op).in(z, {2, 3}).attr("Tout", t).check();
      op_case(op).in(z, {}).attr("Tout", t).check();
      op_case(op).in(z, {0, 3}).attr("Tout", t).check();
    }
  }
}

TEST(Complex, AnglesOnTheAxes) {
  graph_case("angle", [](Builder& b) {
    const std::string re = b.input(verify::tensor_of(f32, {8}, {1, 0, -1, 0, 0, -2, 3, -inf}));
    const std::string im = b.input(verify::tensor_of(f32, {8}, {0, 1, 0, -1, 0, -2, -3, inf}));
    const std::string z = b.op("Complex", {re, im}, {{"Tout", c64}});
    b.output(b.op("Angle", {z}, {{"Tout", f32}}));
    b.output(b.op("ComplexAbs", {z}, {{"Tout", f32}}));
  }).check();
}

// Beside the results of a Fourier transform, whose absolute values may overflow, stands what is none.
TEST(Complex, AbsoluteOfWhatIsNoSpectrum) {
  graph_case("joined", [](Builder& b) {
    const std::string part = b.input(verify::tensor_of(f32, {4}, {1e25, -2e25, 0, 3}));
    const std::string z = b.op("Complex", {part, part}, {{"Tout", c64}}), zero = b.op("ZerosLike", {z});
    const std::string axis = b.constant_of<std::int32_t>({}, {0}), f = b.op("FFT", {zero});
    for (const Strings& both : {Strings{f, z}, Strings{z, f}})
      b.output(b.op("ComplexAbs", {b.op("ConcatV2", {both, axis})}, {{"Tout", f32}}));
  }).check();
}

// An infinite part makes the number infinite, also beside NaN; squares do not overflow.
TEST(Complex, Absolute) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType t : {f32, f64})
    graph_case("absolute", [&](Builder& b) {
      const std::string re = b.input(verify::tensor_of(t, {9}, {inf, nan, -inf, nan, nan, 3e18, t == f32 ? 2e30 : 2e20, -0.0, 3}));
      const std::string im = b.input(verify::tensor_of(t, {9}, {nan, -inf, 1, 1, nan, 4e18, t == f32 ? -3e30 : -3e20, 0, -4}));
      const std::string z = b.op("Complex", {re, im}, {{"Tout", t == f32 ? c64 : c128}});
      b.output(b.op("ComplexAbs", {z}, {{"Tout", t}}));
    }).check();
}

TEST(Complex, Casts) {
  for (const DType t : {f32, f64, i32, i64, f16, u8, boolean}) {
    op_case("Cast").in(t, {2, 3}).attr("DstT", c64).check();
    op_case("Cast").in(t, {2, 3}).attr("DstT", c128).check();
  }
  for (const DType t : {f32, f64, i32, i64, f16, boolean, c64, c128})
    op_case("Cast").in(any, {2, 3}).attr("DstT", t).dtypes(complexes).check();
  op_case("Conj").in(any, {2, 3}).dtypes(complexes).check();
}

TEST(Complex, Bitcasts) {
  op_case("Bitcast").in(c64, {2, 3}).attr("type", f32).check();
  op_case("Bitcast").in(f64, {3, 2}).attr("type", c128).check();
  op_case("Bitcast").in(c64, {2}).attr("type", f64).refuses(Code::unsupported_type, "Bitcast").check();
}

TEST(Complex, Shapes) {
  const auto one = [](const char* op) { return op_case(op).in(any, {2, 3, 4}).dtypes({c64}); };
  one("Shape").check();
  one("Shape").attr("out_type", i64).check();
  one("Size").check();
  one("Rank").check();
  op_case("ShapeN").in(c64, {2, 3}).in(c64, {4}).as_list(2).check();
  one("Identity").check();
  one("ZerosLike").check();
  one("OnesLike").check();
  one("Reshape").i32s({-1, 6}).check();
  one("Transpose").i32s({2, 0, 1}).check();
  one("ConjugateTranspose").i32s({2, 0, 1}).check();
  one("ExpandDims").scalar<std::int32_t>(-1).check();
  one("Tile").i32s({1, 2, 3}).check();
  one("Slice").i32s({0, 1, 2}).i32s({-1, 2, 1}).check();
  one("Pad").values<std::int32_t>({3, 2}, {0, 1, 2, 0, 1, 1}, constant).check();
  one("Reverse").values<bool>({3}, {true, false, true}, constant).check();
  one("ReverseV2").i32s({-1}).check();
  one("Roll").scalar<std::int32_t>(3).scalar<std::int32_t>(-1).check();
  one("BroadcastTo").i32s({5, 2, 3, 4}).check();
  op_case("Squeeze").in(c64, {2, 1, 3, 1}).attr("squeeze_dims", Ints{-1}).check();
  op_case("Squeeze").in(c64, {2, 1, 3, 1}).check();
}

TEST(Complex, JoinsAndParts) {
  op_case("ConcatV2").in(c64, {2, 3}).in(c64, {2, 2}).as_list(2).scalar<std::int32_t>(-1).check();
  op_case("Pack").in(c64, {2, 3}).in(c64, {2, 3}).as_list(2).attr("axis", -1).check();
  op_case("Unpack").in(c64, {2, 3}).attr("num", 3).attr("axis", -1).check();
  op_case("Split").scalar<std::int32_t>(-1).in(c64, {2, 4}).attr("num_split", 2).check();
  op_case("SplitV").in(c64, {2, 5}).ints({2, -1}).scalar<std::int32_t>(-1).attr("num_split", 2).check();
  op_case("GatherV2").in(c64, {2, 5}).i32s({4, 0, 1}).scalar<std::int32_t>(-1).check();
  op_case("GatherNd").in(c64, {2, 5, 3}).values<std::int32_t>({2, 2}, {1, 0, 0, 4}, constant).check();
  op_case("Fill").i32s({2, 3}).in(c64, {}).check();
  op_case("PadV2")
      .in(c64, {2, 2})
      .values<std::int32_t>({2, 2}, {0, 1, 2, 0}, constant)
      .in(c64, {}, constant)
      .check();
  op_case("Select").in(boolean, {2}).in(c64, {2, 3}).in(c64, {2, 3}).check();
  op_case("SelectV2").in(boolean, {2, 3}).in(c64, {2, 1}).in(c64, {3}).check();
  op_case("StridedSlice")
      .in(c64, {4, 3, 5})
      .i32s({0, 0, -1})
      .i32s({0, 0, 0})
      .i32s({1, 1, -2})
      .attr("begin_mask", 3)
      .attr("end_mask", 3)
      .attr("new_axis_mask", 2)
      .check();
  op_case("StridedSlice")
      .in(c64, {4, 3})
      .i32s({0, 1})
      .i32s({0, 2})
      .i32s({1, 1})
      .attr("ellipsis_mask", 1)
      .attr("shrink_axis_mask", 2)
      .check();
}

TEST(Complex, RowOfConstantsAndInputs) {
  graph_case("chain", [](Builder& b) {
    const std::string z = b.input(c64, {2, 3});
    const std::string w = b.const_input(c64, {3});
    const std::string sum = b.op("AddV2", {z, w});
    b.output(b.op("Mul", {sum, w}));
    b.output(b.op("Imag", {b.op("Conj", {sum})}, {{"Tout", f32}}));
    b.output(sum);
  }).check();
}

TEST(Complex, Refused) {
  op_case("SegmentProd").in(c64, {3, 3}).i32s({0, 0, 1}).refuses(Code::unsupported_type, "of complex numbers").check();
}

}  // namespace
}  // namespace t2o::numeric
