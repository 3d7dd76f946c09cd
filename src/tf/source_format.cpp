#include "tf/source_format.h"

#include <algorithm>
#include <filesystem>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "support/path.h"
#include "support/wire.h"
#include "tf/checkpoint_path.h"

namespace t2o::tf {
namespace {

namespace fs = std::filesystem;
using tf2onnx::Format;

[[noreturn]] void refuse(const std::string& path, const std::string& format) {
  fail(Code::not_yet, path + " is a model of " + format + ", which this program does not read yet",
       "export it as a SavedModel");
}

void refuse_other_formats(const fs::path& path, std::string_view head) {
  const std::string extension = path.extension().string();
  if (extension == ".keras") refuse(path.string(), "Keras (.keras)");
  if (extension == ".h5" || extension == ".hdf5" || head.starts_with("\x89HDF"))
    refuse(path.string(), "Keras (.h5)");
  if (extension == ".json") refuse(path.string(), "TensorFlow.js (model.json)");
}

void refuse_requested(const std::string& path, Format format) {
  if (format == Format::keras) refuse(path, "Keras (.keras, .h5)");
  if (format == Format::tfjs) refuse(path, "TensorFlow.js (model.json)");
}

// Text protos have no control characters; in a serialized message tags and lengths are some.
bool looks_like_text(std::string_view head) {
  return std::ranges::none_of(head, [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
}

Format format_of_text(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const std::string_view head = text.substr(0, 2000);
  if (head.find("saved_model_schema_version") != std::string_view::npos ||
      head.find("meta_graphs") != std::string_view::npos)
    return Format::saved_model;
  return head.find("meta_info_def") != std::string_view::npos && has("graph_def") ? Format::meta_graph
                                                                                  : Format::graph_def;
}

[[noreturn]] void refuse_onnx(const fs::path& path) {
  fail(Code::bad_file, path.string() + " is an ONNX model already",
       "give TensorFlow's model; `tf2onnx-cpp verify MODEL " + path.filename().string() +
           "` compares the two");
}

// ModelProto begins with a number, as SavedModel does, and has its graph in field 7.
bool is_onnx(Bytes bytes) {
  WireReader r(bytes);
  if (!r.next() || r.field() != 1 || r.type() != WireType::varint) return false;
  while (r.next())
    if (r.field() == 7 || r.field() == 8) return true;
  return false;
}

// GraphDef has fields 1 (nodes), 2, 4 (messages) and 3 (a number); SavedModel 1 (a number) and 2;
// MetaGraphDef 1 to 7, all messages.
Format format_of_message(Bytes bytes) {
  for (WireReader r(bytes); r.next();) {
    if (r.field() == 1 && r.type() == WireType::varint) return Format::saved_model;
    if ((r.field() == 3 && r.type() == WireType::bytes) || r.field() > 4) return Format::meta_graph;
  }
  return Format::graph_def;
}

Found saved_model_around(const fs::path& file, bool is_asked_for) {
  const fs::path dir = file.parent_path();
  const bool named = file.filename() == "saved_model.pb" || file.filename() == "saved_model.pbtxt";
  if (!named)
    fail(Code::bad_file,
         file.string() + (is_asked_for
                              ? " is not a SavedModel: a SavedModel is a directory with a saved_model.pb"
                              : " is a SavedModel, but is not called saved_model.pb"),
         is_asked_for ? "leave out --format and --saved-model: the format is found by the content"
                      : "give the directory of a SavedModel");
  return {Format::saved_model, dir.empty() ? "." : dir.string(), false};
}

Found find_in_directory(const fs::path& dir) {
  if (is_there(dir / "saved_model.pb") || is_there(dir / "saved_model.pbtxt"))
    return {Format::saved_model, dir.string(), false};
  if (is_there(dir / "model.json")) refuse(dir.string(), "TensorFlow.js (model.json)");
  const std::string looked_for = ": there is no saved_model.pb or saved_model.pbtxt in it, ";
  bool checkpoint = is_there(dir / "checkpoint");
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error))
    checkpoint = checkpoint || it->path().extension() == ".index";
  if (!checkpoint) fail(Code::bad_file, dir.string() + " holds no model" + looked_for + "and no checkpoint");
  const std::string meta = find_checkpoint_prefix(dir.string()) + ".meta";
  if (is_there(meta)) return {Format::meta_graph, meta, false};
  fail(Code::bad_file, dir.string() + " holds a checkpoint, but no graph" + looked_for + "and no " + meta,
       "export the model as a SavedModel: a checkpoint has the weights alone");
}

// "checkpoint", the list of the checkpoints of a folder.
void refuse_checkpoint_state(const fs::path& path) {
  if (path.filename() != "checkpoint" || !is_file(path)) return;
  const MappedFilePtr file = MappedFile::open(path.string());
  if (as_text(file->bytes()).find("model_checkpoint_path") == std::string_view::npos) return;
  std::string remedy = "export the model as a SavedModel: a checkpoint has the weights alone";
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  if (const std::string meta = find_checkpoint_prefix(folder.string()) + ".meta"; is_there(meta))
    remedy = "give the graph beside it: " + meta;
  fail(Code::bad_file, path.string() + " is a list of checkpoints and has no graph", remedy);
}

// "m.ckpt-7.index", "m.ckpt-7.data-00000-of-00001"
void refuse_part_of_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  const bool is_index = path.extension() == ".index";
  const std::size_t data = name.rfind(".data-");
  if (!is_index && data == std::string::npos) return;
  const fs::path prefix = path.parent_path() / name.substr(0, is_index ? name.size() - 6 : data);
  if (!is_there(prefix.string() + ".index")) return;
  const fs::path meta = prefix.string() + ".meta", model = path.parent_path().parent_path();
  std::string remedy = "export the model as a SavedModel: a checkpoint has the weights alone";
  if (is_there(meta))
    remedy = "give " + meta.string() + ", or " + prefix.string() + ", or the folder";
  else if (path.parent_path().filename() == "variables" && is_there(model / "saved_model.pb"))
    remedy = "give the SavedModel, which is the folder " + (model.empty() ? "." : model.string());
  fail(Code::bad_file,
       path.string() + " is a checkpoint's " + (is_index ? "index" : "data") + " and has no graph", remedy);
}

Found find_in_file(const std::string& path, Format format) {
  const bool is_asked_for = format == Format::saved_model;
  refuse_part_of_checkpoint(path);
  refuse_checkpoint_state(path);
  const MappedFilePtr file = MappedFile::open(path);
  if (file->size() == 0) fail(Code::bad_file, path + " is empty");
  const std::string_view head = as_text(file->bytes()).substr(0, 512);
  const std::string extension = fs::path(path).extension().string();
  if (format == Format::detect) refuse_other_formats(path, head);
  const bool is_text = extension == ".pbtxt" || extension == ".prototxt" || looks_like_text(head);
  if (format == Format::detect && extension == ".meta") format = Format::meta_graph;
  if (format == Format::detect)
    format = is_text ? format_of_text(as_text(file->bytes())) : format_of_message(file->bytes());
  if (extension == ".onnx" || (!is_text && format == Format::saved_model && is_onnx(file->bytes())))
    refuse_onnx(path);
  if (format == Format::saved_model) return saved_model_around(path, is_asked_for);
  return {format, path, is_text};
}

}  // namespace

Found find_source(const std::string& path, Format format) {
  if (path.empty()) fail(Code::bad_option, "no model is given");
  refuse_requested(path, format);
  if (is_directory(path)) return find_in_directory(path);
  if (!is_there(path) && is_there(path + ".meta")) return find_in_file(path + ".meta", Format::meta_graph);
  return find_in_file(path, format);
}

}  // namespace t2o::tf
