#pragma once
#include "rewriters/pattern.h"

namespace t2o::rewriters {

Rewriter complex_lists();  // a TensorList of complex numbers is one of pairs (re, im)

}  // namespace t2o::rewriters
