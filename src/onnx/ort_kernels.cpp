#include "onnx/ort_kernels.h"

#include <algorithm>
#include <utility>

namespace t2o::onnx {
namespace {

struct Row {  // of an operator of ONNX's own domain
  std::string_view op;
  int since;
  std::string_view param, types;
};
constexpr Row kRows[] = {
#include "onnx/ort_kernels.inc"
};

using Key = std::pair<std::string_view, int>;
Key key(const Row& r) { return {r.op, r.since}; }

DTypeSet parsed(std::string_view names) {
  DTypeSet types;
  while (!names.empty()) {
    const auto end = std::min(names.find(' '), names.size());
    types.add(dtype_from_name(names.substr(0, end)).value());
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return types;
}

}  // namespace

std::optional<DTypeSet> ort_kernel_types(std::string_view domain, std::string_view op, int since,
                                         std::string_view param) {
  if (!domain.empty()) return std::nullopt;
  const Key wanted{op, since};
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), wanted,
                                     [](const Row& r, const Key& k) { return key(r) < k; });
  for (; row != std::end(kRows) && key(*row) == wanted; ++row)
    if (row->param == param) return parsed(row->types);
  return std::nullopt;
}

}  // namespace t2o::onnx
