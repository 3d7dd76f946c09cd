#!/usr/bin/env python3
"""Writes the small .tflite models that the engine for LiteRT is tested with, below tests/data/litert, with TensorFlow's own converter. Needs tensorflow >= 2.16.

    make_litert_models.py [NAME ...]
"""
import os
import pathlib
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "litert"
RNG = np.random.default_rng(7)


def weights(*shape):
    return tf.constant(RNG.normal(0, 1 / np.sqrt(max(1, np.prod(shape[:-1]))), shape).astype(np.float32))


def converter(module, *functions):
    c = tf.lite.TFLiteConverter.from_concrete_functions([f.get_concrete_function() for f in functions], module)
    return c


def quantized(c, *shapes):
    """All in int8, the inputs and outputs too."""
    c.optimizations = [tf.lite.Optimize.DEFAULT]
    c.representative_dataset = lambda: ([RNG.uniform(-1, 1, s).astype(np.float32) for s in shapes] for _ in range(16))
    c.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    c.inference_input_type = c.inference_output_type = tf.int8
    return c


def layers():
    f, b, w = weights(3, 3, 3, 8), weights(8), weights(8, 10)

    def net(x):
        x = tf.nn.relu6(tf.nn.conv2d(x, f, 2, "SAME") + b)
        return tf.matmul(tf.reduce_mean(x, [1, 2]), w)
    return net


def module(function, *specs):
    m = tf.Module()
    m.f = tf.function(function, input_signature=[tf.TensorSpec(s, t, name=n) for n, s, t in specs])
    return m


def net_float():
    """An open batch."""
    m = module(layers(), ("x", [None, 8, 8, 3], tf.float32))
    return converter(m, m.f)


def net_int8():
    m = module(layers(), ("x", [1, 8, 8, 3], tf.float32))
    return quantized(converter(m, m.f), (1, 8, 8, 3))


def softmax_int8():
    """Where XNNPACK's kernels and the builtin ones differ by a code."""
    w = weights(16, 16)

    def net(x):
        return tf.nn.softmax(tf.matmul(tf.nn.leaky_relu(x, 0.3), w))
    m = module(net, ("x", [4, 16], tf.float32))
    return quantized(converter(m, m.f), (4, 16))


def counter():
    """A variable in a resource: its sum goes on from run to run."""
    class Counter(tf.Module):
        def __init__(self):
            self.total = tf.Variable([10.0, 20.0])

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
        def f(self, x):
            return {"sum": self.total.assign_add(x)}
    m = Counter()
    c = converter(m, m.f)
    c.experimental_enable_resource_variables = True
    return c


def lstm():
    """State in variable tensors."""
    model = tf.keras.Sequential([tf.keras.layers.Input([5, 4], batch_size=1), tf.keras.layers.LSTM(6)])
    return tf.lite.TFLiteConverter.from_keras_model(model)


def two_signatures():
    class Two(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, name="a"), tf.TensorSpec([3], tf.float32, name="b")])
        def add(self, a, b):
            return {"sum": a + b, "difference": a - b}

        @tf.function(input_signature=[tf.TensorSpec([2, 2], tf.float32, name="m")])
        def twice(self, m):
            return {"result": m * 2.0}
    m = Two()
    path = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / "tf2onnx_two_signatures"
    tf.saved_model.save(m, str(path), signatures={"add": m.add, "twice": m.twice})
    return tf.lite.TFLiteConverter.from_saved_model(str(path), signature_keys=["add", "twice"])


def found():
    """An output whose shape depends on values, and strings that pass through."""
    def net(x, s):
        return {"places": tf.where(x > 0), "words": tf.gather(s, [1, 0])}
    m = module(net, ("x", [6], tf.float32), ("s", [2], tf.string))
    return converter(m, m.f)


MODELS = [net_float, net_int8, softmax_int8, counter, lstm, two_signatures, found]

if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    for make in MODELS:
        if sys.argv[1:] and make.__name__ not in sys.argv[1:]:
            continue
        data = make().convert()
        (DATA / f"{make.__name__}.tflite").write_bytes(data)
        print(make.__name__, len(data))
