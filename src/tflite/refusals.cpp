#include <algorithm>

#include "tflite/op.h"

// The operators that have no row. Each of the format's operators has a row or stands here: a test goes
// through all of them.
namespace t2o::tflite {
namespace {

constexpr const char* kNoKernel =
    "TensorFlow Lite's runtime has no kernel for it, so nothing says what it computes";
constexpr const char* kMark = "this number marks a place in the format and is no operator";

constexpr RefusedOp kRefused[] = {
    {B::CONCAT_EMBEDDINGS, Code::unsupported_op, kNoKernel},
    {B::DELEGATE, Code::bad_model, kMark},
    {B::LSH_PROJECTION, Code::unsupported_op, "it hashes the bytes of its input, which ONNX cannot do"},
    {B::PLACEHOLDER_FOR_GREATER_OP_CODES, Code::bad_model, kMark},
    {B::SKIP_GRAM, Code::unsupported_op, "it splits strings into words and joins them, which ONNX cannot do",
     "split the strings outside of the model"},
    {B::STABLEHLO_CUSTOM_CALL, Code::unsupported_op, "only its own runtime knows what it calls"},
    {B::STABLEHLO_RNG_BIT_GENERATOR, Code::not_yet, "this program has no form of its random bits in ONNX yet",
     "feed the random numbers"},
};

}  // namespace

const RefusedOp* find_refusal(B op) {
  const auto* found =
      std::find_if(std::begin(kRefused), std::end(kRefused), [&](const RefusedOp& r) { return r.op == op; });
  return found == std::end(kRefused) ? nullptr : found;
}

}  // namespace t2o::tflite
