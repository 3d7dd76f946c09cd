#pragma once
#include <optional>

#include "ir/graph.h"

namespace t2o::rewriters {

// Another order of the axes for tensors of one rank: the permuted tensor is Transpose(tensor, perm).
class Form {
 public:
  explicit Form(Ints perm);

  const Ints& perm() const { return perm_; }
  const Ints& inverse() const { return inverse_; }
  int rank() const { return static_cast<int>(perm_.size()); }
  std::int64_t axis(std::int64_t a) const { return inverse_[static_cast<std::size_t>(a < 0 ? a + rank() : a)]; }  // its position in the permuted tensor
  Ints axes(Ints) const;
  Ints entries(const Ints& one_for_each_axis) const;
  Shape shape(const Shape&) const;                       // of the permuted tensor
  bool has(const Value* v) const { return v && v->shape().ranked() && v->shape().rank() == rank(); }
  bool keeps_order_without(const Ints& axes) const;      // the other axes have the same order in both
  bool moves_runs() const;                               // whole runs of elements: the last axis stays last, or one block of axes moves
  bool moves_only_ones(const Shape&) const;              // it moves only axes of size 1, so the bytes stay the same
  // A Reshape of the permuted tensor, of shape `from`, gives the reshaped tensor, of shape `to`, in this form. Nullopt: it parts
  // elements that a merged or split axis holds together, or it gives them in their original order.
  std::optional<Form> carried(const Shape& from, const Shape& to) const;

 private:
  Ints perm_, inverse_;
};

// The perm for which y is Transpose(x, perm), where the plain y is Transpose(the plain x, plain). Null: that side is plain.
Ints perm_between(const Form* of_x, const Ints& plain, const Form* of_y);

}  // namespace t2o::rewriters
