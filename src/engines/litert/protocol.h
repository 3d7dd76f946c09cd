#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// What the program and its helper (main.cpp), in which LiteRT runs, say to each other: frames over a socket. Both are of one build, so
// the numbers are the machine's own. This file and all of the helper know nothing of the rest of the program.
namespace t2o::engines::lite {

inline constexpr int kSocket = 3;  // the file descriptor of the helper's end
inline constexpr std::uint32_t kMagic = 0x6c324f54;
inline constexpr std::uint64_t kLargestFrame = std::uint64_t{1} << 36;

enum class Kind : std::uint32_t {
  open = 1,  // requests
  load,
  run,
  doing = 16,  // the helper's step, in words: "running the model"
  done,        // with the reply
  failed       // with a Failure
};

struct FrameHead {
  std::uint32_t magic = kMagic;
  Kind kind = Kind::done;
  std::uint64_t size = 0;
};
std::string frame(Kind kind, std::string_view payload);
bool is_valid(const FrameHead& head);

struct BadMessage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Failure {
  std::string message;
  bool is_missing = false;     // no library can be loaded
  bool blames_values = false;  // with other inputs it may work
};

struct OpenRequest {
  std::vector<std::string> libraries;  // the first that can be loaded is taken
};
struct OpenReply {
  std::string path, version;
  bool is_complete = false;  // the C interface of TensorFlow Lite; else that of LiteRT, which lacks strings and open output shapes
};

struct LoadRequest {
  std::string path, bytes;  // the bytes, where there is no path
  bool builtin_kernels = false;
  int threads = 1;
  std::vector<std::string> flex_operators;        // "FlexRoll": TensorFlow's, which run in ...
  std::vector<std::string> tensorflow_libraries;  // ... the first of these that can be loaded
};

struct TensorInfo {
  std::string key, name;  // in the signature; in the graph
  std::int32_t type = 0;  // TfLiteType
  std::vector<std::int64_t> dims;  // -1: open
  std::vector<float> scales;  // empty: not quantized
  std::vector<std::int64_t> zero_points;
  std::int32_t axis = 0;
};
struct Signature {
  std::string key;  // empty: the main graph itself
  std::vector<TensorInfo> inputs, outputs;
};
struct LoadReply {
  std::vector<Signature> signatures;
};

struct TensorValue {
  std::int32_t type = 0;
  std::vector<std::int64_t> dims;
  std::string bytes;
  std::vector<std::string> strings;  // of type string, which has no bytes
};
struct RunRequest {
  std::uint32_t signature = 0;
  bool keep_state = false;
  std::vector<TensorValue> inputs;
};
struct RunReply {
  std::vector<TensorValue> outputs;
};

template <class T> std::string encode(const T& message);
template <class T> T decode(std::string_view payload);  // throws BadMessage

inline constexpr std::int32_t kStringType = 5;  // the only one of TfLiteType without elements of a fixed size
std::size_t bits_of(std::int32_t type);         // of an element; 0: it has no fixed size, or the type is not known

}  // namespace t2o::engines::lite
