#include "onnx/op_traits.h"

#include <unordered_map>

namespace t2o::onnx {
namespace {

using enum Trait;

// What follows from one another.
constexpr Trait kKeepsFactor = keeps_factor | keeps_positive_factor;
constexpr Trait kMoves = moves | picks | within | kKeepsFactor;
constexpr Trait kElementwise = elementwise | any_axes;
constexpr Trait kBroadcasts = broadcasts | any_axes;
constexpr Trait kReduces = reduces | any_axes;

struct Row {
  std::string_view op;
  Trait traits;
};

constexpr Row kRows[] = {
    // Elements that are moved.
    {"Compress", kMoves},
    {"DepthToSpace", kMoves | channels_first},
    {"Expand", kMoves | any_axes},
    {"Flatten", kMoves},
    {"Gather", kMoves},
    {"GatherElements", kMoves},
    {"GatherND", kMoves},
    {"Identity", kMoves | kElementwise},
    {"Reshape", kMoves},
    {"ReverseSequence", kMoves},
    {"Slice", kMoves | any_axes},
    {"SpaceToDepth", kMoves | channels_first},
    {"Split", kMoves | any_axes},
    {"Squeeze", kMoves | any_axes},
    {"Tile", kMoves | any_axes},
    {"Transpose", kMoves},
    {"Unsqueeze", kMoves | any_axes},
    // Elements of several tensors, or with zeros among them. Those that scatter may add.
    {"CenterCropPad", picks | any_axes},
    {"Concat", picks | any_axes},
    {"Pad", picks | any_axes},
    {"TensorScatter", picks},
    {"Trilu", picks | within | kKeepsFactor},
    {"Where", picks | kBroadcasts},
    // Of each element.
    {"Abs", kElementwise | keeps_positive_factor},
    {"Acos", kElementwise},
    {"Acosh", kElementwise},
    {"Asin", kElementwise},
    {"Asinh", kElementwise},
    {"Atan", kElementwise},
    {"Atanh", kElementwise},
    {"BitCast", kElementwise},
    {"BitwiseNot", kElementwise | signless},
    {"Cast", kElementwise},
    {"CastLike", kElementwise},
    {"Ceil", kElementwise},
    {"Celu", kElementwise},
    {"Clip", kElementwise},
    {"Cos", kElementwise},
    {"Cosh", kElementwise},
    {"Elu", kElementwise},
    {"Erf", kElementwise},
    {"Exp", kElementwise},
    {"Floor", kElementwise},
    {"Gelu", kElementwise},
    {"HardSigmoid", kElementwise},
    {"HardSwish", kElementwise},
    {"IsInf", kElementwise},
    {"IsNaN", kElementwise},
    {"LeakyRelu", kElementwise | keeps_positive_factor},
    {"Log", kElementwise},
    {"Mish", kElementwise},
    {"Neg", kElementwise | kKeepsFactor | signless},
    {"Not", kElementwise},
    {"Reciprocal", kElementwise},
    {"Relu", kElementwise | keeps_positive_factor},
    {"Round", kElementwise},
    {"Selu", kElementwise},
    {"Shrink", kElementwise},
    {"Sigmoid", kElementwise},
    {"Sign", kElementwise},
    {"Sin", kElementwise},
    {"Sinh", kElementwise},
    {"Softplus", kElementwise},
    {"Softsign", kElementwise},
    {"Sqrt", kElementwise},
    {"Swish", kElementwise},
    {"Tan", kElementwise},
    {"Tanh", kElementwise},
    {"ThresholdedRelu", kElementwise},
    // Of elements that meet.
    {"Add", kBroadcasts | signless},
    {"And", kBroadcasts},
    {"BitShift", kBroadcasts},
    {"BitwiseAnd", kBroadcasts | signless},
    {"BitwiseOr", kBroadcasts | signless},
    {"BitwiseXor", kBroadcasts | signless},
    {"Div", kBroadcasts},
    {"Equal", kBroadcasts | signless},
    {"Greater", kBroadcasts},
    {"GreaterOrEqual", kBroadcasts},
    {"Less", kBroadcasts},
    {"LessOrEqual", kBroadcasts},
    {"Max", kBroadcasts},
    {"Mean", kBroadcasts},
    {"Min", kBroadcasts},
    {"Mod", kBroadcasts},
    {"Mul", kBroadcasts | signless},
    {"Or", kBroadcasts},
    {"PRelu", kBroadcasts | keeps_positive_factor},
    {"Pow", kBroadcasts},
    {"Sub", kBroadcasts | signless},
    {"Sum", kBroadcasts | signless},
    {"Xor", kBroadcasts},
    // Of all elements along axes. The largest of none is -inf, and squares are lost where numbers are not.
    {"ReduceL1", kReduces | keeps_positive_factor},
    {"ReduceL2", kReduces},
    {"ReduceLogSum", kReduces},
    {"ReduceLogSumExp", kReduces},
    {"ReduceMax", kReduces | keeps_positive_factor},
    {"ReduceMean", kReduces | kKeepsFactor},
    {"ReduceMin", kReduces | keeps_positive_factor},
    {"ReduceProd", kReduces | signless},
    {"ReduceSum", kReduces | kKeepsFactor | signless},
    {"ReduceSumSquare", kReduces | signless},
    // Along an axis; below opset 13, of Softmax, LogSoftmax and Hardmax, along all axes from it on.
    {"ArgMax", any_axes},
    {"ArgMin", any_axes},
    {"CumProd", any_axes | signless},
    {"CumSum", any_axes | kKeepsFactor | signless},
    {"DequantizeLinear", any_axes},
    {"Hardmax", any_axes},
    {"LogSoftmax", any_axes},
    {"LpNormalization", any_axes},
    {"MeanVarianceNormalization", any_axes},
    {"QuantizeLinear", any_axes},
    {"Softmax", any_axes},
    {"TopK", any_axes},
    // Of images.
    {"AveragePool", channels_first | within | kKeepsFactor},
    {"BatchNormalization", channels_first},
    {"CausalConvWithState", channels_first},
    {"Conv", channels_first},
    {"ConvInteger", channels_first},
    {"ConvTranspose", channels_first},
    {"DeformConv", channels_first},
    {"GlobalAveragePool", channels_first | kKeepsFactor},
    {"GlobalLpPool", channels_first},
    {"GlobalMaxPool", channels_first | keeps_positive_factor},
    {"GridSample", channels_first},
    {"GroupNormalization", channels_first},
    {"InstanceNormalization", channels_first},
    {"LRN", channels_first},
    {"LpPool", channels_first},
    {"MaxPool", channels_first | within | keeps_positive_factor},
    {"MaxRoiPool", channels_first},
    {"MaxUnpool", channels_first},
    {"QLinearConv", channels_first},
    {"Resize", channels_first | any_axes},
    {"RoiAlign", channels_first},
    // Others.
    {"MatMul", signless},
};

}  // namespace

Trait traits_of(std::string_view op) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Trait> t;
    for (const Row& r : kRows) t.emplace(r.op, r.traits);
    return t;
  }();
  const auto it = table.find(op);
  return it == table.end() ? Trait{} : it->second;
}

bool has(std::string_view op, Trait any_of) {
  return (static_cast<std::uint32_t>(traits_of(op)) & static_cast<std::uint32_t>(any_of)) != 0;
}

std::vector<std::string_view> ops_with_traits() {
  std::vector<std::string_view> ops;
  for (const Row& r : kRows) ops.push_back(r.op);
  return ops;
}

}  // namespace t2o::onnx
