#pragma once
#include <string>
#include <vector>

// Where the tests find LiteRT. The helper of the build is used unless TF2ONNX_LITERT_HELPER names another.
namespace t2o::test {

bool lacks_litert();  // an error if the tests must have it (T2O_REQUIRE_ENGINES)
std::vector<std::string> litert_libraries();  // all that the set-up has got: of each C interface one, or none

}  // namespace t2o::test
