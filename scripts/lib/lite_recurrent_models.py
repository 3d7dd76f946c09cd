"""Models of recurrent layers in all of their forms, for make_tflite_op_models.py."""
import numpy as np

from lite_file import File, options
from lite_models import model, numbers

TANH, RELU, RELU6, NONE = 4, 1, 3, 0


def lstm_inputs(g, w, x, features, units, outputs=None, cifg=False, peephole=False, projection=False, norm=False, batch=2, diagonal=False,
                const=None):
    """The 24 inputs of an LSTM; `const` makes a constant of numbers."""
    const = const or (lambda v: g.const(v))
    outputs = outputs or units
    some = lambda yes, *shape: const(w(*shape)) if yes else -1
    i = [x] + [some(not cifg or k > 0, units, features) for k in range(4)]
    i += [some(not cifg or k > 0, units) if diagonal else some(not cifg or k > 0, units, outputs) for k in range(4)]
    i += [some(peephole and (not cifg or k > 0), units) for k in range(3)]
    i += [g.const(w(units)) if not cifg or k > 0 else -1 for k in range(4)]
    i += [some(projection, outputs, units), g.const(w(outputs)) if projection else -1]
    i += [g.tensor("h", (batch, outputs), variable=True), g.tensor("c", (batch, units), variable=True)]
    return i + [g.const(1 + w(units, scale=0.1)) if norm and (not cifg or k > 0) else -1 for k in range(4)]


def lstm_file(name, steps=3, batch=2, cell_clip=0., proj_clip=0., time_major=True, activation=TANH, outputs=None, **form):
    f = File()
    g, w = f.graph(), numbers(name)
    x = g.input("x", (steps, batch, 3) if time_major else (batch, steps, 3))
    n = outputs or 4
    y = g.tensor("y", (steps, batch, n) if time_major else (batch, steps, n))
    i = lstm_inputs(g, w, x, 3, 4, n, batch=batch, **form)
    g.op("UNIDIRECTIONAL_SEQUENCE_LSTM", i, [y], options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=activation, cellClip=cell_clip, projClip=proj_clip,
                                                         timeMajor=time_major, diagonalRecurrentTensors=form.get("diagonal", False)))
    g.outputs(y)
    return f.bytes()


@model
def lstm_peephole(): return lstm_file("lstm_peephole", peephole=True)


@model
def lstm_coupled(): return lstm_file("lstm_coupled", cifg=True, peephole=True, time_major=False)


@model
def lstm_projection(): return lstm_file("lstm_projection", projection=True, outputs=2, proj_clip=0.3)


@model
def lstm_norm(): return lstm_file("lstm_norm", norm=True, cifg=True, peephole=True)


@model
def lstm_cell_clip(): return lstm_file("lstm_cell_clip", cell_clip=0.2, steps=5)


@model
def lstm_full_set(): return lstm_file("lstm_full_set", norm=True, peephole=True, projection=True, outputs=2, cell_clip=0.4, activation=RELU6)


@model
def lstm_diagonal(): return lstm_file("lstm_diagonal", diagonal=True)


@model
def lstm_one_step():
    f = File()
    g, w = f.graph(), numbers("lstm_one_step")
    x = g.input("x", (2, 3))
    y = g.tensor("y", (2, 4))
    g.op("LSTM", lstm_inputs(g, w, x, 3, 4), [y], options("LSTMOptions", fusedActivationFunction=TANH, cellClip=0.5))
    g.outputs(y)
    return f.bytes()


@model
def lstm_basic():
    f = File()
    g, w = f.graph(), numbers("lstm_basic")
    x, h, c = g.input("x", (2, 3)), g.input("h", (2, 4)), g.input("c", (2, 4))
    outs = [g.tensor(n, s) for n, s in (("y", (2, 4)), ("c_next", (2, 4)), ("joined", (2, 7)), ("sums", (2, 16)))]
    g.op("LSTM", [x, h, g.const(w(16, 7)), g.const(w(16)), c], outs, options("LSTMOptions", fusedActivationFunction=TANH, kernelType=1))
    g.outputs(*outs[:2])
    return f.bytes()


def bidirectional_lstm(name, aux, merge=True):
    f = File()
    g, w = f.graph(), numbers(name)
    x = g.input("x", (3, 2, 3))
    second = g.input("second", (3, 2, 3)) if aux else -1
    parts = []
    for d in range(2):
        i = lstm_inputs(g, w, x, 3, 4, peephole=d == 0)[:20]
        g.g.tensors[i[18]].name, g.g.tensors[i[19]].name = f"h{d}", f"c{d}"
        parts.append(i)
    fw, bw = parts
    i = [x] + fw[1:18] + bw[1:18] + fw[18:20] + bw[18:20] + [second]
    i += [g.const(w(4, 3)) if aux == "weights" else -1 for _ in range(8)]
    ys = [g.tensor("y", (3, 2, 8 if merge else 4))] + ([] if merge else [g.tensor("y2", (3, 2, 4))])
    g.op("BIDIRECTIONAL_SEQUENCE_LSTM", i, ys, options("BidirectionalSequenceLSTMOptions", fusedActivationFunction=TANH, mergeOutputs=merge, timeMajor=True))
    g.outputs(*ys)
    return f.bytes()


@model
def lstm_bidirectional(): return bidirectional_lstm("lstm_bidirectional", None)


@model
def lstm_bidirectional_aux(): return bidirectional_lstm("lstm_bidirectional_aux", "weights", False)


@model
def lstm_bidirectional_stacked(): return bidirectional_lstm("lstm_bidirectional_stacked", "second", False)


@model
def rnn_one_step():
    f = File()
    g, w = f.graph(), numbers("rnn_one_step")
    x, y = g.input("x", (2, 3)), g.tensor("y", (2, 4))
    g.op("RNN", [x, g.const(w(4, 3)), g.const(w(4, 4)), g.const(w(4)), g.tensor("h", (2, 4), variable=True)], [y], options("RNNOptions", fusedActivationFunction=RELU))
    g.outputs(y)
    return f.bytes()


@model
def rnn_sequence():
    f = File()
    g, w = f.graph(), numbers("rnn_sequence")
    x = g.input("x", (2, 5, 3))
    ys = []
    for k, act in enumerate((TANH, RELU6, NONE)):
        y = g.tensor(f"y{k}", (2, 5, 4))
        g.op("UNIDIRECTIONAL_SEQUENCE_RNN", [x, g.const(w(4, 3)), g.const(w(4, 4)), g.const(w(4)), g.tensor(f"h{k}", (2, 4), variable=True)], [y],
             options("SequenceRNNOptions", fusedActivationFunction=act))
        ys.append(y)
    g.outputs(*ys)
    return f.bytes()


@model
def rnn_bidirectional():
    f = File()
    g, w = f.graph(), numbers("rnn_bidirectional")
    x, y = g.input("x", (5, 2, 3)), g.tensor("y", (5, 2, 8))
    part = lambda k: [g.const(w(4, 3)), g.const(w(4, 4)), g.const(w(4)), g.tensor(f"h{k}", (2, 4), variable=True)]
    g.op("BIDIRECTIONAL_SEQUENCE_RNN", [x] + part(0) + part(1) + [-1, -1, -1], [y],
         options("BidirectionalSequenceRNNOptions", timeMajor=True, fusedActivationFunction=TANH, mergeOutputs=True))
    g.outputs(y)
    return f.bytes()


@model
def svdf():
    f = File()
    g, w = f.graph(), numbers("svdf")
    x, y = g.input("x", (2, 3)), g.tensor("y", (2, 4))
    g.op("SVDF", [x, g.const(w(8, 3)), g.const(w(8, 5)), g.const(w(4)), g.tensor("memory", (2, 40), variable=True)], [y],
         options("SVDFOptions", rank=2, fusedActivationFunction=RELU))
    g.outputs(y)
    return f.bytes()


def keras(layers, shape, kind="float"):
    import tensorflow as tf
    import tf_keras
    tf_keras.utils.set_random_seed(5)
    m = tf_keras.Sequential([tf_keras.layers.Input(shape[1:], batch_size=shape[0], name="x")] + layers(tf_keras.layers))
    c = tf.lite.TFLiteConverter.from_keras_model(m)
    if kind != "float":
        c.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "int8":
        rng = np.random.default_rng(3)
        c.representative_dataset = lambda: ([rng.uniform(-2, 2, shape).astype("float32")] for _ in range(16))
        c.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        c.inference_input_type = c.inference_output_type = tf.int8
    return c.convert()


@model
def lstm_keras(): return keras(lambda L: [L.LSTM(4, return_sequences=True)], (1, 6, 3))


@model
def lstm_keras_long(): return keras(lambda L: [L.LSTM(4, return_sequences=True)], (1, 16, 3))


@model
def lstm_keras_int8(): return keras(lambda L: [L.LSTM(4, return_sequences=True)], (1, 6, 3), "int8")


@model
def lstm_keras_dynamic_range(): return keras(lambda L: [L.LSTM(32, return_sequences=True)], (1, 6, 32), "weights")
