#pragma once
#include "op_mappers/registry.h"

// One function for each family file; all.cpp lists them.
namespace t2o::op_mappers {

void register_elementwise(OpRegistry&);   // unary mathematics, activations, casts
void register_arithmetic(OpRegistry&);
void register_compare(OpRegistry&);       // comparison, logic, bits
void register_reduction(OpRegistry&);
void register_scan(OpRegistry&);          // Cumsum, Cumprod ...
void register_matmul(OpRegistry&);
void register_einsum(OpRegistry&);
void register_conv(OpRegistry&);
void register_conv_transpose(OpRegistry&);
void register_pool(OpRegistry&);
void register_norm(OpRegistry&);
void register_softmax(OpRegistry&);
void register_shape(OpRegistry&);          // Shape, Reshape, ExpandDims, Squeeze, Transpose, BroadcastTo, Identity ...
void register_slice(OpRegistry&);          // Slice, StridedSlice, Split, Unpack, Reverse
void register_strided_slice(OpRegistry&);
void register_gather(OpRegistry&);        // Gather*, OneHot, Where
void register_scatter(OpRegistry&);       // Scatter*, DynamicStitch, DynamicPartition
void register_matrix_diag(OpRegistry&);   // MatrixDiag*, MatrixBandPart, Diag
void register_reverse(OpRegistry&);       // Reverse*, Roll
void register_join(OpRegistry&);          // Concat, Pack, Tile
void register_pad(OpRegistry&);
void register_space(OpRegistry&);        // space/depth, batch/space, data formats
void register_patches(OpRegistry&);      // ExtractImagePatches ...
void register_resize(OpRegistry&);
void register_resample(OpRegistry&);     // ResizeArea, ResizeBicubic, CropAndResize
void register_scale_translate(OpRegistry&);
void register_select(OpRegistry&);        // Select, SelectV2, TopK, ArgMax ...
void register_generate(OpRegistry&);      // Range, Fill, ZerosLike, LinSpace
void register_random(OpRegistry&);
void register_gelu(OpRegistry&);          // what rewriters found
void register_loss(OpRegistry&);          // cross entropies, gradients of activations
void register_stateless_random(OpRegistry&);
void register_linalg(OpRegistry&);
void register_linalg_complex(OpRegistry&);
void register_edit_distance(OpRegistry&);        // inverse, solve, Cholesky ...
void register_special(OpRegistry&);       // gamma, Bessel, error functions ...
void register_misc(OpRegistry&);          // what has no family of its own
void register_segment(OpRegistry&);      // *Segment*
void register_bincount(OpRegistry&);     // Bincount, Bucketize, LowerBound ...
void register_unique(OpRegistry&);       // Unique, ListDiff, set operations
void register_sparse(OpRegistry&);       // SparseToDense, SparseReshape ...
void register_sparse_math(OpRegistry&);  // SparseAdd, SparseReduceSum ...
void register_ragged(OpRegistry&);
void register_complex(OpRegistry&);       // after the families whose rows it applies to the parts
void register_complex_math(OpRegistry&);
void register_fft(OpRegistry&);
void register_audio(OpRegistry&);        // AudioSpectrogram, Mfcc
void register_fake_quant(OpRegistry&);    // FakeQuant*, QuantizeAndDequantize*
void register_quantize(OpRegistry&);      // QuantizeV2, Dequantize
void register_lookup(OpRegistry&);           // t2o.Lookup
void register_quantize_linear(OpRegistry&);  // t2o.QuantizeLinear, t2o.DequantizeLinear
void register_quantized(OpRegistry&);     // QuantizedConv2D, Requantize ...
void register_uniform_quant(OpRegistry&);
void register_strings(OpRegistry&);
void register_nms(OpRegistry&);           // NonMaxSuppression*
void register_color(OpRegistry&);         // RGBToHSV, Adjust*
void register_image(OpRegistry&);         // ImageProjectiveTransform*, ExtractGlimpse, Dilation2D
void register_draw_boxes(OpRegistry&);
void register_random_shapes(OpRegistry&);  // RandomGamma, RandomPoisson ...
void register_sample_box(OpRegistry&);
void register_ctc(OpRegistry&);
void register_beam_search(OpRegistry&);
void register_addons(OpRegistry&);  // custom operators
void register_recurrent(OpRegistry&);        // layers that the rewriters found
void register_recurrent_cells(OpRegistry&);  // LSTMBlockCell, GRUBlockCell, BlockLSTM
void register_cudnn_rnn(OpRegistry&);        // CudnnRNN, CudnnRNNV2, CudnnRNNV3
void register_control_flow(OpRegistry&);  // If, While, Case
void register_tensor_lists(OpRegistry&);
void register_xla_dot(OpRegistry&);          // XlaDot, XlaConv
void register_xla_gather(OpRegistry&);       // XlaGather, XlaDynamicSlice ...
void register_xla_scatter(OpRegistry&);
void register_xla_reduce(OpRegistry&);       // XlaReduce, XlaReduceWindow ...
void register_xla_sort(OpRegistry&);
void register_xla_misc(OpRegistry&);         // XlaPad, XlaSharding ...

}  // namespace t2o::op_mappers
