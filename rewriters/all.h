#pragma once
#include <vector>

#include "onnx/opset_table.h"
#include "rewriters/phase.h"
#include "tf2onnx/options.h"

// The phases, in their order. A rewriter leaves a graph that computes the same as before, by the ONNX standard alone; only
// those of phase "runtime", and einsum_product, go around what ONNX Runtime itself does wrong.
namespace t2o {

const std::vector<Phase>& tf_phases();
std::vector<Phase> onnx_phases(const onnx::Target&, tf2onnx::Layout = tf2onnx::Layout::automatic);

namespace rewriters {

Rewriter fuse_conv1d();         // tf: a convolution of images of height 1 is one of sequences
Rewriter fuse_dilation();       // tf: a convolution between SpaceToBatchND and BatchToSpaceND is a dilated one
Rewriter fuse_gelu();           // tf: t2o.Gelu
Rewriter complex_lists();       // tf: a TensorList of complex numbers is one of pairs (re, im)
Rewriter ragged_rows();         // tf: rows of a ragged tensor that a loop takes out of a list are slices of its values
Rewriter ragged_results();      // tf: rows of different lengths that a loop collects are one tensor, with their lengths beside
Rewriter log_sum_exp();         // tf: t2o.LogSumExp
Rewriter sign_bit();            // tf: the sign of a float, asked for by way of its bits
Rewriter gather_loop();         // tf: a loop that collects a tensor's rows, as pfor leaves it, is one Gather
Rewriter length_branches();     // tf: an If on the longest or shortest of sequences, whose branches choose by row anyway
Rewriter recurrent();           // tf: a loop over time of LSTM, GRU or simple cells becomes t2o.LSTM, t2o.GRU, t2o.RNN
Rewriter unrolled();            // tf: such a loop, drawn out step by step, likewise
Rewriter bidirectional();       // tf: a forward and a reverse layer of one input become one
Rewriter cancel_transposes();   // onnx: a Transpose of a Transpose
Rewriter reshape_transposes(const onnx::Target&);  // onnx: a Transpose that moves axes of size 1 only
Rewriter merge_reshapes(const onnx::Target&);  // onnx: a Reshape of a Reshape; ones that only give a tensor their shape
Rewriter merge_picks(const onnx::Target&);  // onnx: the one row of a batch, taken out and put back; rows of which slices are picked
Rewriter merge_constants();     // onnx: constants of the same content, or big ones of one storage, become one
Rewriter cancel_casts();        // onnx: a Cast there and back that changes nothing
Rewriter drop_neutral();        // onnx: arithmetic that changes nothing; a Concat of Concats
Rewriter fold_shapes(const onnx::Target&);    // onnx: shapes that are known by now, and what follows from them
Rewriter fold_nothing(const onnx::Target&);   // onnx: what has no elements, and sums of nothing
Rewriter fold_branches(const onnx::Target&);  // onnx: an If whose condition is known, or whose branches hand on what there is
Rewriter carry_types(const onnx::Target&);  // onnx: what If, Loop and Scan carry has a type that they take at the opset
Rewriter split_slices(const onnx::Target&);  // onnx: Slices that part a tensor become one Split
Rewriter plain_indices();       // onnx: an index that counts from the end is not made to count from the front
Rewriter share_sizes();         // onnx: sizes that are the same symbol are computed once
Rewriter merge_nodes();         // onnx: nodes that do the same with the same become one
// onnx: channels-first over the whole graph, with the fewest bytes transposed; or with the images transposed at the model's inputs
// and outputs, wherever that can be
Rewriter fold_layout(const onnx::Target&, bool at_interface = false);
Rewriter fold_channels_last(const onnx::Target&);  // onnx: the same between operators that work channels last
Rewriter channels_last(const onnx::Target&);  // onnx: channels-first operators become functions that work channels last
Rewriter fuse_repeat(const onnx::Target&);  // onnx: pixels repeated by Unsqueeze, Tile and Reshape become a Resize
Rewriter fuse_pad();            // onnx: a Pad of zeros is a pool's own padding where that gives the same
Rewriter guard_pads(const onnx::Target&);  // onnx: keeps ONNX Runtime from taking a Pad for a pool's own padding
Rewriter guard_sums(const onnx::Target&);  // onnx: keeps ONNX Runtime from folding a factor into weights of exact sums
Rewriter guard_resizes(const onnx::Target&);  // onnx: keeps ONNX Runtime from moving Transposes behind a Resize that it cannot compute then
Rewriter guard_reshapes(const onnx::Target&);  // onnx: a size that is 0 at first, as a cache's, is one below opset 14 too
Rewriter guard_casts(const onnx::Target&);  // onnx: keeps ONNX Runtime from leaving out a Cast to a wide integer
Rewriter guard_fusions(const onnx::Target&);  // onnx: keeps ONNX Runtime from joining operators of types that it does not do right
Rewriter slice_before_pad(const onnx::Target&);  // onnx: what is padded and cropped is cropped first
Rewriter stride_conv();         // onnx: a convolution of single pixels picks them itself
Rewriter average_by_conv(const onnx::Target&);  // onnx: an AveragePool without a good kernel is a convolution of each channel
Rewriter join_directions(const onnx::Target&);  // onnx: both directions of a recurrent layer are joined by a Transpose and a Reshape
Rewriter image_convs(const onnx::Target&);  // onnx: depthwise convolutions of sequences are of images of height 1
Rewriter scale_parts(const onnx::Target&);  // onnx: what scales or shifts convolutions that are joined goes in front of the Concat
Rewriter drop_guards(const onnx::Target&);  // onnx: what guards against NaN or no pixels where there are none
Rewriter mean_of_steps(const onnx::Target&);  // onnx: a mean that may be of nothing is a sum divided by the size
Rewriter clip_sums();           // onnx: a sum that only tells of NaN is of the numbers themselves, and clipped
Rewriter merge_scales(const onnx::Target&);  // onnx: products with two constants are one
Rewriter absorb_scales();       // onnx: a product with one number goes into the weights that are in a row with it
Rewriter count_rounds(const onnx::Target&);  // onnx: a loop with a counter below a limit has a number of rounds
Rewriter hoist_steps(const onnx::Target&);  // onnx: what a loop computes of each row alone is computed in front of it
Rewriter fold_axes(const onnx::Target&);  // onnx: axes of size 1 that come and go between transposes
Rewriter join_steps(const onnx::Target&);  // onnx: a layer drawn out for each step works on all of them at once
Rewriter scan_steps(const onnx::Target&);  // onnx: a Loop over the rows of tensors is a Scan
Rewriter small_norms(const onnx::Target&);  // onnx: the norm of few numbers, and the division by it, are single nodes
Rewriter weighted_sum(const onnx::Target&);  // onnx: a sum of what is weighted by a constant is a MatMul
Rewriter widen_shapes();        // onnx: sizes stay in the 64 bits that Shape gives
Rewriter share_dims(const onnx::Target&);  // onnx: a size is asked for where it is first known
Rewriter fuse_conv();           // onnx: what scales, shifts or pads around a convolution goes into its weights, bias and padding
Rewriter fuse_batch_norm(const onnx::Target&);  // onnx: a scale and a shift for each channel are one BatchNormalization
Rewriter layer_norm_of_batch_norm();  // tf: a batch normalization whose channels are rows is a layer normalization
Rewriter fuse_instance_norm(const onnx::Target&);  // onnx: InstanceNormalization, also of groups of channels
Rewriter fuse_layer_norm(const onnx::Target&);  // onnx: LayerNormalization, RMSNormalization
Rewriter center_norm();         // onnx: what is left of layer normalizations reads the difference from the mean, not x once more
Rewriter fuse_activation(const onnx::Target&);  // onnx: HardSwish, HardSigmoid, LeakyRelu, Mish, Clip, Relu
Rewriter fuse_einsum(const onnx::Target&);  // onnx: an Einsum with weights is a MatMul between reshapes
Rewriter einsum_product(const onnx::Target&);  // onnx: an Einsum that is a product of matrices is a MatMul
Rewriter fuse_attention(const onnx::Target&);  // onnx: Attention
Rewriter fuse_rotary(const onnx::Target&);  // onnx: RotaryEmbedding
Rewriter channel_shuffle(const onnx::Target&);  // onnx: channels that are shuffled are so where they come first
Rewriter unmerge_batches(const onnx::Target&);  // onnx: products of matrices whose leading axes are merged work on both axes
Rewriter unflatten_matmul(const onnx::Target&);  // onnx: a dense layer over the last axis, without reshapes around it
Rewriter fuse_matmul(const onnx::Target&);  // onnx: without reshapes around it, with the order of an image in its weights, with its bias

}  // namespace rewriters
}  // namespace t2o
