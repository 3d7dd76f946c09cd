#include "op_mappers/context.h"

namespace t2o {

std::vector<std::string> MapperContext::unread_attrs() const {
  std::vector<std::string> unread;
  for (std::size_t i = 0; i < read_.size(); ++i) {
    const ir::NamedAttr& a = source_->attrs()[i];
    const bool is_type = std::holds_alternative<DType>(a.value) || std::holds_alternative<DTypes>(a.value);
    if (!is_type && a.name[0] != '_' && !read_[i]) unread.push_back(a.name);
  }
  return unread;
}

Layout MapperContext::layout(SourceLoc at) const {
  const auto f = attr_or<std::string>("data_format", "NHWC");
  if (contains({"NHWC", "NDHWC", "NWC"}, f)) return Layout::channels_last;
  if (contains({"NCHW", "NCDHW", "NCW"}, f)) return Layout::channels_first;
  fail(Code::unsupported_attr, "data_format \"" + f + "\" is not supported",
       "rebuild the layer with NHWC or NCHW", at);
}

Ints MapperContext::const_ints(std::size_t i, SourceLoc at) const {
  if (auto v = constant_ints(in(i))) return *std::move(v);
  fail(Code::not_constant,
       "input " + std::to_string(i) + " ('" + source_->input(i)->name() +
           "') must be known at conversion time",
       "make it a constant in the model | {shapes} | {cut}", at);
}

std::int64_t MapperContext::const_int(std::size_t i, SourceLoc at) const {
  const Ints v = const_ints(i, at);
  if (v.size() != 1)
    fail(Code::bad_model,
         "input " + std::to_string(i) + " has " + std::to_string(v.size()) + " elements, not one", "", at);
  return v[0];
}

std::int64_t MapperContext::dim_of(std::size_t i, int axis, SourceLoc at) const {
  const int r = rank(i, at);
  if (axis < -r || axis >= r)
    fail(Code::bad_model, "input " + std::to_string(i) + " has rank " + std::to_string(r), "", at);
  const Dim d = in(i)->shape()[axis];
  if (!is_known(d))
    fail(Code::not_constant,
         "the size of axis " + std::to_string(axis) + " of input " + std::to_string(i) + " ('" +
             source_->input(i)->name() + "') must be known",
         "{shapes} | {cut}", at);
  return d;
}

int MapperContext::rank(std::size_t i, SourceLoc at) const {
  if (!in(i)->shape().ranked())
    fail(Code::not_constant,
         "the rank of input " + std::to_string(i) + " ('" + source_->input(i)->name() + "') must be known",
         "{shapes} | {cut}", at);
  return in(i)->shape().rank();
}
std::int64_t MapperContext::front_axis(std::int64_t axis, std::int64_t rank, SourceLoc at) const {
  if (axis < -rank || axis >= rank)
    fail(Code::bad_model,
         "axis " + std::to_string(axis) + " is out of range for a rank of " + std::to_string(rank), "", at);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace t2o
