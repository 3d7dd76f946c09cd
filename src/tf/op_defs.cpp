#include "tf/op_defs.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "support/wire.h"
#include "tf/attr_value.h"

namespace t2o::tf {
namespace {

constexpr std::string_view kTable[] = {
#include "tf/op_defs_table.inc"
};
constexpr std::int64_t kMaxTensors = 1 << 20;  // of one argument

std::string_view op_name(std::string_view line) { return line.substr(0, line.find('|')); }

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return head;
}

template <class F>
void each(std::string_view list, char separator, F&& f) {
  while (!list.empty()) f(cut(list, separator));
}

template <class T>
T number(std::string_view s) {
  T v{};
  std::from_chars(s.data(), s.data() + s.size(), v);
  return v;
}

DType dtype(std::string_view s) { return dtype_from_name(s).value_or(DType::undefined); }

std::string decoded(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(s[i]);
    if (c == '%') {
      std::from_chars(s.data() + i + 1, s.data() + i + 3, c, 16);
      i += 2;
    }
    out += static_cast<char>(c);
  }
  return out;
}

ArgDef parse_arg(std::string_view s) {
  ArgDef a;
  if (s.back() == '&') {
    a.is_ref = true;
    s.remove_suffix(1);
  }
  const std::size_t at = s.find_first_of("*:=@");
  a.name = s.substr(0, at);
  s.remove_prefix(at);
  if (s[0] == '*') {
    const std::size_t end = s.find_first_of(":=");
    a.number_attr = s.substr(1, end - 1);
    s.remove_prefix(end);
  }
  if (s[0] == ':') a.type_attr = s.substr(1);
  if (s[0] == '@') a.type_list_attr = s.substr(1);
  if (s[0] == '=') a.type = dtype(s.substr(1));
  return a;
}

std::string type_name(std::string_view kind) {
  if (kind[0] == 'l') return "list(" + type_name(kind.substr(1)) + ")";
  switch (kind[0]) {
    case 's':
      return "string";
    case 'i':
      return "int";
    case 'f':
      return "float";
    case 'b':
      return "bool";
    case 't':
      return "type";
    case 'S':
      return "shape";
    case 'T':
      return "tensor";
    default:
      return "func";
  }
}

Shape parse_shape(std::string_view s) {
  if (s == "?") return {};
  Ints dims;
  each(s.substr(1, s.size() - 2), ',', [&](std::string_view d) { dims.push_back(number<std::int64_t>(d)); });
  return dims;
}

template <class List, class F>
Attr parse_list(std::string_view text, F&& element) {
  List list;
  each(text, ',', [&](std::string_view s) { list.push_back(element(s)); });
  return list;
}

Attr parse_default(std::string_view kind, std::string_view text) {
  if (kind == "s") return decoded(text);
  if (kind == "i" || kind == "b") return number<std::int64_t>(text);
  if (kind == "f") return number<float>(text);
  if (kind == "t") return dtype(text);
  if (kind == "S") return parse_shape(text);
  if (kind == "ls") return parse_list<Strings>(text, decoded);
  if (kind == "lf") return parse_list<Floats>(text, number<float>);
  if (kind == "lt") return parse_list<DTypes>(text, dtype);
  if (kind == "lS") return Shapes{};
  if (kind == "lF") return Funcs{};
  return parse_list<Ints>(text, number<std::int64_t>);
}

AttrDef parse_attr(std::string_view s) {
  AttrDef a;
  a.name = cut(s, ':');
  const std::size_t at = s.find('=');
  const std::string_view kind = s.substr(0, at);
  a.type = type_name(kind);
  if (at != std::string_view::npos) a.fallback = parse_default(kind, s.substr(at + 1));
  return a;
}

OpDef parse_line(std::string_view line) {
  OpDef d;
  d.name = cut(line, '|');
  each(cut(line, '|'), ' ', [&](std::string_view s) { d.inputs.push_back(parse_arg(s)); });
  each(cut(line, '|'), ' ', [&](std::string_view s) { d.outputs.push_back(parse_arg(s)); });
  each(cut(line, '|'), ' ', [&](std::string_view s) { d.attrs.push_back(parse_attr(s)); });
  d.stateful = line.find('s') != std::string_view::npos;
  d.commutative = line.find('c') != std::string_view::npos;
  return d;
}

ArgDef read_arg(WireReader r) {
  ArgDef a;
  while (r.next()) {
    switch (r.field()) {
      case 1:
        a.name = r.text();
        break;
      case 3:
        a.type = dtype_from_number(r.varint());
        break;
      case 4:
        a.type_attr = r.text();
        break;
      case 5:
        a.number_attr = r.text();
        break;
      case 6:
        a.type_list_attr = r.text();
        break;
      case 16:
        a.is_ref = r.varint() != 0;
        break;
      default:
        break;
    }
  }
  return a;
}

AttrDef read_attr(WireReader r, const Owner& owner) {
  AttrDef a;
  Bytes fallback;
  while (r.next()) {
    if (r.field() == 1) a.name = r.text();
    if (r.field() == 2) a.type = r.text();
    if (r.field() == 3) fallback = r.bytes();
  }
  if (!fallback.empty()) a.fallback = decode_attr(fallback, {owner}, a.type);
  return a;
}

template <class T>
const T& require(const Attrs& attrs, const std::string& key) {
  const Attr* a = find_attr(attrs, key);
  if (!a) fail(Code::bad_model, "attribute '" + key + "' is missing");
  const T* v = std::get_if<T>(a);
  if (!v) fail(Code::bad_model, "attribute '" + key + "' has another type than its op defines");
  return *v;
}

}  // namespace

const AttrDef* OpDef::attr(std::string_view wanted) const {
  for (const AttrDef& a : attrs)
    if (a.name == wanted) return &a;
  return nullptr;
}

const Attr* find_attr(const Attrs& attrs, std::string_view name) {
  for (const ir::NamedAttr& a : attrs)
    if (a.name == name) return &a.value;
  return nullptr;
}

std::vector<std::string_view> op_def_names() {
  std::vector<std::string_view> names;
  for (const auto& line : kTable) names.push_back(op_name(line));
  return names;
}

const OpDef* find_op_def(std::string_view op) {
  const auto* line = std::ranges::lower_bound(
      kTable, op, [](std::string_view l, std::string_view name) { return op_name(l) < name; });
  if (line == std::end(kTable) || op_name(*line) != op) return nullptr;
  static std::mutex mutex;
  static std::map<std::string_view, std::unique_ptr<const OpDef>> parsed;
  const std::lock_guard lock(mutex);
  auto& def = parsed[op_name(*line)];
  if (!def) def = std::make_unique<const OpDef>(parse_line(*line));
  return def.get();
}

OpDef parse_op_def(Bytes op_def, const Owner& owner) {
  OpDef d;
  for (WireReader r(op_def); r.next();) {
    switch (r.field()) {
      case 1:
        d.name = r.text();
        break;
      case 2:
        d.inputs.push_back(read_arg(r.message()));
        break;
      case 3:
        d.outputs.push_back(read_arg(r.message()));
        break;
      case 4:
        d.attrs.push_back(read_attr(r.message(), owner));
        break;
      case 17:
        d.stateful = r.varint() != 0;
        break;
      case 18:
        d.commutative = r.varint() != 0;
        break;
      default:
        break;
    }
  }
  return d;
}

std::size_t tensor_count(const ArgDef& arg, const Attrs& attrs) {
  if (!arg.type_list_attr.empty()) return require<DTypes>(attrs, arg.type_list_attr).size();
  if (arg.number_attr.empty()) return 1;
  const auto n = require<std::int64_t>(attrs, arg.number_attr);
  if (n < 0 || n > kMaxTensors)
    fail(Code::bad_model, "attribute '" + arg.number_attr + "' is " + std::to_string(n));
  return static_cast<std::size_t>(n);
}

DTypes tensor_types(const std::vector<ArgDef>& args, const Attrs& attrs) {
  DTypes types;
  for (const ArgDef& arg : args) {
    if (!arg.type_list_attr.empty()) {
      const DTypes& list = require<DTypes>(attrs, arg.type_list_attr);
      append(types, list);
    } else {
      const DType type = arg.type_attr.empty() ? arg.type : require<DType>(attrs, arg.type_attr);
      types.insert(types.end(), tensor_count(arg, attrs), type);
    }
  }
  return types;
}

void add_defaults(const OpDef& def, Attrs& attrs) {
  for (const AttrDef& a : def.attrs)
    if (a.fallback && !find_attr(attrs, a.name)) attrs.push_back({a.name, *a.fallback});
}

}  // namespace t2o::tf
