#include "onnx/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ir/text.h"
#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "onnx/model_edit.h"
#include "rewriters/onnx/per_channel.h"
#include "support/atomic_file.h"
#include "support/parallel.h"

namespace t2o::onnx {
namespace {

namespace fs = std::filesystem;
using rewriters::Doubles;

class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "t2o_writer_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path_); }
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(path_)) names.push_back(e.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

pb::ModelProto parsed(const std::string& bytes) {
  pb::ModelProto m;
  EXPECT_TRUE(m.ParseFromString(bytes));
  return m;
}

ir::Model model_of(GraphPtr g) {
  ir::Model m = {.producer_version = "1.2.3"};
  m.graphs.push_back({.graph = std::move(g)});
  return m;
}

std::string to_bytes(const ir::Model& m, const WriteOptions& options) {
  std::string bytes;
  write_bytes(m, options, bytes);
  return bytes;
}

WriteOptions at_opset(int opset) { return {.target = make_target(opset)}; }

Written write_file(GraphPtr g, const std::string& path, ExternalData mode = ExternalData::automatic) {
  return write_files(model_of(std::move(g)), at_opset(21), {path}, path + ".data", mode);
}

GraphPtr sample() {
  return ir::parse_graph(R"(graph sample {
    input %x: f32[batch,?,300]
    input %any: i64[*]
    const %w: f32[300,1000] = splat 0.5
    const %unused: f32[5] = [1, 2, 3, 4, 5]
    const %names: string[2] = ["a", "b\x00\xff"]
    const %empty: f32[0] = []
    const %packed: u4[3] = [1, 2, 15]
    %y: f32[batch,?,1000] = MatMul(%x, %w) @"layer/dense" "MatMul" in "call"
    %z: f32[*] = com.example::Custom(%y, _, %names, %empty, %packed, %any) {i=-1, f=1.5, s="t", is=[], fs=[0.5], ss=["u"],
         d=bf16, ds=[f32, i64], t=const i64[2] = [3, 4], b=graph body {
      const %small: f32[2] = [1, 2]
      const %big: f32[300] = splat 2
      const %result: f32[300] = splat 3
      %u: f32[300] = Add(%big, %small)
      output %u, %result
    }}
    %l = ai.onnx.ml::LabelEncoder(%names)
    output %z, %y
  })");
}

void expect_same_as_proto(const pb::ModelProto& a, const pb::ModelProto& b) {
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
}

TEST(Writer, StreamsWhatTheProtoSays) {
  WriteOptions options = at_opset(21);
  ir::Model model = model_of(sample());
  model.properties = {{"z", "1"}};
  model.graphs[0].properties = {{"a", "2"}};
  model.doc_string = "about";
  options.value_info = true;
  expect_same_as_proto(parsed(to_bytes(model, options)), to_proto(model, options));
}

TEST(Writer, WritesTheModel) {
  ir::Model model = model_of(sample());
  model.properties = {{"z", "1"}};
  model.graphs[0].properties = {{"a", "2"}};
  const pb::ModelProto m = parsed(to_bytes(model, at_opset(20)));
  EXPECT_EQ(m.ir_version(), 9);
  EXPECT_EQ(m.producer_name(), "tf2onnx-cpp");
  EXPECT_EQ(m.producer_version(), "1.2.3");
  EXPECT_EQ(m.metadata_props(0).key(), "a");
  ASSERT_EQ(m.opset_import_size(), 3);
  EXPECT_EQ(m.opset_import(0).version(), 20);
  EXPECT_EQ(m.opset_import(1).domain(), "ai.onnx.ml");
  EXPECT_EQ(m.opset_import(1).version(), 4);
  EXPECT_EQ(m.opset_import(2).domain(), "com.example");
  EXPECT_EQ(m.opset_import(2).version(), 1);

  const auto& shape = m.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "batch");
  EXPECT_EQ(shape.dim(1).value_case(), pb::TensorShapeProto_Dimension::VALUE_NOT_SET);
  EXPECT_EQ(shape.dim(2).dim_value(), 300);
  EXPECT_FALSE(m.graph().input(1).type().tensor_type().has_shape());
  EXPECT_EQ(m.graph().output(0).name(), "z");
}

// Weights that are made part by part in several threads, in front of, between and behind others.
TEST(Writer, WritesWhatIsComputedPieceByPiece) {
  std::vector<float> data(3 * 3 * 64 * 1030);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 9973);
  std::vector<double> factors(1030);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 2.0 + static_cast<double>(i % 7);
  const TensorPtr hwio = Tensor::of<float>({3, 3, 64, 1030}, data), oihw = transposed(hwio, {3, 2, 0, 1});
  const TensorPtr tensors[] = {oihw, rewriters::scaled(oihw, 0, factors), rewriters::scaled(hwio, 2, Doubles(64, 3)),
                               Tensor::of<float>({3}, {1, 2, 3}), rewriters::scaled(rewriters::scaled(oihw, 0, factors), 0, factors),
                               rewriters::scaled(oihw, 1, Doubles(64, 2)), hwio};
  const GraphPtr g = ir::parse_graph("graph g onnx { input %x: f32[1] %y: f32[1] = Relu(%x) output %y }");
  const Target target = make_target(21);
  Emitter e(*g, target, std::make_shared<const Origin>());
  Values outputs;
  std::vector<std::string> expected;
  for (const TensorPtr& t : tensors) {
    outputs.push_back(e.emit("Identity", {e.constant(t)}));
    expected.emplace_back(reinterpret_cast<const char*>(t->bytes().data()), t->byte_size());
    t->storage()->release();
  }
  g->set_outputs(outputs);
  const Directory dir;
  const HelpingThreads threads(3);
  for (int run = 0; run < 3; ++run) {
    write_file(g, dir / "m.onnx", ExternalData::never);
    const pb::ModelProto m = parsed(content(dir / "m.onnx"));
    ASSERT_EQ(m.graph().initializer_size(), 7);
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(m.graph().initializer(i).raw_data() == expected[static_cast<std::size_t>(i)]) << i;
  }
  const auto last_row = [&](double factor) {
    std::vector<float> row(64 * 9);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = data[((i % 9) * 64 + i / 9) * 1030 + 1029] * static_cast<float>(factor);
    return std::string(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  };
  EXPECT_TRUE(expected[1].ends_with(last_row(factors[1029])));
  EXPECT_TRUE(expected[4].ends_with(last_row(factors[1029] * factors[1029])));
}

// Its inference would take the unknown width of %v for 0.
TEST(Writer, TellsTheWidthOfAnAttentionsValues) {
  const GraphPtr g = ir::parse_graph(R"(graph sample {
    input %q: f32[batch,4,6]
    input %k: f32[other,4,6]
    input %s: i64[3]
    const %w: f32[6,2] = splat 1
    %v: f32[?,4,6] = Expand(%k, %s)
    %u: f32[?,4,6] = Expand(%q, %s)
    %a: f32[?,4,6] = Attention(%u, %v, %v) {q_num_heads=2, kv_num_heads=2}
    %y: f32[?,4,2] = MatMul(%a, %w)
    output %y
  })");
  const pb::ModelProto m = to_proto(model_of(g), at_opset(23));
  ASSERT_EQ(m.graph().value_info_size(), 1);
  EXPECT_EQ(m.graph().value_info(0).name(), "v");
  EXPECT_EQ(m.graph().value_info(0).type().tensor_type().shape().dim(2).dim_value(), 6);
  const GraphPtr flat = ir::parse_graph(R"(graph sample {
    input %q: f32[batch,2,4,3]
    %v: f32[batch,2,4,3] = Relu(%q)
    %a: f32[batch,2,4,3] = Attention(%q, %v, %v)
    output %a
  })");
  EXPECT_EQ(to_proto(model_of(flat), at_opset(23)).graph().value_info_size(), 0);
}

TEST(Writer, WritesAttributes) {
  const pb::ModelProto m = to_proto(model_of(sample()), at_opset(21));
  const pb::NodeProto& n = m.graph().node(1);
  EXPECT_EQ(n.op_type(), "Custom");
  EXPECT_EQ(n.domain(), "com.example");
  EXPECT_EQ(n.input(1), "");
  EXPECT_EQ(n.attribute(0).i(), -1);
  EXPECT_EQ(n.attribute(1).f(), 1.5F);
  EXPECT_EQ(n.attribute(2).s(), "t");
  EXPECT_EQ(n.attribute(3).type(), pb::AttributeProto::INTS);
  EXPECT_EQ(n.attribute(4).floats(0), 0.5F);
  EXPECT_EQ(n.attribute(5).strings(0), "u");
  EXPECT_EQ(n.attribute(6).i(), pb::TensorProto::BFLOAT16);
  EXPECT_EQ(n.attribute(7).ints(1), pb::TensorProto::INT64);
  EXPECT_EQ(n.attribute(8).t().raw_data().size(), 16U);
  EXPECT_EQ(n.attribute(9).g().name(), "body");
}

TEST(Writer, BringsTheFunctionsAlongThatItsNodesCall) {
  const GraphPtr g = ir::parse_graph(R"(graph t {
    input %x: f32[1,8,8,3]
    const %w: f32[4,3,3,3] = splat 1
    const %v: f32[4,4,3,3] = splat 1
    %a: f32[1,6,6,4] = ai.tf2onnx.nhwc::Conv(%x, %w) {strides=[1, 1]}
    %b: f32[1,4,4,4] = ai.tf2onnx.nhwc::Conv(%a, %v)
    %y: f32[1,2,2,4] = ai.tf2onnx.nhwc::MaxPool(%b) {kernel_shape=[2, 2], strides=[2, 2]}
    output %y
  })");
  const pb::ModelProto m = to_proto(model_of(g), at_opset(18));
  EXPECT_EQ(m.opset_import(1).domain(), "ai.tf2onnx.nhwc");
  ASSERT_EQ(m.functions_size(), 2);
  const pb::FunctionProto& f = m.functions(0);
  EXPECT_EQ(f.domain(), "ai.tf2onnx.nhwc");
  EXPECT_EQ(f.name(), "Conv");
  EXPECT_EQ(f.opset_import(0).version(), 18);
  EXPECT_EQ(f.input_size(), 3);
  ASSERT_EQ(f.node_size(), 3);
  EXPECT_EQ(f.node(0).attribute(0).ints(1), 3);
  EXPECT_EQ(f.node(1).op_type(), "Conv");
  EXPECT_EQ(f.node(1).attribute_size(), f.attribute_size());
  for (int i = 0; i < f.attribute_size(); ++i) EXPECT_EQ(f.node(1).attribute(i).ref_attr_name(), f.attribute(i));
  EXPECT_EQ(f.node(2).output(0), f.output(0));
  EXPECT_EQ(m.functions(1).output_size(), 1) << "without the indices";
  WriteOptions old = at_opset(18);
  old.ir_version = 7;
  EXPECT_THROW(to_proto(model_of(g), old), ConversionError);
}

TEST(Writer, SmallConstantsOfASubgraphStayThereBigOnesMoveOut) {
  const pb::ModelProto m = to_proto(model_of(sample()), at_opset(21));
  const pb::GraphProto& body = m.graph().node(1).attribute(9).g();
  ASSERT_EQ(body.initializer_size(), 2);
  EXPECT_EQ(body.initializer(0).name(), "small");
  EXPECT_EQ(body.initializer(1).name(), "result") << "a subgraph must make its outputs itself";
  std::string names;
  for (const pb::TensorProto& t : m.graph().initializer()) names += t.name() + " ";
  EXPECT_EQ(names, "w names empty packed big ");
  EXPECT_EQ(m.graph().initializer(1).string_data(1), std::string("b\0\xff", 3));
  EXPECT_EQ(m.graph().initializer(3).raw_data(), std::string("\x21\x0f"));
}

TEST(Writer, SaysWhereNodesComeFrom) {
  WriteOptions options = at_opset(21);
  EXPECT_EQ(to_proto(model_of(sample()), options).graph().node(0).metadata_props_size(), 0);
  options.node_metadata = true;
  const pb::ModelProto m = to_proto(model_of(sample()), options);
  ASSERT_EQ(m.graph().node(0).metadata_props_size(), 3);
  EXPECT_EQ(m.graph().node(0).metadata_props(0).value(), "layer/dense");
  const std::string bytes = to_bytes(model_of(sample()), options);
  EXPECT_EQ(model_nodes(std::as_bytes(std::span(bytes)), "sample")[0].source_node, "layer/dense");
  const GraphPtr old = ir::parse_graph("graph { %y: f32[] = Op() @\"n\" \"O\" in \"f\" output %y }");
  options.target = make_target(18);
  EXPECT_EQ(to_proto(model_of(old), options).graph().node(0).doc_string(), "O 'n' in function 'f'");
}

TEST(Writer, IrVersionFollowsTheTypes) {
  const auto lowest = [](const std::string& type) {
    return lowest_ir_version(*ir::parse_graph("graph { input %x: " + type + "[] %y: f32[] = Op(%x) output %y }"));
  };
  EXPECT_EQ(lowest("f32"), 4);
  EXPECT_EQ(lowest("f8e5m2"), 9);
  EXPECT_EQ(lowest("i4"), 10);
  EXPECT_EQ(lowest("u2"), 13);
  EXPECT_EQ(lowest_ir_version(*ir::parse_graph("graph { %y = If() {b=graph { %z = Op() {to=i4} }} }")), 10);

  WriteOptions options = at_opset(23);
  options.ir_version = 10;
  EXPECT_EQ(to_proto(model_of(sample()), options).ir_version(), 10);
  for (const int wrong : {3, 9, 15}) {
    options.ir_version = wrong;
    EXPECT_THROW(to_proto(model_of(sample()), options), ConversionError) << wrong;
  }
}

TEST(Writer, RefusesTypesThatOnnxLacks) {
  EXPECT_THROW(to_proto(model_of(ir::parse_graph("graph { input %x: resource[] }")), at_opset(21)), ConversionError);
  EXPECT_THROW(to_proto(model_of(ir::parse_graph("graph { Op() {s=shape[2]} }")), at_opset(21)), ConversionError);
}

TEST(Writer, SameGraphSameBytes) {
  EXPECT_EQ(to_bytes(model_of(sample()), at_opset(21)), to_bytes(model_of(sample()), at_opset(21)));
}

TEST(Writer, FileHoldsTheBytes) {
  const Directory dir;
  const Written w = write_file(sample(), dir / "m.onnx");
  EXPECT_EQ(content(dir / "m.onnx"), to_bytes(model_of(sample()), at_opset(21)));
  EXPECT_EQ(w.models[0].bytes, fs::file_size(dir / "m.onnx"));
  EXPECT_EQ(w.data.bytes, 0U);
  EXPECT_EQ(dir.files(), std::vector<std::string>{"m.onnx"});
}

TEST(Writer, ExternalDataIsAligned) {
  const Directory dir;
  const GraphPtr g = sample();
  const Written w = write_file(g, dir / "m.onnx", ExternalData::always);
  EXPECT_EQ(dir.files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  const std::string data = content(dir / "m.onnx.data");
  EXPECT_EQ(w.data.bytes, data.size());

  const pb::ModelProto m = parsed(content(dir / "m.onnx"));
  int external = 0;
  for (const pb::TensorProto& t : m.graph().initializer()) {
    if (t.data_location() != pb::TensorProto::EXTERNAL) continue;
    ++external;
    EXPECT_FALSE(t.has_raw_data());
    ASSERT_EQ(t.external_data_size(), 3);
    EXPECT_EQ(t.external_data(0).value(), "m.onnx.data");
    const auto offset = std::stoul(t.external_data(1).value()), length = std::stoul(t.external_data(2).value());
    EXPECT_EQ(offset % (length >= 65536 ? 4096 : 64), 0U);
    const float expected = t.name() == "w" ? 0.5F : 2.0F;
    ASSERT_LE(offset + length, data.size());
    for (std::size_t i = 0; i < length; i += 4) {
      float v = 0;
      std::memcpy(&v, data.data() + offset + i, 4);
      ASSERT_EQ(v, expected);
    }
  }
  EXPECT_EQ(external, 2) << "w and big; the others are small";
}

GraphPtr model_with(const std::string& weight, float value, const std::string& own, std::int64_t own_size) {
  return ir::parse_graph("graph { input %x: f32[1024] const %" + weight + ": f32[1024] = splat " + std::to_string(value) + " const %" + own +
                         ": f32[" + std::to_string(own_size) + "] = splat 3 %a: f32[1024] = Mul(%x, %" + weight + ") %b: f32[*] = Relu(%" + own +
                         ") output %a, %b }");
}

TEST(Writer, ModelsShareEqualWeights) {
  const GraphPtr first = model_with("w", 0.5F, "own", 512), second = model_with("v", 0.5F, "other", 640), third = model_with("w", 0.25F, "own", 700);
  const auto written = [&](const Directory& dir, ExternalData mode) {
    ir::Model model;
    for (const GraphPtr& g : {first, second, third}) model.graphs.push_back({.graph = g});
    return write_files(model, at_opset(21), {dir / "1.onnx", dir / "2.onnx", dir / "3.onnx"}, dir / "all.data", mode);
  };
  const auto external = [](const std::string& path) {
    std::vector<std::string> names;
    const pb::ModelProto model = parsed(content(path));
    for (const pb::TensorProto& t : model.graph().initializer())
      if (t.data_location() == pb::TensorProto::EXTERNAL) {
        EXPECT_EQ(t.external_data(0).value(), "all.data");
        names.push_back(t.name() + "@" + t.external_data(1).value());
      }
    return names;
  };
  const Directory dir;
  const Written w = written(dir, ExternalData::automatic);
  EXPECT_EQ(w.data.bytes, 4096U) << "0.5, once; 0.25 and each model's own stay where they are";
  EXPECT_EQ(w.models.size(), 3U);
  EXPECT_EQ(external(dir / "1.onnx"), std::vector<std::string>{"w@0"});
  EXPECT_EQ(external(dir / "2.onnx"), std::vector<std::string>{"v@0"});
  EXPECT_TRUE(external(dir / "3.onnx").empty());
  const Directory whole;
  EXPECT_EQ(written(whole, ExternalData::never).data.bytes, 0U);
  EXPECT_EQ(whole.files(), (std::vector<std::string>{"1.onnx", "2.onnx", "3.onnx"}));
  const Directory outside;
  EXPECT_EQ(written(outside, ExternalData::always).data.bytes, 4096U + 2048 + 2560 + 4096 + 2800) << "each once";
  EXPECT_EQ(external(outside / "3.onnx").size(), 2U);
}

// 3 GB that take no memory.
class Huge final : public Storage {
 public:
  std::size_t size() const override { return std::size_t{3} << 30; }
  Bytes bytes() override { fail(Code::internal, "nobody may ask for them"); }
};

TEST(Writer, RefusesWhatProtobufCannotHold) {
  const GraphPtr g = ir::parse_graph("graph { const %c: f32 = 1 %y: f32[*] = Relu(%c) output %y }");
  g->set_constant(g->constants()[0], std::make_shared<Tensor>(DType::u8, Ints{std::int64_t{3} << 30}, std::make_shared<Huge>()));
  const Directory dir;
  std::string bytes;
  EXPECT_THROW(write_bytes(model_of(g), at_opset(21), bytes), ConversionError);
  EXPECT_THROW(write_file(g, dir / "m.onnx", ExternalData::never), ConversionError);
  EXPECT_TRUE(dir.files().empty());
}

TEST(Writer, LeavesNothingWhenAWeightCannotBeRead) {
  const GraphPtr g = ir::parse_graph("graph { const %c: f32 = 1 %y: f32[*] = Relu(%c) output %y }");
  const auto broken = computed_storage(4000, [](auto) { fail(Code::bad_file, "the checkpoint is gone"); });
  g->set_constant(g->constants()[0], std::make_shared<Tensor>(DType::f32, Ints{1000}, broken));
  const Directory dir;
  for (const ExternalData mode : {ExternalData::never, ExternalData::always})
    EXPECT_THROW(write_file(g, dir / "m.onnx", mode), ConversionError);
  EXPECT_TRUE(dir.files().empty());
}

TEST(Writer, TellsWhyAFileCannotBeWritten) {
  const Directory dir;
  const auto message = [&](const std::string& path, ExternalData mode = ExternalData::automatic) {
    try {
      write_file(sample(), path, mode);
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::output);
      return e.diagnostic().message;
    }
    return std::string("written");
  };
  EXPECT_EQ(message(dir / "no/m.onnx"), "cannot create '" + dir / "no/m.onnx" + "': No such file or directory");
  EXPECT_EQ(message(dir / ""), "cannot write '" + dir / "" + "': Is a directory");
  EXPECT_EQ(message("/dev/full"), "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(message("/dev/null"), "written");
  EXPECT_NE(message("/dev/null", ExternalData::always), "written");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(AtomicFile, IsThereAsAWholeOrNotAtAll) {
  const Directory dir;
  std::ofstream(dir / "f") << "old";
  const std::string big(1 << 20, 'x');
  {
    AtomicFile f(dir / "f");
    f.write(std::as_bytes(std::span(big)));
    EXPECT_EQ(content(dir / "f"), "old");
  }
  EXPECT_EQ(content(dir / "f"), "old");
  AtomicFile f(dir / "f");
  f.write(std::as_bytes(std::span("abc", 3)));
  f.write(std::as_bytes(std::span(big)));
  f.commit();
  EXPECT_EQ(content(dir / "f"), "abc" + big);
  EXPECT_EQ(dir.files(), std::vector<std::string>{"f"});
}

TEST(AtomicFile, PiecesOfAnySizeStayInOrder) {
  constexpr std::size_t kSizes[] = {1, 65535, 65536, 7, 262143, 1, 262144, 3, 65537, 200000, 62144, 3145729, 0, 130000, 1048576, 131071};
  const Directory dir;
  AtomicFile f(dir / "f");
  std::string expected;
  for (int round = 0; round < 3; ++round)
    for (const std::size_t size : kSizes) {
      std::string piece(size, '\0');
      for (std::size_t i = 0; i < size; ++i) piece[i] = static_cast<char>((expected.size() + i) * 2654435761U >> 13);
      f.write(std::as_bytes(std::span(piece)));
      expected += piece;
      ASSERT_EQ(f.size(), expected.size());
    }
  f.commit();
  EXPECT_TRUE(content(dir / "f") == expected);
}

TEST(AtomicFile, UnfinishedOnesCanBeRemoved) {
  const Directory dir;
  AtomicFile f(dir / "f");
  EXPECT_EQ(dir.files().size(), 1U);
  remove_unfinished();
  EXPECT_TRUE(dir.files().empty());
  EXPECT_THROW(f.commit(), ConversionError);
}

TEST(AtomicFile, ObeysTheUmask) {
  const Directory dir;
  const mode_t before = umask(027);
  AtomicFile f(dir / "f");
  f.commit();
  umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(dir / "f").permissions()), 0640U);
}

TEST(AtomicFile, KeepsLinksAndPermissions) {
  const Directory dir;
  fs::create_directory(dir / "inner");
  std::ofstream(dir / "inner/f") << "old";
  fs::permissions(dir / "inner/f", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("inner/f", dir / "link");
  AtomicFile f(dir / "link");
  f.write(std::as_bytes(std::span("new", 3)));
  f.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(content(dir / "inner/f"), "new");
  EXPECT_EQ(static_cast<unsigned>(fs::status(dir / "inner/f").permissions()), 0600U);
  fs::create_symlink("inner/not_yet", dir / "empty_link");
  AtomicFile g(dir / "empty_link");
  g.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "empty_link") && fs::exists(dir / "inner/not_yet"));
}

}  // namespace
}  // namespace t2o::onnx
