#pragma once
#include <functional>

#include "recipe.h"
#include "verify/random.h"

namespace t2o::random_graphs {

struct Dropped {};  // what was drawn is not to be had: TensorFlow refuses it, or it cannot be compared

// What an op does to floats: hands them on; rounds once or a few times; computes a function.
enum class Rounding : std::uint8_t { moves, once, many };

// Where values come from.
enum class Domain : std::uint8_t { any, positive, unit, divisor, small, shift };

extern const DTypes kFloats, kInts, kReals, kNumbers, kAll, kIndices;

// Draws a recipe step by step. Each op is run by TensorFlow when it is drawn: what it refuses is dropped, and shapes and values
// are known to what is drawn next. An op is also run on inputs that are as wrong as rounding may make them: how much the
// result changes is the error that it may have, and an op whose discrete result changes is dropped, for it compares nothing.
class Drawer {
 public:
  Drawer(verify::Random& random, bool special);
  explicit Drawer(const Drawer& around);  // of a body

  // ---- chance
  bool chance(double p) { return random_.uniform() < p; }
  std::int64_t below(std::int64_t n) { return random_.integer(0, n - 1); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return random_.integer(low, high); }
  template <class T> const T& one_of(const std::vector<T>& v) { return v[static_cast<std::size_t>(below(static_cast<std::int64_t>(v.size())))]; }
  verify::Random& random() { return random_; }

  // ---- values: one that is there, or a new one
  Ref pick(const DTypes&, int least_rank = 0, int most_rank = 5, Domain = Domain::any);
  Ref pick_if(const std::function<bool(const Tensor&)>& fits, const std::function<Ref()>& otherwise);
  Ref partner(Ref, Domain = Domain::any);  // of the same dtype; the shapes broadcast
  Ref leaf(DType, Ints dims, Domain = Domain::any);  // fed or constant
  Ref leaf(const TensorPtr&);
  Ref constant(const TensorPtr&);
  Ref argument(const TensorPtr&);
  Ref index(Ints dims, const Ints& values, double fed = 0.1);  // i32 or i64
  Ref like(Ref, Domain = Domain::any);           // same dtype, same shape
  DType dtype(const DTypes& of);
  Ints dims(int least_rank, int most_rank);
  TensorPtr random_tensor(DType, const Ints& dims, Domain);

  // ---- ops
  Ref op(std::string op, std::vector<In> inputs, std::vector<engines::TfAttr> attrs = {}, Rounding = Rounding::moves);
  Ref add(Step, Rounding);  // the first result

  const Tensor& tensor(Ref r) const { return *recipe_.tensor(r); }
  const Ints& dims(Ref r) const { return tensor(r).dims(); }
  int rank(Ref r) const { return tensor(r).rank(); }
  DType dtype(Ref r) const { return tensor(r).dtype(); }
  bool exact(Ref r) const { return recipe_.steps[r.step].errors.at(static_cast<std::size_t>(r.output)).empty(); }
  std::int64_t axis(Ref r);  // of a rank of at least 1; may be negative
  bool special() const { return recipe_.special; }
  void only_special() const { if (!special()) throw Dropped(); }
  int depth() const { return depth_; }

  Recipe& recipe() { return recipe_; }
  const std::vector<Ref>& pool() const { return pool_; }
  std::size_t ops() const { return ops_; }

 private:
  Ref add_leaf(Kind, const TensorPtr&);
  std::vector<TensorPtr> run(const Step&, const std::vector<std::pair<Ref, TensorPtr>>& replaced);
  void measure_errors(Step&, Rounding);

  verify::Random& random_;
  Recipe recipe_;
  engines::TfGraph graph_;
  engines::TfSession session_;
  std::vector<Ref> pool_;
  int depth_ = 0;
  DTypes palette_;  // the types and sizes that this graph has more of: its values fit together
  Ints sizes_;
  std::size_t serial_ = 0, ops_ = 0;
};

bool fits(const Tensor&, DType);  // whether each number has a place in the type: else C++ leaves its cast open
bool is_ordinary(const Tensor&);  // no NaN, no infinity, no denormal, not empty

// The makers: each draws one op or a few that belong together.
struct Maker {
  std::string name;
  int weight;
  std::function<void(Drawer&)> draw;
};
void add_elementwise(std::vector<Maker>&);
void add_reductions(std::vector<Maker>&);
void add_moves(std::vector<Maker>&);
void add_indexing(std::vector<Maker>&);
void add_shapes(std::vector<Maker>&);
void add_images(std::vector<Maker>&);
void add_patterns(std::vector<Maker>&);
void add_control_flow(std::vector<Maker>&);
const std::vector<Maker>& makers();
void draw_ops(Drawer&, std::size_t count);  // with any of the makers

Recipe draw_recipe(std::uint64_t seed);

}  // namespace t2o::random_graphs
