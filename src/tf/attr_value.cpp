#include "tf/attr_value.h"

#include <array>

#include "support/wire.h"

namespace t2o::tf {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 48;
constexpr int kMaxDepth = 16;  // of functions given as attributes of functions

using enum DType;
constexpr std::array<DType, 33> kDTypes = {
    undefined, f32, f64,    i32,      u8,         i16,       i8,         string, c64, i64,      boolean,
    qi8,       qu8, qi32,   bf16,     qi16,       qu16,      u16,        c128,   f16, resource, variant,
    u32,       u64, f8e5m2, f8e4m3fn, f8e4m3fnuz, undefined, f8e5m2fnuz, i4,     u4,  i2,       u2};

Attr decode(WireReader, const AttrContext&, std::string_view type, int depth);

Func decode_func(WireReader r, const AttrContext& context, int depth) {
  if (depth > kMaxDepth) r.corrupt("functions nested too deeply");
  Func f;
  while (r.next()) {
    if (r.field() == 1) f.name = r.text();
    if (r.field() != 2) continue;
    const auto [key, value] = r.map_entry();
    f.attrs.push_back({std::string(key), decode(WireReader(value), context, {}, depth + 1)});
  }
  return f;
}

struct Lists {
  Strings strings;
  Ints ints;
  Floats floats;
  DTypes types;
  Shapes shapes;
  Funcs funcs;
};

Lists read_lists(WireReader r, const AttrContext& context, int depth) {
  Lists l;
  while (r.next()) {
    switch (r.field()) {
      case 2:
        l.strings.emplace_back(r.text());
        break;
      case 3:
        r.each_varint([&](std::uint64_t v) { l.ints.push_back(static_cast<std::int64_t>(v)); });
        break;
      case 4:
        r.each_fixed<float>([&](float v) { l.floats.push_back(v); });
        break;
      case 5:
        r.each_varint([&](std::uint64_t v) { l.ints.push_back(v != 0); });
        break;
      case 6:
        r.each_varint([&](std::uint64_t v) { l.types.push_back(dtype_from_number(v)); });
        break;
      case 7:
        l.shapes.push_back(decode_shape(r.bytes()));
        break;
      case 8:
        fail(Code::unsupported_attr, "an attribute is a list of tensors, which no known op has");
      case 9:
        l.funcs.push_back(decode_func(r.message(), context, depth + 1));
        break;
      default:
        break;
    }
  }
  return l;
}

Attr decode_list(WireReader r, const AttrContext& context, std::string_view type, int depth) {
  Lists l = read_lists(r, context, depth);
  if (!l.strings.empty() || type == "list(string)") return std::move(l.strings);
  if (!l.floats.empty() || type == "list(float)") return std::move(l.floats);
  if (!l.types.empty() || type == "list(type)") return std::move(l.types);
  if (!l.shapes.empty() || type == "list(shape)") return std::move(l.shapes);
  if (!l.funcs.empty() || type == "list(func)") return std::move(l.funcs);
  return std::move(l.ints);
}

Attr placeholder_value(std::string_view key, const AttrContext& context) {
  if (context.function_attrs)
    for (const ir::NamedAttr& a : *context.function_attrs)
      if (a.name == key) return a.value;
  fail(Code::bad_model,
       "an attribute stands for '" + std::string(key) + "', which the function's call does not give");
}

Attr decode(WireReader r, const AttrContext& context, std::string_view type, int depth) {
  Attr a = std::int64_t{0};
  bool found = false;
  while (r.next()) {
    found = true;
    switch (r.field()) {
      case 1:
        a = decode_list(r.message(), context, type, depth);
        break;
      case 2:
        a = std::string(r.text());
        break;
      case 3:
        a = r.integer();
        break;
      case 4:
        a = r.real();
        break;
      case 5:
        a = std::int64_t{r.varint() != 0};
        break;
      case 6:
        a = dtype_from_number(r.varint());
        break;
      case 7:
        a = decode_shape(r.bytes());
        break;
      case 8:
        a = decode_tensor(r.bytes(), context.owner);
        break;
      case 9:
        a = placeholder_value(r.text(), context);
        break;
      case 10:
        a = decode_func(r.message(), context, depth + 1);
        break;
      default:
        found = false;
        break;
    }
  }
  if (!found) fail(Code::bad_model, "an attribute has no value");
  return a;
}

}  // namespace

DType dtype_from_number(std::uint64_t number) {
  const std::uint64_t base = number > 100 ? number - 100 : number;
  if (base >= kDTypes.size() || (base != 0 && kDTypes[base] == undefined))
    fail(Code::unsupported_type,
         "TensorFlow's data type number " + std::to_string(number) + " has no equivalent");
  return kDTypes[base];
}

std::uint64_t dtype_number(DType t) {
  for (std::size_t i = 1; i < kDTypes.size(); ++i)
    if (kDTypes[i] == t && t != DType::undefined) return i;
  fail(Code::unsupported_type, "TensorFlow has no type " + std::string(name(t)));
}

Attr decode_attr(Bytes attr_value, const AttrContext& context, std::string_view type) {
  return decode(WireReader(attr_value), context, type, 0);
}

bool is_of_type(const Attr& a, std::string_view type) {
  const auto is = [&]<class T>(std::type_identity<T>) { return std::holds_alternative<T>(a); };
  if (type == "int" || type == "bool") return is(std::type_identity<std::int64_t>());
  if (type == "float") return is(std::type_identity<float>());
  if (type == "string") return is(std::type_identity<std::string>());
  if (type == "type") return is(std::type_identity<DType>());
  if (type == "shape") return is(std::type_identity<Shape>());
  if (type == "tensor") return is(std::type_identity<TensorPtr>());
  if (type == "list(int)" || type == "list(bool)") return is(std::type_identity<Ints>());
  if (type == "list(float)") return is(std::type_identity<Floats>());
  if (type == "list(string)") return is(std::type_identity<Strings>());
  if (type == "list(type)") return is(std::type_identity<DTypes>());
  if (type == "list(shape)") return is(std::type_identity<Shapes>());
  return true;  // functions, whose bodies may stand in their place
}

Strings function_names(Bytes attr_value) {
  Strings names;
  const auto add = [&](WireReader func) {
    while (func.next())
      if (func.field() == 1) names.emplace_back(func.text());
  };
  for (WireReader r(attr_value); r.next();) {
    if (r.field() == 10) add(r.message());
    if (r.field() != 1) continue;
    for (WireReader list = r.message(); list.next();)
      if (list.field() == 9) add(list.message());
  }
  return names;
}

Shape decode_shape(Bytes shape_proto) {
  Ints dims;
  bool ranked = true;
  for (WireReader r(shape_proto); r.next();) {
    if (r.field() == 3) ranked = r.varint() == 0;
    if (r.field() != 2) continue;
    std::int64_t size = 0;
    for (WireReader dim = r.message(); dim.next();)
      if (dim.field() == 1) size = dim.integer();
    if (size < -1 || size > kMaxDim) r.corrupt("a shape with a dimension that is not a size");
    dims.push_back(size);
  }
  return ranked ? Shape(std::move(dims)) : Shape();
}

}  // namespace t2o::tf
