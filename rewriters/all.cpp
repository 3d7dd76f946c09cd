#include "rewriters/all.h"

#include <algorithm>

#include "rewriters/runtime/table.h"

namespace t2o {

using namespace rewriters;

const std::vector<Phase>& tf_phases() {
  static const std::vector<Phase> phases = {
      {"lists",
       "the graph as it was read",
       "no list holds ragged tensors",
       {{ragged_rows()}, {ragged_results()}, {gather_loop()}}},
      {"layers",
       "no list holds ragged tensors",
       "each layer that ONNX has an operator for is one node",
       {{padded_nms()},
        {length_branches()},
        {unrolled(), {{"length_branches", "it leaves steps without branches, which unrolled matches"}}},
        {recurrent()},
        {fuse_gelu()},
        {layer_norm_of_batch_norm()},
        {fuse_conv1d()},
        {sign_bit()},
        {log_sum_exp()},
        {fuse_dilation(),
         {{"fuse_conv1d", "it makes the convolution of sequences that fuse_dilation matches"}}},
        {bidirectional(),
         {{"unrolled", "it makes the layers that bidirectional joins"}, {"recurrent", "the same"}}}}},
  };
  return phases;
}

std::vector<Phase> onnx_phases(const onnx::Target& target, tf2onnx::Layout layout) {
  std::vector<Phase> phases;
  phases.push_back({"fold",
                    "the graph as the mappers made it",
                    "known values are constants, no node is an identity, no Transpose reads a Transpose",
                    {{fold_branches(target)},
                     {fold_empty(target)},
                     {constant_folding(target),
                      {{"fold_branches", "the results of a chosen branch have known shapes then"}}},
                     {common_sizes()},
                     {canonical_indices()}},
                    {algebraic_identities(), cancel_casts(), cancel_transposes()}});
  phases.push_back(
      {"loops",
       "known values are constants",
       "loops have trip counts or are Scans where possible; no code of a body can run in front of it",
       {{trip_counts(target)},
        {loop_to_scan(target)},
        {loop_invariant_code(target),
         {{"loop_to_scan", "batch_steps then computes the products of all steps as one matrix product"}}},
        {batch_steps(target), {{"loop_to_scan", "it makes the Scans whose rows batch_steps joins"}}}},
       {cancel_transposes()}});
  phases.push_back(
      {"fuse",
       "known values are constants, loops have their final form",
       "each formula that ONNX has an operator for is that operator, except normalizations",
       {{fuse_activation(target)},
        {fuse_einsum(target)},
        {unmerge_batches(target)},
        {fuse_rotary(target)},
        {fuse_repeat(target)},
        {share_dims(target)},
        {fuse_attention(target),
         {{"fuse_einsum", "products of queries and keys are MatMuls then"},
          {"fuse_rotary", "it matches queries and keys before Attention merges their heads"},
          {"share_dims", "attentions with one mask read the same sizes then"},
          {"fuse_repeat", "it brings repeated heads into the form that Attention repeats by itself"},
          {"unmerge_batches", "Attention needs batch and heads as axes of their own"}}},
        {einsum_product(target)},
        {fuse_instance_norm(target)}},
       {share_dims(target)}});
  phases.push_back(
      {"layout",
       "formulas are operators; each image operator stands between two Transposes",
       "the layout of each image is the one with the fewest transposed bytes",
       {{unflatten_matmul(target)},
        {channel_shuffle(target)},
        {join_directions(target)},
        {fold_axes(target)},
        {scale_matmul(target),
         {{"unflatten_matmul", "no Reshape stands between a dense layer and its normalization then"}}}},
       {cancel_transposes(), fold_layout(target, layout == tf2onnx::Layout::nchw), fold_axes(target)}});
  phases.push_back({"images",
                    "the layout is final",
                    "no image is padded or cropped without need",
                    {{slice_before_pad(target)},
                     {fuse_pad()},
                     {stride_conv()},
                     {repeat_by_gather(target)},
                     {scale_parts(target)}}});
  phases.push_back(
      {"meanings",
       "the layout is final",
       "what an operator of the source means of NaN and of nothing is in the graph, or is not promised",
       {}});
  if (layout == tf2onnx::Layout::nhwc)
    phases.push_back(
        {"channels last",
         "the layout is final",
         "image operators are functions that work channels last",
         {{fuse_conv()},
          {channels_last(target), {{"fuse_conv", "it matches ONNX's own Conv, not a function"}}}},
         {cancel_transposes(), fold_channels_last(target)}});
  phases.push_back(
      {"weights",
       "the layout is final",
       "each normalization is one node; scales and shifts of weighted sums are part of the weights",
       {{fuse_layer_norm(target)},
        {center_norm()},
        {permute_codes(target)},
        {fuse_conv(), {{"permute_codes", "it takes weights that no Transpose parts from their codes"}}},
        {fuse_matmul(target)},
        {quantized_weights(target),
         {{"fuse_conv", "a bias is the convolution's own then"},
          {"fuse_matmul", "the same of a matrix product"}}},
        {absorb_scales()}},
       {cancel_transposes()}});
  phases.push_back(
      {"canonical",
       "weights are final",
       "each remaining formula has its shortest form",
       {{reshape_transposes(target)},
        {merge_picks(target)},
        {weighted_sum(target)},
        {merge_scales(target)},
        {merge_reshapes(target)},
        {widen_shapes(), {{"merge_reshapes", "then the sizes of a grid go into one Expand, in 64 bits"}}}},
       {merge_reshapes(target)}});
  phases.push_back(
      {"share",
       "each formula has its shortest form",
       "no value is computed twice",
       {{share_dims(target)},
        {common_constants()},
        {common_sizes(), {{"share_dims", "equal sizes are read of one tensor then"}}},
        {common_subexpressions(), {{"common_constants", "equal nodes read the same constants then"}}},
        {split_slices(target), {{"common_subexpressions", "no Slice is there twice then"}}},
        {cancel_casts()}},
       {common_constants()}});
  phases.push_back({"opset",
                    "no value is computed twice",
                    "each operator takes the types and sizes that it gets, by the rules of the opset",
                    {{guard_reshapes(target)}, {carry_types(target)}}});
  phases.push_back({"runtime",
                    "the graph computes the result by the ONNX standard",
                    "the target runtime computes it as the standard says; no attribute is internal",
                    {},
                    {drop_meanings()}});
  for (Phase& p : phases) runtime::add_steps(p, target);
  return phases;
}

std::vector<Phase> all_phases() {
  std::vector<Phase> all = tf_phases();
  const std::string& ort = onnx::Target().runtime;
  for (Phase& p : onnx_phases(onnx::make_target(onnx::kDefaultOpset, ort, true), tf2onnx::Layout::nhwc)) {
    const auto has = [&](const Step& one) {
      return std::ranges::any_of(p.steps,
                                 [&](const Step& s) { return s.rewriter.name == one.rewriter.name; });
    };
    for (const std::string& runtime : {ort, std::string("any")})
      for (int opset = onnx::kLowestOpset; opset <= onnx::kHighestOrtOpset; ++opset)
        for (Step& s : runtime::steps(p.name, onnx::make_target(opset, runtime, true)))
          if (!has(s)) p.steps.push_back(std::move(s));
    all.push_back(std::move(p));
  }
  return all;
}

}  // namespace t2o
