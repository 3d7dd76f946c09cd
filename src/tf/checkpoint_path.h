#pragma once
#include <string>

namespace t2o::tf {

// The prefix of the checkpoint that a user names: the prefix itself, one of its files, or the directory
// around it.
std::string find_checkpoint_prefix(const std::string& path);

}  // namespace t2o::tf
