#include "op_mappers/all.h"

namespace t2o {

const OpRegistry& tf_registry() {
  static const OpRegistry registry = [] {
    OpRegistry r;
    const auto family = [&r](const char* name, void (*rows)(OpRegistry&)) {
      r.family(name);
      rows(r);
    };
    family("elementwise", op_mappers::register_elementwise);
    family("reduction", op_mappers::register_reduction);
    family("matmul", op_mappers::register_matmul);
    family("conv", op_mappers::register_conv);
    family("pool", op_mappers::register_pool);
    family("norm", op_mappers::register_norm);
    family("softmax", op_mappers::register_softmax);
    family("shape", op_mappers::register_shape);
    family("slice", op_mappers::register_slice);
    family("gather", op_mappers::register_gather);
    family("join", op_mappers::register_join);
    family("resize", op_mappers::register_resize);
    family("select", op_mappers::register_select);
    family("generate", op_mappers::register_generate);
    return r;
  }();
  return registry;
}

}  // namespace t2o
