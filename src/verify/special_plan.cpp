#include "verify/special_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/complex.h"
#include "support/lists.h"

namespace t2o::verify {
namespace {

using Spread = SpecialDraw::Spread;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kOneIn = 8;  // elements are special where some are

struct Limits {
  double highest, lowest_normal, lowest_denormal;
};
std::optional<Limits> limits_of(DType t) {
  switch (t) {
    case DType::f16:
      return Limits{65504, 0x1p-14, 0x1p-24};
    case DType::bf16:
      return Limits{0x1.fep127, 0x1p-126, 0x1p-133};
    case DType::f32:
    case DType::c64:
      return Limits{0x1.fffffep127, 0x1p-126, 0x1p-149};
    case DType::f64:
    case DType::c128:
      return Limits{std::numeric_limits<double>::max(), 0x1p-1022, 0x1p-1074};
    default:
      return std::nullopt;
  }
}

double root_of(double extreme, int root) {
  return root == 1 ? extreme : std::exp2(std::ilogb(extreme) / root);
}

std::vector<double> magnitudes(const SpecialDraw& d, const Limits& l) {
  switch (d.kind) {
    case Special::nan:
      return {kNan};
    case Special::infinity:
      return {kInfinity};
    case Special::largest:
      return {root_of(l.highest, d.root)};
    case Special::smallest:
      return {root_of(l.lowest_normal, d.root)};
    case Special::denormal:
      return {l.lowest_denormal, l.lowest_normal - l.lowest_denormal};
    case Special::zero:
      return {0.0};
    default:
      return {};
  }
}

bool takes_extremes(const Port& p) {
  if (!is_int(p.dtype) || bit_width(p.dtype) < 8) return false;
  return p.codes.step != 0 || (p.use.is_number && p.use.stays_integer);
}

bool takes_floats(const Port& p) { return limits_of(p.dtype) && p.codes.step == 0; }

// Codes of 16 bits are symmetric: they leave out the lowest.
std::vector<double> extremes(const Port& p) {
  const int bits = static_cast<int>(bit_width(p.dtype));
  const double count = std::exp2(bits), lowest = is_signed_int(p.dtype) ? -count / 2 : 0;
  const bool is_short_code = p.codes.step != 0 && bits == 16 && lowest != 0;
  return {lowest + (is_short_code ? 1 : 0), lowest + count - 1};
}

std::vector<double> values_of(const Port& p, const SpecialDraw& d) {
  if (d.kind == Special::integer) {
    if (!takes_extremes(p)) return {};
    const std::vector<double> both = extremes(p);
    return d.sign == 0 ? both : std::vector<double>{d.sign < 0 ? both[0] : both[1]};
  }
  if (!takes_floats(p)) return {};
  std::vector<double> values;
  for (const double x : magnitudes(d, *limits_of(p.dtype))) {
    if (d.sign >= 0) values.push_back(x);
    if (d.sign <= 0 && !std::isnan(x)) values.push_back(-x);
  }
  return values;
}

std::vector<std::size_t> places(Spread spread, std::size_t count, Random& random) {
  std::vector<std::size_t> list;
  if (count == 0) return list;
  const std::size_t step = spread == Spread::all ? 1 : spread == Spread::one ? count : kOneIn;
  const auto most = static_cast<std::int64_t>(std::min(step, count)) - 1;
  for (auto i = static_cast<std::size_t>(random.integer(0, most)); i < count; i += step) list.push_back(i);
  return list;
}

// The real and the imaginary parts of a complex tensor are elements of their own.
TensorPtr with_values(const Tensor& t, const std::vector<double>& values, Spread spread, Random& random) {
  const DType part = part_type(t.dtype());
  const std::size_t width = bit_width(part) / 8;
  const TensorPtr source = tensor_of(part, {static_cast<std::int64_t>(values.size())}, values);
  const Bytes old = t.bytes();
  std::vector<std::byte> bytes(old.begin(), old.end());
  std::size_t next = 0;
  for (const std::size_t i : places(spread, bytes.size() / width, random))
    std::memcpy(bytes.data() + i * width, source->bytes().data() + next++ % values.size() * width, width);
  return std::make_shared<Tensor>(t.dtype(), t.dims(), heap_storage(std::move(bytes)));
}

Ints sizes_of(const Port& p, const SpecialDraw& d) {
  Ints dims = chosen_dims(p, d.sizes);
  if (d.kind != Special::empty_cache || !p.joined_axis) return dims;
  const std::int64_t rank = static_cast<std::int64_t>(dims.size()),
                     axis = *p.joined_axis + (*p.joined_axis < 0 ? rank : 0);
  if (axis >= 0 && axis < rank && !is_known(p.shape[static_cast<int>(axis)])) nth(dims, axis) = 0;
  return dims;
}

bool has_effect(const std::vector<Port>& inputs, const SpecialDraw& d) {
  return std::ranges::any_of(inputs, [&](const Port& p) {
    if (d.kind == Special::empty || d.kind == Special::empty_cache) return contains(sizes_of(p, d), 0);
    return !values_of(p, d).empty();
  });
}

// ---- differences that docs/differences.md and docs/verify.md list

using Ops = std::vector<std::string_view>;
struct Known {
  std::vector<Special> kinds;
  Ops ops;  // the beginnings of their names
  std::string_view what;
};

const std::vector<Known>& known() {
  using enum Special;
  static const Ops sums = {"Conv",         "DepthwiseConv",  "MatMul",   "BatchMatMul",
                           "SparseMatMul", "Einsum",         "LRN",      "Cumprod",
                           "Cumsum",       "FusedBatchNorm", "AvgPool",  "Sum",
                           "Mean",         "Prod",           "AddN",     "XlaDot",
                           "XlaConv",      "CudnnRNN",       "Segment",  "UnsortedSegmentSum",
                           "Resize",       "AdjustContrast", "RGBToHSV", "HSVToRGB"};
  static const std::vector<Known> table = {
      {{nan, infinity, largest},
       {"Softmax", "LogSoftmax", "SparseSoftmax"},
       "a Softmax is NaN in the whole row"},
      {{nan, infinity, largest},
       {"Resize", "CropAndResize", "ScaleAndTranslate"},
       "a resize reads pixels of weight 0"},
      {{nan, infinity, largest}, {"MaxPool", "AvgPool", "TopK"}, "pools and TopK order NaN differently"},
      {{largest}, {"ComplexAbs"}, "a square overflows"},
      {{denormal}, {"FloorMod", "Mod", "TruncateMod"}, kFlushesDenormals},  // fmod reads them bit by bit
      {{nan, infinity, largest, integer},
       {"Cast", "t2o.Quantize", "FakeQuant"},
       "a number beyond the range of an integer type"},
      {{infinity, largest}, sums, "sums in another order overflow or round otherwise, or have 0 * inf"},
      {{nan, infinity, empty},
       {"LSTM", "GRU", "RNN", "BlockLSTM", "CudnnRNN", "t2o.LSTM", "t2o.GRU"},
       "a recurrent layer clamps a NaN, and runs no empty batch"},
      {{empty, empty_cache},
       {"Conv", "DepthwiseConv", "MatMul", "BatchMatMul", "Einsum", "MaxPool", "AvgPool", "FusedConv",
        "FusedMatMul", "Gemm", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LSTM", "GRU", "RNN"},
       "ONNX Runtime does not run this operator for an empty tensor"},
  };
  return table;
}

}  // namespace

std::string_view name(Special kind) {
  static constexpr std::array<std::string_view, 9> names = {
      "NaN",   "infinities",       "largest numbers", "smallest numbers", "denormals",
      "zeros", "integer extremes", "empty tensors",   "empty caches"};
  return names[static_cast<std::size_t>(kind)];
}

std::string label(const SpecialDraw& d) {
  if (d.kind == Special::empty_cache) return "caches are empty";
  if (d.kind == Special::empty)
    return d.sizes.batch == 0        ? "a batch of 0"
           : d.sizes.image_side == 0 ? "images of height and width 0"
                                     : "other open dimensions are 0";
  static constexpr std::array<std::string_view, 3> spreads = {"one element is ", "one element in eight is ",
                                                              "all elements are "};
  static constexpr std::array<std::string_view, 7> values = {
      "NaN",      "inf", "the largest number", "the smallest normal number",
      "denormal", "0",   "the highest integer"};
  std::string text(spreads[static_cast<std::size_t>(d.spread)]);
  if (d.root > 1) text += d.root == 2 ? "the square root of " : "root " + std::to_string(d.root) + " of ";
  const bool is_lowest = d.kind == Special::integer && d.sign < 0;
  if (d.sign < 0 && !is_lowest)
    text += d.kind == Special::infinity || d.kind == Special::zero ? "-" : "minus ";
  text += is_lowest ? "the lowest integer" : values.at(static_cast<std::size_t>(d.kind));
  if (d.sign == 0 && d.kind != Special::nan)
    text += d.kind == Special::integer ? " or the lowest" : " with both signs";
  return text;
}

std::vector<SpecialDraw> plan_special_values(const std::vector<Port>& inputs) {
  using enum Special;
  std::vector<SpecialDraw> plan = {{nan, Spread::one, 1},       {nan, Spread::some, 1},
                                   {nan, Spread::all, 1},       {infinity, Spread::one, 1},
                                   {infinity, Spread::one, -1}, {infinity, Spread::some},
                                   {infinity, Spread::all, 1},  {infinity, Spread::all, -1}};
  for (const int root : {1, 2, 6}) {
    plan.push_back({largest, Spread::one, 1, root});
    plan.push_back({largest, Spread::some, 0, root});
    for (const int sign : {1, -1}) plan.push_back({largest, Spread::all, sign, root});
  }
  for (const int root : {1, 2})
    for (const Spread s : {Spread::some, Spread::all}) plan.push_back({smallest, s, 0, root});
  for (const Spread s : {Spread::some, Spread::all}) plan.push_back({denormal, s});
  plan.push_back({zero, Spread::some});
  for (const int sign : {1, -1}) plan.push_back({zero, Spread::all, sign});
  plan.push_back({integer, Spread::some});
  for (const int sign : {1, -1}) plan.push_back({integer, Spread::all, sign});
  const auto [batch, side, other] = kUsualSizes;
  for (const OpenSizes& s : {OpenSizes{0, side, other}, {batch, 0, other}, {batch, side, 0}})
    plan.push_back({empty, Spread::all, 0, 1, s});
  plan.push_back({empty_cache, Spread::all});
  std::erase_if(plan, [&](const SpecialDraw& d) { return !has_effect(inputs, d); });
  return plan;
}

Sample special_sample(const std::vector<Port>& inputs, const Sample& ordinary, std::uint64_t seed,
                      const SpecialDraw& d) {
  if (d.kind == Special::empty) return random_sample(inputs, seed, {.sizes = d.sizes});
  Sample sample{label(d), ordinary.inputs};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Port& p = inputs[i];
    Random random(mix(seed + static_cast<std::uint64_t>(d.spread), p.name));
    if (d.kind == Special::empty_cache) {
      const Ints dims = sizes_of(p, d);
      if (contains(dims, 0)) sample.inputs[i] = random_tensor(p.dtype, dims, random);
    } else if (const std::vector<double> values = values_of(p, d); !values.empty()) {
      sample.inputs[i] = with_values(*sample.inputs[i], values, d.spread, random);
    }
  }
  return sample;
}

Promise promise(Level level, Special kind) {
  if (level.strict && !level.any) return Promise::yes;
  switch (kind) {
    case Special::integer:
      return level.any ? Promise::no : Promise::if_ordinary;
    case Special::largest:
    case Special::smallest:
    case Special::zero:
      return Promise::if_ordinary;
    case Special::empty_cache:
      return Promise::yes;
    default:
      return Promise::no;
  }
}

std::string_view known_difference(Special kind, std::string_view op) {
  for (const Known& k : known())
    if (contains(k.kinds, kind) &&
        std::ranges::any_of(k.ops, [&](std::string_view o) { return op.starts_with(o); }))
      return k.what;
  return "";
}

bool is_ordinary(const Tensor& t) {
  if (is_complex(t.dtype())) return is_ordinary(*complex_as_pairs(std::make_shared<Tensor>(t)));
  const auto limits = limits_of(t.dtype());
  for (std::int64_t i = 0; limits && i < t.elements(); ++i) {
    const double x = std::abs(t.float_at(i));
    if (!std::isfinite(x) || (x != 0 && x < limits->lowest_normal)) return false;
  }
  return true;
}

}  // namespace t2o::verify
