#pragma once
#include <unordered_map>
#include <vector>

#include "rewriters/tf/loop.h"
#include "tfgraph/internal_ops.h"

// The mathematics of one step of a loop over [batch, width] tensors. Cells compute their gates in one matrix, in
// separate matrices, or partly so. By columns all of these look the same.
namespace t2o::rewriters {

struct Columns {  // a range of the last axis
  Value* value = nullptr;
  std::int64_t begin = 0, count = 0;
  bool operator==(const Columns&) const = default;
};

struct Product {  // sign * operand @ weight[rows, columns]
  Columns operand;
  Value* weight;
  Range rows, columns;
  bool transposed;  // weight[columns, rows] is stored
  double sign;
};
struct Bias {  // sign * an invariant vector, or scalar
  Columns vector;
  double sign;
};
struct Diagonal {  // operand * an invariant vector
  Columns operand, vector;
  double sign;
};
struct Linear {
  std::vector<Product> products;
  std::vector<Bias> biases;
  std::vector<Diagonal> diagonals;
  std::vector<Columns> others;  // all other summands
  std::size_t size() const { return products.size() + biases.size() + diagonals.size() + others.size(); }
};

using tfgraph::Activation;

inline const std::vector<std::string_view> kMatMuls = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"};
bool is_last_axis(Value* axis, int rank);

class StepMath {
 public:
  explicit StepMath(const Loop& loop) : loop_(&loop) {}

  std::int64_t width(Value* v);  // -1: unknown
  int rank(Value* v);            // -1: unknown
  bool is_last(Value* axis, Value* of);
  static bool transposes_b(const ir::Node& n);
  Columns all(Value* v) { return {v, 0, width(v)}; }
  Columns resolve(Columns c);                        // to where these columns are computed
  Columns operand(const Columns& c, std::size_t i);  // of the elementwise node that computes c

  // The node that computes the columns, if it has one of these ops: "Add|AddV2".
  const ir::Node* made_by(const Columns& c, const std::vector<std::string_view>& ops) const;

  Linear linear(const Columns& c);
  Activation activation(const Columns& c, Columns& argument);  // Affine(1, 0) if there is none
  // [x, h] @ weight[:, columns], split by the parts of [x, h]; false if a width is unknown.
  bool products(const std::vector<Columns>& operands, Value* weight, Range columns,
                std::vector<Product>& out);
  std::vector<Columns> parts(Value* v);  // splits [batch, width] into the operands of its concatenation
  bool is_vector(Value* v);              // an invariant that is the same for each row of the batch

 private:
  struct Term {
    Columns columns;
    double sign;
  };
  using WidthRule = std::int64_t (*)(StepMath&, const ir::Node&, std::size_t output);
  static const std::unordered_map<std::string_view, WidthRule>& width_rules();
  static std::int64_t product_width(StepMath&, const ir::Node&, std::size_t output);
  static void add_operands(const Value* v, Values& needs);
  bool knows_width(Value* v, std::int64_t& w) const;
  int find_rank(const ir::Node& n);
  Ints widths_of_parts(Value* v);
  bool resolve_once(Columns& c);
  bool is_ones_for(Value* ones, Value* x);
  void add_term(Term, std::vector<Term>& addends, Linear& out);
  bool add_product(const Columns& c, const ir::Node& n, double sign, Linear& out);
  bool add_products(const Columns& whole, std::int64_t row, Product p, Linear& out);
  bool add_scaled(const Columns& c, const ir::Node& n, double sign, Linear& out);
  bool scalar_operand(const Columns& c, double& scalar, std::size_t& other);
  struct Affine;
  Affine affine(Columns c);
  bool clipped(const Columns& c, Columns& argument, double& low, double& high);

  const Loop* loop_;
  std::unordered_map<const Value*, std::int64_t> widths_;
  std::unordered_map<const Value*, int> ranks_;
};

}  // namespace t2o::rewriters
