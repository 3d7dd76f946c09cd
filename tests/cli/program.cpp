#include "cli/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace t2o::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const Conditions& c,
                                 const fs::path& out, const fs::path& err) {
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (!c.directory.empty() && chdir(c.directory.c_str()) != 0) _exit(126);
  if (c.file_size_allowed != 0) {
    const rlimit limit = {c.file_size_allowed, c.file_size_allowed};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  for (const std::string& variable : c.environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> argv = {const_cast<char*>(T2O_PROGRAM)};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(T2O_PROGRAM, argv.data());
  _exit(127);
}

void wait_for(pid_t child, const Conditions& c, Finished& finished) {
  const auto start = Clock::now();
  bool interrupted = c.interrupt_after == 0;
  int status = 0;
  rusage usage{};
  for (auto pause = std::chrono::microseconds(200);;
       pause = std::min(pause * 2, std::chrono::microseconds(20000))) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    finished.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (ended == child) break;
    if (!interrupted && finished.seconds > c.interrupt_after) {
      kill(child, c.interrupt_by);
      interrupted = true;
    }
    if (finished.seconds > c.seconds_allowed && !finished.timed_out) {
      finished.timed_out = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(pause);
  }
  finished.peak_mb = usage.ru_maxrss / 1024;
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  if (WIFEXITED(status) && !finished.timed_out) finished.exit_code = WEXITSTATUS(status);
}

}  // namespace

Finished run(const std::vector<std::string>& arguments, const Conditions& conditions) {
  const TemporaryDirectory scratch;
  const fs::path out = conditions.stdout_path.empty() ? scratch / "out" : conditions.stdout_path;
  const fs::path err = scratch / "err";
  const pid_t child = fork();
  if (child == 0) become_program(arguments, conditions, out, err);
  Finished finished;
  wait_for(child, conditions, finished);
  if (conditions.stdout_path.empty()) finished.out = content(out);
  finished.err = content(err);
  return finished;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "tf2onnx-test-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryDirectory::file(const std::string& name, const std::string& text) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name, std::ios::binary) << text;
  return (path_ / name).string();
}

std::vector<std::string> TemporaryDirectory::files() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace t2o::test
