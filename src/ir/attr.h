#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/shape.h"
#include "ir/tensor.h"

namespace t2o {

namespace ir {
class Graph;
class Node;
class Value;
struct NamedAttr;
}  // namespace ir

using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using DTypes = std::vector<DType>;
using Shapes = std::vector<Shape>;
using GraphPtr = std::shared_ptr<ir::Graph>;
using Graphs = std::vector<GraphPtr>;

struct Func {  // a function by name, with its own attributes: TensorFlow's attr of type "func"
  std::string name;
  std::vector<ir::NamedAttr> attrs;
  bool operator==(const Func&) const;
};
using Funcs = std::vector<Func>;

// Booleans are int64_t 0 and 1. There is no double, because TensorFlow has none.
using Attr = std::variant<std::int64_t, float, std::string, Ints, Floats, Strings, DType, Shape, TensorPtr, GraphPtr, DTypes,
                          Shapes, Func, Funcs, Graphs>;

namespace ir {
struct NamedAttr {
  std::string name;
  Attr value;
  bool operator==(const NamedAttr&) const = default;
};
}  // namespace ir
inline bool Func::operator==(const Func& o) const { return name == o.name && attrs == o.attrs; }

using Attrs = std::vector<ir::NamedAttr>;
using Value = ir::Value;
using Values = std::vector<ir::Value*>;

}  // namespace t2o
