#pragma once
#include <deque>
#include <filesystem>
#include <optional>
#include <string>

#include "support/storage.h"
#include "support/unfinished.h"

namespace t2o::verify {

// TensorFlow's graph optimizer may change what a model computes in the last digit, x / 24 to x * (1 / 24), which a Floor behind
// it shows. A session's options turn it off for the graph alone: the bodies of functions go by the `config_proto` of the node
// that calls them. These give a model whose calls turn it off as well.
std::optional<std::string> unoptimized_graph_def(Bytes graph_def);  // none: there is nothing to change

// A copy of the SavedModel without the optimizer, for as long as this lives: the graph is written, all else is links.
class UnoptimizedSavedModel {
 public:
  explicit UnoptimizedSavedModel(const std::string& directory);
  ~UnoptimizedSavedModel();
  UnoptimizedSavedModel(const UnoptimizedSavedModel&) = delete;
  UnoptimizedSavedModel& operator=(const UnoptimizedSavedModel&) = delete;
  const std::string& directory() const { return directory_; }  // the model's own where nothing is to change

 private:
  void write(const std::filesystem::path& from, Bytes saved_model);
  std::string directory_;
  std::filesystem::path copy_;
  std::deque<Unfinished> unfinished_;  // the copy's folder and what is in it
};

}  // namespace t2o::verify
