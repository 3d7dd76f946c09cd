#include "onnx/image_layout.h"

namespace t2o::onnx {

Ints channels_first_perm(int rank) {
  Ints perm{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return perm;
}

Ints channels_last_perm(int rank) {
  Ints perm{0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

bool moves_channels_first(const Ints& perm) {
  return perm.size() >= 3 && perm == channels_first_perm(static_cast<int>(perm.size()));
}

}  // namespace t2o::onnx
