#pragma once
#include "diagnostics.h"

namespace t2o {

enum ExitCode : int {
  kDone = 0,
  kNotConvertible = 1,
  kUsage = 2,
  kVerificationFailed = 3,
  kBadInput = 4,
  kEngineMissing = 5,
};

// What a run with these diagnostics ends in. Of several kinds of errors the one that is to be mended first
// decides.
ExitCode exit_code(const Diagnostics&);

}  // namespace t2o
