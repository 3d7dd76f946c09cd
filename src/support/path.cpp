#include "support/path.h"

#include "diagnostics.h"

namespace t2o {
namespace {

namespace fs = std::filesystem;

fs::file_type type_of(const fs::path& p) {
  std::error_code error;
  const fs::file_type type = fs::status(p, error).type();
  if (type == fs::file_type::none && error)
    fail(Code::bad_file, "cannot look at " + p.string() + ": " + error.message());
  return type;
}

}  // namespace

bool is_there(const fs::path& p) { return type_of(p) != fs::file_type::not_found; }
bool is_file(const fs::path& p) { return type_of(p) == fs::file_type::regular; }
bool is_directory(const fs::path& p) { return type_of(p) == fs::file_type::directory; }

}  // namespace t2o
