#include <gtest/gtest.h>

#include "diagnostics.h"
#include "ir/text.h"
#include "op_mappers/apply.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/map_ops.h"

namespace t2o {
namespace {

// Loops in each other. Each begins with one row, and each round appends what the inner loop gives. "Count"
// stands once in each body.
std::string nest(int depth, const std::string& attrs = {}) {
  const std::string d = std::to_string(depth);
  const std::string inner = depth == 1 ? "%v0: f32[*] = Identity(%bv1) {T=f32}\n" : nest(depth - 1, attrs);
  return "%i" + d + ": i32[], %v" + d +
         ": f32[*] = StatelessWhile(const i32 = 0, const f32[1,3] = [1, 2, 3]) " +
         "{T=[i32, f32], output_shapes=[], parallel_iterations=10, cond=graph c" + d + " {\n input %ci" + d +
         ": i32[]\n input %cv" + d + ": f32[*]\n %c" + d + ": bool[] = Less(%ci" + d +
         ", const i32 = 3) {T=i32}\n output %c" + d + "\n}, body=graph b" + d + " {\n input %bi" + d +
         ": i32[]\n input %bv" + d + ": f32[*]\n" + inner + "%k" + d + ": f32[*] = Count(%v" +
         std::to_string(depth - 1) + ") {" + attrs + "}\n%r" + d + ": f32[*] = ConcatV2(%bv" + d + ", %k" +
         d + ", const i32 = 0) {N=2, T=f32, Tidx=i32}\n%n" + d + ": i32[] = AddV2(%bi" + d +
         ", const i32 = 1) {T=i32}\n output %n" + d + ", %r" + d + "\n}}\n";
}

// The types of loop variables only widen, and stay wide when the loop around is mapped again: the number of
// mappings is the square of the depth, not a power of it.
TEST(Walk, LoopsInLoopsSettleOnce) {
  const GraphPtr g = ir::parse_graph("graph g tf {\n" + nest(8) + "output %v8\n}");
  int mapped = 0;
  OpRegistry rows;
  rows.op("Count").by([&mapped](MapperContext& c) {
    ++mapped;
    return Values{c.identity(c.in(0))};
  });
  ConversionRegistry registry;
  registry.add_overlay(std::move(rows));
  Diagnostics diagnostics;
  const GraphPtr made = map_ops(*g, registry, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics[0].message;
  EXPECT_EQ(made->outputs().at(0)->shape(), Shape({kUnknownDim, 3}));
  EXPECT_LE(mapped, 80);
}

// A body that is mapped again is reported once.
TEST(Walk, NotesOfABodyStandOnce) {
  const GraphPtr g = ir::parse_graph("graph g tf {\n" + nest(3, "unknown=1") + "output %v3\n}");
  OpRegistry rows;
  rows.op("Count").by([](MapperContext& c) { return Values{c.identity(c.in(0))}; });
  ConversionRegistry registry;
  registry.add_overlay(std::move(rows));
  Diagnostics diagnostics;
  map_ops(*g, registry, diagnostics);
  EXPECT_EQ(diagnostics.size(), 3U);
  for (const Diagnostic& d : diagnostics) EXPECT_EQ(d.code, Code::attr_ignored);
}

// What a list holds is known though nobody knows the rank of its elements, as those of a custom op.
TEST(Walk, ListsOfElementsOfUnknownRank) {
  const GraphPtr g = ir::parse_graph(R"(graph g tf {
  input %x: f32[4,3]
  %from: variant[] = TensorListFromTensor(%x, const i32 = [3]) {element_dtype=f32, shape_type=i32}
  %to: variant[] = TensorListReserve(const i32 = -1, const i32 = 4) {element_dtype=f32, shape_type=i32}
  %i: i32[], %l: variant[] = StatelessWhile(const i32 = 0, %to) {T=[i32, variant], output_shapes=[], parallel_iterations=10, cond=graph cond {
    input %ci: i32[]
    input %cl: variant[]
    %c: bool[] = Less(%ci, const i32 = 4) {T=i32}
    output %c
  }, body=graph body {
    input %bi: i32[]
    input %bl: variant[]
    %e: f32[3] = TensorListGetItem(%from, %bi, const i32 = [3]) {element_dtype=f32}
    %k: f32[*] = Mystery(%e) {T=f32}
    %w: variant[] = TensorListSetItem(%bl, %bi, %k) {element_dtype=f32, resize_if_index_out_of_bounds=0}
    %bi2: i32[] = AddV2(%bi, const i32 = 1) {T=i32}
    output %bi2, %w
  }}
  %y: f32[*] = TensorListStack(%l, const i32 = -1) {element_dtype=f32, num_elements=4}
  output %y
})");
  Diagnostics diagnostics;
  ConversionRegistry registry;
  registry.add_overlay(custom_rows({"Mystery"}, diagnostics));
  const GraphPtr made = map_ops(*g, registry, diagnostics);
  EXPECT_FALSE(has_errors(diagnostics)) << diagnostics[0].message;
  EXPECT_FALSE(made->outputs().at(0)->shape().ranked());
}

// A mapper that works on graphs or lists cannot be applied to values: it would miss what they are.
TEST(Walk, MappersOfGraphsAreNotApplied) {
  const GraphPtr g = ir::parse_graph("graph g onnx { input %x: f32[1] %y: f32[1] = Relu(%x) output %y }");
  const Target target;
  MapperContext c(*g->first(), {}, *g, target);
  EXPECT_THROW(op_mappers::apply(c, "StatelessIf", {}), ConversionError);
  EXPECT_THROW(op_mappers::apply(c, "TensorListStack", {}), ConversionError);
}

}  // namespace
}  // namespace t2o
