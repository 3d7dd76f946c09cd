#pragma once
#include <optional>
#include <string>

#include "pipeline.h"

namespace t2o {

// May options.signature name several: "a,b" or "all"? The model decides (named_signatures).
bool may_name_several(const Options&);

// The signatures that the options name, if they name several. A signature of exactly that name comes first, and there are none
// then. Signatures without outputs are left out of "all", with a note. Fails if the options hold more than a choice of signatures.
std::optional<Strings> named_signatures(const Options&, const Source&, Diagnostics&);

// What the graph of a model is called: like the SavedModel's folder, or the file without its extension, and ".SIGNATURE" where
// several are exported. "" if the model comes from memory.
std::string graph_name(const Options&, bool is_several);

// The files of a conversion's models, in the order of its graphs: `output`; for several signatures OUT.SIGNATURE.onnx, or `output`
// with the signature in the place of "{signature}". Fails if the files would not be different ones.
struct OutputFiles {
  Strings models;
  std::string data;  // of the weights beside them
};
OutputFiles output_files(const Conversion&, const std::string& output);

}  // namespace t2o
