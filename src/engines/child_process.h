#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace t2o::engines {

// A program that runs beside this one, with a socket to it as its file descriptor 3. What it prints is kept in memory. It ends with
// this object.
class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Result : std::uint8_t { ok, closed, late };  // closed: it has ended, or closed its end

  ChildProcess(const std::string& program, const std::vector<std::string>& arguments);  // throws Code::engine_missing
  explicit ChildProcess(const std::function<void(int socket)>& work);  // a fork: threads of this process do not go along
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  Result send(const void* data, std::size_t size, Deadline deadline);
  Result receive(void* data, std::size_t size, Deadline deadline);
  void kill(int signal = 9);
  std::string end();        // waits for its end, and says how it was: "SIGSEGV", "exit code 3"
  std::string log() const;  // the last lines that it has printed

 private:
  Result wait_for(short events, Deadline deadline) const;
  void close_socket();
  int open(const std::string& program);

  int socket_ = -1, log_ = -1;
  pid_t pid_ = -1;
  std::string how_it_ended_;
};

// The folder of the program or the shared library that this code is part of.
std::string own_folder();

}  // namespace t2o::engines
