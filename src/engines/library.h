#pragma once
#include <string>
#include <vector>

#include "diagnostics.h"

namespace t2o::engines {

// How an engine's shared library is found and, when it is not, what the user is told.
struct LibraryNames {
  std::string title;          // "TensorFlow"
  std::string file;           // "libtensorflow_cc.so"; versions may follow
  std::string environment;    // variable that holds the path of the file, or of a folder that has it
  std::string built_in;       // path that was known when this program was built; may be empty
  std::string cache_prefix;   // folders of the set-up's cache begin with it
  std::string python_module;  // site-packages folder ...
  std::string python_folder;  // ... and where it lies inside
  std::string package;        // what pip calls it
};

// A shared library loaded at run time. It stays loaded: both engines leave threads behind.
class Library {
 public:
  explicit Library(const std::string& path);  // throws ConversionError with the loader's message
  const std::string& path() const { return path_; }
  template <class F>
  void bind(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(find(name));
  }

 private:
  void* find(const char* name) const;
  std::string path_;
  void* handle_;
};

// Tries, in this order: the explicit path (and then nothing else), the environment (likewise), the path known
// at build time, the set-up's cache, the site-packages of python3 on PATH, the system's loader. Throws
// Code::engine_missing.
Library load_engine(const LibraryNames& names, const std::string& explicit_path);

// The files to try, in order, without loading any; for tests, and for an engine that another process loads.
std::vector<std::string> engine_candidates(const LibraryNames& names, const std::string& explicit_path);

[[noreturn]] void fail_missing_engine(const LibraryNames& names, const std::string& tried);  // `tried` ends the message

}  // namespace t2o::engines
