#include "rewriters/all.h"

namespace t2o {

const std::vector<Rewriter>& tf_rewriters() {
  static const std::vector<Rewriter> list = {};
  return list;
}

const std::vector<Rewriter>& onnx_rewriters() {
  static const std::vector<Rewriter> list = {
      rewriters::cancel_transposes(),
      rewriters::merge_constants(),
  };
  return list;
}

}  // namespace t2o
