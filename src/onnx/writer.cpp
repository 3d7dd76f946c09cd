#include "onnx/writer.h"

#include <array>
#include <filesystem>
#include <limits>
#include <optional>

#include "support/file_set.h"
#include "support/write_behind.h"

namespace t2o::onnx {
namespace {

constexpr std::uint64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kPage = 4096, kCacheLine = 64, kPagedTensor = 64 * 1024;

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
  const Value* value = nullptr;              // whose bytes follow the header; null: none
  std::optional<std::uint64_t> data_offset;  // or stand here in the .data file
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

// An empty location keeps all tensors in the model.
Plan make_plan(const Skeleton& s, const std::string& location) {
  Plan plan;
  plan.model = serialized(s.model);
  plan.graph = serialized(s.graph);
  plan.nodes = s.nodes;
  std::uint64_t graph_size = plan.nodes.size() + plan.graph.size(), data_end = 0;
  for (const Value* v : s.initializers) {
    const std::uint64_t bytes = v->constant()->byte_size();
    pb::TensorProto header;
    set_tensor_header(header, *v);
    Piece piece;
    piece.value = bytes == 0 ? nullptr : v;
    if (!location.empty() && bytes >= kSmallTensor) {
      const std::uint64_t alignment = bytes >= kPagedTensor ? kPage : kCacheLine;
      piece.data_offset = (data_end + alignment - 1) / alignment * alignment;
      data_end = *piece.data_offset + bytes;
      point_to_data(header, location, *piece.data_offset, bytes);
    }
    std::string tensor = serialized(header);
    const bool is_inline = piece.value && !piece.data_offset;
    if (is_inline) append_field_start(tensor, pb::TensorProto::kRawDataFieldNumber, bytes);
    append_field_start(piece.header, pb::GraphProto::kInitializerFieldNumber,
                       tensor.size() + (is_inline ? bytes : 0));
    piece.header += tensor;
    graph_size += piece.header.size() + (is_inline ? bytes : 0);
    plan.pieces.push_back(std::move(piece));
  }
  append_field_start(plan.model, pb::ModelProto::kGraphFieldNumber, graph_size);
  plan.size = plan.model.size() + graph_size;
  return plan;
}

Bytes as_bytes(std::string_view s) { return std::as_bytes(std::span(s)); }

constexpr std::size_t kStreamed = std::size_t{16} << 20;  // bigger tensors are never in memory as a whole

void stream_data(const Value& v, const Sink& sink) {
  const Tensor& t = *v.constant();
  std::size_t seen = 0;
  t.storage()->stream([&](Bytes b) {
    seen += b.size();
    if (seen <= t.byte_size()) sink(b);
  });
  t.storage()->release();
  if (seen != t.byte_size())
    fail(Code::internal, "constant '" + v.name() + "' gave " + std::to_string(seen) + " bytes instead of " +
                             std::to_string(t.byte_size()));
}

constexpr std::size_t kMadeInParts = std::size_t{512} << 10;

void write_data(const Value& v, WriteBehind& out) {
  Storage& data = *v.constant()->storage();
  if (data.size() <= kStreamed && data.size() >= kMadeInParts)
    if (const PartReader parts = data.parts(); parts.computes) {
      out.write(parts, data.size());
      return data.release();
    }
  if (data.size() <= kStreamed) return out.write(data.take());
  AtomicFile& file = out.finish();
  stream_data(v, [&](Bytes b) { file.write(b); });
}

void write_model(const Plan& plan, AtomicFile& file) {
  file.reserve(plan.size);
  WriteBehind out(file);
  out.write(as_bytes(plan.model));
  out.write(as_bytes(plan.nodes));
  out.write(as_bytes(plan.graph));
  for (const Piece& p : plan.pieces) {
    out.write(as_bytes(p.header));
    if (p.value && !p.data_offset) write_data(*p.value, out);
  }
  out.finish();
}

std::uint64_t external_size(const Plan& plan) {
  std::uint64_t size = 0;
  for (const Piece& p : plan.pieces)
    if (p.data_offset) size = *p.data_offset + p.value->constant()->byte_size();
  return size;
}

void write_external(const Plan& plan, AtomicFile& file) {
  static constexpr std::array<std::byte, kPage> kZeros = {};
  file.reserve(external_size(plan));
  WriteBehind out(file);
  std::uint64_t at = 0;
  for (const Piece& p : plan.pieces) {
    if (!p.data_offset) continue;
    out.write(Bytes(kZeros).first(*p.data_offset - at));
    write_data(*p.value, out);
    at = *p.data_offset + p.value->constant()->byte_size();
  }
  out.finish();
}

[[noreturn]] void fail_too_big(std::uint64_t size, std::string remedy) {
  fail(Code::output,
       "the model has " + std::to_string(size) + " bytes; one protobuf message holds at most " +
           std::to_string(kProtobufLimit),
       std::move(remedy));
}

bool has_external(const Plan& plan) {
  for (const Piece& p : plan.pieces)
    if (p.data_offset) return true;
  return false;
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

}  // namespace

Written write_file(const ir::Graph& graph, const ModelInfo& info, const std::string& path, ExternalData mode,
                   Meter* meter) {
  const Skeleton skeleton = to_skeleton(graph, info);
  const std::string location = path.substr(path.rfind('/') + 1) + ".data";
  Plan plan = make_plan(skeleton, mode == ExternalData::always ? location : "");
  if (plan.size > kProtobufLimit && mode == ExternalData::never)
    fail_too_big(plan.size,
                 "allow external data: the weights then go to '" + location + "' beside the model");
  if (plan.size > kProtobufLimit && mode == ExternalData::automatic) plan = make_plan(skeleton, location);
  if (plan.size > kProtobufLimit) fail_too_big(plan.size, "make its string constants smaller");

  check_space(path, external_size(plan));
  if (meter) meter->begin("", Meter::Unit::bytes, plan.size + external_size(plan));
  FileSet files(meter);
  AtomicFile& model = files.add(path);
  Written written;
  if (has_external(plan)) {
    if (!model.is_regular())
      fail(Code::output,
           "'" + path + "' is not a regular file, so a file with the weights cannot stand beside it",
           "write the model to a file");
    AtomicFile& data = files.add(path + ".data");
    write_external(plan, data);
    write_model(plan, model);
    written.data_bytes = data.size();
  } else {
    write_model(plan, model);
  }
  written.model_bytes = model.size();
  files.commit();
  return written;
}

void write_bytes(const ir::Graph& graph, const ModelInfo& info, std::string& bytes) {
  const Skeleton skeleton = to_skeleton(graph, info);
  const Plan plan = make_plan(skeleton, "");
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
    if (p.value) stream_data(*p.value, append);
  }
}

}  // namespace t2o::onnx
