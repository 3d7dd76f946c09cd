#include <algorithm>
#include <map>
#include <unordered_map>

#include "onnx/emitter.h"
#include "rewriters/all.h"

// Dims with the same symbol are equal: the size is read where it first occurs, mostly at an input of the
// graph. Whatever each layer computes from it, such as a causal mask, is then the same and computed once.
namespace t2o::rewriters {
namespace {

struct Place {
  Value* value;
  int axis;
};

class DimSharing {
 public:
  DimSharing(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {}

  int run() {
    int changes = 0;
    for (Value* v : g_.inputs()) note(v);
    for (ir::Node& n : g_.nodes()) {
      if (n.op() == "Shape" && n.input(0)->shape().ranked()) changes += share(n) ? 1 : 0;
      for (Value* v : n.outputs()) note(v);
    }
    return changes;
  }

 private:
  void note(Value* v) {
    if (!v || !v->shape().ranked()) return;
    const Ints& dims = v->shape().dims();
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (is_symbol(dims[i])) first_.try_emplace(dims[i], Place{v, static_cast<int>(i)});
    if (std::ranges::none_of(dims, [](Dim d) { return d == kUnknownDim; })) same_.try_emplace(dims, v);
  }

  bool share(ir::Node& shape) {
    if (shape.attrs().empty() ? share_elements(shape) : share_part(shape)) return true;
    const auto it = same_.find(shape.input(0)->shape().dims());
    if (it == same_.end() || it->second == shape.input(0)) return false;
    g_.set_input(shape, 0, it->second);
    return true;
  }

  const Place* place_of(const Value* v, std::int64_t axis) const {
    const Shape& s = v->shape();
    if (axis < 0) axis += s.rank();
    if (axis < 0 || axis >= s.rank() || !is_symbol(s[static_cast<int>(axis)])) return nullptr;
    const auto it = first_.find(s[static_cast<int>(axis)]);
    return it == first_.end() ? nullptr : &it->second;
  }

  // Shape(x) from one axis to the next
  bool share_part(ir::Node& shape) {
    const auto* start = shape.attr_if<std::int64_t>("start");
    const auto* end = shape.attr_if<std::int64_t>("end");
    const int rank = shape.input(0)->shape().rank();
    const std::int64_t from = start ? (*start < 0 ? *start + rank : *start) : 0;
    const std::int64_t to = end ? (*end < 0 ? *end + rank : std::min<std::int64_t>(*end, rank)) : rank;
    const Place* p = to == from + 1 ? place_of(shape.input(0), from) : nullptr;
    if (!p || p->value == shape.input(0)) return false;
    g_.set_input(shape, 0, p->value);
    g_.set_attr(shape, "start", std::int64_t{p->axis});
    g_.set_attr(shape, "end", std::int64_t{p->axis + 1});
    return true;
  }

  // One size of it, maybe in 32 bits
  static bool takes_one(const ir::Node& n) {
    const bool takes_rows = n.op() == "Gather" && n.attr_or<std::int64_t>("axis", 0) == 0;
    return takes_rows && n.input(1)->constant() && n.input(1)->constant()->elements() == 1;
  }

  bool collect(const Value* sizes, const Value* x, std::vector<ir::Node*>& takers,
               bool behind_cast = false) const {
    if (sizes->is_graph_output()) return false;
    for (const ir::Use& u : sizes->uses()) {
      if (u.node->graph() != &g_) return false;
      if (!behind_cast && u.node->op() == "Cast") {
        if (!collect(u.node->output(), x, takers, true)) return false;
      } else if (u.input != 0 || !takes_one(*u.node) ||
                 !place_of(x, u.node->input(1)->constant()->to_ints()[0])) {
        return false;
      } else {
        takers.push_back(u.node);
      }
    }
    return true;
  }

  // Where all that is read of Shape(x) are sizes that came up before
  bool share_elements(ir::Node& shape) {
    Value* x = shape.input(0);
    std::vector<ir::Node*> takers;
    if (!collect(shape.output(), x, takers) || takers.empty()) return false;
    const auto is_new = [&](const ir::Node* n) {
      return place_of(x, n->input(1)->constant()->to_ints()[0])->value != x;
    };
    if (!std::ranges::all_of(takers, is_new)) return false;
    Emitter e(shape, target_);
    for (ir::Node* n : takers) {
      const Tensor& index = *n->input(1)->constant();
      const Place& p = *place_of(x, index.to_ints()[0]);
      Value* sizes = e.emit("Shape", {p.value});
      g_.set_input(*n, 0, e.cast(sizes, n->output()->dtype()));
      g_.set_input(*n, 1, e.constant(Tensor::of<std::int64_t>(index.dims(), Ints{p.axis})));
    }
    return true;
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  std::unordered_map<Dim, Place> first_;
  std::map<Ints, Value*> same_;
};

}  // namespace

Rewriter share_dims(const onnx::Target& target) {
  return {"share_dims", [target](ir::Graph& g) { return DimSharing(g, target).run(); }, {"Shape"}};
}

}  // namespace t2o::rewriters
