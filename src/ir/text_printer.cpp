#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ir/text.h"
#include "ir/text_lexis.h"

namespace t2o::ir {
namespace {

constexpr std::int64_t kSpelledOut = 64;  // elements; longer constants print as hex
constexpr std::int64_t kShortSplat = 8;   // up to here a repeated element is spelled out too

class Printer {
 public:
  explicit Printer(const TextOptions& o) : options_(o) {}

  std::string print(const Graph& g) {
    graph(g, nullptr, 0);
    return std::move(out_) + "\n";
  }

 private:
  // ---- structure
  void graph(const Graph& g, const Graph* around, int depth) {
    if (depth > kDeepestText) {
      out_ += "graph #too-deep";
      return;
    }
    out_ += "graph ";
    name_or_string(g.name());
    if (!around || g.dialect() != around->dialect()) {
      out_ += ' ';
      name_or_string(g.dialect());
    }
    out_ += " {";
    for (const Value* v : g.inputs()) {
      line(depth + 1);
      out_ += "input ";
      value_with_type(*v);
    }
    for (const Value* v : g.constants()) {
      line(depth + 1);
      out_ += "const ";
      value_name(*v);
      out_ += ": ";
      constant(*v->constant());
    }
    for (const Node& n : g.nodes()) {
      line(depth + 1);
      node(n, g, depth + 1);
    }
    if (!g.outputs().empty()) {
      line(depth + 1);
      out_ += "output ";
      list(g.outputs(), [&](const Value* v) { value_name(*v); });
    }
    line(depth);
    out_ += '}';
  }

  void node(const Node& n, const Graph& g, int depth) {
    list(n.outputs(), [&](const Value* v) { value_with_type(*v); });
    if (!n.outputs().empty()) out_ += " = ";
    if (is_op_name(n.op())) {
      out_ += n.op();
    } else {
      string(n.op());
    }
    if (n.outputs().empty() || n.name() != n.output()->name()) {
      out_ += ' ';
      string(n.name());
    }
    out_ += '(';
    list(n.inputs(), [&](const Value* v) {
      if (v) {
        value_name(*v);
      } else {
        out_ += '_';
      }
    });
    out_ += ')';
    if (!n.attrs().empty()) {
      out_ += ' ';
      attrs(n.attrs(), &g, depth);
    }
    if (options_.origins) origin(n.origin());
  }

  void origin(const Origin& o) {
    if (o.node.empty() && o.op.empty() && o.function.empty()) return;
    out_ += " @";
    string(o.node);
    out_ += ' ';
    string(o.op);
    if (o.function.empty()) return;
    out_ += " in ";
    string(o.function);
  }

  void attrs(const Attrs& as, const Graph* around, int depth) {
    out_ += '{';
    list(as, [&](const NamedAttr& a) {
      name_or_string(a.name);
      out_ += '=';
      attr(a.value, around, depth);
    });
    out_ += '}';
  }

  void attr(const Attr& a, const Graph* around, int depth) {
    std::visit([&](const auto& v) { item(v, around, depth); }, a);
  }
  template <class T>
  void item(const T& v, const Graph*, int) {
    item(v);
  }
  void item(std::int64_t v) { out_ += std::to_string(v); }
  void item(float v) { floating(v, true); }
  void item(const std::string& v) { string(v); }
  void item(DType v) { out_ += name(v); }
  void item(const TensorPtr& v) {
    out_ += "const ";
    constant(*v);
  }
  void item(const Shape& v, const Graph* around, int) {
    out_ += "shape";
    shape(v, around);
  }
  void item(const GraphPtr& v, const Graph* around, int depth) { graph(*v, around, depth); }
  void item(const Func& f, const Graph* around, int depth) {
    out_ += "func ";
    string(f.name);
    if (f.attrs.empty()) return;
    out_ += ' ';
    if (depth > kDeepestText) {
      out_ += "#too-deep";
    } else {
      attrs(f.attrs, around, depth + 1);
    }
  }
  template <class T>
  void item(const std::vector<T>& v, const Graph* around, int depth) {
    if (v.empty()) out_ += list_keyword<T>();
    out_ += '[';
    list(v, [&](const T& e) { item(e, around, depth); });
    out_ += ']';
  }
  template <class T>
  static constexpr std::string_view list_keyword() {
    if constexpr (std::is_same_v<T, float>) return "floats";
    if constexpr (std::is_same_v<T, std::string>) return "strings";
    if constexpr (std::is_same_v<T, DType>) return "dtypes";
    if constexpr (std::is_same_v<T, Shape>) return "shapes";
    if constexpr (std::is_same_v<T, Func>) return "funcs";
    if constexpr (std::is_same_v<T, GraphPtr>) return "graphs";
    return "";
  }

  // ---- names and types
  void value_name(const Value& v) {
    out_ += '%';
    if (is_value_name(v.name())) {
      out_ += v.name();
    } else {
      string(v.name());
    }
  }

  void value_with_type(const Value& v) {
    value_name(v);
    const bool untyped = v.dtype() == DType::undefined && !v.shape().ranked() && !v.is_graph_input();
    if (!untyped) {
      out_ += ": ";
      out_ += name(v.dtype());
      shape(v.shape(), v.graph());
    }
    if (options_.known_elements && v.known_elements()) {
      out_ += untyped ? ": undefined[*]<" : "<";
      list(
          *v.known_elements(), [&](Dim d) { dim(d, v.graph()); }, ",");
      out_ += '>';
    }
  }

  void shape(const Shape& s, const Graph* around) {
    out_ += '[';
    if (s.ranked()) {
      list(
          s.dims(), [&](Dim d) { dim(d, around); }, ",");
    } else {
      out_ += '*';
    }
    out_ += ']';
  }

  void dim(Dim d, const Graph* around) {
    if (is_known(d)) {
      out_ += std::to_string(d);
    } else if (is_symbol(d) && around) {
      name_or_string(around->symbols().name(d));
    } else {
      out_ += '?';
    }
  }

  // ---- constants
  void constant(const Tensor& t) {
    out_ += name(t.dtype());
    shape(t.shape(), nullptr);
    out_ += " = ";
    if (t.byte_size() > options_.elide_above) {
      out_ += "#elided";
    } else if (t.dtype() == DType::string) {
      elements(t, [&](std::int64_t i) { string(nth(t.strings(), i)); });
    } else if (t.elements() > kShortSplat && is_splat(t) && !has_odd_bool(t)) {
      if (is_spelled(t.dtype())) {
        out_ += "splat ";
        element(t, 0);
      } else {
        out_ += "splat dense<";
        hex(t.bytes().first(bit_width(t.dtype()) / 8));
        out_ += '>';
      }
    } else if (t.elements() > kSpelledOut || !is_spelled(t.dtype()) || has_odd_bool(t)) {
      out_ += "dense<";
      hex(t.bytes());
      out_ += '>';
    } else {
      elements(t, [&](std::int64_t i) { element(t, i); });
    }
  }

  template <class F>
  void elements(const Tensor& t, F&& one) {
    if (t.rank() == 0) return one(0);
    out_ += '[';
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      if (i != 0) out_ += ", ";
      one(i);
    }
    out_ += ']';
  }

  // A bool that is neither 0 nor 1 would not come back from "true".
  static bool has_odd_bool(const Tensor& t) {
    if (t.dtype() != DType::boolean) return false;
    const Bytes b = t.bytes();
    return std::ranges::any_of(b, [](std::byte x) { return x > std::byte{1}; });
  }

  static bool is_splat(const Tensor& t) {
    const std::size_t size = bit_width(t.dtype()) / 8;
    const Bytes b = t.bytes();
    return size != 0 && std::memcmp(b.data(), b.data() + size, b.size() - size) == 0;
  }

  void element(const Tensor& t, std::int64_t i) {
    switch (t.dtype()) {
      case DType::boolean:
        out_ += t.int_at(i) ? "true" : "false";
        break;
      case DType::f32:
        floating(t.at<float>(i), false);
        break;
      case DType::f64:
        floating(t.at<double>(i), false);
        break;
      case DType::f16:
        small_float(t.at<std::uint16_t>(i), half_to_float(t.at<std::uint16_t>(i)), kHalfNan);
        break;
      case DType::bf16:
        small_float(t.at<std::uint16_t>(i), bfloat_to_float(t.at<std::uint16_t>(i)), kBfloatNan);
        break;
      case DType::u64:
        out_ += std::to_string(t.at<std::uint64_t>(i));
        break;
      default:
        out_ += std::to_string(packed_int(t, i));
    }
  }

  static std::int64_t packed_int(const Tensor& t, std::int64_t i) {
    const auto bits = static_cast<std::int64_t>(bit_width(t.dtype()));
    if (bits >= 8) return t.int_at(i);
    const int byte = t.at<std::uint8_t>(i * bits / 8);
    const int field = byte >> (i * bits % 8) & ((1 << bits) - 1);
    return is_signed_int(t.dtype()) && field >> (bits - 1) ? field - (1 << bits) : field;
  }

  template <class T>
  void floating(T v, bool marked) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if (std::isnan(v))
      return nan(std::bit_cast<Bits>(v), std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()));
    std::array<char, 40> digits = {};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr;
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out_ += text;
    if (marked && text.find_first_of(".ein") == std::string_view::npos)
      out_ += ".0";  // else it reads as an integer
  }

  void small_float(std::uint16_t bits, float v, std::uint16_t usual_nan) {
    if (std::isnan(v)) return nan(bits, usual_nan);
    floating(v, false);
  }

  void nan(std::uint64_t bits, std::uint64_t usual) {
    out_ += "nan";
    if (bits == usual) return;
    std::array<char, 20> digits = {};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), bits, 16).ptr;
    out_.append("(0x")
        .append(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())))
        .append(")");
  }

  void hex(Bytes bytes) {
    for (const std::byte b : bytes) hex_byte(std::to_integer<unsigned>(b));
  }

  // ---- characters
  void hex_byte(unsigned b) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += kDigits[b >> 4];
    out_ += kDigits[b & 15];
  }

  void name_or_string(std::string_view s) {
    if (is_word(s)) {
      out_ += s;
    } else {
      string(s);
    }
  }

  void string(std::string_view s) {
    out_ += '"';
    for (const char c : s) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (c == '\n') {
        out_ += "\\n";
      } else if (u < 0x20 || u >= 0x7f) {
        out_ += "\\x";
        hex_byte(u);
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  void line(int depth) {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(2 * depth), ' ');
  }

  template <class R, class F>
  void list(const R& range, F&& one, std::string_view separator = ", ") {
    bool first = true;
    for (const auto& e : range) {
      if (!first) out_ += separator;
      first = false;
      one(e);
    }
  }

  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string to_text(const Graph& g, const TextOptions& options) { return Printer(options).print(g); }

}  // namespace t2o::ir
