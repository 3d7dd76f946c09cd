#include "onnx/image_layout.h"

#include <algorithm>

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

bool works_channels_first(std::string_view op) {
  constexpr std::string_view kOps[] = {"AveragePool",
                                       "BatchNormalization",
                                       "Conv",
                                       "ConvInteger",
                                       "ConvTranspose",
                                       "DeformConv",
                                       "DepthToSpace",
                                       "GlobalAveragePool",
                                       "GlobalLpPool",
                                       "GlobalMaxPool",
                                       "GridSample",
                                       "GroupNormalization",
                                       "InstanceNormalization",
                                       "LRN",
                                       "LpPool",
                                       "MaxPool",
                                       "MaxRoiPool",
                                       "MaxUnpool",
                                       "QLinearConv",
                                       "Resize",
                                       "RoiAlign",
                                       "SpaceToDepth"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace t2o::onnx
