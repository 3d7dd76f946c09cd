#include "onnx/writer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "onnx/data_file.h"
#include "support/file_set.h"
#include "support/hash128.h"
#include "support/write_behind.h"

namespace t2o::onnx {
namespace {

constexpr std::uint64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();

template <class Message>
std::string serialized(const Message& m) {
  std::string bytes;
  if (!m.SerializeToString(&bytes))
    fail(Code::output,
         "the model has more than " + std::to_string(kProtobufLimit) + " bytes besides its weights",
         "make its string constants smaller");
  return bytes;
}

struct Piece {
  std::string header;
  const Value* value = nullptr;  // whose bytes follow the header; null: none, or they are in the data file
};

// The layout of the file, known before its first byte is written.
struct Plan {
  std::string model, graph;  // serialized without the graph, without nodes and initializers
  std::string_view nodes;
  std::vector<Piece> pieces;
  std::uint64_t size = 0;
};

void point_to_data(pb::TensorProto& t, const std::string& location, std::uint64_t offset,
                   std::uint64_t length) {
  t.set_data_location(pb::TensorProto::EXTERNAL);
  auto add = [&](const char* key, const std::string& value) {
    pb::StringStringEntryProto& e = *t.add_external_data();
    e.set_key(key);
    e.set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

Plan make_plan(const Skeleton& s, const DataFile& data) {
  Plan plan;
  plan.model = serialized(s.model);
  plan.graph = serialized(s.graph);
  plan.nodes = s.nodes;
  std::uint64_t graph_size = plan.nodes.size() + plan.graph.size();
  for (const Value* v : s.initializers) {
    const std::uint64_t bytes = v->constant()->byte_size();
    pb::TensorProto header;
    set_tensor_header(header, *v);
    const std::optional<std::uint64_t> offset = data.offset(*v);
    if (offset) point_to_data(header, data.location(), *offset, bytes);
    Piece piece;
    piece.value = bytes == 0 || offset ? nullptr : v;
    std::string tensor = serialized(header);
    if (piece.value) append_field_start(tensor, pb::TensorProto::kRawDataFieldNumber, bytes);
    append_field_start(piece.header, pb::GraphProto::kInitializerFieldNumber,
                       tensor.size() + (piece.value ? bytes : 0));
    piece.header += tensor;
    graph_size += piece.header.size() + (piece.value ? bytes : 0);
    plan.pieces.push_back(std::move(piece));
  }
  append_field_start(plan.model, pb::ModelProto::kGraphFieldNumber, graph_size);
  plan.size = plan.model.size() + graph_size;
  return plan;
}

Bytes as_bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

void write_model(const Plan& plan, AtomicFile& file) {
  file.reserve(plan.size);
  WriteBehind out(file);
  out.write(as_bytes(plan.model));
  out.write(as_bytes(plan.nodes));
  out.write(as_bytes(plan.graph));
  for (const Piece& p : plan.pieces) {
    out.write(as_bytes(p.header));
    if (p.value) write_weight(*p.value, out);
  }
  out.finish();
}

[[noreturn]] void fail_too_big(std::uint64_t size, std::string remedy) {
  fail(Code::output,
       "the model has " + std::to_string(size) + " bytes; one protobuf message holds at most " +
           std::to_string(kProtobufLimit),
       std::move(remedy));
}

// A constant that repeats one number may be of any size, and a disk is full late: what is big is compared
// with it first.
void check_space(const std::string& path, std::uint64_t size) {
  constexpr std::uint64_t kBig = std::uint64_t{1} << 32;
  if (size < kBig) return;
  const std::filesystem::path dir = std::filesystem::path(path).parent_path();
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(dir.empty() ? "." : dir, unknown);
  if (!unknown && space.available < size)
    fail(Code::output,
         "the weights of '" + path + "' have " + std::to_string(size) + " bytes, and " +
             std::to_string(space.available) + " are free there",
         "free space there, or choose another place for the output");
}

std::array<std::uint64_t, 2> hash_of(const Value& v) {
  Hash128 hash;
  stream_weight(v, [&](Bytes b) { hash.add(b); });
  return hash.value();
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// All weights that are worth it go to the file.
DataFile all_weights(const std::vector<Skeleton>& models, const std::string& location) {
  DataFile data(location);
  std::map<std::pair<std::uint64_t, std::array<std::uint64_t, 2>>, const Value*> seen;
  for (const Skeleton& s : models)
    for (const Value* v : s.initializers) {
      const std::uint64_t bytes = v->constant()->byte_size();
      if (bytes < kSmallTensor) continue;
      if (models.size() == 1) {
        data.add(*v);
        continue;
      }
      const auto [same, fresh] = seen.try_emplace({bytes, hash_of(*v)}, v);
      fresh ? data.add(*v) : data.add_same(*v, *same->second);
    }
  return data;
}

// The weights that several models have go to the file.
DataFile shared_weights(const std::vector<Skeleton>& models, const std::string& location) {
  std::map<std::uint64_t, std::set<std::size_t>> by_size;  // the models that have a weight of the size
  for (std::size_t i = 0; i < models.size(); ++i)
    for (const Value* v : models[i].initializers) by_size[v->constant()->byte_size()].insert(i);
  using Key = std::pair<std::uint64_t, std::array<std::uint64_t, 2>>;
  std::map<Key, std::vector<std::pair<std::size_t, const Value*>>> equal;
  std::vector<Key> order;
  for (std::size_t i = 0; i < models.size(); ++i)
    for (const Value* v : models[i].initializers) {
      const std::uint64_t bytes = v->constant()->byte_size();
      if (bytes < kSmallTensor || by_size[bytes].size() < 2) continue;
      const Key key = {bytes, hash_of(*v)};
      auto& values = equal[key];
      if (values.empty()) order.push_back(key);
      values.emplace_back(i, v);
    }
  DataFile data(location);
  for (const Key& key : order) {
    const auto& values = equal.at(key);
    if (values.front().first == values.back().first) continue;  // of one model alone
    data.add(*values.front().second);
    for (const auto& [model, v] : values)
      if (v != values.front().second) data.add_same(*v, *values.front().second);
  }
  return data;
}

}  // namespace

Written write_files(const std::vector<ModelFile>& models, const std::string& data_path, ExternalData mode,
                    Meter* meter) {
  const std::string location = name_of(data_path);
  std::vector<Skeleton> skeletons;
  for (const ModelFile& m : models) skeletons.push_back(to_skeleton(*m.graph, m.info));
  const bool several = models.size() > 1;
  DataFile data = mode == ExternalData::always             ? all_weights(skeletons, location)
                  : several && mode != ExternalData::never ? shared_weights(skeletons, location)
                                                           : DataFile();
  const auto planned = [&] {
    std::vector<Plan> plans;
    for (const Skeleton& s : skeletons) plans.push_back(make_plan(s, data));
    return plans;
  };
  const auto largest = [](const std::vector<Plan>& plans) {
    std::uint64_t size = 0;
    for (const Plan& p : plans) size = std::max(size, p.size);
    return size;
  };
  std::vector<Plan> plans = planned();
  if (largest(plans) > kProtobufLimit && mode == ExternalData::never)
    fail_too_big(largest(plans),
                 "allow external data: the weights then go to '" + location + "' beside the model");
  if (largest(plans) > kProtobufLimit && mode == ExternalData::automatic) {
    data = all_weights(skeletons, location);
    plans = planned();
  }
  if (largest(plans) > kProtobufLimit) fail_too_big(largest(plans), "make its string constants smaller");

  check_space(data_path, data.size());
  std::uint64_t total = data.size();
  for (const Plan& p : plans) total += p.size;
  if (meter) meter->begin("", Meter::Unit::bytes, total);
  FileSet files(meter);
  std::vector<AtomicFile*> opened;
  for (const ModelFile& m : models) opened.push_back(&files.add(m.path));
  Written written;
  if (!data.empty()) {
    for (std::size_t i = 0; i < models.size(); ++i)
      if (!opened[i]->is_regular())
        fail(Code::output,
             "'" + models[i].path +
                 "' is not a regular file, so a file with the weights cannot stand beside it",
             "write the model to a file");
    AtomicFile& file = files.add(data_path);
    data.write(file);
    written.data_bytes = file.size();
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    write_model(plans[i], *opened[i]);
    written.models.push_back(opened[i]->size());
    written.model_bytes += opened[i]->size();
  }
  files.commit();
  return written;
}

Written write_file(const ir::Graph& graph, const ModelInfo& info, const std::string& path, ExternalData mode,
                   Meter* meter) {
  return write_files({{&graph, info, path}}, path + ".data", mode, meter);
}

void write_bytes(const ir::Graph& graph, const ModelInfo& info, std::string& bytes) {
  const Skeleton skeleton = to_skeleton(graph, info);
  const Plan plan = make_plan(skeleton, DataFile());
  if (plan.size > kProtobufLimit)
    fail_too_big(plan.size, "write it to a file: its weights then go to a second file beside it");
  bytes.clear();
  bytes.reserve(plan.size);
  const Sink append = [&](Bytes b) { bytes.append(reinterpret_cast<const char*>(b.data()), b.size()); };
  append(as_bytes(plan.model));
  append(as_bytes(plan.nodes));
  append(as_bytes(plan.graph));
  for (const Piece& p : plan.pieces) {
    append(as_bytes(p.header));
    if (p.value) stream_weight(*p.value, append);
  }
}

}  // namespace t2o::onnx
