#include "onnx/permute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/tensor.h"

namespace t2o::onnx {
namespace {

template <class T>
std::vector<T> one_by_one(const std::vector<T>& in, const Ints& dims, const Ints& perm) {
  std::vector<T> out;
  Ints out_dims, at(dims.size(), 0);
  for (const std::int64_t p : perm) out_dims.push_back(dims[static_cast<std::size_t>(p)]);
  for (std::int64_t n = element_count(dims), k = 0; k < n; ++k) {
    std::int64_t rest = k, from = 0;
    for (std::size_t i = out_dims.size(); i-- > 0; rest /= out_dims[i]) at[static_cast<std::size_t>(perm[i])] = rest % out_dims[i];
    for (std::size_t i = 0; i < dims.size(); ++i) from = from * dims[i] + at[i];
    out.push_back(in[static_cast<std::size_t>(from)]);
  }
  return out;
}

template <class T>
void expect_right(const Ints& dims, const Ints& perm) {
  std::vector<T> in(static_cast<std::size_t>(element_count(dims))), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i * 2654435761U + i / 7);
  const Permutation p(sizeof(T), dims, perm);
  const auto* from = reinterpret_cast<const std::byte*>(in.data());
  auto* to = reinterpret_cast<std::byte*>(out.data());
  const std::vector<T> expected = one_by_one(in, dims, perm);
  p.copy(from, to);
  EXPECT_TRUE(out == expected) << testing::PrintToString(dims) << " " << testing::PrintToString(perm);
  if (in.empty()) return;
  std::fill(out.begin(), out.end(), T{});
  const std::size_t row = in.size() * sizeof(T) / static_cast<std::size_t>(p.rows());
  for (std::int64_t first = 0; first < p.rows(); first += 3) p.copy(from, to + static_cast<std::size_t>(first) * row, first, std::min(first + 3, p.rows()));
  EXPECT_TRUE(out == expected) << "in parts: " << testing::PrintToString(dims) << " " << testing::PrintToString(perm);
}

TEST(Permute, all_orders_of_small_tensors_of_all_widths) {
  for (const Ints& dims : {Ints{5}, Ints{3, 4}, Ints{1, 7}, Ints{2, 3, 5}, Ints{2, 1, 3}, Ints{2, 3, 4, 5}, Ints{1, 3, 1, 6}, Ints{0, 3}}) {
    Ints perm(dims.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    do {
      expect_right<std::uint8_t>(dims, perm);
      expect_right<std::uint16_t>(dims, perm);
      expect_right<std::uint32_t>(dims, perm);
      expect_right<std::uint64_t>(dims, perm);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(Permute, tiles_and_their_edges) {
  for (const Ints& dims : {Ints{3, 3, 64, 128}, Ints{3, 3, 33, 65}, Ints{7, 7, 3, 67}, Ints{1, 1, 97, 131}, Ints{3, 3, 1, 70}, Ints{5, 5, 40, 1}}) {
    expect_right<std::uint32_t>(dims, {3, 2, 0, 1});
    expect_right<std::uint16_t>(dims, {3, 2, 0, 1});
    expect_right<std::uint32_t>(dims, {2, 3, 0, 1});
  }
  expect_right<std::uint32_t>({1030, 517}, {1, 0});
  expect_right<std::uint64_t>({4, 130, 70}, {0, 2, 1});
}

}  // namespace
}  // namespace t2o::onnx
