#pragma once
#include <string>

#include "tflite/op.h"

// Custom operators whose meaning is known.
namespace t2o::tflite {

// The options of a custom operator: a map of a flexbuffer.
class CustomOptions {
 public:
  explicit CustomOptions(const Op&);  // refuses a damaged one; none is an empty map
  ~CustomOptions();
  CustomOptions(const CustomOptions&) = delete;
  CustomOptions& operator=(const CustomOptions&) = delete;
  bool has(const char* key) const;
  std::int64_t number(const char* key, std::int64_t otherwise) const;
  double real(const char* key) const;  // refuses an absent one
  std::int64_t number(const char* key) const;
  Ints list(const char* key) const;

 private:
  struct Map;
  const Op& op_;
  std::unique_ptr<Map> map_;
};

Bytes node_def_of(const Op&);  // of one of TensorFlow's own operators

Values detection_post_process(Op&);
Values max_pooling_with_argmax(Op&);
Values max_unpooling(Op&);
Values transpose_conv_with_bias(Op&);
Values transform_landmarks(Op&);
Values landmarks_to_transform_matrix(Op&);
Values transform_tensor_bilinear(Op&);

}  // namespace t2o::tflite
