#pragma once
#include <string>

#include "tf2onnx/options.h"

namespace t2o::tf {

struct Found {
  tf2onnx::Format format = tf2onnx::Format::detect;  // saved_model, meta_graph or graph_def
  std::string path;                                  // of the file; for a SavedModel of its directory
  bool is_text = false;
};

// What a path leads to, by its name and content. Fails with bad_file when nothing is there that can be read,
// and with not_yet for formats that this program does not read yet. A format other than `detect` overrides
// what the name says.
Found find_source(const std::string& path, tf2onnx::Format);

}  // namespace t2o::tf
