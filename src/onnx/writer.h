#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "support/meter.h"
#include "tf2onnx/options.h"

namespace t2o::onnx {

using tf2onnx::ExternalData;

struct Written {
  std::uint64_t model_bytes = 0, data_bytes = 0;  // sizes of the models and of the data file; 0 if there is none
  std::vector<std::uint64_t> models = {};         // the size of each model
};

// Streams the model: the weights go from their storages to the file without a copy. The file appears as a whole or not at
// all, together with <path>.data. `automatic` writes <path>.data if the model would exceed protobuf's 2 GB. The meter
// counts the bytes of both files.
Written write_file(const ir::Graph&, const ModelInfo&, const std::string& path, ExternalData = ExternalData::automatic,
                   Meter* = nullptr);

// Several models of one conversion. `automatic` writes each weight that several of them have once, into the data file; the files
// are all in one folder and appear together.
struct ModelFile {
  const ir::Graph* graph;
  ModelInfo info;
  std::string path;
};
Written write_files(const std::vector<ModelFile>&, const std::string& data_path, ExternalData = ExternalData::automatic,
                    Meter* = nullptr);

void write_bytes(const ir::Graph&, const ModelInfo&, std::string& bytes);  // refuses a model that exceeds 2 GB

}  // namespace t2o::onnx
