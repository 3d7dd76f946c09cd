#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics.h"
#include "ir/tensor.h"
#include "pipeline.h"
#include "tflite/schema_generated.h"
#include "verify/compare.h"
#include "verify/random.h"

// One line states an operator of a .tflite model:
//
//   lite_case(B::ADD).in(f32, {2, 3}).in(f32, {3}).out(f32, {2, 3})
//       .options(O::AddOptions, [](Fbb& b) { return schema::CreateAddOptions(b, A::RELU).Union(); }).check();
//
// The model is built in memory by the accessors of the file format and written to a file. It is converted, and `verify` compares the
// export with LiteRT, with each library that the set-up has got, by the rules of the program: codes of quantized outputs, both kinds of
// kernels. The models that TensorFlow's converter makes stand in tests/data/tflite: lite_file("cnn_int8").check().
namespace t2o::numeric {

namespace schema = tflite::schema;
using B = schema::BuiltinOperator;
using O = schema::BuiltinOptions;
using A = schema::ActivationFunctionType;
using Fbb = flatbuffers::FlatBufferBuilder;

struct Codes {  // number = scale * (code - zero point)
  std::vector<float> scales = {};
  Ints zero_points = {};
  int axis = 0;
};
inline Codes codes(float scale, std::int64_t zero_point = 0) { return {{scale}, {zero_point}, 0}; }
inline Codes codes_by(int axis, std::vector<float> scales) {
  return {scales, Ints(scales.size()), axis};
}

class LiteCase {
 public:
  LiteCase& in(DType, Ints dims, Codes = {});          // an input of the model; -1: open
  LiteCase& constant(TensorPtr, Codes = {});           // weights, or what is known
  LiteCase& random_constant(DType, Ints dims, Codes = {}, std::optional<verify::Range> = {});
  LiteCase& variable(DType, Ints dims, Codes = {});    // a state: zero at first
  LiteCase& intermediate(Codes = {});                  // a 16-bit tensor that the operator keeps for itself
  LiteCase& missing();                                 // an input that may be left out, and is
  LiteCase& out(DType, Ints dims, Codes = {});
  LiteCase& options(O type, std::function<flatbuffers::Offset<void>(Fbb&)> make);
  LiteCase& version(int);                              // of the operator
  LiteCase& convert_with(std::function<void(Options&)> change);
  LiteCase& opsets(std::vector<int>);                  // the default opset alone, if nothing is said
  LiteCase& shapes(Strings input_shapes);              // "x0:2,3": of open sizes
  LiteCase& samples(int);                              // 3, if nothing is said
  LiteCase& tol(double relative, double absolute);
  LiteCase& identical(double share);                   // of the codes of quantized outputs, at least
  LiteCase& without_optimizer();                       // ONNX Runtime computes the graph as it is written
  LiteCase& builtin_kernels();                         // where XNNPACK's are not the reference
  LiteCase& gives(std::map<std::string, std::size_t> operators);  // how often they stand in the export
  LiteCase& refuses(Code, std::string message_part);
  LiteCase& note(std::string);                         // told in failures
  LiteCase& change_export(std::function<void(ir::Graph&)>);
  LiteCase& input_is(Shape);                           // in the export: its first input
  LiteCase& reports(Strings parts, bool agrees = true);  // the text of the report holds them

  void check(SourceLoc at = SourceLoc::here());

 private:
  friend LiteCase lite_case(B);
  friend LiteCase lite_file(std::string);
  struct Tensor_ {
    DType dtype = DType::undefined;
    Ints dims = {};
    Codes codes = {};
    TensorPtr value = nullptr;
    bool is_variable = false, is_output = false, is_missing = false, is_intermediate = false;
  };
  std::string model() const;  // the bytes of the file
  void check_library(const std::string& library, const std::string& path, int opset, const std::string& where) const;
  LiteCase& add(Tensor_);

  B op_ = B::CUSTOM;
  std::string file_, note_;
  std::vector<Tensor_> tensors_;
  O options_type_ = O::NONE;
  std::function<flatbuffers::Offset<void>(Fbb&)> options_;
  int version_ = 1, samples_ = 3;
  std::function<void(Options&)> change_;
  std::vector<int> opsets_ = {0};
  Strings shapes_;
  std::optional<std::pair<double, double>> tolerance_;
  bool builtin_ = false, optimize_ = true;
  double identical_ = 0;
  std::function<void(ir::Graph&)> change_export_;
  std::optional<Shape> input_;
  Strings parts_;
  bool agrees_ = true;
  std::map<std::string, std::size_t> gives_;
  std::optional<std::pair<Code, std::string>> refusal_;
};

LiteCase lite_case(B op);
LiteCase lite_file(std::string name);  // of tests/data/tflite, or a path

}  // namespace t2o::numeric
