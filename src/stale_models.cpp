#include "stale_models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

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

bool fits(const std::string& name, const std::string& output) {
  constexpr std::string_view kPlace = "{signature}";
  const std::size_t at = output.rfind(kPlace);
  if (at != std::string::npos)
    return name.starts_with(output.substr(0, at)) && name.ends_with(output.substr(at + kPlace.size()));
  const std::size_t dot = output.rfind('.');
  return name.starts_with(output.substr(0, dot) + ".") &&
         (dot == std::string::npos || name.ends_with(output.substr(dot)));
}

}  // namespace

StaleModels::StaleModels(std::string output, std::string data_path)
    : output_(std::move(output)), data_path_(std::move(data_path)) {
  std::error_code none;
  replaces_ = fs::is_regular_file(data_path_, none);
}

Diagnostics StaleModels::warnings(const std::vector<std::string>& written) const {
  Diagnostics warnings;
  if (!replaces_) return warnings;
  const fs::path data(data_path_), folder = data.has_parent_path() ? data.parent_path() : fs::path(".");
  const std::string output = fs::path(output_).filename().string();
  std::error_code none;
  std::vector<std::string> stale;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const fs::path& path = entry.path();
    const auto is_it = [&](const std::string& w) { return fs::equivalent(w, path, none); };
    if (fits(path.filename().string(), output) && !is_it(data_path_) && entry.is_regular_file(none) &&
        std::ranges::none_of(written, is_it) && names(path, data.filename().string()))
      stale.push_back(path.lexically_normal().string());
  }
  std::ranges::sort(stale);
  for (const std::string& model : stale)
    warnings.push_back(
        {Severity::warning, Code::output,
         "'" + model + "' reads its weights from '" + data_path_ + "', which this conversion has replaced",
         "delete that model, or convert it again with the others"});
  return warnings;
}

}  // namespace t2o
