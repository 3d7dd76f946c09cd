#pragma once
#include <string>
#include <vector>

namespace t2o {

// An operator of a format that has operators of its own.
struct FormatOp {
  int number = 0;  // in the format
  std::string name;
  bool converts = false;
  std::string becomes = {};  // TensorFlow's operator, if it is exactly one
  std::string reason = {};   // why it does not convert
};

std::vector<FormatOp> lite_operators();  // TensorFlow Lite's builtin operators, all of them

}  // namespace t2o
