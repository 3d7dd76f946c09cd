#include "op_mappers/fused.h"

namespace t2o::op_mappers {
namespace {

Value* activation(MapperContext& c, Value* y, const std::string& op) {
  if (contains({"Relu", "Elu", "Tanh", "Sigmoid"}, op)) return c.emit(op, {y});
  if (op == "Relu6") return c.clip(y, 0.0, 6.0);
  if (op == "LeakyRelu") return c.emit("LeakyRelu", {y}, {{"alpha", c.attr<float>("leakyrelu_alpha")}});
  c.fail(Code::unsupported_attr, "fused_ops has '" + op + "'",
         "convert the graph before grappler has optimized it");
}

// (y - mean) * rsqrt(variance + epsilon) * scale + offset; arguments: scale, offset, mean, variance
Value* batch_norm(MapperContext& c, Value* y, std::size_t argument) {
  Value* variance =
      c.add(c.in(argument + 3), c.scalar_like(y, static_cast<double>(c.attr<float>("epsilon"))));
  Value* factor = c.div(c.in(argument), c.sqrt(variance));
  Value* centered = c.sub(y, c.in(argument + 2));
  return c.add(c.mul(centered, factor), c.in(argument + 1));
}

}  // namespace

Value* add_bias(MapperContext& c, Value* y, Value* bias, Layout layout) {
  if (layout == Layout::channels_last) return c.add(y, bias);
  if (y->shape().ranked()) {
    if (y->shape().rank() < 2)
      c.fail(Code::bad_model,
             "a bias is for channels, and the tensor has rank " + std::to_string(y->shape().rank()));
    Ints dims = repeated(1, y->shape().rank() - 1);
    dims[0] = -1;
    return c.add(y, c.reshape(bias, dims));
  }
  Value* ones = c.expand(c.ints({1}), c.reshape(c.sub(c.rank_of(y), c.scalar(DType::i64, 2)), {1}));
  Value* dims = c.concat({c.dims(bias, 0, 1), ones}, 0);
  return c.add(y, c.reshape_to(bias, dims));
}

Value* apply_fused_ops(MapperContext& c, Value* y, std::size_t argument, Layout layout) {
  c.raw_attr("epsilon");
  c.raw_attr("leakyrelu_alpha");
  for (const std::string& op : c.attr<Strings>("fused_ops")) {
    if (op == "BiasAdd") {
      y = add_bias(c, y, c.in(argument++), layout);
    } else if (op == "Add") {
      y = c.add(y, c.in(argument++));
    } else if (op == "FusedBatchNorm" && layout == Layout::channels_last) {
      y = batch_norm(c, y, argument);
      argument += 4;
    } else {
      y = activation(c, y, op);
    }
  }
  return y;
}

}  // namespace t2o::op_mappers
