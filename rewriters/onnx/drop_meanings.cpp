#include "onnx/meaning.h"

#include "rewriters/all.h"

// What an operator means beyond ONNX's, and no row of the target runtime has written, is not asked for.
namespace t2o::rewriters {

Rewriter drop_meanings() {
  return for_each_node("drop_meanings", {},
                       [](ir::Graph& g, ir::Node& n) { return onnx::drop_meanings(g, n) ? 1 : 0; });
}

}  // namespace t2o::rewriters
