#include "support/file_set.h"

#include <time.h>  // NOLINT(modernize-deprecated-headers): nanosleep

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <set>

#include "diagnostics.h"
#include "support/folder_lock.h"

namespace t2o {
namespace {

class Locks {
 public:
  // The folder that somebody else has locked; else all are ours. Nobody waits with a part of them.
  const std::string* take(const std::set<std::string>& folders) {
    for (const std::string& folder : folders)
      if (!locks_.emplace_back().take(folder)) {
        locks_.clear();
        return &folder;
      }
    return nullptr;
  }

 private:
  std::list<FolderLock> locks_;
};

// One name for each, or a set would wait for itself.
std::string canonical(const std::string& folder) {
  std::error_code unknown;
  const std::filesystem::path path = std::filesystem::canonical(folder.empty() ? "." : folder, unknown);
  return unknown ? folder : (path / "").string();
}

[[noreturn]] void fail_locked(const std::string& folder) {
  fail(Code::output,
       "another program keeps the lock '" + folder + ".tf2onnx-lock'; the output was not replaced",
       "end that program, or remove the file if no conversion is running");
}

}  // namespace

void FileSet::commit() {
  for (AtomicFile& f : files_) f.finish();
  if (files_.size() < 2) {
    const Uninterrupted rename;
    for (AtomicFile& f : files_) f.appear();
    return;
  }
  std::set<std::string> folders;
  for (const AtomicFile& f : files_) folders.insert(canonical(f.folder()));
  constexpr std::chrono::seconds kLongest(60);  // another set has it for less than a millisecond
  const auto start = std::chrono::steady_clock::now();
  for (long nanoseconds = 50'000;; nanoseconds = std::min(nanoseconds * 2, 20'000'000L)) {
    {
      const Uninterrupted all_renames;
      Locks locks;
      const std::string* busy = locks.take(folders);
      if (busy == nullptr) return appear_together();
      if (std::chrono::steady_clock::now() - start > kLongest) fail_locked(*busy);
    }
    const timespec pause = {0, nanoseconds};
    nanosleep(&pause, nullptr);
  }
}

// The first file goes first and comes last: whoever looks between two steps finds no model rather than a
// wrong one. Where nothing is there that the old one may lead to, it can stay until the new one takes its
// place.
void FileSet::appear_together() {
  try {
    const bool leads_to_old =
        std::any_of(files_.begin() + 1, files_.end(), [](const AtomicFile& f) { return f.replaces(); });
    if (leads_to_old)
      for (AtomicFile& f : files_) f.put_aside();
    for (auto f = files_.rbegin(); f != files_.rend(); ++f) f->appear();
  } catch (...) {
    for (auto f = files_.rbegin(); f != files_.rend(); ++f) f->undo();
    throw;
  }
  for (AtomicFile& f : files_) f.drop_old();
}

}  // namespace t2o
