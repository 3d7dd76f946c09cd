#pragma once
#include <string_view>

#include "ir/graph.h"

// What an operator of the source means beyond ONNX's is an internal attribute of a plain ONNX node. Rewriters that match the
// operator ignore it; nodes with different meanings are not merged. Rows of rewriters/runtime write what a meaning takes in the
// target runtime. Then drop_meanings removes the attribute: no finished graph has one.
namespace t2o::onnx {

inline constexpr std::string_view kNan = "t2o.nan";      // of ReduceMax, Sign, ArgMax, MaxPool ...
inline constexpr std::string_view kKeeps = "keeps";      // NaN: the result is NaN where an element is; of Sign, of halves
inline constexpr std::string_view kSkips = "skips";      // NaN: elements that are NaN count for nothing
inline constexpr std::string_view kApart = "apart";      // NaN: no two of them are equal; of Unique
inline constexpr std::string_view kEmpty = "t2o.empty";  // of ReduceMean
inline constexpr std::string_view kIsNan = "nan";        // empty: the result of no elements is NaN
inline constexpr std::string_view kBits = "t2o.bits";    // of Max, Sign, ReduceSum ... of i64
inline constexpr std::string_view kAll = "all";          // bits: numbers beyond 32 bits may come, and all their bits count
inline constexpr std::string_view kWindows = "t2o.windows";  // of MaxPool, AveragePool
inline constexpr std::string_view kWhole = "whole";          // windows: an image that is smaller than one has none

void set_meaning(ir::Graph&, Value* y, std::string_view attr, std::string_view value);  // of the node that computes y; casts behind it do not matter
bool take_meaning(ir::Graph&, ir::Node&, std::string_view attr, std::string_view value);  // whether the node has it, which it has no more then
void copy_meanings(ir::Graph&, const ir::Node& from, Value* to);  // to the node that computes it
bool drop_meanings(ir::Graph&, ir::Node&);  // false: the node has none

}  // namespace t2o::onnx
