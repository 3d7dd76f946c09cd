// The program's own operator new for small objects. A graph of 100,000 nodes is made of millions of them, and most stay to the
// end: no headers, no search, neighbours in time are neighbours in memory. With the C library's malloc such a
// graph takes twice as long. The library leaves the allocator of its host alone.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#if !defined(__SANITIZE_ADDRESS__)
namespace {

constexpr std::size_t kGrain = 16, kLargest = 512, kClasses = kLargest / kGrain + 1;
constexpr std::size_t kPage = std::size_t{64} << 10;        // holds objects of one class
constexpr std::size_t kFirst = std::size_t{16} << 20;       // most models need no more
constexpr std::size_t kRegion = std::size_t{64} << 30;      // addresses, not memory
constexpr std::size_t kLeastRegion = std::size_t{1} << 30;
constexpr std::size_t kPassedOn = 4096;                     // free objects that a thread leaves to the others

struct Object {
  Object* next;
  Object* next_list;
};
static_assert(sizeof(Object) <= kGrain);

struct Class {  // what a thread has of it
  Object* free;
  std::size_t count;
  char *fresh, *end;
};
constinit thread_local std::array<Class, kClasses> classes = {};

// Where all of it lies: reserved when it is first needed, which may be before any constructor runs.
constinit std::mutex mutex;
constinit char* region = nullptr;
constinit std::atomic<std::size_t> region_size = 0;
constinit std::size_t region_used = 0;
constinit bool region_tried = false;
constinit std::array<Object*, kClasses> passed_on = {};
constinit std::array<std::uint8_t, kRegion / kPage> class_of_page = {};

void reserve_region() {
  region_tried = true;
  for (std::size_t size = kRegion; size >= kLeastRegion; size /= 4) {  // a limit may be set
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    region = static_cast<char*>(at);
    return region_size.store(size, std::memory_order_release);
  }
}

// Objects that another thread has freed, or a new page. False when there is no more.
bool refill(Class& mine, std::size_t c) {
  const std::lock_guard lock(mutex);
  if (Object* list = passed_on[c]) {
    passed_on[c] = list->next_list;
    mine.free = list;
    mine.count = kPassedOn;
    return true;
  }
  if (!region_tried) reserve_region();
  if (region_used + kPage > region_size.load(std::memory_order_relaxed)) return false;
  class_of_page[region_used / kPage] = static_cast<std::uint8_t>(c);
  mine.fresh = region + region_used;
  mine.end = mine.fresh + kPage;
  if (region_used >= kFirst) madvise(mine.fresh, kPage, MADV_POPULATE_WRITE);  // one call instead of 16 faults
  region_used += kPage;
  return true;
}

void* small_object(std::size_t c) {
  Class& mine = classes[c];
  const std::size_t size = c * kGrain;
  do {
    if (Object* o = mine.free) {
      mine.free = o->next;
      --mine.count;
      return o;
    }
    if (static_cast<std::size_t>(mine.end - mine.fresh) >= size) {
      void* fresh = mine.fresh;
      mine.fresh += size;
      return fresh;
    }
  } while (refill(mine, c));
  return nullptr;
}

void free_small_object(Object* o, std::size_t c) {
  Class& mine = classes[c];
  o->next = mine.free;
  mine.free = o;
  if (++mine.count < kPassedOn) return;
  const std::lock_guard lock(mutex);
  o->next_list = passed_on[c];
  passed_on[c] = o;
  mine.free = nullptr;
  mine.count = 0;
}

}  // namespace

void* operator new(std::size_t size) {
  if (size <= kLargest)
    if (void* p = small_object(size == 0 ? 1 : (size + kGrain - 1) / kGrain)) return p;
  while (true) {
    if (void* p = std::malloc(size)) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* p) noexcept {
  const std::size_t size = region_size.load(std::memory_order_acquire);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(region);
  if (offset >= size) return std::free(p);
  free_small_object(static_cast<Object*>(p), class_of_page[offset / kPage]);
}

void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#endif
