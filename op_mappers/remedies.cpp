#include "op_mappers/remedies.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/complex.h"
#include "op_mappers/custom_ops.h"
#include "tfgraph/drawn.h"

namespace t2o {
namespace {

constexpr std::string_view kBetween = " | ";
constexpr std::string_view kCut = "{cut}", kAfter = "{cut after}", kBefore = "{cut before}",
                           kShapes = "{shapes}", kCustom = "{custom op}";
constexpr std::size_t kMostTensors = 12;  // that anybody would list
constexpr std::size_t kMostSteps = 200;   // from the node to the nearest tensors that may be listed

// What the options call a tensor, or nothing: it has to be a result of a node of the model.
std::string name_of(const Value* v, const CutOptions& cuts) {
  const ir::Node* n = v->producer();
  if (!n || n->origin().op != n->op() || n->attr(tfgraph::kDrawn)) return "";
  if (!n->origin().function.empty() && !cuts.inside_functions) return "";
  return n->origin().node + ":" + std::to_string(v->index());
}

bool may_be_listed(const Value* v) {
  const DType t = v->dtype();
  return !contains({DType::undefined, DType::resource, DType::variant}, t);
}

// The tensors to list, one after the other; none where the graph cannot be cut there.
class Cut {
 public:
  explicit Cut(const CutOptions& cuts) : cuts_(cuts) {}

  // Instead of a result that cannot be listed, what is computed of it.
  bool after(const ir::Node& n) {
    for (const Value* v : n.outputs()) {
      if (!v->is_used() || !seen_.insert(v).second) continue;
      if (v->is_graph_output() && v->uses().empty()) return false;  // nothing would be left of the graph
      if (list(v)) continue;
      if (v->is_graph_output()) return false;
      for (const ir::Use& u : v->uses())
        if (u.node->graph() != n.graph() || ++steps_ > kMostSteps || !after(*u.node)) return false;
    }
    return names_.size() <= kMostTensors;
  }

  bool before(const ir::Node& n) {
    for (const Value* v : n.inputs()) {
      if (!v || v->constant() || v->is_graph_input() || !seen_.insert(v).second || list(v)) continue;
      if (v->graph() != n.graph() || ++steps_ > kMostSteps || !before(*v->producer())) return false;
    }
    return names_.size() <= kMostTensors;
  }

  std::string option(const char* name) const {
    std::string text;
    for (const std::string& n : names_) text += (text.empty() ? std::string(name) + " " : ",") + n;
    return text.empty() || !has_complex_ ? text : text + " --complex-as-pairs";
  }

 private:
  bool list(const Value* v) {
    const std::string name = may_be_listed(v) ? name_of(v, cuts_) : "";
    if (name.empty()) return false;
    has_complex_ = has_complex_ || is_complex(v->dtype());
    names_.push_back(name);
    return true;
  }

  const CutOptions& cuts_;
  std::vector<std::string> names_;
  std::unordered_set<const Value*> seen_;
  std::size_t steps_ = 0;
  bool has_complex_ = false;
};

std::string cut_text(std::string_view token, const ir::Node& n, const ir::Node& top, const CutOptions& cuts) {
  const std::string what = &n == &top ? "it" : "the " + top.op() + " around it";
  Cut in_front(cuts), behind(cuts);
  const std::string outputs =
      token != kAfter && in_front.before(top) ? in_front.option("--outputs") : std::string();
  const std::string inputs =
      token != kBefore && behind.after(top) ? behind.option("--inputs") : std::string();
  if (outputs.empty() && inputs.empty()) return "";
  std::string text = "cut the graph ";
  if (!outputs.empty()) text += "before " + what + " with " + outputs;
  if (!outputs.empty() && !inputs.empty()) text += ", or ";
  if (!inputs.empty()) text += "after " + what + " with " + inputs;
  return text;
}

std::string shapes_text(const ir::Graph& g) {
  std::string names, text;
  bool any = false, by_rank = true;
  for (const Value* v : g.inputs()) {
    text += (text.empty() ? "" : ",") + v->name();
    if (!is_open(*v)) continue;
    any = true;
    by_rank = by_rank && v->shape().ranked();
    if (!v->shape().ranked()) {
      text += "[...]";
      continue;
    }
    for (std::size_t i = 0; i < v->shape().dims().size(); ++i) {
      const Dim d = v->shape().dims()[i];
      text += (i == 0 ? "[" : ",") + (is_known(d) ? std::to_string(d) : "?");
    }
    text += "]";
  }
  if (!any) return "";
  return "give the inputs' shapes: --inputs " + text + (by_rank ? " with sizes in place of the ?" : "");
}

void replace(std::string& text, std::string_view token, const std::string& by) {
  if (const std::size_t at = text.find(token); at != std::string::npos) text.replace(at, token.size(), by);
}

}  // namespace

bool is_open(const Value& v) {
  const Shape& s = v.shape();
  return !s.ranked() || std::ranges::any_of(s.dims(), [](Dim d) { return !is_known(d); });
}

std::string settled_remedy(std::string_view remedy, const ir::Node& n, const ir::Node& top,
                           const CutOptions& cuts, const std::function<bool()>& shapes_help) {
  std::string settled;
  while (!remedy.empty()) {
    const std::size_t end = remedy.find(kBetween);
    std::string one(remedy.substr(0, end));
    remedy = end == std::string_view::npos ? std::string_view() : remedy.substr(end + kBetween.size());
    bool helps = true;
    for (const std::string_view token : {kCut, kAfter, kBefore}) {
      if (one.find(token) == std::string::npos) continue;
      const std::string text = cut_text(token, n, top, cuts);
      helps = helps && !text.empty();
      replace(one, token, text);
    }
    if (one.find(kCustom) != std::string::npos) {
      helps = helps && may_be_custom(n);
      replace(one, kCustom, "keep it for a runtime that has it with --custom-ops " + n.op());
    }
    if (one.find(kShapes) != std::string::npos) {
      const std::string text = cuts.by_inputs && shapes_help() ? shapes_text(*top.graph()) : "";
      helps = helps && !text.empty();
      replace(one, kShapes, text);
    }
    if (helps) settled += (settled.empty() ? "" : ", or ") + one;
  }
  return settled;
}

}  // namespace t2o
