#include "onnx/elem_type.h"

#include <array>
#include <string_view>

namespace t2o::onnx {
namespace {

struct Row {
  DType dtype;
  int elem_type;  // onnx.proto, TensorProto.DataType
  std::string_view type_string;
};
constexpr std::array<Row, 25> kRows = {{
    {DType::f32, 1, "tensor(float)"},
    {DType::u8, 2, "tensor(uint8)"},
    {DType::i8, 3, "tensor(int8)"},
    {DType::u16, 4, "tensor(uint16)"},
    {DType::i16, 5, "tensor(int16)"},
    {DType::i32, 6, "tensor(int32)"},
    {DType::i64, 7, "tensor(int64)"},
    {DType::string, 8, "tensor(string)"},
    {DType::boolean, 9, "tensor(bool)"},
    {DType::f16, 10, "tensor(float16)"},
    {DType::f64, 11, "tensor(double)"},
    {DType::u32, 12, "tensor(uint32)"},
    {DType::u64, 13, "tensor(uint64)"},
    {DType::c64, 14, "tensor(complex64)"},
    {DType::c128, 15, "tensor(complex128)"},
    {DType::bf16, 16, "tensor(bfloat16)"},
    {DType::f8e4m3fn, 17, "tensor(float8e4m3fn)"},
    {DType::f8e4m3fnuz, 18, "tensor(float8e4m3fnuz)"},
    {DType::f8e5m2, 19, "tensor(float8e5m2)"},
    {DType::f8e5m2fnuz, 20, "tensor(float8e5m2fnuz)"},
    {DType::u4, 21, "tensor(uint4)"},
    {DType::i4, 22, "tensor(int4)"},
    {DType::u2, 25, "tensor(uint2)"},
    {DType::i2, 26, "tensor(int2)"},
    {DType::undefined, 0, ""},
}};

}  // namespace

int elem_type(DType t) {
  for (const Row& r : kRows)
    if (r.dtype == t) return r.elem_type;
  return 0;
}

DType dtype_of_elem_type(int e) {
  for (const Row& r : kRows)
    if (r.elem_type == e) return r.dtype;
  return DType::undefined;
}

DType dtype_of_type_string(const char* type) {
  for (const Row& r : kRows)
    if (r.type_string == type) return r.dtype;
  return DType::undefined;
}

}  // namespace t2o::onnx
