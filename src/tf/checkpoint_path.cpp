#include "tf/checkpoint_path.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "diagnostics.h"
#include "support/path.h"
#include "support/text.h"

namespace t2o::tf {
namespace {

namespace fs = std::filesystem;

bool has_index(const fs::path& prefix) { return is_file(prefix.string() + ".index"); }

// The quoted value of `model_checkpoint_path` in a CheckpointState, which is a text proto of flat strings.
std::optional<std::string> latest_of_state_file(const fs::path& file) {
  constexpr std::string_view kKey = "model_checkpoint_path:";
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kKey)) continue;
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open != std::string::npos && open < close) return line.substr(open + 1, close - open - 1);
  }
  return {};
}

std::string prefix_in_directory(const fs::path& dir) {
  if (is_file(dir / "checkpoint")) {
    if (const auto latest = latest_of_state_file(dir / "checkpoint")) {
      if (has_index(dir / *latest)) return (dir / *latest).string();  // an absolute path stands for itself
      const fs::path moved = dir / fs::path(*latest).filename();
      if (has_index(moved)) return moved.string();
      fail(Code::bad_file, (dir / "checkpoint").string() + " names the checkpoint '" + *latest +
                               "', but there is no such .index file, nor " + moved.string() + ".index");
    }
  }
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".index" && is_file(it->path()))
      found.push_back((dir / it->path().stem()).string());
  if (error) fail(Code::bad_file, "cannot list the directory " + dir.string() + ": " + error.message());
  if (found.size() == 1) return found.front();
  if (found.empty())
    fail(Code::bad_file,
         "there is no checkpoint in " + dir.string() + ": neither a 'checkpoint' file nor an .index file");
  std::ranges::sort(found);
  fail(Code::bad_file, "there are several checkpoints in " + dir.string() + ": " + joined(found),
       "name one of them");
}

// TensorFlow's table files, and so V1 checkpoints, end in LevelDB's magic number.
bool is_table(const fs::path& file) {
  constexpr unsigned char kMagic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
  std::ifstream in(file, std::ios::binary);
  char tail[sizeof kMagic] = {};
  in.seekg(-static_cast<std::streamoff>(sizeof tail), std::ios::end);
  return in.read(tail, sizeof tail) &&
         std::equal(tail, tail + sizeof tail, kMagic,
                    [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; });
}

}  // namespace

std::string find_checkpoint_prefix(const std::string& path) {
  if (has_index(path)) return path;
  if (is_directory(path)) return prefix_in_directory(path);
  const fs::path name = fs::path(path).filename();
  if (name.extension() == ".index" && is_file(path)) return path.substr(0, path.size() - 6);
  if (const std::size_t data = path.rfind(".data-");
      data != std::string::npos && has_index(path.substr(0, data)))
    return path.substr(0, data);
  if (is_file(path) && is_table(path))
    fail(Code::bad_file, path + " is a checkpoint of the old V1 format, which is not supported",
         "restore it with TensorFlow and save it again: tf.compat.v1.train.Saver writes the V2 format");
  fail(Code::bad_file, "there is no checkpoint " + path + ": " + path + ".index does not exist");
}

}  // namespace t2o::tf
