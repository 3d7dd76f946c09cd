#include "op_mappers/refusals.h"

#include <map>

namespace t2o {
namespace {

using Table = std::map<std::string, Refusal>;

Table make_table() {
  Table t;
  const auto add = [&](std::initializer_list<const char*> ops, const char* why, const char* remedy) {
    for (const char* op : ops) t[op] = {why, remedy};
  };
  constexpr const char* kCut = "cut the graph before it with --outputs or after it with --inputs";
  add({"XlaSelfAdjointEig", "XlaSvd"}, "this decomposition has no ONNX form", kCut);
  add({"XlaSelectAndScatter"}, "this operation, the gradient of a pooling, has no ONNX form", "export the model for inference, or cut the graph before it with --outputs");
  add({"XlaRngBitGenerator"}, "the random numbers of XLA's generator have no ONNX form", "give the random numbers as an input, with --inputs");
  add({"XlaCustomCall", "XlaCustomCallV2"}, "it calls a function that XLA has at run time, which no model holds", kCut);
  add({"XlaRecv", "XlaRecvFromHost", "XlaHostCompute"}, "it talks to the host while the model runs, which ONNX cannot express", kCut);
  add({"XlaAllReduce", "XlaReduceScatter"}, "it talks to other devices, which ONNX cannot express", "export the model for one device");
  add({"XlaCallModule"}, "it holds a program in StableHLO instead of TensorFlow's operators",
      "export it with jax2tf.convert(..., native_serialization=False), which jax before 0.7 has");
  return t;
}

}  // namespace

const Refusal* refusal(const std::string& op) {
  static const Table table = make_table();
  const auto it = table.find(op);
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace t2o
