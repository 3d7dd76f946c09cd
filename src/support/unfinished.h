#pragma once
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace t2o {

// A file or folder that must not outlive the process. A signal handler removes what is registered at that moment.
class Unfinished {
 public:
  Unfinished() = default;
  ~Unfinished() { forget(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  enum class Kind : std::uint8_t { file, folder };  // files go before folders
  void remember(const std::string& path, Kind = Kind::file);  // make it and call this inside one Uninterrupted
  void forget();  // when it is gone, or may stay
  const char* path() const { return path_.data(); }
  explicit operator bool() const { return !path_.empty(); }

 private:
  std::vector<char> path_;  // with the final 0
  std::atomic<const char*>* slot_ = nullptr;
};

// While it lives, no signal ends the process in the middle of what this thread does to files: signals wait in this thread,
// and the handler in any other thread waits in stop_file_work(). For a few calls to the system, never for writing.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  sigset_t before_;
};

// For the handler of a signal that then ends the process. stop_file_work() waits until nobody is inside an Uninterrupted and
// lets nobody in again; remove_unfinished() removes what is registered.
void stop_file_work() noexcept;
void remove_unfinished() noexcept;

}  // namespace t2o
