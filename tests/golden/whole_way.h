#pragma once
#include <string>
#include <vector>

#include "case_file.h"

// What the rewriters make together: conversions from TensorFlow to ONNX, the whole way.
namespace t2o::golden {

// Which rewriters run, and in which order: tests/net changes both.
struct Rewriters {
  std::vector<std::string> without = {};
  std::vector<std::string> order = {};  // Options::rewriter_order
};

// A case of pipeline/: for each of its opsets a line "opset N" and the ONNX graph, or the errors.
std::string whole_way(const File&, const Case&, const Rewriters& = {});

struct Model {
  std::string name;  // its path below the folder of its kind: "tests/data/recurrent/residual.pb"
  std::string path;
};
std::vector<Model> sample_models();  // all models in models/ and tests/data, in the order of their names
std::vector<Model> models_below(const fs::path& folder, const fs::path& relative_to);

// How often each operator stands in the export: "Add 2, Conv 4, LSTM 1", or "refused: " and the first error.
std::string histogram(const Model&, int opset, const Rewriters& = {});
const std::vector<int>& histogram_opsets();

// tests/golden/histograms.txt
using Histograms = std::vector<std::pair<std::string, std::string>>;  // "models/mnist @21", "Add 2 ..."
Histograms read_histograms();
void write_histograms(const Histograms&);
std::string histogram_key(const Model&, int opset);

}  // namespace t2o::golden
