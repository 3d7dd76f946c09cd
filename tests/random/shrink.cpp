#include "runner.h"

namespace t2o::random_graphs {
namespace {

// The results of an op become inputs or constants of the graph.
Recipe cut(const Recipe& r, std::size_t at, Kind kind) {
  Recipe out;
  out.special = r.special;
  std::vector<std::vector<Ref>> places(r.steps.size());
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const Step& s = r.steps[i];
    if (i == at) {
      for (std::size_t k = 0; k < s.results.size(); ++k) {
        places[i].push_back({out.steps.size(), 0});
        Step leaf;
        leaf.kind = kind;
        leaf.name = (kind == Kind::fed ? "x" : "c") + s.name.substr(1, s.name.find('_') - 1) + (k == 0 ? "" : "_" + std::to_string(k));
        leaf.value = s.results[k];
        leaf.results = {s.results[k]};
        leaf.errors = leaf.loose = {{}};
        out.steps.push_back(std::move(leaf));
      }
      continue;
    }
    for (std::size_t k = 0; k < s.results.size(); ++k) places[i].push_back({out.steps.size(), static_cast<int>(k)});
    out.steps.push_back(s);
    for (In& in : out.steps.back().inputs)
      for (Ref& ref : in.refs) ref = places[ref.step][static_cast<std::size_t>(ref.output)];
  }
  for (const Ref ref : r.outputs) out.outputs.push_back(places[ref.step][static_cast<std::size_t>(ref.output)]);
  return out;
}

bool is_op(const Recipe& r, Ref ref) { return r.steps[ref.step].kind == Kind::op; }

void fewer_outputs(const Recipe& r, std::vector<Recipe>& found) {
  if (r.outputs.size() < 2) return;
  for (const Ref ref : r.outputs) {
    found.push_back(r);
    found.back().outputs = {ref};
  }
  if (r.outputs.size() == 2) return;
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    found.push_back(r);
    found.back().outputs.erase(found.back().outputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void smaller_bodies(const Recipe& r, std::vector<Recipe>& found) {
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    for (std::size_t b = 0; b < r.steps[i].bodies.size(); ++b) {
      const Recipe& body = *r.steps[i].bodies[b].second;
      for (std::size_t k = 0; k < body.steps.size(); ++k) {
        if (body.steps[k].kind != Kind::op) continue;
        found.push_back(r);
        found.back().steps[i].bodies[b].second = std::make_shared<const Recipe>(pruned(cut(body, k, Kind::constant)));
      }
    }
}

}  // namespace

std::vector<Recipe> smaller(const Recipe& r) {
  std::vector<Recipe> found;
  fewer_outputs(r, found);
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (r.steps[i].kind != Kind::op) continue;
    for (const Kind kind : {Kind::fed, Kind::constant}) {
      Recipe c = cut(r, i, kind);
      bool useful = false;
      for (const Ref ref : c.outputs) useful = useful || is_op(c, ref);
      if (useful) found.push_back(pruned(c));
    }
  }
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (r.steps[i].kind != Kind::fed) continue;
    found.push_back(r);
    found.back().steps[i].kind = Kind::constant;
    found.back().steps[i].name[0] = 'c';
  }
  smaller_bodies(r, found);
  for (Recipe& c : found) c = pruned(c);
  return found;
}

std::vector<Variant> simpler(const Variant& v) {
  std::vector<Variant> found;
  const auto with = [&](auto change) {
    Variant other = v;
    change(other);
    if (!(other == v)) found.push_back(other);
  };
  with([](Variant& o) { o.mode = test::Mode::fixed; });
  if (v.mode == test::Mode::rank) with([](Variant& o) { o.mode = test::Mode::dims; });
  with([](Variant& o) { o.optimize = false; });
  with([](Variant& o) { o.nhwc = false; });
  with([](Variant& o) { o.opset = 21; });
  return found;
}

}  // namespace t2o::random_graphs
