#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "onnx/opset_table.h"

namespace onnx {
class OpSchema;
}

namespace t2o::onnx {

// A set of element types of tensors.
class DTypeSet {
 public:
  void add(DType t) { bits_ |= bit(t); }
  bool has(DType t) const { return (bits_ & bit(t)) != 0; }
  bool empty() const { return bits_ == 0; }
  DTypeSet operator&(DTypeSet o) const { return DTypeSet(bits_ & o.bits_); }
  constexpr explicit DTypeSet(std::uint64_t bits = 0) : bits_(bits) {}

 private:
  static std::uint64_t bit(DType t) { return is_sequence(t) ? 0 : std::uint64_t{1} << static_cast<unsigned>(t); }
  std::uint64_t bits_;
};

// One operator at one opset: the parts of its schema that the Emitter needs, computed once.
struct OpInfo {
  struct TypeParam {
    std::string name;        // "T"
    DTypeSet standard;       // what the schema allows
    DTypeSet kernels;        // the types for which the target runtime has a kernel; the same as standard if unknown
  };
  std::string op, domain;
  const ::onnx::OpSchema* schema = nullptr;
  int since = 0;
  std::vector<TypeParam> params;
  std::vector<int> input_param, output_param;  // index into params, -1 for a fixed type; the last one repeats if variadic
  bool variadic_input = false, variadic_output = false;
  bool has_kernel = true;

  int param_of_input(std::size_t i) const { return at(input_param, i, variadic_input); }
  int param_of_output(std::size_t i) const { return at(output_param, i, variadic_output); }

 private:
  static int at(const std::vector<int>& v, std::size_t i, bool variadic) {
    if (i < v.size()) return v[i];
    return variadic && !v.empty() ? v.back() : -1;
  }
};

// Null if the operator does not exist at this opset. `op` may be "domain::Op".
const OpInfo* op_info(const std::string& op, int opset, int ml_opset, bool for_ort);
const OpInfo* op_info(const std::string& op, const Target&);  // at the target's opset, with the kernels that the target has
// The element types for which the target has a kernel of the operator; none if it does not have the operator.
DTypeSet kernel_types(const std::string& op, const Target&);

}  // namespace t2o::onnx
