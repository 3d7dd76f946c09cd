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
      block_lstm(op, steps).without({Mode::dims, Mode::rank}).check();
}

}  // namespace
}  // namespace t2o::numeric
