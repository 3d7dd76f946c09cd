#include "ir/text_cursor.h"

#include <algorithm>
#include <charconv>

#include "diagnostics.h"
#include "ir/text_lexis.h"

namespace t2o::ir {
namespace {

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The two hex digits that s begins with; -1 when it does not.
int hex_pair(std::string_view s) {
  const int high = !s.empty() ? hex_value(s[0]) : -1, low = s.size() > 1 ? hex_value(s[1]) : -1;
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::size_t digits_length(std::string_view s) {
  return std::min(s.find_first_not_of("0123456789"), s.size());
}

}  // namespace

void TextCursor::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (rest().starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

std::string_view TextCursor::take(std::size_t n) {
  const std::string_view token = text_.substr(at_, n);
  at_ += n;
  return token;
}

std::size_t TextCursor::position() {
  skip();
  return at_;
}

bool TextCursor::at_end() {
  skip();
  return at_ == text_.size();
}

bool TextCursor::at(char c) { return !at_end() && text_[at_] == c; }

bool TextCursor::at_word() {
  skip();
  return word_length(rest()) != 0;
}

bool TextCursor::at_number() {
  skip();
  const std::string_view s = rest().starts_with('-') ? rest().substr(1) : rest();
  if (s.empty()) return false;
  const std::string_view w = s.substr(0, word_length(s));
  return is_digit(s[0]) || w == "inf" || w == "nan";
}

bool TextCursor::eat(char c) {
  if (!at(c)) return false;
  ++at_;
  return true;
}

bool TextCursor::eat_word(std::string_view w) {
  skip();
  if (rest().substr(0, word_length(rest())) != w) return false;
  take(w.size());
  return true;
}

void TextCursor::expect(char c) {
  if (!eat(c)) fail(std::string("expected '") + c + "'");
}

std::string TextCursor::word(const char* what) {
  if (!at_word()) fail(std::string("expected ") + what);
  return std::string(take(word_length(rest())));
}

std::string TextCursor::op_name() {
  if (at_string()) return string("an operator");
  if (!at_word()) fail("expected an operator");
  return std::string(take(op_name_length(rest())));
}

std::string TextCursor::value_name() {
  if (at_ < text_.size() && text_[at_] == '"') return string("a name");
  const std::size_t n = value_name_length(rest());
  if (n == 0) fail_at(at_, "expected a name after '%'");
  return std::string(take(n));
}

std::string TextCursor::word_or_string(const char* what) { return at_string() ? string(what) : word(what); }

std::string TextCursor::string(const char* what) {
  if (!at_string()) fail(std::string("expected ") + what);
  const std::size_t start = at_++;
  std::string s;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] != '\\') {
      s += text_[at_++];
      continue;
    }
    const char escape = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (escape == 'x') {
      const int byte = hex_pair(text_.substr(at_ + 2));
      if (byte < 0) fail_at(at_, "\\x needs two hex digits");
      s += static_cast<char>(byte);
      at_ += 4;
      continue;
    }
    if (escape != 'n' && escape != 't' && escape != '"' && escape != '\\')
      fail_at(at_, "unknown escape in a string");
    s += escape == 'n' ? '\n' : escape == 't' ? '\t' : escape;
    at_ += 2;
  }
  if (at_ == text_.size() || text_[at_] != '"') fail_at(start, "the string does not end on its line");
  ++at_;
  return s;
}

std::int64_t TextCursor::size() {
  const std::size_t start = position();
  const std::string_view digits = take(digits_length(rest()));
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  if (error != std::errc() || digits.empty()) fail_at(start, "expected a size");
  return v;
}

Number TextCursor::number() {
  if (!at_number()) fail("expected a number");
  std::size_t n = rest().starts_with('-') ? 1 : 0;
  Number result;
  if (!is_digit(rest()[n])) {  // inf or nan
    result = {take(n + word_length(rest().substr(n))), true, {}};
    if (!result.text.ends_with("nan") || !rest().starts_with("(0x")) return result;
    take(3);
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(rest().data(), rest().data() + rest().size(), bits, 16);
    if (error != std::errc()) fail("expected the bits of a NaN");
    take(static_cast<std::size_t>(end - rest().data()));
    expect(')');
    result.nan_bits = bits;
    return result;
  }
  auto rest_at = [&](std::size_t i) { return rest().substr(i); };
  n += digits_length(rest_at(n));
  if (rest_at(n).starts_with('.')) {
    n += 1 + digits_length(rest_at(n + 1));
    result.is_float = true;
  }
  if (rest_at(n).starts_with('e') || rest_at(n).starts_with('E')) {
    const std::size_t sign = rest_at(n + 1).starts_with('+') || rest_at(n + 1).starts_with('-') ? 1 : 0;
    n += 1 + sign + digits_length(rest_at(n + 1 + sign));
    result.is_float = true;
  }
  result.text = take(n);
  return result;
}

std::vector<std::byte> TextCursor::hex(char end) {
  std::vector<std::byte> bytes;
  while (!eat(end)) {
    const int byte = hex_pair(rest());
    if (byte < 0) fail("expected two hex digits");
    bytes.push_back(static_cast<std::byte>(byte));
    take(2);
  }
  return bytes;
}

void TextCursor::fail_at(std::size_t position, const std::string& why) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = position - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  t2o::fail(Code::bad_file,
            std::string(source_) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + why);
}

}  // namespace t2o::ir
