#include "pipeline.h"

#include <gtest/gtest.h>

#include <thread>

#include "tf/text_proto.h"

namespace t2o {
namespace {

TEST(Pipeline, ConversionsRunSideBySide) {
  const std::string model = tf::graph_def_from_text(R"(
      node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 4 } } } } }
      node { name: 'half' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
      node { name: 'relu' op: 'Relu' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
      node { name: 'y' op: 'Mul' input: 'relu' input: 'half' attr { key: 'T' value { type: DT_FLOAT } } })",
                                                    "test");
  const auto converted = [&](std::size_t traced) {
    Options o;
    o.trace_match.assign(traced, "fuse_gelu");
    const Conversion c = convert(o, std::as_bytes(std::span(model)));
    std::string bytes;
    EXPECT_TRUE(c.ok());
    EXPECT_TRUE(!c.ok() || write_model(c, o, bytes).empty());
    return bytes;
  };
  const std::string expected = converted(0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(converted((i + k) % 4 * 100), expected);
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace t2o
