#include "onnx/half_weights.h"

#include <algorithm>
#include <cstring>

#include "ir/nesting.h"

namespace t2o::onnx {
namespace {

constexpr std::int64_t kFewestElements = 256;  // below that the node is not worth it

float float_at(Bytes bytes, std::size_t i) {
  float x;
  std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
  return x;
}

bool are_halves(const Tensor& t) {
  const Bytes bytes = t.bytes();
  bool all = true;
  for (std::size_t i = 0; i < bytes.size() / sizeof(float) && all; ++i) {
    const float x = float_at(bytes, i), back = half_to_float(float_to_half(x));
    all = std::memcmp(&x, &back, sizeof x) == 0;
  }
  t.storage()->release();
  return all;
}

TensorPtr halves(const Tensor& t) {
  const StoragePtr floats = t.storage();
  const auto elements = static_cast<std::size_t>(t.elements());
  const auto fill = [floats, elements](std::span<std::byte> out) {
    const Bytes from = floats->bytes();
    for (std::size_t i = 0; i < elements; ++i) {
      const std::uint16_t half = float_to_half(float_at(from, i));
      std::memcpy(out.data() + i * sizeof half, &half, sizeof half);
    }
    floats->release();
  };
  return std::make_shared<Tensor>(DType::f16, t.dims(), computed_storage(elements * 2, fill));
}

}  // namespace

bool has_half_weights(const ir::Graph& source) {
  bool found = false;
  ir::for_each_node(source, [&](const ir::Node& n) {
    if (n.op() != "Cast" || !n.input(0)->constant() || n.input(0)->dtype() != DType::f16) return;
    found =
        found || (n.output()->dtype() == DType::f32 && n.input(0)->constant()->elements() >= kFewestElements);
  });
  return found;
}

void store_halves(ir::Graph& g) {
  std::vector<Value*> found;
  for (Value* v : g.constants())
    if (v->dtype() == DType::f32 && v->constant()->elements() >= kFewestElements && !v->is_graph_output() &&
        are_halves(*v->constant()))
      found.push_back(v);
  ir::Node* first = g.first();
  for (Value* v : found) {
    const std::string name = v->name();
    ir::NodeSpec spec{.op = "Cast", .inputs = {g.add_constant(name + "/half", halves(*v->constant()))}};
    spec.attrs = {{"to", DType::f32}};
    spec.outputs = {{"", DType::f32, v->shape()}};
    spec.origin = std::make_shared<const Origin>(Origin{name, "", ""});
    Value* floats = g.add(std::move(spec), first).output();
    g.replace_all_uses(v, floats);
    g.take_name(floats, v);
  }
  if (!found.empty()) g.erase_dead();
}

}  // namespace t2o::onnx
