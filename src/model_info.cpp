#include "model_info.h"

#include "version.h"

namespace t2o {
namespace {

#ifdef NDEBUG
constexpr bool kDebugBuild = false;
#else
constexpr bool kDebugBuild = true;
#endif

}  // namespace

onnx::ModelInfo model_info(const Conversion& c, const Options& o) {
  onnx::ModelInfo info;
  info.target = c.target;
  info.producer_version = kVersion;
  info.doc_string = o.doc_string;
  info.node_metadata = o.node_metadata;
  info.ir_version = o.ir_version;
  info.extra_opsets = c.extra_opsets;
  info.verify_ir = kDebugBuild;
  info.input_defaults = c.input_defaults;
  info.metadata_props = {{"source", c.source}, {"target_runtime", c.target.runtime}};
  return info;
}

}  // namespace t2o
