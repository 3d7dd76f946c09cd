#include "tf/text_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <limits>

#include "diagnostics.h"
#include "tf/protos/text.pb.h"

namespace t2o::tf {
namespace {

constexpr int kMaxNesting = 100;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message;
  }
  void AddWarning(int, int, const std::string&) override {}  // fields that are not in our subset
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class Message>
std::string serialized(std::string_view text, const std::string& where) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    fail(Code::bad_file, where + " is above 2 GB, too large for a text file",
         "save it in the binary format (.pb)");
  Message message;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxNesting);
  parser.RecordErrorsTo(&error);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&input, &message))
    fail(Code::bad_file, "the text in " + where + " is wrong at " + error.text());
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);  // of maps
  if (!message.SerializeToCodedStream(&output)) fail(Code::bad_file, where + " is too large");
  output.Trim();
  return bytes;
}

}  // namespace

std::string saved_model_from_text(std::string_view text, const std::string& where) {
  return serialized<text::SavedModel>(text, where);
}
std::string meta_graph_from_text(std::string_view text, const std::string& where) {
  return serialized<text::MetaGraphDef>(text, where);
}
std::string graph_def_from_text(std::string_view text, const std::string& where) {
  return serialized<text::GraphDef>(text, where);
}

}  // namespace t2o::tf
