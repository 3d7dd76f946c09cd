#include "op_mappers/loop_lists.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace t2o::op_mappers {
namespace {

constexpr int kDeep = 300'000, kDoubled = 60;  // frames of recursion for each would not fit a stack of 8 MB

// While: i = i + 1; each list = SetItem(list, index, item)
class LoopLists : public testing::Test {
 protected:
  static Value* node(ir::Graph& in, const std::string& op, Values inputs, DType dtype) {
    return in
        .add({.op = op,
              .inputs = std::move(inputs),
              .outputs = {{"", dtype, Shape::scalar()}},
              .name_later = true})
        .output();
  }
  static Value* identities(Value* v) {
    for (int i = 0; i < kDeep; ++i) v = node(*v->graph(), "Identity", {v}, v->dtype());
    return v;
  }
  static Value* number(ir::Graph& in, std::int32_t n) {
    return in.add_constant("n", Tensor::scalar<std::int32_t>(n));
  }

  LoopLists() { g.set_dialect("tf"); }

  void add_lists(int count) {
    initial.push_back(number(g, 0));
    for (int i = 0; i < count; ++i)
      initial.push_back(node(g, "TensorListReserve", {number(g, -1), number(g, 4)}, DType::variant));
    for (ir::Graph* sub : {body.get(), cond.get()}) {
      sub->add_input("i", DType::i32, Shape::scalar());
      for (int i = 0; i < count; ++i) sub->add_input("l", DType::variant, Shape::scalar());
    }
    cond->set_outputs({node(*cond, "Less", {cond->inputs()[0], number(*cond, 4)}, DType::boolean)});
  }
  std::vector<std::optional<Written>> written(Values results) {
    results.insert(results.begin(), node(*body, "AddV2", {body->inputs()[0], number(*body, 1)}, DType::i32));
    body->set_outputs(std::move(results));
    ir::NodeSpec spec{
        .op = "While", .inputs = initial, .attrs = {{"cond", cond}, {"body", body}}, .name_later = true};
    for (const Value* v : initial) spec.outputs.push_back({"", v->dtype(), {}});
    std::vector<bool> lists(initial.size(), true);
    lists[0] = false;
    return written_once(*tfgraph::Loop::view(g.add(std::move(spec))), lists);
  }
  Value* set(Value* list, Value* index) {
    return node(*body, "TensorListSetItem", {list, index, item}, DType::variant);
  }

  ir::Graph g;
  GraphPtr body = g.make_subgraph(), cond = g.make_subgraph();
  Value* item = g.add_input("item", DType::f32, Shape::scalar());
  Values initial;
};

TEST_F(LoopLists, IdentitiesOfAnyNumberHandAListOn) {
  add_lists(1);
  const auto how = written({identities(set(identities(body->inputs()[1]), body->inputs()[0]))});
  EXPECT_FALSE(how[0].has_value());
  ASSERT_TRUE(how[1].has_value());
  EXPECT_TRUE(how[1]->in_order());
  EXPECT_EQ(how[1]->length, 4);
}

TEST_F(LoopLists, AnotherReaderIsFoundBehindIdentities) {
  add_lists(2);
  Value* list = identities(body->inputs()[1]);
  node(*body, "TensorListLength", {list}, DType::i32);
  Value* result = set(body->inputs()[2], body->inputs()[0]);
  node(*body, "TensorListLength", {identities(result)}, DType::i32);
  const auto how = written({set(list, body->inputs()[0]), result});
  EXPECT_FALSE(how[1].has_value());
  EXPECT_FALSE(how[2].has_value());
}

TEST_F(LoopLists, AListThatIsTwoResultsIsNotWrittenOnce) {
  add_lists(2);
  Value* result = set(body->inputs()[1], body->inputs()[0]);
  const auto how = written({result, identities(result)});
  EXPECT_FALSE(how[1].has_value());
  EXPECT_FALSE(how[2].has_value());
}

TEST_F(LoopLists, OffsetsThatMightOverflowAreNotFollowed) {
  add_lists(1);
  Value* least = body->add_constant("least", Tensor::scalar(std::numeric_limits<std::int64_t>::min()));
  Value* i = node(*body, "Cast", {body->inputs()[0]}, DType::i64);
  const auto how = written({set(body->inputs()[1], node(*body, "AddV2", {i, least}, DType::i64))});
  EXPECT_FALSE(how[1].has_value());
}

// An index that has 2^60 paths to the counter, and one that is the counter beside such a sum.
TEST_F(LoopLists, EachIndexIsLookedAtOnce) {
  constexpr int kLists = 2000;
  add_lists(kLists);
  Value* i = body->inputs()[0];
  Value* wide = i;
  for (int k = 0; k < kDoubled; ++k) wide = node(*body, "AddV2", {wide, wide}, DType::i32);
  Value* next = node(*body, "AddV2", {i, number(*body, 0)}, DType::i32);
  Values results;
  for (int k = 0; k < kLists; ++k)
    results.push_back(set(body->inputs()[static_cast<std::size_t>(k) + 1], k % 2 == 0 ? wide : next));
  const auto begin = std::chrono::steady_clock::now();
  const auto how = written(std::move(results));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 5);
  EXPECT_FALSE(how[1].has_value());
  EXPECT_TRUE(how[2].has_value());
}

}  // namespace
}  // namespace t2o::op_mappers
