#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "support/parallel.h"

namespace t2o::cli {
namespace {

constexpr std::string_view kCodes[] = {"\033[1;31m", "\033[1;33m", "\033[1;36m", "\033[1;32m", "\033[1m"};

std::string painted(bool color, Style style, std::string_view text) {
  if (!color) return std::string(text);
  return std::string(kCodes[static_cast<int>(style)]).append(text).append("\033[0m");
}

Style style_of(Severity s) {
  return s == Severity::error ? Style::error : s == Severity::warning ? Style::warning : Style::note;
}

// "unsupported ops: Foo (3 nodes), Bar (1 node)"; empty where one line has already said it.
std::string unsupported_ops(const Diagnostics& diagnostics) {
  std::map<std::string, std::size_t> count;
  std::size_t nodes = 0;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::error || d.code != Code::unsupported_op || d.origin.op.empty()) continue;
    ++count[d.origin.op];
    ++nodes;
  }
  if (nodes < 2) return "";
  std::string text;
  for (const auto& [op, n] : count) text += (text.empty() ? "" : ", ") + op + " (" + counted(n, "node") + ")";
  return "unsupported ops: " + text;
}

char style_number(Severity s) { return static_cast<char>('0' + static_cast<int>(s)); }

}  // namespace

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\033') {  // a colour, of ours or of theirs, does no harm
      const std::size_t end = text.find_first_not_of("[;0123456789", i + 1);
      if (end != std::string_view::npos && end > i + 1 && text[i + 1] == '[' && text[end] == 'm') {
        out += text.substr(i, end + 1 - i);
        i = end;
        continue;
      }
    }
    if ((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t')
      out += text[i];
    else
      out.append("\\x").append(1, "0123456789abcdef"[c >> 4]).append(1, "0123456789abcdef"[c & 15]);
  }
  return out;
}

// That understands more than text.
bool is_terminal(int file_descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(file_descriptor) != 0 && !(terminal && std::string_view(terminal) == "dumb");
}

bool wants_color(const std::string& choice, int file_descriptor) {
  if (choice != "auto") return choice == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return !(no_color && *no_color) && is_terminal(file_descriptor);
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 60) return 100;
  return std::min<std::size_t>(size.ws_col, 120);
}

Console::Console(const Common& common, bool stdout_is_taken)
    : results_(stdout_is_taken ? std::cerr : std::cout),
      quiet_(common.quiet),
      verbose_(common.verbose > 0 || common.debug),
      debug_(common.debug),
      json_(common.json),
      color_out_(wants_color(common.color, stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO)),
      color_err_(wants_color(common.color, STDERR_FILENO)),
      progress_(!common.quiet && !common.json && is_terminal(STDERR_FILENO)) {}

void Console::say(const std::string& line) const {
  if (!quiet_ && !json_) results_ << harmless(line) << std::endl;
}

void Console::complain(const std::string& text) const {
  if (quiet_ && !json_)
    std::cerr << painted(color_err_, Style::error, "error") << ": " << harmless(text) << std::endl;
}

void Console::hint(const std::string& text) const {
  if (!quiet_ && !json_)
    std::cerr << painted(color_err_, Style::note, "note") << ": " << harmless(text) << std::endl;
}

std::string Console::paint(Style style, std::string_view text) const {
  return painted(color_out_, style, text);
}

void Console::report(const Diagnostics& diagnostics, std::string_view consequence) const {
  if (json_) return;
  std::array<std::size_t, 3> count{};
  std::string text;
  std::vector<const Diagnostic*> shown;
  std::vector<std::string> causes;
  for (const Diagnostic& d : diagnostics) {
    ++count[static_cast<std::size_t>(d.severity)];
    if ((d.severity == Severity::note && !verbose_) || (d.severity == Severity::warning && quiet_)) continue;
    shown.push_back(&d);
    causes.push_back(std::string(name(d.code)) + style_number(d.severity) + cause_of(d.origin.op, d.message));
  }
  for (const Told& told : shorten(causes)) {
    const Diagnostic& d = *shown[told.index];
    const std::string line = to_string(d, debug_);
    const std::size_t head = line.find(": ");
    text += painted(color_err_, style_of(d.severity), line.substr(0, head)) + line.substr(head) + "\n";
    if (told.more != 0) text += more_like_it(d.severity, d.origin.op, told.more) + "\n";
  }
  const auto [notes, warnings, errors] = count;
  if (const std::string ops = unsupported_ops(diagnostics); !ops.empty()) text += ops + "\n";
  if (errors != 0)
    text += painted(color_err_, Style::error, counted(errors, "error")) +
            (warnings != 0 ? ", " + counted(warnings, "warning") : "") + "; " + std::string(consequence) +
            "\n";
  std::cout.flush();
  std::cerr << harmless(text) << std::flush;
}

Progress::Progress(const Console& console, std::string what) : what_(std::move(what)) {
  if (console.shows_progress()) thread_ = thread_without_signals([this] { draw(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  finished_.notify_one();
  thread_.join();
}

void Progress::now(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  meter_.begin("");
}

void Progress::draw() {
  bool drawn = false;
  std::unique_lock lock(mutex_);
  for (auto wait = std::chrono::milliseconds(1000); !finished_.wait_for(lock, wait, [this] { return done_; });
       wait = std::chrono::milliseconds(200)) {
    std::string line = harmless(what_ + ": " + progress_text(meter_.now()));
    winsize size{};  // of a line that is wrapped, a part would stay
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && line.size() >= size.ws_col)
      line.erase(0, line.size() + 1 - size.ws_col);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    drawn = true;
  }
  if (drawn) std::fputs("\r\033[K", stderr);
}

std::string progress_text(const Meter::Reading& r) {
  const double part = r.total == 0 ? 0 : static_cast<double>(r.done) / static_cast<double>(r.total);
  std::string text = r.step;
  if (r.unit != Meter::Unit::none) {
    std::array<char, 16> percent{};
    std::snprintf(percent.data(), percent.size(), "%.0f %%", 100 * std::min(part, 1.0));
    text += (text.empty() ? "" : ", ") + std::string(percent.data());
  }
  if (r.unit == Meter::Unit::bytes) {
    const double rate = r.seconds > 0 ? static_cast<double>(r.done) / r.seconds : 0;
    return text + ", " + human_size(r.done) + " of " + human_size(r.total) + ", " +
           human_size(static_cast<std::uint64_t>(rate)) + "/s";
  }
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%.0f s", r.seconds);
  return (text.empty() ? "" : text + (r.unit == Meter::Unit::none ? " ... " : ", ")) + time.data();
}

std::string human_size(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 999.95 && unit < 4; ++unit) size /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
  return text.data();
}

std::string human_time(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), seconds < 0.1 ? "%.3f s" : "%.2f s", seconds);
  return text.data();
}

std::string counted(std::size_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace t2o::cli
