#pragma once
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "diagnostics.h"
#include "ir/graph.h"
#include "tflite/model.h"

// What the rows of the operators see of an operator, and how they make TensorFlow's nodes from it.
namespace t2o::tflite {

using B = schema::BuiltinOperator;
class Lowering;
class Op;

// A tensor of the graph. A quantized one has a value for its codes or one for its numbers, and gets the other when it is asked for.
struct Slot {
  Value* codes = nullptr;
  Value* numbers = nullptr;  // of a tensor that is not quantized its value
  std::optional<Quantization> quantization = {};  // of the codes
  std::optional<std::size_t> state = {};          // a handle of this state; it has no value then
  bool is_known() const { return codes || numbers || state; }
};

// One subgraph, or one that is inlined into it.
struct Scope {
  std::size_t subgraph = 0;
  ir::Graph* graph = nullptr;
  std::vector<Slot> slots = {};
  bool is_main = false;
  std::vector<std::uint8_t> failed = {};  // tensors whose operator is refused
  std::vector<std::uint8_t> reads = {};   // how often operators read each tensor; 2: twice or more often
};

// What an operator does with the codes of quantized tensors.
enum class Codes : std::uint8_t {
  numbers,  // it computes with the numbers
  moved,    // it moves elements: where the inputs and the outputs are quantized alike it moves the codes
};

inline bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

struct Row {
  B op;
  const char* tf = nullptr;  // TensorFlow's operator
  Attrs (*attrs)(const Op&) = nullptr;
  Values (*lower)(Op&) = nullptr;  // null: TensorFlow's operator has the same inputs in the same order
  Codes codes = Codes::numbers;
};

const Row* find_row(B);  // null: there is none

// An operator that has no row, and why.
struct RefusedOp {
  B op;
  Code code;
  const char* reason;
  const char* remedy = "";
};
const RefusedOp* find_refusal(B);  // null: there is none

class Op {
 public:
  Op(Lowering& l, Scope& s, const schema::Operator& o, const Row& row, std::shared_ptr<const Origin> origin)
      : lowering_(&l), scope_(&s), op_(&o), row_(&row), origin_(std::move(origin)) {}

  const schema::Operator& raw() const { return *op_; }
  const Row& row() const { return *row_; }
  Scope& scope() const { return *scope_; }
  Lowering& lowering() const { return *lowering_; }

  std::size_t input_count() const { return count(op_->inputs()); }
  std::size_t output_count() const { return count(op_->outputs()); }
  bool has(std::size_t i) const { return i < input_count() && input_index(i) >= 0; }
  std::int64_t input_index(std::size_t i) const;
  bool is_only_reader(std::size_t i) const;           // no other operator reads this input, and this one reads it once
  const schema::Tensor& input(std::size_t i) const;   // refuses an operator without it
  const schema::Tensor& output(std::size_t i = 0) const;
  DType output_type(std::size_t i = 0) const;
  DType input_type(std::size_t i) const;

  Value* in(std::size_t i) const;     // the numbers, or what is moved
  Value* weights(std::size_t i) const;  // the numbers
  Value* layer_weights(std::size_t i) const;  // the same of a layer's weights: in a layer of floats, u8 is i8
  Value* codes(std::size_t i) const;  // the codes of a quantized tensor, else the value
  Value* numbers_of_codes(std::size_t i, const Quantization&) const;  // the numbers with other scales than the file's
  Value* codes_of_result(Value* numbers, const Quantization&) const;  // the first output, with other scales than the file's
  Values all() const;                 // of the inputs that are there
  void bind_handle(std::size_t output, std::size_t state);  // the output is a handle of this state
  std::size_t state(std::size_t input) const;                // of a handle
  void as_codes(bool yes) { moves_codes_ = yes; }
  bool moves_codes() const { return moves_codes_; }
  std::optional<Quantization> quantization(std::size_t input) const;  // of the codes in the graph
  std::optional<Quantization> quantization_in_file(std::size_t input) const;  // also in a dequantized model
  std::optional<Quantization> output_quantization() const;             // the same of the first output
  // The sizes of an input. Of what an operator computes the file may state none; they are unknown then, unless a constant tells them.
  std::optional<Ints> sizes(std::size_t i) const;
  std::size_t rank(std::size_t i) const;             // refuses an unknown one
  Ints dims(std::size_t i, std::size_t rank) const;  // refuses another rank and unknown sizes

  // The table of options; without one, all of its fields have their defaults.
  template <class T> const T& options() const {
    if (op_->builtin_options_type() == schema::BuiltinOptions::NONE) return empty<T>();
    if (const T* t = op_->builtin_options_as<T>()) return *t;
    fail(Code::bad_model, "it has the options of another operator");
  }
  template <class T> const T& options2() const {
    if (op_->builtin_options2_type() == schema::BuiltinOptions2::NONE) return empty<T>();
    if (const T* t = op_->builtin_options2_as<T>()) return *t;
    fail(Code::bad_model, "it has the options of another operator");
  }

  Value* make(const std::string& tf, Values inputs, Attrs attrs = {}) { return make_all(tf, std::move(inputs), std::move(attrs)).at(0); }
  Values make_all(const std::string& tf, Values inputs, Attrs attrs = {});
  Values make_from_node_def(Bytes node_def, Values inputs);
  Values make_own_all(const std::string& op, Values inputs, Attrs attrs, std::size_t outputs);
  Values make_foreign(const std::string& op, Values inputs, Attrs attrs, std::vector<ir::OutputSpec> outputs);
  Value* make_own(const std::string& op, Values inputs, Attrs attrs);  // t2o.*; the result has the first input's type
  Value* constant(TensorPtr);
  Value* ints(const Ints&, DType = DType::i32);  // 1-D
  Value* scalar(DType, double);
  Value* scalar_like(const Value* like, double v) { return scalar(like->dtype(), v); }
  Value* transpose(Value* x, const Ints& perm) { return make("Transpose", {x, ints(perm)}); }
  Value* reshape(Value* x, const Ints& dims) { return make("Reshape", {x, ints(dims)}); }
  Value* activation(Value* y, schema::ActivationFunctionType);

  Op within(Scope& body) const;  // makes its nodes there
  Shape shape(const schema::Tensor&) const;  // unknown where the options change the sizes of the file

  [[noreturn]] void fail(Code code, const std::string& why, const std::string& remedy = "") const { t2o::fail(code, why, remedy); }

 private:
  Values add(ir::NodeSpec);
  template <class T> static const T& empty() { return *flatbuffers::GetRoot<T>(empty_table()); }
  static const void* empty_table();

  Lowering* lowering_;
  Scope* scope_;
  const schema::Operator* op_;
  const Row* row_;
  std::shared_ptr<const Origin> origin_;
  bool moves_codes_ = false;
};

// The tables of rows, by family.
std::span<const Row> elementwise_rows();
std::span<const Row> array_rows();
std::span<const Row> layer_rows();
std::span<const Row> control_flow_rows();
std::span<const Row> quantize_rows();
std::span<const Row> custom_rows();
std::span<const Row> state_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> lookup_rows();
std::span<const Row> table_rows();
std::span<const Row> stablehlo_rows();

Ints ints_of(const flatbuffers::Vector<std::int32_t>*);
DType type_option(const Op&, schema::TensorType);  // refuses one that is none

}  // namespace t2o::tflite
