#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engines/onnxruntime.h"
#include "onnx/emitter.h"
#include "verify/random.h"

// Small graphs of ONNX's operators, drawn at random, with values for their inputs.
namespace t2o::facts_test {

struct Drawn {
  GraphPtr graph;
  Target target;
  engines::Feeds feeds;
  bool has_empty_input = false;  // a size of an input is 0 in this run
  bool may_shrink = false;       // an operator may make a size of 0 out of sizes of 1 and more
  bool has_big_integers = false;  // among the constants
};

// A value whose sizes in this run are known, so that operands fit.
struct Sized {
  Value* value;
  std::optional<Ints> dims;  // nullopt: data decide
  std::int64_t count() const { return element_count(*dims); }
  int rank() const { return static_cast<int>(dims->size()); }
};

class Drawer {
 public:
  explicit Drawer(std::uint64_t seed);
  Drawn draw();

 private:
  // ---- chance
  bool chance(double p) { return random_.uniform() < p; }
  std::int64_t below(std::int64_t n) { return random_.integer(0, n - 1); }
  template <class T> const T& one_of(const std::vector<T>& all) { return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))]; }
  const char* one_of(std::initializer_list<const char*> all) { return std::data(all)[below(static_cast<std::int64_t>(all.size()))]; }
  double number(DType);
  TensorPtr tensor(DType, const Ints& dims);
  TensorPtr moderate(const Ints& dims);  // weights

  // ---- values
  enum class Kind : std::uint8_t { any, real, integer, numeric, flag };
  Sized pick(Kind);                        // of those that are there, with known sizes
  Sized like(const Sized&);                // of the same type, broadcast with it
  Sized constant(DType, Ints dims);
  Sized nonzero(const Sized& like);        // a divisor of integers
  Sized input();
  void keep(Value*, std::optional<Ints> dims);
  void emit(const char* op, const std::vector<Sized>& in, Attrs attrs, std::optional<Ints> dims);

  // ---- operators
  void unary();
  void binary();
  void logic();
  void several();
  void convert();
  void clip();
  void reduce();
  void along();
  void move();
  void join();
  void cut();
  void sizes();
  void of_data();
  void spread();
  void layer();
  void image();
  void codes();
  void recurrent();
  void branch();

  verify::Random random_;
  Drawn drawn_;
  Target target_;
  std::optional<Emitter> e_;
  std::vector<Sized> values_;
};

Ints broadcast(const Ints& a, const Ints& b);

}  // namespace t2o::facts_test
