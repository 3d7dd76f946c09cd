#pragma once
#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "tf2onnx/options.h"

namespace t2o {

void refuse_complex_interface(const ir::Graph&, Diagnostics&);

// Gives the unknown dims of the graph's inputs names: "batch" for the first axis of the first input that does not know it,
// "<input>_batch" or "<input>_dim<axis>" for others. Names differ wherever sizes may: a runtime plans its memory by them.
void name_dims(ir::Graph&);

void warn_unranked(const ir::Graph& onnx, Diagnostics&);  // of inputs and outputs whose rank is not known

// --inputs-as-nchw, --outputs-as-nchw: the interface changes its layout, a Transpose stands between.
void apply_layout_options(ir::Graph& onnx, const onnx::Target&, const tf2onnx::Options&, Diagnostics&);

}  // namespace t2o
