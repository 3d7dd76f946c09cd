#include <gtest/gtest.h>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

const DTypes kSome = {f32, f64, f16, i32, i64, u8, boolean};

// The matrix has a row although the diagonal has no element.
TEST(MatrixDiag, ADiagonalOfNothing) {
  for (const std::int32_t k : {1, -1})
    op_case("MatrixDiagV3").in(any, {2, 0}).scalar<std::int32_t>(k).scalar<std::int32_t>(-1).scalar<std::int32_t>(-1).values_as(any, {}, {1}, constant)
        .dtypes({f32, i32}).check();
}

TEST(MatrixDiag, Make) {
  op_case("MatrixDiag").in(any, {2, 3}).dtypes(kSome).check();
  op_case("MatrixDiag").in(f32, {4}).nan_inf().check();
  const auto v3 = [](std::int32_t k, std::int32_t rows, std::int32_t columns) {
    return op_case("MatrixDiagV3").in(f32, {2, 3}).scalar<std::int32_t>(k).scalar<std::int32_t>(rows).scalar<std::int32_t>(columns).scalar<float>(9);
  };
  v3(0, -1, -1).check();
  v3(1, -1, -1).check();
  v3(-2, -1, -1).check();
  v3(0, 3, 5).check();
  v3(1, 3, 6).check();
  v3(-1, 4, 3).check();
  v3(1, 4, -1).check();
  v3(-1, -1, 3).check();
  for (const std::int32_t k : {0, 1, -2})
    op_case("MatrixDiagV2").in(f32, {2, 3}).scalar<std::int32_t>(k).scalar<std::int32_t>(-1).scalar<std::int32_t>(-1).scalar<float>(9).check();
}

TEST(MatrixDiag, Part) {
  op_case("MatrixDiagPart").in(any, {2, 3, 3}).dtypes(kSome).check();
  op_case("MatrixDiagPart").in(f32, {3, 5}).check();
  op_case("MatrixDiagPart").in(f32, {5, 3}).nan_inf().check();
  for (const std::int32_t k : {0, 1, -1, 3, -2})
    op_case("MatrixDiagPartV3").in(f32, {2, 3, 5}).scalar<std::int32_t>(k).scalar<float>(0).check();
  op_case("MatrixDiagPartV3").in(f32, {3, 5}).i32s({-1, 1}).scalar<float>(0).check();
}

TEST(MatrixDiag, Set) {
  op_case("MatrixSetDiag").in(any, {2, 3, 4}).in(any, {2, 3}).dtypes(kSome).check();
  for (const std::int32_t k : {0, 1, -1}) {
    const std::int64_t length = k == 0 ? 3 : k > 0 ? 3 : 2;
    op_case("MatrixSetDiagV3").in(f32, {2, 3, 4}).in(f32, {2, length}).scalar<std::int32_t>(k).check();
  }
}

const std::vector<const char*> kAlignments = {"LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"};

TEST(MatrixDiag, Bands) {
  for (const Kind kind : {constant, fed}) {
    for (const char* align : kAlignments) {
      op_case("MatrixDiagV3").in(f32, {2, 4, 3}).i32s({-2, 1}, kind).scalar<std::int32_t>(-1).scalar<std::int32_t>(-1).scalar<float>(9).attr("align", align).only_opsets({11, 18}).check();
      op_case("MatrixDiagV3").in(f32, {3, 3}).i32s({-1, 1}, kind).scalar<std::int32_t>(4).scalar<std::int32_t>(3).scalar<float>(9).attr("align", align).only_opsets({11, 18}).check();
      op_case("MatrixDiagPartV3").in(f32, {2, 3, 5}).i32s({-2, 3}, kind).scalar<float>(7).attr("align", align).only_opsets({11, 18}).check();
      op_case("MatrixDiagPartV3").in(f32, {5, 3}).i32s({1, 2}, kind).scalar<float>(7).attr("align", align).only_opsets({11, 18}).check();
      op_case("MatrixSetDiagV3").in(f32, {2, 3, 4}).in(f32, {2, 3, 3}).i32s({-1, 1}, kind).attr("align", align).only_opsets({11, 18}).check();
    }
    for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"}) op_case(op).in(f32, {2, 3}).scalar<std::int32_t>(1, kind).scalar<std::int32_t>(-1, fed).scalar<std::int32_t>(5, fed).scalar<float>(9).check();
    op_case("MatrixDiagV3").in(f32, {2, 3}).i32s({-1, -1}, kind).scalar<std::int32_t>(-1, fed).scalar<std::int32_t>(-1, fed).scalar<float>(9, fed).check();
    op_case("MatrixDiagPartV3").in(any, {3, 5}).i32s({1, 1}, kind).values_as(any, {}, {0}).dtypes({f32, i64, i32}).check();
    op_case("MatrixDiagPartV2").in(f32, {3, 5}).scalar<std::int32_t>(-1, kind).scalar<float>(0).check();
    op_case("MatrixSetDiagV2").in(f32, {3, 5}).in(f32, {3}).scalar<std::int32_t>(2, kind).check();
  }
}

TEST(MatrixDiag, BandPart) {
  for (const std::int64_t lower : {-1, 0, 1})
    for (const std::int64_t upper : {-1, 0, 2})
      op_case("MatrixBandPart").in(f32, {2, 4, 5}).scalar<std::int64_t>(lower).scalar<std::int64_t>(upper).nan_inf().check();
  op_case("MatrixBandPart").in(any, {4, 3}).scalar<std::int32_t>(1).scalar<std::int32_t>(0).dtypes(kSome).check();
  op_case("MatrixBandPart").in(f32, {4, 3}).scalar<std::int32_t>(1, fed).scalar<std::int32_t>(-1, fed).check();
}

TEST(MatrixDiag, Diag) {
  op_case("Diag").in(any, {3}).dtypes({f32, f64, i32, i64}).check();
  op_case("Diag").in(f32, {2, 3}).check();
  op_case("DiagPart").in(f32, {3, 3}).check();
  op_case("DiagPart").in(any, {2, 3, 2, 3}).dtypes({f32, f64, i32, i64}).check();
}

// By the names that these ops had once.
TEST(MatrixDiag, Batch) {
  constexpr char kLast = 13;  // the last version that had them
  for (const DType t : {f32, i64, boolean}) {
    old_case("BatchMatrixDiag", kLast, {{t, {2, 3}}}).check();
    old_case("BatchMatrixDiagPart", kLast, {{t, {2, 3, 3}}}).check();
    old_case("BatchMatrixSetDiag", kLast, {{t, {2, 3, 3}}, {t, {2, 3}}}).check();
  }
  for (const DType t : {f32, i64})
    graph_case("BatchMatrixBandPart", [t](Builder& b) {
      of_version(b.graph(), kLast);
      const std::string x = b.input(t, {2, 4, 5});
      const std::string lower = b.const_input(Tensor::scalar<std::int64_t>(1)),
                        upper = b.const_input(Tensor::scalar<std::int64_t>(-1));
      b.output(b.op("BatchMatrixBandPart", {x, lower, upper}));
    }).check();
}

}  // namespace
}  // namespace t2o::numeric
