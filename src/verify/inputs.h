#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engines/onnxruntime.h"
#include "verify/integer_use.h"
#include "verify/random.h"

namespace t2o::verify {

// The codes of a quantized tensor.
struct PortCodes {
  double step = 0;  // between the numbers of two neighbouring codes; 1 where the tensor holds the codes themselves. 0: there are no codes
  int bits = 8;
  double lowest = 0;  // of a float tensor whose source has codes: the number of the lowest of them
};

// One input or output that the two models share.
struct Port {
  std::string name;    // in messages and reports: the ONNX model's
  std::string tensor;  // in the TensorFlow graph: "serving_default_x:0"
  DType dtype = DType::undefined;
  Shape shape = {};     // what both models together know
  IntegerUse use = {};  // of an integer input, in the TensorFlow graph
  PortCodes codes = {};
  Ints in_file = {};  // the sizes that the source's file has for it, also for its open dims; empty: the file has none
  std::optional<std::int64_t> joined_axis = {};  // of a cache: the TensorFlow graph appends to it along this axis
};

struct Sample {                   // one set of values to feed
  std::string label;              // "seed 0", a file's name
  std::vector<TensorPtr> inputs;  // as the ports
  std::vector<TensorPtr> expected =
      {};  // outputs that came with the data, as the outputs' ports; may be empty
};

// Sizes for the unknown dims, "name:1,2,3" or, for a model with one input, "1,2,3". Fails with
// Code::bad_option.
void apply_input_shapes(std::vector<Port>& ports, const Strings& shapes);

// Sizes for the dims that the models leave open.
struct OpenSizes {
  std::int64_t batch, image_side, other;  // the first axis; height and width of what looks like an image; all others
  bool operator==(const OpenSizes&) const = default;
};
inline constexpr OpenSizes kUsualSizes = {2, 64, 7}, kOtherSizes = {3, 32, 10}, kLargerSizes = {3, 96, 10};
inline constexpr OpenSizes kLongSizes = {2, 256, 2048};  // for a model whose windows are longer than the usual ones

Ints chosen_dims(const Port& port, const OpenSizes& sizes = kUsualSizes);
Ints dims_in_file(const Port& port);  // the chosen ones where the file has none
bool has_open_sizes(const std::vector<Port>& inputs);
bool has_free_integers(const std::vector<Port>& inputs);  // that the model only calculates with

// How random inputs are drawn.
struct Draw {
  OpenSizes sizes = kUsualSizes;
  std::optional<int> highest_integer = {};  // of all integers; TensorFlow refuses larger ones
  bool edges = false;  // free integers are 0, 1, -1 and numbers beyond 2^31 as well
  bool in_file = false;  // open dims have the file's own sizes, where it has some
  bool same_sizes(const Draw& d) const { return sizes == d.sizes && in_file == d.in_file; }
};

// Seeded: floats N(0, 1), u8 0 .. 255, places in a table 0 .. its last row, all codes of quantized inputs or their numbers, other integers 0 .. 9,
// bools, words.
Sample random_sample(const std::vector<Port>& inputs, std::uint64_t seed, const Draw& draw = {});

// Files and folders: .npz; .npy and .pb (of an ONNX TensorProto), each "name=path" where its name does not
// say for which input it is; a test_data_set_N folder, or a folder of such, as in the ONNX model zoo.
std::vector<Sample> read_samples(const Strings& paths, const std::vector<Port>& inputs,
                                 std::size_t output_count);

}  // namespace t2o::verify
