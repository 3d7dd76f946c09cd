#pragma once
#include <string>
#include <vector>

#include "tflite/model.h"

// Small TensorFlow Lite models of one float tensor type, in memory.
namespace t2o::tflite {

struct MadeTensor {
  std::string name = {};
  std::vector<std::int32_t> shape = {};
  schema::TensorType type = schema::TensorType::FLOAT32;
  std::vector<std::uint8_t> data = {};  // of a constant
  std::vector<float> scales = {};
  std::vector<std::int64_t> zero_points = {};
  std::int32_t axis = 0;
  bool is_variable = false;
};

struct MadeOperator {
  schema::BuiltinOperator op;
  std::vector<std::int32_t> inputs, outputs;
  std::int32_t subgraphs[2] = {-1, -1};  // of IF, WHILE and CALL
  std::string custom = {};
};

struct MadeSubgraph {
  std::vector<MadeTensor> tensors;
  std::vector<std::int32_t> inputs, outputs;
  std::vector<MadeOperator> operators;
};

struct MadeSignature {
  std::string key;
  std::uint32_t subgraph;
  std::vector<std::pair<std::string, std::uint32_t>> inputs, outputs;
};

class Maker {
 public:
  std::string model(const std::vector<MadeSubgraph>& subgraphs, const std::vector<MadeSignature>& signatures = {}) {
    buffers_.push_back(schema::CreateBuffer(b_));
    std::vector<flatbuffers::Offset<schema::SubGraph>> graphs;
    for (const MadeSubgraph& g : subgraphs) graphs.push_back(make(g));
    std::vector<flatbuffers::Offset<schema::SignatureDef>> named;
    for (const MadeSignature& s : signatures) named.push_back(make(s));
    const auto codes = b_.CreateVector(codes_);
    const auto all = b_.CreateVector(graphs);
    const auto buffers = b_.CreateVector(buffers_);
    const auto sig = b_.CreateVector(named);
    schema::ModelBuilder m(b_);
    m.add_version(3);
    m.add_operator_codes(codes);
    m.add_subgraphs(all);
    m.add_buffers(buffers);
    m.add_signature_defs(sig);
    schema::FinishModelBuffer(b_, m.Finish());
    return {reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize()};
  }

 private:
  using Offsets = std::vector<flatbuffers::Offset<schema::TensorMap>>;

  flatbuffers::Offset<schema::SubGraph> make(const MadeSubgraph& g) {
    std::vector<flatbuffers::Offset<schema::Tensor>> tensors;
    for (const MadeTensor& t : g.tensors) tensors.push_back(make(t));
    std::vector<flatbuffers::Offset<schema::Operator>> operators;
    for (const MadeOperator& o : g.operators) operators.push_back(make(o));
    return schema::CreateSubGraphDirect(b_, &tensors, &g.inputs, &g.outputs, &operators, "main");
  }

  flatbuffers::Offset<schema::Tensor> make(const MadeTensor& t) {
    std::uint32_t buffer = 0;
    if (!t.data.empty()) {
      buffer = static_cast<std::uint32_t>(buffers_.size());
      buffers_.push_back(schema::CreateBufferDirect(b_, &t.data));
    }
    flatbuffers::Offset<schema::QuantizationParameters> q;
    if (!t.scales.empty())
      q = schema::CreateQuantizationParametersDirect(b_, nullptr, nullptr, &t.scales, &t.zero_points, schema::QuantizationDetails::NONE,
                                                     0, t.axis);
    return schema::CreateTensorDirect(b_, &t.shape, t.type, buffer, t.name.c_str(), q, t.is_variable);
  }

  flatbuffers::Offset<schema::Operator> make(const MadeOperator& o) {
    const auto index = static_cast<std::uint32_t>(codes_.size());
    const auto old = static_cast<std::int8_t>(std::min(static_cast<int>(o.op), 127));
    codes_.push_back(schema::CreateOperatorCodeDirect(b_, old, o.custom.empty() ? nullptr : o.custom.c_str(), 1, o.op));
    schema::BuiltinOptions type = schema::BuiltinOptions::NONE;
    flatbuffers::Offset<void> options;
    if (o.op == schema::BuiltinOperator::WHILE) {
      type = schema::BuiltinOptions::WhileOptions;
      options = schema::CreateWhileOptions(b_, o.subgraphs[0], o.subgraphs[1]).Union();
    } else if (o.op == schema::BuiltinOperator::IF) {
      type = schema::BuiltinOptions::IfOptions;
      options = schema::CreateIfOptions(b_, o.subgraphs[0], o.subgraphs[1]).Union();
    } else if (o.op == schema::BuiltinOperator::CALL) {
      type = schema::BuiltinOptions::CallOptions;
      options = schema::CreateCallOptions(b_, static_cast<std::uint32_t>(o.subgraphs[0])).Union();
    } else if (o.op == schema::BuiltinOperator::SVDF) {
      type = schema::BuiltinOptions::SVDFOptions;
      options = schema::CreateSVDFOptions(b_, 1).Union();
    }
    return schema::CreateOperatorDirect(b_, index, &o.inputs, &o.outputs, type, options);
  }

  flatbuffers::Offset<schema::SignatureDef> make(const MadeSignature& s) {
    const auto maps = [&](const auto& list) {
      Offsets all;
      for (const auto& [name, tensor] : list) all.push_back(schema::CreateTensorMapDirect(b_, name.c_str(), tensor));
      return all;
    };
    const Offsets inputs = maps(s.inputs), outputs = maps(s.outputs);
    return schema::CreateSignatureDefDirect(b_, &inputs, &outputs, s.key.c_str(), s.subgraph);
  }

  flatbuffers::FlatBufferBuilder b_;
  std::vector<flatbuffers::Offset<schema::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<schema::OperatorCode>> codes_;
};

}  // namespace t2o::tflite
