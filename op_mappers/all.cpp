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
    family("arithmetic", op_mappers::register_arithmetic);
    family("compare", op_mappers::register_compare);
    family("reduction", op_mappers::register_reduction);
    family("scan", op_mappers::register_scan);
    family("matmul", op_mappers::register_matmul);
    family("einsum", op_mappers::register_einsum);
    family("conv", op_mappers::register_conv);
    family("conv_transpose", op_mappers::register_conv_transpose);
    family("pool", op_mappers::register_pool);
    family("norm", op_mappers::register_norm);
    family("softmax", op_mappers::register_softmax);
    family("shape", op_mappers::register_shape);
    family("slice", op_mappers::register_slice);
    family("strided_slice", op_mappers::register_strided_slice);
    family("reverse", op_mappers::register_reverse);
    family("gather", op_mappers::register_gather);
    family("scatter", op_mappers::register_scatter);
    family("matrix_diag", op_mappers::register_matrix_diag);
    family("join", op_mappers::register_join);
    family("pad", op_mappers::register_pad);
    family("space", op_mappers::register_space);
    family("patches", op_mappers::register_patches);
    family("resize", op_mappers::register_resize);
    family("resample", op_mappers::register_resample);
    family("scale_translate", op_mappers::register_scale_translate);
    family("select", op_mappers::register_select);
    family("generate", op_mappers::register_generate);
    family("random", op_mappers::register_random);
    family("random_shapes", op_mappers::register_random_shapes);
    family("gelu", op_mappers::register_gelu);
    family("loss", op_mappers::register_loss);
    family("stateless_random", op_mappers::register_stateless_random);
    family("linalg", op_mappers::register_linalg);
    family("edit_distance", op_mappers::register_edit_distance);
    family("special", op_mappers::register_special);
    family("misc", op_mappers::register_misc);
    family("segment", op_mappers::register_segment);
    family("bincount", op_mappers::register_bincount);
    family("unique", op_mappers::register_unique);
    family("sparse", op_mappers::register_sparse);
    family("sparse_math", op_mappers::register_sparse_math);
    family("ragged", op_mappers::register_ragged);
    family("fake_quant", op_mappers::register_fake_quant);
    family("quantize", op_mappers::register_quantize);
    family("quantize_linear", op_mappers::register_quantize_linear);
    family("quantized", op_mappers::register_quantized);
    family("uniform_quant", op_mappers::register_uniform_quant);
    family("lookup", op_mappers::register_lookup);
    family("strings", op_mappers::register_strings);
    family("nms", op_mappers::register_nms);
    family("color", op_mappers::register_color);
    family("image", op_mappers::register_image);
    family("draw_boxes", op_mappers::register_draw_boxes);
    family("sample_box", op_mappers::register_sample_box);
    family("ctc", op_mappers::register_ctc);
    family("beam_search", op_mappers::register_beam_search);
    family("addons", op_mappers::register_addons);
    family("recurrent", op_mappers::register_recurrent);
    family("recurrent_cells", op_mappers::register_recurrent_cells);
    family("cudnn_rnn", op_mappers::register_cudnn_rnn);
    family("control_flow", op_mappers::register_control_flow);
    family("tensor_lists", op_mappers::register_tensor_lists);
    family("xla_dot", op_mappers::register_xla_dot);
    family("xla_gather", op_mappers::register_xla_gather);
    family("xla_scatter", op_mappers::register_xla_scatter);
    family("xla_reduce", op_mappers::register_xla_reduce);
    family("xla_sort", op_mappers::register_xla_sort);
    family("xla_misc", op_mappers::register_xla_misc);
    // the last: they apply rows of the other families to the parts of complex numbers
    family("complex", op_mappers::register_complex);
    family("complex_math", op_mappers::register_complex_math);
    family("linalg_complex", op_mappers::register_linalg_complex);
    family("fft", op_mappers::register_fft);
    family("audio", op_mappers::register_audio);
    return r;
  }();
  return registry;
}

}  // namespace t2o
