#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace t2o::test {

struct Finished {
  int exit_code = -1;  // -1: ended by a signal, or by us after the time limit
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
  double seconds = 0;
  long peak_mb = 0;
};

struct Conditions {
  std::filesystem::path directory = {};       // where it runs
  std::vector<std::string> environment = {};  // "NAME=value", added to ours
  double seconds_allowed = 120;
  std::size_t file_size_allowed = 0;       // bytes of any file it writes; 0: any. A disk that fills up
  double interrupt_after = 0;              // by this signal after so many seconds; 0: never
  int interrupt_by = 2;                    // SIGINT
  std::filesystem::path stdout_path = {};  // instead of Finished::out
};

Finished run(const std::vector<std::string>& arguments, const Conditions& = {});

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name, const std::string& content) const;  // makes it; its path
  std::vector<std::string> files() const;                                       // names, sorted

 private:
  std::filesystem::path path_;
};

std::string content(const std::filesystem::path&);

}  // namespace t2o::test
