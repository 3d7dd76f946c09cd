// Converts damaged models, in this process: none may end it, take long, or meet a bug that we catch ourselves.
//
//   fuzz_convert [--runs N] [--first N] [--seconds S] [--tell] [--keep FILE] MODEL.pb...
//
// Run N of the same models is always the same, its result too: --tell prints a line for each, to compare. --keep writes each model to a file before it is converted: the one that ended
// the process is there. With the asan preset it sees what does not crash by itself.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "mutator.h"
#include "op_mappers/registry.h"
#include "pipeline.h"
#include "tf/protos/text.pb.h"

namespace t2o::fuzz {
namespace {

using GraphDef = tf::text::GraphDef;
using Clock = std::chrono::steady_clock;

constexpr double kLongestConversion = 10;  // seconds; with the sanitizers too
constexpr int kMostProblems = 20;

long current_run = 0;

extern "C" void tell_run(int signal) {
  char text[64];
  const int n = std::snprintf(text, sizeof text, "run %ld ended by signal %d\n", current_run, signal);
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

// A GraphDef, or that of a SavedModel's first MetaGraph.
std::unique_ptr<GraphDef> read(const std::string& path) {
  auto graph = std::make_unique<GraphDef>();
  const std::string bytes = content(path);
  tf::text::SavedModel saved;
  if (std::filesystem::path(path).filename() == "saved_model.pb" && saved.ParseFromString(bytes) && saved.meta_graphs_size() > 0)
    *graph = saved.meta_graphs(0).graph_def();
  else if (!graph->ParseFromString(bytes) || graph->node_size() == 0)
    return nullptr;
  return graph;
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

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& s) : settings_(s) {
    for (const std::string& path : s.models)
      if (auto graph = read(path)) models_.push_back(std::move(graph));
    for (const auto& graph : models_) mutator_.learn(*graph);
    for (const auto& [op, rows] : tf_registry().table()) mutator_.learn_word("op", op);
  }

  int run() {
    if (models_.empty()) {
      std::fprintf(stderr, "no model could be read\n");
      return 2;
    }
    const auto start = Clock::now();
    long run = settings_.first;
    for (; run < settings_.first + settings_.runs && problems_ < kMostProblems; ++run) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > settings_.seconds) break;
      one(run);
    }
    std::printf("%ld runs: %ld converted, %ld refused, %d problems\n", run - settings_.first, converted_, refused_, problems_);
    return problems_ == 0 ? 0 : 1;
  }

 private:
  void one(long run) {
    current_run = run;
    mutator_.reseed(static_cast<std::uint64_t>(run));
    GraphDef graph = *models_[mutator_.below(models_.size())];
    for (std::size_t n = 1 + mutator_.below(3); n > 0; --n) mutator_.mutate(graph);
    std::string bytes = serialized(graph);
    mutator_.reseed(~static_cast<std::uint64_t>(run));  // protobuf's maps may have led to it on another way
    if (mutator_.below(8) == 0) mutator_.damage(bytes);
    Options options;
    options.opset = 11 + static_cast<int>(mutator_.below(18));
    if (mutator_.below(8) == 0) options.target_runtime = "any";
    if (mutator_.below(16) == 0) options.layout = tf2onnx::Layout::nhwc;
    if (!settings_.keep.empty()) std::ofstream(settings_.keep, std::ios::binary) << bytes;
    convert_one(run, options, bytes);
  }

  void convert_one(long run, const Options& options, const std::string& bytes) {
    const auto start = Clock::now();
    const Conversion c = convert(options, std::as_bytes(std::span(bytes)));
    Diagnostics diagnostics = c.diagnostics;
    std::string onnx;
    if (c.ok()) diagnostics = write_model(c, options, onnx);
    ++(c.ok() ? converted_ : refused_);
    if (!settings_.keep.empty()) std::ofstream(settings_.keep + ".onnx", std::ios::binary) << onnx;
    std::string all;
    for (const Diagnostic& d : diagnostics) all += "\n  " + to_string(d);
    for (const Diagnostic& d : diagnostics)
      if (d.code == Code::internal) {
        complain(run, options, all);
        break;
      }
    if (settings_.tell) std::printf("run %ld: opset %d, %s, %s: model %016zx %s %016zx\n", run, options.opset, options.target_runtime.c_str(), options.layout == tf2onnx::Layout::nhwc ? "nhwc" : "auto", std::hash<std::string>()(bytes), c.ok() ? "converted" : "refused", std::hash<std::string>()(c.ok() ? onnx : all));
    if (const double s = std::chrono::duration<double>(Clock::now() - start).count(); s > kLongestConversion)
      complain(run, options, "took " + std::to_string(s) + " s");
  }

  void complain(long run, const Options& options, const std::string& what) {
    ++problems_;
    std::printf("run %ld, opset %d: %s\n", run, options.opset, what.c_str());
    std::fflush(stdout);
  }

  const Settings& settings_;
  std::vector<std::unique_ptr<GraphDef>> models_;
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

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);  // names that are no UTF-8 are part of the game
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) ::signal(signal, t2o::fuzz::tell_run);
  const t2o::fuzz::Settings settings = t2o::fuzz::read_arguments(argc, argv);
  return t2o::fuzz::Fuzzer(settings).run();
}
