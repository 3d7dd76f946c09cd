#include "engines/litert/protocol.h"

#include <cstring>
#include <type_traits>

namespace t2o::engines::lite {
namespace {

// Each message lists its fields once, for both directions.
template <class A>
void fields(A& a, Failure& m) {
  a(m.message, m.is_missing, m.blames_values);
}
template <class A>
void fields(A& a, OpenRequest& m) {
  a(m.libraries);
}
template <class A>
void fields(A& a, OpenReply& m) {
  a(m.path, m.version, m.is_complete);
}
template <class A>
void fields(A& a, LoadRequest& m) {
  a(m.path, m.bytes, m.builtin_kernels, m.threads, m.flex_operators, m.tensorflow_libraries);
}
template <class A>
void fields(A& a, TensorInfo& m) {
  a(m.key, m.name, m.type, m.dims, m.scales, m.zero_points, m.axis);
}
template <class A>
void fields(A& a, Signature& m) {
  a(m.key, m.inputs, m.outputs);
}
template <class A>
void fields(A& a, LoadReply& m) {
  a(m.signatures);
}
template <class A>
void fields(A& a, TensorValue& m) {
  a(m.type, m.dims, m.bytes, m.strings);
}
template <class A>
void fields(A& a, RunRequest& m) {
  a(m.signature, m.keep_state, m.inputs);
}
template <class A>
void fields(A& a, RunReply& m) {
  a(m.outputs);
}

struct Encoder {
  std::string out;

  template <class... T>
  void operator()(T&... parts) {
    (put(parts), ...);
  }
  template <class T>
  void put(T& part) {
    if constexpr (std::is_arithmetic_v<T>)
      out.append(reinterpret_cast<const char*>(&part), sizeof part);
    else
      fields(*this, part);
  }
  void put(std::string& s) {
    std::uint64_t size = s.size();
    put(size);
    out += s;
  }
  template <class T>
  void put(std::vector<T>& list) {
    std::uint64_t size = list.size();
    put(size);
    for (T& item : list) put(item);
  }
};

struct Decoder {
  std::string_view rest;

  template <class... T>
  void operator()(T&... parts) {
    (take(parts), ...);
  }
  template <class T>
  void take(T& part) {
    if constexpr (std::is_arithmetic_v<T>)
      std::memcpy(&part, view(sizeof part).data(), sizeof part);
    else
      fields(*this, part);
  }
  void take(bool& flag) {
    std::uint8_t byte = 0;
    take(byte);
    flag = byte != 0;
  }
  void take(std::string& s) { s = view(size()); }
  template <class T>
  void take(std::vector<T>& list) {
    const std::uint64_t count = size();  // each item takes a byte at least
    list.resize(count);
    for (T& item : list) take(item);
  }

  std::uint64_t size() {
    std::uint64_t n = 0;
    take(n);
    if (n > rest.size()) throw BadMessage("a message ends early");
    return n;
  }
  std::string_view view(std::uint64_t n) {
    if (n > rest.size()) throw BadMessage("a message ends early");
    const std::string_view part = rest.substr(0, n);
    rest.remove_prefix(n);
    return part;
  }
};

}  // namespace

std::string frame(Kind kind, std::string_view payload) {
  const FrameHead head{kMagic, kind, payload.size()};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += payload;
  return bytes;
}

bool is_valid(const FrameHead& head) { return head.magic == kMagic && head.size <= kLargestFrame; }

template <class T>
std::string encode(const T& message) {
  Encoder encoder;
  fields(encoder, const_cast<T&>(message));  // which it only reads
  return std::move(encoder.out);
}

template <class T>
T decode(std::string_view payload) {
  T message;
  Decoder decoder{payload};
  fields(decoder, message);
  if (!decoder.rest.empty()) throw BadMessage("a message is too long");
  return message;
}

#define T2O_MESSAGE(T)                   \
  template std::string encode(const T&); \
  template T decode(std::string_view);
T2O_MESSAGE(Failure)
T2O_MESSAGE(OpenRequest)
T2O_MESSAGE(OpenReply)
T2O_MESSAGE(LoadRequest)
T2O_MESSAGE(LoadReply)
T2O_MESSAGE(RunRequest)
T2O_MESSAGE(RunReply)
#undef T2O_MESSAGE

std::size_t bits_of(std::int32_t type) {
  switch (type) {
    case 20:  // int2
      return 2;
    case 18:  // int4
      return 4;
    case 3:  // uint8, bool, int8
    case 6:
    case 9:
      return 8;
    case 7:  // int16, float16, uint16, bfloat16
    case 10:
    case 17:
    case 19:
      return 16;
    case 1:  // float32, int32, uint32
    case 2:
    case 16:
      return 32;
    case 4:  // int64, complex64, float64, uint64
    case 8:
    case 11:
    case 13:
      return 64;
    case 12:  // complex128
      return 128;
    default:
      return 0;
  }
}

}  // namespace t2o::engines::lite
