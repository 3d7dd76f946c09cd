#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A size of 0 in a Reshape copies the size that the tensor has at that place. A cache that grows is empty at
// first: [n, m, 0, 4] reshaped to [n * m, 0, 4] would get m. The attribute allowzero makes it a size of 0.
// Opsets below 14 lack it: there a size of 0 becomes -1, which is inferred to be 0. Three kinds of sizes may
// be 0: symbols along which something is joined, sizes of which nothing is known, in a loop's body or of a
// tensor of unknown rank, where something is joined along such a one, and sizes that data decide. All others
// count as 1 or more.
namespace t2o::rewriters {
namespace {

constexpr int kAllowsZero = 14;  // the first opset with the attribute

class Sizes {
 public:
  Sizes(const ir::Graph& g, const onnx::Target& target)
      : symbols_(g.symbols()),
        in_body_(g.parent() != nullptr),
        strict_(target.strict),
        joins_may_be_empty_(target.strict || target.opset >= kAllowsZero) {
    std::vector<const ir::Graph*> around;  // g first, the main graph last
    for (const ir::Graph* each = &g; each; each = each->parent()) around.push_back(each);
    for (auto each = around.rbegin(); each != around.rend(); ++each)  // a body reads what stands around it
      for (const ir::Node& n : (*each)->nodes()) add(n);
    for (const Value* v : around.back()->inputs())
      for (std::size_t i = 0; v->shape().ranked() && i < v->shape().dims().size(); ++i)
        of_inputs_.insert(v->shape().dims()[i]);
  }

  bool any() const { return unknown_ || !grown_.empty() || !of_data_.empty(); }
  bool follows_data(const Value* v) const { return of_data_.contains(v); }
  // A size of which nothing is known, of that value.
  bool unknown_may_be_zero(const Value* v) const {
    return follows_data(v) || (unknown_ && (in_body_ || !v->shape().ranked()));
  }
  bool may_be_zero(Dim d, bool of_data) const {
    if (!is_symbol(d) || symbols_.affine_of(d).offset != 0) return d == 0;
    return grown_.contains(base(d)) || (of_data && !of_inputs_.contains(base(d)));
  }
  Dim base(Dim d) const { return is_symbol(d) ? symbols_.affine_of(d).base : d; }

 private:
  void add(const ir::Node& n) {
    static constexpr std::string_view kByData[] = {"NonZero", "Compress", "Unique", "NonMaxSuppression"};
    const bool by_data = std::find(std::begin(kByData), std::end(kByData), n.op()) != std::end(kByData) ||
                         std::any_of(n.inputs().begin(), n.inputs().end(),
                                     [&](const Value* v) { return of_data_.contains(v); });
    if (by_data) of_data_.insert(n.outputs().begin(), n.outputs().end());
    if (n.op() == "Concat") add_joined(n);
  }

  void add_joined(const ir::Node& n) {
    if (n.input_count() < 2) return;
    for (const Value* v : n.inputs()) {
      const Dim d = joined_size(n, v);
      if (is_symbol(d)) grown_.insert(base(d));
      unknown_ = unknown_ || d == kUnknownDim;
    }
    const auto unranked = [](const Value* v) { return !v->shape().ranked(); };
    unknown_ = unknown_ || (strict_ && std::all_of(n.inputs().begin(), n.inputs().end(), unranked));
    const Dim whole = joined_size(n, n.output(0));
    const auto maybe = [&](const Value* v) { return may_be_zero(joined_size(n, v), false); };
    if (joins_may_be_empty_ && is_symbol(whole) && std::all_of(n.inputs().begin(), n.inputs().end(), maybe))
      grown_.insert(base(whole));
  }

  // 1 for a list: sizes are joined in lists.
  static Dim joined_size(const ir::Node& n, const Value* v) {
    if (!v->shape().ranked() || v->shape().rank() < 2) return 1;
    const int axis = axis_of(n, v, 0);
    return axis < 0 || axis >= v->shape().rank() ? 1 : v->shape()[axis];
  }

  const Symbols& symbols_;
  bool in_body_, unknown_ = false;
  bool strict_;
  bool joins_may_be_empty_;  // all that is joined may be empty; below opset 14, only strict has nodes for it
  std::unordered_set<Dim> grown_, of_inputs_;
  std::unordered_set<const Value*> of_data_;
};

// Some size asked for is 0 where x has another one at that place.
bool copies_wrong_size(const Value* value, const Ints& asked, const Sizes& sizes) {
  const Shape& x = value->shape();
  const bool of_data = sizes.follows_data(value), unknown = sizes.unknown_may_be_zero(value);
  const auto maybe = [&](Dim d) { return d == kUnknownDim ? unknown : sizes.may_be_zero(d, of_data); };
  if (x.ranked() && std::none_of(x.dims().begin(), x.dims().end(), maybe)) return false;
  // Where what may be 0 of x is named among those asked for, no product that is not known holds it.
  const bool named = std::any_of(asked.begin(), asked.end(), [&](Dim d) { return is_symbol(d) && maybe(d); });
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Dim own = x.ranked() && static_cast<int>(i) < x.rank() ? x[static_cast<int>(i)] : 1;
    if (asked[i] == kUnknownDim) {
      const bool only = own == kUnknownDim && std::count(asked.begin(), asked.end(), kUnknownDim) == 1 &&
                        std::count(x.dims().begin(), x.dims().end(), kUnknownDim) == 1;
      if (!named && !only && (x.ranked() || unknown)) return true;
    } else if (maybe(asked[i]) && !(maybe(own) && sizes.base(own) == sizes.base(asked[i]))) {
      return true;
    }
  }
  return false;
}

bool needs_guard(const ir::Node& n, const Sizes& sizes) {
  if (n.op() != "Reshape" || !n.input(1) || n.input(1)->constant() || n.attr("allowzero")) return false;
  const auto asked = n.input(1)->known_elements();
  return asked && copies_wrong_size(n.input(0), *asked, sizes);
}

void infer_zeros(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  Emitter e(g, target, n.shared_origin(), &n);
  Value* zero = e.constant<std::int64_t>(0);
  Value* inferred = e.constant<std::int64_t>(-1);
  Value* is_zero = e.equal(n.input(1), zero);
  g.set_input(n, 1, e.where(is_zero, inferred, n.input(1)));
}

}  // namespace

Rewriter guard_reshapes(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    const Sizes sizes(g, target);
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (!sizes.any() || !needs_guard(n, sizes)) continue;
      if (target.opset >= kAllowsZero)
        g.set_attr(n, "allowzero", std::int64_t{1});
      else
        infer_zeros(g, n, target);
      ++changes;
    }
    return changes;
  };
  return {"guard_reshapes", run, {"Reshape"}};
}

}  // namespace t2o::rewriters
