#include "support/file_set.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <list>
#include <thread>

#include "diagnostics.h"
#include "support/folder_lock.h"
#include "verify/tf/unoptimized.h"

namespace t2o {
namespace {

namespace fs = std::filesystem;

class FileSetTest : public testing::Test {
 protected:
  FileSetTest() { fs::create_directory(dir_); }
  ~FileSetTest() override { fs::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& e : fs::directory_iterator(dir_)) names.push_back(e.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string dir_ = (fs::temp_directory_path() / ("t2o_file_set_" + std::to_string(getpid()))).string();
};

void write(AtomicFile& f, const std::string& text) { f.write(std::as_bytes(std::span(text))); }

TEST_F(FileSetTest, AllAppearOrNone) {
  put("model", "old"), put("data1", "old"), put("other", "kept");
  {
    FileSet set;
    for (const char* name : {"model", "data1", "data2"}) write(set.add(path(name)), "never");
  }
  EXPECT_EQ(content("model") + content("data1"), "oldold");
  EXPECT_EQ(files(), (std::vector<std::string>{"data1", "model", "other"}));
  FileSet set;
  for (const char* name : {"model", "data1", "data2"}) write(set.add(path(name)), "new");
  set.commit();
  EXPECT_EQ(content("model") + content("data1") + content("data2"), "newnewnew");
  EXPECT_EQ(files(), (std::vector<std::string>{"data1", "data2", "model", "other"}));
}

// A folder has come where a file was to be: nobody can replace it.
TEST_F(FileSetTest, AFailureLeavesWhatWasThere) {
  for (const char* name : {"a", "b", "c"}) {
    for (const char* each : {"a", "b", "c"}) put(each, std::string("old ") + each);
    {
      FileSet set;
      for (const char* each : {"a", "b", "c"}) write(set.add(path(each)), "new");
      fs::remove(path(name));
      fs::create_directories(path(name) + "/full");
      EXPECT_THROW(set.commit(), ConversionError);
    }
    for (const std::string each : {"a", "b", "c"}) {
      if (each != name) {
        EXPECT_EQ(content(each), "old " + each);
      }
    }
    EXPECT_EQ(files(), (std::vector<std::string>{"a", "b", "c"})) << name;
    fs::remove_all(path(name));
  }
}

TEST_F(FileSetTest, ThreadsOfOneProcessTakeTurns) {
  constexpr int kThreads = 4, kRounds = 50;
  std::list<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        FileSet set;
        for (const char* name : {"model", "./data1", "data2"})  // the folder has two names
          write(set.add(path(name)), std::to_string(t) + "." + std::to_string(i));
        set.commit();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(content("model"), content("data1"));
  EXPECT_EQ(content("model"), content("data2"));
  EXPECT_EQ(files(), (std::vector<std::string>{"data1", "data2", "model"}));
}

TEST_F(FileSetTest, LinksLeadToFilesElsewhere) {
  fs::create_directory(path("inner"));
  put("inner/model", "old"), put("data", "old");
  fs::create_symlink("inner/model", path("model"));
  FileSet set;
  for (const char* name : {"model", "data"}) write(set.add(path(name)), "new");
  set.commit();
  EXPECT_TRUE(fs::is_symlink(path("model")));
  EXPECT_EQ(content("inner/model") + content("data"), "newnew");
  EXPECT_EQ(files(), (std::vector<std::string>{"data", "inner", "model"}));
  EXPECT_TRUE(fs::is_empty(path("inner")) || std::distance(fs::directory_iterator(path("inner")), {}) == 1);
}

TEST_F(FileSetTest, OneHoldsTheLockAndTakesItAway) {
  {
    FolderLock first, second;
    EXPECT_TRUE(first.take(dir_ + "/"));
    EXPECT_FALSE(second.take(dir_ + "/"));
  }
  EXPECT_TRUE(files().empty());
  put(".tf2onnx-lock", "");  // a process that was killed
  EXPECT_TRUE(FolderLock().take(dir_ + "/"));
  EXPECT_TRUE(files().empty());
  EXPECT_THROW(FolderLock().take(dir_ + "/not_there/"), ConversionError);
}

TEST_F(FileSetTest, AnyNumberOfUnfinishedOnesCanBeRemoved) {
  std::list<AtomicFile> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(path(std::to_string(i)));
  Unfinished folder, file;
  fs::create_directory(path("folder"));
  folder.remember(path("folder"), Unfinished::Kind::folder);
  put("folder/file", "");
  file.remember(path("folder/file"));
  EXPECT_EQ(files().size(), 101U);
  remove_unfinished();
  EXPECT_TRUE(files().empty());
}

volatile sig_atomic_t caught = 0;

TEST_F(FileSetTest, SignalsWait) {
  struct sigaction count = {}, before = {};
  count.sa_handler = [](int) { caught = caught + 1; };
  for (const int s : {SIGTERM, SIGHUP, SIGUSR1, SIGALRM}) {
    caught = 0;
    sigaction(s, &count, &before);
    {
      const Uninterrupted work;
      pthread_kill(pthread_self(), s);
      EXPECT_EQ(caught, 0);
    }
    EXPECT_EQ(caught, 1);
    sigaction(s, &before, nullptr);
  }
}

// As where a terminal hangs up: the handler runs in one thread while another makes files.
TEST_F(FileSetTest, NothingBeginsAfterTheHandlerHas) {
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<bool> is_working = false, has_worked = false;
    std::thread works([&] {
      {
        const Uninterrupted work;
        is_working = true;
        usleep(50'000);
        has_worked = true;
      }
      std::list<AtomicFile> files;
      for (int i = 0;; ++i) files.emplace_back(path(std::to_string(i)));
    });
    while (!is_working) usleep(100);
    stop_file_work();
    remove_unfinished();
    const bool waited = has_worked;
    usleep(20'000);
    _exit(waited ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(FileSetTest, VerificationsCopyOfAModelCanBeRemoved) {
  const char* const before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", dir_.c_str(), 1);
  {
    const verify::UnoptimizedSavedModel copy(T2O_SOURCE_DIR "/models/mnist");
    EXPECT_EQ(files().size(), 1U);
    remove_unfinished();
    EXPECT_TRUE(files().empty());
  }
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace t2o
