#include <gtest/gtest.h>

#include "harness.h"

// Rotary position embeddings as graphs write them out.
namespace t2o::numeric {
namespace {

using engines::TfInput;

constexpr std::int32_t kRows = 5, kHeads = 3, kWidth = 8;

struct Form {
  bool neighbours = false, heads_first = true;
};

std::string ints(Builder& b, const std::vector<std::int32_t>& v) { return b.constant_of<std::int32_t>({std::ssize(v)}, v); }
std::string whole(Builder& b, std::int32_t v) { return b.constant_of<std::int32_t>({}, {v}); }
std::string mul(Builder& b, const std::string& x, const std::string& y) { return b.op("Mul", {x, y}); }
std::string add(Builder& b, const std::string& x, const std::string& y) { return b.op("AddV2", {x, y}); }
std::string neg(Builder& b, const std::string& x) { return b.op("Neg", {x}); }
std::string join(Builder& b, const std::string& x, const std::string& y) { return b.op("ConcatV2", {TfInput(Strings{x, y}), whole(b, -1)}); }
std::string stack(Builder& b, const std::string& x, const std::string& y, std::int64_t axis) { return b.op("Pack", {TfInput(Strings{x, y})}, {{"axis", axis}}); }

// x[..., first:last:step]
std::string part(Builder& b, const std::string& x, std::int32_t first, std::int32_t last, std::int32_t step = 1) {
  return b.op("StridedSlice", {x, ints(b, {0, first}), ints(b, {0, last}), ints(b, {1, step})},
              {{"ellipsis_mask", std::int64_t{1}}, {"end_mask", std::int64_t{last == 0 ? 2 : 0}}});
}

std::pair<std::string, std::string> parts(Builder& b, const std::string& x, Form f, std::int32_t width) {
  return f.neighbours ? std::pair(part(b, x, 0, 0, 2), part(b, x, 1, 0, 2)) : std::pair(part(b, x, 0, width / 2), part(b, x, width / 2, 0));
}

// (-b, a) of each pair
std::string turned(Builder& b, const std::string& x, Form f, std::int32_t width) {
  const auto [first, second] = parts(b, x, f, width);
  if (!f.neighbours) return join(b, neg(b, second), first);
  return b.op("Reshape", {stack(b, neg(b, second), first, -1), b.op("Shape", {x})});
}

// The angles of each row: [row, pair]
std::string angles(Builder& b, const std::string& x, Form f, std::int32_t width) {
  const std::string rows = b.op("StridedSlice", {b.op("Shape", {x}), ints(b, {f.heads_first ? -2 : 1}), ints(b, {f.heads_first ? -1 : 2}), ints(b, {1})}, {{"shrink_axis_mask", std::int64_t{1}}});
  const std::string range = b.op("Range", {b.constant_of<float>({}, {0}), b.op("Cast", {rows}, {{"SrcT", i32}, {"DstT", f32}}), b.constant_of<float>({}, {1})});
  std::vector<float> frequencies;
  for (std::int32_t i = 0; i < width / 2; ++i) frequencies.push_back(1.0F / static_cast<float>(1 + i * i));
  return b.op("Einsum", {TfInput(Strings{range, b.constant_of<float>({width / 2}, frequencies)})}, {{"equation", "i,j->ij"}});
}

std::string spread(Builder& b, const std::string& table, Form f) {
  const std::string t = b.op("ExpandDims", {table, whole(b, 0)});
  return b.op("ExpandDims", {t, whole(b, f.heads_first ? 0 : 2)});
}

Ints dims(Form f, std::int64_t width, std::int64_t batch) { return f.heads_first ? Ints{batch, kHeads, kRows, width} : Ints{batch, kRows, kHeads, width}; }

std::string sum(Builder& b, const std::string& x, const std::string& cos, const std::string& sin, Form f, std::int32_t width) {
  return add(b, mul(b, x, cos), mul(b, turned(b, x, f, width), sin));
}

Case by_sum(Form f, std::int64_t batch, std::int32_t rest = 0) {
  Case c = graph_case("x cos + turned(x) sin", [=](Builder& b) {
    const std::string row = b.input(f32, dims(f, kWidth + rest, batch));
    const std::string x = rest == 0 ? row : part(b, row, 0, kWidth);
    const std::string n = angles(b, x, f, kWidth);
    const std::string twice = f.neighbours ? b.op("Reshape", {stack(b, n, n, -1), ints(b, {-1, kWidth})}) : join(b, n, n);
    const std::string e = spread(b, twice, f);
    const std::string y = sum(b, x, b.op("Cos", {e}), b.op("Sin", {e}), f, kWidth);
    b.output(rest == 0 ? y : join(b, y, part(b, row, kWidth, 0)));
  });
  c.only_opsets({18, 22, 23, 24, 26});
  return c;
}

Case by_parts(Form f, std::int64_t batch) {
  Case c = graph_case("parts", [=](Builder& b) {
    const std::string x = b.input(f32, dims(f, kWidth, batch)), n = spread(b, angles(b, x, f, kWidth), f);
    const std::string cos = b.op("Cos", {n}), sin = b.op("Sin", {n});
    const auto [first, second] = parts(b, x, f, kWidth);
    const std::string u = b.op("Sub", {mul(b, first, cos), mul(b, second, sin)}), v = add(b, mul(b, second, cos), mul(b, first, sin));
    b.output(f.neighbours ? b.op("Reshape", {stack(b, u, v, -1), b.op("Shape", {x})}) : join(b, u, v));
  });
  c.only_opsets({18, 22, 23, 24, 26});
  return c;
}

// Nothing is left of the parts, of their products and of what joins them.
const std::map<std::string, std::size_t> kRotary = {{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}, {"Split", 0}, {"Concat", 0}};

TEST(Rotary, SumsAndParts) {
  for (const bool neighbours : {false, true})
    for (const bool heads_first : {false, true})
      for (const std::int64_t batch : {1, 2}) {
        by_sum({neighbours, heads_first}, batch).gives(kRotary, 23).empty().check();
        by_sum({neighbours, heads_first}, batch, 4).gives(kRotary, 23).check();
        by_parts({neighbours, heads_first}, batch).gives(kRotary, 23).empty().check();
      }
}

// By the numbers of the rows, which are fed; the table says everything twice.
TEST(Rotary, NumbersOfRows) {
  for (const std::int64_t others : {1, 2}) {
    Case c = graph_case("numbers of rows", [=](Builder& b) {
      const std::string x = b.input(f32, {2, kHeads, kRows, kWidth});
      std::vector<float> cos, sin;
      for (int row = 0; row < 2 * kRows; ++row)
        for (int i = 0; i < kWidth; ++i) {
          cos.push_back(static_cast<float>(row * (i % (kWidth / 2))));
          sin.push_back(static_cast<float>(row + (i % (kWidth / 2))));
        }
      std::vector<std::int64_t> numbers;
      for (std::int64_t i = 0; i < others * kRows; ++i) numbers.push_back((3 * i) % (2 * kRows));
      const std::string at = b.input(Tensor::of<std::int64_t>({others, kRows}, numbers));
      const auto rows = [&](const std::vector<float>& t) {
        const std::string taken = b.op("GatherV2", {b.constant_of<float>({2 * kRows, kWidth}, t), at, whole(b, 0)});
        return b.op("ExpandDims", {taken, whole(b, 1)});
      };
      b.output(sum(b, x, rows(cos), rows(sin), {}, kWidth));
    });
    c.only_opsets({22, 23, 26}).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}, 23).check();
  }
}

// cos and sin of all rows the same, of one row, of a batch; rows and batches that are broadcast; halves.
TEST(Rotary, TablesOfOtherShapes) {
  const auto table = [](Ints x, Ints of, DType type) {
    Case c = graph_case("table", [=](Builder& b) {
      const std::string in = b.input(type, x), n = b.input(type, of);
      const std::string cos = b.op("Cos", {join(b, n, n)}), sin = b.op("Sin", {join(b, n, n)});
      b.output(sum(b, in, cos, sin, {}, static_cast<std::int32_t>(x.back())));
    });
    c.only_opsets({23});
    return c;
  };
  table({2, 3, 5, 8}, {4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({2, 3, 5, 8}, {5, 4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({2, 3, 5, 8}, {2, 1, 1, 4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({2, 3, 5, 8}, {2, 1, 5, 4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({2, 3, 5, 8}, {2, 3, 5, 4}, f32).gives({{"RotaryEmbedding", 0}}).check();
  table({1, 3, 5, 8}, {2, 1, 5, 4}, f32).gives({{"RotaryEmbedding", 0}}).check();
  table({2, 3, 1, 8}, {1, 1, 5, 4}, f32).gives({{"RotaryEmbedding", 0}}).check();
  table({2, 5, 8}, {5, 4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({2, 5, 8}, {2, 5, 4}, f32).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}).check();
  table({5, 8}, {5, 4}, f32).gives({{"RotaryEmbedding", 0}}).check();
  table({2, 3, 5, 8}, {5, 4}, f16).check();
  table({2, 3, 5, 6}, {5, 3}, f64).check();
}

// A table that hidden rows are cut from.
TEST(Rotary, TablesThatAreCut) {
  graph_case("cut", [](Builder& b) {
    const std::string x = b.input(f32, {2, kRows, kHeads, kWidth});
    std::vector<float> t;
    for (int i = 0; i < 2 * kRows * kWidth; ++i) t.push_back(static_cast<float>(i / kWidth + i % (kWidth / 2)));
    const std::string rows = b.op("StridedSlice", {b.op("Shape", {x}), ints(b, {1}), ints(b, {2}), ints(b, {1})}, {{"shrink_axis_mask", std::int64_t{1}}});
    const std::string end = b.op("Pack", {TfInput(Strings{rows})}, {{"axis", std::int64_t{0}}});
    const std::string first = b.op("StridedSlice", {b.constant_of<float>({2 * kRows, kWidth}, t), ints(b, {0}), end, ints(b, {1})}, {{"begin_mask", std::int64_t{1}}});
    const std::string n = spread(b, first, {false, false});
    b.output(sum(b, x, b.op("Cos", {n}), b.op("Sin", {n}), {false, false}, kWidth));
  }).only_opsets({22, 23}).gives({{"RotaryEmbedding", 1}, {"Mul", 0}, {"Neg", 0}}, 23).check();
}

}  // namespace
}  // namespace t2o::numeric
