#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "support/meter.h"
#include "tf2onnx/options.h"

namespace t2o::onnx {

using tf2onnx::ExternalData;

struct WrittenFile {
  std::string path = {};
  std::uint64_t bytes = 0;
};
struct Written {
  std::vector<WrittenFile> models = {};  // in the order of the graphs
  WrittenFile data = {};                 // without bytes: there is none
};

// Streams each graph of the model to a file of its own: the weights go from their storages to the files without a copy. The files
// are in one folder; they appear together, as a whole or not at all. The file at data_path gets the weights that several graphs
// have (`automatic`), or all weights (`always`, and `automatic` if a file would exceed protobuf's 2 GB), each once. The meter counts
// the bytes of all files.
Written write_files(const ir::Model&, const WriteOptions&, const std::vector<std::string>& paths, const std::string& data_path,
                    ExternalData = ExternalData::automatic, Meter* = nullptr);

void write_bytes(const ir::Model&, const WriteOptions&, std::string& bytes);  // the first graph; refuses a model that exceeds 2 GB

}  // namespace t2o::onnx
