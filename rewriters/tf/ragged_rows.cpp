#include "rewriters/all.h"
#include "rewriters/tf/loop.h"
#include "tf/op_builder.h"

// tf.map_fn hands the rows of a ragged tensor to its loop as a list of variants. A step takes from the list
// the values between two splits, and the splits of the levels below; here it reads them directly.
namespace t2o::rewriters {
namespace {

// What reads the list: TensorListGetItem, each read as a ragged tensor of one level less.
class Readers {
 public:
  Readers(const ir::Node& list, std::size_t levels) : levels_(static_cast<std::int64_t>(levels)) {
    fits_ = look_at(list.output());
  }
  bool fit() const { return fits_; }
  const std::vector<ir::Node*>& rows() const { return rows_; }  // RaggedTensorFromVariant

 private:
  bool look_at(const Value* root) {
    std::vector<const Value*> work{root};
    while (!work.empty()) {
      const Value* list = work.back();
      work.pop_back();
      if (list->is_graph_output() && !is_handed_back(list)) return false;
      for (const ir::Use& u : list->uses())
        if (!look_at_use(u, work)) return false;
    }
    return true;
  }

  // To the variable of the loop that it comes from.
  bool is_handed_back(const Value* list) const {
    for (const Loop& l : loops_) {
      if (&l.body() != list->graph()) continue;
      for (std::size_t i = 0; i < l.size(); ++i)
        if (l.body().outputs()[i] == list && !l.is_constant_argument(i)) return false;
      return true;
    }
    return false;
  }

  bool look_at_use(const ir::Use& u, std::vector<const Value*>& work) {
    const std::string& op = u.node->op();
    if (op == "While" || op == "StatelessWhile") {
      const auto loop = Loop::view(*u.node);
      if (!loop || !loop->is_constant_argument(u.input) || u.node->output(u.input)->is_used()) return false;
      work.push_back(loop->body().inputs()[u.input]);
      loops_.push_back(*loop);
      const auto* cond = std::get_if<GraphPtr>(u.node->attr("cond"));
      return cond && !(*cond)->inputs()[u.input]->is_used();
    }
    if (op == "TensorListLength") return true;
    if (op == "TensorListGetItem") return look_at_item(*u.node);
    if (!tfgraph::is_identity(*u.node)) return false;
    work.push_back(u.node->output());
    return true;
  }

  bool look_at_item(const ir::Node& item) {
    if (item.output()->is_graph_output()) return false;
    for (const ir::Use& u : item.output()->uses()) {
      if (u.node->op() != "RaggedTensorFromVariant" || int_attr(*u.node, "output_ragged_rank") != levels_ - 1)
        return false;
      if (const auto below = int_attr(*u.node, "input_ragged_rank", -1); below >= 0 && below != levels_ - 1)
        return false;
      rows_.push_back(u.node);
    }
    return true;
  }

  std::int64_t levels_;
  bool fits_;
  std::vector<Loop> loops_;
  std::vector<ir::Node*> rows_;
};

class Steps {
 public:
  explicit Steps(ir::Node& at) : r_(*at.graph(), at) {}

  Value* at(Value* x, Value* i) {  // x[i]
    return r_.make(tf::op_spec("GatherV2", {x, i, number(DType::i32, 0)}, {}, {Shape::scalar()}));
  }
  Value* next(Value* i) {
    return r_.make(tf::op_spec("AddV2", {i, number(i->dtype(), 1)}, {}, {Shape::scalar()}));
  }
  Value* less(Value* x, Value* by) { return r_.make(tf::op_spec("Sub", {x, by}, {}, {x->shape()})); }
  Value* between(Value* x, Value* begin, Value* end) {  // x[begin:end]
    Value *from = vector(begin), *to = vector(end);
    return slice(x, from, to, 0);
  }
  Value* behind_first(Value* x) {  // x[1:]
    Value* one = vector(number(DType::i32, 1));
    return slice(x, one, one, 1);
  }

 private:
  Value* number(DType t, int n) {
    return r_.constant(t == DType::i64 ? Tensor::scalar<std::int64_t>(n) : Tensor::scalar<std::int32_t>(n));
  }
  Value* vector(Value* scalar) {
    return r_.make(tf::op_spec("ExpandDims", {scalar, number(DType::i32, 0)}, {}, {Shape(Ints{1})}));
  }
  Value* slice(Value* x, Value* from, Value* to, std::int64_t end_mask) {
    Shape shape = x->shape();
    if (shape.ranked() && shape.rank() > 0) {
      Ints dims = shape.dims();
      dims[0] = kUnknownDim;
      shape = Shape(std::move(dims));
    }
    return r_.make(tf::op_spec("StridedSlice", {x, from, to, vector(number(from->dtype(), 1))},
                               {{"end_mask", end_mask}}, {shape}));
  }

  Rewrite r_;
};

// The row that a TensorListGetItem picks.
void read_row(ir::Node& row, const Values& ragged) {
  Steps s(row);
  Value* number = row.input(0)->producer()->input(1);
  Value* begin = s.at(ragged[0], number);
  Value* end = s.at(ragged[0], s.next(number));
  Values parts;
  for (std::size_t i = 1; i + 1 < ragged.size(); ++i) {
    Value* splits = s.between(ragged[i], begin, s.next(end));
    parts.push_back(s.less(splits, s.at(ragged[i], begin)));
    begin = s.at(ragged[i], begin);
    end = s.at(ragged[i], end);
  }
  parts.push_back(s.between(ragged.back(), begin, end));
  for (std::size_t i = 0; i < parts.size(); ++i) replace_value(*row.graph(), row.output(i), parts[i]);
}

const char* replace(ir::Graph& g, ir::Node& n) {
  if (int_attr(n, "batched_input") == 0 || int_attr(n, "RAGGED_RANK") < 1) return "it has no rows";
  const std::size_t levels = n.input_count() - 1;
  if (n.output()->is_graph_output()) return "it is an output";
  std::vector<ir::Node*> rows;
  for (const ir::Use& u : n.output()->uses()) {
    if (u.node->op() == "Shape") continue;
    if (u.node->op() != "TensorListFromTensor" || u.input != 0) return "it is no list";
    const Readers readers(*u.node, levels);
    if (!readers.fit()) return "its rows are not read as they are";
    rows.insert(rows.end(), readers.rows().begin(), readers.rows().end());
  }
  for (ir::Node* row : rows)
    if (row->outputs().size() != levels || row->output(levels - 1)->dtype() != n.inputs().back()->dtype())
      return "its rows have other types";
  for (ir::Node* row : rows) read_row(*row, n.inputs());
  // in the list, whose items nobody reads, the end of each row stands for it
  Value* ends = Steps(n).behind_first(n.input(0));
  const std::vector<ir::Use> uses = n.output()->uses();
  for (const ir::Use& u : uses) {
    g.set_attr(*u.node, u.node->op() == "Shape" ? "T" : "element_dtype", ends->dtype());
    g.set_input(*u.node, u.input, ends);
  }
  return nullptr;
}

bool run(ir::Graph& g, ir::Node& n) {
  if (n.op() != "RaggedTensorToVariant") return false;
  const char* why = replace(g, n);
  trace_match("ragged_rows", n.output(), why ? why : "replaced");
  return !why;
}

}  // namespace

Rewriter ragged_rows() { return for_each_node("ragged_rows", {"RaggedTensorToVariant"}, run); }

}  // namespace t2o::rewriters
