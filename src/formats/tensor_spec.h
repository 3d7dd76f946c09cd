#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/shape.h"

namespace t2o {

// What --inputs and --outputs say of a tensor: "X:0[1,28,28,3]".
struct TensorSpec {
  std::string name;
  std::optional<Shape> shape;
};
TensorSpec parse_tensor_spec(std::string_view);  // refuses (bad_option) what names no tensor
[[noreturn]] void fail_tensor_spec(std::string_view spec, const std::string& why);

}  // namespace t2o
