#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace t2o::ir {

struct Number {
  std::string_view text;  // "-12", "1.5e-3", "inf", "nan"
  bool is_float = false;
  std::optional<std::uint64_t> nan_bits;  // nan(0x7fc00001)
};

// Walks the text form token by token; skips white space and // comments between them. Every failure names line and column.
class TextCursor {
 public:
  TextCursor(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  bool at_end();
  bool at(char c);                        // without taking it
  bool at_string() { return at('"'); }
  bool at_word();
  bool at_number();                       // also inf and nan
  bool eat(char c);
  bool eat_word(std::string_view word);   // only as a whole word
  void expect(char c);

  std::string word(const char* what);
  std::string op_name();
  std::string value_name();               // behind the %
  std::string string(const char* what);
  std::string word_or_string(const char* what);
  std::int64_t size();                    // an integer >= 0
  Number number();
  std::vector<std::byte> hex(char end);   // pairs of digits up to end, which is taken

  std::size_t position();                 // of the next token, for fail_at
  [[noreturn]] void fail(const std::string& why) { fail_at(position(), why); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& why) const;

 private:
  void skip();
  std::string_view rest() const { return text_.substr(at_); }
  std::string_view take(std::size_t n);

  std::string_view text_, source_;
  std::size_t at_ = 0;
};

}  // namespace t2o::ir
