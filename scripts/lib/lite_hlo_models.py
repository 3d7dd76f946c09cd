"""Models of StableHLO's operators, and of the operators that are like them."""
import numpy as np
from flatbuffers import flexbuffers

from lite_file import File, options
from lite_models import model, numbers


def simple(builtin, ins, out, opts=None, dtype="float32", out_dtype=None):
    """A model of one operator; `ins` has shapes of inputs, or arrays for constants."""
    f = File()
    g = f.graph()
    i = [g.input(f"x{k}", v, dtype) if isinstance(v, tuple) else g.const(v, v.dtype) for k, v in enumerate(ins)]
    y = g.tensor("y", out, out_dtype or dtype)
    g.op(builtin, i, [y], opts)
    g.outputs(y)
    return f, g


def computation(f, name, fill, inputs=2, dtype="float32"):
    """The number of a subgraph of scalars."""
    g = f.graph(name)
    x = [g.input(f"{name}{k}", (), dtype) for k in range(inputs)]
    g.outputs(*fill(g, x))
    return len(f.m.subgraphs) - 1


def apply(builtin, opts=None, dtype="float32", order=(0, 1)):
    def fill(g, x):
        return [g.op(builtin, [x[k] for k in order], [g.tensor(f"r{len(g.g.tensors)}", (), dtype)], opts)]
    return fill


ADD = apply("STABLEHLO_ADD")


@model
def hlo_elementwise():
    f = File()
    g = f.graph()
    a, b = g.input("a", (2, 3)), g.input("b", (2, 3))
    ys = []

    def op(builtin, inputs, opts=None, dtype="float32"):
        ys.append(g.op(builtin, inputs, [g.tensor(builtin.lower() + str(len(ys)), (2, 3), dtype)], opts))
        return ys[-1]
    for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM", "SUBTRACT", "DIVIDE"):
        op("STABLEHLO_" + name, [a, b])
    for name in ("ABS", "NEGATE", "COSINE", "EXPONENTIAL", "FLOOR", "TANH", "LOGISTIC", "CBRT"):
        op("STABLEHLO_" + name, [a])
    less = op("STABLEHLO_COMPARE", [a, b], options("StablehloCompareOptions", comparisonDirection=5), "bool")
    op("STABLEHLO_SELECT", [less, a, b])
    op("STABLEHLO_CLAMP", [g.const(-0.5), a, g.const(0.5)])
    i = op("STABLEHLO_CONVERT", [a], None, "int32")
    j = g.const([[1, 2, 3], [1, 2, 3]], "int32")
    for name in ("SHIFT_LEFT", "AND", "OR", "REMAINDER"):
        op("STABLEHLO_" + name, [i, j], None, "int32")
    g.outputs(*ys)
    return f.bytes()


@model
def hlo_registered():
    """Those that the runtime has kernels for."""
    f = File()
    g = f.graph()
    a, b = g.input("a", (2, 3)), g.input("b", (2, 3))
    ys = [g.op("STABLEHLO_" + n, [a, b], [g.tensor(n, (2, 3))]) for n in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")]
    g.outputs(*ys)
    return f.bytes()


@model
def hlo_moves():
    f = File()
    g = f.graph()
    x = g.input("x", (2, 3))
    at = g.const(np.int32(1), "int32"), g.const(np.int32(5), "int32")
    ys = [g.op("STABLEHLO_RESHAPE", [x], [g.tensor("reshape", (3, 2))]),
          g.op("STABLEHLO_TRANSPOSE", [x], [g.tensor("transpose", (3, 2))], options("StablehloTransposeOptions", permutation=[1, 0])),
          g.op("STABLEHLO_CONCATENATE", [x, x], [g.tensor("concatenate", (2, 6))], options("StablehloConcatenateOptions", dimension=1)),
          g.op("STABLEHLO_BROADCAST_IN_DIM", [x], [g.tensor("broadcast", (2, 4, 3))], options("StablehloBroadcastInDimOptions", broadcastDimensions=[0, 2])),
          g.op("STABLEHLO_SLICE", [x], [g.tensor("slice", (1, 2))], options("StablehloSliceOptions", startIndices=[1, 0], limitIndices=[2, 3], strides=[1, 2])),
          g.op("STABLEHLO_IOTA", [], [g.tensor("iota", (2, 3), "int32")], options("StablehloIotaOptions", iotaDimension=1)),
          g.op("STABLEHLO_DYNAMIC_SLICE", [x, *at], [g.tensor("dynamic_slice", (1, 2))], options("StablehloDynamicSliceOptions", sliceSizes=[1, 2])),
          g.op("STABLEHLO_DYNAMIC_UPDATE_SLICE", [x, g.const([[7., 8.]]), *at], [g.tensor("dynamic_update_slice", (2, 3))])]
    g.outputs(*ys)
    return f.bytes()


@model
def hlo_pad():
    opts = options("StablehloPadOptions", edgePaddingLow=[1, -1], edgePaddingHigh=[0, 2], interiorPadding=[0, 1])
    f, g = simple("STABLEHLO_PAD", [(2, 3), np.float32(5)], (3, 6), opts)
    return f.bytes()


@model
def hlo_gather():
    opts = options("StablehloGatherOptions", offsetDims=[1], collapsedSliceDims=[0], startIndexMap=[0], indexVectorDim=1, sliceSizes=[1, 3])
    f, g = simple("STABLEHLO_GATHER", [(4, 3), np.array([[3], [0], [3]], "int64")], (3, 3), opts)
    return f.bytes()


@model
def hlo_scatter():
    opts = options("StablehloScatterOptions", updateWindowDims=[1], insertedWindowDims=[0], scatterDimsToOperandDims=[0], indexVectorDim=1, updateComputationSubgraphIndex=1)
    f, g = simple("STABLEHLO_SCATTER", [(4, 3), np.array([[3], [0]], "int64"), np.arange(6, dtype="float32").reshape(2, 3)], (4, 3), opts)
    computation(f, "add", ADD)
    return f.bytes()


@model
def hlo_reduce_window():
    opts = options("StablehloReduceWindowOptions", windowDimensions=[1, 2], windowStrides=[1, 2], baseDilations=[1, 1], windowDilations=[1, 1], padding=[0, 0, 1, 1], bodySubgraphIndex=1)
    f, g = simple("STABLEHLO_REDUCE_WINDOW", [(2, 6), np.float32(0)], (2, 4), opts)
    computation(f, "add", ADD)
    return f.bytes()


@model
def hlo_case():
    opts = options("StablehloCaseOptions", branchSubgraphIndices=[1, 2])
    f = File()
    g = f.graph()
    i, x, y = g.input("ids", (), "int32"), g.input("x", (2, 3)), g.tensor("y", (2, 3))
    g.op("STABLEHLO_CASE", [i, x], [y], opts)
    g.outputs(y)
    for k, name in enumerate(("TANH", "ABS")):
        b = f.graph(name)
        v = b.input("v" + name, (2, 3))
        b.outputs(b.op(name, [v], [b.tensor("w" + name, (2, 3))]))
    return f.bytes()


@model
def hlo_products():
    f = File()
    g, w = f.graph(), numbers("hlo_products")
    a, x = g.input("a", (2, 3, 4)), g.input("x", (1, 5, 5, 2))
    ys = [g.op("STABLEHLO_DOT_GENERAL", [a, g.const(w(2, 4, 5))], [g.tensor("dot", (2, 3, 5))],
               options("StablehloDotGeneralOptions", lhsBatchingDimensions=[0], rhsBatchingDimensions=[0], lhsContractingDimensions=[2], rhsContractingDimensions=[1])),
          g.op("STABLEHLO_CONVOLUTION", [x, g.const(w(3, 3, 2, 4))], [g.tensor("conv", (1, 3, 3, 4))],
               options("StablehloConvolutionOptions", windowStrides=[2, 2], padding=[1, 1, 1, 1], lhsDilation=[1, 1], rhsDilation=[1, 1], inputBatchDimension=0, inputFeatureDimension=3,
                       inputSpatialDimensions=[1, 2], kernelInputFeatureDimension=2, kernelOutputFeatureDimension=3, kernelSpatialDimensions=[0, 1], outputBatchDimension=0,
                       outputFeatureDimension=3, outputSpatialDimensions=[1, 2], featureGroupCount=1, batchGroupCount=1))]
    g.outputs(*ys)
    return f.bytes()


@model
def hlo_reduce_sort():
    f = File()
    g = f.graph()
    x = g.input("x", (2, 6))
    ys = [g.op("STABLEHLO_REDUCE", [x, g.const(np.float32(-np.inf))], [g.tensor("reduce", (2,))], options("StablehloReduceOptions", dimensions=[1], bodySubgraphIndex=1)),
          g.op("STABLEHLO_SORT", [x], [g.tensor("sort", (2, 6))], options("StablehloSortOptions", dimension=1, isStable=True, comparatorSubgraphIndex=2))]
    g.outputs(*ys)
    computation(f, "max", apply("STABLEHLO_MAXIMUM"))
    computation(f, "less", apply("STABLEHLO_COMPARE", options("StablehloCompareOptions", comparisonDirection=5), "bool"))
    return f.bytes()


@model
def hlo_while():
    f = File()
    g = f.graph()
    x, n = g.input("x", (2,)), g.const(np.int32(0), "int32")
    ys = [g.tensor("y", (2,)), g.tensor("count", (), "int32")]
    g.op("STABLEHLO_WHILE", [x, n], ys, options("StablehloWhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2))
    g.outputs(*ys)
    c = f.graph("cond")
    v, k = c.input("cv", (2,)), c.input("ck", (), "int32")
    c.outputs(c.op("STABLEHLO_COMPARE", [k, c.const(np.int32(3), "int32")], [c.tensor("cr", (), "bool")], options("StablehloCompareOptions", comparisonDirection=5)))
    b = f.graph("body")
    v, k = b.input("bv", (2,)), b.input("bk", (), "int32")
    b.outputs(b.op("STABLEHLO_TANH", [v], [b.tensor("bt", (2,))]), b.op("STABLEHLO_ADD", [k, b.const(np.int32(1), "int32")], [b.tensor("bn", (), "int32")]))
    return f.bytes()


@model
def hlo_composite():
    f = File()
    g, w = f.graph(), numbers("hlo_composite")
    x, y = g.input("x", (2, 8)), g.tensor("y", (2, 8))
    g.op("STABLEHLO_COMPOSITE", [x, g.const(w(8))], [y], options("StableHLOCompositeOptions", name="odml.rms_norm", decompositionSubgraphIndex=1, version=1,
                                                                         compositeAttributes=list(flexbuffers.Dumps({"epsilon": 1e-6}))))
    g.outputs(y)
    d = f.graph("odml.rms_norm.impl")
    v, scale = d.input("v", (2, 8)), d.input("scale", (8,))
    t = lambda n, s=(2, 8): d.tensor(n, s)
    square = d.op("MUL", [v, v], [t("square")], options("MulOptions"))
    mean = d.op("MEAN", [square, d.const([1], "int32")], [t("mean", (2, 1))], options("ReducerOptions", keepDims=True))
    root = d.op("RSQRT", [d.op("ADD", [mean, d.const(np.float32(1e-6))], [t("sum", (2, 1))], options("AddOptions"))], [t("root", (2, 1))])
    d.outputs(d.op("MUL", [d.op("MUL", [v, root], [t("norm")], options("MulOptions")), scale], [t("scaled")], options("MulOptions")))
    return f.bytes()


@model
def dilate():
    f, g = simple("DILATE", [(2, 3), np.array([2, 3], "int32"), np.float32(-1)], (3, 7), options("DilateOptions"))
    return f.bytes()


@model
def reduce_window():
    ints = lambda *v: np.array(v, "int64")
    f, g = simple("REDUCE_WINDOW", [(2, 6), np.float32(1), ints(1, 2), ints(1, 2), ints(1, 3)], (2, 2), options("ReduceWindowOptions", reduceFunction=4))
    return f.bytes()
