#pragma once
#include <memory>
#include <string>

#include "formats/source.h"
#include "support/atomic_file.h"

namespace t2o {

// Writes the frozen model under a temporary name before the ONNX model is written. commit() gives it its own name, once the
// ONNX model is there.
class FrozenFile {
 public:
  FrozenFile(const FrozenModel* model, const std::string& path) {
    if (!model) return;
    file_ = std::make_unique<AtomicFile>(path);
    file_->reserve(model->size());
    model->stream([&](Bytes b) { file_->write(b); });
  }
  void commit() const {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace t2o
