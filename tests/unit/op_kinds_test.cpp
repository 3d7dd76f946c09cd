#include "tf/op_kinds.h"

#include <gtest/gtest.h>

#include "tf/op_defs.h"

namespace t2o::tf {
namespace {

struct Row {
  std::string_view op;
  OpKind kind;
  std::optional<std::size_t> input_of_output_1 = {};
};

constexpr Row kRows[] = {
    {"Relu", OpKind::ordinary},
    {"RefSelect", OpKind::ordinary},
    {"Identity", OpKind::pass_through, 0},
    {"IdentityN", OpKind::pass_through_each, 1},
    {"VarHandleOp", OpKind::variable_handle},
    {"VariableV2", OpKind::variable_reference},
    {"PartitionedCall", OpKind::call},
    {"StatelessIf", OpKind::if_},
    {"Case", OpKind::case_},
    {"While", OpKind::while_},
    {"MyWhile", OpKind::ordinary},
    {"Switch", OpKind::switch_, 0},
    {"RefSwitch", OpKind::switch_, 0},
    {"_SwitchN", OpKind::switch_n, 0},
    {"RefMerge", OpKind::merge},
    {"RefNextIteration", OpKind::next_iteration},
    {"RefEnter", OpKind::enter, 0},
    {"RefExit", OpKind::exit},
    {"LoopCond", OpKind::loop_cond},
    {kGuarded, OpKind::guarded},
};

TEST(OpKinds, AreWhatTheTableSays) {
  for (const Row& row : kRows) {
    EXPECT_EQ(op_kind(row.op), row.kind) << row.op;
    EXPECT_EQ(handed_on_input(row.kind, 1), row.input_of_output_1) << row.op;
  }
}

TEST(OpKinds, ControlFlowIsDrawnOrFunctional) {
  for (const Row& row : kRows) {
    const bool drawn = row.kind >= OpKind::switch_ && row.kind <= OpKind::guarded;
    EXPECT_EQ(draws_control_flow(row.kind), drawn) << row.op;
    EXPECT_FALSE(is_functional(row.kind) && drawn) << row.op;
  }
  EXPECT_TRUE(runs_functions(OpKind::while_));
  EXPECT_FALSE(runs_functions(OpKind::switch_));
}

TEST(OpKinds, Writes) {
  for (const std::string_view op : {"AssignVariableOp", "AssignSub", "AssignAddVariableOp", "ResourceScatterAdd", "ResourceApplyAdam", "ScatterUpdate",
                                    "StridedSliceAssign", "ResourceCountUpTo"})
    EXPECT_EQ(op_kind(op, find_op_def(op)), OpKind::write_variable) << op;
  EXPECT_EQ(op_kind("TensorScatterAdd", find_op_def("TensorScatterAdd")), OpKind::ordinary);
  EXPECT_EQ(op_kind("ScatterNd", find_op_def("ScatterNd")), OpKind::ordinary);
}

TEST(OpKinds, NoFileMayNameAnOpOfOurs) {
  for (const std::string_view op : {"t2o.Guarded", "t2o.LSTM", "t2o.NoSuch"}) EXPECT_EQ(op_kind(op, nullptr), OpKind::refused) << op;
}

}  // namespace
}  // namespace t2o::tf
