#include "tflite/custom.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Custom operators. Those whose name begins with "Flex" are TensorFlow's own, with TensorFlow's own
// description.
namespace t2o::tflite {
namespace {

constexpr std::string_view kFlex = "Flex";

struct Known {
  std::string_view name;
  Values (*lower)(Op&);
};
constexpr Known kKnown[] = {
    {"Convolution2DTransposeBias", transpose_conv_with_bias},
    {"Landmarks2TransformMatrix", landmarks_to_transform_matrix},
    {"MaxPoolingWithArgmax2D", max_pooling_with_argmax},
    {"MaxUnpooling2D", max_unpooling},
    {"TFLite_Detection_PostProcess", detection_post_process},
    {"TransformLandmarks", transform_landmarks},
    {"TransformTensor", transform_tensor_bilinear},
    {"TransformTensorBilinear", transform_tensor_bilinear},
};

// As a custom operator of the ONNX model, with its options as they are in the file.
Values kept(Op& op, const std::string& name) {
  const auto options = items(op.raw().custom_options());
  Attrs attrs;
  if (!options.empty()) {
    const Ints dims{static_cast<std::int64_t>(options.size())};
    attrs.push_back({"custom_options", t2o::Tensor::of<std::uint8_t>(
                                           dims, std::vector<std::uint8_t>(options.begin(), options.end()))});
  }
  Values inputs;
  for (std::size_t i = 0; i < op.input_count(); ++i) inputs.push_back(op.has(i) ? op.in(i) : nullptr);
  std::vector<ir::OutputSpec> outputs;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const DType type =
        op.lowering().quantization(op.scope(), op.raw().outputs()->Get(static_cast<unsigned>(i)))
            ? DType::f32
            : op.output_type(i);
    outputs.push_back({"", type, op.shape(op.output(i))});
  }
  return op.make_foreign(name, std::move(inputs), std::move(attrs), std::move(outputs));
}

Values custom(Op& op) {
  const std::string name = op.lowering().model().custom_name(op.raw());
  if (op.lowering().keeps_custom(name)) return kept(op, name);
  if (name.starts_with(kFlex)) return op.make_from_node_def(node_def_of(op), op.all());
  for (const Known& k : kKnown)
    if (k.name == name) return k.lower(op);
  op.fail(Code::unsupported_op, "this is a custom operator, which only its own runtime knows",
          "keep it as it is with --custom-ops " + name);
}

constexpr Row kRows[] = {{B::CUSTOM, nullptr, nullptr, custom}};

}  // namespace

std::span<const Row> custom_rows() { return kRows; }

}  // namespace t2o::tflite
