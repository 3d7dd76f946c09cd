#include <algorithm>
#include <filesystem>

#include "support/path.h"
#include "support/wire.h"
#include "tflite/model.h"

// Weights in files beside the model.
namespace t2o::tflite {
namespace {

namespace fs = std::filesystem;

// The name of a group is a path. One that leads out of the model's folder is refused: the file of the model
// decides what is read.
std::string path_beside(const std::string& model, const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  if (name.empty() || path.is_absolute() || *path.begin() == "..")
    fail(Code::bad_model, "the weights are in '" + name + "', which is not in the folder of the model",
         "put the weights beside the model, and their file name into its external_buffer_groups");
  if (!is_file(model))
    fail(Code::bad_model, "the weights are in the file '" + name + "', and a model in memory has no folder",
         "convert the model from its file");
  return (fs::path(model).parent_path() / path).string();
}

}  // namespace

Strings Model::weight_files() const {
  Strings paths;
  for (const auto& [path, file] : weight_files_) paths.push_back(path);
  return paths;
}

Model::Data Model::external_data(const schema::Tensor& t) const {
  const std::string tensor = "the data of '" + text(t.name()) + "'";
  const schema::ExternalBuffer* found = nullptr;
  for (unsigned i = 0; i < count(root_->external_buffers()) && !found; ++i)
    if (const auto* b = root_->external_buffers()->Get(i); b->id() == t.external_buffer()) found = b;
  if (!found || found->group() >= count(root_->external_buffer_groups()))
    fail_reading(tensor + " are in another file, which the model does not name");
  const std::string packing = text(found->packing());
  if (!packing.empty() && packing != "unpacked")
    fail(Code::unsupported_attr, tensor + " are packed as '" + packing + "', which is not specified",
         "write the model with packing = \"unpacked\"");
  const std::string path =
      path_beside(path_, text(root_->external_buffer_groups()->Get(found->group())->name()));
  MappedFilePtr& file = weight_files_[path];
  if (!file) {
    if (!is_file(path))
      fail(Code::bad_file, tensor + " are in " + path + ", which is not there", "put it beside the model");
    file = MappedFile::open(path);
  }
  if (found->offset() > file->size() || found->length() > file->size() - found->offset())
    fail_reading(tensor + " end beyond " + path, "check that the file was copied completely");
  return {file->bytes().subspan(found->offset(), found->length()), file};
}

}  // namespace t2o::tflite
