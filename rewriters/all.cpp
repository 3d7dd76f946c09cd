#include "rewriters/all.h"

namespace t2o {

const std::vector<Rewriter>& tf_rewriters() {
  static const std::vector<Rewriter> list = {
      rewriters::unrolled(),
      rewriters::recurrent(),
      rewriters::fuse_gelu(),
      rewriters::layer_norm_of_batch_norm(),
      rewriters::fuse_conv1d(),
      rewriters::fuse_dilation(),  // of sequences too
      rewriters::bidirectional(),
  };
  return list;
}

std::vector<Rewriter> onnx_rewriters(const onnx::Target& target) {
  return {
      rewriters::drop_neutral(),
      rewriters::fuse_repeat(target),
      rewriters::cancel_transposes(),
      rewriters::fuse_activation(target),
      rewriters::fuse_einsum(target),
      rewriters::fuse_attention(target),
      rewriters::fuse_instance_norm(target),
      rewriters::fold_layout(target),
      rewriters::fuse_layer_norm(target),  // what is left channels last
      rewriters::fuse_conv(),
      rewriters::fuse_matmul(target),
      rewriters::cancel_transposes(),
      rewriters::reshape_transposes(target),
      rewriters::merge_constants(),
      rewriters::merge_nodes(),
  };
}

}  // namespace t2o
