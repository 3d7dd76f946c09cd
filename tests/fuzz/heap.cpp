#include "heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> live{0}, peak{0};

}  // namespace

namespace t2o::fuzz {

std::size_t heap_bytes() { return live; }
std::size_t heap_peak() { return peak; }
void reset_heap_peak() { peak = live.load(); }

}  // namespace t2o::fuzz

#ifndef __SANITIZE_ADDRESS__

namespace {

void* counted(void* p) {
  if (!p) throw std::bad_alloc();
  const std::size_t now = live += malloc_usable_size(p);
  std::size_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
  return p;
}

void give_back(void* p) noexcept {
  if (p) live -= malloc_usable_size(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return counted(std::malloc(n == 0 ? 1 : n)); }
void* operator new(std::size_t n, std::align_val_t a) {
  const auto align = static_cast<std::size_t>(a);
  return counted(std::aligned_alloc(align, (n + align) / align * align));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }

#endif
