#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

Case lstm_cell(float forget_bias, float clip, bool peephole) {
  return op_case("LSTMBlockCell")
      .in(f32, {2, 5})
      .in(f32, {2, 3})
      .in(f32, {2, 3})
      .in(f32, {8, 12}, constant)
      .in(f32, {3}, constant)
      .in(f32, {3}, constant)
      .in(f32, {3}, constant)
      .in(f32, {12}, constant)
      .attr("forget_bias", forget_bias)
      .attr("cell_clip", clip)
      .attr("use_peephole", peephole);
}

TEST(RecurrentCells, LstmBlockCell) {
  lstm_cell(1, -1, false).check();
  lstm_cell(0.5f, 0.3f, true).check();
}

TEST(RecurrentCells, GruBlockCell) {
  op_case("GRUBlockCell")
      .in(f32, {2, 5})
      .in(f32, {2, 3})
      .in(f32, {8, 6}, constant)
      .in(f32, {8, 3}, constant)
      .in(f32, {6}, constant)
      .in(f32, {3}, constant)
      .check();
  op_case("GRUBlockCell")
      .in(f32, {2, 5})
      .in(f32, {2, 3})
      .in(f32, {8, 6})
      .in(f32, {8, 3})
      .in(f32, {6})
      .in(f32, {3})
      .check();
}

Case block_lstm(const std::string& op, std::int64_t steps) {
  return graph_case(op, [=](Builder& b) {
    std::vector<TfInput> in;
    in.push_back(b.const_input(Tensor::scalar<std::int64_t>(steps)));
    in.push_back(b.input(f32, {4, 2, 5}));
    for (const Ints& dims : std::vector<Ints>{{2, 3}, {2, 3}}) in.push_back(b.input(f32, dims));
    for (const Ints& dims : std::vector<Ints>{{8, 12}, {3}, {3}, {3}, {12}})
      in.push_back(b.const_input(f32, dims));
    std::vector<TfAttr> attrs{{"cell_clip", -1.0f}, {"use_peephole", true}};
    if (op == "BlockLSTM") attrs.push_back({"forget_bias", 0.5f});
    b.output(b.op(op, in, attrs) + ":6");
  });
}

TEST(RecurrentCells, BlockLstm) {
  for (const std::int64_t steps : {4, 2, 0})
    for (const char* op : {"BlockLSTM", "BlockLSTMV2"})
      block_lstm(op, steps).check();
}

// Bounds of the cell's state, and all that the steps compute.
Case block_lstm_steps(const std::string& op, std::int64_t steps, float clip, bool peephole, std::int64_t time) {
  return graph_case(op, [=](Builder& b) {
    std::vector<TfInput> in;
    in.push_back(b.input(Tensor::scalar<std::int64_t>(steps)));
    in.push_back(b.input(f32, {time, 2, 5}));
    for (const Ints& dims : std::vector<Ints>{{2, 3}, {2, 3}}) in.push_back(b.input(f32, dims));
    for (const Ints& dims : std::vector<Ints>{{8, 12}, {3}, {3}, {3}, {12}})
      in.push_back(b.const_input(f32, dims));
    const std::string all = b.op(op, in, {{"cell_clip", clip}, {"use_peephole", peephole}});
    b.output(all + ":1");
    b.output(all + ":6");
    if (steps == time)  // TensorFlow writes nothing behind the last step of the others
      for (const char* i : {"", ":2", ":3", ":4", ":5"}) b.output(all + i);
  });
}

TEST(RecurrentCells, BlockLstmWithBoundsAndAllItsOutputs) {
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
    block_lstm_steps(op, 4, 0.3f, true, 4).check();
    block_lstm_steps(op, 2, 3.0f, false, 4).check();
    block_lstm_steps(op, 1, -1.0f, true, 3).check();
  }
  block_lstm_steps("BlockLSTM", 0, 0.3f, false, 2).check();
}

}  // namespace
}  // namespace t2o::numeric
