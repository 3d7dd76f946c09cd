#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engines/tensorflow.h"
#include "tf2onnx/options.h"
#include "verify/inputs.h"
#include "verify/tf_variables.h"
#include "verify/unoptimized.h"

namespace t2o::verify {

// The source model, run by TensorFlow itself through the interface that its conversion would have.
class Reference {
 public:
  Reference(const tf2onnx::Options& source, const engines::TfSessionOptions& engine);
  const std::vector<Port>& inputs() const { return inputs_; }  // names as in the exported model
  const std::vector<Port>& outputs() const { return outputs_; }
  std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs);
  DType coarsest() const { return coarsest_; }  // of the types it computes in: f16, bf16 or else undefined
  void keep_state() { keeps_state_ = true; }  // a run goes on where the last has ended

 private:
  std::vector<Port> inputs_, outputs_;
  std::unique_ptr<UnoptimizedSavedModel> saved_model_;  // while the session may read of it
  std::unique_ptr<engines::TfSession> session_;
  Assignments assignments_;  // before each run, or the first that keeps the state
  bool keeps_state_ = false;
  DType coarsest_ = DType::undefined;
};

}  // namespace t2o::verify
