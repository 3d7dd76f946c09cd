#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const Strings kWords = {"abc", "ABC", "", "a.c", "abcabc", "a\nc", "\xc3\xa4 bc", "12"};
const Ints kDims = {2, 4};

TEST(Strings, RegexFullMatch) {
  for (const char* pattern : {"abc", "a.c", "(abc)+", "", ".*", "[A-Z]+", "\\d+", ". bc", "(?i)abc", "\\p{L}.*", "a|abc"}) {
    op_case("StaticRegexFullMatch").strings(kDims, kWords).attr("pattern", pattern).since(20).check();
    op_case("RegexFullMatch").strings(kDims, kWords).strings({}, {pattern}, constant).since(20).check();
  }
  op_case("StaticRegexFullMatch").strings({}, {"abc"}).attr("pattern", "abc").since(20).check();
  op_case("StaticRegexFullMatch").strings({0}, {}).attr("pattern", "abc").since(20).check();
  op_case("RegexFullMatch").strings(kDims, kWords).strings({}, {"abc"}).since(20).refuses(Code::not_constant, "pattern").check();
  op_case("StaticRegexFullMatch").strings(kDims, kWords).attr("pattern", "abc").refuses_below(20, Code::opset_too_low, "20").check();
}

TEST(Strings, Join) {
  for (const char* separator : {"", "-", "\xc3\xa4"}) {
    op_case("StringJoin").strings(kDims, kWords).strings(kDims, kWords).as_list(2).attr("separator", separator).since(20).check();
    op_case("StringJoin").strings({}, {"<"}, constant).strings(kDims, kWords).strings({}, {">"}).as_list(3).attr("separator", separator).since(20).check();
    op_case("StringJoin").strings(kDims, kWords).as_list(1).attr("separator", separator).since(20).check();
    op_case("StringJoin").strings({}, {"a"}).strings({}, {"b"}).as_list(2).attr("separator", separator).since(20).check();
  }
}

TEST(Strings, ToNumber) {
  for (const DType t : {f32, f64})
    op_case("StringToNumber").strings({2, 4}, {"1", "-2.5", "1e3", "0", "+7", "inf", "-inf", "nan"}).attr("out_type", t).check();
  for (const DType t : {i32, i64}) op_case("StringToNumber").strings({3}, {"1", "-25", "2147483647"}).attr("out_type", t).check();
  op_case("StringToNumber").strings({}, {"1.25"}).attr("out_type", f32).check();
}

}  // namespace
}  // namespace t2o::numeric
