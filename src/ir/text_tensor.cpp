#include "ir/text_tensor.h"

#include "ir/text_lexis.h"

namespace t2o::ir {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
constexpr std::size_t kLargestSplat = std::size_t{1} << 32;  // bytes that a few characters may claim

// Collects elements of one type in the packed layout of Tensor.
class Elements {
 public:
  Elements(TextCursor& in, DType dtype) : in_(in), dtype_(dtype) {}

  void read_one() {
    ++count_;
    if (dtype_ == DType::string) {
      strings_.push_back(in_.string("a string"));
    } else if (dtype_ == DType::boolean && (in_.eat_word("true"))) {
      push<std::uint8_t>(1);
    } else if (dtype_ == DType::boolean && (in_.eat_word("false"))) {
      push<std::uint8_t>(0);
    } else {
      const std::size_t position = in_.position();
      if (!append(in_.number())) in_.fail_at(position, "the number is no " + std::string(name(dtype_)));
    }
  }

  std::int64_t count() const { return count_; }
  std::vector<std::byte>& bytes() { return bytes_; }
  TensorPtr tensor(Ints dims) {
    if (dtype_ == DType::string) return std::make_shared<Tensor>(std::move(dims), std::move(strings_));
    return std::make_shared<Tensor>(dtype_, std::move(dims), heap_storage(std::move(bytes_)));
  }

 private:
  bool append(const Number& n) {
    switch (dtype_) {
      case DType::f32:
        return push(parse_real<float>(n));
      case DType::f64:
        return push(parse_real<double>(n));
      case DType::f16:
        return append_small(n, kHalfNan, float_to_half);
      case DType::bf16:
        return append_small(n, kBfloatNan, float_to_bfloat);
      case DType::u64:
        return push(parse_int<std::uint64_t>(n));
      case DType::i64:
        return push(parse_int<std::int64_t>(n));
      case DType::u32:
        return push(parse_int<std::uint32_t>(n));
      case DType::i32:
      case DType::qi32:
        return push(parse_int<std::int32_t>(n));
      case DType::u16:
      case DType::qu16:
        return push(parse_int<std::uint16_t>(n));
      case DType::i16:
      case DType::qi16:
        return push(parse_int<std::int16_t>(n));
      case DType::u8:
      case DType::qu8:
        return push(parse_int<std::uint8_t>(n));
      case DType::i8:
      case DType::qi8:
        return push(parse_int<std::int8_t>(n));
      case DType::i2:
      case DType::u2:
      case DType::i4:
      case DType::u4:
        return append_packed(parse_int<int>(n));
      default:
        return false;
    }
  }

  bool append_small(const Number& n, std::uint16_t usual_nan, std::uint16_t (*round)(float)) {
    if (n.nan_bits) return *n.nan_bits <= 0xffff && push(static_cast<std::uint16_t>(*n.nan_bits));
    if (n.text == "nan") return push(usual_nan);
    const auto v = parse_real<float>(n);
    return v && push(round(*v));
  }

  bool append_packed(std::optional<int> v) {
    const int bits = static_cast<int>(bit_width(dtype_));
    const int low = is_signed_int(dtype_) ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
    if (!v || *v < low || *v > high) return false;
    const int shift = static_cast<int>((count_ - 1) * bits % 8);
    if (shift == 0) bytes_.push_back(std::byte{0});
    bytes_.back() |= static_cast<std::byte>((*v & ((1 << bits) - 1)) << shift);
    return true;
  }

  template <class T>
  bool push(std::optional<T> v) {
    return v && push(*v);
  }
  template <class T>
  bool push(T v) {
    const auto* b = reinterpret_cast<const std::byte*>(&v);
    bytes_.insert(bytes_.end(), b, b + sizeof v);
    return true;
  }

  TextCursor& in_;
  DType dtype_;
  std::int64_t count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;
};

DType element_type(TextCursor& in) {
  const std::size_t position = in.position();
  const std::string word = in.word("an element type");
  const auto t = dtype_from_name(word);
  if (!t || (bit_width(*t) == 0 && *t != DType::string))
    in.fail_at(position, "there are no constants of type '" + word + "'");
  return *t;
}

Ints static_dims(TextCursor& in) {  // behind the bracket
  Ints dims;
  if (in.eat(']')) return dims;
  do dims.push_back(in.size());
  while (in.eat(','));
  in.expect(']');
  return dims;
}

TensorPtr parse_splat(TextCursor& in, DType dtype, Ints dims, std::size_t bytes) {
  const std::size_t position = in.position();
  if (bit_width(dtype) < 8) in.fail("there is no splat of " + std::string(name(dtype)));
  if (bytes > kLargestSplat) in.fail("the splat is too big");
  Elements one(in, dtype);
  if (in.eat_word("dense")) {
    in.expect('<');
    one.bytes() = in.hex('>');
    if (one.bytes().size() != bit_width(dtype) / 8) in.fail_at(position, "expected the bytes of one element");
  } else {
    one.read_one();
  }
  return Tensor::filled(dtype, std::move(dims), one.bytes());
}

}  // namespace

TensorPtr parse_tensor(TextCursor& in) {
  const std::size_t position = in.position();
  const DType dtype = element_type(in);
  std::optional<Ints> dims;
  if (in.eat('[')) dims = static_dims(in);
  in.expect('=');

  const std::int64_t elements = dims ? Shape(*dims).elements().value_or(kMostElements) : 0;
  if (elements >= kMostElements) in.fail_at(position, "the constant is too big");
  auto need_dims = [&] {
    if (!dims) in.fail_at(position, "the dims of the constant are needed here");
  };
  if (in.at('#')) in.fail("an elided constant cannot be read back");
  if (in.eat_word("splat")) {
    need_dims();
    return parse_splat(in, dtype, *dims, byte_size(dtype, elements));
  }
  if (in.eat_word("dense")) {
    need_dims();
    in.expect('<');
    std::vector<std::byte> bytes = in.hex('>');
    if (bytes.size() != byte_size(dtype, elements) || dtype == DType::string)
      in.fail_at(position, "the bytes do not fit the shape");
    return std::make_shared<Tensor>(dtype, *dims, heap_storage(std::move(bytes)));
  }

  Elements list(in, dtype);
  if (!in.eat('[')) {
    if (dims && !dims->empty()) in.fail("expected a list in brackets");
    list.read_one();
    return list.tensor({});
  }
  if (!in.eat(']')) {
    do list.read_one();
    while (in.eat(','));
    in.expect(']');
  }
  if (!dims) dims = Ints{list.count()};
  if (dims->empty() || Shape(*dims).elements() != list.count())
    in.fail_at(position,
               "there are " + std::to_string(list.count()) + " elements, which do not fit the shape");
  return list.tensor(*dims);
}

}  // namespace t2o::ir
