#include "tf/meta_graph.h"

#include <algorithm>

#include "diagnostics.h"
#include "support/wire.h"

namespace t2o::tf {
namespace {

struct MapEntry {
  std::string_view key;
  Bytes value;
};

MapEntry read_map_entry(WireReader r) {
  MapEntry e;
  while (r.next()) {
    if (r.field() == 1) e.key = r.text();
    if (r.field() == 2) e.value = r.bytes();
  }
  return e;
}

Strings read_dim_names(Bytes shape_proto) {
  Strings names;
  bool any = false;
  for (WireReader r(shape_proto); r.next();) {
    if (r.field() != 2) continue;
    names.emplace_back();
    for (WireReader dim = r.message(); dim.next();)
      if (dim.field() == 2) names.back() = dim.text();
    any = any || !names.back().empty();
  }
  return any ? names : Strings{};
}

struct TensorInfo {
  std::string_view name;
  DType dtype = DType::undefined;
  Bytes shape, sparse;
  std::vector<Bytes> components;
  bool composite = false;
};

TensorInfo read_tensor_info(Bytes bytes) {
  TensorInfo t;
  for (WireReader r(bytes); r.next();) {
    switch (r.field()) {
      case 1:
        t.name = r.text();
        break;
      case 2:
        t.dtype = dtype_from_number(r.varint());
        break;
      case 3:
        t.shape = r.bytes();
        break;
      case 4:
        t.sparse = r.bytes();
        break;
      case 5:
        t.composite = true;
        for (WireReader c = r.message(); c.next();)
          if (c.field() == 2) t.components.push_back(c.bytes());
        break;
      default:
        break;
    }
  }
  return t;
}

SignatureTensor plain_tensor(std::string key, const TensorInfo& t) {
  return {std::move(key),        std::string(t.name),     t.dtype,
          decode_shape(t.shape), read_dim_names(t.shape), nullptr};
}

void add_sparse(const std::string& key, const TensorInfo& t, std::vector<SignatureTensor>& out) {
  std::string names[4];
  for (WireReader r(t.sparse); r.next();)
    if (r.field() >= 1 && r.field() <= 3) names[r.field()] = r.text();
  const Shape shape = decode_shape(t.shape);
  const Dim rank = shape.ranked() ? shape.rank() : kUnknownDim;
  out.push_back({key + "/indices", names[2], DType::i64, Shape({kUnknownDim, rank}), {}, nullptr});
  out.push_back({key + "/values", names[1], t.dtype, Shape({kUnknownDim}), {}, nullptr});
  out.push_back({key + "/dense_shape", names[3], DType::i64, Shape({rank}), {}, nullptr});
}

void add_tensor(const std::string& key, Bytes tensor_info, std::vector<SignatureTensor>& out) {
  const TensorInfo t = read_tensor_info(tensor_info);
  if (!t.sparse.empty()) return add_sparse(key, t, out);
  if (!t.composite) return out.push_back(plain_tensor(key, t));
  for (std::size_t i = 0; i < t.components.size(); ++i) {
    const TensorInfo part = read_tensor_info(t.components[i]);
    if (part.name.empty())
      fail(Code::bad_model,
           "a component of '" + key + "', a composite tensor of the signature, is not a plain tensor");
    out.push_back(plain_tensor(key + "/" + std::to_string(i), part));
  }
}

std::vector<SignatureTensor> read_tensors(std::vector<MapEntry> entries) {
  std::ranges::sort(entries, [](const MapEntry& a, const MapEntry& b) { return a.key < b.key; });
  std::vector<SignatureTensor> out;
  for (const MapEntry& e : entries) add_tensor(std::string(e.key), e.value, out);
  return out;
}

Signature read_signature(const MapEntry& entry, const Owner& owner) {
  std::vector<MapEntry> inputs, outputs, defaults;
  for (WireReader r(entry.value); r.next();) {
    if (r.field() == 1) inputs.push_back(read_map_entry(r.message()));
    if (r.field() == 2) outputs.push_back(read_map_entry(r.message()));
    if (r.field() == 4) defaults.push_back(read_map_entry(r.message()));
  }
  Signature s{std::string(entry.key), read_tensors(std::move(inputs)), read_tensors(std::move(outputs))};
  for (const MapEntry& d : defaults)
    for (SignatureTensor& input : s.inputs)
      if (input.key == d.key) input.fallback = decode_tensor(d.value, owner);
  return s;
}

void read_meta_info(WireReader r, MetaGraph& m) {
  while (r.next()) {
    if (r.field() == 2) m.op_list = r.bytes();
    if (r.field() == 4) m.tags.emplace_back(r.text());
    if (r.field() == 5) m.tensorflow_version = r.text();
  }
}

void read_saver(WireReader r, MetaGraph& m) {
  while (r.next())
    if (r.field() == 3) m.restore_op = r.text();
}

void read_asset(WireReader r, MetaGraph& m) {
  Asset& a = m.assets.emplace_back();
  while (r.next()) {
    if (r.field() == 1) a.tensor = read_tensor_info(r.bytes()).name;
    if (r.field() == 2) a.filename = r.text();
  }
}

}  // namespace

MetaGraph parse_meta_graph(Bytes bytes, const Owner& owner) {
  MetaGraph m;
  m.owner = owner;
  for (WireReader r(bytes); r.next();) {
    switch (r.field()) {
      case 1:
        read_meta_info(r.message(), m);
        break;
      case 2:
        m.graph_def = r.bytes();
        break;
      case 3:
        read_saver(r.message(), m);
        break;
      case 4: {
        const MapEntry e = read_map_entry(r.message());
        m.collections.insert_or_assign(std::string(e.key), e.value);
        break;
      }
      case 5:
        m.signatures.push_back(read_signature(read_map_entry(r.message()), owner));
        break;
      case 6:
        read_asset(r.message(), m);
        break;
      case 7:
        m.object_graph = r.bytes();
        break;
      default:
        break;
    }
  }
  std::ranges::sort(m.signatures, [](const Signature& a, const Signature& b) { return a.name < b.name; });
  return m;
}

}  // namespace t2o::tf
