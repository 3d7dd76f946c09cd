#pragma once
#include "onnx/emitter.h"
#include "rewriters/pattern.h"

// The rewriters of the table's rows (table.cpp says when and why they run). None of them asks for the target runtime.
namespace t2o::rewriters {

Rewriter average_by_conv(const onnx::Target&);
Rewriter empty_batches(const onnx::Target&);
Rewriter fast_prelu(const onnx::Target&);
Rewriter front_axes(const onnx::Target&);
Rewriter fuse_batch_norm(const onnx::Target&);
Rewriter guard_casts(const onnx::Target&);
Rewriter guard_floats(const onnx::Target&);
Rewriter guard_fusions(const onnx::Target&);
Rewriter guard_pads(const onnx::Target&);
Rewriter guard_pairs(const onnx::Target&);
Rewriter guard_resizes(const onnx::Target&);
Rewriter guard_sums(const onnx::Target&);
Rewriter image_convs(const onnx::Target&);
Rewriter integer_convs(const onnx::Target&);
Rewriter keep_nan(const onnx::Target&);
Rewriter nan_of_nothing(const onnx::Target&);
Rewriter own_zero_points(const onnx::Target&);
Rewriter rows_without_steps(const onnx::Target&);
Rewriter sized_splits(const onnx::Target&);
Rewriter skip_nan(const onnx::Target&);
Rewriter small_norms(const onnx::Target&);
Rewriter softplus_in_f32(const onnx::Target&);
Rewriter sum_exp_in_parts(const onnx::Target&);
Rewriter unique_rows(const onnx::Target&);
Rewriter unsigned_codes(const onnx::Target&);
Rewriter whole_windows(const onnx::Target&);
Rewriter wide_extrema(const onnx::Target&);
Rewriter wide_products(const onnx::Target&);
Rewriter wide_reductions(const onnx::Target&);
Rewriter wide_remainders(const onnx::Target&);
Rewriter wide_signs(const onnx::Target&);
Rewriter wide_sums(const onnx::Target&);

// What they share. A rewriter that looks at each node of these operators: it changes the node, or replaces it by what `make` emits
// in front of it (null: it stays).
Rewriter change_each(std::string name, std::vector<std::string> ops, const onnx::Target&,
                     int (*change)(ir::Graph&, ir::Node&, const onnx::Target&));
Rewriter replace_each(std::string name, std::vector<std::string> ops, const onnx::Target&, Value* (*make)(Emitter&, ir::Node&));
bool may_be_empty(const onnx::Target&, const Value*);  // as far as the fidelity counts

}  // namespace t2o::rewriters
