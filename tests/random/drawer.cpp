#include "drawer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace t2o::random_graphs {

// In the order of what models use: the first are drawn more often.
const DTypes kFloats = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16};
const DTypes kInts = {DType::i32, DType::i32, DType::i32, DType::i64, DType::i64, DType::u8, DType::i8,
                      DType::i16, DType::u16, DType::u32, DType::u64};
const DTypes kIndices = {DType::i32, DType::i64};

namespace {

DTypes joined(DTypes a, const DTypes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr std::int64_t kMostElements = 3000;
constexpr std::size_t kMostPool = 40;

}  // namespace

const DTypes kReals = joined(joined(kFloats, kFloats), kInts);
const DTypes kNumbers = joined(kReals, {DType::c64});
const DTypes kAll = joined(kNumbers, {DType::boolean, DType::boolean});

Drawer::Drawer(verify::Random& random, bool special)
    : random_(random), session_(graph_, {.single_threaded = true}) {
  recipe_.special = special;
  for (std::int64_t n = between(1, 3); n > 0; --n) palette_.push_back(one_of(kReals));
  if (chance(0.5)) palette_.push_back(DType::boolean);
  sizes_ = {1, 2, 3, 4, 5, 6, 7};
  while (sizes_.size() > 4) sizes_.erase(sizes_.begin() + below(static_cast<std::int64_t>(sizes_.size())));
}

Drawer::Drawer(const Drawer& around)
    : random_(around.random_), session_(graph_, {.single_threaded = true}), depth_(around.depth_ + 1), palette_(around.palette_), sizes_(around.sizes_) {
  recipe_.special = around.recipe_.special;
}

// ---- values

DType Drawer::dtype(const DTypes& of) {
  DTypes liked;
  for (const DType t : palette_)
    if (std::find(of.begin(), of.end(), t) != of.end()) liked.push_back(t);
  return !liked.empty() && chance(0.75) ? one_of(liked) : one_of(of);
}

Ints Drawer::dims(int least_rank, int most_rank) {
  static const std::vector<int> ranks = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5};
  const int rank = std::clamp(one_of(ranks), least_rank, most_rank);
  Ints d(static_cast<std::size_t>(rank));
  for (std::int64_t& n : d) n = special() && chance(0.08) ? 0 : one_of(sizes_);
  while (element_count(d) > 400) *std::max_element(d.begin(), d.end()) = 2;
  return d;
}

Ref Drawer::add_leaf(Kind kind, const TensorPtr& t) {
  if (!special() && !is_ordinary(*t)) throw Dropped();
  static const char* const letters = "xca";
  Step step;
  step.kind = kind;
  step.name = letters[static_cast<int>(kind)] + std::to_string(serial_++);
  step.value = t;
  step.results = {t};
  step.errors = step.loose = {{}};
  add_step(graph_, recipe_, step, test::Mode::fixed);
  recipe_.steps.push_back(std::move(step));
  const Ref ref{recipe_.steps.size() - 1, 0};
  pool_.push_back(ref);
  return ref;
}

Ref Drawer::leaf(const TensorPtr& t) {
  return add_leaf(depth_ > 0 || chance(0.35) ? Kind::constant : Kind::fed, t);
}
Ref Drawer::constant(const TensorPtr& t) { return add_leaf(Kind::constant, t); }
Ref Drawer::argument(const TensorPtr& t) { return add_leaf(Kind::argument, t); }
Ref Drawer::leaf(DType t, Ints d, Domain domain) { return leaf(random_tensor(t, d, domain)); }
Ref Drawer::like(Ref r, Domain domain) { return leaf(dtype(r), dims(r), domain); }

Ref Drawer::index(Ints d, const Ints& values, double fed) {
  TensorPtr t = chance(0.6) ? Tensor::of<std::int32_t>(d, std::vector<std::int32_t>(values.begin(), values.end()))
                            : Tensor::of<std::int64_t>(d, values);
  const bool is_fed = depth_ == 0 && chance(fed);
  if (!is_ordinary(*t)) {  // a list of no axes is nothing special
    const bool was = recipe_.special;
    recipe_.special = true;
    const Ref r = add_leaf(is_fed ? Kind::fed : Kind::constant, t);
    recipe_.special = was;
    pool_.pop_back();
    return r;
  }
  return add_leaf(is_fed ? Kind::fed : Kind::constant, t);
}

Ref Drawer::pick_if(const std::function<bool(const Tensor&)>& fits, const std::function<Ref()>& otherwise) {
  if (chance(0.85)) {
    std::vector<Ref> found;
    for (const Ref r : pool_)
      if (fits(tensor(r))) found.push_back(r);
    if (!found.empty()) {
      const auto n = static_cast<std::int64_t>(found.size());
      return found[static_cast<std::size_t>(std::max({below(n), below(n), chance(0.5) ? below(n) : 0}))];  // rather the last ones
    }
  }
  return otherwise();
}

Ref Drawer::pick(const DTypes& of, int least_rank, int most_rank, Domain domain) {
  const auto fits = [&](const Tensor& t) {
    return t.rank() >= least_rank && t.rank() <= most_rank && std::find(of.begin(), of.end(), t.dtype()) != of.end();
  };
  return pick_if(fits, [&] { return leaf(dtype(of), dims(least_rank, most_rank), domain); });
}

Ref Drawer::partner(Ref a, Domain domain) {
  const Ints& d = dims(a);
  const auto fits = [&](const Tensor& t) {
    if (t.dtype() != dtype(a)) return false;
    for (std::size_t i = 1; i <= std::min(d.size(), t.dims().size()); ++i) {
      const std::int64_t x = d[d.size() - i], y = t.dims()[t.dims().size() - i];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  };
  return pick_if(fits, [&] {
    Ints other = d;
    if (chance(0.3) && !other.empty()) other.erase(other.begin(), other.begin() + between(1, static_cast<std::int64_t>(other.size())));
    for (std::int64_t& n : other)
      if (chance(0.2)) n = 1;
      else if (n == 1 && chance(0.4)) n = between(2, 4);
    if (chance(0.1) && other.size() < 4) other.insert(other.begin(), between(1, 3));
    return leaf(dtype(a), other, domain);
  });
}

std::int64_t Drawer::axis(Ref r) {
  const std::int64_t n = rank(r);
  if (n == 0) throw Dropped();
  return between(-n, n - 1);
}

// ---- ops

std::vector<TensorPtr> Drawer::run(const Step& step, const std::vector<std::pair<Ref, TensorPtr>>& replaced) {
  engines::Feeds feeds;
  Strings fetches;
  const auto feed = [&](Ref r) {
    const std::string tensor_of = tensor_name(recipe_, r);
    for (const auto& [name, value] : feeds)
      if (name == tensor_of) return;
    TensorPtr value = recipe_.tensor(r);
    for (const auto& [other, t] : replaced)
      if (other == r) value = t;
    feeds.emplace_back(tensor_of, value);
  };
  for (const In& in : step.inputs)
    for (const Ref r : in.refs) feed(r);
  if (is_drawn_in_nodes(step)) {
    const std::size_t count = step.bodies.back().second->outputs.size();
    for (std::size_t i = 0; i < count; ++i) fetches.push_back(step.name + "/y" + std::to_string(i));
  } else {
    const int count = graph_.outputs(step.name);
    for (int i = 0; i < count; ++i) fetches.push_back(step.name + ":" + std::to_string(i));
  }
  return session_.run(feeds, fetches);
}

Ref Drawer::add(Step step, Rounding rounding) {
  step.name = "n" + std::to_string(serial_++) + "_" + step.op;
  try {
    add_step(graph_, recipe_, step, test::Mode::fixed);
    step.results = run(step, {});
    if (step.results.empty()) throw Dropped();
    for (const TensorPtr& t : step.results) {
      if (t->elements() > kMostElements || t->dtype() == DType::string) throw Dropped();
      if (!special() && !is_ordinary(*t)) throw Dropped();
    }
    measure_errors(step, rounding);
  } catch (const ConversionError&) {
    throw Dropped();
  }
  recipe_.steps.push_back(std::move(step));
  ++ops_;
  const Step& made = recipe_.steps.back();
  for (std::size_t i = 0; i < made.results.size() && pool_.size() < kMostPool; ++i)
    pool_.push_back({recipe_.steps.size() - 1, static_cast<int>(i)});
  return {recipe_.steps.size() - 1, 0};
}

Ref Drawer::op(std::string name, std::vector<In> inputs, std::vector<engines::TfAttr> attrs, Rounding rounding) {
  Step step;
  step.op = std::move(name);
  step.inputs = std::move(inputs);
  step.attrs = std::move(attrs);
  return add(std::move(step), rounding);
}

// ---- all of them

void draw_ops(Drawer& d, std::size_t count) {
  int total = 0;
  for (const Maker& m : makers()) total += m.weight;
  const std::size_t before = d.ops();
  for (int tries = 0; d.ops() < before + count && tries < 60; ++tries) {
    std::int64_t at = d.below(total);
    for (const Maker& m : makers()) {
      at -= m.weight;
      if (at >= 0) continue;
      try {
        m.draw(d);
      } catch (const Dropped&) {
      }
      break;
    }
  }
}

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all = [] {
    std::vector<Maker> m;
    add_elementwise(m);
    add_reductions(m);
    add_moves(m);
    add_indexing(m);
    add_shapes(m);
    add_images(m);
    add_patterns(m);
    add_control_flow(m);
    return m;
  }();
  return all;
}

Recipe draw_recipe(std::uint64_t seed) {
  verify::Random random(verify::mix(seed, "graph"));
  const bool special = random.uniform() < 0.1;
  Drawer d(random, special);
  draw_ops(d, static_cast<std::size_t>(random.integer(3, random.uniform() < 0.1 ? 20 : 10)));
  Recipe& r = d.recipe();
  std::vector<std::vector<bool>> read(r.steps.size());
  for (std::size_t i = 0; i < r.steps.size(); ++i) read[i].resize(r.steps[i].results.size());
  for (const Step& s : r.steps)
    for (const In& in : s.inputs)
      for (const Ref ref : in.refs) read[ref.step][static_cast<std::size_t>(ref.output)] = true;
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    for (std::size_t k = 0; r.steps[i].kind == Kind::op && k < r.steps[i].results.size(); ++k)
      if (read[i][k] ? d.chance(0.15) : d.chance(0.85)) r.outputs.push_back({i, static_cast<int>(k)});
  return pruned(r);
}

}  // namespace t2o::random_graphs
