#include <set>

#include "onnx/image_layout.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/layout_folding.h"

namespace t2o::rewriters {
namespace {

constexpr std::size_t kMostForms = 16;  // each is a walk over the graph; a model has three

// Those of images whose channels the graph's transposes move to the end.
std::vector<Ints> channels_last_forms(const ir::Graph& g) {
  std::set<Ints> images;
  for (const ir::Node& n : g.nodes()) {
    const Ints* perm = perm_of(&n);
    if (!perm || !n.input(0)->shape().ranked()) continue;
    const Ints inverse = Form(*perm).inverse();
    if (onnx::moves_channels_first(*perm))
      images.insert(inverse);
    else if (onnx::moves_channels_first(inverse))
      images.insert(*perm);
  }
  return {images.begin(), images.end()};
}

// The forms that the graph's transposes lead into: the images' first, then others, as that of sequences with
// their time first.
std::vector<Ints> forms_of(const ir::Graph& g) {
  std::set<Ints> images, others;
  for (const ir::Node& n : g.nodes()) {
    const Ints* perm = perm_of(&n);
    if (!perm || !n.input(0)->shape().ranked()) continue;
    Ints inverse = Form(*perm).inverse();
    if (onnx::moves_channels_first(*perm))
      images.insert(*perm);
    else if (onnx::moves_channels_first(inverse))
      images.insert(std::move(inverse));
    else
      others.insert(std::min(*perm, inverse));
  }
  std::vector<Ints> all(images.begin(), images.end());
  append(all, others);
  if (all.size() > kMostForms) all.resize(kMostForms);
  return all;
}

// A Transpose that is its own inverse leads into its form or out of it. Its producer decides which. A fold
// may change the producer, and then another fold may find a cheaper layout.
int fold_whole_form(ir::Graph& g, const Form& form, const onnx::Target& target, bool at_interface) {
  constexpr int kMostRounds = 4;
  const bool has_interface =
      at_interface && !g.parent();  // its Transposes are where the user wants them: no second fold
  const int rounds = form.perm() == form.inverse() && !has_interface ? kMostRounds : 1;
  int changes = 0;
  for (int i = 0; i < rounds; ++i) {
    const int now = fold_into(g, form, target, at_interface);
    if (now == 0) break;
    changes += now;
    cancel_transposes().run(g);  // what a Reshape gives is transposed, which a Transpose behind it may undo
  }
  return changes;
}

// In turn, until each form has found nothing since another one changed the graph. A fold may leave Transposes
// of forms that were not there before.
int fold(ir::Graph& g, const onnx::Target& target, bool at_interface) {
  constexpr std::size_t kMostTurns = 4;
  int changes = 0;
  std::vector<Ints> forms = forms_of(g);
  for (std::size_t settled = 0, i = 0; settled < forms.size() && i < kMostTurns * kMostForms; ++i) {
    const Ints& perm = forms[i % forms.size()];
    const int now = fold_whole_form(g, Form(perm), target, at_interface && onnx::moves_channels_first(perm));
    settled = now == 0 ? settled + 1 : 1;
    changes += now;
    if (now == 0) continue;
    for (Ints& fresh : forms_of(g))
      if (!contains(forms, fresh) && forms.size() < kMostForms) forms.push_back(std::move(fresh));
  }
  return changes;
}

}  // namespace

// The target is read while the returned rewriter runs.
Rewriter fold_layout(const onnx::Target& target, bool at_interface) {
  return {"fold_layout",
          [target, at_interface](ir::Graph& g) { return fold(g, target, at_interface); },
          {"Transpose"}};
}

Rewriter fold_channels_last(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (const Ints& perm : channels_last_forms(g)) changes += fold_into(g, Form(perm), target, false);
    return changes;
  };
  return {"fold_channels_last", run, {"Transpose"}};
}

}  // namespace t2o::rewriters
