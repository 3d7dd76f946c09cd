#include "tests/support/litert.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engines/library.h"

namespace t2o::test {
namespace {

const bool kHelperIsSet = setenv("TF2ONNX_LITERT_HELPER", T2O_LITERT_HELPER, 0) == 0;

}  // namespace

bool lacks_litert() {
  const bool lacks = litert_libraries().empty();
  if (lacks && std::getenv("T2O_REQUIRE_ENGINES")) ADD_FAILURE() << "LiteRT is not there";
  return lacks;
}

std::vector<std::string> litert_libraries() {
  using engines::LibraryNames;
  std::vector<std::string> found;
  for (const LibraryNames& names :
       {LibraryNames{"LiteRT", "libtensorflowlite_c.so", "TF2ONNX_TFLITE_C_LIBRARY", "", "tensorflowlite-c-",
                     "", "", ""},
        LibraryNames{"LiteRT", "libLiteRt.so", "TF2ONNX_LITERT_LIBRARY", "", "litert-", "", "", ""}})
    for (const std::string& path : engines::engine_candidates(names, ""))
      if (kHelperIsSet && path.find('/') != std::string::npos) {
        found.push_back(path);
        break;
      }
  return found;
}

}  // namespace t2o::test
