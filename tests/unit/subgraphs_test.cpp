#include "op_mappers/subgraphs.h"

#include <gtest/gtest.h>

#include "diagnostics.h"
#include "ir/text.h"

namespace t2o {
namespace {

class NoMapper : public SubgraphMapper {
  Values map(const ir::Graph&, const Values&, const std::vector<bool>&, ir::Graph&) override { return {}; }
};

// A context that map_ops did not make has no subgraphs, and is not taken for one that has.
TEST(SubgraphContext, OnlyWhatIsOne) {
  const GraphPtr g = ir::parse_graph("graph g onnx { input %x: f32[1] %y: f32[1] = Relu(%x) output %y }");
  const Target target;
  NoMapper mapper;
  SubgraphContext outer(*g->first(), {}, *g, target, mapper);
  {
    SubgraphContext inner(*g->first(), {}, *g, target, mapper);
    EXPECT_EQ(&SubgraphContext::of(inner), &inner);
    EXPECT_EQ(&SubgraphContext::of(outer), &outer);
    MapperContext plain(*g->first(), {}, *g, target);
    EXPECT_THROW(SubgraphContext::of(plain), ConversionError);
  }
  EXPECT_EQ(&SubgraphContext::of(outer), &outer);
}

}  // namespace
}  // namespace t2o
