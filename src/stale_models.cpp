#include "stale_models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace t2o {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = std::uintmax_t{64} << 20;  // a model beside its weights is small

// A model names the file of its weights.
bool names(const fs::path& model, const std::string& data) {
  std::error_code none;
  const std::uintmax_t size = fs::file_size(model, none);
  if (none || size > kLargest) return false;
  std::ifstream in(model, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  return bytes.find(data) != std::string::npos;
}

}  // namespace

Diagnostics warn_of_stale_models(const std::string& data_path, const std::vector<std::string>& written) {
  Diagnostics warnings;
  std::error_code none;
  if (!fs::is_regular_file(data_path, none)) return warnings;
  const fs::path data(data_path), folder = data.has_parent_path() ? data.parent_path() : fs::path(".");
  std::vector<std::string> stale;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const fs::path& path = entry.path();
    const auto is_it = [&](const std::string& w) { return fs::equivalent(w, path, none); };
    if (path.extension() != ".onnx" || !entry.is_regular_file(none) ||
        std::any_of(written.begin(), written.end(), is_it))
      continue;
    if (names(path, data.filename().string())) stale.push_back(path.lexically_normal().string());
  }
  std::sort(stale.begin(), stale.end());
  for (const std::string& model : stale)
    warnings.push_back(
        {Severity::warning, Code::output,
         "'" + model + "' reads its weights from '" + data_path + "', which this conversion has replaced",
         "delete that model, or convert it again with the others"});
  return warnings;
}

}  // namespace t2o
