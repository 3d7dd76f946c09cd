#include <algorithm>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

constexpr int kDeepest = 2;

std::vector<Ref> captures(Drawer& d, std::int64_t count) {
  std::vector<Ref> list;
  for (; count > 0; --count) {
    const Ref r = d.pick(kAll, 0, 4);
    if (std::find(list.begin(), list.end(), r) == list.end()) list.push_back(r);
  }
  return list;
}

void draw_inside(Drawer& d, std::size_t most) {
  draw_ops(d, static_cast<std::size_t>(d.between(1, static_cast<std::int64_t>(most))));
}

bool has_bodies(const Recipe& r) {
  return std::any_of(r.steps.begin(), r.steps.end(), [](const Step& s) { return !s.bodies.empty(); });
}

Body finished(Drawer& d, std::vector<Ref> outputs) {
  d.recipe().outputs = std::move(outputs);
  return std::make_shared<const Recipe>(pruned(d.recipe()));
}

// A value of the body with this type, with this shape where there is one or where it must be.
Ref of_type(Drawer& d, const Tensor& wanted, bool same_shape) {
  std::vector<Ref> same, alike;
  for (const Ref r : d.pool()) {
    if (d.dtype(r) != wanted.dtype()) continue;
    alike.push_back(r);
    if (d.dims(r) == wanted.dims()) same.push_back(r);
  }
  if (!same.empty() && (same_shape || d.chance(0.8))) return d.chance(0.7) ? same.back() : d.one_of(same);
  if (!alike.empty() && !same_shape) return alike.back();
  return d.constant(d.random_tensor(wanted.dtype(), wanted.dims(), Domain::any));
}

Ref condition(Drawer& d) {
  const auto scalar = [](const Tensor& t) { return t.dtype() == boolean && t.rank() == 0; };
  return d.pick_if(scalar, [&] {
    if (d.chance(0.6)) return d.leaf(boolean, {});
    const Ref x = d.pick({i32, i64, f32}, 0, 3);
    Ints axes;
    for (std::int64_t i = 0; i < d.rank(x); ++i) axes.push_back(i);
    const Ref all = d.constant(Tensor::of<std::int32_t>({d.rank(x)}, std::vector<std::int32_t>(axes.begin(), axes.end())));
    const Ref most = d.op("Max", {x, all}, {{"keep_dims", false}});
    return d.op("Less", {most, d.leaf(d.dtype(x), {})});
  });
}

void draw_if(Drawer& d) {
  if (d.depth() >= kDeepest) throw Dropped();
  const Ref c = condition(d);
  const std::vector<Ref> in = captures(d, d.between(1, 3));
  Drawer yes(d), no(d);
  for (const Ref r : in) {
    yes.argument(d.recipe().tensor(r));
    no.argument(d.recipe().tensor(r));
  }
  draw_inside(yes, 3);
  draw_inside(no, 3);
  std::vector<Ref> outputs = {yes.pool().back()};
  if (d.chance(0.4)) outputs.push_back(d.one_of(yes.pool()));
  std::vector<Ref> others;
  DTypes types;
  for (const Ref r : outputs) {
    types.push_back(yes.dtype(r));
    others.push_back(of_type(no, yes.tensor(r), false));
  }
  Step s;
  s.bodies = {{"then_branch", finished(yes, outputs)}, {"else_branch", finished(no, others)}};
  s.inputs = {In(c), In(in)};
  const bool nodes = d.depth() == 0 && !has_bodies(*s.bodies[0].second) && !has_bodies(*s.bodies[1].second) && d.chance(0.3);
  s.op = nodes ? "NodesIf" : d.chance(0.5) ? "If" : "StatelessIf";
  if (!nodes) s.attrs = {{"Tout", types}};
  d.add(std::move(s), Rounding::many);
}

// Whether the values of a body that is run on these arguments are ordinary, each of them.
bool replay(const Recipe& body, std::vector<TensorPtr>& values) {
  engines::TfGraph graph;
  engines::Feeds feeds;
  Strings fetches;
  std::vector<Ref> refs;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const Step& s = body.steps[i];
    add_step(graph, body, s, test::Mode::rank);
    if (s.kind == Kind::argument) feeds.emplace_back(s.name, values.at(feeds.size()));
    if (s.kind == Kind::op)
      for (std::size_t k = 0; k < s.results.size(); ++k) refs.push_back({i, static_cast<int>(k)});
  }
  refs.insert(refs.end(), body.outputs.begin(), body.outputs.end());
  for (const Ref r : refs) fetches.push_back(tensor_name(body, r));
  const std::vector<TensorPtr> results = engines::TfSession(graph, {.single_threaded = true}).run(feeds, fetches);
  const std::size_t outputs = results.size() - body.outputs.size();
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!is_ordinary(*results[i])) return false;
  for (std::size_t i = 0; i < outputs; ++i) {
    const Step& s = body.steps[refs[i].step];
    if (s.op != "Cast") continue;
    for (std::size_t k = 0; k < outputs; ++k)
      if (refs[k] == s.inputs[0].refs[0] && !fits(*results[k], results[i]->dtype())) return false;
    if (is_float(body.tensor(s.inputs[0].refs[0])->dtype()) && is_int(results[i]->dtype())) return false;
  }
  for (const Step& s : body.steps)
    if (s.op.ends_with("Shift")) return false;  // a shift may grow
  values.assign(results.begin() + static_cast<std::ptrdiff_t>(outputs), results.end());
  return true;
}

// i = 0; while (i < limit) { ...; ++i }, the counter first, then what changes, then what is only read.
void draw_while(Drawer& d) {
  if (d.depth() >= kDeepest) throw Dropped();
  const auto rounds = static_cast<std::int32_t>(d.between(0, 4));
  const Ref counter = d.constant(Tensor::scalar<std::int32_t>(0));
  const Ref limit = d.leaf(Tensor::scalar<std::int32_t>(rounds));
  std::vector<Ref> in = {counter, limit};
  for (const Ref r : captures(d, d.between(1, 3))) in.push_back(r);
  const std::size_t changing = static_cast<std::size_t>(d.between(1, static_cast<std::int64_t>(in.size()) - 2));
  Drawer cond(d), body(d);
  for (const Ref r : in) {
    cond.argument(d.recipe().tensor(r));
    body.argument(d.recipe().tensor(r));
  }
  const Ref go = cond.op("Less", {cond.pool()[0], cond.pool()[1]});
  const std::vector<Ref> arguments = body.pool();
  draw_inside(body, 4);
  const Ref more = body.op("AddV2", {arguments[0], body.constant(Tensor::scalar<std::int32_t>(1))});
  std::vector<Ref> outputs = {more, arguments[1]};
  for (std::size_t i = 2; i < in.size(); ++i)
    outputs.push_back(i < 2 + changing ? of_type(body, body.tensor(arguments[i]), d.chance(0.9)) : arguments[i]);
  Step s;
  s.bodies = {{"cond", finished(cond, {go})}, {"body", finished(body, outputs)}};
  s.inputs = {In(in)};
  const bool nodes = d.depth() == 0 && !has_bodies(*s.bodies[1].second) && d.chance(0.3);
  s.op = nodes ? "NodesWhile" : d.chance(0.5) ? "While" : "StatelessWhile";
  if (!d.special()) {
    std::vector<TensorPtr> values;
    for (const Ref r : in) values.push_back(d.recipe().tensor(r));
    for (int i = 0; i < rounds; ++i)
      if (!replay(*s.bodies[1].second, values)) throw Dropped();
  }
  d.add(std::move(s), Rounding::many);
}

template <void (*Draw)(Drawer&)> void guarded(Drawer& d) {  // what TensorFlow refuses inside of a body
  try {
    Draw(d);
  } catch (const ConversionError&) {
    throw Dropped();
  }
}

}  // namespace

void add_control_flow(std::vector<Maker>& m) {
  m.push_back({"if", 6, guarded<draw_if>});
  m.push_back({"while", 6, guarded<draw_while>});
}

}  // namespace t2o::random_graphs
