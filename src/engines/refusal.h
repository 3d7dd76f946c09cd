#pragma once
#include "diagnostics.h"

namespace t2o::engines {

// What a source model's own runtime refuses.
class Refusal : public ConversionError {
 public:
  Refusal(Diagnostic d, bool blames_values) : ConversionError(std::move(d)), blames_values_(blames_values) {}
  bool blames_values() const { return blames_values_; }  // with others it may do what it was asked for

 private:
  bool blames_values_;
};

}  // namespace t2o::engines
