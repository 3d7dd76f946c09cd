#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "mutator.h"

namespace t2o::fuzz {

// A model of several files, or one that is no binary GraphDef: a SavedModel directory, a .meta with its checkpoint, a .pbtxt,
// a checkpoint alone (its .index), a .tflite. "graph.pb.pbtxt" is the text of graph.pb.
class ModelFiles {
 public:
  explicit ModelFiles(const std::filesystem::path& model);
  void teach(Mutator&) const;
  // Writes all files to the empty folder, at least one of them damaged. The model there.
  std::filesystem::path write_damaged(Mutator&, const std::filesystem::path& folder) const;
  bool is_checkpoint() const { return model_.ends_with(".index"); }

 private:
  std::string damaged(const std::string& file, const std::string& bytes, Mutator&) const;

  std::string model_;                                                           // below the folder; empty: the folder itself
  std::map<std::string, std::string> files_;                                    // their bytes by their names below the folder
  std::map<std::string, std::unique_ptr<google::protobuf::Message>> messages_;  // those that can be read as such
};

}  // namespace t2o::fuzz
