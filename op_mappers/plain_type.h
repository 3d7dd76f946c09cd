#pragma once
#include "ir/dtype.h"

namespace t2o {

// ONNX has no quantized types; plain integer types take their place.
inline DType plain_type(DType t) {
  switch (t) {
    case DType::qi8: return DType::i8;
    case DType::qu8: return DType::u8;
    case DType::qi16: return DType::i16;
    case DType::qu16: return DType::u16;
    case DType::qi32: return DType::i32;
    default: return t;
  }
}

}  // namespace t2o
