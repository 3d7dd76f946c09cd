// Converts damaged models, in this process: none may end it, take long, or meet a bug that we catch ourselves.
//
//   fuzz_convert [--runs N] [--first N] [--seconds S] [--tell] [--keep FILE] MODEL...
//
// Run N of the same models is always the same, its result too: --tell prints a line for each, to compare. --keep writes each model to a file before it is converted: the one that ended
// the process is there. A MODEL is a binary GraphDef (.pb), or what has more files or other ones: a SavedModel's folder, a .meta,
// a .pbtxt, or the .index of a checkpoint, whose tensors are then read. With the asan preset it sees what does not crash by itself.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include "heap.h"
#include "model_files.h"
#include "mutator.h"
#include "op_mappers/registry.h"
#include "pipeline.h"
#include "tf/checkpoint.h"
#include "tf/protos/text.pb.h"

namespace t2o::fuzz {
namespace {

namespace fs = std::filesystem;

using GraphDef = tf::text::GraphDef;
using Clock = std::chrono::steady_clock;

constexpr double kLongestConversion = 10;  // seconds; with the sanitizers too
constexpr unsigned kLongestRun = 120;          // seconds, after which it counts as hanging
constexpr int kMostProblems = 20;
constexpr double kLeastConverted = 0.1;
// The most that a conversion may take: a fixed part, and ten times the model and the export, which has tables that the model does not store.
constexpr std::size_t kHeapOfAny = std::size_t{20} << 20, kHeapPerByte = 10;
constexpr std::size_t kReadTensor = std::size_t{1} << 24;

volatile sig_atomic_t current_run = 0;

extern "C" void tell_run(int signal) {
  char text[64];
  const int n = std::snprintf(text, sizeof text, "run %d ended by signal %d\n", current_run, signal);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(n)) < 0) _exit(2);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

struct Settings {
  long runs = 1000, first = 0;
  double seconds = 1e9;
  bool tell = false;
  std::string keep;
  std::vector<std::string> models;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<GraphDef> read(const std::string& path) {
  auto graph = std::make_unique<GraphDef>();
  return graph->ParseFromString(content(path)) && graph->node_size() != 0 ? std::move(graph) : nullptr;
}

// Maps in the order of their keys: the same bytes each time.
std::string serialized(const GraphDef& graph) {
  std::string bytes;
  google::protobuf::io::StringOutputStream out(&bytes);
  google::protobuf::io::CodedOutputStream coded(&out);
  coded.SetSerializationDeterministic(true);
  graph.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::size_t size_of_files(const fs::path& folder) {
  std::size_t size = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    if (file.is_regular_file()) size += file.file_size();
  return size;
}

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& s) : settings_(s) {
    for (const std::string& path : s.models) {
      if (!path.ends_with(".pb")) files_.push_back(std::make_unique<ModelFiles>(path));
      else if (auto graph = read(path)) models_.push_back(std::move(graph));
      else std::fprintf(stderr, "left out: protobuf does not take %s\n", path.c_str());  // names that are no UTF-8
    }
    if (2 * (models_.size() + files_.size()) <= s.models.size()) throw std::runtime_error("too few models can be read");
    for (const auto& graph : models_) mutator_.learn(*graph);
    for (const auto& files : files_) files->teach(mutator_);
    for (const auto& [op, rows] : tf_registry().table()) mutator_.learn_word("op", op);
  }

  int run() {
    const auto start = Clock::now();
    long run = settings_.first;
    for (; run < settings_.first + settings_.runs && problems_ < kMostProblems; ++run) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > settings_.seconds) break;
      one(run);
    }
    std::printf("%ld runs: %ld converted, %ld refused, %d problems\n", run - settings_.first, converted_, refused_, problems_);
    const bool too_few = static_cast<double>(run - settings_.first) * kLeastConverted > static_cast<double>(converted_);
    if (too_few) std::printf("too few of them are converted for the rest to mean much\n");
    return problems_ == 0 && !too_few ? 0 : 1;
  }

 private:
  void one(long run) {
    current_run = static_cast<sig_atomic_t>(run);
    alarm(kLongestRun);
    mutator_.reseed(static_cast<std::uint64_t>(run));
    const std::size_t chosen = mutator_.below(models_.size() + files_.size());
    if (chosen >= models_.size()) return one_of_files(run, *files_[chosen - models_.size()]);
    GraphDef graph = *models_[chosen];
    for (std::size_t n = 1 + mutator_.below(3); n > 0; --n) mutator_.mutate(graph);
    std::string bytes = serialized(graph);
    mutator_.reseed(~static_cast<std::uint64_t>(run));  // protobuf's maps may have led to it on another way
    if (mutator_.below(8) == 0) mutator_.damage(bytes);
    if (!settings_.keep.empty()) std::ofstream(settings_.keep, std::ios::binary) << bytes;
    convert_one(run, any_options(), bytes.size(), std::hash<std::string>()(bytes), [&](const Options& o) { return convert(o, std::as_bytes(std::span(bytes))); });
  }

  // In a folder of its own, which is called the same in each run: messages name it.
  void one_of_files(long run, const ModelFiles& files) {
    const fs::path folder = settings_.keep.empty() ? fs::temp_directory_path() / ("fuzz_convert." + std::to_string(getpid())) : fs::path(settings_.keep);
    fs::remove_all(folder);
    fs::create_directories(folder);
    Options options = any_options();
    options.model = files.write_damaged(mutator_, folder).string();
    if (files.is_checkpoint()) read_checkpoint(run, options);
    else convert_one(run, options, size_of_files(folder), 0, [](const Options& o) { return convert(o); });
    if (settings_.keep.empty()) fs::remove_all(folder);
  }

  void read_checkpoint(long run, const Options& options) {
    const auto start = Clock::now();
    std::size_t read = 0;
    const auto attempt = [&](const auto& work) {
      try {
        work();
      } catch (const ConversionError& e) {
        if (e.diagnostic().code == Code::internal) complain(run, options, e.what());
      } catch (const std::bad_alloc&) {  // the pipeline catches it
      } catch (const std::length_error&) {
      }
    };
    attempt([&] {
      const auto checkpoint = tf::Checkpoint::open(options.model.substr(0, options.model.rfind('.')));
      for (const tf::CheckpointEntry& e : checkpoint->entries())
        attempt([&] {
          const TensorPtr t = checkpoint->read(e.key);
          if (t->storage() && t->byte_size() < kReadTensor) t->bytes();
          ++read;
        });
    });
    ++(read != 0 ? converted_ : refused_);
    check_time(run, options, start);
  }

  void check_time(long run, const Options& options, Clock::time_point start) {
    if (const double s = std::chrono::duration<double>(Clock::now() - start).count(); s > kLongestConversion)
      complain(run, options, "took " + std::to_string(s) + " s");
  }

  Options any_options() {
    Options options;
    options.opset = 11 + static_cast<int>(mutator_.below(18));
    if (mutator_.below(8) == 0) options.target_runtime = "any";
    if (mutator_.below(16) == 0) options.layout = tf2onnx::Layout::nhwc;
    return options;
  }

  template <class Convert>
  void convert_one(long run, const Options& options, std::size_t size, std::size_t model_hash, Convert&& convert_it) {
    const auto start = Clock::now();
    const std::size_t before = heap_bytes();
    reset_heap_peak();
    const Conversion c = convert_it(options);
    Diagnostics diagnostics = c.diagnostics;
    std::string onnx;
    if (c.ok()) diagnostics = write_model_bytes(c, options, onnx);
    ++(c.ok() ? converted_ : refused_);
    if (!settings_.keep.empty() && options.model.empty()) std::ofstream(settings_.keep + ".onnx", std::ios::binary) << onnx;
    std::string all;
    for (const Diagnostic& d : diagnostics) all += "\n  " + to_string(d);
    for (const Diagnostic& d : diagnostics)
      if (d.code == Code::internal || d.message.find("more memory") != std::string::npos) {
        complain(run, options, all);
        break;
      }
    if (settings_.tell) std::printf("run %ld: opset %d, %s, %s: model %016zx %s %016zx\n", run, options.opset, options.target_runtime.c_str(), options.layout == tf2onnx::Layout::nhwc ? "nhwc" : "auto", model_hash, c.ok() ? "converted" : "refused", std::hash<std::string>()(c.ok() ? onnx : all));
    check_time(run, options, start);
    if (const std::size_t heap = heap_peak() - before; heap > kHeapOfAny + kHeapPerByte * (size + onnx.size()))
      complain(run, options, "took " + std::to_string(heap) + " bytes of memory for " + std::to_string(size) + " bytes of model and " + std::to_string(onnx.size()) + " of export");
  }

  void complain(long run, const Options& options, const std::string& what) {
    ++problems_;
    std::printf("run %ld, opset %d: %s\n", run, options.opset, what.c_str());
    std::fflush(stdout);
  }

  const Settings& settings_;
  std::vector<std::unique_ptr<GraphDef>> models_;
  std::vector<std::unique_ptr<ModelFiles>> files_;
  Mutator mutator_{0};
  long converted_ = 0, refused_ = 0;
  int problems_ = 0;
};

Settings read_arguments(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const bool is_option = word == "--runs" || word == "--first" || word == "--seconds" || word == "--keep";
    if (word == "--runs") s.runs = std::stol(value);
    if (word == "--first") s.first = std::stol(value);
    if (word == "--seconds") s.seconds = std::stod(value);
    if (word == "--keep") s.keep = value;
    s.tell = s.tell || word == "--tell";
    if (is_option) ++i;
    else if (word != "--tell") s.models.push_back(word);
  }
  return s;
}

}  // namespace
}  // namespace t2o::fuzz

// On a stack of their own: the one that is full is the likeliest to end a run.
void tell_of_signals() {
  static std::array<char, 1 << 16> stack_memory;
  stack_t stack{};
  stack.ss_sp = stack_memory.data();
  stack.ss_size = stack_memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = t2o::fuzz::tell_run;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) sigaction(signal, &action, nullptr);
}

constexpr rlim_t kMostMemory = rlim_t{4} << 30;  // the models are small

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);  // names that are no UTF-8 are part of the game
  tell_of_signals();
#ifndef __SANITIZE_ADDRESS__
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const t2o::fuzz::Settings settings = t2o::fuzz::read_arguments(argc, argv);
  try {
    return t2o::fuzz::Fuzzer(settings).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
