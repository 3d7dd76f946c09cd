// The program's own operator new for small objects. A graph of 100,000 nodes is made of millions of them, and
// most stay to the end: no headers, no search, neighbours in time are neighbours in memory. With the C
// library's malloc such a graph takes twice as long. The library leaves the allocator of its host alone; the
// engines that the program loads share it, as they share the standard library. Not made for processes that
// fork while other threads run.
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define T2O_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T2O_SANITIZED
#endif

#ifndef T2O_SANITIZED
namespace {

constexpr std::size_t kGrain = 16, kLargest = 512, kClasses = kLargest / kGrain + 1;
constexpr std::size_t kPage = std::size_t{64} << 10;    // holds objects of one class
constexpr std::size_t kFirst = std::size_t{16} << 20;   // most models need no more
constexpr std::size_t kRegion = std::size_t{64} << 30;  // addresses, not memory
constexpr std::size_t kLeastRegion = std::size_t{1} << 26;
constexpr std::size_t kPassedOn = 4096;  // so many free objects a thread leaves to the others

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

// A thread that ends leaves what it has to the others. Apart from the classes, which then need no check at
// each use.
struct Farewell {
  ~Farewell();
  bool armed = false;
};
thread_local Farewell farewell;

// Where all of it lies: reserved when it is first needed, which may be before any constructor runs.
constinit std::mutex mutex;
constinit char* region = nullptr;
constinit std::atomic<std::size_t> region_size = 0;
constinit std::size_t region_used = 0;
constinit bool region_tried = false;
constinit std::array<Object*, kClasses> passed_on = {};  // lists of free objects
constinit std::array<std::uint8_t, kRegion / kPage> class_of_page = {};

// The addresses of all the program may be limited; the weights' share is the bigger one.
std::size_t largest_region() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kRegion;
  std::size_t size = kRegion;
  while (size > kLeastRegion && size > limit.rlim_cur / 8) size /= 2;
  return size;
}

void reserve_region() {
  region_tried = true;
  for (std::size_t size = largest_region(); size >= kLeastRegion; size /= 2) {
    void* at =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    region = static_cast<char*>(at);
    return region_size.store(size, std::memory_order_release);
  }
}

// Beyond what most models need: one call instead of 16 faults.
void populate(char* page) {
#ifdef MADV_POPULATE_WRITE
  const int error = errno;
  if (static_cast<std::size_t>(page - region) >= kFirst) madvise(page, kPage, MADV_POPULATE_WRITE);
  errno = error;
#endif
}

void pass_on(Class& mine, std::size_t c) {
  mine.free->next_list = passed_on[c];
  passed_on[c] = mine.free;
  mine.free = nullptr;
  mine.count = 0;
}

// Objects that another thread has freed, or a new page. False when there is no more.
bool refill(Class& mine, std::size_t c) {
  farewell.armed = true;  // makes it, in this thread
  {
    const std::lock_guard lock(mutex);
    if (Object* list = passed_on[c]) {
      passed_on[c] = list->next_list;
      mine.free = list;
      mine.count = 0;  // at least: it decides only when to pass on
      return true;
    }
    if (!region_tried) reserve_region();
    if (region_used + kPage > region_size.load(std::memory_order_relaxed)) return false;
    class_of_page[region_used / kPage] = static_cast<std::uint8_t>(c);
    mine.fresh = region + region_used;
    mine.end = mine.fresh + kPage;
    region_used += kPage;
  }
  populate(mine.fresh);
  return true;
}

void* small_object(std::size_t c) {
  Class& mine = classes[c];
  const std::size_t size = c * kGrain;
  do {
    if (Object* o = mine.free) {
      mine.free = o->next;
      mine.count -= mine.count != 0;
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
  if (mine.count == 0) farewell.armed = true;
  o->next = mine.free;
  mine.free = o;
  if (++mine.count < kPassedOn) return;
  const std::lock_guard lock(mutex);
  pass_on(mine, c);
}

Farewell::~Farewell() {
  const std::lock_guard lock(mutex);
  for (std::size_t c = 1; c < kClasses; ++c) {
    Class& mine = classes[c];
    for (; static_cast<std::size_t>(mine.end - mine.fresh) >= c * kGrain; mine.fresh += c * kGrain) {
      Object* o = reinterpret_cast<Object*>(mine.fresh);
      o->next = mine.free;
      mine.free = o;
    }
    if (mine.free) pass_on(mine, c);
  }
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
  if (size == 0) return std::free(p);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(region);
  if (offset >= size) return std::free(p);
  free_small_object(static_cast<Object*>(p), class_of_page[offset / kPage]);
}

void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#endif
