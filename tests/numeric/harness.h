#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnostics.h"
#include "engines/tensorflow.h"
#include "pipeline.h"
#include "tests/support/differential.h"
#include "verify/compare.h"
#include "verify/random.h"

// One line states a case:
//
//   op_case("Conv2D").in(f32, {1, 8, 8, 4}).in(f32, {3, 3, 4, 6}, constant)
//       .attr("strides", Ints{1, 1, 1, 1}).attr("padding", "SAME").check();
//
// The graph is built and run with TensorFlow, converted in process, run with ONNX Runtime, and compared in value, dtype and
// shape, at each opset that matters and in four shape modes. Values that the default fidelity does not promise (docs/fidelity.md)
// are fed to an export made with --fidelity strict alone; where the two levels' exports differ, it is compared on ordinary ones too.
namespace t2o::numeric {

using engines::TfAttr;
using engines::TfAttrValue;
using engines::TfInput;

// So that a case says f32, i64, boolean, string.
using enum t2o::DType;
constexpr DType any = DType::undefined;  // the dtype that .dtypes() expands over

using test::Mode;
using test::name;
enum Kind : std::uint8_t { fed, constant };  // a graph input or a Const node

// Builds the graph of a case; called anew for each mode.
class Builder {
 public:
  std::string input(DType dtype, const Ints& dims, std::optional<verify::Range> range = {});  // random values
  std::string input(const TensorPtr& value);
  std::string const_input(DType dtype, const Ints& dims, std::optional<verify::Range> range = {});
  std::string const_input(const TensorPtr& value);
  template <class T> std::string constant_of(Ints dims, const std::vector<T>& v) {
    return const_input(Tensor::of<T>(std::move(dims), v));
  }
  // Gives the name of the operation, which is its first output; the others are name + ":1" ...
  std::string op(const std::string& op, std::vector<TfInput> inputs, std::vector<TfAttr> attrs = {}, std::string name = "");
  void output(const std::string& tensor) { outputs_.push_back(tensor); }

  DType dtype() const { return dtype_; }  // of the expansion
  engines::TfGraph& graph() { return graph_; }

 private:
  friend class Case;
  Builder(std::string seed, Mode mode, DType dtype, bool empty) : seed_(std::move(seed)), mode_(mode), dtype_(dtype), empty_(empty) {}
  TensorPtr random(DType dtype, const Ints& dims, std::optional<verify::Range> range);

  engines::TfGraph graph_;
  std::string seed_;
  Mode mode_;
  DType dtype_;
  bool empty_;
  int next_ = 0;
  engines::Feeds feeds_;
  Strings outputs_;
  bool reads_specials_ = false;  // a constant has a NaN, a denormal or no elements
};

class Case {
 public:
  // ---- inputs of an op case, in the order of the op's
  Case& in(DType dtype, Ints dims, Kind kind = fed);
  Case& in(TensorPtr value, Kind kind = fed);
  template <class T> Case& values(Ints dims, const std::vector<T>& v, Kind kind = fed) {
    return in(Tensor::of<T>(std::move(dims), v), kind);
  }
  Case& strings(Ints dims, Strings v, Kind kind = fed) { return in(std::make_shared<Tensor>(std::move(dims), std::move(v)), kind); }
  Case& values_as(DType dtype, Ints dims, std::vector<double> v, Kind kind = fed);  // converted to dtype, which may be `any`
  Case& ints(const Ints& v, Kind kind = constant) { return values<std::int64_t>({static_cast<std::int64_t>(v.size())}, v, kind); }
  Case& i32s(const std::vector<std::int32_t>& v, Kind kind = constant) {
    return values<std::int32_t>({static_cast<std::int64_t>(v.size())}, v, kind);
  }
  template <class T> Case& scalar(T v, Kind kind = constant) { return in(Tensor::scalar<T>(v), kind); }
  Case& range(double low, double high);        // of the input stated last
  Case& as_list(std::size_t count);            // the last `count` inputs are one input that takes a list
  Case& attr(std::string name, TfAttrValue value);
  Case& outputs(std::size_t count);            // only the first ones; else all

  // ---- what is run
  Case& dtypes(DTypes expansion);              // once for each, in place of `any`
  Case& nan_inf();                             // once more with NaN, infinities, zeros of both signs in the float inputs
  Case& empty();                               // once more with the first dim of each fed input 0
  Case& only_opsets(std::vector<int> opsets);
  Case& since(int opset);                      // not below
  Case& without(std::set<Mode> modes);
  Case& options(std::function<void(Options&)> change);
  Case& note(std::string text);                // told in failures

  // ---- what is expected
  Case& tol(double relative, double absolute);
  Case& shape_only();                          // random results
  // How often operators stand in the export, {{"Attention", 1}, {"Transpose", 0}}: at the opsets from `since` on, in these
  // modes, not of the empty variant. It says what must have fired; other operators may be there too.
  Case& gives(std::map<std::string, std::size_t> operators, int since = 0, std::set<Mode> modes = {Mode::fixed});
  Case& refuses(Code code, std::string message_part, std::set<Mode> modes = {});  // no modes: all
  Case& refuses_below(int opset, Code code, std::string message_part);

  void check(SourceLoc at = SourceLoc::here());

 private:
  friend Case op_case(std::string);
  friend Case graph_case(std::string, std::function<void(Builder&)>);
  explicit Case(std::string title) : title_(std::move(title)) {}

  struct In {
    DType dtype;
    Ints dims;
    Kind kind;
    TensorPtr value;                           // null: random
    std::optional<verify::Range> range;
    std::vector<double> numbers;
    std::size_t list = 0;                      // this many inputs end here and form a list
  };
  struct Refusal {
    Code code;
    std::string part;
    std::set<Mode> modes;
    int below_opset = 0;
  };
  struct Operators {
    std::map<std::string, std::size_t> counts;
    int since;
    std::set<Mode> modes;
  };
  struct Graph;   // one built graph
  struct Truth;
  struct Export;
  struct Run;     // one combination of dtype, mode, opset ...
  class Checker;

  void build(Builder& b) const;
  void build_op(Builder& b) const;
  Graph make_graph(Mode mode, DType dtype, bool empty) const;
  const Refusal* refusal(Mode mode, int opset) const;

  std::string title_, op_;
  std::function<void(Builder&)> lambda_;
  std::vector<In> inputs_;
  std::vector<TfAttr> attrs_;
  std::optional<std::size_t> output_count_;
  DTypes dtypes_;
  bool nan_inf_ = false, empty_ = false, shape_only_ = false;
  std::vector<int> opsets_;
  int since_ = 0;
  std::set<Mode> without_;
  std::function<void(Options&)> change_;
  std::optional<verify::Tolerance> tolerance_;
  std::vector<Refusal> refusals_;
  std::vector<Operators> gives_;
  std::string note_;
};

Case op_case(std::string op);
Case graph_case(std::string title, std::function<void(Builder&)> build);

// Whether --fidelity plain promises nothing for what reads this tensor (docs/fidelity.md): it has a NaN, a denormal or no elements.
// The same of infinities, which it promises in part if they are the model's own constants.
bool is_special(const TensorPtr&, bool with_infinities);

// TensorFlow or ONNX Runtime is not there: the test is skipped, or has failed where T2O_REQUIRE_ENGINES wants them.
bool engines_missing();

// For ops without a kernel: the graph's output "y", converted, is that of another graph in TensorFlow.
void check_against(const engines::TfGraph& truth, const engines::TfGraph& graph, const engines::Feeds& feeds,
                   const std::vector<int>& opsets, SourceLoc at = SourceLoc::here());

}  // namespace t2o::numeric
