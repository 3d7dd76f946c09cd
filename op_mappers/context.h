#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/complex.h"
#include "onnx/emitter.h"

namespace t2o {

enum class Layout : std::uint8_t { channels_last, channels_first };

// What a mapper sees: the source node, its inputs already mapped, and the Emitter. A mapper states the mathematics.
class MapperContext : public Emitter {
 public:
  MapperContext(const ir::Node& source, Values in, ir::Graph& out, const Target& target)
      : Emitter(out, target, source.shared_origin()), source_(&source), in_(std::move(in)), read_(source.attrs().size()) {}

  const ir::Node& node() const { return *source_; }
  std::size_t input_count() const { return in_.size(); }
  Value* in(std::size_t i) const {                                 // the mapped value: has dtype, shape and maybe constant()
    if (i >= in_.size()) fail(Code::bad_model, "the node has " + std::to_string(in_.size()) + " inputs, and the mapper reads number " + std::to_string(i));
    return in_[i];
  }
  const Values& inputs() const { return in_; }
  // TensorFlow's own; may be undefined. For complex numbers: the type of the parts, and the shape without their axis.
  DType output_dtype(std::size_t i = 0) const { return part_type(source_->output(i)->dtype()); }
  const Shape& output_shape(std::size_t i = 0) const { return source_->output(i)->shape(); }

  // Attributes. Each one of the source must be read or listed in the row's ignores(); an unread one is an error in tests.
  template <class T> T attr(std::string_view name, SourceLoc at = SourceLoc::here()) const {
    const Attr* a = raw_attr(name);
    if (!a) fail(Code::bad_model, "attribute '" + std::string(name) + "' is missing", "", at);
    return get<T>(*a, name, at);
  }
  template <class T> T attr_or(std::string_view name, T fallback, SourceLoc at = SourceLoc::here()) const {
    const Attr* a = raw_attr(name);
    return a ? get<T>(*a, name, at) : std::move(fallback);
  }
  bool flag(std::string_view name) const { return attr_or<std::int64_t>(name, 0) != 0; }
  const Attr* raw_attr(std::string_view name) const {
    for (std::size_t i = 0; i < source_->attrs().size(); ++i)
      if (source_->attrs()[i].name == name) {
        read_[i] = true;
        return &source_->attrs()[i].value;
      }
    return nullptr;
  }
  void also_read_by(const MapperContext& other) {  // another context of the same node
    for (std::size_t i = 0; i < read_.size(); ++i) read_[i] = read_[i] || other.read_[i];
  }
  std::vector<std::string> unread_attrs() const;  // without those that begin with "_" and the type attributes

  Layout layout(SourceLoc at = SourceLoc::here()) const;  // data_format; refuses what it does not know (NCHW_VECT_C ...)

  // Facts that must be known at conversion time. Each function refuses the node, with the input's name, if its fact is not.
  Ints const_ints(std::size_t i, SourceLoc at = SourceLoc::here()) const;
  std::int64_t const_int(std::size_t i, SourceLoc at = SourceLoc::here()) const;  // one element
  std::optional<Ints> maybe_ints(std::size_t i) const { return constant_ints(in(i)); }
  std::int64_t dim_of(std::size_t input, int axis, SourceLoc at = SourceLoc::here()) const;
  int rank(std::size_t input, SourceLoc at = SourceLoc::here()) const;
  // An axis that the model names, counted from the front. Refuses an axis that a tensor of this rank does not have.
  std::int64_t front_axis(std::int64_t axis, std::int64_t rank, SourceLoc at = SourceLoc::here()) const;
  bool has_rank(std::size_t input) const { return in(input)->shape().ranked(); }

 private:
  template <class T> T get(const Attr& a, std::string_view name, SourceLoc at) const {
    const T* v = std::get_if<T>(&a);
    if (!v) fail(Code::bad_model, "attribute '" + std::string(name) + "' has another type than expected", "", at);
    return *v;
  }
  const ir::Node* source_;
  Values in_;
  mutable std::vector<bool> read_;  // by attribute
};

}  // namespace t2o
