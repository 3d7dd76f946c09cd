#include "engines/child_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "diagnostics.h"

extern char** environ;

namespace t2o::engines {
namespace {

constexpr int kSocket = 3;
constexpr std::size_t kLongestLog = 4000;
constexpr std::chrono::seconds kToEnd{5};

[[noreturn]] void fail_start(const std::string& program, int error) {
  fail(Code::engine_missing, "cannot start " + program + ": " + std::strerror(error));
}

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Actions() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }

  // The host's handlers and masks are its own, and so are its files.
  void prepare(int socket, int log) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, log, 1);
    posix_spawn_file_actions_adddup2(&files, log, 2);
    posix_spawn_file_actions_adddup2(&files, socket, kSocket);
    posix_spawn_file_actions_addclosefrom_np(&files, kSocket + 1);
  }
};

// Away from the numbers that the child's files get.
int moved_up(int fd) {
  const int up = fcntl(fd, F_DUPFD_CLOEXEC, kSocket + 1);
  close(fd);
  return up;
}

std::string text_of_end(int status) {
  if (!WIFSIGNALED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return name ? std::string("SIG") + name : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

// Gives the child's end of the socket.
int ChildProcess::open(const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_start(program, errno);
  socket_ = moved_up(ends[0]);
  log_ = moved_up(memfd_create("tf2onnx-helper-log", MFD_CLOEXEC));
  return moved_up(ends[1]);
}

ChildProcess::ChildProcess(const std::function<void(int)>& work) {
  const std::string self = "another process of this program";
  const int theirs = open(self);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail_start(self, errno);
  if (pid_ == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    close(socket_);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(log_, stream);
    work(theirs);
    _exit(0);
  }
  close(theirs);
}

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments) {
  const int theirs = open(program);
  Actions actions;
  actions.prepare(theirs, log_);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions.files, &actions.attributes, argv.data(), environ);
  close(theirs);
  if (error == 0) return;
  close_socket();
  close(log_);
  fail_start(program, error);
}

ChildProcess::~ChildProcess() {
  kill();
  end();
  close(log_);
}

void ChildProcess::close_socket() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

ChildProcess::Result ChildProcess::wait_for(short events, Deadline deadline) const {
  while (true) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) return Result::late;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    pollfd p{socket_, events, 0};
    const int n = poll(&p, 1, static_cast<int>(std::min<long long>(ms, 1 << 30)));
    if (n > 0) return Result::ok;
    if (n < 0 && errno != EINTR) return Result::closed;
  }
}

ChildProcess::Result ChildProcess::send(const void* data, std::size_t size, Deadline deadline) {
  const char* at = static_cast<const char*>(data);
  while (size != 0) {
    if (const Result r = wait_for(POLLOUT, deadline); r != Result::ok) return r;
    const ssize_t n = ::send(socket_, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return Result::closed;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return Result::ok;
}

ChildProcess::Result ChildProcess::receive(void* data, std::size_t size, Deadline deadline) {
  char* at = static_cast<char*>(data);
  while (size != 0) {
    if (const Result r = wait_for(POLLIN, deadline); r != Result::ok) return r;
    const ssize_t n = recv(socket_, at, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return Result::closed;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return Result::ok;
}

void ChildProcess::kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

std::string ChildProcess::end() {
  close_socket();
  const auto until = std::chrono::steady_clock::now() + kToEnd;
  while (pid_ > 0) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_) how_it_ended_ = text_of_end(status);
    if (got == pid_ || (got < 0 && errno != EINTR))
      pid_ = -1;  // a host that ignores its children has none to wait for
    if (got == 0) {
      if (std::chrono::steady_clock::now() > until) kill();
      usleep(1000);
    }
  }
  return how_it_ended_;
}

std::string ChildProcess::log() const {
  const off_t size = lseek(log_, 0, SEEK_END);
  if (size <= 0) return "";
  const auto length = std::min(static_cast<std::size_t>(size), kLongestLog);
  std::string text(length, '\0');
  const ssize_t n = pread(log_, text.data(), length, size - static_cast<off_t>(length));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

std::string own_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  std::error_code error;
  const bool found = dladdr1(reinterpret_cast<void*>(&own_folder), &info, reinterpret_cast<void**>(&map),
                             RTLD_DL_LINKMAP) != 0;
  const bool is_library =
      found && map && map->l_name && *map->l_name;  // the program itself has no name there
  const std::filesystem::path file = is_library ? map->l_name : "/proc/self/exe";
  return std::filesystem::canonical(file, error).parent_path().string();
}

}  // namespace t2o::engines
