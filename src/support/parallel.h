#pragma once
#include <cstdint>
#include <functional>

namespace t2o {

// Calls work(from, to) for parts of [0, n) that together make it up, on a few threads when `bytes` is worth one. What a part
// calls in turn runs in its thread. Throws what one of them threw.
void in_parallel(std::int64_t n, std::size_t bytes, const std::function<void(std::int64_t, std::int64_t)>& work);

}  // namespace t2o
