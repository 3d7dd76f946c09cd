#include "tflite/dequantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>

namespace t2o::tflite {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDeepest = 64;

using Names = std::unordered_set<std::string_view>;

template <class T>
float code_at(Bytes codes, std::size_t i) {
  T code;
  std::memcpy(&code, codes.data() + i * sizeof code, sizeof code);
  return static_cast<float>(code);
}

float code_at(DType type, Bytes codes, std::size_t i) {
  if (type == DType::i8) return code_at<std::int8_t>(codes, i);
  return type == DType::u8 ? code_at<std::uint8_t>(codes, i) : code_at<std::int16_t>(codes, i);
}

// The number of elements that one scale is for, before the next scale follows.
std::size_t run_of_one_scale(const Ints& dims, const Quantization& q) {
  std::size_t run = 1;
  for (std::size_t i = static_cast<std::size_t>(q.axis) + 1; i < dims.size(); ++i)
    run *= static_cast<std::size_t>(dims[i]);
  return run;
}

bool is_scalar_constant(const Value* v) {
  return v->constant() && v->constant()->elements() == 1 && v->dtype() == DType::f32;
}

Range join(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Range clipped(Range r, double low, double high) {
  return {std::clamp(r.low, low, high), std::clamp(r.high, low, high)};
}

Range of_two(std::string_view op, Range a, Range b) {
  if (op == "AddV2") return {a.low + b.low, a.high + b.high};
  if (op == "Maximum") return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (op == "Minimum") return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (a.low >= 0 && b.low >= 0) return {0, a.high * b.high};  // Mul
  return {-kInfinity, kInfinity};
}

}  // namespace

TensorPtr dequantized(const TensorPtr& t, const Quantization& q) {
  const StoragePtr codes = t->storage();
  const auto elements = static_cast<std::size_t>(t->elements());
  const std::size_t run =
      q.is_per_tensor() ? std::max<std::size_t>(elements, 1) : run_of_one_scale(t->dims(), q);
  const DType type = t->dtype();
  const auto fill = [=](std::span<std::byte> out) {
    const Bytes from = codes->bytes();
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t k = i / run % q.scales.size();
      const float number = (code_at(type, from, i) - static_cast<float>(q.zero_points[k])) * q.scales[k];
      std::memcpy(out.data() + i * sizeof number, &number, sizeof number);
    }
    codes->release();
  };
  return std::make_shared<Tensor>(DType::f32, t->dims(), computed_storage(elements * sizeof(float), fill));
}

Range range_of(const Quantization& q, DType codes) {
  const double count = std::exp2(bit_width(codes)), lowest = is_signed_int(codes) ? -count / 2 : 0;
  const auto number = [&](double code) {
    return static_cast<double>(q.scales[0]) * (code - static_cast<double>(q.zero_points[0]));
  };
  return {number(lowest), number(lowest + count - 1)};
}

Range Bounds::find(const Value* v, int depth) {
  if (const auto found = known_.find(v); found != known_.end()) return found->second;
  if (is_scalar_constant(v)) return {v->constant()->float_at(0), v->constant()->float_at(0)};
  if (!v->producer() || depth >= kDeepest) return {-kInfinity, kInfinity};
  const Range range = of_node(*v->producer(), depth + 1);
  known_.emplace(v, range);
  return range;
}

Range Bounds::of_node(const ir::Node& n, int depth) {
  static const Names kMoves = {"Identity",
                               "Reshape",
                               "Transpose",
                               "MaxPool",
                               "AvgPool",
                               "Squeeze",
                               "ExpandDims",
                               "StridedSlice",
                               "Slice",
                               "GatherV2",
                               "GatherNd",
                               "Mean",
                               "Max",
                               "Min",
                               "Tile",
                               "ResizeBilinear",
                               "ResizeNearestNeighbor",
                               "SpaceToDepth",
                               "DepthToSpace",
                               "Unpack",
                               "SplitV",
                               "BroadcastTo",
                               "ReverseV2",
                               "MirrorPad"};
  static const Names kNoSign = {"Abs", "Square", "Sqrt", "Exp", "SquaredDifference"};
  static const Names kOfTwo = {"AddV2", "Mul", "Maximum", "Minimum"};
  const std::string_view op = n.op();
  const auto in = [&](std::size_t i) {
    return n.input(i) ? find(n.input(i), depth) : Range{-kInfinity, kInfinity};
  };
  if (kMoves.contains(op)) return in(0);
  if (op == "Split") return in(1);
  if (op == "Relu") return clipped(in(0), 0, kInfinity);
  if (op == "Relu6") return clipped(in(0), 0, kSix);
  if (op == "ClipByValue") {
    const double low = in(1).low;
    return clipped(in(0), low, std::max(low, in(2).high));
  }
  if (op == "Sigmoid" || op == "Softmax") return {0, 1};
  if (op == "Tanh") return {-1, 1};
  if (kNoSign.contains(op)) return {0, kInfinity};
  if (op == "Pad" || op == "BatchToSpaceND" || op == "SpaceToBatchND") return join(in(0), {0, 0});
  if (kOfTwo.contains(op)) return of_two(op, in(0), in(1));
  if (op != "ConcatV2" && op != "Pack") return {-kInfinity, kInfinity};
  Range all = in(0);
  for (std::size_t i = 1; i + (op == "Pack" ? 0 : 1) < n.input_count(); ++i) all = join(all, in(i));
  return all;
}

// A range that begins at 0 is that of ReLU or of ReLU6, whose upper end may have been learned: both ends of
// the range hold for either.
std::optional<Range> lost_activation(const Range& codes, const Range& value) {
  const double half_step = codes.high / 510;
  const bool ends_at_six = std::abs(codes.high - kSix) <= half_step;
  const double high = ends_at_six ? kSix : codes.high;
  if (!may_hide_activation(codes) || (value.low >= 0 && (!ends_at_six || value.high <= kSix))) return {};
  return Range{0, high};
}

}  // namespace t2o::tflite
