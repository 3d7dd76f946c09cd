#pragma once
#include <vector>

#include "onnx/emitter.h"

namespace t2o::rewriters {

// The masks between the scores of an attention and its softmax, as one tensor that is added to the scores.
class AttentionMask {
 public:
  // Adds the mask that the node applies to its input number `scores`, before `scale` multiplies the sum. False if the node
  // applies no mask, or one that multiplies the scores.
  bool take(const ir::Node&, std::size_t scores, double scale);
  // The same for scores * b - c * (1 - b), where b is 0 or 1. Returns the scores; null if the node computes something else.
  Value* take_product(const ir::Node&);
  bool empty() const { return terms_.empty(); }
  // Whether the mask broadcasts to the shape of the scores, [batch, head, row, column], and broadcasts the scores no further
  // than emit() can. `columns_stay`: the value matrix is known to have as many rows as the scores have columns.
  bool fits(const Shape& scores, bool columns_stay) const;
  // Emits the mask with the columns of the scores, and with their rows if the target needs whole masks. `of` are query, key and
  // value; query and key have their rows at `axis`. If the mask may have more batches, they are broadcast to these; if it may have more rows, the
  // query is broadcast to these.
  Value* emit(Emitter&, const Shape& scores, Values& of, int axis) const;

 private:
  struct Term {
    Value* value = nullptr;  // a summand; or a condition that keeps the scores where it is true or 1 (`hides`: where it is false)
    bool negated = false;    // the summand is subtracted
    bool is_condition = false, hides = false;
    double hidden = 0;       // the value that replaces hidden scores
  };
  bool stays_the_same() const;
  Value* sum(Emitter&, DType) const;
  static void broadcast(Emitter&, Value* sum, const Shape& scores, Values& of, int axis);
  static Value* added(Emitter&, const Term&);
  Value* chosen(Emitter&, const Term&, Value* inner, DType) const;

  std::vector<Term> terms_;  // in order from the softmax to the scores
};

}  // namespace t2o::rewriters
