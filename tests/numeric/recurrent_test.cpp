#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "harness.h"
#include "pipeline.h"
#include "verify/verify.h"

// Frozen graphs of recurrent layers (scripts/make_recurrent_models.py): each loop is one operator, and right.
namespace t2o {
namespace {

using Counts = std::map<std::string, int>;

bool runs_backwards(const ir::Node& n) {
  const bool has_lengths = n.input_count() > 4 && n.input(4);
  return n.attr_or<std::string>("direction", "") == "reverse" && !has_lengths;
}

void check(const std::string& model, const Counts& layers, const Strings& shapes, const std::string& runtime = Options().target_runtime) {
  if (numeric::engines_missing()) return;
  const std::string source = T2O_SOURCE_DIR "/tests/data/recurrent/" + model + ".pb";
  const std::string exported = ::testing::TempDir() + "recurrent_" + model + ".onnx";
  for (const int opset : {11, 14, 18, 26}) {
    Options options;
    options.target_runtime = runtime;
    options.model = source;
    options.opset = opset;
    const Conversion c = convert(options);
    ASSERT_TRUE(c.graph()) << model << ": " << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
    Counts found;
    for (const ir::Node& n : c.graph()->nodes())
      if (n.op() == "Loop" || n.op() == "LSTM" || n.op() == "GRU" || n.op() == "RNN" || n.op() == "ScatterND") {
        ++found[n.op()];
        EXPECT_FALSE(runtime == "any" && runs_backwards(n)) << model;
      }
    EXPECT_EQ(found, layers) << model;
    ASSERT_FALSE(has_errors(write_model(c, options, exported)));
    verify::VerifyOptions v;
    v.source = options;
    v.onnx = exported;
    v.tolerance = {1e-4, 1e-5};
    v.samples = 3;
    v.input_shapes = shapes;
    const verify::VerifyReport report = verify::verify(v);
    for (const verify::ComparedSample& s : report.samples)
      for (const verify::ComparedTensor& t : s.outputs)
        EXPECT_TRUE(t.comparison.ok())
            << model << " opset " << opset << " " << s.label << " " << t.name << ": " << t.comparison.problem;
  }
  std::filesystem::remove(exported);
}

void check(const std::string& model, const Counts& layers) { check(model, layers, {}); }

TEST(Recurrent, LastOutput) { check("lstm_last", {{"LSTM", 1}}); }
TEST(Recurrent, StatesFromOutside) { check("lstm_states", {{"LSTM", 1}}); }
TEST(Recurrent, OtherActivations) {
  check("lstm_hard_sigmoid", {{"LSTM", 1}});
  check("gru_reset_before", {{"GRU", 1}});
  check("rnn_relu_backwards", {{"RNN", 1}});
}
TEST(Recurrent, ForwardsForAnyRuntime) {
  check("rnn_relu_backwards", {{"RNN", 1}}, {}, "any");
  check("gru_gaps_backwards", {{"GRU", 1}, {"ScatterND", 1}}, {}, "any");
  check("unrolled_rnn_backwards", {{"RNN", 1}}, {}, "any");
  check("gru_sequence", {{"GRU", 1}}, {}, "any");
}
TEST(Recurrent, Gru) { check("gru_sequence", {{"GRU", 1}}); }
TEST(Recurrent, CellsInOneLoop) { check("cells_stacked", {{"LSTM", 1}, {"GRU", 1}}); }
TEST(Recurrent, Bidirectional) {
  check("lstm_bidirectional", {{"LSTM", 1}});
  check("gru_bidirectional_last", {{"GRU", 1}});
}
TEST(Recurrent, MasksWithGaps) {
  check("lstm_gaps", {{"LSTM", 1}, {"ScatterND", 1}});
  check("lstm_gaps_zeros", {{"LSTM", 1}, {"ScatterND", 1}});
  check("gru_gaps_backwards", {{"GRU", 1}, {"ScatterND", 1}});
  check("gru_gaps_states", {{"GRU", 1}, {"ScatterND", 1}});
  check("rnn_gaps_bidirectional", {{"RNN", 1}, {"ScatterND", 1}});
}
TEST(Recurrent, Lengths) {
  check("lstm_peepholes_lengths", {{"LSTM", 1}});
  check("gru_block_cell", {{"GRU", 1}});
  check("rnn_reversed_lengths", {{"RNN", 1}});
}
TEST(Recurrent, ResidualConnections) {
  check("residual", {{"RNN", 2}});
  check("residual_lengths", {{"RNN", 2}});
}
TEST(Recurrent, MaskOfMoreSteps) { check("lstm_long_mask", {{"LSTM", 1}, {"ScatterND", 1}}); }
TEST(Recurrent, LengthsFromMasks) {
  check("lengths_lstm", {{"LSTM", 1}});
  check("lengths_gru_backwards", {{"GRU", 1}, {"ScatterND", 1}});
  check("lengths_lstm_both_ways", {{"LSTM", 1}});
  check("lengths_rnn_both_ways_zeros", {{"RNN", 1}});
}
TEST(Recurrent, Unrolled) {
  check("unrolled_lstm_states", {{"LSTM", 1}});
  check("unrolled_gru_reset_before", {{"GRU", 1}});
  check("unrolled_gru_bidirectional", {{"GRU", 1}});
  check("unrolled_rnn_backwards", {{"RNN", 1}});
  check("unrolled_stacked", {{"LSTM", 1}, {"GRU", 1}});
  check("unrolled_lstm_gaps", {{"LSTM", 1}, {"ScatterND", 1}});
  check("unrolled_gru_gaps_backwards", {{"GRU", 1}, {"ScatterND", 1}});
}
TEST(Recurrent, StaticRnn) {
  check("static_both_ways", {{"LSTM", 2}});
  check("static_steps_apart", {{"LSTM", 1}});
  check("static_clipped", {});  // ONNX clips the gates, not the cell
  check("static_cells", {});    // the cells of all steps are read
}
TEST(Recurrent, StaticRnnWithLengths) {
  check("static_lengths_lstm", {{"LSTM", 1}});
  check("static_lengths_gru", {{"GRU", 1}});
}
TEST(Recurrent, ShapesThatTheFileDoesNotHave) { check("time_distributed", {{"LSTM", 3}}); }
TEST(Recurrent, StepsThatAreMapped) {
  for (const char* model : {"mapped_dense", "mapped_first", "mapped_conv", "mapped_gather", "mapped_rows"}) check(model, {});
}
TEST(Recurrent, BlockCell) { check("lstm_block_cell", {{"LSTM", 1}}); }

}  // namespace
}  // namespace t2o
