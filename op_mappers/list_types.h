#pragma once
#include <memory>
#include <unordered_set>
#include <vector>

#include "tfgraph/lists.h"

// What is known of a mapped value beside its ONNX type.
namespace t2o {

enum class ListForm : std::uint8_t {
  stacked,   // one tensor: [length, dims of the elements]. An unknown size of the elements is 1 before the first write
  fresh,     // nothing was written, and the rank of the elements is not known: a vector of zeros, one for each element
  scanned,   // in the body of a loop that writes the list once in each round and does nothing else with it: the element
  sequence,  // an ONNX sequence: the elements may differ in size
  appended,  // a sequence inside a loop that writes the list from the front on and does nothing else with it: the elements so far
};

enum class Filled : std::uint8_t { never, maybe, surely };  // whether an element was written

struct ListType {
  DType dtype = DType::undefined;  // of the elements in TensorFlow; complex elements are pairs
  ListForm form = ListForm::stacked;
  Filled filled = Filled::never;
  Shape element = {};  // the common shape of all written elements, as tensors of ONNX; nothing is known if none was written

  bool is_sequence() const { return form == ListForm::sequence || form == ListForm::appended; }
  bool operator==(const ListType&) const = default;
};

// The type of a value that is one list or the other.
ListType common(const ListType&, const ListType&);

enum class Kind : std::uint8_t {
  tensor,
  pairs,     // a complex tensor: pairs (re, im) along one more, last axis
  list,      // a TensorList
  contents,  // a handle: what it stands for, as the tensor that a variable holds
};

// A value of the source graph as it is mapped.
struct Mapped {
  Mapped(Value* v = nullptr) : value(v) {}  // implicit: most values are tensors
  Mapped(Value* v, ListType type) : value(v), kind(Kind::list), list(std::make_shared<const ListType>(std::move(type))) {}

  Value* value;
  Kind kind = Kind::tensor;
  std::shared_ptr<const ListType> list;  // of a list
};
using MappedValues = std::vector<Mapped>;

// A value that is a list.
struct List {
  Value* value;
  ListType type;

  bool is_fresh() const { return type.form == ListForm::fresh; }
  bool is_sequence() const { return type.is_sequence(); }
  operator Mapped() const { return {value, type}; }
};

// Which lists are sequences. A family of lists is one tensor until a mapper finds elements of different sizes; then the graph
// is mapped again, with a sequence for each list of the family.
class ListPlan {
 public:
  explicit ListPlan(const ir::Graph& source) : lists_(source) {}

  const tfgraph::Lists& lists() const { return lists_; }
  bool is_sequence(Value* list) const { return sequences_.contains(lists_.id_of(list)); }
  void make_sequence(Value* list) { found_.insert(lists_.id_of(list)); }
  bool begin_again();  // whether sequences were found since the mapping began; they are sequences from now on

 private:
  tfgraph::Lists lists_;
  std::unordered_set<const Value*> sequences_, found_;
};

}  // namespace t2o
