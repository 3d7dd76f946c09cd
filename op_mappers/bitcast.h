#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

enum class Bits : std::uint8_t { by_arithmetic, by_bitcast };  // ONNX has BitCast from opset 26 on

Values map_bitcast(MapperContext&, Bits);
Values map_next_after(MapperContext&, Bits);

}  // namespace t2o::op_mappers
