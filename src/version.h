#pragma once

namespace t2o {
inline constexpr const char* kVersion = TF2ONNX_VERSION;  // the build says it
}
