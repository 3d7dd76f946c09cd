#include "op_mappers/walk.h"

#include <algorithm>
#include <utility>

#include "ir/nesting.h"
#include "op_mappers/plain_type.h"

namespace t2o {
namespace {

// The ONNX type of a type's tensors: complex numbers are pairs of parts; the handle of a variable that a loop
// carries is the variable's value, of any type.
DType stored_type(DType t) { return t == DType::resource ? DType::undefined : plain_type(part_type(t)); }

TensorPtr plain(const TensorPtr& t) {
  const DType type = plain_type(t->dtype());
  return type == t->dtype() ? t : t->with_dtype(type);
}

// The nodes of a graph that some of its outputs need.
std::unordered_set<const ir::Node*> needed_nodes(const ir::Graph& g, const std::vector<bool>& wanted) {
  std::unordered_set<const ir::Node*> needed;
  std::vector<const ir::Node*> work;
  std::vector<const ir::Graph*> inner;
  const auto reach = [&](const Value* v) {
    if (v && v->producer() && v->graph() == &g && needed.insert(v->producer()).second)
      work.push_back(v->producer());
  };
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) reach(g.outputs()[i]);
  while (!work.empty() || !inner.empty()) {
    if (!inner.empty()) {
      const ir::Graph& sub = *inner.back();
      inner.pop_back();
      for (const Value* v : sub.outputs()) reach(v);
      for (const ir::Node& n : sub.nodes()) {
        for (const Value* v : n.inputs()) reach(v);
        ir::for_each_subgraph(n, [&](const ir::Graph& deeper) { inner.push_back(&deeper); });
      }
      continue;
    }
    const ir::Node& n = *work.back();
    work.pop_back();
    for (const Value* v : n.inputs()) reach(v);
    ir::for_each_subgraph(n, [&](const ir::Graph& sub) { inner.push_back(&sub); });
  }
  return needed;
}

Kind kind_of(DType source) {
  return is_complex(source)                                      ? Kind::pairs
         : source == DType::resource || source == DType::variant ? Kind::contents
                                                                 : Kind::tensor;
}

}  // namespace

// While a subgraph is being filled, and no longer, whatever goes wrong there.
class Walk::Inside {
 public:
  Inside(Walk& w, ir::Graph& graph) : walk_(w), around_(std::exchange(w.out_, &graph)) {}
  ~Inside() { walk_.out_ = around_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Walk& walk_;
  ir::Graph* const around_;
};

Walk::Walk(const ir::Graph& source, const ConversionRegistry& registry, ListPlan& lists,
           const SupposedShapes& supposed)
    : source_(source),
      registry_(registry),
      target_(registry.target()),
      lists_(lists),
      supposed_(supposed),
      root_(std::make_shared<ir::Graph>()),
      out_(root_.get()) {
  out_->share_symbols(source);
  out_->set_name(source.name());
  out_->set_dialect("onnx");
}

void Walk::run() {
  mapped_.reserve(2 * source_.node_count());
  out_->reserve(2 * source_.node_count());
  add_interface();
  for (const ir::Node& n : source_.nodes()) map_node(n);
}

// The interface's names are taken first, so that no inner value can have them.
void Walk::add_interface() {
  for (const Value* v : source_.inputs()) {
    Mapped& to = mapped_[v];
    to.value = out_->add_input(v->name(), stored_type(v->dtype()), shape_of(*v));
    to.kind = kind_of(v->dtype());
    note_pairs("input", *v);
  }
  for (const Value* v : source_.outputs()) {
    if (!v->is_graph_input()) out_->reserve_name(v->name());
    note_pairs("output", *v);
  }
}

Shape Walk::shape_of(const Value& v) const {
  const auto supposed = supposed_.find(&v);
  const Shape& s = supposed == supposed_.end() ? v.shape() : supposed->second;
  return is_complex(v.dtype()) ? shape_of_pairs(s) : s;
}

void Walk::note_pairs(const std::string& what, const Value& v) {
  if (is_complex(v.dtype()))
    diagnostics_.push_back({Severity::note, Code::unsupported_type,
                            "the " + what + " '" + v.name() +
                                "' is complex, which ONNX tensors are not: its last axis, of size 2, has "
                                "the real and the imaginary parts",
                            "", v.producer() ? v.producer()->origin() : Origin{}, SourceLoc::here()});
}

void Walk::forget(std::size_t before) {
  diagnostics_.erase(diagnostics_.begin() + static_cast<std::ptrdiff_t>(before), diagnostics_.end());
  std::erase_if(failures_, [before](const Failure& f) { return f.diagnostic >= before; });
}

const Mapped* Walk::find(const Value* v) const {
  const auto at = mapped_.find(v);
  return at == mapped_.end() || !at->second.value ? nullptr : &at->second;
}

bool Walk::has_mapped(const ir::Node& n) const {
  return std::ranges::any_of(n.outputs(), [&](const Value* v) { return find(v); });
}

Mapped& Walk::entry(const Value* v) {
  const auto [it, fresh] = mapped_.try_emplace(v);
  if (fresh && v->constant()) {
    it->second.value =
        root_->add_constant(v->name(), plain(complex_as_pairs(v->constant())));  // seen by all subgraphs
    it->second.kind = kind_of(v->dtype());
    root_->mark_source(it->second.value);
  }
  return it->second;
}

Value* Walk::mapped(const Value* v) { return entry(v).value; }

MappedValues Walk::map(const ir::Graph& source, const MappedValues& inputs, const std::vector<bool>& wanted,
                       ir::Graph& into) {
  if (ir::nesting(into) > ir::kDeepestNesting)
    fail(Code::unsupported_op,
         "loops and conditionals are nested more than " + std::to_string(ir::kDeepestNesting) + " deep",
         "do not nest them so deeply");
  const Inside inside(*this, into);
  for (std::size_t i = 0; i < inputs.size(); ++i) mapped_[source.inputs()[i]] = inputs[i];
  const auto needed = needed_nodes(source, wanted);
  for (const ir::Node& n : source.nodes()) {
    if (!needed.contains(&n)) continue;
    for (const Value* v : n.outputs()) mapped_.erase(v);  // a graph may be mapped twice
    map_node(n);
  }
  MappedValues results;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    results.push_back(wanted[i] ? entry(source.outputs()[i]) : Mapped());
  return results;
}

void Walk::map_node(const ir::Node& n) {
  if (n.graph() == &source_) top_ = &n;
  try {
    MappedValues in;
    bool input_failed = false;  // its producer's error is reported
    for (const Value* v : n.inputs()) {
      in.push_back(v ? entry(v) : Mapped());
      input_failed = input_failed || (v && !in.back().value);
    }
    const Way way = registry_.way_of(n);
    if (!way)
      throw ConversionError({Severity::error, way.refusal->code, way.refusal->why, way.refusal->remedy,
                             n.origin(), SourceLoc::here()});
    if (input_failed) return;
    GraphContext c(n, std::move(in), *out_, target_, *this);
    MappedValues results;
    if (way.row->map_graph) {
      results = way.row->map_graph(c);
      if (c.failed()) return;
    } else {
      for (Value* v : way.row->map(c)) results.emplace_back(v);
    }
    finish(n, c.mapped(), std::move(results));
    note_unread(n, *way.row, c);
  } catch (const ConversionError& e) {
    diagnostics_.push_back(e.diagnostic());
    if (diagnostics_.back().origin.op.empty()) diagnostics_.back().origin = n.origin();
    failures_.push_back({diagnostics_.size() - 1, &n, top_});
  } catch (const std::bad_alloc&) {
    throw;  // no other node will have more
  } catch (const std::exception& e) {
    diagnostics_.push_back(diagnostic_of(e, n.origin()));
  }
}

namespace {

[[noreturn]] void refuse(const ir::Node& n, Code code, std::string why, std::string remedy) {
  throw ConversionError(
      {Severity::error, code, std::move(why), std::move(remedy), n.origin(), SourceLoc::here()});
}

// A node that is not for lists hands a list on as it is.
void take_list(Mapped& to, const MappedValues& in) {
  const auto from = std::ranges::find_if(in, [&](const Mapped& m) { return m.list && m.value == to.value; });
  if (from != in.end()) to = *from;
}

}  // namespace

// The output's shape is the merge of TensorFlow's and ONNX's.
void Walk::finish(const ir::Node& n, const MappedValues& in, MappedValues results) {
  results.resize(n.outputs().size());
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    const Value* from = n.outputs()[i];
    Mapped& made = results[i];
    Value* to = made.value;
    if (!to) {
      if (from->is_used())
        refuse(n, Code::unsupported_op,
               "output " + std::to_string(i) + " of this operation cannot be expressed", "{cut}");
      continue;
    }
    if (from->dtype() == DType::variant && !made.list) take_list(made, in);
    if (made.kind == Kind::tensor) made.kind = kind_of(from->dtype());
    if (made.kind == Kind::list && from->is_graph_output() && from->graph() == &source_)
      refuse(n, Code::unsupported_type,
             "the output '" + from->name() + "' is a TensorList, and ONNX has no such type",
             "name a tensor that is made from it with --outputs");
    const DType type = stored_type(from->dtype());
    const bool is_tensor = made.kind == Kind::tensor || made.kind == Kind::pairs;
    if (is_tensor && type != DType::undefined && to->dtype() != type)
      refuse(n, Code::bad_model,
             "output " + std::to_string(i) + " is of type " + std::string(name(to->dtype())) +
                 ", the node's attributes say " + std::string(name(type)),
             "if TensorFlow runs this model, please report it");
    if (is_tensor && !to->constant() && !to->is_graph_input() && to->graph() == out_)
      if (const auto shape = merge(to->shape(), shape_of(*from))) out_->set_type(to, to->dtype(), *shape);
    if (to->name().empty() && !from->is_graph_output()) {  // fresh, and the first to ask
      out_->rename(to, from->name());
      out_->mark_source(to);
    }
    mapped_[from] = std::move(made);
  }
}

void Walk::note_unread(const ir::Node& n, const OpRegistry::Entry& row, const MapperContext& c) {
  for (const std::string& a : c.unread_attrs())
    if (!contains(row.ignored, a))
      diagnostics_.push_back({Severity::note, Code::attr_ignored, "attribute '" + a + "' was not read", "",
                              n.origin(), SourceLoc::here()});
}

void walk(const ir::Graph& source, const ConversionRegistry& registry, const SupposedShapes& supposed,
          const std::function<void(Walk&)>& use) {
  ListPlan lists(source);
  for (;;) {
    Walk w(source, registry, lists, supposed);
    w.run();
    if (!lists.begin_again()) return use(w);
  }
}

}  // namespace t2o
