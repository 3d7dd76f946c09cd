#include "onnx/writer.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "onnx/data_file.h"
#include "support/file_set.h"
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

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The weights that several graphs have, or all that are worth it, each once.
DataFile weights_outside(const std::vector<Skeleton>& models, const std::string& location, bool all) {
  DataFile data(location);
  std::vector<Values> by_graph;
  for (const Skeleton& s : models) by_graph.push_back(s.initializers);
  for (const ir::EqualConstants& equal : ir::equal_constants(by_graph, kSmallTensor)) {
    if (!all && !equal.is_shared) continue;
    const Value& first = *equal.values.front();
    data.add(first);
    for (const Value* v : equal.values) data.add_same(*v, first);
  }
  return data;
}

}  // namespace

Written write_files(const ir::Model& model, const WriteOptions& options,
                    const std::vector<std::string>& paths, const std::string& data_path, ExternalData mode,
                    Meter* meter) {
  const std::string location = name_of(data_path);
  std::vector<Skeleton> skeletons;
  for (const ir::ModelGraph& g : model.graphs) skeletons.push_back(to_skeleton(model, g, options));
  DataFile data;
  if (mode == ExternalData::always || (paths.size() > 1 && mode != ExternalData::never))
    data = weights_outside(skeletons, location, mode == ExternalData::always);
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
    data = weights_outside(skeletons, location, true);
    plans = planned();
  }
  if (largest(plans) > kProtobufLimit) fail_too_big(largest(plans), "make its string constants smaller");

  check_space(data_path, data.size());
  std::uint64_t total = data.size();
  for (const Plan& p : plans) total += p.size;
  if (meter) meter->begin("", Meter::Unit::bytes, total);
  FileSet files(meter);
  std::vector<AtomicFile*> opened;
  for (const std::string& path : paths) opened.push_back(&files.add(path));
  Written written;
  if (!data.empty()) {
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (!opened[i]->is_regular())
        fail(Code::output,
             "'" + paths[i] + "' is not a regular file, so a file with the weights cannot stand beside it",
             "write the model to a file");
    AtomicFile& file = files.add(data_path);
    data.write(file);
    written.data = {data_path, file.size()};
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    write_model(plans[i], *opened[i]);
    written.models.push_back({paths[i], opened[i]->size()});
  }
  files.commit();
  return written;
}

void write_bytes(const ir::Model& model, const WriteOptions& options, std::string& bytes) {
  const Skeleton skeleton = to_skeleton(model, model.graphs.front(), options);
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
