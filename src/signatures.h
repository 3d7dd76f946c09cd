#pragma once
#include <string>
#include <vector>

#include "pipeline.h"

namespace t2o {

// One of several signatures of a model.
struct SignatureExport {
  std::string signature;
  std::string path;  // of its ONNX model
  Options options;   // the conversion's, for this signature alone
  Conversion conversion;
};

// Does options.signature name several: "a,b" or "all"? A signature of exactly that name comes first.
bool names_several_signatures(const Options&);

// OUT.SIGNATURE.onnx, or `output` with the signature in the place of "{signature}".
std::string path_of_signature(const std::string& output, const std::string& signature);
std::string shared_data_path(const std::string& output);  // the file with the weights that the models share

// Converts each signature. Signatures without outputs are left out of "all". The diagnostics name their signature; if there are
// errors, nothing may be written.
std::vector<SignatureExport> convert_signatures(const Options&, const std::string& output, Diagnostics&,
                                                Meter* = nullptr);

// Writes all models; a weight that several of them have is written once, to shared_data_path(output). The files appear together.
Diagnostics write_models(const std::vector<SignatureExport>&, const Options&, const std::string& output,
                         onnx::Written* = nullptr, Meter* = nullptr);

}  // namespace t2o
