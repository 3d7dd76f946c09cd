#include "rewriters/all.h"

namespace t2o {

const std::vector<Rewriter>& tf_rewriters() {
  static const std::vector<Rewriter> list = {
      rewriters::complex_lists(), rewriters::ragged_rows(),     rewriters::ragged_results(),
      rewriters::gather_loop(),   rewriters::length_branches(), rewriters::unrolled(),
      rewriters::recurrent(),     rewriters::fuse_gelu(),       rewriters::layer_norm_of_batch_norm(),
      rewriters::fuse_conv1d(),   rewriters::sign_bit(),        rewriters::log_sum_exp(),
      rewriters::fuse_dilation(),  // of sequences too
      rewriters::bidirectional(),
  };
  return list;
}

std::vector<Rewriter> onnx_rewriters(const onnx::Target& target, tf2onnx::Layout layout) {
  std::vector<Rewriter> list = {
      rewriters::fold_branches(target),
      rewriters::fold_nothing(target),
      rewriters::fold_shapes(target),  // of what was in branches, and of nothing
      rewriters::share_sizes(),
      rewriters::plain_indices(),
      rewriters::drop_neutral(),
      rewriters::cancel_casts(),
      rewriters::cancel_transposes(),
      rewriters::count_rounds(target),
      rewriters::hoist_steps(target),
      rewriters::scan_steps(target),
      rewriters::join_steps(target),
      rewriters::cancel_transposes(),  // of what was joined
      rewriters::fuse_activation(target),
      rewriters::fuse_einsum(target),
      rewriters::unmerge_batches(target),
      rewriters::fuse_rotary(target),
      rewriters::fuse_repeat(target),  // what else is repeated
      rewriters::share_dims(target),   // a mask asks the scores for their shape, and so reads them
      rewriters::fuse_attention(target),
      rewriters::einsum_product(
          target),  // ONNX Runtime ends the process where an Einsum transposes an empty tensor
      rewriters::fuse_instance_norm(target),
      rewriters::unflatten_matmul(target),  // which is not in the way of transposes then
      rewriters::channel_shuffle(target),
      rewriters::join_directions(target),
      rewriters::fold_axes(target),
      rewriters::cancel_transposes(),
      rewriters::fold_layout(target, layout == tf2onnx::Layout::nchw),
  };
  list.push_back(rewriters::drop_guards(target));
  list.push_back(rewriters::slice_before_pad(target));
  list.push_back(rewriters::fuse_pad());
  list.push_back(rewriters::stride_conv());
  list.push_back(rewriters::scale_parts(target));
  if (layout == tf2onnx::Layout::nhwc) {
    list.push_back(rewriters::fuse_conv());  // which knows ONNX's convolutions alone
    list.push_back(rewriters::channels_last(target));
    list.push_back(rewriters::cancel_transposes());
    list.push_back(rewriters::fold_channels_last(target));
  }
  const std::vector<Rewriter> rest = {
      rewriters::fuse_layer_norm(target),  // what is left channels last
      rewriters::center_norm(),
      rewriters::average_by_conv(target),
      rewriters::fuse_conv(),
      rewriters::fuse_batch_norm(target),  // what is left of them
      rewriters::image_convs(target),
      rewriters::fuse_matmul(target),
      rewriters::absorb_scales(),  // into what they left
      rewriters::guard_resizes(target),
      rewriters::cancel_transposes(),
      rewriters::reshape_transposes(target),
      rewriters::merge_reshapes(target),
      rewriters::merge_picks(target),
      rewriters::clip_sums(),
      rewriters::mean_of_steps(target),
      rewriters::weighted_sum(target),
      rewriters::small_norms(target),
      rewriters::merge_scales(target),
      rewriters::widen_shapes(),
      rewriters::share_dims(target),
      rewriters::guard_reshapes(target),
      rewriters::merge_constants(),
      rewriters::share_sizes(),  // of what was made since
      rewriters::merge_nodes(),
      rewriters::split_slices(target),
      rewriters::cancel_casts(),  // of what was made since
      rewriters::guard_casts(target),
      rewriters::guard_fusions(target),
      rewriters::guard_pads(target),
      rewriters::guard_sums(target),
      rewriters::carry_types(target),
  };
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

}  // namespace t2o
