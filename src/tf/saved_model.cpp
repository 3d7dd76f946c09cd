#include "tf/saved_model.h"

#include <algorithm>
#include <filesystem>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "support/path.h"
#include "support/text.h"
#include "support/wire.h"
#include "tf/text_proto.h"

namespace t2o::tf {
namespace {

namespace fs = std::filesystem;

struct Serialized {
  Bytes bytes;
  Owner owner;
};

Serialized read_model_file(const fs::path& dir) {
  if (const fs::path binary = dir / "saved_model.pb"; is_there(binary)) {
    MappedFilePtr file = MappedFile::open(binary.string());
    return {file->bytes(), file};
  }
  const fs::path text = dir / "saved_model.pbtxt";
  if (!is_there(text))
    fail(Code::bad_file,
         dir.string() + " is not a SavedModel: it has neither saved_model.pb nor saved_model.pbtxt");
  const MappedFilePtr file = MappedFile::open(text.string());
  auto bytes =
      std::make_shared<const std::string>(saved_model_from_text(as_text(file->bytes()), text.string()));
  return {std::as_bytes(std::span(*bytes)), bytes};
}

Strings sorted_split(const std::string& list) {
  Strings out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string_view tag = std::string_view(list).substr(at, comma - at);
    while (tag.starts_with(' ')) tag.remove_prefix(1);
    while (tag.ends_with(' ')) tag.remove_suffix(1);
    if (!tag.empty()) out.emplace_back(tag);
    at = comma + 1;
  }
  std::ranges::sort(out);
  return out;
}

Strings sorted_tags_of(Bytes meta_graph) {
  Strings tags;
  for (WireReader r(meta_graph); r.next();) {
    if (r.field() != 1) continue;
    for (WireReader info = r.message(); info.next();)
      if (info.field() == 4) tags.emplace_back(info.text());
  }
  std::ranges::sort(tags);
  return tags;
}

Bytes choose_meta_graph(Bytes saved_model, const std::string& tags, const std::string& where) {
  std::vector<Bytes> all;
  for (WireReader r(saved_model); r.next();)
    if (r.field() == 2) all.push_back(r.bytes());
  if (all.empty()) fail(Code::bad_file, where + " is not a SavedModel: saved_model.pb has no MetaGraph");
  const Strings wanted = tags.empty() ? Strings{"serve"} : sorted_split(tags);
  std::string available;
  for (const Bytes m : all) {
    const Strings have = sorted_tags_of(m);
    if (have == wanted) return m;
    available += (available.empty() ? "'" : ", '") + joined(have, ",") + "'";
  }
  if (tags.empty() && all.size() == 1) return all.front();
  fail(Code::bad_option,
       "no MetaGraph of " + where + " has the tags '" + joined(wanted, ",") + "'; there are: " + available,
       "choose one of these with --tag");
}

}  // namespace

SavedModel open_saved_model(const std::string& directory, const std::string& tags) {
  const Serialized model = read_model_file(directory);
  SavedModel m{directory, parse_meta_graph(choose_meta_graph(model.bytes, tags, directory), model.owner),
               nullptr};
  const fs::path variables = fs::path(directory) / "variables" / "variables";
  if (is_there(variables.string() + ".index")) m.checkpoint = Checkpoint::open(variables.string());
  return m;
}

}  // namespace t2o::tf
