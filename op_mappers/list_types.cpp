#include "op_mappers/list_types.h"

namespace t2o {

ListType common(const ListType& a, const ListType& b) {
  ListType both = a.filled == Filled::never ? b : a;
  if (a.filled != Filled::never && b.filled != Filled::never) both.element = common(a.element, b.element);
  if (a.filled != b.filled) both.filled = Filled::maybe;
  if (a.is_sequence()) both.form = ListForm::sequence;
  if (a.form == ListForm::stacked || b.form == ListForm::stacked) both.form = ListForm::stacked;
  return both;
}

bool ListPlan::begin_again() {
  const std::size_t before = sequences_.size();
  sequences_.insert(found_.begin(), found_.end());
  found_.clear();
  return sequences_.size() > before;
}

}  // namespace t2o
