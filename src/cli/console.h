#pragma once
#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/cli.h"
#include "diagnostics.h"
#include "support/meter.h"

namespace t2o::cli {

enum class Style : std::uint8_t { error, warning, note, good, strong };

// Everything for people: results to stdout, diagnostics to stderr, colours on a terminal only.
class Console {
 public:
  explicit Console(const Common& common, bool stdout_is_taken = false);  // then the results go to stderr too

  void say(const std::string& line) const;  // not when quiet or JSON is asked for
  // stderr: errors, warnings, and notes when verbose; after errors their count and what it means.
  void report(const Diagnostics&, std::string_view consequence = "nothing was written") const;
  void complain(const std::string& text) const;           // stderr; when quiet alone, where nothing else has told
  void hint(const std::string& text) const;               // stderr; as say()
  std::string paint(Style, std::string_view text) const;  // for say()
  bool json() const { return json_; }
  bool verbose() const { return verbose_; }
  bool shows_progress() const { return progress_; }

 private:
  std::ostream& results_;
  bool quiet_, verbose_, debug_, json_, color_out_, color_err_, progress_;
};

// What a terminal takes for more than text is spelled out: names in a model are anybody's.
std::string harmless(std::string_view text);

bool wants_color(const std::string& choice, int file_descriptor);  // "auto", "always", "never"
std::size_t terminal_width();

// A line on the terminal that tells what is going on and how far it has come, from the first second on; gone at the end.
class Progress {
 public:
  Progress(const Console&, std::string what);
  ~Progress();
  void now(std::string what);
  Meter& meter() { return meter_; }

 private:
  void draw();
  std::mutex mutex_;
  std::condition_variable finished_;
  std::string what_;
  Meter meter_;
  bool done_ = false;
  std::thread thread_;
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "43 %, 1.2 GB of 2.9 GB, 512.0 MB/s", "mapping ... 3 s", "ONNX Runtime runs seed 3, 30 %, 12 s"
std::string progress_text(const Meter::Reading&);
std::string human_size(std::uint64_t bytes);                // "14.2 MB"
std::string human_time(double seconds);                     // "0.31 s"
std::string counted(std::size_t n, std::string_view noun);  // "1 error", "3 errors"

}  // namespace t2o::cli
