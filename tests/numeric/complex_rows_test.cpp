#include <gtest/gtest.h>

#include "harness.h"
#include "old_ops.h"

// Rows that are made of those of real numbers, one part after the other.
namespace t2o::numeric {
namespace {

const DTypes complexes = {c64, c128};

TEST(ComplexRows, Diagonals) {
  const auto of = [](const char* op, Ints dims) {
    return op_case(op).in(any, std::move(dims)).dtypes(complexes);
  };
  of("MatrixDiag", {2, 3}).check();
  of("MatrixDiagPart", {2, 3, 4}).check();
  of("MatrixSetDiag", {2, 3, 4}).in(any, {2, 3}).check();
  of("MatrixBandPart", {2, 4, 5}).scalar<std::int64_t>(1).scalar<std::int64_t>(-1).check();
  of("MatrixBandPart", {4, 3}).scalar<std::int32_t>(0, fed).scalar<std::int32_t>(2, fed).check();
  of("Diag", {3}).check();
  of("Diag", {2, 3}).check();
  of("DiagPart", {2, 3, 2, 3}).check();
  for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"})
    of(op, {2, 3})
        .scalar<std::int32_t>(1)
        .scalar<std::int32_t>(-1)
        .scalar<std::int32_t>(5)
        .in(any, {}, constant)
        .check();
  for (const char* op : {"MatrixDiagPartV2", "MatrixDiagPartV3"}) {
    of(op, {2, 3, 5}).scalar<std::int32_t>(1).in(any, {}, constant).check();
    of(op, {3, 5}).i32s({-1, 1}).in(any, {}).check();
  }
  for (const char* op : {"MatrixSetDiagV2", "MatrixSetDiagV3"})
    of(op, {2, 3, 4}).in(any, {2, 2}).scalar<std::int32_t>(-1).check();
}

TEST(ComplexRows, MeansOfNothing) {
  for (const Ints& dims : std::vector<Ints>{{0, 3}, {2, 0}})
    for (const std::int32_t axis : {0, 1}) op_case("Mean").in(any, dims).i32s({axis}).dtypes(complexes).check();
}

TEST(ComplexRows, Padded) {
  for (const char* mode : {"REFLECT", "SYMMETRIC"})
    op_case("MirrorPad")
        .in(any, {3, 4})
        .values<std::int32_t>({2, 2}, {1, 2, 0, 1}, constant)
        .attr("mode", mode)
        .dtypes(complexes)
        .check();
  op_case("OneHot")
      .values<std::int32_t>({2, 3}, {-1, 0, 2, 3, 1, 1})
      .scalar<std::int32_t>(3)
      .in(any, {})
      .in(any, {})
      .dtypes(complexes)
      .check();
  op_case("OneHot")
      .i32s({1, 0}, fed)
      .scalar<std::int32_t>(2)
      .in(c64, {}, constant)
      .in(c64, {}, constant)
      .attr("axis", 0)
      .check();
  op_case("Empty").i32s({2, 3}).attr("dtype", c64).attr("init", true).check();
  op_case("Empty").i32s({2, 3}, fed).attr("dtype", c128).attr("init", true).check();
}

TEST(ComplexRows, Ordered) {
  op_case("Concat")
      .scalar<std::int32_t>(-1)
      .in(any, {2, 3})
      .in(any, {2, 2})
      .as_list(2)
      .dtypes(complexes)
      .check();
  op_case("ParallelConcat")
      .in(any, {1, 3})
      .in(any, {1, 3})
      .as_list(2)
      .attr("shape", Shape({2, 3}))
      .dtypes(complexes)
      .only_opsets({11, 21})
      .without({Mode::batch, Mode::dims, Mode::rank})
      .check();
  op_case("Gather").in(any, {4, 3}).i32s({2, 0, 3}, fed).dtypes(complexes).check();
  op_case("ReverseSequence")
      .in(any, {2, 4, 3})
      .i32s({3, 1}, fed)
      .attr("seq_dim", 1)
      .attr("batch_dim", 0)
      .dtypes(complexes)
      .without({Mode::rank})
      .check();
  op_case("DepthToSpace").in(any, {1, 2, 3, 8}).attr("block_size", 2).dtypes(complexes).check();
  op_case("SpaceToDepth").in(any, {1, 4, 6, 3}).attr("block_size", 2).dtypes(complexes).check();
}

TEST(ComplexRows, Partitioned) {
  op_case("DynamicPartition")
      .in(any, {5, 2})
      .i32s({0, 2, 0, 1, 2}, fed)
      .attr("num_partitions", 4)
      .dtypes(complexes)
      .check();
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    const auto stitched = [&](Kind kind) {
      return op_case(op)
          .i32s({0, 3}, kind)
          .i32s({2, 1}, kind)
          .as_list(2)
          .in(any, {2, 3})
          .in(any, {2, 3})
          .as_list(2)
          .dtypes(complexes);
    };
    stitched(constant).check();
    stitched(fed).check();
  }
}

TEST(ComplexRows, Scattered) {
  op_case("ScatterNd")
      .values<std::int32_t>({3, 1}, {0, 0, 2})
      .in(any, {3, 2})
      .i32s({4, 2})
      .dtypes(complexes)
      .check();
  op_case("ScatterNd")
      .values<std::int32_t>({2, 2}, {0, 1, 2, 0})
      .in(any, {2})
      .i32s({3, 2}, fed)
      .dtypes(complexes)
      .check();
  for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd"})
    op_case(op)
        .in(any, {4, 2})
        .values<std::int32_t>({3, 1}, {1, 1, 3})
        .in(any, {3, 2})
        .dtypes(complexes)
        .check();
  op_case("TensorScatterUpdate")
      .in(any, {4, 2})
      .values<std::int32_t>({2, 1}, {1, 3})
      .in(any, {2, 2})
      .dtypes(complexes)
      .check();
}

TEST(ComplexRows, Segments) {
  for (const char* op : {"SegmentSum", "SegmentMean"})
    op_case(op).in(any, {5, 3}).i32s({1, 1, 1, 4, 4}, fed).dtypes(complexes).check();
  op_case("UnsortedSegmentSum")
      .in(any, {5, 3})
      .i32s({3, -1, 0, 3, 1}, fed)
      .scalar<std::int32_t>(5)
      .dtypes(complexes)
      .check();
}

TEST(ComplexRows, Added) {
  op_case("BiasAddV1").in(any, {2, 3, 4}).in(any, {4}).dtypes(complexes).check();
  for (const char* layout : {"NHWC", "NCHW"})
    op_case("BiasAdd")
        .in(any, {2, 3, 4, 3})
        .in(any, {3})
        .attr("data_format", layout)
        .dtypes(complexes)
        .check();
}

// TensorFlow makes TemporaryVariables of it, for which it wants to know the shapes.
TEST(ComplexRows, Accumulated) {
  op_case("AccumulateNV2")
      .in(any, {2, 3})
      .in(any, {2, 3})
      .in(any, {2, 3})
      .as_list(3)
      .attr("shape", Shape({2, 3}))
      .dtypes(complexes)
      .without({Mode::batch, Mode::dims, Mode::rank})
      .check();
}

// TensorFlow has no kernels of complex numbers for these: each part is compared with what a kernel makes of
// it alone.
TEST(ComplexRows, SpaceAndBatch) {
  verify::Random random(7);
  const engines::Feeds feeds = {{"re", verify::random_tensor(f32, {4, 4, 6, 3}, random, {})},
                                {"im", verify::random_tensor(f32, {4, 4, 6, 3}, random, {})}};
  for (const std::string op : {"SpaceToBatch", "SpaceToBatchND", "BatchToSpace", "BatchToSpaceND"})
    for (const bool real : {true, false}) {
      const auto graph_of = [&](bool is_complex) {
        engines::TfGraph g;
        const Shape shape({4, 4, 6, 3});
        const std::string re = g.placeholder("re", f32, shape), im = g.placeholder("im", f32, shape);
        const std::string block = g.constant("block", Tensor::of<std::int32_t>({2}, {2, 2}));
        const std::string borders = g.constant("borders", Tensor::of<std::int32_t>({2, 2}, {1, 1, 2, 0}));
        std::string x =
            is_complex ? g.add({"Complex", "z", {re, im}}) : g.add({"Identity", "part", {real ? re : im}});
        x = op.ends_with("ND") ? g.add({op, "moved", {x, block, borders}})
                               : g.add({op, "moved", {x, borders}, {{"block_size", 2}}});
        g.add({!is_complex ? "Identity" : real ? "Real" : "Imag", "y", {x}});
        return g;
      };
      check_against(graph_of(false), graph_of(true), feeds, {11, 18, 21});
    }
}

TEST(ComplexRows, MirrorPadGrad) {
  op_case("MirrorPadGrad").in(any, {6, 5}).values<std::int32_t>({2, 2}, {1, 2, 0, 2}, constant).attr("mode", "REFLECT").dtypes(complexes).check();
}

TEST(ComplexRows, Batch) {
  constexpr char kLast = 13;  // the last version that had them
  old_case("BatchMatrixDiag", kLast, {{c64, {2, 3}}}).check();
  old_case("BatchMatrixDiagPart", kLast, {{c64, {2, 3, 3}}}).check();
  old_case("BatchMatrixSetDiag", kLast, {{c64, {2, 3, 3}}, {c64, {2, 3}}}).check();
  graph_case("BatchMatrixBandPart", [](Builder& b) {
    of_version(b.graph(), kLast);
    const std::string x = b.input(c64, {2, 4, 5});
    b.output(b.op("BatchMatrixBandPart", {x, b.const_input(Tensor::scalar<std::int64_t>(1)), b.const_input(Tensor::scalar<std::int64_t>(-1))}));
  }).check();
}

TEST(ComplexRows, InPlace) {
  for (const char* op : {"InplaceUpdate", "InplaceAdd", "InplaceSub"})
    op_case(op).in(any, {4, 3}).i32s({2, 0}, fed).in(any, {2, 3}).dtypes(complexes).only_opsets({11, 16, 18}).check();
}

TEST(ComplexRows, Sparse) {
  const auto at = [](const char* op, Ints dims, const Ints& where) { return op_case(op).values<std::int64_t>(std::move(dims), where); };
  at("SparseToDense", {3, 2}, {0, 1, 1, 2, 2, 0}).ints({3, 4}).in(c64, {3}).in(c64, {}).check();
  at("SparseReorder", {4, 2}, {1, 1, 0, 2, 1, 0, 0, 2}).in(c64, {4}).ints({2, 3}, fed).check();
  at("SparseSlice", {3, 2}, {0, 1, 1, 2, 2, 0}).in(c64, {3}).ints({3, 4}, fed).ints({1, 0}, fed).ints({5, 2}, fed).check();
  at("SparseFillEmptyRows", {4, 2}, {3, 1, 0, 2, 3, 0, 0, 1}).in(c64, {4}).ints({5, 4}, fed).in(c64, {}).check();
  at("SparseReduceSum", {4, 3}, {0, 1, 0, 0, 2, 1, 2, 1, 0, 2, 1, 1}).in(c64, {4}).ints({3, 4, 2}).i32s({1}).attr("keep_dims", true).check();
  at("SparseTensorDenseAdd", {2, 1}, {0, 1}).in(c64, {2}).ints({3}).in(c64, {3}).check();
  op_case("SparseSplit").scalar<std::int64_t>(1).values<std::int64_t>({4, 2}, {0, 1, 1, 2, 1, 4, 4, 6}).in(c64, {4}).ints({5, 7}, fed)
      .attr("num_split", std::int64_t{3}).check();
  at("SparseConcat", {2, 2}, {0, 1, 1, 2}).values<std::int64_t>({2, 2}, {0, 0, 1, 0}).as_list(2).in(c64, {2}).in(c64, {2}).as_list(2)
      .ints({2, 3}, fed).ints({4, 3}).as_list(2).attr("concat_dim", std::int64_t{0}).check();
}

TEST(ComplexRows, Others) {
  op_case("GuaranteeConst").in(c64, {2, 3}).check();
  op_case("BiasAddGrad").in(c64, {2, 3, 4, 5}).check();
  op_case("RaggedGather").ints({0, 2, 2, 5}, fed).as_list(1).in(c64, {5}).values<std::int32_t>({4}, {2, 1, 0, 2}).attr("OUTPUT_RAGGED_RANK", std::int64_t{1}).check();
  op_case("RaggedTensorToSparse").ints({0, 2, 2, 5}, fed).as_list(1).in(c64, {5}).check();
  op_case("RaggedTensorToTensor").ints({-1, 2}).in(c64, {5}).in(c64, {}).ints({0, 2, 2, 5}, fed).as_list(1).attr("row_partition_types", Strings{"ROW_SPLITS"}).check();
  op_case("RaggedFillEmptyRows").ints({0, 0, 3}, fed).in(c64, {3}).scalar<std::int64_t>(5).in(c64, {}).check();
  op_case("ExtractImagePatches").in(c64, {2, 5, 6, 3}).attr("ksizes", Ints{1, 3, 2, 1}).attr("strides", Ints{1, 2, 1, 1}).attr("rates", Ints{1, 1, 2, 1})
      .attr("padding", "SAME").check();
}

}  // namespace
}  // namespace t2o::numeric
