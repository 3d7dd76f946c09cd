#pragma once
#include <filesystem>

// What is at a path. What cannot be looked at, as in a directory that may not be searched, is an error and not "absent".
namespace t2o {

bool is_there(const std::filesystem::path&);
bool is_file(const std::filesystem::path&);
bool is_directory(const std::filesystem::path&);

}  // namespace t2o
