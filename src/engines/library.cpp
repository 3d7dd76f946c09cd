#include "engines/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "support/lists.h"

namespace t2o::engines {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_library(const fs::path& path, const std::string& file) {
  const std::string name = path.filename().string();
  return name == file || (name.starts_with(file + ".") &&
                          name.find_first_not_of("0123456789.", file.size()) == std::string::npos);
}

// The engine's files in a folder, sorted: the plain name goes first.
std::vector<std::string> libraries_in(const fs::path& folder, const std::string& file) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_library(it->path(), file)) found.push_back(it->path().string());
  std::ranges::sort(found);
  return found;
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  for (std::string& path : more)
    if (!contains(to, path)) to.push_back(std::move(path));
}

fs::path cache_folder() {
  if (const std::string own = environment("TF2ONNX_CACHE"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
    return fs::path(xdg) / "tf2onnx-cpp";
  return fs::path(environment("HOME")) / ".cache" / "tf2onnx-cpp";
}

std::vector<std::string> libraries_in_cache(const LibraryNames& names) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator it(cache_folder(), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::size_t digit = names.cache_prefix.size();
    if (name.starts_with(names.cache_prefix) && name.size() > digit &&
        std::isdigit(static_cast<unsigned char>(name[digit])))
      folders.push_back(it->path().string());
  }
  std::sort(folders.rbegin(), folders.rend());
  std::vector<std::string> found;
  for (const std::string& folder : folders) append(found, libraries_in(fs::path(folder) / "lib", names.file));
  return found;
}

// Asks python3 where a module lies, without importing it.
std::string python_module_folder(const std::string& module) {
  const std::string command = "python3 -c \"import importlib.util as u; s = u.find_spec('" + module +
                              "'); print(s.submodule_search_locations[0] if s else '')\" 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return "";
  std::string line(4096, '\0');
  if (!std::fgets(line.data(), static_cast<int>(line.size()), pipe.get())) return "";
  line.resize(std::min(line.find('\n'), line.find('\0')));
  return line;
}

std::vector<std::string> libraries_in_python(const LibraryNames& names) {
  const std::string folder = python_module_folder(names.python_module);
  return folder.empty() ? std::vector<std::string>{}
                        : libraries_in(fs::path(folder) / names.python_folder, names.file);
}

std::vector<std::string> named_by_user(const std::string& path, const std::string& file) {
  std::error_code error;
  if (fs::is_directory(path, error)) return libraries_in(path, file);
  return {path};
}

}  // namespace

void fail_missing_engine(const LibraryNames& names, const std::string& tried) {
  fail(Code::engine_missing,
       names.title + " was not found: no " + names.file + " could be loaded" + tried,
       "Run scripts/setup.sh --engines, or 'pip install " + names.package +
           "' for the python3 on your PATH, or set " + names.environment + " to the path of " + names.file +
           ".");
}

Library::Library(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) {
  if (!handle_) fail(Code::engine_missing, std::string("cannot load ") + dlerror());
}

void* Library::find(const char* name) const {
  void* address = dlsym(handle_, name);
  if (!address)
    fail(Code::engine_missing, path_ + " has no function " + name, "Use a newer version of that library.");
  return address;
}

std::vector<std::string> engine_candidates(const LibraryNames& names, const std::string& explicit_path) {
  if (!explicit_path.empty()) return named_by_user(explicit_path, names.file);
  if (const std::string path = environment(names.environment.c_str()); !path.empty())
    return named_by_user(path, names.file);
  std::vector<std::string> paths;
  std::error_code error;
  if (!names.built_in.empty() && fs::exists(names.built_in, error)) paths.push_back(names.built_in);
  append(paths, libraries_in_cache(names));
  if (paths.empty()) append(paths, libraries_in_python(names));  // starting python3 takes a while
  if (paths.empty()) paths.push_back(names.file);
  return paths;
}

Library load_engine(const LibraryNames& names, const std::string& explicit_path) {
  std::string tried;
  for (const std::string& path : engine_candidates(names, explicit_path)) {
    try {
      return Library(path);
    } catch (const ConversionError& e) {
      tried += "\n  " + e.diagnostic().message;
    }
  }
  fail_missing_engine(names, tried);
}

}  // namespace t2o::engines
