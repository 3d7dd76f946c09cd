#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <random>

#include "harness.h"

namespace t2o::numeric {
namespace {

using Operators = std::map<std::string, std::size_t>;

using MakeBox = std::function<std::array<float, 4>(std::mt19937&)>;

float uniform(std::mt19937& r, float low, float high) {
  return low + (high - low) * (static_cast<float>(r() % 100003) / 100003.0F);
}
float whole(std::mt19937& r, unsigned size) { return static_cast<float>(r() % size); }

// Parts of the image, as most detectors have them.
std::array<float, 4> normalized(std::mt19937& r) {
  const float y = uniform(r, 0, 0.7F), x = uniform(r, 0, 0.7F);
  return {y, x, y + uniform(r, 0.1F, 0.3F), x + uniform(r, 0.1F, 0.3F)};
}
// Pixels of a small image: boxes that are equal, that touch, with overlaps at the threshold, without area.
std::array<float, 4> pixels(std::mt19937& r) {
  const float y = whole(r, 6), x = whole(r, 6);
  return {y, x, y + whole(r, 5), x + whole(r, 5)};
}
// Around the origin, some all negative.
std::array<float, 4> around_origin(std::mt19937& r) {
  const float y = uniform(r, -20, 8), x = uniform(r, -20, 8);
  return {y, x, y + uniform(r, 4, 16), x + uniform(r, 4, 16)};
}
// Some with the corners the wrong way round.
std::array<float, 4> any_corners(std::mt19937& r) {
  return {whole(r, 8), whole(r, 8), 3 + whole(r, 8), 3 + whole(r, 8)};
}
std::array<float, 4> zeros(std::mt19937&) { return {}; }

struct Images {
  TensorPtr boxes, scores;
};

Images images(const MakeBox& make, Dim batch, Dim count, unsigned seed) {
  std::mt19937 r(seed);
  std::vector<float> boxes, scores;
  for (Dim i = 0; i < batch * count; ++i) {
    const auto box = make(r);
    boxes.insert(boxes.end(), box.begin(), box.end());
    scores.push_back(uniform(r, 0, 1));
  }
  return {Tensor::of<float>({batch, count, 4}, boxes), Tensor::of<float>({batch, count}, scores)};
}

// A graph of tests/data/nms, which scripts/make_nms_models.py writes.
void check_file(const std::string& name, const Images& in, const Strings& outputs,
                const Operators& operators) {
  std::ifstream file(std::string(T2O_SOURCE_DIR "/tests/data/nms/") + name + ".pb", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_FALSE(bytes.empty()) << name;
  graph_case(name,
             [=](Builder& b) {
               engines::TfGraph::InputMap map = {{"boxes", b.input(in.boxes)}};
               if (name.starts_with("padded")) map.emplace_back("scores", b.input(in.scores));
               b.graph().import(std::as_bytes(std::span(bytes)), "g", map);
               for (const std::string& output : outputs) b.output("g/" + output);
             })
      .only_opsets({11, 13, 21})
      .without({Mode::rank})
      .gives(operators)
      .check();
}

const Operators kOne = {{"NonMaxSuppression", 1}, {"Loop", 0}};

const std::vector<std::pair<std::string, MakeBox>> kKinds = {{"normalized", normalized},
                                                             {"pixels", pixels},
                                                             {"around origin", around_origin},
                                                             {"any corners", any_corners},
                                                             {"zeros", zeros}};

void check_kinds(const std::string& name, const std::vector<Ints>& sizes, const Strings& outputs,
                 const Operators& operators = kOne) {
  for (const auto& [kind, make] : kKinds)
    for (const Ints& size : sizes) {
      SCOPED_TRACE(kind + " " + std::to_string(size[0]) + " " + std::to_string(size[1]));
      check_file(name, images(make, size[0], size[1], 7), outputs, operators);
    }
}

TEST(NmsLoops, Padded) {
  const Strings both = {"Identity", "Identity_1"};
  check_kinds("padded", {{3, 50}}, both);
  check_kinds("padded_sorted", {{3, 40}}, both);
  check_kinds("padded_scores", {{1, 30}}, both);
}

TEST(NmsLoops, OfTheModelGarden) {
  check_kinds("garden", {{3, 50}, {2, 7}}, {"Identity"});
  check_kinds("garden_static", {{2, 40}}, {"Identity"});
}

// The loop ends when each image has enough boxes. Boxes behind stay as they are and do not count.
TEST(NmsLoops, EndEarly) {
  check_kinds("garden_loop", {{3, 50}, {2, 7}}, {"Identity", "Identity_1"});
  check_kinds("garden_loop_static", {{2, 40}}, {"Identity", "Identity_1"});
}

// Where a suppressed box may suppress others, the loops stay.
TEST(NmsLoops, ThatAreNotGreedy) {
  check_kinds("garden_low", {{2, 40}}, {"Identity"}, {{"NonMaxSuppression", 0}});
  check_kinds("garden_one_mask", {{2, 40}}, {"Identity"}, {{"NonMaxSuppression", 0}});
}

}  // namespace
}  // namespace t2o::numeric
