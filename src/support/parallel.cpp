#include "support/parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace t2o {

void in_parallel(std::int64_t n, std::size_t bytes,
                 const std::function<void(std::int64_t, std::int64_t)>& work) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 19;
  const auto cores = static_cast<std::int64_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
  const std::int64_t parts = std::min({cores, n, static_cast<std::int64_t>(bytes / kWorthAThread) + 1});
  std::vector<std::thread> threads;
  std::int64_t from = 0;
  for (std::int64_t p = 1; p < parts; ++p) {
    const std::int64_t to = n * p / parts;
    try {
      threads.emplace_back(work, from, to);
    } catch (const std::system_error&) {  // no thread to be had: what is left is done here
      break;
    }
    from = to;
  }
  work(from, n);
  for (std::thread& t : threads) t.join();
}

}  // namespace t2o
