#include "ir/alteration.h"

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "onnx/altered.h"

namespace t2o::ir {
namespace {

Alteration of(const std::vector<Alteration::Step>& steps) {
  Alteration a("x");
  for (const Alteration::Step& s : steps) a.add(s);
  return a;
}

TEST(Alteration, WhatCancelsGoes) {
  const auto first = Alteration::transpose({0, 3, 1, 2}), last = Alteration::transpose({0, 2, 3, 1});
  EXPECT_TRUE(of({first, last}).steps().empty());
  EXPECT_EQ(of({first, first}).text(), "transpose(0,2,3,1)");
  EXPECT_TRUE(of({Alteration::scale(4), Alteration::scale(0.25)}).steps().empty());
  EXPECT_EQ(of({Alteration::reshape(Shape({4, 2})), Alteration::reshape(Shape({8}))}).text(), "reshape(8)");
  const auto row = Alteration::reshape(Shape({1, 1, 1, 6})), flat = Alteration::reshape(Shape({6}));
  EXPECT_EQ(of({row, first, flat}).text(), "reshape(6)");
  EXPECT_EQ(of({first, Alteration::scale(0.1), last}).text(), "scale(0.1)");
}

TEST(Alteration, SaysWhatItIs) {
  const auto move = Alteration::transpose({1, 0}), scale = Alteration::scale(2);
  const auto form = Alteration::reshape(Shape({-1, 6}));
  EXPECT_EQ(of({move}).suffix(), "/transposed");
  EXPECT_EQ(of({form, move, form}).suffix(), "/reordered");
  EXPECT_EQ(of({scale}).suffix(), "/scaled");
  EXPECT_EQ(of({move, scale}).suffix(), "/altered");
  EXPECT_EQ(of({move, Alteration::other(), move}).suffix(), "/altered");
  EXPECT_FALSE(of({move, Alteration::other(), move}).is_known());
  EXPECT_FALSE(of({Alteration::reshape(Shape({-1, -1}))}).is_known());
}

TEST(Alteration, IsReadAsItIsWritten) {
  const Alteration a = of({Alteration::reshape(Shape({-1, 7, 7, 3})), Alteration::transpose({0, 3, 1, 2}),
                           Alteration::reshape(Shape({-1, 147})), Alteration::scale(1 / 3.0)});
  EXPECT_EQ(Alteration::parse(a.text()), a.steps()) << a.text();
  for (const char* bad : {"unknown", "transpose", "transpose(", "transpose(a)", "scale()", "scale(1,2)", "turn(1)", "transpose(5)",
                          "transpose(7,7,7)", "transpose(0,0)", "reshape(-1,-1)", "reshape(-2)"})
    EXPECT_EQ(Alteration::parse(bad), std::nullopt) << bad;
}

TEST(Alteration, NamesSayWhatAValueHolds) {
  Graph g;
  Value* x = g.add_input("x", DType::f32, Shape({2, 3}));
  Value* w = g.add_constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  Value* y = g.add({.op = "MatMul", .inputs = {w, x}, .outputs = {{"y", DType::f32, Shape({2, 3})}}}).output();
  Value* made = g.add({.op = "Neg", .inputs = {y}, .outputs = {{"made", DType::f32, Shape({2, 3})}}}).output();
  Value* out = g.add({.op = "Abs", .inputs = {made}, .outputs = {{"out", DType::f32, Shape({2, 3})}}}).output();
  g.set_outputs({out});
  for (Value* v : {w, y, out}) g.mark_source(v);
  for (Value* v : {w, y, made, out}) g.alter(v, Alteration::transpose({1, 0}));
  EXPECT_EQ(made->alteration(), nullptr) << "the source has no tensor of this name";
  g.name_altered();
  EXPECT_EQ(w->name(), "w");
  EXPECT_EQ(y->name(), "y/transposed");
  EXPECT_EQ(made->name(), "made");
  EXPECT_EQ(out->name(), "out");
  g.alter(w, Alteration::scale(2));
  g.name_altered();
  EXPECT_EQ(w->name(), "w/altered");
  const auto props = onnx::altered_props(g);
  const auto read = onnx::altered_values(props);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read.at("y/transposed").source(), "y");
  EXPECT_EQ(read.at("w/altered").text(), "scale(2) transpose(1,0)");
  EXPECT_EQ(read.at("out").source(), "out");
}

TEST(Alteration, GoesWithTheName) {
  Graph g;
  Value* x = g.add_input("x", DType::f32, Shape({2, 3}));
  const auto node = [&](const char* name) {
    return g.add({.op = "Neg", .inputs = {x}, .outputs = {{name, DType::f32, Shape({2, 3})}}}).output();
  };
  Value *old = node("y"), *fresh = node("fresh");
  g.mark_source(old);
  g.alter(old, Alteration::scale(2));
  g.take_name(fresh, old);
  EXPECT_EQ(fresh->name(), "y");
  ASSERT_NE(fresh->alteration(), nullptr);
  EXPECT_EQ(fresh->alteration()->text(), "scale(2)");
  EXPECT_EQ(old->alteration(), nullptr);
  Value* nameless = g.add({.op = "Neg", .inputs = {x}, .outputs = {{}}, .name_later = true}).output();
  g.take_name(fresh, nameless);  // what nobody of the source's holds has no name of the source's
  EXPECT_EQ(fresh->name(), "");
  EXPECT_FALSE(fresh->is_of_source());
}

}  // namespace
}  // namespace t2o::ir
