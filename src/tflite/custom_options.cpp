#include "tflite/custom.h"

// Numbers in strings are not read, so flatbuffers' own library with its locale is not needed.
#undef FLATBUFFERS_LOCALE_INDEPENDENT
#define FLATBUFFERS_LOCALE_INDEPENDENT 0
#include "flatbuffers/flexbuffers.h"

namespace t2o::tflite {

struct CustomOptions::Map {
  flexbuffers::Map map = flexbuffers::Map::EmptyMap();
};

CustomOptions::CustomOptions(const Op& op) : op_(op), map_(std::make_unique<Map>()) {
  const auto bytes = items(op.raw().custom_options());
  if (bytes.empty()) return;
  std::vector<std::uint8_t> reached;
  if (!flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &reached))
    op.fail(Code::bad_model, "its options are damaged");
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  if (!root.IsMap()) op.fail(Code::bad_model, "its options are no map");
  map_->map = root.AsMap();
}

CustomOptions::~CustomOptions() = default;

bool CustomOptions::has(const char* key) const { return !map_->map[key].IsNull(); }

std::int64_t CustomOptions::number(const char* key, std::int64_t otherwise) const {
  return has(key) ? map_->map[key].AsInt64() : otherwise;
}

std::int64_t CustomOptions::number(const char* key) const {
  if (!has(key)) op_.fail(Code::bad_model, std::string("it has no option '") + key + "'");
  return map_->map[key].AsInt64();
}

double CustomOptions::real(const char* key) const {
  if (!has(key)) op_.fail(Code::bad_model, std::string("it has no option '") + key + "'");
  return map_->map[key].AsDouble();
}

Ints CustomOptions::list(const char* key) const {
  Ints all;
  const flexbuffers::Reference r = map_->map[key];
  if (r.IsTypedVector()) {
    const auto v = r.AsTypedVector();
    for (std::size_t i = 0; i < v.size(); ++i) all.push_back(v[i].AsInt64());
  } else if (r.IsFixedTypedVector()) {
    const auto v = r.AsFixedTypedVector();
    for (std::size_t i = 0; i < v.size(); ++i) all.push_back(v[i].AsInt64());
  } else if (r.IsVector()) {
    const auto v = r.AsVector();
    for (std::size_t i = 0; i < v.size(); ++i) all.push_back(v[i].AsInt64());
  } else {
    op_.fail(Code::bad_model, std::string("its option '") + key + "' is no list");
  }
  return all;
}

// The options are a list of the operator's name and its NodeDef.
Bytes node_def_of(const Op& op) {
  const auto options = items(op.raw().custom_options());
  std::vector<std::uint8_t> reached;
  if (options.empty() || !flexbuffers::VerifyBuffer(options.data(), options.size(), &reached))
    op.fail(Code::bad_model, "it has no description of the TensorFlow operator");
  const flexbuffers::Reference root = flexbuffers::GetRoot(options.data(), options.size());
  if (!root.IsVector() || root.AsVector().size() < 2 || !root.AsVector()[1].IsString())
    op.fail(Code::bad_model, "it has no description of the TensorFlow operator");
  const flexbuffers::String node = root.AsVector()[1].AsString();
  return std::as_bytes(std::span(node.c_str(), node.size()));
}

}  // namespace t2o::tflite
