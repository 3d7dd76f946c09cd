#pragma once
#include <string_view>

#include "verify/inputs.h"

namespace t2o::verify {

// Values that a model seldom meets. What an export promises of them depends on its level: docs/fidelity.md.
enum class Special : std::uint8_t { nan, infinity, largest, smallest, denormal, zero, integer, empty, empty_cache };
std::string_view name(Special);

struct SpecialDraw {  // of one sample
  Special kind = Special::nan;
  enum class Spread : std::uint8_t { one, some, all } spread = Spread::one;  // elements of each input that get such a value
  int sign = 0;  // 1, -1: all values have this sign; 0: both signs take turns
  int root = 1;  // of `largest` and `smallest`: this root of the extreme number, so that products stay finite
  OpenSizes sizes = kUsualSizes;  // of `empty`
  bool operator==(const SpecialDraw&) const = default;
};
std::string label(const SpecialDraw&);  // "one element in eight is inf, -inf in turn"

// The samples that the inputs allow. Indices, lengths, bools and strings keep their ordinary values.
std::vector<SpecialDraw> plan_special_values(const std::vector<Port>& inputs);

// The ordinary sample with special values in it; of an empty kind, other data of these sizes.
Sample special_sample(const std::vector<Port>& inputs, const Sample& ordinary, std::uint64_t seed, const SpecialDraw&);

// The level that an export was made at, as its metadata says.
struct Level {
  bool strict = false;  // --fidelity strict
  bool any = false;     // --target-runtime any
};
enum class Promise : std::uint8_t { no, if_ordinary, yes };  // if_ordinary: while no number of the model is NaN, infinite or denormal
Promise promise(Level, Special);

inline constexpr std::string_view kFlushesDenormals = "TensorFlow sets denormals to 0, ONNX Runtime does not";
// The entry of docs/differences.md or docs/verify.md by which an operator of the source may differ for such values; empty: none.
std::string_view known_difference(Special, std::string_view source_op);

bool is_ordinary(const Tensor&);  // no element is NaN, infinite or denormal

}  // namespace t2o::verify
