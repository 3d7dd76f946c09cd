#include <algorithm>
#include <unordered_map>

#include "ir/contents.h"
#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/names.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/code_groups.h"
#include "rewriters/runtime/rows.h"

// Activations of int8 become uint8: each code is 128 more, and so is the zero point. The inputs and outputs
// of the model keep their type, with a DequantizeLinear and a QuantizeLinear behind or in front of them.
// Weights keep their type too.
namespace t2o::rewriters {
namespace {

constexpr double kOffset = 128;

bool is_op(const ir::Node* n, const char* op) { return n && n->op() == op; }

bool reads_activations(const ir::Node& n) {
  return std::any_of(n.inputs().begin(), n.inputs().end(), [](const Value* v) {
    return v && is_op(v->producer(), "DequantizeLinear") && !v->producer()->input(0)->constant();
  });
}

// int8 codes as uint8.
TensorPtr shifted(const TensorPtr& codes) {
  const StoragePtr from = codes->storage();
  const auto fill = [from](std::span<std::byte> out) {
    const Bytes bytes = from->bytes();
    std::transform(bytes.begin(), bytes.end(), out.begin(), [](std::byte b) { return b ^ std::byte{0x80}; });
    from->release();
  };
  return std::make_shared<Tensor>(DType::u8, codes->dims(), computed_storage(from->size(), fill));
}

class Conversion {
 public:
  Conversion(ir::Graph& main, const onnx::Target& target)
      : main_(main), target_(target), groups_(main), values_(groups_.values()) {}

  int run() {
    graphs_ = ir::contents_of(main_).graphs;
    int changes = 0;
    for (ir::Graph* g : graphs_) changes += constants(*g);
    if (values_.empty()) return changes;
    for (ir::Graph* g : graphs_) {
      for (ir::Node& n : g->nodes()) convert(n);
      outputs_that_are_constants(*g);
    }
    for (Value* v : values_)
      if (!is_main_input(v)) retype(v);
    for (ir::Graph* g : graphs_)
      for (ir::Node* n = g->first(); n; n = n->next())
        if (n->op() == "Cast") convert_cast(*g, *n);
    for (Value* v : values_)
      if (is_main_input(v)) behind_input(v);
    in_front_of_outputs();
    return changes + static_cast<int>(values_.size());
  }

 private:
  bool is_main_input(const Value* v) const { return v->graph() == &main_ && v->is_graph_input(); }
  bool converts(const Value* v) const { return v && groups_.may_be_unsigned(v); }
  bool converts_any(const Values& values) const {
    return std::any_of(values.begin(), values.end(), [&](const Value* v) { return converts(v); });
  }

  Value* shifted_constant(ir::Graph& g, const Value* v) {
    Value*& made = constants_[{&g, v}];
    if (!made) made = g.add_constant(v->name() + "/u8", shifted(v->constant()));
    return made;
  }

  // Constants that meet activations: their other operand is of uint8, and a kernel takes one type.
  int constants(ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      const Value *codes = n.input(0), *zero_point = n.input(2);
      if (n.op() != "DequantizeLinear" || codes->dtype() != DType::i8 || !codes->constant()) continue;
      if (!zero_point || !zero_point->constant() || !zero_point->shape().is_scalar()) continue;
      const auto& uses = n.output()->uses();
      const bool is_operand = !uses.empty() && std::all_of(uses.begin(), uses.end(), [](const ir::Use& u) {
        return (onnx::has(u.node->op(), onnx::Trait::broadcasts) || u.node->op() == "Concat") &&
               reads_activations(*u.node);
      });
      if (!is_operand) continue;
      g.set_input(n, 0, shifted_constant(g, codes));
      g.set_input(n, 2, shifted_constant(g, zero_point));
      ++changes;
    }
    return changes;
  }

  // Everything but casts: zero points, and constants among the codes.
  void convert(ir::Node& n) {
    if (n.op() == "Cast" || (!converts_any(n.inputs()) && !converts_any(n.outputs()))) return;
    ir::Graph& g = *n.graph();
    if (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear") {
      g.set_input(n, 2, shifted_constant(g, n.input(2)));
      if (n.attr("output_dtype")) g.set_attr(n, "output_dtype", DType::u8);
      return;
    }
    for (std::size_t i = 0; i < n.input_count(); ++i)
      if (n.input(i) && n.input(i)->constant() && n.input(i)->dtype() == DType::i8)
        g.set_input(n, i, shifted_constant(g, n.input(i)));
    if (n.op() == "Pad") fill_with_zero_code(g, n);
    if (n.op() == "ConstantOfShape") {
      const auto* value = n.attr_if<TensorPtr>("value");
      if (value) g.set_attr(n, "value", shifted(*value));
    }
  }

  static void fill_with_zero_code(ir::Graph& g, ir::Node& pad) {
    const auto* mode = pad.attr_if<std::string>("mode");
    if ((mode && *mode != "constant") || pad.input(2)) return;
    Value* fill = g.add_constant(name_below(pad, "zero"), Tensor::scalar<std::uint8_t>(128));
    if (pad.input_count() > 2)
      g.set_input(pad, 2, fill);
    else
      g.add_node_input(pad, fill);
  }

  // A body may give a constant as a result.
  void outputs_that_are_constants(ir::Graph& g) {
    if (&g == &main_) return;
    Values outputs = g.outputs();
    bool any = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i]->constant() || outputs[i]->dtype() != DType::i8 || !meets_unsigned(g, i)) continue;
      outputs[i] = shifted_constant(g, outputs[i]);
      any = true;
    }
    if (any) g.set_outputs(std::move(outputs));
  }

  // What the node around makes of a body's result is of uint8.
  bool meets_unsigned(const ir::Graph& body, std::size_t output) {
    if (owners_.empty())
      for (ir::Graph* g : graphs_)
        for (ir::Node& n : g->nodes())
          ir::for_each_subgraph(n, [&](ir::Graph& inner) { owners_[&inner] = &n; });
    const ir::Node& owner = *owners_.at(&body);
    const std::size_t first = owner.op() == "Loop" ? 1 : 0;
    if (output < first || output - first >= owner.outputs().size()) return false;
    return converts(owner.output(output - first));
  }

  // It still is the source's tensor: `verify --bisect` knows what int8 codes are as uint8.
  void retype(Value* v) {
    ir::Graph& g = *v->graph();
    if (v->is_of_source()) {
      names_[v] = v->name();
      g.derive(v, v, {});
      g.rename(v, v->name() + "/u8");
    }
    g.set_type(v, DType::u8, v->shape());
  }

  void convert_cast(ir::Graph& g, ir::Node& n) {
    if (converts(n.input(0))) return subtract_offset(g, n);
    if (!converts(n.output())) return;
    const ir::Node* before = n.input(0)->producer();
    Emitter e(g, target_, n.shared_origin(), &n);
    const bool cancels = is_op(before, "Sub") && is_number(before->input(1), kOffset);
    Value* x = n.input(0);
    g.set_input(n, 0, cancels ? before->input(0) : e.add(x, e.scalar_like(x, kOffset)));
    g.set_attr(n, "to", DType::u8);
  }

  // Operators that give x - 128 of x - 128.
  static bool keeps_offset(const ir::Node& n, const Value* x) {
    if (n.input(0) != x || n.outputs().size() != 1) return false;
    if (n.op() == "AveragePool") {
      const auto* counts_pads = n.attr_if<std::int64_t>("count_include_pad");
      return !counts_pads || *counts_pads == 0;
    }
    return onnx::has(n.op(), onnx::Trait::moves) || n.op() == "GlobalAveragePool" || n.op() == "MaxPool";
  }

  // The numbers of a cast are 128 more: as far behind it as possible they become the numbers of int8, or an
  // addition of 128 goes.
  void subtract_offset(ir::Graph& g, ir::Node& cast) {
    Value* x = cast.output();
    ir::Node* reader = only_reader(x);
    while (reader && keeps_offset(*reader, x)) {
      x = reader->output();
      reader = only_reader(x);
    }
    if (is_op(reader, "Add"))
      for (const std::size_t i : {0U, 1U})
        if (reader->input(i) == x && is_number(reader->input(1 - i), kOffset) &&
            take_over(g, reader->output(), x))
          return;
    Emitter e(g, target_, cast.shared_origin(), x->producer()->next());
    behind(g, x, [&] { return e.sub(x, e.scalar_like(x, kOffset)); });
  }

  // All that read v read what `make` makes of it, which gets its name.
  template <class Make>
  static void behind(ir::Graph& g, Value* v, Make&& make) {
    const std::vector<ir::Use> readers = v->uses();
    Value* made = make();
    for (const ir::Use& u : readers) u.node->graph()->set_input(*u.node, u.input, made);
    if (!v->is_graph_output()) return;
    Values outputs = g.outputs();
    std::replace(outputs.begin(), outputs.end(), v, made);
    g.set_outputs(std::move(outputs));
    g.take_name(made, v);
  }

  // Codes of one type from codes of the other, with the scale of a neighbour.
  Value* rebased(Emitter& e, Value* codes, const Value* member, bool to_unsigned) {
    const ir::Node* like = groups_.scaled_by(member);
    TensorPtr scale = Tensor::scalar(1.0F), unsigned_zero = Tensor::scalar<std::uint8_t>(128);
    if (like) {
      scale = like->input(1)->constant();
      unsigned_zero = like->input(2)->constant();
    }
    const TensorPtr signed_zero = as_signed(unsigned_zero);
    Value* numbers = e.emit("DequantizeLinear",
                            {codes, e.constant(scale, "scale"),
                             e.constant(to_unsigned ? signed_zero : unsigned_zero, "zero_point")},
                            {});
    return e.emit("QuantizeLinear",
                  {numbers, e.constant(scale, "scale"),
                   e.constant(to_unsigned ? unsigned_zero : signed_zero, "zero_point")},
                  {});
  }

  static TensorPtr as_signed(const TensorPtr& unsigned_zero) {
    return Tensor::scalar<std::int8_t>(static_cast<std::int8_t>(unsigned_zero->int_at(0) - 128));
  }

  void behind_input(Value* v) {
    const auto origin = std::make_shared<const Origin>(Origin{v->name(), "", ""});
    Emitter e(main_, target_, origin, main_.first());
    behind(main_, v, [&] { return rebased(e, v, v, true); });
  }

  void in_front_of_outputs() {
    Values outputs = main_.outputs();
    bool any = false;
    for (Value*& v : outputs) {
      if (!converts(v) || v->dtype() != DType::u8) continue;
      Emitter e(main_, target_, v->producer()->shared_origin());
      Value* made = rebased(e, v, v, false);
      const auto of_source = names_.find(v);
      const std::string name = of_source == names_.end() ? v->name() : of_source->second;
      main_.rename(v, name + "/u8");
      main_.rename(made, name);
      if (of_source != names_.end()) main_.mark_source(made);
      v = made;
      any = true;
    }
    if (any) main_.set_outputs(std::move(outputs));
  }

  struct Place {
    const ir::Graph* graph;
    const Value* value;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Place& p) const {
      return std::hash<const void*>()(p.graph) * 31 + std::hash<const void*>()(p.value);
    }
  };

  ir::Graph& main_;
  const onnx::Target& target_;
  CodeGroups groups_;
  std::vector<Value*> values_;
  std::vector<ir::Graph*> graphs_;
  std::unordered_map<Place, Value*, Hash> constants_;
  std::unordered_map<const ir::Graph*, ir::Node*> owners_;
  std::unordered_map<const Value*, std::string> names_;  // of values that held the source's tensor
};

}  // namespace

Rewriter unsigned_codes(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    if (g.parent()) return 0;  // with the whole model
    const int changes = Conversion(g, target).run();
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"unsigned_codes", run, {"DequantizeLinear", "QuantizeLinear"}};
}

}  // namespace t2o::rewriters
