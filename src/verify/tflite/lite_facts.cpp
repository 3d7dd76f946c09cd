#include "verify/tflite/lite_facts.h"

#include <algorithm>

#include "support/lists.h"
#include "tflite/callees.h"
#include "tflite/dequantize.h"

namespace t2o::verify {
namespace {

namespace schema = tflite::schema;
using tflite::Model;
using B = schema::BuiltinOperator;

bool holds_codes(const Model& m, const schema::Tensor& t) {
  return is_int(m.dtype(t)) && bit_width(m.dtype(t)) <= 16 && m.quantization(t);
}

PortCodes codes_of(const Model& m, const schema::Tensor& t, const tflite::Quantization& q) {
  return {static_cast<double>(q.scales[0]), static_cast<int>(bit_width(m.dtype(t))),
          tflite::range_of(q, m.dtype(t)).low};
}

// Operators that make codes of numbers or numbers of codes, and compute nothing.
bool only_converts(B op) { return op == B::QUANTIZE || op == B::DEQUANTIZE || op == B::DENSIFY; }

std::vector<const schema::Operator*> operators_of(const Model& m, std::size_t subgraph) {
  const auto* all = m.subgraph(subgraph).operators();
  return all ? std::vector<const schema::Operator*>(all->begin(), all->end())
             : std::vector<const schema::Operator*>();
}

void add_operator(const Model& m, std::size_t subgraph, const schema::Operator& o, LiteFacts& facts) {
  if (m.builtin(o) == B::CUSTOM && m.custom_name(o).starts_with("Flex"))
    facts.flex_operators.insert(m.custom_name(o));
  const auto tensor = [&](std::int32_t i) -> const schema::Tensor& { return m.tensor(subgraph, i); };
  bool takes_codes = false;
  for (const std::int32_t i : tflite::items(o.inputs())) takes_codes |= i >= 0 && holds_codes(m, tensor(i));
  if (!only_converts(m.builtin(o))) facts.quantizes |= takes_codes;
  if (subgraph != 0 || tflite::count(o.inputs()) == 0 || o.inputs()->Get(0) < 0) return;
  const schema::Tensor& from = tensor(o.inputs()->Get(0));
  if (m.has_data(from)) return;
  const auto each_output = [&](auto&& f) {
    for (const std::int32_t i : tflite::items(o.outputs())) f(i);
  };
  if (m.builtin(o) == B::QUANTIZE && is_float(m.dtype(from)))
    each_output([&](std::int32_t i) {
      const auto q = holds_codes(m, tensor(i)) ? m.quantization(tensor(i)) : std::nullopt;
      if (q && q->is_per_tensor())
        facts.made_codes[m.tensor_name(subgraph, o.inputs()->Get(0))] = codes_of(m, tensor(i), *q);
    });
  if (m.builtin(o) != B::DEQUANTIZE || !takes_codes) return;
  if (const auto q = m.quantization(from); q && q->is_per_tensor())
    each_output([&](std::int32_t i) { facts.codes[m.tensor_name(subgraph, i)] = codes_of(m, from, *q); });
}

// Finds the tensors that depend on random numbers.
class Draws {
 public:
  explicit Draws(const Model& m) : model_(m) {}

  // The operators of a subgraph stand in the order in which they run.
  void add_tensors(std::size_t subgraph, LiteFacts& facts) {
    std::set<std::int32_t> drawn;
    for (const schema::Operator* o : operators_of(model_, subgraph)) {
      const auto read = tflite::items(o->inputs());
      if (!draws(*o) && std::ranges::none_of(read, [&](std::int32_t t) { return drawn.contains(t); }))
        continue;
      for (const std::int32_t t : tflite::items(o->outputs()))
        if (drawn.insert(t).second) facts.drawn.insert(model_.tensor_name(subgraph, t));
      if (model_.builtin(*o) == B::ASSIGN_VARIABLE) drawn.insert(read[0]);
    }
  }

 private:
  bool draws(const schema::Operator& o) {
    const B op = model_.builtin(o);
    if (contains({B::RANDOM_UNIFORM, B::RANDOM_STANDARD_NORMAL, B::MULTINOMIAL}, op)) return true;
    return std::ranges::any_of(tflite::callees(op, o).subgraphs, [&](std::int64_t g) {
      if (g < 0 || static_cast<std::size_t>(g) >= model_.subgraph_count()) return false;
      const auto [known, fresh] = draws_.try_emplace(static_cast<std::size_t>(g), false);
      if (fresh)
        known->second = std::ranges::any_of(operators_of(model_, known->first),
                                            [&](const auto* inner) { return draws(*inner); });
      return known->second;
    });
  }

  const Model& model_;
  std::map<std::size_t, bool> draws_;  // by subgraph
};

}  // namespace

LiteFacts facts_of_lite_model(const std::string& path) {
  LiteFacts facts;
  const tflite::ModelPtr m = Model::open(path);
  for (std::size_t g = 0; g < m->subgraph_count(); ++g) {
    for (const std::int32_t i : tflite::items(m->subgraph(g).inputs())) {
      const auto sizes = tflite::items(m->tensor(g, i).shape());
      facts.sizes.try_emplace(m->tensor_name(g, i), sizes.begin(), sizes.end());
    }
    for (const schema::Operator* o : operators_of(*m, g)) add_operator(*m, g, *o, facts);
  }
  Draws draws(*m);
  std::set<std::size_t> entries{0};
  for (std::size_t i = 0; i < m->signatures().size(); ++i) entries.insert(m->subgraph_of_signature(i));
  for (const std::size_t g : entries) draws.add_tensors(g, facts);
  return facts;
}

}  // namespace t2o::verify
