#include "verify/tf/unoptimized.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "support/path.h"
#include "support/wire.h"
#include "tf/text_proto.h"

namespace t2o::verify {
namespace {

namespace fs = std::filesystem;

enum class Kind { saved_model, meta_graph, graph, library, function, node };

struct Nested {
  Kind outer;
  std::uint32_t field;
  Kind inner;
};
constexpr Nested kNested[] = {{Kind::saved_model, 2, Kind::meta_graph},
                              {Kind::meta_graph, 2, Kind::graph},
                              {Kind::graph, 1, Kind::node},
                              {Kind::graph, 2, Kind::library},
                              {Kind::library, 1, Kind::function},
                              {Kind::function, 3, Kind::node}};

const Nested* find_nested(Kind outer, std::uint32_t field) {
  for (const Nested& n : kNested)
    if (n.outer == outer && n.field == field) return &n;
  return nullptr;
}

std::string varint(std::size_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out += static_cast<char>(v);
}

std::string field(int number, std::string_view content) {  // numbers below 16
  return static_cast<char>(number << 3 | 2) + varint(content.size()).append(content);
}

// Behind a ConfigProto: graph_options { rewrite_options { disable_meta_optimizer: true } }
constexpr std::string_view kNoOptimizer("\x52\x05\x52\x03\x98\x01\x01", 7);

// Another entry of a map takes the place of the first. Empty: no call.
std::string call_attr(Bytes node) {
  bool is_call = false;
  std::string_view config;
  for (WireReader r(node); r.next();) {
    if (r.field() == 2) is_call = r.text() == "PartitionedCall" || r.text() == "StatefulPartitionedCall";
    if (r.field() != 5) continue;
    const auto [key, value] = r.map_entry();
    if (key != "config_proto") continue;
    for (WireReader attr(value); attr.next();)
      if (attr.field() == 2) config = attr.text();
  }
  if (!is_call) return "";
  return field(5, field(1, "config_proto") + field(2, field(2, std::string(config).append(kNoOptimizer))));
}

struct Patch {  // stands in the place of these bytes
  const std::byte *from, *to;
  std::string text;
};

// The varint in front of a field's content: all of its bytes but the last have the high bit, and a tag's last
// one has not.
const std::byte* start_of_size(Bytes content) {
  const std::byte* at = content.data() - 1;
  while ((at[-1] & std::byte{0x80}) != std::byte{0}) --at;
  return at;
}

// Gives by how much the message grows.
std::size_t patch(Kind kind, Bytes message, std::vector<Patch>& patches) {
  if (kind == Kind::node) {
    const std::byte* end = message.data() + message.size();
    std::string attr = call_attr(message);
    const std::size_t size = attr.size();
    if (size != 0) patches.push_back({end, end, std::move(attr)});
    return size;
  }
  std::size_t grown = 0;
  for (WireReader r(message); r.next();) {
    const Nested* nested = find_nested(kind, r.field());
    if (!nested) continue;
    const Bytes content = r.bytes();
    const std::size_t place = patches.size();
    patches.emplace_back();  // the size stands before what it is of
    const std::size_t more = patch(nested->inner, content, patches);
    if (more == 0) {
      patches.pop_back();
      continue;
    }
    Patch& size = patches[place];
    size = {start_of_size(content), content.data(), varint(content.size() + more)};
    grown += more + size.text.size() - static_cast<std::size_t>(size.to - size.from);
  }
  return grown;
}

template <class F>
void each_piece(Bytes message, const std::vector<Patch>& patches, F&& piece) {
  const std::byte* at = message.data();
  for (const Patch& p : patches) {
    piece(as_text({at, p.from}));
    piece(std::string_view(p.text));
    at = p.to;
  }
  piece(as_text({at, message.data() + message.size()}));
}

[[noreturn]] void fail_to_copy(const fs::path& path, const std::string& why) {
  fail(Code::bad_file, "the model cannot be copied for TensorFlow: " + path.string() + ": " + why,
       "free space there, or set TMPDIR to another folder");
}

}  // namespace

std::optional<std::string> unoptimized_graph_def(Bytes graph_def) {
  std::vector<Patch> patches;
  const std::size_t grown = patch(Kind::graph, graph_def, patches);
  if (grown == 0) return std::nullopt;
  std::string changed;
  changed.reserve(graph_def.size() + grown);
  each_piece(graph_def, patches, [&](std::string_view piece) { changed += piece; });
  return changed;
}

UnoptimizedSavedModel::UnoptimizedSavedModel(const std::string& directory) : directory_(directory) {
  const fs::path from(directory);
  const bool is_binary = is_there(from / "saved_model.pb");
  const MappedFilePtr file =
      MappedFile::open((from / (is_binary ? "saved_model.pb" : "saved_model.pbtxt")).string());
  if (is_binary) {
    write(from, file->bytes());
  } else {
    const std::string binary = tf::saved_model_from_text(as_text(file->bytes()), file->path());
    write(from, std::as_bytes(std::span(binary)));
  }
}

void UnoptimizedSavedModel::write(const fs::path& from, Bytes saved_model) {
  std::vector<Patch> patches;
  if (patch(Kind::saved_model, saved_model, patches) == 0) return;
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = ((error ? fs::path("/tmp") : parent) / "tf2onnx-cpp-XXXXXX").string();
  {
    const Uninterrupted made_and_remembered;
    if (!mkdtemp(name.data())) fail_to_copy(parent, std::strerror(errno));
    unfinished_.emplace_back().remember(name, Unfinished::Kind::folder);
  }
  copy_ = name;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      if (entry.path().filename().string().starts_with("saved_model.")) continue;
      const Uninterrupted made_and_remembered;
      fs::create_symlink(fs::absolute(entry.path()), copy_ / entry.path().filename());
      unfinished_.emplace_back().remember((copy_ / entry.path().filename()).string());
    }
    unfinished_.emplace_back().remember((copy_ / "saved_model.pb").string());  // in a folder of our own
    std::ofstream out(copy_ / "saved_model.pb", std::ios::binary);
    each_piece(saved_model, patches, [&](std::string_view piece) {
      out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    });
    if (!out.flush()) fail_to_copy(copy_, std::strerror(errno));
  } catch (const fs::filesystem_error& e) {
    fs::remove_all(copy_, error);
    fail_to_copy(copy_, e.code().message());
  } catch (...) {
    fs::remove_all(copy_, error);
    throw;
  }
  directory_ = copy_.string();
}

UnoptimizedSavedModel::~UnoptimizedSavedModel() {
  std::error_code ignored;
  if (!copy_.empty()) fs::remove_all(copy_, ignored);
}

}  // namespace t2o::verify
