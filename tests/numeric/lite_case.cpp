#include "lite_case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ir/nesting.h"
#include "tests/support/litert.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace t2o::numeric {
namespace {

schema::TensorType type_of(DType t) {
  using T = schema::TensorType;
  static const std::map<DType, T> types = {
      {DType::f32, T::FLOAT32},  {DType::f16, T::FLOAT16}, {DType::i32, T::INT32},
      {DType::u8, T::UINT8},     {DType::i64, T::INT64},   {DType::string, T::STRING},
      {DType::boolean, T::BOOL}, {DType::i16, T::INT16},   {DType::c64, T::COMPLEX64},
      {DType::i8, T::INT8},      {DType::f64, T::FLOAT64}, {DType::u64, T::UINT64},
      {DType::u32, T::UINT32},   {DType::u16, T::UINT16},  {DType::i4, T::INT4},
      {DType::bf16, T::BFLOAT16}};
  return types.at(t);
}

flatbuffers::Offset<schema::QuantizationParameters> quantization(Fbb& b, const Codes& c) {
  if (c.scales.empty()) return 0;
  return schema::CreateQuantizationParameters(b, 0, 0, b.CreateVector(c.scales),
                                              b.CreateVector(c.zero_points),
                                              schema::QuantizationDetails::NONE, 0, c.axis);
}

// The shape with 1 for each open size, as the format wants it, and the shape itself.
std::pair<std::vector<int>, std::vector<int>> shapes_of(const Ints& dims) {
  std::vector<int> open(dims.begin(), dims.end()), stated = open;
  bool any = false;
  for (int& d : stated)
    if (d < 0) d = 1, any = true;
  return {stated, any ? open : std::vector<int>()};
}

std::map<std::string, std::size_t> operators_of(const Conversion& c) {
  std::map<std::string, std::size_t> counts;
  for (const auto& part : c.model.graphs)
    for (const ir::Node& n : part.graph->nodes()) ++counts[std::string(n.op())];
  return counts;
}

struct TemporaryFile {
  explicit TemporaryFile(const std::string& name) : path(::testing::TempDir() + name) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

LiteCase lite_case(B op) {
  LiteCase c;
  c.op_ = op;
  return c;
}

LiteCase lite_file(std::string name) {
  LiteCase c;
  c.file_ = name.find('/') != std::string::npos ? std::move(name)
                                                : T2O_SOURCE_DIR "/tests/data/tflite/" + name + ".tflite";
  return c;
}

LiteCase& LiteCase::add(Tensor_ t) {
  tensors_.push_back(std::move(t));
  return *this;
}
LiteCase& LiteCase::in(DType dtype, Ints dims, Codes c) {
  return add({dtype, std::move(dims), std::move(c)});
}
LiteCase& LiteCase::constant(TensorPtr t, Codes c) { return add({t->dtype(), t->dims(), std::move(c), t}); }
LiteCase& LiteCase::random_constant(DType dtype, Ints dims, Codes c, std::optional<verify::Range> range) {
  verify::Random random(verify::mix(7, std::to_string(tensors_.size())));
  if (!range && !c.scales.empty() && bit_width(dtype) == 8)
    range = verify::Range{dtype == DType::u8 ? 0.0 : -127.0, dtype == DType::u8 ? 255.0 : 127.0};
  return constant(verify::random_tensor(dtype, dims, random, range), std::move(c));
}
LiteCase& LiteCase::variable(DType dtype, Ints dims, Codes c) {
  return add({dtype, std::move(dims), std::move(c), nullptr, true});
}
LiteCase& LiteCase::intermediate(Codes c) {
  return add({.dtype = DType::i16, .codes = std::move(c), .is_intermediate = true});
}
LiteCase& LiteCase::missing() { return add({.is_missing = true}); }
LiteCase& LiteCase::out(DType dtype, Ints dims, Codes c) {
  return add({dtype, std::move(dims), std::move(c), nullptr, false, true});
}
LiteCase& LiteCase::options(O type, std::function<flatbuffers::Offset<void>(Fbb&)> make) {
  options_type_ = type, options_ = std::move(make);
  return *this;
}
LiteCase& LiteCase::version(int v) { return version_ = v, *this; }
LiteCase& LiteCase::convert_with(std::function<void(Options&)> change) {
  return change_ = std::move(change), *this;
}
LiteCase& LiteCase::opsets(std::vector<int> list) { return opsets_ = std::move(list), *this; }
LiteCase& LiteCase::shapes(Strings s) { return shapes_ = std::move(s), *this; }
LiteCase& LiteCase::samples(int n) { return samples_ = n, *this; }
LiteCase& LiteCase::tol(double relative, double absolute) { return tolerance_ = {relative, absolute}, *this; }
LiteCase& LiteCase::identical(double share) { return identical_ = share, *this; }
LiteCase& LiteCase::without_optimizer() { return optimize_ = false, *this; }
LiteCase& LiteCase::builtin_kernels() { return builtin_ = true, *this; }
LiteCase& LiteCase::gives(std::map<std::string, std::size_t> operators) {
  return gives_ = std::move(operators), *this;
}
LiteCase& LiteCase::refuses(Code code, std::string part) { return refusal_ = {code, std::move(part)}, *this; }
LiteCase& LiteCase::change_export(std::function<void(ir::Graph&)> f) {
  return change_export_ = std::move(f), *this;
}
LiteCase& LiteCase::input_is(Shape s) { return input_ = std::move(s), *this; }
LiteCase& LiteCase::reports(Strings parts, bool agrees) {
  return parts_ = std::move(parts), agrees_ = agrees, *this;
}
LiteCase& LiteCase::note(std::string text) { return note_ = std::move(text), *this; }

std::string LiteCase::model() const {
  Fbb b;
  std::vector<flatbuffers::Offset<schema::Buffer>> buffers = {
      schema::CreateBuffer(b)};  // the first one is that of no data
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors;
  std::vector<int> op_inputs, op_outputs, intermediates, inputs, outputs;
  for (const Tensor_& t : tensors_) {
    const int index = static_cast<int>(tensors.size());
    auto& of_op = t.is_output ? op_outputs : t.is_intermediate ? intermediates : op_inputs;
    of_op.push_back(t.is_missing ? -1 : index);
    if (t.is_missing) continue;
    if (t.is_output) outputs.push_back(index);
    if (!t.is_output && !t.is_variable && !t.is_intermediate && !t.value) inputs.push_back(index);
    unsigned buffer = 0;
    if (t.value) {
      buffer = static_cast<unsigned>(buffers.size());
      b.ForceVectorAlignment(t.value->byte_size(), 1, 16);
      buffers.push_back(
          schema::CreateBuffer(b, b.CreateVector(t.value->data<std::uint8_t>(), t.value->byte_size())));
    }
    const auto [stated, open] = shapes_of(t.dims);
    const std::string name = (t.is_output ? "y" : "x") + std::to_string(index);
    tensors.push_back(schema::CreateTensor(b, b.CreateVector(stated), type_of(t.dtype), buffer,
                                           b.CreateString(name), quantization(b, t.codes), t.is_variable, 0,
                                           open.empty() ? 0 : b.CreateVector(open), true));
  }
  const auto made = options_ ? options_(b) : flatbuffers::Offset<void>(0);
  const auto op =
      schema::CreateOperator(b, 0, b.CreateVector(op_inputs), b.CreateVector(op_outputs), options_type_, made,
                             0, schema::CustomOptionsFormat::FLEXBUFFERS, 0, b.CreateVector(intermediates));
  const auto old = static_cast<std::int8_t>(std::min(static_cast<int>(op_), 127));
  const auto code = schema::CreateOperatorCode(b, old, 0, version_, op_);
  const auto graph =
      schema::CreateSubGraph(b, b.CreateVector(tensors), b.CreateVector(inputs), b.CreateVector(outputs),
                             b.CreateVector(std::vector{op}), b.CreateString("main"));
  schema::FinishModelBuffer(
      b, schema::CreateModel(b, 3, b.CreateVector(std::vector{code}), b.CreateVector(std::vector{graph}),
                             b.CreateString("made by a test"), b.CreateVector(buffers)));
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

void LiteCase::check_library(const std::string& library, const std::string& path, int opset,
                             const std::string& where) const {
  verify::VerifyOptions v;
  v.source.model = path;
  v.source.opset = opset;
  if (change_) change_(v.source);
  if (builtin_) v.source.reference_kernels = tf2onnx::ReferenceKernels::builtin;
  const Conversion c = convert(v.source);
  const bool refused = !c.ok();
  if (refused || refusal_) {
    const std::string why = c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]);
    ASSERT_EQ(refused, refusal_.has_value()) << where << why;
    EXPECT_EQ(c.diagnostics[0].code, refusal_->first) << where << why;
    EXPECT_NE(why.find(refusal_->second), std::string::npos) << where << why;
    return;
  }
  const auto counts = operators_of(c);
  for (const auto& [op, times] : gives_)
    EXPECT_EQ(counts.contains(op) ? counts.at(op) : 0, times) << where << op;
  ir::Graph& graph = *c.model.graphs[0].graph;
  EXPECT_EQ(graph.inputs()[0]->shape(), input_.value_or(graph.inputs()[0]->shape())) << where;
  if (change_export_) change_export_(graph);
  const TemporaryFile exported("lite_case.onnx");
  ASSERT_FALSE(has_errors(write_model(c, v.source, exported.path))) << where;
  v.onnx = exported.path;
  v.samples = samples_;
  v.input_shapes = shapes_;
  v.threads = 1;
  v.optimize = optimize_;
  v.litert_library = library;
  if (tolerance_)
    v.tolerance = {.relative = tolerance_->first, .absolute = tolerance_->second}, v.tolerance_given = true;
  const verify::VerifyReport report = verify::verify(v);
  const std::string text = verify::to_text(report);
  EXPECT_EQ(report.ok(), agrees_) << where << text;
  for (const std::string& part : parts_) EXPECT_NE(text.find(part), std::string::npos) << where << text;
  std::int64_t same = 0, all = 0;
  for (const verify::ComparedSample& s : report.samples)
    for (const verify::ComparedTensor& t : s.outputs)
      if (t.comparison.codes) same += t.comparison.codes->same, all += t.comparison.codes->elements;
  EXPECT_GE(static_cast<double>(same), identical_ * static_cast<double>(all))
      << where << same << " of " << all << " codes are identical";
  EXPECT_TRUE(all > 0 || identical_ == 0) << where << "no output has codes";
}

void LiteCase::check(SourceLoc at) {
  const testing::ScopedTrace trace(
      at.file, at.line,
      file_.empty() ? schema::EnumNameBuiltinOperator(op_) + (" " + note_) : file_ + " " + note_);
  const std::vector<std::string> libraries = test::litert_libraries();
  if (test::lacks_litert()) GTEST_SKIP() << "LiteRT is not there";
  const TemporaryFile built("lite_case.tflite");
  if (file_.empty()) std::ofstream(built.path, std::ios::binary) << model();
  for (const int opset : opsets_) {
    std::string lacks;
    std::size_t ran = 0;
    for (const std::string& library : libraries) {
      const std::string where =
          (opset == 0 ? std::string() : "opset " + std::to_string(opset) + ", ") + library + ": ";
      try {
        check_library(library, file_.empty() ? built.path : file_, opset, where);
        ++ran;
      } catch (const ConversionError& e) {  // one library may lack code for a model that another one runs
        const Code code = e.diagnostic().code;
        if (code != Code::engine_missing && code != Code::bad_model) ADD_FAILURE() << where << e.what();
        lacks += where + e.what();
      }
    }
    if (ran == 0) ADD_FAILURE() << lacks;
  }
}

}  // namespace t2o::numeric
