#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/lists.h"

namespace t2o {

using Ints = std::vector<std::int64_t>;
inline Ints repeated(std::int64_t value, std::int64_t count) { return Ints(static_cast<std::size_t>(count), value); }
Ints ints_from(std::int64_t first, std::int64_t last);  // first, first + 1 ... last - 1

// A dimension. 0 and above: its size. -1: unknown. -2 and below: a symbol ("batch") of the graph's Symbols.
// Two dims that carry the same symbol are equal at run time.
using Dim = std::int64_t;
constexpr Dim kUnknownDim = -1;
inline bool is_known(Dim d) { return d >= 0; }
inline bool is_symbol(Dim d) { return d <= -2; }

class Symbols {  // shared by a graph, its subgraphs and the graphs mapped from it
 public:
  Dim intern(std::string_view name);
  Dim fresh();  // a symbol that no other dim has

  // Symbols computed from other symbols: factor * base + offset, named "2*h+1". Every symbol has this form; a plain symbol is
  // 1 * itself + 0.
  struct Affine {
    Dim base;
    std::int64_t factor, offset;
  };
  Dim affine(Dim symbol, std::int64_t factor, std::int64_t offset);  // `symbol` may itself be computed; factor >= 1
  Affine affine_of(Dim symbol) const;
  const std::string& name(Dim symbol) const { return names_[static_cast<std::size_t>(-2 - symbol)]; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, Dim> ids_;
  std::unordered_map<Dim, Affine> derived_;
  int fresh_ = 0;
};

// Arithmetic on dims. The result is a number, a symbol, or a symbol computed from one symbol; else kUnknownDim.
Dim add_dims(Dim, Dim, Symbols&);
Dim subtract_dims(Dim, Dim, Symbols&);
Dim multiply_dims(Dim, Dim, Symbols&);
Dim divide_dims(Dim, Dim, Symbols&);  // by a number; unknown if rounding down and rounding towards zero may differ
Dim floor_divide_dims(Dim, Dim, Symbols&);
Dim larger_dim(Dim, Dim, const Symbols&);
Dim smaller_dim(Dim, Dim, const Symbols&);

class Shape {
 public:
  Shape() = default;  // rank unknown
  Shape(Ints dims) : dims_(std::move(dims)) {}
  static Shape scalar() { return Shape(Ints{}); }
  static Shape unknown_dims(int rank) { return Shape(Ints(static_cast<std::size_t>(rank), kUnknownDim)); }

  bool ranked() const { return dims_.has_value(); }
  int rank() const { return static_cast<int>(dims_->size()); }            // only if ranked
  const Ints& dims() const { return *dims_; }                             // only if ranked
  Dim operator[](int axis) const;                                         // negative axes count from the end
  bool is_static() const;                                                 // ranked and every dim known
  bool is_scalar() const { return ranked() && dims_->empty(); }
  std::optional<std::int64_t> elements() const;                           // if static
  bool operator==(const Shape&) const = default;

 private:
  std::optional<Ints> dims_;
};

// The shape of a value that has both shapes: the more definite dim wins. nullopt if they contradict each other.
std::optional<Shape> merge(const Shape&, const Shape&);

}  // namespace t2o
