#include "tfgraph/internal_ops.h"

#include <algorithm>
#include <iterator>

#include "tfgraph/values.h"

namespace t2o::tfgraph {
namespace {

constexpr std::string_view kKinds[] = {"t2o.LSTM", "t2o.GRU", "t2o.RNN"};
constexpr std::string_view kDirections[] = {"forward", "reverse", "bidirectional"};
constexpr std::string_view kPasts[] = {"zero", "hold", "hold_zero"};

template <class E, std::size_t n>
bool find(const std::string_view (&names)[n], std::string_view name, E& found) {
  const auto at = std::ranges::find(names, name);
  if (at == std::end(names)) return false;
  found = static_cast<E>(at - std::begin(names));
  return true;
}

// With alpha and beta of each.
bool read_activations(const ir::Node& n, RecurrentLayer& l) {
  const auto* names = n.attr_if<Strings>("activations");
  const auto *alpha = n.attr_if<Floats>("activation_alpha"), *beta = n.attr_if<Floats>("activation_beta");
  const std::size_t each = l.kind == CellKind::lstm ? 3 : l.kind == CellKind::gru ? 2 : 1;
  const std::size_t count = each * l.directions();
  if (!names || !alpha || !beta) return false;
  if (names->size() != count || alpha->size() != count || beta->size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) l.activations.push_back({(*names)[i], (*alpha)[i], (*beta)[i]});
  return true;
}

bool has_its_values(const ir::Node& n, const RecurrentLayer& l) {
  if (n.input_count() != l.first_input(l.directions()) || !n.input(0)) return false;
  if (n.outputs().size() != l.directions() * l.outputs()) return false;
  for (std::size_t d = 0; d < l.directions(); ++d)
    for (std::size_t i = 0; i < 2 * l.gates(); ++i)
      if (!n.input(l.first_input(d) + l.states() + i)) return false;
  return true;
}

}  // namespace

std::string_view name(Direction d) { return nth(kDirections, d); }

std::string_view RecurrentLayer::op() const { return nth(kKinds, kind); }

Attrs RecurrentLayer::attrs() const {
  Strings names;
  Floats alphas, betas;
  for (const Activation& a : activations) {
    names.push_back(a.name);
    alphas.push_back(a.alpha);
    betas.push_back(a.beta);
  }
  Attrs attrs{{"hidden_size", units},
              {"direction", std::string(name(direction))},
              {"activations", names},
              {"activation_alpha", alphas},
              {"activation_beta", betas}};
  if (padding_first) attrs.push_back({"padding_first", 1});
  if (past) attrs.push_back({"past", std::string(nth(kPasts, *past))});
  if (kind == CellKind::gru) attrs.push_back({"linear_before_reset", linear_before_reset});
  return attrs;
}

std::optional<RecurrentLayer> RecurrentLayer::of(const ir::Node& n) {
  RecurrentLayer l;
  const auto *direction = n.attr_if<std::string>("direction"), *past = n.attr_if<std::string>("past");
  if (!find(kKinds, n.op(), l.kind) || !direction || !find(kDirections, *direction, l.direction)) return {};
  if (past && !find(kPasts, *past, l.past.emplace())) return {};
  l.units = int_attr(n, "hidden_size");
  l.padding_first = int_attr(n, "padding_first") != 0;
  l.linear_before_reset = int_attr(n, "linear_before_reset") != 0;
  const bool is_whole =
      l.units > 0 && l.units <= kMostUnits && read_activations(n, l) && has_its_values(n, l);
  return is_whole ? std::optional(std::move(l)) : std::nullopt;
}

}  // namespace t2o::tfgraph
