#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

constexpr std::int64_t kHeads = 2, kWidth = 4;

enum class Mask : std::uint8_t { none, padding, fed, condition, inverted, causal, multiplied, summed };

std::string shape_of(Builder& b, std::int64_t rows, std::int64_t last) {
  return last == 0 ? b.constant_of<std::int32_t>({4}, {-1, static_cast<std::int32_t>(rows), kHeads, kWidth})
                   : b.constant_of<std::int32_t>({3}, {-1, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(last)});
}

std::string scalar(Builder& b, float v) { return b.constant_of<float>({}, {v}); }

// [batch, row, heads * width] -> [batch, head, row, width]
std::string split_heads(Builder& b, const std::string& x, std::int64_t rows) {
  const std::string y = b.op("Reshape", {x, shape_of(b, rows, 0)});
  return b.op("Transpose", {y, b.constant_of<std::int32_t>({4}, {0, 2, 1, 3})});
}

std::vector<std::uint8_t> visible(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool hide_a_row) {
  std::vector<std::uint8_t> v(static_cast<std::size_t>(batch * rows * columns), 1);
  for (std::size_t i = 0; i < v.size(); i += 3) v[i] = 0;
  if (hide_a_row) std::fill(v.begin(), v.begin() + columns, std::uint8_t{0});
  return v;
}

TensorPtr booleans(Ints dims, const std::vector<std::uint8_t>& v) {
  std::vector<std::byte> bytes;
  for (const std::uint8_t x : v) bytes.push_back(std::byte{x});
  return std::make_shared<Tensor>(Tensor(DType::boolean, std::move(dims), heap_storage(std::move(bytes))));
}

std::string masked(Builder& b, const std::string& scores, Mask mask, std::int64_t batch, std::int64_t rows, std::int64_t columns, float low) {
  if (mask == Mask::none) return scores;
  if (mask == Mask::padding) {
    std::vector<std::int32_t> seen(static_cast<std::size_t>(batch * columns), 1);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = i < static_cast<std::size_t>(columns) ? 0 : i % 2 == 0;
    const std::string m = b.op("Cast", {b.input(Tensor::of<std::int32_t>({batch, 1, 1, columns}, seen))}, {{"SrcT", i32}, {"DstT", f32}});
    const std::string hidden = b.op("Sub", {scalar(b, 1), m});
    return b.op("AddV2", {scores, b.op("Mul", {hidden, scalar(b, low)})});
  }
  if (mask == Mask::fed) {
    std::vector<float> added;
    for (const std::uint8_t s : visible(batch, rows, columns, true)) added.push_back(s != 0 ? 0 : low);
    return b.op("AddV2", {b.input(Tensor::of<float>({batch, 1, rows, columns}, added)), scores});
  }
  if (mask == Mask::summed) {  // the first batch is padded everywhere: a row sees what only one of the two hides
    std::vector<float> causal, padding;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) causal.push_back(c <= r ? 0 : low);
    for (std::int64_t i = 0; i < batch * columns; ++i) padding.push_back(i < columns || i % 2 == 0 ? low : 0);
    const std::string one = b.input(Tensor::of<float>({batch, 1, 1, columns}, padding));
    return b.op("AddV2", {scores, b.op("AddV2", {one, b.input(Tensor::of<float>({1, 1, rows, columns}, causal))})});
  }
  if (mask == Mask::causal) {
    std::vector<std::uint8_t> seen;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) seen.push_back(c <= r ? 1 : 0);
    return b.op("SelectV2", {b.const_input(booleans({1, 1, rows, columns}, seen)), scores, scalar(b, low)});
  }
  const std::string seen = b.input(booleans({batch, 1, rows, columns}, visible(batch, rows, columns, true)));
  if (mask == Mask::multiplied) {
    const std::string m = b.op("Cast", {seen}, {{"SrcT", boolean}, {"DstT", f32}});
    const std::string hidden = b.op("Mul", {scalar(b, low), b.op("Sub", {scalar(b, 1), m})});
    return b.op("AddV2", {b.op("Mul", {scores, m}), hidden});
  }
  if (mask == Mask::inverted) return b.op("SelectV2", {seen, scalar(b, low), scores});
  return b.op("SelectV2", {seen, scores, scalar(b, low)});
}

Case heads_first(Mask mask, float low, std::int64_t batch = 2, std::int64_t rows = 5, std::int64_t columns = 3) {
  Case c = graph_case("heads first", [=](Builder& b) {
    const std::string q = split_heads(b, b.input(f32, {batch, rows, kHeads * kWidth}), rows);
    const std::string k = split_heads(b, b.input(f32, {batch, columns, kHeads * kWidth}), columns);
    const std::string v = split_heads(b, b.input(f32, {batch, columns, kHeads * kWidth}), columns);
    std::string scores = b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}});
    scores = b.op("RealDiv", {scores, scalar(b, 2)});
    scores = masked(b, scores, mask, batch, rows, columns, low);
    const std::string y = b.op("BatchMatMulV2", {b.op("Softmax", {scores}), v});
    const std::string t = b.op("Transpose", {y, b.constant_of<std::int32_t>({4}, {0, 2, 1, 3})});
    b.output(b.op("Reshape", {t, shape_of(b, rows, kHeads * kWidth)}));
  });
  c.only_opsets({22, 23, 24, 26});
  return c;
}

Case by_einsum(Mask mask, float low, const char* first, const char* second, bool keys_first) {
  Case c = graph_case(std::string("by einsum ") + first, [=](Builder& b) {
    const std::string q = b.op("Mul", {b.input(f32, {2, 5, kHeads, kWidth}), scalar(b, 0.5F)});
    const std::string k = b.input(f32, {2, 3, kHeads, kWidth});
    const std::string v = b.input(f32, {2, 3, kHeads, 6});
    using engines::TfInput;
    const auto einsum = [&](const std::string& x, const std::string& y, const char* equation) {
      return b.op("Einsum", {TfInput(Strings{x, y})}, {{"equation", equation}});
    };
    std::string scores = keys_first ? einsum(k, q, first) : einsum(q, k, first);
    scores = masked(b, scores, mask, 2, 5, 3, low);
    b.output(einsum(b.op("Softmax", {scores}), v, second));
  });
  c.only_opsets({18, 23, 26});
  return c;
}

constexpr float kLowest = std::numeric_limits<float>::lowest();
const std::map<std::string, std::size_t> kAttention = {{"Attention", 1}, {"Softmax", 0}, {"MatMul", 0}}, kNone = {{"Attention", 0}};

TEST(Attention, WithoutMask) {
  heads_first(Mask::none, 0).gives({{"Attention", 1}, {"Reshape", 0}, {"Transpose", 0}}, 23).check();
  heads_first(Mask::none, 0, 1, 4, 4).gives(kAttention, 23).check();
  heads_first(Mask::none, 0, 2, 1, 1).gives(kAttention, 23).check();
}

// A row of which everything is hidden gives the mean of the values.
TEST(Attention, MasksThatHideWholeRows) {
  for (const float low : {-1e4F, -1e9F, -1e30F, kLowest})
    for (const Mask m : {Mask::padding, Mask::fed, Mask::condition, Mask::inverted}) heads_first(m, low).gives(kAttention, 23).check();
  heads_first(Mask::padding, -1e9F, 1, 4, 4).gives(kAttention, 23).check();
}

// As GPT-J does: what is hidden is divided too.
// Batch and heads are one axis in the products, and two where the mask is added.
Case merged_heads(Mask mask, float low) {
  return graph_case("merged heads", [=](Builder& b) {
    const auto to = [&](const std::string& x, std::vector<std::int32_t> dims) {
      return b.op("Reshape", {x, b.constant_of<std::int32_t>({static_cast<std::int64_t>(dims.size())}, dims)});
    };
    const std::string q = to(split_heads(b, b.input(f32, {2, 5, kHeads * kWidth}), 5), {-1, 5, kWidth});
    const std::string k = to(split_heads(b, b.input(f32, {2, 3, kHeads * kWidth}), 3), {-1, 3, kWidth});
    const std::string v = to(split_heads(b, b.input(f32, {2, 3, kHeads * kWidth}), 3), {-1, 3, kWidth});
    std::string scores = b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}});
    if (mask != Mask::none) scores = to(masked(b, to(scores, {-1, kHeads, 5, 3}), mask, 2, 5, 3, low), {-1, 5, 3});
    const std::string y = to(b.op("BatchMatMulV2", {b.op("Softmax", {scores}), v}), {-1, kHeads, 5, kWidth});
    b.output(b.op("Transpose", {y, b.constant_of<std::int32_t>({4}, {0, 2, 1, 3})}));
  });
}

TEST(Attention, MergedHeads) {
  for (const Mask mask : {Mask::none, Mask::padding, Mask::fed, Mask::summed}) merged_heads(mask, -1e9F).gives(kAttention, 23).check();
}
TEST(Attention, MasksThatAreAddedUp) {
  for (const float low : {-1e4F, -1e9F, std::numeric_limits<float>::lowest()}) heads_first(Mask::summed, low).gives(kAttention, 23).check();
}
TEST(Attention, ScaledBehindTheMask) {
  for (const float low : {-1e9F, -3e4F, -1e4F, -std::numeric_limits<float>::infinity()})
    graph_case("scaled behind the mask", [low](Builder& b) {
      const std::string q = b.input(f32, {2, kHeads, 4, kWidth}), k = b.input(f32, {2, kHeads, 4, kWidth}), v = b.input(f32, {2, kHeads, 4, kWidth});
      const std::string s = masked(b, b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}}), Mask::causal, 2, 4, 4, low);
      const std::string padded = masked(b, b.op("RealDiv", {s, scalar(b, 2)}), Mask::padding, 2, 4, 4, -1e4F);
      b.output(b.op("BatchMatMulV2", {b.op("Softmax", {padded}), v}));
    }).only_opsets({22, 23, 26}).check();
}

// As GPT-2 does; what is hidden by less stays as it is.
TEST(Attention, MultipliedMasks) {
  for (const float low : {-1e4F, -1e9F, -1e30F, -5.0F}) heads_first(Mask::multiplied, low).gives(low == -5.0F ? kNone : kAttention, 23).check();
  by_einsum(Mask::multiplied, -1e4F, "BTNH,BSNH->BNTS", "BNTS,BSNH->BTNH", false).gives(kAttention, 23).check();
}

TEST(Attention, CausalMasks) {
  for (const float low : {-1e4F, -1e9F, kLowest, -std::numeric_limits<float>::infinity()}) heads_first(Mask::causal, low, 2, 4, 4).gives(kAttention, 23).check();
}

TEST(Attention, ConditionsThatHideLittle) {
  heads_first(Mask::condition, -10).gives(kNone).check();
  heads_first(Mask::condition, -std::numeric_limits<float>::infinity()).check();
}

// Sizes that only the run tells may be 1 on either side.
Case broadcast(Ints q, Ints k, Ints mask) {
  Case c = graph_case("broadcast", [=](Builder& b) {
    const std::string x = b.input(f32, q), y = b.input(f32, k), v = b.input(f32, k);
    const std::string scores = b.op("BatchMatMulV2", {x, y}, {{"adj_y", true}});
    const std::string w = b.op("Softmax", {b.op("AddV2", {b.input(f32, mask), scores})});
    b.output(b.op("BatchMatMulV2", {w, v}));
  });
  c.only_opsets({22, 23, 26});
  return c;
}

TEST(Attention, SizesOfOtherInputs) {
  broadcast({1, 2, 1, 4}, {1, 2, 3, 4}, {1, 1, 5, 3}).check();
  broadcast({1, 2, 5, 4}, {1, 2, 3, 4}, {3, 1, 1, 1}).check();
  broadcast({1, 2, 5, 4}, {3, 2, 4, 4}, {1, 1, 1, 4}).check();
  broadcast({3, 2, 5, 4}, {1, 2, 4, 4}, {3, 2, 5, 4}).check();
  broadcast({3, 2, 5, 4}, {3, 2, 4, 4}, {5, 1}).check();
}

// Rows of which all is hidden, where a second term is added; the scores are large.
Case two_terms(float low, float second, bool condition_last, bool two_conditions) {
  Case c = graph_case("two terms", [=](Builder& b) {
    const std::string q = b.input(f32, {2, kHeads, 4, kWidth}), k = b.input(f32, {2, kHeads, 3, kWidth}), v = b.input(f32, {2, kHeads, 3, kWidth});
    std::string s = b.op("Mul", {b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}}), scalar(b, 1000)});
    const std::string seen = b.input(booleans({2, 1, 4, 3}, visible(2, 4, 3, true)));
    const auto choose = [&] { s = b.op("SelectV2", {seen, s, scalar(b, low)}); };
    if (!condition_last) choose();
    if (two_conditions) s = b.op("SelectV2", {b.input(booleans({2, 1, 1, 3}, {0, 1, 1, 1, 0, 0})), s, scalar(b, second)});
    else s = b.op("AddV2", {s, b.input(Tensor::of<float>({2, 1, 1, 3}, std::vector<float>{second, 0, 0, 0, second, second}))});
    if (condition_last) choose();
    b.output(b.op("BatchMatMulV2", {b.op("Softmax", {s}), v}));
  });
  c.only_opsets({22, 23, 26});
  return c;
}

TEST(Attention, MasksAndConditions) {
  for (const float low : {-1e9F, -1e30F, kLowest})
    for (const float second : {-5.0F, -1e9F, -1e30F})
      for (const bool last : {false, true})
        for (const bool conditions : {false, true}) two_terms(low, conditions && second > -1e9F ? -2e9F : second, last, conditions).check();
}

TEST(Attention, ByEinsum) {
  by_einsum(Mask::none, 0, "BTNH,BSNH->BNTS", "BNTS,BSNH->BTNH", false).gives(kAttention, 23).check();
  by_einsum(Mask::none, 0, "aecd,abcd->acbe", "acbe,aecd->abcd", true).gives(kAttention, 23).check();
  by_einsum(Mask::condition, kLowest, "BTNH,BSNH->BNTS", "BNTS,BSNH->BTNH", false).gives(kAttention, 23).check();
  by_einsum(Mask::padding, -1e9F, "aecd,abcd->acbe", "acbe,aecd->abcd", true).gives(kAttention, 23).check();
}

// Each head of x, at `axis`, twice in a row.
std::string twice(Builder& b, const std::string& x, std::int32_t axis, const std::vector<std::int32_t>& dims) {
  std::vector<std::int32_t> times(5, 1);
  times[static_cast<std::size_t>(axis) + 1] = 2;
  const std::string wide = b.op("ExpandDims", {x, b.constant_of<std::int32_t>({}, {axis + 1})});
  return b.op("Reshape", {b.op("Tile", {wide, b.constant_of<std::int32_t>({5}, times)}), b.constant_of<std::int32_t>({4}, dims)});
}

TEST(Attention, HeadsThatShareKeysAndValues) {
  graph_case("shared, heads behind rows", [](Builder& b) {
    const std::string q = b.input(f32, {2, 5, 4, kWidth});
    const std::string k = twice(b, b.input(f32, {2, 3, 2, kWidth}), 2, {-1, 3, 4, kWidth}), v = twice(b, b.input(f32, {2, 3, 2, 6}), 2, {-1, 3, 4, 6});
    const std::string s = b.op("Einsum", {engines::TfInput(Strings{q, k})}, {{"equation", "bthd,bshd->bhts"}});
    const std::string w = b.op("Softmax", {masked(b, s, Mask::fed, 2, 5, 3, -1e9F)});
    b.output(b.op("Einsum", {engines::TfInput(Strings{w, v})}, {{"equation", "bhts,bshd->bthd"}}));
  }).only_opsets({18, 23, 26}).gives({{"Attention", 1}, {"Tile", 0}, {"Resize", 0}}, 23).check();
  graph_case("shared, heads first", [](Builder& b) {
    const std::string q = b.input(f32, {2, 4, 5, kWidth});
    const std::string k = twice(b, b.input(f32, {2, 2, 3, kWidth}), 1, {-1, 4, 3, kWidth}), v = twice(b, b.input(f32, {2, 2, 3, 6}), 1, {-1, 4, 3, 6});
    b.output(b.op("BatchMatMulV2", {b.op("Softmax", {b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}})}), v}));
  }).only_opsets({18, 23, 26}).gives({{"Attention", 1}, {"Tile", 0}, {"Resize", 0}}, 23).check();
}

TEST(Attention, HalfFloats) {
  graph_case("half floats", [](Builder& b) {
    const std::string q = b.input(f16, {2, 2, 3, 4}), k = b.input(f16, {2, 2, 3, 4}), v = b.input(f16, {2, 2, 3, 4});
    const std::string w = b.op("Softmax", {b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}})});
    b.output(b.op("BatchMatMulV2", {w, v}));
  }).only_opsets({23, 24, 26}).check();
}

}  // namespace
}  // namespace t2o::numeric
