#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

// Operators that TensorFlow does not have. The importer and the rewriters make them; a model that names one is refused.
namespace t2o::tfgraph {

inline constexpr std::string_view kInternalPrefix = "t2o.";
inline bool is_internal(std::string_view op) { return op.starts_with(kInternalPrefix); }

// An identity that is computed only if its second input is. It stands for a control edge from one side of a conditional
// to a node that reads no value of that side. The importer makes it; drop_guards() removes it.
inline constexpr std::string_view kGuarded = "t2o.Guarded";

// input x; attribute approximate, as ONNX's Gelu
inline constexpr std::string_view kGelu = "t2o.Gelu";

// x where it is positive, else slope * x; inputs x, slope, which broadcasts to x
inline constexpr std::string_view kPRelu = "t2o.PRelu";

// log(sum(exp(x))) over axes, without overflow; inputs x, axes; attribute keep_dims
inline constexpr std::string_view kLogSumExp = "t2o.LogSumExp";

// Codes of numbers, and numbers of codes, as ONNX's QuantizeLinear and DequantizeLinear; inputs x, scales, zero points of the codes'
// type; attribute axis where there are several scales.
inline constexpr std::string_view kQuantize = "t2o.QuantizeLinear";
inline constexpr std::string_view kDequantize = "t2o.DequantizeLinear";

// Floats x, each rounded to the nearest of 256 numbers from the least to the greatest, 0 among them; attribute by_rows: of its row
inline constexpr std::string_view kRoundToBytes = "t2o.RoundToBytes";

// The values of keys in a table; inputs x, keys [n], values [n], and the value of what is no key. All but x are constants.
inline constexpr std::string_view kLookup = "t2o.Lookup";

// Greedy suppression of boxes that overlap, in their order, tile by tile as tf.image.non_max_suppression_padded does it. When each
// image has enough boxes behind a tile, the tiles after it stay as they are.
//   inputs      boxes [batch, count, 4], a box as y_min, x_min, y_max, x_max; how many boxes are enough; the number of tiles
//   attributes  iou_threshold: overlaps from here on suppress; tile_size; skips_negative: boxes whose coordinates are all negative
//               overlap nothing; hides_end: no reader sees whether tiles were left because there were enough boxes
//   outputs     the boxes, with zeros for suppressed ones; 1 for each box of a tile that was reached, else 0; it broadcasts to [count]
inline constexpr std::string_view kSuppressBoxes = "t2o.SuppressBoxes";

enum class CellKind : std::uint8_t { lstm, gru, rnn };
enum class Direction : std::uint8_t { forward, reverse, both };
std::string_view name(Direction);  // ONNX's
// The output of a row in a step in which it takes no part: zero, the output before, or the output before but zero at first.
enum class Past : std::uint8_t { zero, hold, hold_zero };

struct Activation {  // by ONNX's names
  std::string name = {};
  float alpha = 0, beta = 0;
  bool operator==(const Activation&) const = default;
};

// A recurrent layer in TensorFlow's terms: t2o.LSTM, t2o.GRU or t2o.RNN.
//   inputs   x [time, batch, features], mask (lengths [batch] or bool [time, batch]), then for each
//   direction a block:
//            initial states, and for each gate in ONNX's order: kernels [features, units], recurrent kernels
//            [units, units], biases [units]; then peepholes i o f (LSTM), recurrent bias of the candidate
//            (GRU). All but x and kernels may be missing.
//   outputs  for each direction: y [time, batch, units], the last states, the output of the last step
// The reverse direction reads x from its end, y is in the order of x.
struct RecurrentLayer {
  static constexpr std::int64_t kMostUnits = 1 << 20;

  CellKind kind = CellKind::rnn;
  Direction direction = Direction::forward;
  std::int64_t units = 0;
  std::vector<Activation> activations = {};  // ONNX's f, g, h, of each direction
  std::optional<Past> past = {};             // of a layer with a mask
  bool padding_first = false;  // a reverse layer runs over the steps after a row's end before the row's own, and
                               // keeps the state in them
  bool linear_before_reset = false;  // of a GRU

  std::string_view op() const;
  std::string_view onnx_op() const { return op().substr(kInternalPrefix.size()); }
  Attrs attrs() const;
  static std::optional<RecurrentLayer> of(const ir::Node&);  // empty if the node is no such layer, or malformed

  std::size_t directions() const { return direction == Direction::both ? 2 : 1; }
  std::size_t states() const { return kind == CellKind::lstm ? 2 : 1; }
  std::size_t gates() const { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }
  std::size_t extras() const { return kind == CellKind::lstm ? 3 : kind == CellKind::gru ? 1 : 0; }
  // The number of inputs of a direction, and the index of the first one.
  std::size_t inputs() const { return states() + 3 * gates() + extras(); }
  std::size_t outputs() const { return states() + 2; }
  std::size_t first_input(std::size_t d) const { return 2 + d * inputs(); }
};

}  // namespace t2o::tfgraph
