#pragma once
#include "formats/source.h"

// TensorFlow's formats behind the front door: SavedModel, MetaGraph with its checkpoint, GraphDef.
namespace t2o::tf {

bool reads(const tf2onnx::Options&);
std::string file_of(const tf2onnx::Options&);  // of a SavedModel its saved_model.pb
SourcePtr open(const tf2onnx::Options&);
SourcePtr open_bytes(const tf2onnx::Options&, Bytes graph_def, Owner);

}  // namespace t2o::tf
