#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"
#include "op_mappers/philox.h"

// TensorFlow's stateless random numbers, bit for bit. Words are kept in u64, so that products do not
// overflow.
namespace t2o::op_mappers {
namespace {

using U64 = std::uint64_t;
using philox::Block, philox::block, philox::kLow, philox::kMultiplier, philox::kRounds, philox::kWeyl,
    philox::plus;

constexpr std::array<U64, 2> kScrambleKey = {0x3ec8f720, 0x02461e29};

// ---- at conversion time

struct Numbers {  // where a sequence of blocks begins
  std::array<U64, 2> key, counter;
};

Numbers scrambled(const std::array<U64, 2>& seed) {
  const Block mix = block(kScrambleKey, seed);
  return {{mix[0], mix[1]}, {0, mix[2] | mix[3] << 32}};
}

// ---- at run time; words are [blocks, 4]

struct Stream {                              // the same as Numbers
  Value *key = nullptr, *counter = nullptr;  // words [2], and the 64-bit halves [2]
  bool fresh = false;                        // the lower half is small: no carry
  std::optional<Numbers> known;
};

Value* u64(MapperContext& c, U64 v) { return c.constant<U64>(v); }
Value* as_u64(MapperContext& c, Value* x) {  // modulo 2^64
  return x->dtype() == DType::u64 ? x : c.cast(c.cast(x, DType::i64), DType::u64);
}
Value* high(MapperContext& c, Value* x) {
  return c.emit("BitShift", {x, u64(c, 32)}, {{"direction", std::string("RIGHT")}});
}

Value* low_bits(MapperContext& c, Value* words, U64 mask) {
  const TensorPtr& t = words->constant();
  if (!t) return c.emit("BitwiseAnd", {words, u64(c, mask)});
  std::vector<U64> kept;
  for (const std::int64_t v : t->to_ints()) kept.push_back(static_cast<U64>(v) & mask);
  return c.constant(t->dims(), kept);
}

Value* half_of(MapperContext& c, Value* pair, std::int64_t i) { return c.slice(pair, {i}, {i + 1}, {0}); }

// halves: [2, blocks], the counter's lower and upper 64 bits. Even words are [x0, x2], odd ones [x1, x3].
Value* runtime_philox(MapperContext& c, Value* key, Value* halves) {
  std::vector<U64> weyl;
  for (U64 round = 0; round < kRounds; ++round)
    for (const U64 w : kWeyl) weyl.push_back(round * w & kLow);
  Value* schedule = low_bits(c, c.add(c.unsqueeze(key, {1}), c.constant<U64>({kRounds, 2, 1}, weyl)), kLow);
  const Values keys = c.split(schedule, Ints(kRounds, 1), 0);
  Value* multiplier = c.constant<U64>({2, 1}, {kMultiplier[0], kMultiplier[1]});
  Value* swap = c.ints({1, 0});
  Value* even = c.unsqueeze(low_bits(c, halves, kLow), {0});
  Value* odd = c.unsqueeze(high(c, halves), {0});
  for (Value* round_key : keys) {
    Value* product = c.gather(c.mul(even, multiplier), swap, 1);
    Value* mixed = c.emit("BitwiseXor", {odd, round_key});
    even = c.emit("BitwiseXor", {high(c, product), mixed});
    odd = low_bits(c, product, kLow);
  }
  Value* x = c.concat({even, odd}, 0);  // [parity, pair, blocks]
  return c.reshape(c.transpose(x, {2, 1, 0}), {-1, 4});
}

// The blocks whose counters are `index` (u64, 1-D) after the stream's beginning.
Value* blocks_at(MapperContext& c, const Stream& s, Value* index) {
  if (s.fresh) {
    Value* along = c.mul(index, c.constant<U64>({2, 1}, {1, 0}));
    return runtime_philox(c, s.key, c.add(c.unsqueeze(s.counter, {1}), along));
  }
  Value* from = half_of(c, s.counter, 0);
  Value* lower = c.add(index, from);
  Value* carry = c.cast(c.less(lower, from), DType::u64);
  Value* upper = c.add(half_of(c, s.counter, 1), carry);
  Value* first = c.unsqueeze(lower, {0});
  Value* second = c.unsqueeze(upper, {0});
  return runtime_philox(c, s.key, c.concat({first, second}, 0));
}

Stream known_stream(const Numbers& n) {
  Stream s;
  s.known = n;
  s.fresh = n.counter[0] < (U64{1} << 63);
  return s;
}

std::optional<std::array<U64, 2>> known_pair(const Value* v) {
  if (!v->constant() || v->constant()->elements() != 2) return std::nullopt;
  const Ints n = v->constant()->to_ints();
  return std::array{static_cast<U64>(n[0]), static_cast<U64>(n[1])};
}

Value* u64s(MapperContext& c, const std::array<U64, 2>& v) { return c.constant<U64>({2}, {v[0], v[1]}); }

// The seed is scrambled by one block of a key of its own: its first words are the key, the others the
// counter's upper half.
Stream stream_of_seed(MapperContext& c, Value* seed) {
  if (const auto n = known_pair(seed)) return known_stream(scrambled(*n));
  Value* wide = as_u64(c, seed);
  Value* mix = c.reshape(runtime_philox(c, u64s(c, kScrambleKey), c.unsqueeze(wide, {1})), {4});
  Stream s;
  s.key = c.slice(mix, {0}, {2}, {0});
  Value* third = c.slice(mix, {2}, {3}, {0});
  Value* fourth = c.mul(c.slice(mix, {3}, {4}, {0}), u64(c, U64{1} << 32));
  s.counter = c.concat({c.constant<U64>({1}, {0}), c.add(third, fourth)}, 0);
  s.fresh = true;
  return s;
}

Stream stream_of_key(MapperContext& c) {
  const std::int64_t algorithm = c.const_int(3);
  if (algorithm != 1 && algorithm != 3)
    c.fail(Code::unsupported_attr, "only Philox random numbers (alg 1, or 3: chosen by itself) are supported",
           "use tf.random.Algorithm.PHILOX");
  const auto counter = known_pair(c.in(2));
  if (const TensorPtr& k = c.in(1)->constant(); k && counter && k->elements() == 1) {
    const auto key = static_cast<U64>(k->to_ints()[0]);
    return known_stream({{key & kLow, key >> 32}, *counter});
  }
  Value* key_low = low_bits(c, c.in(1), kLow);
  Value* key_high = high(c, c.in(1));
  Stream s;
  s.key = c.concat({key_low, key_high}, 0);
  s.counter = c.in(2);
  s.fresh = counter && (*counter)[0] < (U64{1} << 63);
  return s;
}

// What an op wants: `count` results in groups, each group of a block, or of the first `tried` blocks of
// `skip`.
struct Grouping {
  std::int64_t results, tried = 1, skip = 1;
};

std::optional<std::int64_t> known_count(MapperContext& c, const Value* shape) {
  const auto dims = constant_ints(shape);
  if (!dims) return std::nullopt;
  std::int64_t n = 1;
  for (const std::int64_t d : *dims)
    if (d < 0 || __builtin_mul_overflow(n, d, &n))
      c.fail(Code::bad_model, "the shape of random numbers is not valid");
  return n;
}

Value* known_words(MapperContext& c, const Numbers& start, std::int64_t groups, const Grouping& l) {
  std::vector<U64> words;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t t = 0; t < l.tried; ++t) {
      const Block b = block(start.key, plus(start.counter, static_cast<U64>(g * l.skip + t)));
      append(words, b);
    }
  return c.constant<U64>({groups * l.tried, 4}, words);
}

Value* runtime_words(MapperContext& c, Stream s, Value* dims, const Grouping& l) {
  if (s.known) {
    s.key = u64s(c, s.known->key);
    s.counter = u64s(c, s.known->counter);
  }
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* count = c.emit("ReduceProd", {c.cast(dims, DType::i64)}, {{"keepdims", 0}});
  if (const auto n = known_count(c, dims)) count = c.constant(*n);
  Value* rounded = c.add(count, c.constant(l.results - 1));
  Value* group = c.range(zero, c.div(rounded, c.constant(l.results)), one);
  if (l.tried > 1) {
    Value* first = c.unsqueeze(c.mul(group, c.constant(l.skip)), {1});
    Value* tries = c.range(zero, c.constant(l.tried), one);
    group = c.reshape(c.add(first, tries), {-1});
  }
  return blocks_at(c, s, c.cast(group, DType::u64));
}

constexpr std::int64_t kFewWords = 1 << 16, kManyWords = 1 << 24;  // made at conversion time

// Below opset 18 ONNX has no exclusive or: what is known is better made at conversion time.
struct Wanted {
  Stream stream;
  bool is_cheap;
  Value* dims;  // of the result, 1-D
};

Value* words(MapperContext& c, const Wanted& w, const Grouping& l) {
  const auto n = known_count(c, w.dims);
  const std::int64_t limit = w.is_cheap ? kFewWords : kManyWords;
  if (w.stream.known && n && *n <= limit / l.tried)
    return known_words(c, *w.stream.known, (*n + l.results - 1) / l.results, l);
  return runtime_words(c, w.stream, w.dims, l);
}

Value* column(MapperContext& c, Value* x, std::int64_t i) { return c.gather(x, c.constant(i), -1); }
Value* pairs(MapperContext& c, Value* x) { return c.reshape(x, {-1, 2}); }

// The lower bits are the mantissa of a number in [1, 2), less 1.
Value* unit_float(MapperContext& c, Value* words, int bits) {
  Value* mantissa = c.cast(low_bits(c, words, (U64{1} << bits) - 1), DType::f32);
  return c.mul(mantissa, c.scalar(DType::f32, std::ldexp(1.0, -bits)));
}

// 20 bits of the first word, then the second: [n, 2] -> [n]
Value* unit_double(MapperContext& c, Value* pair) {
  Value* upper = c.mul(low_bits(c, column(c, pair, 0), 0xfffff), u64(c, U64{1} << 32));
  Value* mantissa = c.cast(c.add(upper, column(c, pair, 1)), DType::f64);
  return c.mul(mantissa, c.scalar(DType::f64, std::ldexp(1.0, -52)));
}

// sqrt(-2 log u) times sine and cosine of 2 pi v, side by side: [n, 2]
Value* box_muller(MapperContext& c, Value* u, Value* v) {
  const DType type = u->dtype();
  Value* positive = c.maximum(u, c.scalar(type, 1e-7));
  Value* radius = c.sqrt(c.mul(c.log(positive), c.scalar(type, -2)));
  Value* turn = c.mul(c.cast(v, DType::f64), c.scalar(DType::f64, 2 * std::numbers::pi));
  Value* angle = c.cast(turn, type);
  Value* first = c.mul(c.sin(angle), radius);
  Value* second = c.mul(c.cos(angle), radius);
  Value* left = c.unsqueeze(first, {1});
  Value* right = c.unsqueeze(second, {1});
  return c.concat({left, right}, 1);
}

Value* normals(MapperContext& c, Value* words, DType type) {
  if (type == DType::f64) {
    Value* numbers = pairs(c, unit_double(c, pairs(c, words)));
    Value* u = column(c, numbers, 0);
    return box_muller(c, u, column(c, numbers, 1));
  }
  Value* numbers = unit_float(c, pairs(c, words), 23);
  Value* u = column(c, numbers, 0);
  return box_muller(c, u, column(c, numbers, 1));
}

// The first so many of the flat results, in the shape that is asked for.
Value* shaped(MapperContext& c, const Wanted& w, Value* results, std::int64_t in_group) {
  Value* flat = c.reshape(results, {-1});
  const auto n = known_count(c, w.dims);
  Value* dims = c.cast(w.dims, DType::i64);
  if (!n || *n % in_group != 0) {
    Value* count = n ? c.ints({*n}) : c.emit("ReduceProd", {dims}, {{"keepdims", 1}});
    if (!n) count = c.reshape(count, {1});
    Value* from = c.ints({0});
    flat = c.slice(flat, from, count, c.ints({0}));
  }
  return c.reshape_to(flat, dims);
}

Value* uniform(MapperContext& c, const Wanted& w) {
  const DType type = c.output_dtype();
  const std::int64_t in_group = type == DType::f64 ? 2 : 4;
  Value* x = words(c, w, {in_group});
  if (type == DType::f64) return shaped(c, w, unit_double(c, pairs(c, x)), in_group);
  const int bits = type == DType::f16 ? 10 : type == DType::bf16 ? 7 : 23;
  return c.cast(shaped(c, w, unit_float(c, x, bits), in_group), type);
}

Value* normal(MapperContext& c, const Wanted& w) {
  const DType type = c.output_dtype();
  const std::int64_t in_group = type == DType::f64 ? 2 : 4;
  return c.cast(shaped(c, w, normals(c, words(c, w, {in_group}), type), in_group), type);
}

// TensorFlow draws for each group of results until so many normals lie within 2. Of the 24 (f64: 16) that are
// drawn here fewer do with a probability below 1e-18.
Value* truncated_normal(MapperContext& c, const Wanted& w) {
  const DType type = c.output_dtype();
  const bool wide = type == DType::f64;
  const std::int64_t in_group = wide ? 2 : 4, drawn = wide ? 16 : 24;
  const Grouping l = wide ? Grouping{2, 8, 128} : Grouping{4, 6, 256};
  Value* tries = c.reshape(normals(c, words(c, w, l), type), {-1, drawn});
  Ints order, penalty;
  for (std::int64_t i = 0; i < drawn; ++i) order.push_back(i), penalty.push_back(i + drawn);
  Value* near = c.less(c.abs(tries), c.scalar_like(tries, 2));
  Value* in_order = c.ints(order);
  Value* rank = c.where(near, in_order, c.ints(penalty));
  Value* chosen = c.topk(rank, c.constant(in_group), -1, false)[0];
  Value* at = c.mod(chosen, c.constant(drawn));
  Value* kept = c.emit("GatherElements", {tries, at}, {{"axis", 1}});
  return c.cast(shaped(c, w, kept, in_group), type);
}

// Words as unsigned integers of the width of `type`, still in u64.
struct Integers {
  Value* x;
  std::int64_t in_group;
};
Integers integers(MapperContext& c, const Wanted& w, DType type) {
  if (bit_width(type) < 64) return {words(c, w, {4}), 4};
  Value* pair = pairs(c, words(c, w, {2}));
  Value* upper = c.mul(column(c, pair, 1), u64(c, U64{1} << 32));
  return {c.add(column(c, pair, 0), upper), 2};
}

Value* full_int(MapperContext& c, const Wanted& w) {
  const DType type = c.output_dtype();
  const auto [x, in_group] = integers(c, w, type);
  Value* y = shaped(c, w, x, in_group);
  return type == DType::i32 ? c.cast(c.cast(y, DType::u32), type) : c.cast(y, type);
}

// low + word mod (high - low), everything modulo 2^64
Value* uniform_int(MapperContext& c, const Wanted& w) {
  const std::size_t first = c.input_count() - 2;
  const DType type = c.output_dtype();
  Value* low = as_u64(c, c.in(first));
  Value* high = as_u64(c, c.in(first + 1));
  const auto [x, in_group] = integers(c, w, type);
  Value* offset = c.mod(x, c.sub(high, low));
  Value* y = shaped(c, w, c.add(offset, low), in_group);
  return type == DType::i32 ? c.cast(c.cast(y, DType::i64), type) : c.cast(y, type);
}

using Distribution = Value* (*)(MapperContext&, const Wanted&);

Mapper seeded(Distribution d, bool is_cheap) {
  return [d, is_cheap](MapperContext& c) -> Values {
    return {d(c, {stream_of_seed(c, c.in(1)), is_cheap, c.in(0)})};
  };
}
Mapper keyed(Distribution d, bool is_cheap) {
  return [d, is_cheap](MapperContext& c) -> Values { return {d(c, {stream_of_key(c), is_cheap, c.in(0)})}; };
}

// The first class up to which the probabilities, not yet divided by their sum, are more than a part of that.
Value* multinomial(MapperContext& c, const Wanted& w) {
  Value* logits = c.cast(c.in(0), DType::f64);
  Value* is_finite = c.less(c.abs(logits), c.scalar(DType::f64, std::numeric_limits<double>::infinity()));
  Value* lowest = c.scalar(DType::f64, std::numeric_limits<double>::lowest());
  Value* greatest = c.reduce("ReduceMax", c.where(is_finite, logits, lowest), Ints{1}, true);
  Value* weight = c.exp(c.sub(c.where(is_finite, logits, lowest), greatest));
  Value* counted = c.where(is_finite, weight, c.scalar(DType::f64, 0));
  Value* sums = c.cumsum(counted, c.i64(1), false, false);
  Value* all = c.slice(sums, {-1}, {std::numeric_limits<std::int64_t>::max()}, {1});
  Value* u = shaped(c, w, unit_double(c, pairs(c, words(c, w, {2}))), 2);
  Value* wanted = c.unsqueeze(c.mul(u, all), {2});
  Value* is_passed = c.less_equal(c.unsqueeze(sums, {1}), wanted);
  return c.cast(c.reduce("ReduceSum", c.cast(is_passed, DType::i64), Ints{2}, false), c.output_dtype());
}

Mapper seeded_multinomial(bool is_cheap) {
  return [is_cheap](MapperContext& c) -> Values {
    Value* samples = c.reshape(c.cast(c.in(1), DType::i64), {1});
    Value* dims = c.concat({c.dims(c.in(0), 0, 1), samples}, 0);
    return {multinomial(c, {stream_of_seed(c, c.in(2)), is_cheap, dims})};
  };
}

// ---- StatelessShuffle: each place in turn is exchanged with one behind it, or with itself

Ints shuffled(Ints order, const TensorPtr& words) {
  const Ints drawn = words->to_ints();
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    std::swap(order[i], order[i + static_cast<std::size_t>(drawn[i]) % (order.size() - i)]);
  return order;
}

Value* runtime_shuffled(MapperContext& c, Value* order, Value* words, Value* n) {
  Value* others = c.sub(n, order);
  Value* all = c.reshape(words, {-1});
  Value* from = c.ints({0});
  Value* drawn = c.slice(all, from, c.reshape(n, {1}), c.ints({0}));
  Value* step = c.cast(c.mod(drawn, c.cast(others, DType::u64)), DType::i64);
  Value* places = c.add(order, step);
  return counted_loop(c, n, {order}, [places](Emitter& e, Value* k, const Values& state) -> Values {
    Value* other = e.gather(places, k, 0);
    Value* here = e.gather(state[0], k, 0);
    Value* there = e.gather(state[0], other, 0);
    Value* at = e.concat({k, other}, 0);
    Value* exchanged = e.concat({there, here}, 0);
    return {e.emit("ScatterElements", {state[0], at, exchanged}, {{"axis", 0}})};
  })[0];
}

Mapper shuffle(bool is_cheap) {
  return [is_cheap](MapperContext& c) -> Values {
    Value* value = c.in(0);
    if (value->shape().is_scalar()) return {value};
    Value* count = c.dims(value, 0, 1);
    Value* n = c.dim(value, 0);
    Value* order = iota(c, n);
    Value* drawn = words(c, {stream_of_key(c), is_cheap, count}, {4});
    const auto known = constant_ints(order);
    order = known && drawn->constant() ? c.ints(shuffled(*known, drawn->constant()))
                                       : runtime_shuffled(c, order, drawn, n);
    return {c.gather(value, order, 0)};
  };
}

Value* philox_number(MapperContext& c) { return c.constant<std::int32_t>(1); }

Values map_algorithm(MapperContext& c) { return {philox_number(c)}; }

Values map_key_counter(MapperContext& c) {
  const Stream s = stream_of_seed(c, c.in(0));
  Values out;
  if (s.known) {
    const auto& [key, counter] = *s.known;
    out = {c.constant<U64>({1}, {key[0] | key[1] << 32}), u64s(c, counter)};
  } else {
    Value* upper = c.mul(half_of(c, s.key, 1), u64(c, U64{1} << 32));
    out = {c.add(half_of(c, s.key, 0), upper), s.counter};
  }
  if (c.node().op() == "StatelessRandomGetKeyCounterAlg") out.push_back(philox_number(c));
  return out;
}

}  // namespace

void register_stateless_random(OpRegistry& r) {
  struct Row {
    std::string op;
    Distribution d;
  };
  const std::vector<Row> rows = {{"StatelessRandomUniform", uniform},
                                 {"StatelessRandomNormal", normal},
                                 {"StatelessTruncatedNormal", truncated_normal},
                                 {"StatelessRandomUniformFullInt", full_int},
                                 {"StatelessRandomUniformInt", uniform_int}};
  const std::string note =
      "the same numbers as TensorFlow's on CPUs; slow below opset 18 unless seed and shape are constant";
  for (const auto& row : rows) {
    r.op(row.op).note(note).by(seeded(row.d, false));
    r.op(row.op).since(18).note(note).by(seeded(row.d, true));
    r.op(row.op + "V2").note(note).by(keyed(row.d, false));
    r.op(row.op + "V2").since(18).note(note).by(keyed(row.d, true));
  }
  const std::string rows_note = "; of several rows as with one thread";
  r.op("StatelessMultinomial").note(note + rows_note).by(seeded_multinomial(false));
  r.op("StatelessMultinomial").since(18).note(note + rows_note).by(seeded_multinomial(true));
  r.op("StatelessShuffle").note(note).by(shuffle(false));
  r.op("StatelessShuffle").since(18).note(note).by(shuffle(true));
  r.op("StatelessRandomGetAlg").by(map_algorithm);
  r.op("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
      .note("slow below opset 18 unless the seed is constant")
      .by(map_key_counter);
}

}  // namespace t2o::op_mappers
