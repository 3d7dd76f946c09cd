#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll{f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};
const std::vector<std::int32_t> kPaddings{1, 2, 0, 1};

TEST(Pad, DtypesAndRuntimePaddings) {
  op_case("Pad")
      .in(any, {2, 3})
      .values<std::int32_t>({2, 2}, kPaddings, constant)
      .dtypes(kAll)
      .empty()
      .check();
  op_case("Pad").in(f32, {2, 3}).values<std::int32_t>({2, 2}, kPaddings).check();
  op_case("Pad").in(f32, {}).values<std::int32_t>({0, 2}, {}, constant).check();
}

TEST(Pad, StringsHaveNoKernel) {
  op_case("Pad")
      .strings({2}, {"a", "b"})
      .values<std::int32_t>({1, 2}, {1, 2}, constant)
      .refuses(Code::unsupported_type, "Pad")
      .check();
}

TEST(Pad, Bfloat16) {
  op_case("Pad").in(bf16, {2, 3}).values<std::int32_t>({2, 2}, kPaddings, constant).since(13).check();
}

TEST(PadV2, Value) {
  op_case("PadV2")
      .in(any, {2, 3})
      .values<std::int64_t>({2, 2}, {1, 2, 0, 1}, constant)
      .in(any, {}, constant)
      .dtypes(kAll)
      .check();
  op_case("PadV2").in(f32, {2, 3}).values<std::int32_t>({2, 2}, kPaddings).in(f32, {}).check();
}

TEST(PadV2, OfAScalar) {
  op_case("PadV2").in(f32, {}).values<std::int32_t>({0, 2}, {}, constant).scalar(1.5F).check();
  op_case("Pad").in(f32, {}).values<std::int32_t>({0, 2}, {}, constant).check();
}

TEST(MirrorPad, Modes) {
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    op_case("MirrorPad")
        .in(any, {3, 4})
        .values<std::int32_t>({2, 2}, {1, 2, 0, 3}, constant)
        .attr("mode", mode)
        .dtypes(kAll)
        .check();
  }
  const Case fed_paddings = op_case("MirrorPad").in(f32, {3, 4}).values<std::int32_t>({2, 2}, {1, 2, 0, 3});
  Case(fed_paddings).attr("mode", "REFLECT").check();
  Case(fed_paddings).attr("mode", "SYMMETRIC").check();
  op_case("MirrorPad").in(any, {2, 3, 2}).values<std::int64_t>({3, 2}, {1, 2, 0, 3, 2, 0}).attr("mode", "SYMMETRIC").dtypes({f32, f16, bf16, i32}).check();
  op_case("MirrorPad")
      .in(f32, {3, 4})
      .values<std::int32_t>({2, 2}, {3, 3, 4, 4}, constant)
      .attr("mode", "SYMMETRIC")
      .check();
}

TEST(MirrorPad, Gradient) {
  for (const char* mode : {"REFLECT", "SYMMETRIC"})
    for (const Kind kind : {constant, fed})
      op_case("MirrorPadGrad").in(any, {6, 3, 5}).values<std::int32_t>({3, 2}, {1, 2, 0, 0, 0, 2}, kind).attr("mode", mode).dtypes({f32, f64, f16}).nan_inf().check();
}

}  // namespace
}  // namespace t2o::numeric
