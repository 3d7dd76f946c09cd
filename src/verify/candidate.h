#pragma once
#include <vector>

#include "engines/onnxruntime.h"
#include "tf2onnx/options.h"
#include "verify/inputs.h"

namespace t2o::verify {

// The exported model in ONNX Runtime, with its interface brought into the order and layout of the
// reference's.
class Candidate {
 public:
  // Matches by name, else by position. Sharpens the ports' shapes by what the ONNX model declares, and takes
  // its names.
  Candidate(engines::OrtSession session, const tf2onnx::Options& source, std::vector<Port>& inputs,
            std::vector<Port>& outputs);
  std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs) const;
  engines::Feeds feeds(const std::vector<TensorPtr>& inputs) const;  // as the ONNX model wants them

 private:
  struct Match {
    std::string name;
    bool nchw = false;  // the ONNX model has it channels first, the source channels last
  };
  std::vector<Match> match(const std::vector<engines::TensorInfo>& infos, std::vector<Port>& ports,
                           const std::vector<std::string>& as_nchw, const std::string& what);

  engines::OrtSession session_;
  std::vector<Match> inputs_, outputs_;
};

TensorPtr transposed(const TensorPtr& tensor, const Ints& permutation);

}  // namespace t2o::verify
