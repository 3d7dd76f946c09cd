#include "report.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_set>

#include "onnx/layout_functions.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/layout_rules.h"

namespace t2o {
namespace {

using rewriters::Form;
using Kind = TransposeReport::Kind;

constexpr std::size_t kFarthest = 4096;  // values looked at around one Transpose

constexpr std::array<std::string_view, 4> kLastAxis = {"MatMul", "Gemm", "LayerNormalization",
                                                       "RMSNormalization"};
constexpr std::array<std::string_view, 3> kTimeFirst = {"LSTM", "GRU", "RNN"};
constexpr std::array<std::string_view, 3> kRegroups = {"Reshape", "Flatten", "Squeeze"};

// What holds a tensor in the order of its axes.
struct Holder {
  const ir::Node* node = nullptr;
  const Value* interface = nullptr;  // or the graph's own input or output
  bool is_output = false;
  bool exists() const { return node || interface; }
  bool works_channels_first() const { return node && onnx::has(node->op(), onnx::Trait::channels_first); }
  bool works_channels_last() const { return node && onnx::is_channels_last_function(node->op()); }
  bool is_main_interface() const { return interface && !interface->graph()->parent(); }

  std::string text() const {
    if (node) return node->op() + " '" + node->name() + "'";
    if (!interface) return "";
    const std::string what = is_output ? "output" : interface->is_graph_input() ? "input" : "outer value";
    return what + " '" + interface->name() + "'";
  }
  std::string reason() const {
    if (interface) {
      const std::string whose = is_main_interface() ? "the model's " : "a subgraph's ";
      return whose + (is_output ? "output" : "input") + " stays as it is";
    }
    if (!node) return "";
    if (works_channels_first()) return node->op() + " works channels first";
    if (works_channels_last()) return node->op() + " works channels last";
    if (contains(kLastAxis, node->op())) return node->op() + " works along the last axis";
    if (contains(kTimeFirst, node->op())) return node->op() + " has the time axis first";
    if (contains(kRegroups, node->op())) return node->op() + " depends on the order of the elements";
    return node->op() + " depends on this order";
  }
};

// The nearest that is bound to the order which a tensor has, at one side of a Transpose.
class HolderSearch {
 public:
  HolderSearch(const ir::Node& transpose, Form form, const onnx::Target& target)
      : transpose_(transpose), form_(std::move(form)), target_(target) {}

  Holder find(const Value* start, bool downstream) {
    push(start);
    for (std::size_t i = 0; i < queue_.size() && i < kFarthest; ++i) {
      const Value* v = queue_[i];
      if (!(downstream ? below(v) || above(v) : above(v) || below(v))) continue;
      return found_;
    }
    return {};
  }

 private:
  bool hold(Holder h) { return found_ = h, true; }
  void push(const Value* v) {
    if (form_.has(v) && !v->constant() && seen_.insert(v).second) queue_.push_back(v);
  }

  bool above(const Value* v) {
    if (v->is_graph_input() || v->graph() != transpose_.graph()) return hold({nullptr, v, false});
    return v->producer() && visit(*v->producer());
  }
  bool below(const Value* v) {
    for (const ir::Use& u : v->uses())
      if (u.node->graph() != transpose_.graph() ? hold({u.node, nullptr, false}) : visit(*u.node))
        return true;
    return v->is_graph_output() && hold({nullptr, v, true});
  }

  bool visit(const ir::Node& n) {
    if (&n == &transpose_ || is_boundary(n)) return false;
    const rewriters::Role role = role_of(n, form_, target_);
    if (role.kind == rewriters::Role::Kind::fixed) return hold({&n, nullptr, false});
    for (const std::size_t i : role.data) push(n.input(i));
    if (role.kind != rewriters::Role::Kind::absorbs)
      for (const Value* v : n.outputs()) push(v);
    return false;
  }

  // Another Transpose between the same two orders.
  bool is_boundary(const ir::Node& n) const {
    const Ints* perm = rewriters::perm_of(&n);
    return perm && (*perm == form_.perm() || *perm == form_.inverse());
  }

  const ir::Node& transpose_;
  const Form form_;
  const onnx::Target& target_;
  std::deque<const Value*> queue_;
  std::unordered_set<const Value*> seen_;
  Holder found_;
};

Kind kind_of(const Holder& from, const Holder& to, const Origin& source) {
  const auto works_on_images = [](const Holder& h) {
    return h.works_channels_first() || h.works_channels_last();
  };
  const bool images = works_on_images(from) || works_on_images(to);
  if (images && (from.is_main_interface() || to.is_main_interface())) return Kind::interface;
  const bool own = source.op.find("Transpose") != std::string::npos;
  return own && !images ? Kind::model : Kind::operators;
}

std::string why(Kind kind, const Holder& from, const Holder& to, const Origin& source) {
  if (kind == Kind::model) return "the model's own";
  const std::string before = from.reason(), behind = to.reason();
  if (before.empty() && behind.empty())
    return "made for " + (source.op.empty() ? "the interface" : source.op);
  return before + (before.empty() || behind.empty() ? "" : ", ") + behind;
}

TransposeReport report_on_transpose(const ir::Node& n, const onnx::Target& target) {
  TransposeReport r{n.name(), n.origin(), {}, Kind::model, "", "", ""};
  Holder from, to;
  if (const Ints* perm = rewriters::perm_of(&n)) {
    r.perm = *perm;
    const Form form(*perm);
    from = HolderSearch(n, form, target).find(n.input(0), false);
    to = HolderSearch(n, Form(form.inverse()), target).find(n.output(), true);
  }
  r.kind = kind_of(from, to, n.origin());
  r.from = from.text();
  r.to = to.text();
  r.why = why(r.kind, from, to, n.origin());
  return r;
}

}  // namespace

std::string_view name(Kind k) {
  constexpr std::string_view kNames[] = {"interface", "operators", "model"};
  return nth(kNames, k);
}

GraphReport report_on(const ir::Graph& main, const onnx::Target& target, const runtime::Uses& uses) {
  GraphReport r;
  std::map<std::string, std::size_t> count;
  std::vector<const ir::Graph*> graphs{&main};
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    for (const Value* v : graphs[i]->constants())
      if (v->is_used()) r.weight_bytes += v->constant()->byte_size();
    for (const ir::Node& n : graphs[i]->nodes()) {
      ++r.nodes;
      ++count[n.op()];
      if (n.op() == "Loop" || n.op() == "Scan") ++r.loops;
      if (n.op() == "Transpose") r.transposes.push_back(report_on_transpose(n, target));
      ir::for_each_subgraph(n, [&](const ir::Graph& inner) { graphs.push_back(&inner); });
    }
  }
  r.operators.assign(count.begin(), count.end());
  std::ranges::stable_sort(r.operators, [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, count_of_row] : uses)
    if (const runtime::Row* row = runtime::find_row(name))
      r.runtime_rows.push_back(
          {name, std::string(runtime::name(row->kind)), std::string(row->why), count_of_row});
  return r;
}

}  // namespace t2o
