#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engines/onnxruntime.h"
#include "verify/random.h"

namespace t2o::verify {

// One input or output that the two models share.
struct Port {
  std::string name;    // in messages and reports: the ONNX model's
  std::string tensor;  // in the TensorFlow graph: "serving_default_x:0"
  DType dtype = DType::undefined;
  Shape shape = {};  // what both models together know
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

// The first axis becomes 2, the height and width of what looks like an image 64, all others 7.
Ints chosen_dims(const Port& port);

// Seeded: floats N(0, 1), u8 0 .. 255, other integers 0 .. 9 or to what is given, bools, words.
Sample random_sample(const std::vector<Port>& inputs, std::uint64_t seed, std::optional<int> highest_integer = {});

// Files and folders: .npz; .npy and .pb (of an ONNX TensorProto), each "name=path" where its name does not
// say for which input it is; a test_data_set_N folder, or a folder of such, as in the ONNX model zoo.
std::vector<Sample> read_samples(const Strings& paths, const std::vector<Port>& inputs,
                                 std::size_t output_count);

}  // namespace t2o::verify
