#pragma once
#include <vector>

#include "onnx/emitter.h"

namespace t2o::rewriters {

// What stands between the scores of an attention and its softmax, as one tensor that is added to them.
class AttentionMask {
 public:
  // Takes what the node, of which input `scores` are the scores, does to them; false when it is something else.
  bool take(const ir::Node&, std::size_t scores);
  bool empty() const { return terms_.empty(); }
  // It can be brought to the shape of the scores, [batch, head, row, column], and does not make them larger.
  bool fits(const Shape& scores) const;
  // ONNX Runtime wants rows and columns as they are; `of` are query and key, which have them at `axis`.
  Value* emit(Emitter&, const Shape& scores, const Values& of, int axis) const;

 private:
  struct Term {
    Value* value = nullptr;  // what is added; or where it is true (`hides`: false), the scores stand
    bool negated = false;    // it is subtracted
    bool is_condition = false, hides = false;
    double hidden = 0;       // what stands in place of the scores
  };
  Value* term(Emitter&, const Term&, DType) const;

  std::vector<Term> terms_;
};

}  // namespace t2o::rewriters
