// Open sizes of .tflite models: which of them LiteRT takes, which the export states, and what `verify` says of them.
#include <gtest/gtest.h>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

using enum t2o::DType;

TensorPtr ints(const std::vector<std::int32_t>& v) { return Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size())}, v); }

LiteCase product(const Ints& x, const Ints& weights) {
  return lite_case(B::MUL).in(f32, x).random_constant(f32, weights).out(f32, x).samples(1)
      .options(O::MulOptions, [](Fbb& b) { return schema::CreateMulOptions(b).Union(); });
}

void open_batch(ir::Graph& g) {
  Value* x = g.inputs()[0];
  g.set_type(x, x->dtype(), Shape(Ints{g.symbols().intern("batch"), x->shape()[1]}));
}

// A size that the file leaves open and the graph does not.
TEST(LiteSizes, TheExportStatesTheOnlySizeThatTheGraphTakes) {
  lite_case(B::RESHAPE).in(f32, {-1, 6}).constant(ints({1, 2, 3})).out(f32, {1, 2, 3}).input_is(Shape(Ints{1, 6})).check();
  lite_case(B::RESHAPE).in(f32, {-1, 6}).constant(ints({4, 2, 3})).out(f32, {4, 2, 3}).input_is(Shape(Ints{4, 6})).check();
  lite_case(B::CONCATENATION).in(f32, {-1, 6}).random_constant(f32, {3, 2}).out(f32, {-1, 8}).input_is(Shape(Ints{3, 6}))
      .options(O::ConcatenationOptions, [](Fbb& b) { return schema::CreateConcatenationOptions(b, 1).Union(); }).check();
}

// Factors for each of 5 rows fit the single row of the file, too.
TEST(LiteSizes, SizesInTheFileWhereLiteRtTakesNoOther) {
  product({-1, 3}, {5, 3}).reports({"seed 0, sizes in the file:  x0 f32[1, 3]",
                                    "LiteRT does not run the model with x0 f32[2, 3]: compared with the sizes in the file"}).check();
  product({-1, 3}, {5, 3}).samples(3).reports({"seed 2, sizes in the file:"}).check();
}

// The window is longer than the image: LiteRT refuses it, or its process ends.
TEST(LiteSizes, LargerSizesWhereTheFilesAreTooSmall) {
  lite_case(B::CONV_2D).in(f32, {1, -1, -1, 1}).random_constant(f32, {1, 70, 1, 1}).random_constant(f32, {1}).out(f32, {1, -1, -1, 1}).samples(1)
      .options(O::Conv2DOptions, [](Fbb& b) { return schema::CreateConv2DOptions(b, schema::Padding::VALID, 1, 1).Union(); })
      .reports({"seed 0, larger sizes:  x0 f32[1, 256, 256, 1]",
                "LiteRT does not run the model with x0 f32[1, 64, 64, 1]: compared with larger sizes"}).check();
}

// The note names what was tried: 1 and 5 rows run, 2 and 3 do not.
TEST(LiteSizes, TheSizesThatWereTried) {
  product({-1, 3}, {5, 3}).reports({"LiteRT refused x0 f32[3, 3]: not compared"}).check();
}

TEST(LiteSizes, ASizeThatTheExportAloneStates) {
  for (const std::int64_t size : {1, 2, 3, 7})
    product({-1, 3}, {1, 3})
        .change_export([size](ir::Graph& g) {
          Value* x = g.inputs()[0];
          g.set_type(x, x->dtype(), Shape(Ints{size, 3}));
        })
        .reports({"the source model also runs with x0 f32[" + std::to_string(size == 3 ? 2 : 3) + ", 3]; the export takes [" +
                  std::to_string(size) + ", 3] alone"}).check();
}

// An export that claims sizes which it does not take is wrong, also where it agrees with the sizes in the file.
TEST(LiteSizes, AnExportThatTakesFewerSizesThanItClaims) {
  lite_case(B::RESHAPE).in(f32, {-1, 6}).constant(ints({-1, 2, 3})).out(f32, {-1, 2, 3}).samples(1)
      .change_export([](ir::Graph& g) {
        open_batch(g);
        ir::Node& reshape = *g.first();
        g.set_input(reshape, 1, g.add_constant("fixed", Tensor::of<std::int64_t>({3}, {1, 2, 3})));
      })
      .reports({"seed 0:  x0 f32[2, 6]\n  ONNX Runtime: run: ", "seed 0, sizes in the file:  x0 f32[1, 6]\n  output"}, false).check();
}

}  // namespace
}  // namespace t2o::numeric
