#include <gtest/gtest.h>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

struct Numbers {
  Ints window, inserted, mapped;
  std::int64_t vector_axis;
  Ints own = {}, batch = {};
  std::string text() const { return message({{1, window}, {2, inserted}, {3, mapped}, {4, {vector_axis}}, {5, own}, {6, batch}}); }
};

struct Shapes3 {
  Ints operand, index, updates;
};

Case scatter(const std::string& how, const Shapes3& s, const std::vector<std::int32_t>& index, const Numbers& n, Kind kind = fed) {
  Case made = graph_case("XlaScatter " + how, [=](Builder& b) {
           const std::string x = b.input(b.dtype(), s.operand);
           const TensorPtr places = Tensor::of<std::int32_t>(s.index, index);
           const std::string at = kind == fed ? b.input(places) : b.const_input(places);
           const std::string u = b.input(b.dtype(), s.updates);
           const auto f = combiner(b, how);
           b.output(b.op("XlaScatter", {x, at, u}, {{"update_computation", f}, {"dimension_numbers", n.text()}, {"indices_are_sorted", false}}));
         })
      .dtypes({f32});
  return kind == fed ? made.refuses(Code::not_constant, "rank of its indices", {Mode::rank}) : made;
}

const Shapes3 kRows{{5, 3}, {4, 1}, {4, 3}};
const Numbers kOfRows{{1}, {0}, {0}, 1};

TEST(XlaScatter, Computations) {
  scatter("second", kRows, {0, 4, 2, 9}, kOfRows).dtypes({f32, f16, i32, i64, boolean}).nan_inf().check();
  scatter("AddV2", kRows, {0, 4, 0, -1}, kOfRows).dtypes({f32, f16, i32, i64}).check();
  scatter("Mul", kRows, {0, 4, 0, 5}, kOfRows).dtypes({f32, i32}).check();
  scatter("Maximum", kRows, {0, 4, 0, 5}, kOfRows).dtypes({f32, i32}).check();
  scatter("Minimum", kRows, {0, 4, 0, 5}, kOfRows).dtypes({f32, i64}).check();
  scatter("LogicalOr", kRows, {0, 4, 0, 5}, kOfRows).dtypes({boolean}).check();
  scatter("LogicalAnd", kRows, {0, 4, 0, 5}, kOfRows).dtypes({boolean}).check();
}

TEST(XlaScatter, KnownIndices) {
  scatter("second", kRows, {0, 4, 2, 1}, kOfRows, constant).check();
  scatter("second", kRows, {0, 4, 2, 7}, kOfRows, constant).check();
  scatter("AddV2", kRows, {0, 4, 2, 1}, kOfRows, constant).check();
  scatter("Maximum", kRows, {0, 4, 2, 1}, kOfRows, constant).check();
}

TEST(XlaScatter, Axes) {
  scatter("second", {{5, 3}, {2, 2}, {2}}, {0, 1, 4, 2}, {{}, {0, 1}, {0, 1}, 1}).note("elements").check();
  scatter("AddV2", {{5, 3}, {2, 2}, {2}}, {1, 0, 3, 4}, {{}, {0, 1}, {1, 0}, 1}).note("in another order, one outside").check();
  scatter("AddV2", {{5, 3}, {4, 1}, {5, 4}}, {0, 2, 1, 3}, {{0}, {1}, {1}, 1}).note("columns").check();
  scatter("second", {{6, 3}, {2, 1}, {2, 2, 3}}, {0, 3}, {{1, 2}, {}, {0}, 1}).note("windows").check();
  scatter("second", {{6, 3}, {2, 1}, {2, 2, 3}}, {0, 5}, {{1, 2}, {}, {0}, 1}).note("a window that does not fit").check();
  scatter("AddV2", {{6, 5}, {2, 1}, {2, 2, 3}}, {0, 1}, {{1, 2}, {}, {0}, 1}).note("windows of a part").check();
  scatter("second", {{6, 5}, {2, 1}, {3, 2}}, {0, 4}, {{0}, {0}, {0}, 1}).note("a part of each row").check();
  scatter("second", {{5, 3}, {1}, {3}}, {2}, {{0}, {0}, {0}, 0}).note("one row").check();
  scatter("AddV2", {{5, 3}, {2}, {2, 2}}, {3, 1}, {{0, 1}, {}, {0, 1}, 0}).note("one block").check();
  scatter("second", {{5, 3}, {2, 1}, {3, 2}}, {3, 1}, {{0}, {0}, {0}, 1}).note("the updates' axes turned").check();
}

TEST(XlaScatter, BatchAxes) {
  scatter("AddV2", {{2, 5, 3}, {2, 4, 1}, {2, 4, 3}}, {0, 4, 0, 9, 1, 1, 3, 0}, {{2}, {1}, {1}, 2, {0}, {0}}).check();
}

TEST(XlaScatter, Refusals) {
  graph_case("XlaScatter sub", [](Builder& b) {
    const std::string x = b.input(f32, {5, 3}), at = b.input(Tensor::of<std::int32_t>({4, 1}, {0, 1, 2, 3})), u = b.input(f32, {4, 3});
    const auto f = combiner(b, "Sub", f32);
    b.output(b.op("XlaScatter", {x, at, u}, {{"update_computation", f}, {"dimension_numbers", kOfRows.text()}, {"indices_are_sorted", false}}));
  }).refuses(Code::unsupported_attr, "has no ONNX form").check();
}

}  // namespace
}  // namespace t2o::numeric
