#include "onnx/bitwise.h"

#include <cstdint>
#include <optional>

namespace t2o::onnx {
namespace {

constexpr int kBits = 4;  // looked up at once
constexpr std::int64_t kDigits = 1 << kBits;

// x as digits of four bits along a new last axis, the lowest first: i64 in [0, 16).
Value* digits(Emitter& e, Value* x, int count) {
  const bool wide = bit_width(x->dtype()) == 64;
  const DType bits = wide ? DType::u64 : DType::u32;
  Value* column = e.unsqueeze(e.cast(x, bits), {-1});
  std::vector<std::int64_t> amounts;
  for (int i = 0; i < count; ++i) amounts.push_back(std::int64_t{i} * kBits);
  Value* by = e.cast(e.ints(amounts), bits);
  Value* moved = e.emit("BitShift", {column, by}, {{"direction", std::string("RIGHT")}});
  return e.emit("Mod", {e.cast(moved, DType::i64), e.constant(kDigits)});
}

// a & b: the table of all pairs of digits, then the digits put together again, modulo 2^64.
Value* common_bits(Emitter& e, Value* a, Value* b) {
  const int count = static_cast<int>(bit_width(a->dtype())) / kBits;
  std::vector<std::int64_t> table, weights;
  for (std::int64_t i = 0; i < kDigits; ++i)
    for (std::int64_t k = 0; k < kDigits; ++k) table.push_back(i & k);
  for (int i = 0; i < count; ++i) weights.push_back(std::int64_t{1} << (i * kBits));
  Value* row = e.mul(digits(e, a, count), e.constant(kDigits));
  Value* both = e.add(row, digits(e, b, count));
  Value* found = e.gather(e.ints(table), both, 0);
  Value* whole = e.matmul(found, e.constant({count, 1}, weights));
  return e.cast(e.squeeze(whole, {-1}), a->dtype());
}

// The modulus of which b, a scalar, is the highest remainder: 2^k for a mask of k bits.
std::optional<std::int64_t> modulus(const Value* b) {
  if (!b->constant() || b->constant()->elements() != 1) return std::nullopt;
  const std::int64_t mask = b->constant()->to_ints()[0];
  const bool is_mask = mask >= 0 && mask < INT64_MAX && ((mask + 1) & mask) == 0;
  return is_mask ? std::optional(mask + 1) : std::nullopt;
}

}  // namespace

bool is_bitwise(std::string_view op) { return contains({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}, op); }

// a | b = a + b - (a & b), a ^ b = a + b - 2 (a & b), in i64 modulo 2^64
Value* bitwise_by_table(Emitter& e, std::string_view op, Value* a, Value* b) {
  const DType type = a->dtype();
  const auto m = op == "BitwiseAnd" ? modulus(b) : std::nullopt;
  if (m && b->shape().is_scalar())
    return e.cast(e.emit("Mod", {e.cast(a, DType::i64), e.constant(*m)}), type);
  Value* common = common_bits(e, a, b);
  if (op == "BitwiseAnd") return common;
  Value* wide = e.cast(common, DType::i64);
  if (op == "BitwiseXor") wide = e.add(wide, wide);
  Value* sum = e.add(e.cast(a, DType::i64), e.cast(b, DType::i64));
  return e.cast(e.sub(sum, wide), type);
}

}  // namespace t2o::onnx
