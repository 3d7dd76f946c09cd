#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engines/litert/model.h"

// TensorFlow's own operators in a .tflite model (Flex), which LiteRT has no kernels for: they run in TensorFlow, one after the other.
namespace t2o::engines::lite {

struct TfLiteOptions;

class Flex {
 public:
  // Operators are called FlexNAME. The first of TensorFlow's libraries that can be loaded runs them.
  Flex(const Library& lite, std::vector<std::string> operators, const std::vector<std::string>& tensorflow);
  ~Flex();
  Flex(const Flex&) = delete;
  Flex& operator=(const Flex&) = delete;

  void add_to(TfLiteOptions*);  // of a new interpreter
  std::string missing() const;  // why there is no TensorFlow; empty: there is one, or it is not needed

  class Impl;  // what the callbacks of LiteRT see

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace t2o::engines::lite
