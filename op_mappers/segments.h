#pragma once
#include <string>

#include "op_mappers/context.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {

enum class Reduction : std::uint8_t { add, mul, max, min };

// How rows are added to their segments. scatter: by ScatterElements with a reduction (add and mul from opset 16 on,
// max and min from 18 on). compare: at any opset, by comparing each id with each segment; takes segments x data
// memory.
enum class By : std::uint8_t { scatter, compare };

// result[s, ...] = the reduction of `init` and all rows[i, ...] with ids[i] == s. ids: 1-D i64, in [0,
// count); count: [1] i64; init: a scalar, of rows' dtype. Not by ScatterND: a runtime may combine its duplicates on several
// threads.
Value* segment_reduce(Emitter&, By, Reduction, Value* rows, Value* ids, Value* count, Value* init);

// max or min as in TensorFlow's kernels, which go row by row: of the rows after the segment's last NaN. If that NaN is the last
// row, the result is NaN.
Value* segment_extremum(Emitter&, By, Reduction, Value* rows, Value* ids, Value* count, Value* init);

// segment_blank: a result filled with `init`. scatter_rows: base with base[ids[i], ...] = rows[i, ...], or, with a
// reduction, combined with the old element.
Value* segment_blank(Emitter&, Value* rows, Value* count, Value* init);
Value* scatter_rows(Emitter&, Value* base, Value* ids, Value* rows, const std::string& reduction = "");

Value* segment_sum(Emitter&, By, Value* rows, Value* ids, Value* count);  // from 0; halves are summed in f32
Value* segment_sizes(Emitter&, By, Value* ids, Value* count);  // how many rows each has: [count] i64

// The row of each of `count` values (a scalar). Row i has the values from splits[i] to splits[i + 1]; splits = {0, ..., count}.
Value* row_ids(Emitter&, Value* splits, Value* count);

Value* with_tail(Emitter&, Value* v,
                 const Value* like);  // appends axes of size 1 to v, as many as `like` has after its first

}  // namespace t2o::op_mappers
