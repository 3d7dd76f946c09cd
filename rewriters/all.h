#pragma once
#include <vector>

#include "onnx/opset_table.h"
#include "rewriters/phase.h"
#include "tf2onnx/options.h"

// The phases, in their order. A rewriter leaves a graph that computes the same as before, by the ONNX standard alone.
// What one runtime needs beyond that is in rewriters/runtime/table.h, which adds its rewriters to these phases.
namespace t2o {

const std::vector<Phase>& tf_phases();
std::vector<Phase> onnx_phases(const onnx::Target&, tf2onnx::Layout = tf2onnx::Layout::automatic);
std::vector<Phase> all_phases();  // both, with every rewriter that there is: as for Layout::nhwc

namespace rewriters {

// TensorFlow's operators. A t2o.* operator that they leave has rows in op_mappers/.
Rewriter bidirectional();             // a forward and a reverse layer of one input -> one bidirectional layer
Rewriter fuse_conv1d();               // a convolution of images of height 1 -> a convolution of sequences
Rewriter fuse_dilation();             // a convolution between SpaceToBatchND and BatchToSpaceND -> a dilated one
Rewriter fuse_gelu();                 // t2o.Gelu
Rewriter padded_nms();                // loops that suppress boxes tile by tile -> t2o.SuppressBoxes
Rewriter gather_loop();               // a loop that collects rows of a tensor, as pfor makes it -> Gather
Rewriter layer_norm_of_batch_norm();  // a FusedBatchNorm whose channels are rows -> a layer normalization
Rewriter length_branches();           // an If on the extreme length of a batch, whose branches select by row -> one branch
Rewriter log_sum_exp();               // t2o.LogSumExp
Rewriter ragged_results();            // rows of different lengths that a loop collects -> one tensor and the lengths
Rewriter ragged_rows();               // rows of a ragged tensor that a loop takes from a list -> slices of its values
Rewriter recurrent();                 // a While over time of LSTM, GRU or simple cells -> t2o.LSTM, t2o.GRU, t2o.RNN
Rewriter sign_bit();                  // a test of the sign bit by a bitcast -> a comparison
Rewriter unrolled();                  // the same loop over time, unrolled -> t2o.LSTM, t2o.GRU, t2o.RNN

// ONNX operators: constants, canonical forms, common subexpressions.
Rewriter algebraic_identities();                 // x * 1, x + 0 ... -> x; a Concat of Concats -> one
Rewriter cancel_casts();                         // a Cast and the Cast back that together change nothing
Rewriter cancel_transposes();                    // a Transpose of a Transpose
Rewriter canonical_indices();                    // Gather gets a negative index as it is, without the size added
Rewriter common_constants();                     // constants with the same elements -> one
Rewriter common_sizes();                         // sizes with the same symbols -> one value
Rewriter common_subexpressions();                // nodes with the same operator, inputs and attributes -> one
Rewriter constant_folding(const onnx::Target&);  // known shapes, and everything computed from constants
Rewriter fold_branches(const onnx::Target&);     // an If whose condition is known, or whose branches compute nothing
Rewriter fold_empty(const onnx::Target&);        // tensors without elements, and sums of no products -> constants
Rewriter merge_picks(const onnx::Target&);       // the row of a batch of one, taken out and put back; slices of one row
Rewriter merge_reshapes(const onnx::Target&);    // a Reshape of a Reshape; a Reshape to the shape that there is
Rewriter reshape_transposes(const onnx::Target&);  // a Transpose that moves axes of size 1 only -> Reshape
Rewriter share_dims(const onnx::Target&);        // a size is read from the first value that has its symbol
Rewriter split_slices(const onnx::Target&);      // Slices that partition a tensor -> Split
Rewriter widen_shapes();                         // shape arithmetic stays in the 64 bits that Shape gives

// Loops.
Rewriter batch_steps(const onnx::Target&);          // a layer unrolled over steps -> one layer with the steps as its batch
Rewriter loop_invariant_code(const onnx::Target&);  // code that reads no state of the loop runs in front of it, for all steps
Rewriter loop_to_scan(const onnx::Target&);         // a Loop over the rows of tensors -> Scan
Rewriter trip_counts(const onnx::Target&);          // a loop with a counter below a limit gets a trip count

// Fusions.
Rewriter einsum_product(const onnx::Target&);      // an Einsum that is a product of matrices -> MatMul
Rewriter fuse_activation(const onnx::Target&);     // HardSwish, HardSigmoid, LeakyRelu, PRelu, Mish, Clip, Relu
Rewriter fuse_attention(const onnx::Target&);      // Attention
Rewriter permute_codes(const onnx::Target&);       // Transpose, Concat, Unsqueeze of dequantized weights -> of their codes
Rewriter quantized_weights(const onnx::Target&);   // the bias of quantized weights is quantized too; loops read numbers
Rewriter fuse_conv();                              // scales, shifts and Pads around a convolution -> its weights, bias, pads
Rewriter fuse_einsum(const onnx::Target&);         // an Einsum with weights -> MatMul between Reshapes
Rewriter fuse_instance_norm(const onnx::Target&);  // InstanceNormalization, also of groups of channels
Rewriter fuse_layer_norm(const onnx::Target&);     // LayerNormalization, RMSNormalization
Rewriter fuse_matmul(const onnx::Target&);         // MatMul without Reshapes around it, with its bias, with permuted weights
Rewriter fuse_pad();                               // a Pad in front of a pool -> the pool's pads, where the result is the same
Rewriter fuse_repeat(const onnx::Target&);         // pixels repeated by Unsqueeze, Tile and Reshape -> Resize
Rewriter repeat_by_gather(const onnx::Target&);    // a Resize that repeats rows along one axis -> Gather
Rewriter fuse_rotary(const onnx::Target&);         // RotaryEmbedding
Rewriter unmerge_batches(const onnx::Target&);     // MatMul over merged leading axes -> over both axes

// Layout.
Rewriter channel_shuffle(const onnx::Target&);  // shuffled channels are shuffled where channels come first
Rewriter channels_last(const onnx::Target&);    // image operators -> functions that work channels last
Rewriter fold_axes(const onnx::Target&);        // axes of size 1 that are added and removed between Transposes
Rewriter fold_channels_last(const onnx::Target&);  // the layout between functions that work channels last
// Channels first over the whole graph, with the fewest bytes transposed; or with the images transposed at the model's inputs
// and outputs wherever possible.
Rewriter fold_layout(const onnx::Target&, bool at_interface = false);
Rewriter join_directions(const onnx::Target&);  // both directions of a recurrent layer are joined by Transpose and Reshape
Rewriter unflatten_matmul(const onnx::Target&);  // a dense layer over the last axis without Reshapes around it

// Images and weights.
Rewriter absorb_scales();                       // a product with one number -> into the weights next to it
Rewriter center_norm();                         // what remains of a layer normalization reads x - mean instead of x
Rewriter merge_scales(const onnx::Target&);     // a product with two constants -> with one
Rewriter scale_matmul(const onnx::Target&);     // scale and shift of each channel behind a dense layer -> its weights and bias
Rewriter scale_parts(const onnx::Target&);      // a scale behind a Concat of convolutions -> in front of it
Rewriter slice_before_pad(const onnx::Target&);  // a crop of a padded image -> crop first
Rewriter stride_conv();                         // a pointwise convolution with a Slice in front -> strides
Rewriter weighted_sum(const onnx::Target&);     // ReduceSum of a product with a constant -> MatMul

// The end.
Rewriter drop_meanings();  // internal attributes (onnx/meaning.h) that no row of the runtime's table has used

// The rules of the opset.
Rewriter carry_types(const onnx::Target&);     // If, Loop and Scan get casts around types that they do not take
Rewriter guard_reshapes(const onnx::Target&);  // a size of 0 in a Reshape copies the size of the input

}  // namespace rewriters
}  // namespace t2o
