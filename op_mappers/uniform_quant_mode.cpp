#include "op_mappers/uniform_quant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/nesting.h"
#include "op_mappers/plain_type.h"
#include "op_mappers/quantize_mode.h"
#include "tfgraph/facts.h"

// --quantize-mode for the Uniform* ops. Each op computes with numbers: it reads them from the levels of its
// inputs, and makes levels of its result. 8-bit levels are those of QuantizeLinear and DequantizeLinear,
// which a runtime fuses with the op between them. 32-bit levels are sums on their way to 8 bits: an op that
// reads them takes the numbers that they were made of. `float` takes such numbers everywhere, so no level is
// left inside.
namespace t2o {
namespace {

using namespace op_mappers;
using tf2onnx::QuantizeMode;

// A tensor with levels: the number of its input, or the result; where its scales are, the zeros behind them.
struct Levels {
  int input;  // -1: the result
  std::size_t scale;
  std::string whose;  // begins the names of its attributes
};
constexpr int kResult = -1;
constexpr double kLargest = 2147483520;  // of the floats that are 32-bit integers

struct Op {
  std::string name;
  std::vector<Levels> tensors;
};

const std::vector<Op>& ops() {
  static const std::vector<Op> all = {
      {"UniformQuantize", {{kResult, 1, ""}}},
      {"UniformDequantize", {{0, 1, ""}}},
      {"UniformRequantize", {{0, 1, "input_"}, {kResult, 3, "output_"}}},
      {"UniformQuantizedAdd", {{0, 2, "lhs_"}, {1, 4, "rhs_"}, {kResult, 6, "output_"}}},
      {"UniformQuantizedClipByValue", {{0, 3, ""}, {kResult, 3, ""}}},
      {"UniformQuantizedDot", {{0, 2, "lhs_"}, {1, 4, "rhs_"}, {kResult, 6, "output_"}}},
      {"UniformQuantizedConvolution", {{0, 2, "lhs_"}, {1, 4, "rhs_"}, {kResult, 6, "output_"}}},
      {"UniformQuantizedDotHybrid", {}},
      {"UniformQuantizedConvolutionHybrid", {}}};
  return all;
}

const Op* op_of(const ir::Node& n) {
  const auto found = std::ranges::find(ops(), n.op(), &Op::name);
  return found == ops().end() ? nullptr : &*found;
}

// ---- what has such a form

DType type_of(const ir::Node& n, const Levels& t) {
  return plain_type(t.input == kResult ? n.output()->dtype()
                                       : n.input(static_cast<std::size_t>(t.input))->dtype());
}

bool has_axis(const ir::Node& n, const Levels& t) {
  return n.attr_or<std::int64_t>(t.whose + "quantization_axis", -1) >= 0;
}

std::string why_exact(const ir::Node& n, const Levels& t, int opset) {
  constexpr int kOpsetOfAxes = 13;
  const Value *scale = n.input(t.scale), *zero = n.input(t.scale + 1);
  if (!scale || !zero || !scale->constant() || !zero->constant())
    return "scales that are known only at run time";
  for (const double s : scale->constant()->to_floats())
    if (!std::isnormal(static_cast<float>(s)) || s < 0) return "a scale that is no ordinary number above 0";
  const DType type = type_of(n, t);
  const bool is_wide = type == DType::i32;
  const std::int64_t low = type == DType::i8 ? -128 : 0, high = is_wide ? 0 : low + 255;
  if (!is_wide && type != DType::i8 && type != DType::u8) return "levels of another type than 8 and 32 bits";
  for (const std::int64_t z : zero->constant()->to_ints())
    if (z < low || z > high)
      return is_wide ? "32-bit levels with a zero point" : "a zero point beyond the levels";
  if (!is_wide && opset < kOpsetOfAxes && has_axis(n, t)) return "scales along an axis below opset 13";
  return "";
}

// Empty: the node takes numbers.
std::string why_exact(const ir::Node& n, int opset) {
  const Op& op = *op_of(n);
  if (op.tensors.empty()) return "it quantizes each row by the range that the row has at run time";
  for (const Levels& t : op.tensors)
    if (std::string why = why_exact(n, t, opset); !why.empty()) return why;
  if (op.name == "UniformQuantizedClipByValue" && !(n.input(1)->constant() && n.input(2)->constant()))
    return "bounds that are known only at run time";
  if (op.name == "UniformQuantizedAdd" && has_axis(n, op.tensors[2]) && !has_axis(n, op.tensors[0]))
    return "scales along an axis of a first operand with one scale";
  if (op.name != "UniformQuantizedConvolution") return "";
  if (n.attr_or<std::int64_t>("batch_group_count", 1) != 1) return "groups of the batch";
  if (std::ranges::any_of(n.attr_or("lhs_dilation", Ints{}), [](std::int64_t d) { return d != 1; }))
    return "lhs_dilation";
  const Shape &x = n.input(0)->shape(), &kernel = n.input(1)->shape();
  const int rank = kernel.ranked() ? kernel.rank() : x.ranked() ? x.rank() : 0;
  return rank < 3 || rank > 5 ? "other than one to three spatial axes" : "";
}

// ---- levels and numbers

class Uniform {
 public:
  Uniform(MapperContext& c, QuantizeMode mode) : c_(c), mode_(mode), op_(*op_of(c.node())) {}

  Values run() {
    const bool is_weight = op_.name == "UniformQuantize" && c_.in(0)->constant();
    if (is_weight || !why_exact(c_.node(), c_.target().opset).empty()) return exactly();
    if (op_.name == "UniformQuantize") return {levels_of(c_.in(0))};
    if (op_.name == "UniformDequantize") return {numbers_of(op_.tensors[0])};
    if (op_.name == "UniformRequantize") return {levels_of(numbers_of(op_.tensors[0]))};
    if (op_.name == "UniformQuantizedClipByValue") return {levels_of(clipped())};
    Value *left = numbers_of(op_.tensors[0]), *right = numbers_of(op_.tensors[1]);
    if (op_.name == "UniformQuantizedAdd") return {levels_of(c_.add(left, right))};
    if (op_.name == "UniformQuantizedDot") return {levels_of(c_.matmul(left, right))};
    return {levels_of(convolved_numbers(c_, left, right))};
  }

 private:
  Values exactly() { return tf_registry().find(op_.name, c_.target().opset)->map(c_); }
  std::int64_t axis_of(const Levels& t) const { return op_mappers::axis_of(c_, t.whose); }

  // The scale and the zero point as QuantizeLinear and DequantizeLinear take them.
  Values parameters(const Levels& t, DType type) {
    Value *scale = c_.in(t.scale), *zero = c_.cast(c_.in(t.scale + 1), type);
    return axis_of(t) >= 0 ? Values{scale, zero} : Values{c_.reshape(scale, {}), c_.reshape(zero, {})};
  }
  Attrs axis_attr(const Levels& t) const { return axis_of(t) >= 0 ? Attrs{{"axis", axis_of(t)}} : Attrs{}; }

  // A step of 32-bit levels does not show in the result: each of up to three sums on the way adds half of it.
  bool is_fine(const Levels& t) const {
    constexpr double kSteps = 4;
    const Levels& result = op_.tensors.back();
    if (mode_ == QuantizeMode::as_float || result.input != kResult ||
        type_of(c_.node(), result) == DType::i32)
      return true;
    const auto from = c_.in(t.scale)->constant()->to_floats(),
               to = c_.in(result.scale)->constant()->to_floats();
    return *std::ranges::max_element(from) * kSteps <= *std::ranges::min_element(to);
  }

  // To bounds that the levels' type does not have.
  static bool cuts(const ir::Node& n) {
    const auto is_inside = [&](std::size_t i) {
      return n.input(i) && std::abs(n.input(i)->constant()->float_at(0)) < kLargest;
    };
    return n.op() == "Clip" && (is_inside(1) || is_inside(2));
  }

  static bool are_equal(const Value* a, const Value* b) {
    return a && b && a->constant() && b->constant() && same_content(*a->constant(), *b->constant());
  }

  // The numbers that levels of this scale and zero point were made of; null if they were not.
  Value* behind(Value* levels, const Levels& t) {
    const ir::Node* n = levels->producer();
    const bool is_wide = levels->dtype() == DType::i32;
    const auto step = [&](const char* op) {
      if (n && n->op() == op) n = n->input(0)->producer();
    };
    if (is_wide) step("Cast");
    if (is_wide && n && cuts(*n)) return nullptr;
    step("Clip");
    if (is_wide) step("Round");
    if (!n || n->op() != (is_wide ? "Div" : "QuantizeLinear")) return nullptr;
    if (is_wide)  // 32-bit levels have the zero point 0
      return are_equal(n->input(1), along_of(c_, t.scale, axis_of(t), levels)) ? n->input(0) : nullptr;
    const Values given = parameters(t, levels->dtype());
    const bool has_axis = axis_of(t) >= 0, is_same_axis = n->attr_or<std::int64_t>("axis", -1) == axis_of(t);
    const bool is_same = are_equal(n->input(1), given[0]) && are_equal(n->input(2), given[1]);
    return is_same && (!has_axis || is_same_axis) ? n->input(0) : nullptr;
  }

  Value* numbers_of(const Levels& t) {
    Value* levels = c_.in(static_cast<std::size_t>(t.input));
    const bool is_wide = levels->dtype() == DType::i32;
    if (is_wide ? is_fine(t) : mode_ == QuantizeMode::as_float)
      if (Value* numbers = behind(levels, t)) return numbers;
    if (!is_wide && !(levels->constant() && mode_ == QuantizeMode::as_float)) {
      Values in = parameters(t, levels->dtype());
      in.insert(in.begin(), levels);
      return c_.emit("DequantizeLinear", in, axis_attr(t));
    }
    return scaled(is_wide ? levels : less_zero(levels, t), t, levels);
  }
  Value* less_zero(Value* levels, const Levels& t) {
    return c_.sub(c_.cast(levels, DType::i32), along_of(c_, t.scale + 1, axis_of(t), levels));
  }
  Value* scaled(Value* above_zero, const Levels& t, Value* tensor) {
    return c_.mul(c_.cast(above_zero, DType::f32), along_of(c_, t.scale, axis_of(t), tensor));
  }

  // As the result has them.
  Value* levels_of(Value* numbers) {
    const Levels& t = op_.tensors.back();
    const DType type = type_of(c_.node(), t);
    const auto bound = [&](const char* end) {
      return static_cast<double>(c_.attr<std::int64_t>(t.whose + "quantization_" + end + "_val"));
    };
    const double low = bound("min"), high = bound("max");
    if (type == DType::i32) {
      Value* levels = c_.round(c_.div(numbers, along_of(c_, t.scale, axis_of(t), numbers)));
      return c_.cast(c_.clip(levels, std::max(low, -kLargest), std::min(high, kLargest)), type);
    }
    Values in = parameters(t, type);
    in.insert(in.begin(), numbers);
    Value* levels = c_.emit("QuantizeLinear", in, axis_attr(t));
    const double lowest = type == DType::i8 ? -128 : 0;
    return low > lowest || high < lowest + 255 ? c_.clip(levels, low, high) : levels;
  }

  // Bounds that are the ends of all levels are none: ReLU has one.
  Value* clipped() {
    const Levels& t = op_.tensors[0];
    Value* y = numbers_of(t);
    const auto is_end = [&](std::size_t i, std::int64_t end) {
      return std::ranges::all_of(c_.in(i)->constant()->to_ints(), [&](std::int64_t v) { return v == end; });
    };
    const auto bound = [&](std::size_t i) { return scaled(along_of(c_, i, axis_of(t), y), t, y); };
    using Limits = std::numeric_limits<std::int32_t>;
    Value* low = is_end(1, Limits::min()) ? nullptr : bound(1);
    Value* high = is_end(2, Limits::max()) ? nullptr : bound(2);
    const auto number = [](const Value* v) {
      return v ? std::optional(v->constant()->float_at(0)) : std::nullopt;
    };
    if (axis_of(t) < 0) return low || high ? c_.clip(y, number(low), number(high)) : y;
    if (low) y = c_.maximum(y, low);
    return high ? c_.minimum(y, high) : y;
  }

  MapperContext& c_;
  QuantizeMode mode_;
  const Op& op_;
};

}  // namespace

void add_uniform_rows(OpRegistry& rows, QuantizeMode mode) {
  std::vector<std::string> attrs = {"batch_group_count", "lhs_dilation"};
  for (const std::string whose : {"", "input_", "output_", "lhs_", "rhs_"})
    for (const char* end : {"min_val", "max_val", "axis"}) attrs.push_back(whose + "quantization_" + end);
  for (const Op& op : ops())
    rows.op(op.name).ignores(attrs).by([mode](MapperContext& c) { return Uniform(c, mode).run(); });
}

void warn_of_exact(QuantizeMode mode, const ir::Graph& source, const Target& target,
                   Diagnostics& diagnostics) {
  if (mode == QuantizeMode::exact) return;
  if (!tfgraph::fakes_quantization(source))
    diagnostics.push_back({Severity::warning,
                           Code::bad_option,
                           "--quantize-mode: the model has no fake quantization, and it changes nothing",
                           "",
                           {},
                           SourceLoc::here()});
  ir::for_each_node(source, [&](const ir::Node& n) {
    const std::string why = op_of(n) ? why_exact(n, target.opset) : "";
    if (!why.empty())
      diagnostics.push_back({Severity::warning, Code::unsupported_attr,
                             "it stays exact, in integers, in spite of --quantize-mode: " + why, "",
                             n.origin(), SourceLoc::here()});
  });
}

}  // namespace t2o
