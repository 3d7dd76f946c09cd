#include "support/meter.h"

#include <utility>

namespace t2o {

void Meter::begin(std::string step, Unit unit, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  last_ = {std::move(step), unit, 0, total, 0};
  start_ = std::chrono::steady_clock::now();
  done_ = 0;
}

void Meter::go_on(std::string step) {
  const std::lock_guard lock(mutex_);
  last_.step = std::move(step);
}

Meter::Reading Meter::now() const {
  const std::lock_guard lock(mutex_);
  Reading reading = last_;
  reading.done = done_;
  reading.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return reading;
}

}  // namespace t2o
