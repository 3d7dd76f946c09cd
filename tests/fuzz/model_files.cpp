#include "model_files.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "support/crc32c.h"
#include "tf/protos/text.pb.h"

namespace t2o::fuzz {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

bool is_text(const std::string& file) { return file.ends_with(".pbtxt"); }

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<pb::Message> message_for(const std::string& file) {
  if (file.find("saved_model.pb") != std::string::npos) return std::make_unique<tf::text::SavedModel>();
  if (file.ends_with(".meta")) return std::make_unique<tf::text::MetaGraphDef>();
  if (is_text(file)) return std::make_unique<tf::text::GraphDef>();
  return nullptr;
}

// A .meta may be either.
bool parse(const std::string& bytes, pb::Message& m, bool& as_text) {
  pb::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  as_text = parser.ParseFromString(bytes, &m);
  return as_text || m.ParsePartialFromString(bytes);
}

std::string serialized(const pb::Message& m, bool as_text) {
  std::string bytes;
  if (as_text) {
    pb::TextFormat::PrintToString(m, &bytes);
    return bytes;
  }
  pb::io::StringOutputStream out(&bytes);
  pb::io::CodedOutputStream coded(&out);
  coded.SetSerializationDeterministic(true);
  m.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

struct Block {
  std::size_t at, size;
};

constexpr std::size_t kFooter = 48, kTrailer = 5;  // of a table; of each block: its type, and the checksum over both

std::size_t varint(const std::string& bytes, std::size_t& at) {
  std::size_t value = 0;
  for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::size_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// Those that the footer names; what stands in front of them is one block of data, a small checkpoint has no more.
std::vector<Block> blocks_of(const std::string& table) {
  if (table.size() < kFooter) return {};
  std::size_t at = table.size() - kFooter;
  std::vector<Block> blocks;
  for (int i = 0; i < 2; ++i) {
    const std::size_t begin = varint(table, at), size = varint(table, at);
    blocks.push_back({begin, size});
  }
  const std::size_t data_end = std::min(blocks[0].at, blocks[1].at);
  if (data_end > kTrailer) blocks.push_back({0, data_end - kTrailer});
  return blocks;
}

// Damage that no checksum tells of: what the entries say is looked at.
void damage_table(std::string& table, Mutator& mutator) {
  const std::vector<Block> blocks = blocks_of(table);
  if (blocks.empty()) return mutator.damage(table);
  const Block& hit = blocks[mutator.below(4) == 0 ? mutator.below(blocks.size()) : blocks.size() - 1];
  if (hit.at + hit.size + kTrailer > table.size() || hit.size == 0) return mutator.damage(table);
  for (std::size_t n = 1 + mutator.below(3); n > 0; --n) {
    char& byte = table[hit.at + mutator.below(hit.size)];
    byte = mutator.below(2) == 0 ? static_cast<char>(mutator.below(256)) : static_cast<char>(byte ^ (1 << mutator.below(8)));
  }
  const std::uint32_t crc = crc32c_mask(crc32c(std::as_bytes(std::span(table)).subspan(hit.at, hit.size + 1)));
  std::memcpy(table.data() + hit.at + hit.size + 1, &crc, sizeof crc);
}

// A flatbuffer is offsets, sizes and numbers of one to four bytes: some of them become odd ones or those of another place.
void damage_flatbuffer(std::string& bytes, Mutator& mutator) {
  constexpr std::int32_t kOdd[] = {0, 1, 2, -1, -2, 4, 127, 255, 32767, 65535, 1 << 20, INT32_MAX, INT32_MIN};
  if (bytes.size() < 16) return mutator.damage(bytes);
  for (std::size_t n = 1 + mutator.below(4); n > 0; --n) {
    const std::size_t width = std::size_t{1} << mutator.below(3);
    const std::size_t at = 8 + mutator.below((bytes.size() - 12) / width) * width;  // behind the identifier
    auto value = static_cast<std::uint32_t>(kOdd[mutator.below(std::size(kOdd))]);  // wraps
    if (mutator.below(3) == 0) std::memcpy(&value, bytes.data() + mutator.below(bytes.size() - sizeof value), sizeof value);
    if (mutator.below(4) == 0) {
      std::memcpy(&value, bytes.data() + at, width);
      value += static_cast<std::uint32_t>(mutator.below(9)) - 4;
    }
    std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
  }
}

}  // namespace

ModelFiles::ModelFiles(const fs::path& model) {
  if (const std::string path = model.string(); path.ends_with(".pb.pbtxt")) {
    model_ = model.filename().string();
    auto graph = std::make_unique<tf::text::GraphDef>();
    graph->ParsePartialFromString(content(path.substr(0, path.rfind('.'))));
    files_[model_] = serialized(*graph, true);
    messages_[model_] = std::move(graph);
    return;
  }
  const bool is_folder = fs::is_directory(model);
  const fs::path folder = is_folder ? model : model.parent_path();
  if (!is_folder) model_ = model.filename().string();
  const std::string stem = model.filename().stem().string();
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    const bool belongs = is_folder || name == model_ || (!is_text(model_) && name.starts_with(stem + "."));
    if (!entry.is_regular_file() || !belongs) continue;
    const std::string& bytes = files_[name] = content(entry.path());
    bool as_text = false;
    if (auto message = message_for(name); message && parse(bytes, *message, as_text)) messages_[name] = std::move(message);
  }
}

void ModelFiles::teach(Mutator& mutator) const {
  for (const auto& [_, message] : messages_) mutator.learn(*message);
}

std::string ModelFiles::damaged(const std::string& file, const std::string& original, Mutator& mutator) const {
  std::string bytes = original;
  if (file.ends_with(".index")) {
    if (mutator.below(8) == 0) mutator.damage(bytes);
    else damage_table(bytes, mutator);
    return bytes;
  }
  if (file.ends_with(".tflite") && mutator.below(8) != 0) {
    damage_flatbuffer(bytes, mutator);
    return bytes;
  }
  const auto known = messages_.find(file);
  if (known == messages_.end() || mutator.below(8) == 0) {
    mutator.damage(bytes);
    return bytes;
  }
  const std::unique_ptr<pb::Message> m(known->second->New());
  bool as_text = false;
  parse(original, *m, as_text);
  for (std::size_t n = 1 + mutator.below(3); n > 0; --n) mutator.mutate(*m);
  return serialized(*m, as_text);
}

fs::path ModelFiles::write_damaged(Mutator& mutator, const fs::path& folder) const {
  const std::size_t hit = mutator.below(files_.size());
  const bool model_too = mutator.below(4) == 0;
  std::size_t i = 0;
  for (const auto& [name, bytes] : files_) {
    fs::create_directories((folder / name).parent_path());
    const bool is_hit = i++ == hit || (model_too && messages_.contains(name));
    const std::string written = is_hit ? damaged(name, bytes, mutator) : bytes;
    std::ofstream(folder / name, std::ios::binary) << written;
  }
  return model_.empty() ? folder : folder / model_;
}

}  // namespace t2o::fuzz
