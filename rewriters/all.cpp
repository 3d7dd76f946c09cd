#include "rewriters/all.h"

namespace t2o {

const std::vector<Rewriter>& tf_rewriters() {
  static const std::vector<Rewriter> list = {};
  return list;
}

std::vector<Rewriter> onnx_rewriters(const onnx::Target& target) {
  return {
      rewriters::fuse_layer_norm(target),
      rewriters::cancel_transposes(),
      rewriters::fold_layout(target),
      rewriters::fuse_conv(),
      rewriters::fuse_matmul(target),
      rewriters::cancel_transposes(),
      rewriters::merge_constants(),
  };
}

}  // namespace t2o
