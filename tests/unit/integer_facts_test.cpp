#include "onnx/facts.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/text.h"
#include "onnx/emitter.h"

namespace t2o::onnx {
namespace {

// The value of this name in a graph that the text makes.
class IntegerFactsTest : public testing::Test {
 protected:
  void read(const std::string& text) { graph_ = ir::parse_graph("graph t onnx {\n" + text + "}\n"); }
  const Value* operator[](std::size_t output) const { return graph_->outputs()[output]; }

 private:
  GraphPtr graph_;
};

TEST_F(IntegerFactsTest, BitsOfIntegers) {
  read(R"(
    input %x: i64[n]
    input %i: i32[n]
    input %u: u32[n]
    input %f: bool[n]
    const %unit: i64[] = 4294967296
    %a: i64[n] = Cast(%i) {to=i64}
    %b: i64[n] = Cast(%u) {to=i64}
    %c: i64[n] = Cast(%f) {to=i64}
    %d: i64[n] = Div(%x, %unit)
    %e: i64[n] = Mod(%x, %unit)
    %s: i64[] = ReduceSum(%c) {keepdims=0}
    %t: i64[] = ReduceSum(%a) {keepdims=0}
    %k: i64[n] = Identity(%x)
    %w: u32[n] = Cast(%i) {to=u32}
    %l: i64[n] = Cast(%w) {to=i64}
    %h: u8[n] = Cast(%f) {to=u8}
    %o: u32[n] = Cast(%h) {to=u32}
    %p: u32[n] = Sub(%o, %o)
    %q: i64[n] = Cast(%p) {to=i64}
    %r: i64[n] = Neg(%a)
    %v: i64[n] = Abs(%a)
    %z: i64[n] = Div(%a, %x)
    const %three: i64[] = -3
    const %far: i64[] = -8589934591
    %m: i64[n] = Where(%f, %three, %c)
    %g: i64[n] = Where(%f, %far, %c)
    output %a, %b, %c, %d, %e, %s, %t, %k, %l, %q, %r, %v, %z, %m, %g
  )");
  const Ints fits = {1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0}, few = {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0},
             flags = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < fits.size(); ++i) {
    EXPECT_EQ(fits_i32((*this)[i]), fits[i] != 0) << (*this)[i]->name();
    EXPECT_EQ(has_few_bits((*this)[i]), few[i] != 0) << (*this)[i]->name();
    EXPECT_EQ(are_flags((*this)[i]), flags[i] != 0) << (*this)[i]->name();
  }
}

TEST_F(IntegerFactsTest, SizesBelowZeroAreNoneWithoutASign) {
  read(R"(
    input %x: f32[n,4]
    const %one: i64[] = 5
    %size: i64[] = Size(%x)
    %less: i64[] = Sub(%size, %one)
    %wraps: u32[] = Cast(%less) {to=u32}
    %far: i64[] = Cast(%wraps) {to=i64}
    %unsigned: u32[] = Cast(%size) {to=u32}
    %same: i64[] = Cast(%unsigned) {to=i64}
    output %less, %far, %same
  )");
  const Ints sizes = {1, 0, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(is_made_of_sizes((*this)[i]), sizes[i] != 0) << (*this)[i]->name();
}

// The shapes state these elements as formulas of a size: 9223372036854775807 * n, n - 2.
TEST_F(IntegerFactsTest, FormulasOfSizesThatWrapAreNoSizes) {
  ir::Graph g;
  const Target target = make_target(21);
  Emitter e(g, target, std::make_shared<const Origin>());
  Value* size = e.shape_of(g.add_input("x", DType::f32, Shape({g.symbols().intern("n")})));
  Value* many = e.mul(size, e.i64(std::numeric_limits<std::int64_t>::max()));
  Value* less = e.cast(e.sub(size, e.i64(2)), DType::u64);
  Value* twice = e.mul(size, e.i64(2));
  EXPECT_TRUE(fits_i32(twice));
  EXPECT_FALSE(fits_i32(many));
  EXPECT_FALSE(fits_i32(less));
}

TEST_F(IntegerFactsTest, SizesThatDataDecide) {
  read(R"(
    input %x: f32[n,4]
    input %mask: bool[n]
    input %count: i64[1]
    const %zero: i64[1] = [0]
    const %rows: i64[2] = [-1, 2]
    const %one: i64[1] = [1]
    const %number: f32[1] = [1]
    %a: f32[n,4] = Relu(%x)
    %b: f32[?,2] = Reshape(%x, %rows)
    %c: f32[?,4] = Compress(%x, %mask) {axis=0}
    %d: f32[?,4] = Relu(%c)
    %e: f32[?,4] = Slice(%x, %zero, %count, %zero)
    %k: i64[1] = Shape(%mask)
    %f: f32[?,4] = Slice(%x, %zero, %k, %zero)
    %s: i64[2] = Shape(%c)
    %h: f32[?,?] = ConstantOfShape(%s)
    %l: i64[1] = Slice(%s, %zero, %one, %zero)
    %m: f32[?] = Expand(%number, %l)
    %o: i64[2] = Shape(%x)
    %p: f32[?,?] = ConstantOfShape(%o)
    output %a, %b, %d, %e, %f, %h, %m, %p
  )");
  const Ints of_data = {0, 0, 1, 1, 0, 1, 1, 0};
  for (std::size_t i = 0; i < of_data.size(); ++i)
    EXPECT_EQ(has_dims_of_data((*this)[i]), of_data[i] != 0) << (*this)[i]->name();
}

TEST_F(IntegerFactsTest, WhatMayBeEmpty) {
  read(R"(
    input %x: f32[n,4]
    input %y: f32[2,4]
    const %none: i64[0] = []
    const %some: i64[1] = [1]
    %a: f32[n,4] = Relu(%x)
    %b: f32[2,4] = Relu(%y)
    output %a, %b, %none, %some
  )");
  const Ints strict = {1, 0, 1, 0};
  for (std::size_t i = 0; i < strict.size(); ++i) {
    EXPECT_EQ(may_be_empty((*this)[i], true), strict[i] != 0) << (*this)[i]->name();
    EXPECT_FALSE(may_be_empty((*this)[i], false)) << (*this)[i]->name();
  }
}

}  // namespace
}  // namespace t2o::onnx
