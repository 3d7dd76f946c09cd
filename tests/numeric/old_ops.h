#pragma once
#include "harness.h"

namespace t2o::numeric {

// TensorFlow refuses ops that it has given up, but not in the graphs of versions that had them. An import
// makes the whole graph one of the lower version.
inline void of_version(engines::TfGraph& g, char producer) {
  const char versions[] = {0x22, 2, 0x08,
                           producer};  // GraphDef.versions of two bytes, and in it VersionDef.producer
  g.import(std::as_bytes(std::span(versions)));
}

// An op with one output of inputs of any dtype, in a graph of that version.
struct OldInput {
  DType dtype;
  Ints dims;
  std::optional<verify::Range> range = {};
};
inline Case old_case(const std::string& op, char producer, std::vector<OldInput> inputs,
                     std::vector<engines::TfAttr> attrs = {}, int outputs = -1) {
  return graph_case(op, [=](Builder& b) {
    of_version(b.graph(), producer);
    std::vector<TfInput> names;
    for (const OldInput& in : inputs) names.emplace_back(b.input(in.dtype, in.dims, in.range));
    const std::string y = b.op(op, names, attrs, "op");
    for (int i = 0; i < (outputs < 0 ? b.graph().outputs(y) : outputs); ++i) b.output(y + ":" + std::to_string(i));
  });
}

}  // namespace t2o::numeric
