#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

Case binary(const char* equation, Ints a, Ints b) {
  return op_case("Einsum")
      .in(any, std::move(a))
      .in(any, std::move(b))
      .as_list(2)
      .attr("equation", equation)
      .dtypes({f32});
}
Case unary(const char* equation, Ints a) {
  return op_case("Einsum").in(f32, std::move(a)).as_list(1).attr("equation", equation);
}

// One matrix for all of a batch, which may be empty.
TEST(Einsum, OneMatrixForAll) {
  const auto graph_conv = [](const char* equation, Ints weights, Ints x, bool weights_last) {
    Case c = op_case("Einsum");
    if (!weights_last) c.in(f32, weights, constant);
    c.in(f32, std::move(x));
    if (weights_last) c.in(f32, std::move(weights), constant);
    return c.as_list(2).attr("equation", equation);
  };
  graph_conv("ij,bjk->bik", {3, 4}, {2, 4, 5}, false).empty().check();
  graph_conv("nij,ik->nkj", {3, 6}, {2, 3, 4}, true).empty().check();
  graph_conv("nij,ik->nkj", {300, 300}, {2, 300, 2}, true).empty().note("too big to be repeated").check();
  graph_conv("ij,nhjk->nhik", {3, 4}, {2, 3, 4, 5}, false).empty().check();
  binary("ij,bjk->bik", {3, 0}, {2, 0, 5}).without({Mode::rank}).note("sums of nothing").check();
}

TEST(Einsum, SumsOfIntegersWrapAround) {
  for (const char* equation : {"ij->i", "ij->", "ii->i"})
    op_case("Einsum").in(any, {30, 30}).as_list(1).range(-9e18, 9e18).attr("equation", equation).dtypes({i32, i64}).check();
  op_case("Einsum").in(any, {3, 4}).in(any, {5, 2}).as_list(2).range(-9e18, 9e18).attr("equation", "ij,kl->ik").dtypes({i32, i64}).check();
  binary("d,cda->", {4}, {4, 4, 0}).without({Mode::dims, Mode::rank}).note("ONNX Runtime's Einsum ends the process").check();
}

TEST(Einsum, Products) {
  binary("ij,jk->ik", {2, 3}, {3, 4}).dtypes({f32, f64, f16, i32, i64}).check();
  binary("ij,jk->ki", {2, 3}, {3, 4}).check();
  binary("abc,cd->abd", {2, 3, 4}, {4, 5}).check();
  binary("abc,acd->abd", {2, 3, 4}, {2, 4, 5}).empty().check();
  op_case("Einsum")
      .in(bf16, {2, 3})
      .in(bf16, {3, 4})
      .as_list(2)
      .attr("equation", "ij,jk->ik")
      .since(13)
      .check();
  binary("abc,cde->abde", {2, 3, 4}, {4, 5, 6}).check();
  binary("BTNH,BSNH->BNTS", {2, 3, 4, 5}, {2, 6, 4, 5}).check();
  binary("BNTS,BSNH->BTNH", {2, 4, 3, 6}, {2, 6, 4, 5}).check();
  binary("aA,Ab->ab", {2, 3}, {3, 4}).note("letters of both cases").check();
  binary("ij,kl->il", {2, 3}, {4, 5}).note("labels that are summed alone").check();
  binary("i,j->ij", {3}, {4}).check();
  binary("ij,ij->", {3, 4}, {3, 4}).check();
  binary(",jk->jk", {}, {3, 4}).check();
  binary("abcd,aecd->acbe", {2, 3, 4, 5}, {2, 6, 4, 5}).check();
  binary("abc,adc->abd", {2, 3, 4}, {2, 5, 4}).empty().note("transposed while empty").check();
  binary("BTNH,BSNH->BNTS", {0, 3, 2, 8}, {0, 3, 2, 8}).note("an empty batch").check();
  binary("BNTS,BSNH->BTNH", {2, 2, 0, 0}, {2, 0, 2, 8}).note("no rows").check();
  binary("bij,bjk->bki", {2, 3, 4}, {2, 4, 5}).empty().check();
}

TEST(Einsum, Ellipses) {
  binary("...ij,...jk->...ik", {5, 2, 3}, {5, 3, 4})
      .refuses(Code::not_constant, "rank", {Mode::rank})
      .check();
  binary("...ij,...jk->...ik", {5, 1, 2, 3}, {6, 3, 4})
      .refuses(Code::not_constant, "rank", {Mode::rank})
      .note("of different lengths")
      .check();
  binary("...x,xy->...y", {2, 3, 4}, {4, 5}).without({Mode::rank}).check();
  binary("i...,i->...", {3, 4, 5}, {3}).without({Mode::rank}).check();
  binary("...ij,...kj->...ik", {2, 3, 4}, {2, 5, 4})
      .empty()
      .refuses(Code::not_constant, "rank", {Mode::rank})
      .check();
}

TEST(Einsum, OneOperand) {
  unary("ij->ji", {2, 3}).check();
  unary("ijk->j", {2, 3, 4}).check();
  unary("ii->i", {3, 3}).check();
  unary("ii->", {3, 3}).check();
  unary("bii->bi", {2, 3, 3}).check();
  unary("i->ii", {3}).check();
  unary("...ij->...ji", {2, 3, 4}).without({Mode::rank}).check();
}

}  // namespace
}  // namespace t2o::numeric
