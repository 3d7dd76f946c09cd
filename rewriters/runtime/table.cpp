#include "rewriters/runtime/table.h"

#include <algorithm>
#include <stdexcept>

#include "rewriters/portable/rows.h"
#include "rewriters/runtime/rows.h"

namespace t2o::runtime {

using namespace rewriters;

namespace {

constexpr std::string_view kLast = "runtime";  // the phase after all others
constexpr std::string_view kMeanings = "meanings";
constexpr std::string_view kCanonical = "canonical";
constexpr std::string_view kEarly = "fold";  // of what later phases shorten

std::vector<Row> rows() {
  return {
      {.name = "fast_prelu",
       .kind = Kind::preference,
       .phase = kLast,
       .operators = {"PRelu"},
       .types = {DType::f32},
       .why =
           "PRelu is computed element by element, with a branch for each: 4 ns an element. Relu, Clip, Mul, "
           "Add and Max are computed in vectors, 0.1 ns an element, and give the same numbers.",
       .make = fast_prelu,
       .versions = {.first = 27}},
      {.name = "guard_resizes",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Resize", "Transpose"},
       .types = {},
       .why = "The optimizer moves a Transpose of (0, 2, 3, 1) behind a Resize. The Resize then interpolates "
              "axes 1 and 3, for which there is no kernel: the model does not run.",
       .make = guard_resizes},
      {.name = "guard_fusions",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Div", "Mul", "Relu", "Clip"},
       .types = {},
       .why =
           "The optimizer writes 1 / x * y as y / x for integers too, and loses axes that the 1 alone has. "
           "It loads no model with a Clip behind a Relu of types other than f32 and f16.",
       .make = guard_fusions},
      {.name = "guard_pads",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Pad", "MaxPool", "AveragePool"},
       .types = {},
       .why = "The optimizer takes a Pad of zeros in front of a pool for the pool's own padding. A maximum "
              "pool then ignores the zeros, and pads that are larger than the window are refused.",
       .make = guard_pads,
       .versions = {.first = 25}},
      {.name = "guard_floats",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Conv", "ConvTranspose", "Gemm", "MatMul"},
       .types = {DType::f32},
       .why =
           "The optimizer quantizes float weights of a layer between a DequantizeLinear and a "
           "QuantizeLinear, with scales of its own: 7.5 % of a volume convolution's codes were off by one.",
       .make = guard_floats},
      {.name = "guard_pairs",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"QuantizeLinear", "DequantizeLinear"},
       .types = {DType::i8, DType::u8},
       .why =
           "Of two pairs of QuantizeLinear and DequantizeLinear, one behind the other, the optimizer makes "
           "one "
           "pair with a scale of its own: up to half of the numbers are off, by up to 1.7 codes. Twice the "
           "scales between the pairs give the same codes, and the optimizer leaves them.",
       .make = guard_pairs},
      {.name = "guard_sums",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Conv", "MatMul", "Mul", "Div", "BatchNormalization"},
       .types = {},
       .why =
           "The optimizer folds factors into the weights of the Conv or MatMul beside them. In a binarized "
           "or ternarized network each product is then rounded, and a tenth of the signs of sums that are "
           "exactly 0 are wrong.",
       .make = guard_sums},
      {.name = "whole_windows",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"MaxPool", "AveragePool"},
       .types = {},
       .why = "Of an image that is smaller than the window one window is found where the stride is above 1. "
              "TensorFlow finds none. An image that the model computes is not looked at.",
       .make = whole_windows},
      {.name = "keep_nan",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"ReduceMax", "ReduceMin", "Sign"},
       .types = {DType::f16, DType::bf16, DType::f32, DType::f64},
       .why = "A NaN in a maximum is ignored, or is not, depending on its place. TensorFlow's maximum of "
              "numbers with a NaN is NaN. The sign of a NaN in f16 is 0, and TensorFlow's is NaN.",
       .make = keep_nan,
       .level = Level::strict},
      {.name = "skip_nan",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"ArgMax", "ArgMin", "MaxPool"},
       .types = {DType::f16, DType::bf16, DType::f32, DType::f64},
       .why =
           "A NaN that comes first is picked, and a pool starts at -inf. TensorFlow never picks a NaN, and "
           "its pools start at the lowest finite number.",
       .make = skip_nan,
       .level = Level::strict,
       .after = {{"whole_windows", "it asks for the image in front of the pool"}}},
      {.name = "nan_of_nothing",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"ReduceMean"},
       .types = {DType::f16, DType::bf16, DType::f32, DType::f64},
       .why = "The mean of no numbers is 0. TensorFlow's is NaN, for which a model may ask. With "
              "--fidelity plain the row acts where a size is computed from data, as that of NonZero.",
       .make = nan_of_nothing},
      {.name = "rows_without_steps",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"LSTM", "GRU", "RNN"},
       .types = {},
       .why = "The last state of a row without steps is 0, not its first state.",
       .make = rows_without_steps},
      {.name = "unique_rows",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"Unique"},
       .types = {},
       .why = "A NaN may equal any number. In TensorFlow it equals nothing, which counts with --fidelity "
              "strict. Slices without elements end the process.",
       .make = unique_rows},
      {.name = "front_axes",
       .kind = Kind::repair,
       .phase = kMeanings,
       .operators = {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                     "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"},
       .types = {},
       .why = "A tensor without elements stays as it is if the axis is counted from the back. Only where the "
              "rank is unknown and a size may be 0.",
       .make = front_axes,
       .after = {{"keep_nan", "it makes reductions over the same axes"},
                 {"nan_of_nothing", "the same"},
                 {"skip_nan", "the guard stands in front of what is reshaped"}}},
      {.name = "empty_batches",
       .kind = Kind::repair,
       .phase = kCanonical,
       .operators = {"MatMul", "Transpose"},
       .types = {},
       .why =
           "A matrix is not multiplied with each one of an empty batch: the model stops, or the result has "
           "another shape. Only where a size may be 0.",
       .make = empty_batches},
      {.name = "sized_splits",
       .kind = Kind::repair,
       .phase = kCanonical,
       .operators = {"Split"},
       .types = {},
       .why = "num_outputs is refused if the axis has no elements. Only where a size may be 0.",
       .make = sized_splits,
       .first_opset = 18},
      {.name = "softplus_in_f32",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Softplus"},
       .types = {DType::f16},
       .why = "Halves are computed by the definition, log(exp(x) + 1), which is infinite from 89 on.",
       .make = softplus_in_f32,
       .first_opset = 18,
       .last_opset = 18},
      {.name = "wide_extrema",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Max", "Min"},
       .types = {DType::i64},
       .why = "On some CPUs only the lower 32 bits are compared: max(2^33, 5) is 5. Not where numbers are "
              "known to "
              "fit into 32 bits.",
       .make = wide_extrema},
      {.name = "wide_signs",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Sign"},
       .types = {DType::i64},
       .why =
           "On some CPUs only the lower 32 bits are looked at: the sign of 2^32 is 0. Not where numbers are "
           "known to fit into 32 bits.",
       .make = wide_signs},
      {.name = "wide_reductions",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"ReduceMax", "ReduceMin"},
       .types = {DType::i64},
       .why = "On some CPUs only the lower 32 bits are compared unless the first axis is reduced. ArgMax and "
              "ArgMin "
              "compare all. Not where numbers are known to fit into 32 bits.",
       .make = wide_reductions},
      {.name = "wide_remainders",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Mod"},
       .types = {DType::i64},
       .why = "A Mod with fmod=1 is one of doubles, which do not hold all 64-bit integers. Not where numbers "
              "are "
              "known to fit into 32 bits.",
       .make = wide_remainders},
      {.name = "wide_sums",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"ReduceSum"},
       .types = {DType::i64},
       .why =
           "The sum is one of doubles, which round beyond 2^53 and do not wrap around. Not where numbers are "
           "known to fit into 32 bits.",
       .make = wide_sums},
      {.name = "wide_products",
       .kind = Kind::repair,
       .phase = kEarly,
       .operators = {"ReduceProd"},
       .types = {DType::i64},
       .why = "The product is one of doubles, which round beyond 2^53 and do not wrap around. Not of sizes.",
       .make = wide_products,
       .before = {{"constant_folding", "sizes among the factors are known then"}}},
      {.name = "guard_casts",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"Cast"},
       .types = {DType::i64, DType::u64, DType::u32},
       .why =
           "Of two Casts, float to a wide integer and on to a narrower one, the first is left out, with the "
           "optimizer off as well. Numbers beyond the narrower type become its lowest value instead of "
           "wrapping around.",
       .make = guard_casts,
       .after = {{"wide_signs", "it makes a Cast of a float to i64"}}},
      {.name = "integer_convs",
       .kind = Kind::preference,
       .phase = kLast,
       .operators = {"Conv", "QuantizeLinear", "DequantizeLinear"},
       .types = {DType::u8},
       .why = "A QLinearConv sums integers. The optimizer makes the same one of a Conv between codes, so "
              "neither time nor results change. Without the optimizer the Conv sums floats: 4 to 10 of a "
              "million codes of a first layer were off by one, and 2 % of a network's results by more; a "
              "network of 66 such layers took four times as long.",
       .make = integer_convs},
      {.name = "own_zero_points",
       .kind = Kind::repair,
       .phase = kLast,
       .operators = {"DequantizeLinear", "QLinearConv"},
       .types = {DType::i8},
       .why = "The session option x64quantprecision=1 keeps sums of 8-bit products exact on x86 without "
              "VNNI. With it "
              "a model does not load in which two weights have one zero point.",
       .make = own_zero_points,
       .versions = {.first = 25},
       .after = {{"integer_convs", "two convolutions then read the zero point of one DequantizeLinear"}}},
      {.name = "unsigned_codes",
       .kind = Kind::preference,
       .phase = "fuse",
       .operators = {"QuantizeLinear", "DequantizeLinear"},
       .types = {DType::i8},
       .why = "Layers have fast integer kernels for u8 activations alone on x86. MobileNetV2 takes 1.7 ms "
              "with u8 inside "
              "and 2.9 ms with i8, where 16 of 52 convolutions run in floats (floats alone: 3.7 ms). At "
              "opset 21 and above "
              "some models with i8 inside do not load: the optimizer writes a wrong output_dtype.",
       .make = unsigned_codes},
      {.name = "average_by_conv",
       .kind = Kind::preference,
       .phase = "weights",
       .operators = {"AveragePool"},
       .types = {DType::f32},
       .why = "AveragePool of opset 19 and above works pixel by pixel where it cannot work on blocks of 16 "
              "channels. A convolution of each channel with one weight takes a half to a twentieth of the "
              "time.",
       .make = average_by_conv,
       .first_opset = 19,
       .before = {{"fuse_conv",
                   "it takes the Pad in front of the convolution, which was in front of the pool"}}},
      {.name = "fuse_batch_norm",
       .kind = Kind::preference,
       .phase = "weights",
       .operators = {"Mul", "Add"},
       .types = {DType::f32},
       .why = "A scale and a shift of each channel are two passes, in another layout than the channel blocks "
              "of the convolutions around them. A BatchNormalization is one pass, within the blocks: a "
              "network of small convolutions takes 0.7 of the time.",
       .make = fuse_batch_norm,
       .versions = {.first = 25},
       .after = {{"center_norm", "both match the Mul and Add behind a mean; center_norm matches more of it"}},
       .before = {{"absorb_scales", "both match the Mul of a single channel"}}},
      {.name = "image_convs",
       .kind = Kind::preference,
       .phase = "weights",
       .operators = {"Conv"},
       .types = {DType::f32},
       .why = "Convolutions work on blocks of channels for images only. A depthwise convolution of sequences "
              "takes 1.6 times as long as one of images of height 1, the nodes around it included.",
       .make = image_convs,
       .after = {{"fuse_conv", "then no scale stands between two convolutions"}}},
      {.name = "small_norms",
       .kind = Kind::preference,
       .phase = kCanonical,
       .operators = {"ReduceSum", "Sqrt", "Reciprocal", "Mul"},
       .types = {DType::f32},
       .why = "For few numbers each node counts: a norm as ReduceL2 and the division by it as Div are two "
              "nodes for five. For many numbers the plain form stays: ReduceL2 takes up to twice as long as "
              "its parts.",
       .make = small_norms},
      {.name = "sum_exp_in_parts",
       .kind = Kind::preference,
       .phase = kEarly,
       .operators = {"ReduceLogSumExp"},
       .types = {DType::f16, DType::bf16, DType::f32, DType::f64},
       .why = "ReduceLogSumExp computes one exponential after the other: nine times as slow as its parts.",
       .make = sum_exp_in_parts,
       .before = {{"constant_folding", "sizes among the parts are known then"}}},
      {.name = "column_products",
       .kind = Kind::preference,
       .phase = {},
       .operators = {"MatMul"},
       .types = {DType::f32, DType::f64},
       .why = "A MatMul with a vector takes 10 times as long as one with a matrix of one column and the "
              "Squeeze behind it."},
      {.name = "held_masks",
       .kind = Kind::repair,
       .phase = {},
       .operators = {"Attention"},
       .types = {},
       .why = "Attention takes a row of scores for hidden if all of them are the lowest number of f32, and "
              "gives zeros. By the standard that holds for infinities alone: the softmax of such a row is "
              "even. A mask that may be so low is held at -1e38.",
       .first_opset = 23,
       .versions = {.first = 28}},
      {.name = "whole_masks",
       .kind = Kind::repair,
       .phase = {},
       .operators = {"Attention"},
       .types = {},
       .why = "Attention does not broadcast the rows of a mask: with a mask of one row it does not run.",
       .first_opset = 23},
      {.name = "group_normalization",
       .kind = Kind::veto,
       .phase = {},
       .operators = {"GroupNormalization"},
       .types = {},
       .why =
           "There is no kernel: many small operators compute it, and take 1.25 to 1.5 times as long as the "
           "plain form. An InstanceNormalization of the groups takes 0.7 of the plain form's time.",
       .first_opset = 21},
  };
}

thread_local Recording* recording = nullptr;

// "ort-1.31": 31; no ONNX Runtime: -1
int minor_version(const onnx::Target& t) {
  if (!t.for_ort()) return -1;
  const std::size_t dot = t.runtime.find('.');
  return dot == std::string::npos ? Versions().last : std::stoi(t.runtime.substr(dot + 1));
}

// Whether a row that a fusion asks for applies; then that is a use.
bool acts(const Row& r, const onnx::Target& target) {
  if (!applies(r, target) || (recording && recording->leaves_out(r.name))) return false;
  if (recording) recording->add(r.name, 1);
  return true;
}

}  // namespace

std::string_view name(Kind k) {
  constexpr std::string_view kNames[] = {"repair", "veto", "preference", "form"};
  return kNames[static_cast<std::size_t>(k)];
}

std::string_view name(Level l) { return l == Level::plain ? "plain" : "strict"; }

const std::vector<Row>& table() {
  static const std::vector<Row> all = [] {
    std::vector<Row> both = rows();
    for (Row& r : portable::rows()) both.push_back(std::move(r));
    return both;
  }();
  return all;
}

const Row* find_row(std::string_view name) {
  const auto it = std::find_if(table().begin(), table().end(), [&](const Row& r) { return r.name == name; });
  return it == table().end() ? nullptr : &*it;
}

// A version that is newer than all that were seen is taken for the last of them.
bool applies(const Row& r, const onnx::Target& t) {
  if (t.opset < r.first_opset || t.opset > r.last_opset) return false;
  if (r.kind == Kind::form) return !t.for_ort();
  const int version = std::min(minor_version(t), Versions().last);
  return version >= r.versions.first && version <= r.versions.last && (r.level == Level::plain || t.strict);
}

std::vector<Step> steps(std::string_view phase, const onnx::Target& target) {
  const auto has = [&](const After& a) {
    const Row* row = find_row(a.rewriter);
    return !row || applies(*row, target);
  };
  std::vector<Step> all;
  for (const Row& r : table()) {
    if (!r.make || r.phase != phase || !applies(r, target)) continue;
    all.push_back({r.make(target), r.after});
    std::erase_if(all.back().after, [&](const After& a) { return !has(a); });
  }
  return all;
}

void add_steps(Phase& phase, const onnx::Target& target) {
  for (Step& added : steps(phase.name, target)) {
    auto place = phase.steps.end();
    for (const After& later : find_row(added.rewriter.name)->before) {
      const auto step = std::find_if(phase.steps.begin(), phase.steps.end(),
                                     [&](const Step& s) { return s.rewriter.name == later.rewriter; });
      if (step == phase.steps.end()) throw std::logic_error("no rewriter " + later.rewriter);
      step->after.push_back({added.rewriter.name, later.why});
      place = std::min(place, step);
    }
    phase.steps.insert(place, std::move(added));
  }
}

bool may_make(const onnx::Target& target, std::string_view op, DType type) {
  const auto names = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  return std::none_of(table().begin(), table().end(), [&](const Row& r) {
    return r.kind == Kind::veto && names(r.operators, op) && (r.types.empty() || names(r.types, type)) &&
           acts(r, target);
  });
}

bool needs(const onnx::Target& target, std::string_view row) {
  const Row* r = find_row(row);
  if (!r || r->make || r->kind == Kind::veto)
    throw std::logic_error("no row to ask for: " + std::string(row));
  return acts(*r, target);
}

Recording::Recording(std::vector<std::string> without) : outer_(recording), without_(std::move(without)) {
  recording = this;
}
Recording::~Recording() { recording = outer_; }

bool Recording::leaves_out(std::string_view row) const {
  return std::find(without_.begin(), without_.end(), row) != without_.end();
}

void Recording::add(std::string_view row, int uses) {
  if (uses == 0 || !find_row(row)) return;
  const auto it = std::find_if(uses_.begin(), uses_.end(), [&](const auto& u) { return u.first == row; });
  if (it == uses_.end())
    uses_.emplace_back(row, uses);
  else
    it->second += uses;
}

}  // namespace t2o::runtime
