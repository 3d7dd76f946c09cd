#pragma once
#include <vector>

#include "onnx/emitter.h"

namespace t2o::rewriters {

// What stands between the scores of an attention and its softmax, as one tensor that is added to them.
class AttentionMask {
 public:
  // Takes what the node, of which input `scores` are the scores, does to them, before `scale` multiplies it; false when it is
  // something else, or a mask that would have to be multiplied.
  bool take(const ir::Node&, std::size_t scores, double scale);
  // The same of scores * b - c * (1 - b), where b is 0 or 1: the scores; null when it is something else.
  Value* take_product(const ir::Node&);
  bool empty() const { return terms_.empty(); }
  // It can be brought to the shape of the scores, [batch, head, row, column], and makes them no larger than emit() can.
  // `columns_stay`: what the weights are multiplied with is known to have the columns of the scores.
  bool fits(const Shape& scores, bool columns_stay) const;
  // ONNX Runtime wants rows and columns as they are; `of` are query, key and value: the first two have them at `axis`. They are
  // broadcast to the batches and the query to the rows of the mask, where these might be more.
  Value* emit(Emitter&, const Shape& scores, Values& of, int axis) const;

 private:
  struct Term {
    Value* value = nullptr;  // what is added; or where it is true, or 1 (`hides`: false), the scores stand
    bool negated = false;    // it is subtracted
    bool is_condition = false, hides = false;
    double hidden = 0;       // what stands in place of the scores
  };
  bool stays_the_same() const;
  Value* sum(Emitter&, DType) const;
  static void broadcast(Emitter&, Value* sum, const Shape& scores, Values& of, int axis);
  static Value* added(Emitter&, const Term&);
  Value* chosen(Emitter&, const Term&, Value* inner, DType) const;

  std::vector<Term> terms_;  // from the softmax inwards
};

}  // namespace t2o::rewriters
