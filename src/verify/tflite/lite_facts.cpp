#include "verify/tflite/lite_facts.h"

#include "tflite/model.h"

namespace t2o::verify {
namespace {

namespace schema = tflite::schema;
using tflite::Model;
using B = schema::BuiltinOperator;

bool holds_codes(const Model& m, const schema::Tensor& t) {
  return is_int(m.dtype(t)) && bit_width(m.dtype(t)) <= 16 && m.quantization(t);
}

// Operators that make codes of numbers or numbers of codes, and compute nothing.
bool only_converts(B op) { return op == B::QUANTIZE || op == B::DEQUANTIZE || op == B::DENSIFY; }

void add_operator(const Model& m, std::size_t subgraph, const schema::Operator& o, LiteFacts& facts) {
  const auto tensor = [&](std::int32_t i) -> const schema::Tensor& { return m.tensor(subgraph, i); };
  bool takes_codes = false;
  for (const std::int32_t i : tflite::items(o.inputs())) takes_codes |= i >= 0 && holds_codes(m, tensor(i));
  if (!only_converts(m.builtin(o))) facts.quantizes |= takes_codes;
  if (m.builtin(o) != B::DEQUANTIZE || !takes_codes || subgraph != 0) return;
  const schema::Tensor& from = tensor(o.inputs()->Get(0));
  const auto q = m.quantization(from);
  if (m.has_data(from) || !q->is_per_tensor()) return;
  for (const std::int32_t i : tflite::items(o.outputs()))
    facts.codes[m.tensor_name(subgraph, i)] = {q->scales[0], static_cast<int>(bit_width(m.dtype(from)))};
}

}  // namespace

LiteFacts facts_of_lite_model(const std::string& path) {
  LiteFacts facts;
  const tflite::ModelPtr m = Model::open(path);
  for (std::size_t g = 0; g < m->subgraph_count(); ++g)
    for (unsigned i = 0; i < tflite::count(m->subgraph(g).operators()); ++i)
      add_operator(*m, g, *m->subgraph(g).operators()->Get(i), facts);
  return facts;
}

}  // namespace t2o::verify
