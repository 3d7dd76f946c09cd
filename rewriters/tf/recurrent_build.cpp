#include "rewriters/tf/recurrent_build.h"

#include "rewriters/pattern.h"
#include "rewriters/tf/time_reversal.h"
#include "tf/op_builder.h"

namespace t2o::rewriters {
namespace {

class LayerBuilder {
 public:
  explicit LayerBuilder(const RecurrentLoop& r)
      : r_(r), node_(*r.node), g_(*node_.graph()), rewrite_(g_, node_), hoister_(r.loop, node_) {}

  void run() {
    plan_direction();
    for (const Cell& c : r_.cells) layers_.push_back(build(c));
    for (const Written& w : r_.written) replace_list(w);
    replace_finals();
  }

 private:
  // ---- direction

  void plan_direction() {
    for (const Cell& c : r_.cells)
      for (const Columns& in : c.inputs)
        for (const Columns& part : r_.addends(in))
          if (Value* rows = r_.source(part)->rows; rows && !unreversed(rows)) return;
    if (r_.mask.is_list && (mask_may_be_longer() || !unreversed(r_.mask.value))) return;
    for (const Written& w : r_.written)
      for (const Columns& part : w.residual)
        if (Value* rows = r_.source(part)->rows; rows && !unreversed(rows)) return;
    for (const Written& w : r_.written)
      for (const ir::Use& u : final_of(w)->uses())
        if (!w.last_only && !(is_stack(*u.node) && is_only_reversed(u.node->output(), lengths()))) return;
    reverse_ = true;
  }

  Value* lengths() const { return r_.mask.is_list ? nullptr : r_.mask.value; }
  std::optional<Unreversed> unreversed(Value* rows) const { return find_reversal(rows, 0, lengths()); }
  Value* final_of(const Written& w) const { return node_.output(w.variable); }
  static bool is_stack(const ir::Node& n) { return n.op() == "TensorListStack"; }

  Value* in_order(Value* rows) {
    if (!reverse_) return rows;
    Value*& made = in_order_[rows];
    if (!made) made = undo_reversal(*unreversed(rows), rewrite_);
    return made;
  }

  // ---- parameters

  static Value* slice(Rewrite& w, Value* v, const std::vector<Range>& ranges) {
    const Shape& s = v->shape();
    std::vector<std::int32_t> begin, size;
    Ints dims;
    bool whole = s.ranked();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      begin.push_back(static_cast<std::int32_t>(ranges[i].begin));
      size.push_back(static_cast<std::int32_t>(ranges[i].count));
      const Dim all = s.ranked() ? s[static_cast<int>(i)] : kUnknownDim;
      dims.push_back(ranges[i].count < 0 ? all : ranges[i].count);
      whole = whole && ranges[i].begin == 0 && (ranges[i].count < 0 || all == ranges[i].count);
    }
    if (whole) return v;
    const Ints n{static_cast<std::int64_t>(ranges.size())};
    Value* b = w.constant(Tensor::of<std::int32_t>(n, begin));
    Value* c = w.constant(Tensor::of<std::int32_t>(n, size));
    return w.make(tf::op_spec("Slice", {v, b, c}, {}, {Shape(dims)}));
  }

  Value* binary(const char* op, Value* a, Value* b, const Shape& shape) {
    return rewrite_.make(tf::op_spec(op, {a, b}, {}, {shape}));
  }
  Value* negated(Value* v) { return rewrite_.make(tf::op_spec("Neg", {v}, {}, {v->shape()})); }

  Value* weight(const Product& p) {
    Value* w = hoister_.hoist(p.weight);
    w = p.transposed ? slice(rewrite_, w, {p.columns, p.rows}) : slice(rewrite_, w, {p.rows, p.columns});
    if (p.transposed) {
      Value* perm = rewrite_.constant(Tensor::of<std::int32_t>({2}, {1, 0}));
      w = rewrite_.make(
          tf::op_spec("Transpose", {w, perm}, {}, {Shape(Ints{p.rows.count, p.columns.count})}));
    }
    return p.sign < 0 ? negated(w) : w;
  }

  Value* sum_of(const std::vector<Product>& products, const Columns* operand) {
    Value* sum = nullptr;
    for (const Product& p : products) {
      if (operand && p.operand != *operand) continue;
      Value* w = weight(p);
      sum = sum ? binary("AddV2", sum, w, w->shape()) : w;
    }
    return sum;
  }

  Value* concat(const Values& parts, std::int32_t axis, Shape shape) {
    if (parts.size() == 1) return parts[0];
    Values in = parts;
    in.push_back(rewrite_.constant(Tensor::scalar<std::int32_t>(axis)));
    return rewrite_.make(tf::op_spec("ConcatV2", in, {}, {std::move(shape)}));
  }

  Value* kernel(const Gate& g, const Cell& c) {
    Values parts;
    std::int64_t rows = 0;
    for (const Columns& in : c.inputs) {
      parts.push_back(sum_of(g.inputs, &in));
      rows += in.count;
    }
    return concat(parts, 0, Shape(Ints{rows, units(c)}));
  }

  Value* vector(const Columns& v) {
    Value* w = hoister_.hoist(v.value);
    if (w->shape().ranked() && w->shape().rank() == 2) {
      Value* flat = rewrite_.constant(Tensor::of<std::int32_t>({1}, {-1}));
      w = rewrite_.make(tf::op_spec("Reshape", {w, flat}, {}, {Shape(Ints{w->shape()[1]})}));
    }
    if (w->shape().is_scalar()) return w;
    return slice(rewrite_, w, {{v.begin, v.count}});
  }

  // Null when there is none, or nothing but zeros.
  Value* gate_bias(const Gate& g, const Cell& c, DType type) {
    Value* sum = bias(g.biases, units(c));
    if (g.constant_bias == 0) return sum;
    const Ints dims{sum ? 1 : units(c)};
    const std::vector<double> values(static_cast<std::size_t>(dims[0]), g.constant_bias);
    Value* more = rewrite_.constant(floats_of(type, dims, values));
    return sum ? binary("AddV2", sum, more, sum->shape()) : more;
  }

  Value* bias(const std::vector<Bias>& biases, std::int64_t units) {
    const Shape shape(Ints{units});
    Value* sum = nullptr;
    bool is_wide = units == 1;
    for (const Bias& b : biases) {
      if (Value* o = r_.loop.outside(b.vector.value); o && is_zero(o)) continue;
      Value* v = vector(b.vector);
      is_wide = (is_wide && !v->shape().is_scalar()) || b.vector.count == units;
      if (sum) {
        sum = binary(b.sign < 0 ? "Sub" : "AddV2", sum, v, shape);
      } else {
        sum = b.sign < 0 ? negated(v) : v;
      }
    }
    if (!sum || is_wide) return sum;
    Value* zeros = rewrite_.constant(zeros_of(sum->dtype(), units));
    return binary("AddV2", sum, zeros, shape);
  }

  static TensorPtr zeros_of(DType type, std::int64_t n) {
    const std::vector<std::byte> zero(byte_size(type, 1));
    return Tensor::filled(type, {n}, zero);
  }

  static TensorPtr floats_of(DType type, const Ints& dims, const std::vector<double>& values) {
    if (type == DType::f64) return Tensor::of<double>(dims, values);
    if (type == DType::f32) return Tensor::of<float>(dims, Floats(values.begin(), values.end()));
    std::vector<std::uint16_t> bits;
    for (const double v : values)
      bits.push_back(type == DType::f16 ? float_to_half(static_cast<float>(v))
                                        : float_to_bfloat(static_cast<float>(v)));
    return Tensor::of<std::uint16_t>(dims, bits)->with_dtype(type);
  }

  // ---- layers

  std::int64_t units(const Cell& c) const { return r_.states[c.h].previous.count; }

  Value* initial(std::size_t state) {
    const Columns& c = r_.states[state].previous;
    Value* v = r_.loop.initial(r_.states[state].variable);
    if (is_zero(v)) return nullptr;
    return slice(rewrite_, v, {{0, -1}, {c.begin, c.count}});
  }

  Value* sequence(const Columns& operand) {
    Value* sum = nullptr;
    for (const Columns& part : r_.addends(operand)) {
      Value* y = addend(part);
      sum = sum ? binary("AddV2", sum, y, sum->shape()) : y;
    }
    return sum;
  }

  Value* addend(const Columns& operand) {
    const auto s = *r_.source(operand);
    if (s.rows)
      if (const Shape item = r_.loop.item_shape(operand.value);
          operand.begin == 0 && item[-1] == operand.count)
        return in_order(s.rows);
    Value* rows = s.rows ? in_order(s.rows) : layers_.at(s.cell)->output();
    return slice(rewrite_, rows, {{0, -1}, {0, -1}, {operand.begin, operand.count}});
  }

  Value* input(const Cell& c) {
    Values parts;
    std::int64_t features = 0;
    for (const Columns& in : c.inputs) {
      parts.push_back(sequence(in));
      features += in.count;
    }
    return concat(parts, 2, shape3(parts[0], features));
  }

  static Shape shape3(const Value* x, std::int64_t last) {
    if (!x->shape().ranked()) return Shape(Ints{kUnknownDim, kUnknownDim, last});
    return Shape(Ints{x->shape()[0], x->shape()[1], last});
  }

  void add_parameters(const Cell& c, Values& in) {
    for (const Gate& g : c.gates) in.push_back(kernel(g, c));
    for (const Gate& g : c.gates) in.push_back(sum_of(g.recurrent, nullptr));
    for (const Gate& g : c.gates) in.push_back(gate_bias(g, c, in[0]->dtype()));
    if (c.kind == CellKind::lstm)
      for (std::size_t i = 0; i < 3; ++i)
        in.push_back(c.gates[i].peephole ? vector(*c.gates[i].peephole) : nullptr);
    if (c.kind == CellKind::gru) in.push_back(bias(c.gates[2].recurrent_biases, units(c)));
  }

  Past past_of(std::size_t cell) const {
    for (const Written& w : r_.written)
      if (w.cell == cell) return w.past;
    return Past::zero;
  }

  // The loop asks the mask for as many steps as its inputs have.
  bool mask_may_be_longer() const { return extent_of(r_.mask.value, 0) != extent_of(rows(), 0); }
  Value* rows() const {
    for (const Cell& c : r_.cells)
      for (const Columns& in : c.inputs)
        for (const Columns& part : r_.addends(in))
          if (Value* rows = r_.source(part)->rows) return rows;
    return nullptr;  // no such loop is found
  }

  Value* first_steps(Value* list) {
    const int rank = r_.mask.is_column ? 3 : 2;
    const auto ints = [&](const std::vector<std::int32_t>& v) {
      return rewrite_.constant(Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size())}, v));
    };
    Value* sizes =
        rewrite_.make(tf::op_spec("Shape", {rows()}, {{"out_type", DType::i32}}, {Shape(Ints{3})}));
    Value* steps = rewrite_.make(tf::op_spec("Slice", {sizes, ints({0}), ints({1})}, {}, {Shape(Ints{1})}));
    Value* rest = ints(std::vector<std::int32_t>(static_cast<std::size_t>(rank - 1), -1));
    Value* size = concat({steps, rest}, 0, Shape(Ints{rank}));
    Value* begin = ints(std::vector<std::int32_t>(static_cast<std::size_t>(rank), 0));
    const Shape& s = list->shape();
    Ints dims = s.ranked() ? s.dims() : repeated(kUnknownDim, rank);
    dims[0] = rows()->shape().ranked() ? rows()->shape()[0] : kUnknownDim;
    return rewrite_.make(tf::op_spec("Slice", {list, begin, size}, {}, {Shape(dims)}));
  }

  // Lengths [batch], or bool [time, batch].
  Value* mask() {
    if (!r_.mask.is_list || mask_) return r_.mask.is_list ? mask_ : r_.mask.value;
    mask_ = in_order(r_.mask.value);
    if (Value* lengths = lengths_of_mask(mask_)) {
      padding_first_ = true;
      return mask_ = lengths;
    }
    if (mask_may_be_longer()) mask_ = first_steps(mask_);
    if (!r_.mask.is_column) return mask_;
    const Shape& s = mask_->shape();
    const Shape flat = s.ranked() ? Shape(Ints{s[0], s[1]}) : Shape::unknown_dims(2);
    return mask_ = rewrite_.make(tf::op_spec("Squeeze", {mask_}, {{"squeeze_dims", Ints{2}}}, {flat}));
  }

  ir::Node* build(const Cell& c) {
    Value* x = input(c);
    Values in{x, mask(), initial(c.h)};
    if (c.kind == CellKind::lstm) in.push_back(initial(c.c));
    add_parameters(c, in);
    RecurrentLayer l{.kind = c.kind,
                     .direction = reverse_ ? tfgraph::Direction::reverse : tfgraph::Direction::forward,
                     .units = units(c),
                     .activations = c.activations,
                     .padding_first = padding_first_,
                     .linear_before_reset = c.linear_before_reset};
    if (r_.mask.value) l.past = past_of(layers_.size());
    const Shape sequence = shape3(x, units(c)), state(Ints{sequence[1], sequence[2]});
    std::vector<ir::OutputSpec> outputs{{"", x->dtype(), sequence}};
    while (outputs.size() < l.outputs()) outputs.push_back({"", x->dtype(), state});
    const std::string name = node_.origin().label() + "/" + std::string(l.onnx_op());
    return &g_.add({std::string(l.op()), in, l.attrs(), outputs, node_.shared_origin(), name}, &node_);
  }

  // ---- what the loop's readers read instead

  Value* last_output(const Written& w) {
    const ir::Node& layer = *layers_[w.cell];
    const bool is_state = !r_.mask.value || w.past == Past::hold;
    return layer.output(is_state ? 1 : layer.outputs().size() - 1);
  }

  // stack[-1]; of a single item also stack[0]
  void replace_last(Value* stack, const Written& w) {
    for (const ir::Use& u : Uses(stack->uses())) {
      const ir::Node& n = *u.node;
      if (n.op() != "StridedSlice" || u.input != 0) continue;
      const auto is = [&](const char* attr, std::int64_t value) {
        return n.attr_or<std::int64_t>(attr, 0) == value;
      };
      const auto begin = known_ints(n.input(1));
      if (!is("shrink_axis_mask", 1) || !is("begin_mask", 0) || !is("ellipsis_mask", 0) ||
          !is("new_axis_mask", 0))
        continue;
      if (begin == Ints{-1} || (w.last_only && begin == Ints{0}))
        replace_value(g_, n.output(), last_output(w));
    }
  }

  Value* range_like(Value* lengths) {
    const DType type = lengths->dtype();
    const auto number = [&](int i) {
      return rewrite_.constant(type == DType::i64 ? Tensor::scalar<std::int64_t>(i)
                                                  : Tensor::scalar<std::int32_t>(i));
    };
    Value* sizes = rewrite_.make(tf::op_spec("Shape", {rows()}, {{"out_type", type}}, {Shape(Ints{3})}));
    Value* at = rewrite_.constant(Tensor::scalar<std::int32_t>(0));
    Value* time = rewrite_.make(tf::op_spec("GatherV2", {sizes, at, at}, {}, {Shape::scalar()}));
    return rewrite_.make(tf::op_spec("Range", {number(0), time, number(1)}, {}, {Shape::unknown_dims(1)}));
  }
  Value* expanded(Value* v, std::int32_t axis) {
    Ints dims = v->shape().ranked() ? v->shape().dims() : Ints{kUnknownDim, kUnknownDim};
    dims.insert(dims.begin() + axis, 1);
    return rewrite_.make(tf::op_spec("ExpandDims", {v, rewrite_.constant(Tensor::scalar<std::int32_t>(axis))},
                                     {}, {Shape(dims)}));
  }

  // y + residual, and zeros where a row takes no part.
  Value* output_of(const Written& w) {
    Value* y = layers_[w.cell]->output();
    if (w.residual.empty()) return y;
    Value* sum = y;
    for (const Columns& part : w.residual) sum = binary("AddV2", sum, addend(part), y->shape());
    if (!r_.mask.value) return sum;
    Value* takes_part = mask();
    if (takes_part->dtype() != DType::boolean)
      takes_part =
          rewrite_.make(tf::op_spec("Less", {expanded(range_like(takes_part), 1), expanded(takes_part, 0)},
                                    {}, {Shape::unknown_dims(2)}));
    Value* zero = rewrite_.constant(floats_of(y->dtype(), {}, {0}));
    return rewrite_.make(tf::op_spec("SelectV2", {expanded(takes_part, 2), sum, zero}, {}, {y->shape()}));
  }

  void replace_list(const Written& w) {
    Value* y = output_of(w);
    for (const ir::Use& u : Uses(final_of(w)->uses())) {
      Value* read = u.node->output();
      if (is_stack(*u.node) && w.residual.empty()) {
        replace_last(read, w);
        if (!read->is_used()) continue;
      }
      if (w.last_only) {
        Value* last = last_output(w);
        if (is_stack(*u.node)) {
          Value* axis = rewrite_.constant(Tensor::scalar<std::int32_t>(0));
          last = rewrite_.make(tf::op_spec("ExpandDims", {last, axis}, {},
                                           {Shape(Ints{1, last->shape()[0], last->shape()[1]})}));
        }
        replace_value(g_, read, last);
      } else if (reverse_) {
        replace_reversals(read, y, lengths());
      } else {
        replace_value(g_, read, y);
      }
    }
  }

  using Uses = std::vector<ir::Use>;

  Value* final_state(std::size_t state) {
    for (std::size_t i = 0; i < r_.cells.size(); ++i) {
      if (r_.cells[i].h == state) return layers_[i]->output(1);
      if (r_.cells[i].kind == CellKind::lstm && r_.cells[i].c == state) return layers_[i]->output(2);
    }
    return nullptr;
  }

  void replace_finals() {
    for (std::size_t i = 0; i < r_.loop.size(); ++i) {
      Value* out = node_.output(i);
      if (!out->is_used()) continue;
      if (r_.loop.is_constant_argument(i)) {
        replace_value(g_, out, r_.loop.initial(i));
        continue;
      }
      Values parts;
      for (std::size_t s = 0; s < r_.states.size(); ++s)
        if (r_.states[s].variable == i)
          if (Value* v = final_state(s)) parts.push_back(v);
      if (!parts.empty()) replace_value(g_, out, concat(parts, 1, out->shape()));
    }
  }

  const RecurrentLoop& r_;
  ir::Node& node_;
  ir::Graph& g_;
  Rewrite rewrite_;
  Hoister hoister_;
  bool reverse_ = false;
  Value* mask_ = nullptr;
  bool padding_first_ = false;
  std::vector<ir::Node*> layers_;
  std::unordered_map<const Value*, Value*> in_order_;
};

}  // namespace

void build_layers(const RecurrentLoop& r) { LayerBuilder(r).run(); }

}  // namespace t2o::rewriters
