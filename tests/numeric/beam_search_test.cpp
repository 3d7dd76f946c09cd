#include <gtest/gtest.h>

#include "foreign_ops.h"

namespace t2o::numeric {
namespace {

constexpr std::int64_t kSteps = 6, kBatch = 3, kBeams = 4;
constexpr std::int32_t kEnd = 9;

using Numbers = std::vector<std::int32_t>;

std::size_t at(std::int64_t step, std::int64_t batch, std::int64_t beam) {
  return static_cast<std::size_t>((step * kBatch + batch) * kBeams + beam);
}

// From the last step back, as TensorFlow Addons does it.
Numbers followed(const Numbers& ids, const Numbers& parents, const Numbers& lengths) {
  Numbers y(ids.size(), kEnd);
  for (std::int64_t batch = 0; batch < kBatch; ++batch)
    for (std::int64_t beam = 0; beam < kBeams; ++beam) {
      const std::int64_t last = std::min<std::int64_t>(kSteps, lengths[static_cast<std::size_t>(batch)]) - 1;
      std::int64_t place = beam;
      for (std::int64_t step = last; step >= 0; --step) {
        y[at(step, batch, beam)] = ids[at(step, batch, place)];
        place = parents[at(step, batch, place)];
      }
      bool ended = false;
      for (std::int64_t step = 0; step <= last; ++step) {
        std::int32_t& id = y[at(step, batch, beam)];
        if (ended) id = kEnd;
        ended = ended || id == kEnd;
      }
    }
  return y;
}

std::string placeholder(const std::string& name, const std::string& dims) {
  return "node { name: '" + name + "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { " + dims + " } } } }\n";
}

// TensorFlow itself does not have the op.
TEST(GatherTree, BeamsAndLengths) {
  if (engines_missing()) return;
  verify::Random random(3);
  const Ints dims = {kSteps, kBatch, kBeams};
  const TensorPtr ids = verify::random_tensor(i32, dims, random, verify::Range{0, 10});
  const TensorPtr parents = verify::random_tensor(i32, dims, random, verify::Range{0, kBeams - 1});
  const auto numbers = [](const TensorPtr& t) {
    const Ints wide = t->to_ints();
    return Numbers(wide.begin(), wide.end());
  };
  const std::string any_size = "dim { size: -1 } dim { size: -1 } dim { size: -1 }", known = "dim { size: 6 } dim { size: 3 } dim { size: 4 }";
  for (const Numbers& lengths : {Numbers{6, 6, 6}, Numbers{4, 9, 0}, Numbers{1, 2, 3}})
    for (const std::string& shape : {any_size, known})
      for (const std::string& op : {std::string("GatherTree"), std::string("Addons>GatherTree")}) {
        engines::TfGraph truth;
        for (const char* name : {"ids", "parents"}) truth.placeholder(name, i32, Shape(dims));
        truth.placeholder("lengths", i32, Shape({kBatch}));
        truth.constant("y", Tensor::of<std::int32_t>(dims, followed(numbers(ids), numbers(parents), lengths)));
        const std::string text = placeholder("ids", shape) + placeholder("parents", shape) + placeholder("lengths", "dim { size: -1 }") +
                                 "node { name: 'end' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 9 } } } }\n"
                                 "node { name: 'y' op: '" + op + "' input: 'ids' input: 'parents' input: 'lengths' input: 'end' attr { key: 'T' value { type: DT_INT32 } } }";
        check_against(truth, text, {{"ids", ids}, {"parents", parents}, {"lengths", Tensor::of<std::int32_t>({kBatch}, lengths)}}, {11, 13, 18, 26});
      }
}

}  // namespace
}  // namespace t2o::numeric
