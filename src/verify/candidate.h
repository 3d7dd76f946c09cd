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
  // A state that the model hands on begins with its own value, and goes on from run to run.
  std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs);
  void forget_states() { state_.clear(); }  // the next run begins with the initial ones
  bool has_state() const { return !states_.empty(); }
  engines::Feeds feeds(const std::vector<TensorPtr>& inputs) const;  // as the ONNX model wants them

 private:
  struct Match {
    std::string name;
    bool nchw = false;  // the ONNX model has it channels first, the source channels last
  };
  void find_states();
  std::vector<Match> match(const std::vector<engines::TensorInfo>& infos, std::vector<Port>& ports,
                           const std::vector<std::string>& as_nchw, const std::string& what);

  engines::OrtSession session_;
  Strings states_;        // the names of the inputs; those of the outputs end in "_out"
  engines::Feeds state_;  // what the last run left; empty before the first
  std::vector<Match> inputs_, outputs_;
};

TensorPtr transposed(const TensorPtr& tensor, const Ints& permutation);

}  // namespace t2o::verify
