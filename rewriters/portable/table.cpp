#include "rewriters/portable/rows.h"

namespace t2o::portable {

using namespace rewriters;

std::vector<runtime::Row> rows() {
  const auto form = [](std::string_view name, std::vector<std::string_view> operators, std::string_view why,
                       Rewriter (*make)(const onnx::Target&)) {
    return runtime::Row{.name = name,
                        .kind = runtime::Kind::form,
                        .phase = "runtime",
                        .operators = std::move(operators),
                        .types = {},
                        .why = why,
                        .make = make,
                        .last_opset = onnx::kHighestOpset};
  };
  return {
      form("plain_comparisons", {"IsNaN", "GreaterOrEqual", "LessOrEqual"},
           "Not(Equal(x, x)) for IsNaN, which MNN and OpenCV 4 lack; 1.1 to 1.3 of its time in ONNX Runtime. "
           "Not(Less) of integers and Or(Greater, Equal) of floats for GreaterOrEqual, which onnx2torch "
           "reads below opset 16 only.",
           plain_comparisons),
      form("plain_activations", {"HardSigmoid"},
           "Clip(a x + b, 0, 1) where a Mul reads it: OpenCV takes such a Mul for a HardSwish.",
           plain_activations),
      form(
          "forward_time", {"LSTM", "GRU", "RNN"},
          "A layer that runs backwards reads its input reversed by a Slice and runs forwards. tract, MNN and "
          "OpenCV compute direction=reverse wrongly.",
          forward_time),
      form("reduce_in_turn", {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"},
           "One reduction for each group of neighbouring axes. MNN and OpenCV reduce wrong axes where there "
           "is "
           "a gap between them.",
           reduce_in_turn),
      form("expand_tiles", {"Tile"},
           "Expand, where all axes that are tiled have the size 1 and the repeats are computed. TVM takes "
           "constant repeats only.",
           expand_tiles),
  };
}

}  // namespace t2o::portable
