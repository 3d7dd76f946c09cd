#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/source.h"

namespace t2o::verify {
class Reference;
class Intermediates;
struct Ports;
struct EngineOptions;
}  // namespace t2o::verify

namespace t2o {

// A model format: how a model is detected, opened, prepared (Source::prepare) and, for `verify`, run by its own runtime. No function
// may be null: one that is not there fails with Code::not_yet.
struct ModelFormat {
  std::string_view name;
  bool (*reads)(const tf2onnx::Options&);            // is options.model, or options.format, of this format?
  std::string (*file)(const tf2onnx::Options&);      // the file with the graph, for messages
  SourcePtr (*open)(const tf2onnx::Options&);        // chooses no entry point, so the model need not have the options' one
  SourcePtr (*open_bytes)(const tf2onnx::Options&, Bytes, Owner);  // a model in memory
  std::unique_ptr<verify::Reference> (*reference)(const tf2onnx::Options&, verify::Ports, const verify::EngineOptions&);
  std::unique_ptr<verify::Intermediates> (*intermediates)(const ir::Graph& prepared, const std::vector<TensorPtr>& inputs,
                                                          const verify::EngineOptions&);
};

std::span<const ModelFormat> formats();  // the table of all formats, in the order in which they are asked
const ModelFormat& format_of(const tf2onnx::Options&);

}  // namespace t2o
