#include "onnx/ort_kernels.h"

#include <algorithm>
#include <tuple>

namespace t2o::onnx {
namespace {

constexpr std::uint64_t b(DType t) { return std::uint64_t{1} << static_cast<unsigned>(t); }

struct Row {
  std::string_view domain, op;
  int since;
  std::string_view param;
  std::uint64_t types;
};
constexpr Row kRows[] = {
#include "onnx/ort_kernels.inc"
};

using Key = std::tuple<std::string_view, std::string_view, int>;
Key key(const Row& r) { return {r.domain, r.op, r.since}; }

}  // namespace

std::optional<DTypeSet> ort_kernel_types(std::string_view domain, std::string_view op, int since,
                                         std::string_view param) {
  const Key wanted{domain, op, since};
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), wanted,
                                     [](const Row& r, const Key& k) { return key(r) < k; });
  for (; row != std::end(kRows) && key(*row) == wanted; ++row)
    if (row->param == param) return DTypeSet(row->types);
  return std::nullopt;
}

}  // namespace t2o::onnx
