#include <gtest/gtest.h>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

TEST(XlaSort, OneOperand) {
  op_case("XlaSort").in(any, {3, 7}).dtypes({f32, f64, i32, i64}).nan_inf().refuses(Code::not_constant, "rank", {Mode::rank}).check();
  op_case("XlaSort").in(any, {7}).dtypes({f32, f16}).nan_inf().refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

TEST(XlaSort, KeysAndValues) {
  op_case("XlaKeyValueSort").in(any, {3, 7}).in(i32, {3, 7}).dtypes({f32, f64, i32, i64}).refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

Case any_sort(const std::string& title, const std::vector<DType>& types, const Ints& dims, std::int32_t axis, const Function& comparator) {
  return graph_case("XlaVariadicSort " + title, [=](Builder& b) {
           Strings in;
           for (std::size_t i = 0; i < types.size(); ++i) in.push_back(b.input(types[i] == any ? b.dtype() : types[i], dims, verify::Range{0, 4}));
           const std::string at = b.const_input(Tensor::scalar<std::int32_t>(axis));
           add_function(b, comparator);
           const std::string y = b.op("XlaVariadicSort", {in, at}, {{"comparator", engines::TfFunction{comparator.name}}, {"is_stable", true}});
           for (std::size_t i = 0; i < types.size(); ++i) b.output(y + ":" + std::to_string(i));
         })
      .dtypes({f32});
}

TEST(XlaSort, Comparators) {
  const auto sort = [](const std::string& title, const std::vector<DType>& types, const Ints& dims, std::int32_t axis, const Function& comparator) {
    return any_sort(title, types, dims, axis, comparator).refuses(Code::not_constant, "rank", {Mode::rank});
  };
  sort("ascending", {any}, {3, 7}, 1, {"compare", 2, any, {"z Less a0 a1"}, {"z"}, "DT_BOOL"}).dtypes({f32, i32, i64, u32}).check();
  sort("descending", {any}, {7, 3}, 0, {"compare", 2, any, {"z Greater a0 a1"}, {"z"}, "DT_BOOL"}).dtypes({f32, i32}).check();
  sort("descending too", {any}, {7, 3}, 0, {"compare", 2, any, {"z Less a1 a0"}, {"z"}, "DT_BOOL"}).dtypes({f32}).check();
  sort("stable", {i32, i32}, {3, 9}, 1, {"compare", 4, i32, {"z Less a0 a1"}, {"z"}, "DT_BOOL"}).check();
  sort("by the second", {i32, i32}, {3, 9}, 1, {"compare", 4, i32, {"z Greater a2 a3"}, {"z"}, "DT_BOOL"}).check();
  sort("by two keys", {i32, i32, i32}, {3, 9}, 1,
       {"compare", 6, i32, {"less Less a2 a3", "first Less a0 a1", "same Equal a0 a1", "both LogicalAnd same less", "z LogicalOr first both"}, {"z"}, "DT_BOOL"}).check();
  any_sort("no order", {i32}, {3, 9}, 1, {"compare", 2, i32, {"z LessEqual a0 a1"}, {"z"}, "DT_BOOL"}).refuses(Code::unsupported_attr, "has no ONNX form").check();
}

}  // namespace
}  // namespace t2o::numeric
