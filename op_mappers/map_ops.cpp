#include "op_mappers/map_ops.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/nesting.h"
#include "op_mappers/plain_type.h"
#include "op_mappers/remedies.h"
#include "op_mappers/subgraphs.h"

namespace t2o {
namespace {

// What the tensors of a type have in ONNX: complex numbers are pairs of their parts; the handle of a variable
// that a loop hands on is the variable's value, of whatever type.
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

class Mapping : public SubgraphMapper {
 public:
  Mapping(const ir::Graph& source, const ConversionRegistry& registry, Diagnostics& diagnostics,
          const CutOptions& cuts = {})
      : source_(source),
        registry_(registry),
        target_(registry.target()),
        diagnostics_(diagnostics),
        cuts_(cuts),
        root_(std::make_shared<ir::Graph>()),
        out_(root_.get()) {
    out_->share_symbols(source);
    out_->set_name(source.name());
    out_->set_dialect("onnx");
  }

  GraphPtr run() {
    mapped_.reserve(2 * source_.node_count());
    out_->reserve(2 * source_.node_count());
    reserve_names();
    for (const ir::Node& n : source_.nodes()) map_node(n);
    settle_remedies();
    set_outputs();
    out_->erase_dead();
    out_->name_rest();
    return root_;
  }

  // The nodes that are mapped where each size of an input that nobody knows is this one, and each rank that.
  void try_shapes(int rank, Dim size, std::unordered_set<const ir::Node*>& done) {
    for (const Value* v : source_.inputs()) {
      Ints dims = v->shape().ranked() ? v->shape().dims() : Ints(static_cast<std::size_t>(rank), size);
      std::replace_if(
          dims.begin(), dims.end(), [](Dim d) { return !is_known(d); }, size);
      tried_[v] = Shape(std::move(dims));
    }
    done_ = &done;
    reserve_names();
    for (const ir::Node& n : source_.nodes()) map_node(n);
  }

  void learn_shapes(ir::Graph& source) {
    reserve_names();
    for (const ir::Node& n : source.nodes()) map_node(n);
    for (const ir::Node& n : source.nodes())
      for (Value* v : n.outputs()) {
        const auto at = mapped_.find(v);
        const Value* to = at == mapped_.end() ? nullptr : at->second;
        const bool is_plain =
            to && !is_complex(v->dtype()) && v->dtype() != DType::variant && v->dtype() != DType::resource;
        if (const auto shape = is_plain ? merge(v->shape(), to->shape()) : std::nullopt)
          source.set_type(v, v->dtype(), *shape);
      }
  }

  Values map(const ir::Graph& source, const Values& inputs, const std::vector<bool>& wanted,
             ir::Graph& into) override {
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
    Values results;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      results.push_back(wanted[i] ? mapped(source.outputs()[i]) : nullptr);
    return results;
  }

 private:
  // While a subgraph is being filled, and no longer, whatever goes wrong there.
  class Inside {
   public:
    Inside(Mapping& m, ir::Graph& graph) : mapping_(m), around_(std::exchange(m.out_, &graph)) {}
    ~Inside() { mapping_.out_ = around_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Mapping& mapping_;
    ir::Graph* const around_;
  };

  // The interface's names are taken first, so that no inner value can have them.
  void reserve_names() {
    for (const Value* v : source_.inputs()) {
      mapped_[v] = out_->add_input(v->name(), stored_type(v->dtype()), mapped_shape(*v));
      note_pairs("input", *v);
    }
    for (const Value* v : source_.outputs()) {
      if (!v->is_graph_input()) out_->reserve_name(v->name());
      note_pairs("output", *v);
    }
  }

  Shape mapped_shape(const Value& v) const {
    const auto tried = tried_.find(&v);
    const Shape& s = tried == tried_.end() ? v.shape() : tried->second;
    return is_complex(v.dtype()) ? shape_of_pairs(s) : s;
  }

  void note_pairs(const std::string& what, const Value& v) {
    if (is_complex(v.dtype()))
      diagnostics_.push_back({Severity::note, Code::unsupported_type,
                              "the " + what + " '" + v.name() +
                                  "' is complex, which ONNX tensors are not: its last axis, of size 2, has "
                                  "the real and the imaginary parts",
                              "", v.producer() ? v.producer()->origin() : Origin{}, SourceLoc::here()});
  }

  Value* mapped(const Value* v) {
    const auto [it, fresh] = mapped_.try_emplace(v, nullptr);
    if (fresh && v->constant()) {
      it->second =
          root_->add_constant(v->name(), plain(complex_as_pairs(v->constant())));  // seen by all subgraphs
      root_->mark_source(it->second);
    }
    return it->second;
  }

  void map_node(const ir::Node& n) {
    ++effort.mapped;
    if (n.graph() == &source_) top_ = &n;
    try {
      Values in;
      bool input_failed = false;  // its producer's error is reported
      for (const Value* v : n.inputs()) {
        in.push_back(v ? mapped(v) : nullptr);
        input_failed = input_failed || (v && !in.back());
      }
      SubgraphContext c(n, std::move(in), *out_, target_, *this);
      const OpRegistry::Entry& row = row_for(n, c);
      if (input_failed) return;
      const Values results = row.map(c);
      if (c.failed()) return;
      finish(n, results);
      note_unread(n, row, c);
      if (done_) done_->insert(&n);
    } catch (const ConversionError& e) {
      diagnostics_.push_back(e.diagnostic());
      if (diagnostics_.back().origin.op.empty()) diagnostics_.back().origin = n.origin();
      failed_.push_back({diagnostics_.size() - 1, &n, top_});
    } catch (const std::bad_alloc&) {
      throw;  // no other node will have more
    } catch (const std::exception& e) {
      diagnostics_.push_back(diagnostic_of(e, n.origin()));
    }
  }

  const OpRegistry::Entry& row_for(const ir::Node& n, const MapperContext& c) const {
    const Way way = registry_.way_of(n);
    if (!way) c.fail(way.refusal->code, way.refusal->why, way.refusal->remedy);
    return *way.row;
  }

  // What TensorFlow says of an output is as true as what ONNX inferred of it.
  void finish(const ir::Node& n, const Values& results) {
    for (std::size_t i = 0; i < n.outputs().size(); ++i) {
      const Value* from = n.outputs()[i];
      Value* to = i < results.size() ? results[i] : nullptr;
      if (!to) {
        if (from->is_used()) unmapped_output(n, i);
        continue;
      }
      const DType type = stored_type(from->dtype());
      if (type == DType::variant && from->is_graph_output() && from->graph() == &source_)
        throw ConversionError({Severity::error, Code::unsupported_type,
                               "the output '" + from->name() + "' is a TensorList, and ONNX has no such type",
                               "name a tensor that is made from it with --outputs", n.origin(),
                               SourceLoc::here()});
      if (type != DType::undefined && type != DType::variant && to->dtype() != type)
        throw ConversionError(
            {Severity::error, Code::bad_model,
             "output " + std::to_string(i) + " is of type " + std::string(name(to->dtype())) +
                 ", the node's attributes say " + std::string(name(type)),
             "if TensorFlow runs this model, please report it", n.origin(), SourceLoc::here()});
      if (type != DType::variant && from->dtype() != DType::resource && !to->constant() &&
          !to->is_graph_input() && to->graph() == out_)
        if (const auto shape = merge(to->shape(), mapped_shape(*from)))
          out_->set_type(to, to->dtype(), *shape);
      if (to->name().empty() && !from->is_graph_output()) {  // fresh, and the first to ask
        out_->rename(to, from->name());
        out_->mark_source(to);
      }
      mapped_[from] = to;
    }
  }

  [[noreturn]] static void unmapped_output(const ir::Node& n, std::size_t i) {
    throw ConversionError({Severity::error, Code::unsupported_op,
                           "output " + std::to_string(i) + " of this operation cannot be expressed", "{cut}",
                           n.origin(), SourceLoc::here()});
  }

  void note_unread(const ir::Node& n, const OpRegistry::Entry& row, const MapperContext& c) {
    for (const std::string& a : c.unread_attrs())
      if (std::find(row.ignored.begin(), row.ignored.end(), a) == row.ignored.end())
        diagnostics_.push_back({Severity::note, Code::attr_ignored, "attribute '" + a + "' was not read", "",
                                n.origin(), SourceLoc::here()});
  }

  void settle_remedies() {
    for (const Failure& f : failed_) {
      Diagnostic& d = diagnostics_[f.diagnostic];
      if (d.remedy.empty() && d.code != Code::bad_model && d.code != Code::internal) d.remedy = "{cut}";
      d.remedy = settled_remedy(d.remedy, *f.node, *f.top, cuts_, [&] { return shapes_help(*f.node); });
    }
  }

  // Would the node be mapped if the sizes of all inputs were known? It is tried, once for all nodes.
  bool shapes_help(const ir::Node& n) {
    constexpr Dim kSize = 8;
    constexpr int kHighestRank = 5;
    const auto& inputs = source_.inputs();
    if (!done_with_shapes_) {
      done_with_shapes_.emplace();
      const bool open = std::any_of(inputs.begin(), inputs.end(), [](const Value* v) { return is_open(*v); });
      const bool ranked =
          std::all_of(inputs.begin(), inputs.end(), [](const Value* v) { return v->shape().ranked(); });
      for (int rank = ranked ? kHighestRank : 1; open && rank <= kHighestRank; ++rank) {
        Diagnostics ignored;
        Mapping(source_, registry_, ignored).try_shapes(rank, kSize, *done_with_shapes_);
      }
    }
    return done_with_shapes_->contains(&n);
  }

  // Each output is a value of its own: not an input, not a constant, not an output twice.
  void set_outputs() {
    Values outputs;
    std::unordered_set<const Value*> taken;
    for (const Value* v : source_.outputs()) {
      Value* to = mapped(v);
      if (!to) continue;
      const bool own = to->producer() && taken.insert(to).second;
      if (!own) {
        static const auto kNoOrigin = std::make_shared<const Origin>();
        Emitter e(*out_, target_, v->producer() ? v->producer()->shared_origin() : kNoOrigin);
        const DType t = to->dtype();
        ir::Node& n = out_->add(
            {"Identity", {to}, {}, {{"", t, to->shape()}}, e.shared_origin(), v->name() + "/Identity"});
        to = n.output();
      }
      out_->rename(to, v->name());
      out_->mark_source(to);
      outputs.push_back(to);
    }
    out_->set_outputs(std::move(outputs));
  }

  const ir::Graph& source_;
  const ConversionRegistry& registry_;
  const Target& target_;
  Diagnostics& diagnostics_;
  struct Failure {
    std::size_t diagnostic;
    const ir::Node *node, *top;  // in the main graph
  };

  const CutOptions cuts_;
  const ir::Node* top_ = nullptr;  // the node of the main graph that is being mapped
  std::vector<Failure> failed_;
  std::unordered_map<const Value*, Shape> tried_;        // shapes of inputs
  std::unordered_set<const ir::Node*>* done_ = nullptr;  // nodes that are mapped, where somebody asks
  std::optional<std::unordered_set<const ir::Node*>> done_with_shapes_;
  GraphPtr root_;
  ir::Graph* out_;  // the root, or its subgraph that is being filled
  std::unordered_map<const Value*, Value*> mapped_;
};

}  // namespace

void infer_shapes(ir::Graph& source, const ConversionRegistry& registry) {
  Diagnostics ignored;  // they come again when it is mapped
  Mapping(source, registry, ignored).learn_shapes(source);
}

GraphPtr map_ops(const ir::Graph& source, const ConversionRegistry& registry, Diagnostics& diagnostics,
                 const CutOptions& cuts) {
  return Mapping(source, registry, diagnostics, cuts).run();
}

}  // namespace t2o
