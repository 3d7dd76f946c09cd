#!/usr/bin/env python3
"""Writes the TensorFlow Lite models below tests/data/tflite of operators that TensorFlow's converter seldom or never makes: recurrent
layers in all of their forms, variables, StableHLO, custom operators. Needs tensorflow 2.21 and tf_keras.

    make_tflite_op_models.py [DIR [NAME...]]
"""
import os
import pathlib
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", TF_USE_LEGACY_KERAS="1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))

import numpy as np
from flatbuffers import flexbuffers

import lite_hlo_models  # noqa: F401  its models
from lite_file import File, options
from lite_models import MODELS, model, numbers
from lite_recurrent_models import lstm_inputs

TANH, RELU = 4, 1


# ------------------------------------------------------------------ variables

def saved(make, quantize=False):
    import shutil
    import tempfile
    import tensorflow as tf
    module, spec, step = make(tf)
    module.step = tf.function(step, input_signature=[spec])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder, signatures={"serving_default": module.step})
    c = tf.lite.TFLiteConverter.from_saved_model(folder)
    if quantize:
        rng = np.random.default_rng(3)
        c.optimizations = [tf.lite.Optimize.DEFAULT]
        c.representative_dataset = lambda: ([rng.uniform(-2, 2, spec.shape).astype("float32")] for _ in range(16))
        c.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        c._experimental_variable_quantization = True
    data = c.convert()
    shutil.rmtree(folder)
    return data


@model
def variable_count():
    def make(tf):
        m = tf.Module()
        m.n = tf.Variable(tf.fill((4,), 3.))

        def step(x):
            before = m.n.read_value()
            m.n.assign_add(x)
            return {"y": m.n.read_value() * 2. - before}
        return m, tf.TensorSpec((4,), tf.float32, name="x"), step
    return saved(make)


def stream(quantize):
    def make(tf):
        m, w = tf.Module(), numbers("variable_stream")
        filter, m.past = tf.constant(w(3, 1, 4, 4)), tf.Variable(tf.zeros((1, 2, 1, 4)))

        def step(x):
            seen = tf.concat([m.past.read_value(), x], 1)
            m.past.assign(seen[:, 1:])
            return {"y": tf.nn.relu(tf.nn.conv2d(seen, filter, 1, "VALID"))}
        return m, tf.TensorSpec((1, 1, 1, 4), tf.float32, name="x"), step
    return saved(make, quantize)


@model
def variable_stream(): return stream(False)


@model
def variable_stream_int8(): return stream(True)


@model
def variable_loop():
    def make(tf):
        m = tf.Module()
        m.n = tf.Variable(tf.fill((2,), 3.))

        def step(x):
            i, y = tf.constant(0), x
            while i < 3:
                m.n.assign_add(y)
                y = y * 0.5 + m.n.read_value()
                i += 1
            return {"y": y, "n": m.n.read_value()}
        return m, tf.TensorSpec((2,), tf.float32, name="x"), step
    return saved(make)


@model
def variable_branch():
    def make(tf):
        m = tf.Module()
        m.n = tf.Variable(tf.fill((2,), 3.))

        def step(x):
            if tf.reduce_sum(x) > 0:
                m.n.assign_add(x)
                y = x * 2.
            else:
                y = x - m.n.read_value()
            return {"y": y, "n": m.n.read_value() + 1.}
        return m, tf.TensorSpec((2,), tf.float32, name="x"), step
    return saved(make)


@model
def variable_nested():
    """A branch in a loop changes one variable and reads another, which the loop changes."""
    def make(tf):
        m = tf.Module()
        m.n, m.k = tf.Variable(tf.fill((2,), 3.)), tf.Variable(1)

        def step(x):
            y = x
            while m.k < 4:
                if tf.reduce_sum(y) > 0:
                    m.n.assign(y - tf.cast(m.k, tf.float32))
                y = m.n * 0.5 - y
                m.k.assign_add(1)
            m.k.assign(1)
            return {"y": y, "n": m.n.read_value()}
        return m, tf.TensorSpec((2,), tf.float32, name="x"), step
    return saved(make)


@model
def variable_call():
    """A subgraph that changes the variable that it is given is called twice."""
    f = File()
    g, s, c = f.graph(), f.graph("start"), f.graph("change")
    handle = lambda g: g.op("VAR_HANDLE", [], [g.tensor("handle", (), "resource")], options("VarHandleOptions", container="", sharedName="n"))
    x = g.input("x", (2,))
    g.op("CALL_ONCE", [], [], options("CallOnceOptions", initSubgraphIndex=1))
    n, y, z = handle(g), g.tensor("y", (2,)), g.tensor("z", (2,))
    g.op("CALL", [n, x], [y], options("CallOptions", subgraph=2))
    g.op("CALL", [n, y], [z], options("CallOptions", subgraph=2))
    g.outputs(y, z)
    s.op("ASSIGN_VARIABLE", [handle(s), s.const([1, 2])], [])
    v, k = c.input("v", (), "resource"), c.input("k", (2,))
    c.op("ASSIGN_VARIABLE", [v, c.op("ADD", [c.op("READ_VARIABLE", [v], [c.tensor("old", (2,))]), k], [c.tensor("new", (2,))], options("AddOptions"))], [])
    c.outputs(c.op("MUL", [c.op("READ_VARIABLE", [v], [c.tensor("now", (2,))]), k], [c.tensor("product", (2,))], options("MulOptions")))
    return f.bytes()


@model
def lstm_in_loop():
    """The states of a layer in the body of a loop go on from round to round, and start anew in each run."""
    f = File()
    g, c, b, w = f.graph(), f.graph("cond"), f.graph("body"), numbers("lstm_in_loop")
    x, k, y = g.input("x", (1, 2, 3)), g.tensor("k", (), "int32"), g.tensor("y", (1, 2, 4))
    sums, same = g.const(np.zeros((1, 2, 4))), g.tensor("same", (1, 2, 3))
    g.op("WHILE", [g.const(np.int32(0), "int32"), x, sums], [k, same, y], options("WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2))
    g.outputs(y)
    i = c.input("ci", (), "int32")
    c.input("cx", (1, 2, 3)), c.input("cs", (1, 2, 4))
    c.outputs(c.op("LESS", [i, c.const(np.int32(3), "int32")], [c.tensor("more", (), "bool")]))
    i, x, s = b.input("bi", (), "int32"), b.input("bx", (1, 2, 3)), b.input("bs", (1, 2, 4))
    h = b.op("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm_inputs(b, w, x, 3, 4), [b.tensor("hidden", (1, 2, 4))],
             options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=TANH, timeMajor=True))
    b.outputs(b.op("ADD", [i, b.const(np.int32(1), "int32")], [b.tensor("bn", (), "int32")], options("AddOptions")), x,
              b.op("ADD", [s, h], [b.tensor("sum", (1, 2, 4))], options("AddOptions")))
    return f.bytes()


def hybrid_loop(rows, symmetric=False):
    """A layer of floats with 8-bit weights whose results are its next inputs: LiteRT rounds these to 8 bits, and differences grow."""
    f = File()
    g, c, b, w = f.graph(), f.graph("cond"), f.graph("body"), numbers("hybrid_loop")
    x, k, y = g.input("x", (rows, 8)), g.tensor("k", (), "int32"), g.tensor("y", (rows, 8))
    g.op("WHILE", [g.const(np.int32(0), "int32"), x], [k, y], options("WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2))
    g.outputs(y)
    i = c.input("ci", (), "int32")
    c.input("cx", (rows, 8))
    c.outputs(c.op("LESS", [i, c.const(np.int32(6), "int32")], [c.tensor("more", (), "bool")]))
    i, h = b.input("bi", (), "int32"), b.input("bh", (rows, 8))
    weights = b.const(w(8, 8, scale=40).round().clip(-127, 127), "int8", scale=0.02)
    z = b.op("FULLY_CONNECTED", [h, weights, -1], [b.tensor("z", (rows, 8))],
             options("FullyConnectedOptions", asymmetricQuantizeInputs=not symmetric))
    b.outputs(b.op("ADD", [i, b.const(np.int32(1), "int32")], [b.tensor("bn", (), "int32")], options("AddOptions")),
              b.op("TANH", [z], [b.tensor("next", (rows, 8))]))
    return f.bytes()


@model
def hybrid_loop_one_row(): return hybrid_loop(1)


@model
def hybrid_loop_symmetric(): return hybrid_loop(1, symmetric=True)


@model
def hybrid_loop_open(): return hybrid_loop(None)


@model
def hybrid_loop_rows(): return hybrid_loop(5)


@model
def lstm_in_branch():
    """The states of a layer in a branch start anew in each run."""
    f = File()
    g, a, b, w = f.graph(), f.graph("then"), f.graph("else"), numbers("lstm_in_branch")
    p, x, y = g.input("p", (), "bool"), g.input("x", (1, 2, 3)), g.tensor("y", (1, 2, 4))
    g.op("IF", [p, x], [y], options("IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2))
    g.outputs(y)
    for branch, k in ((a, 0), (b, 1)):
        x = branch.input(f"x{k}", (1, 2, 3))
        branch.outputs(branch.op("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm_inputs(branch, w, x, 3, 4), [branch.tensor(f"hidden{k}", (1, 2, 4))],
                                 options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=TANH, timeMajor=True)))
    return f.bytes()


# ------------------------------------------------------------------ tables

@model
def embedding_sparse():
    f = File()
    g, w = f.graph(), numbers("embedding_sparse")
    ids, at = g.input("ids", (4,), "int32"), g.const([[0, 0], [0, 1], [2, 0], [2, 1]], "int32")
    ys = []
    for k, name in enumerate(("sum", "mean", "sqrtn")):
        y = g.tensor(name, (3, 3, 2))
        g.op("EMBEDDING_LOOKUP_SPARSE", [ids, at, g.const([3, 2], "int32"), g.const([1, 2, 0.5, 4]), g.const(w(5, 3, 2))], [y], options("EmbeddingLookupSparseOptions", combiner=k))
        ys.append(y)
    g.outputs(*ys)
    return f.bytes()


@model
def hashtable_lookup():
    f = File()
    g, w = f.graph(), numbers("hashtable_lookup")
    ids = g.input("ids", (4,), "int32")
    y, hits = g.tensor("y", (4, 2)), g.tensor("hits", (4,), "uint8")
    g.op("HASHTABLE_LOOKUP", [ids, g.const([-1, 0, 2], "int32"), g.const(w(3, 2))], [y, hits])
    g.outputs(y, hits)
    return f.bytes()


def table(tf, keys, values, default):
    m = tf.Module()
    init = tf.lookup.KeyValueTensorInitializer(tf.constant(np.array(keys)), tf.constant(np.array(values)))
    m.table = tf.lookup.StaticHashTable(init, default)

    def step(x):
        return {"y": m.table.lookup(x), "n": m.table.size() + tf.cast(tf.size(x), tf.int64)}
    return m, tf.TensorSpec((2, None), tf.string if isinstance(keys[0], str) else tf.int64, name="x"), step


@model
def table_by_text(): return saved(lambda tf: table(tf, ["cat", "b", "Dog"], [7, 8, -9], np.int64(-1)))


@model
def table_of_text(): return saved(lambda tf: table(tf, [1, 2, 9], ["one", "", "nine"], "none"))


# ------------------------------------------------------------------ weights in another file

@model
def weights_beside():
    f = File()
    f.weights_name = "weights_beside.bin"
    g, w = f.graph(), numbers("weights_beside")
    x, h, y = g.input("x", (2, 8)), g.tensor("h", (2, 16)), g.tensor("y", (2, 4))
    g.op("FULLY_CONNECTED", [x, g.const(w(16, 8), beside=True), g.const(w(16))], [h], options("FullyConnectedOptions", fusedActivationFunction=RELU))
    g.op("FULLY_CONNECTED", [h, g.const(w(4, 16), beside=True), -1], [y], options("FullyConnectedOptions"))
    g.outputs(y)
    return f.bytes(), f


@model
def weights_of_operators():
    """Operators compute the weights; the file states no sizes of what they compute."""
    f = File()
    g, w = f.graph(), numbers("weights_of_operators")
    x, image = g.input("x", (2, 3, 8)), g.input("image", (2, 6, 6, 4))
    fake = lambda of: g.op("FAKE_QUANT", [of], [g.tensor("", ())], options("FakeQuantOptions", min=-1.5, max=1.5, numBits=8))
    codes = g.const(w(4, 8, scale=40).round().clip(-127, 127), "int8", scale=0.02)
    dense = fake(g.op("DEQUANTIZE", [codes], [g.tensor("", ())]))
    a = g.op("FULLY_CONNECTED", [x, dense, -1], [g.tensor("a", (6, 4))], options("FullyConnectedOptions"))
    b = g.op("FULLY_CONNECTED", [x, dense, -1], [g.tensor("b", (2, 3, 4))], options("FullyConnectedOptions", keepNumDims=True))
    total = g.op("ADD", [g.const(w(5, 8)), g.const(w(5, 8))], [g.tensor("", ())], options("AddOptions"))
    c = g.op("FULLY_CONNECTED", [x, total, g.const(w(5))], [g.tensor("c", (6, 5))], options("FullyConnectedOptions"))
    window = dict(padding=0, strideH=1, strideW=1)
    d = g.op("DEPTHWISE_CONV_2D", [image, fake(g.const(w(1, 3, 3, 8))), g.const(w(8))], [g.tensor("d", (2, 6, 6, 8))],
             options("DepthwiseConv2DOptions", depthMultiplier=2, dilationHFactor=1, dilationWFactor=1, **window))
    e = g.op("CONV_2D", [image, fake(g.const(w(5, 3, 3, 4))), g.const(w(5))], [g.tensor("e", (2, 6, 6, 5))],
             options("Conv2DOptions", dilationHFactor=1, dilationWFactor=1, **window))
    h = g.op("TRANSPOSE_CONV", [g.const([2, 6, 6, 5], "int32"), fake(g.const(w(5, 3, 3, 4))), image, -1], [g.tensor("h", (2, 6, 6, 5))],
             options("TransposeConvOptions", **window))
    p = g.op("BATCH_MATMUL", [x, fake(g.const(w(8, 3)))], [g.tensor("p", (2, 3, 3))], options("BatchMatMulOptions"))
    trained = []
    for dtype, scale, zero in [("uint8", 0.02, 120), ("int8", 0.01, -3)]:
        byte = g.op("QUANTIZE", [g.const(w(4, 8))], [g.tensor("", (), dtype, scale=scale, zero_point=zero)])
        rounded = g.op("DEQUANTIZE", [byte], [g.tensor("", ())])
        trained.append(g.op("FULLY_CONNECTED", [x, rounded, -1], [g.tensor(f"{dtype}_rounded", (6, 4))], options("FullyConnectedOptions")))
    g.outputs(a, b, c, d, e, h, p, *trained)
    return f.bytes()


# ------------------------------------------------------------------ custom operators

def custom(name, ins, outs, opts):
    f = File()
    g = f.graph()
    i = [g.input(f"x{k}", v) if isinstance(v, tuple) else g.const(v) for k, v in enumerate(ins)]
    ys = [g.tensor(f"y{k}", s) for k, s in enumerate(outs)]
    g.op("CUSTOM", i, ys, custom=name, custom_options=opts if isinstance(opts, bytes) else flexbuffers.Dumps(opts))
    g.outputs(*ys)
    return f.bytes()


def detection(classes_per_detection, regular, background=1):
    w = numbers("detection")
    side = np.stack(np.meshgrid(np.linspace(.1, .9, 4), np.linspace(.1, .9, 4)), -1).reshape(16, 2).astype("float32")
    anchors = np.concatenate([side, np.full((16, 2), .4, "float32")], 1)
    n = 6 * classes_per_detection if not regular else 6
    return custom("TFLite_Detection_PostProcess", [(1, 16, 4), (1, 16, 3 + background), anchors], [(1, n, 4), (1, n), (1, n), (1,)],
                  {"max_detections": 6, "max_classes_per_detection": classes_per_detection, "detections_per_class": 4, "use_regular_nms": regular, "nms_score_threshold": 0.0,
                   "nms_iou_threshold": 0.5, "num_classes": 3, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0})


@model
def detection_fast(): return detection(1, False)


@model
def detection_classes(): return detection(2, False, 0)


@model
def detection_regular(): return detection(1, True)


def struct(*v): return np.array(v, "int32").tobytes()


@model
def custom_pool(): return custom("MaxPoolingWithArgmax2D", [(1, 5, 6, 2)], [(1, 3, 3, 2)] * 2, struct(1, 2, 2, 2, 2, 0, 0, 0, 0, 0))


@model
def custom_unpool():
    return custom("MaxUnpooling2D", [(1, 2, 3, 2), np.array([0, 1, 2, 3, 0, 1, 2, 3, 3, 3, 0, 0], "float32").reshape(1, 2, 3, 2) + .1], [(1, 4, 6, 2)], struct(1, 2, 2, 2, 2, 0, 0, 0, 0, 0))


@model
def custom_transpose_conv():
    w = numbers("custom_transpose_conv")
    return custom("Convolution2DTransposeBias", [(1, 4, 4, 3), w(5, 2, 2, 3), w(5)], [(1, 8, 8, 5)], struct(1, 2, 2))


@model
def custom_landmarks():
    f = File()
    g = f.graph()
    x, image = g.input("x", (1, 6, 3)), g.input("image", (1, 8, 9, 2))
    m, crop, y = g.tensor("matrix", (1, 4, 4)), g.tensor("crop", (1, 3, 4, 2)), g.tensor("points", (1, 6, 3))
    g.op("CUSTOM", [x], [m], custom="Landmarks2TransformMatrix", custom_options=flexbuffers.Dumps(
        {"subset_idxs": [0, 1, 2, 3, 5], "left_rotation_idx": 1, "right_rotation_idx": 4, "target_rotation_radians": 0.25, "output_height": 3, "output_width": 4, "scale_x": 1.5, "scale_y": 1.25}))
    g.op("CUSTOM", [image, m], [crop], custom="TransformTensorBilinear", custom_options=flexbuffers.Dumps({"output_height": 3, "output_width": 4}))
    g.op("CUSTOM", [x, m], [y], custom="TransformLandmarks", custom_options=flexbuffers.Dumps({}))
    g.outputs(m, crop, y)
    return f.bytes()


@model
def custom_unknown(): return custom("Sharpen", [(2, 3)], [(2, 3)], {"amount": 3})


# ------------------------------------------------------------------ forms of published networks

@model
def prelu():
    f = File()
    g, w = f.graph(), numbers("prelu")
    x = g.input("x", (1, 16, 16, 3))
    a = g.tensor("a", (1, 14, 14, 4))
    g.op("CONV_2D", [x, g.const(w(4, 3, 3, 3)), g.const(w(4))], [a], options("Conv2DOptions", padding=1, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1))
    b = g.op("PRELU", [a, g.const(w(1, 1, 4))], [g.tensor("b", (1, 14, 14, 4))])
    g.outputs(g.op("PRELU", [b, g.const(np.abs(w(1, 1, 4)) % 1)], [g.tensor("y", (1, 14, 14, 4))]))
    return f.bytes()


@model
def old_weights():
    """8-bit weights as the first tool made them: i8 codes in tensors of type u8, where a layer reads them; u8 codes before DEQUANTIZE."""
    f = File()
    g, rng = f.graph(), np.random.default_rng(3)
    w = lambda *shape, **q: g.const(rng.integers(0, 256, shape), "uint8", **q)
    x = g.input("x", (1, 8, 8, 3))
    a, y = g.tensor("a", (1, 6, 6, 4)), g.tensor("y", (1, 4, 4, 4))
    windows = dict(padding=1, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1)
    g.op("CONV_2D", [x, w(4, 3, 3, 3, scale=0.01), g.const(np.zeros(4))], [a], options("Conv2DOptions", **windows))
    kernel = g.op("DEQUANTIZE", [w(1, 3, 3, 4, scale=0.02, zero_point=120)], [g.tensor("kernel", (1, 3, 3, 4))])
    g.op("DEPTHWISE_CONV_2D", [a, kernel, g.const(np.zeros(4))], [y], options("DepthwiseConv2DOptions", depthMultiplier=1, **windows))
    g.outputs(y)
    return f.bytes()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "tflite")
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        made = MODELS[name]()
        if isinstance(made, tuple):
            made, file = made
            (folder / file.weights_name).write_bytes(file.weights)
        (folder / f"{name}.tflite").write_bytes(made)


if __name__ == "__main__":
    main()
