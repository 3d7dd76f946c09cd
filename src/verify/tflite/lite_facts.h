#pragma once
#include <map>
#include <set>
#include <string>

#include "verify/inputs.h"

namespace t2o::verify {

// What a .tflite file says of the comparison of its outputs.
struct LiteFacts {
  std::map<std::string, PortCodes> codes;  // of float tensors that are made of codes, by name
  std::map<std::string, PortCodes> made_codes;  // of float tensors that codes are made of
  std::set<std::string> flex_operators;    // TensorFlow's own operators: "FlexRoll"
  std::set<std::string> drawn;  // tensors that depend on random numbers: LiteRT's operators draw the same ones in each run
  std::map<std::string, Ints> sizes;       // of inputs, by name: those with which the file stores the graph
  bool quantizes = false;  // an operator computes with codes, or makes codes of its input to multiply it with quantized weights
};
LiteFacts facts_of_lite_model(const std::string& path);

}  // namespace t2o::verify
