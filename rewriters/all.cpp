#include "rewriters/all.h"

namespace t2o {

using namespace rewriters;

const std::vector<Phase>& tf_phases() {
  static const std::vector<Phase> phases = {
      {"lists",
       "the graph as it was read",
       "a list holds tensors of one kind: no complex numbers, no ragged rows",
       {{complex_lists()}, {ragged_rows()}, {ragged_results()}, {gather_loop()}}},
      {"layers",
       "lists hold tensors of one kind",
       "a layer that ONNX has an operator for is one node",
       {{length_branches()},
        {unrolled(), {{"length_branches", "it leaves steps without branches, as unrolled knows them"}}},
        {recurrent()},
        {fuse_gelu()},
        {layer_norm_of_batch_norm()},
        {fuse_conv1d()},
        {sign_bit()},
        {log_sum_exp()},
        {fuse_dilation(), {{"fuse_conv1d", "a dilated convolution of sequences is one of images first"}}},
        {bidirectional(),
         {{"unrolled", "it joins two layers of one node each"}, {"recurrent", "the same"}}}}},
  };
  return phases;
}

std::vector<Phase> onnx_phases(const onnx::Target& target, tf2onnx::Layout layout) {
  std::vector<Phase> phases;
  phases.push_back({"fold",
                    "the graph as the mappers made it",
                    "what is known is a constant; no operation is neutral; no Transpose reads a Transpose",
                    {{fold_branches(target)},
                     {fold_empty(target)},
                     {constant_folding(target)},
                     {common_sizes()},
                     {canonical_indices()},
                     {algebraic_identities()},
                     {cancel_casts()}},
                    {cancel_transposes()}});
  phases.push_back(
      {"loops",
       "constants are folded",
       "a loop computes only what depends on the rounds before, and is a Scan where that can be",
       {{trip_counts(target)}, {loop_invariant_code(target)}, {loop_to_scan(target)}, {batch_steps(target)}},
       {cancel_transposes()}});
  phases.push_back(
      {"fuse",
       "constants are folded, loops are settled",
       "a formula that ONNX has an operator for is that operator, except normalizations of the last axes",
       {{fuse_activation(target)},
        {fuse_einsum(target)},
        {unmerge_batches(target)},
        {fuse_rotary(target)},
        {fuse_repeat(target)},
        {share_dims(target)},
        {fuse_attention(target),
         {{"fuse_repeat",
           "it leaves the heads that share keys and values in the form that an attention repeats by itself"},
          {"unmerge_batches", "an attention has batch and heads as axes of their own"}}},
        {einsum_product(target)},
        {fuse_instance_norm(target)}}});
  phases.push_back({"layout",
                    "formulas are operators; each image operator stands between two Transposes",
                    "channels are where the fewest bytes are transposed",
                    {{unflatten_matmul(target)},
                     {channel_shuffle(target)},
                     {join_directions(target)},
                     {fold_axes(target)}},
                    {cancel_transposes(), fold_layout(target, layout == tf2onnx::Layout::nchw)}});
  phases.push_back({"images",
                    "channels are where they stay",
                    "no image is padded, cropped or guarded without need",
                    {{drop_guards(target)},
                     {slice_before_pad(target)},
                     {fuse_pad()},
                     {stride_conv()},
                     {scale_parts(target)}}});
  if (layout == tf2onnx::Layout::nhwc)
    phases.push_back(
        {"channels last",
         "channels are where they stay",
         "operators of images are functions that work channels last",
         {{fuse_conv()}, {channels_last(target), {{"fuse_conv", "it knows ONNX's own convolutions alone"}}}},
         {cancel_transposes(), fold_channels_last(target)}});
  phases.push_back(
      {"weights",
       "channels are where they stay",
       "what scales or shifts weighted sums is part of the weights",
       {{fuse_layer_norm(target)},
        {center_norm()},
        {average_by_conv(target)},
        {fuse_conv()},
        {fuse_batch_norm(target),
         {{"center_norm", "both take the Mul and Add behind a mean; a normalization is more"}}},
        {image_convs(target), {{"fuse_conv", "a chain of convolutions has no scales in between"}}},
        {fuse_matmul(target)},
        {absorb_scales()}},
       {cancel_transposes()}});
  phases.push_back(
      {"canonical",
       "weights are settled",
       "the small forms that are left are the shortest ones",
       {{reshape_transposes(target)},
        {merge_reshapes(target)},
        {merge_picks(target)},
        {clip_sums()},
        {mean_of_steps(target)},
        {weighted_sum(target)},
        {small_norms(target)},
        {merge_scales(target)},
        {widen_shapes(),
         {{"merge_reshapes", "the sizes of a grid are one Expand, which takes them in 64 bits"}}}}});
  phases.push_back(
      {"share",
       "each form is the shortest one",
       "the same is computed once",
       {{share_dims(target)},
        {common_constants()},
        {common_sizes()},
        {common_subexpressions(),
         {{"common_constants", "nodes are alike only if they read the same constants"}}},
        {split_slices(target), {{"common_subexpressions", "the same Slice twice is no part of a Split"}}},
        {cancel_casts()}}});
  phases.push_back({"runtime",
                    "the graph is as the ONNX standard wants it",
                    "the target runtime computes it as the standard says",
                    {{guard_resizes(target)},
                     {guard_reshapes(target)},
                     {guard_casts(target)},
                     {guard_fusions(target)},
                     {guard_pads(target)},
                     {guard_sums(target)},
                     {carry_types(target)}}});
  return phases;
}

}  // namespace t2o
