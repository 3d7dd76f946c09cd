#!/usr/bin/env python3
"""Writes the small TensorFlow Lite models below tests/data/tflite. Needs tensorflow 2.21 and tf_keras.

Each model is one lesson: operators of a family, or a feature of the file format. The seeds are fixed, so that the models stay the
same.
"""
import os
import pathlib
import shutil
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "tflite"
rng = np.random.default_rng(7)
nn = tf.nn


def weights(*shape, scale=0.5):
    return tf.constant(rng.normal(0, scale, shape).astype("float32"))


def write(name, function, *specs, kind="float"):
    specs = [s if isinstance(s, tf.TensorSpec) else tf.TensorSpec(s) for s in specs]
    module = tf.Module()
    module.f = tf.function(function, input_signature=specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.f.get_concrete_function()], module)
    finish(name, converter, specs, kind)


def finish(name, converter, specs, kind, largest=1):
    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "half":
        converter.target_spec.supported_types = [tf.float16]
    if kind in ("int8", "int8io", "int16"):
        def samples():
            for _ in range(8):
                yield [rng.uniform(-largest, largest, s.shape).astype(s.dtype.as_numpy_dtype) for s in specs]
        converter.representative_dataset = samples
        ops = tf.lite.OpsSet
        converter.target_spec.supported_ops = [
            ops.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8 if kind == "int16" else ops.TFLITE_BUILTINS_INT8]
    if kind == "int8io":
        converter.inference_input_type = converter.inference_output_type = tf.int8
    if kind == "flex":
        converter.optimizations = []
        converter._experimental_lower_tensor_list_ops = False
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    (DATA / f"{name}.tflite").write_bytes(converter.convert())


def cnn(x):
    h = nn.relu6(nn.conv2d(x, FILTER, 2, "SAME") + BIAS)
    h = nn.depthwise_conv2d(h, DEPTHWISE, [1, 1, 1, 1], "SAME") + BIAS
    h = nn.max_pool2d(nn.relu(h), 2, 2, "VALID")
    return nn.softmax(tf.matmul(tf.reshape(h, [-1, 16]), DENSE))


def elementwise(x, y):
    z = nn.relu(x + y) * tf.sigmoid(x) - tf.maximum(x, y)
    return (tf.exp(z) / (1. + tf.abs(y)), nn.leaky_relu(z, 0.1), tf.minimum(tf.maximum(z, -1.), 1.), x * nn.relu6(x + 3.) * (1. / 6.), nn.gelu(y))


def reductions(x):
    return (tf.reduce_mean(x, [1], keepdims=True), tf.reduce_sum(x, [0, 2]), tf.reduce_max(x, -1), tf.argmax(x, 2, tf.int32), nn.l2_normalize(x, -1))


def moves(x):
    a, b = tf.split(x, 2, 2)
    h = tf.concat([tf.transpose(b, [0, 2, 1]), tf.reshape(a, [1, 2, 4])], 0)
    h = tf.pad(tf.gather(h, [1, 0, 1], axis=2), [[0, 0], [1, 0], [0, 2]])
    return tf.stack(tf.unstack(h, axis=1), 0)[1:, ::-1], x[..., tf.newaxis, 0], tf.tile(x, [1, 2, 1])


def images(x):
    h = nn.conv2d_transpose(x, weights(3, 3, 2, 4), [1, 8, 8, 2], 2, "SAME") + weights(2)
    h = tf.compat.v1.image.resize_bilinear(h, (6, 6), half_pixel_centers=True)
    return nn.avg_pool2d(h, 3, 2, "SAME"), tf.nn.space_to_depth(tf.compat.v1.image.resize_nearest_neighbor(h, (4, 4)), 2)


def flex_list(x):
    items = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([2]))
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=1, item=tf.raw_ops.TensorListGetItem(input_handle=items, index=2, element_shape=[2], element_dtype=tf.float32) * 2.)
    return tf.raw_ops.TensorListStack(input_handle=items, element_shape=[2], element_dtype=tf.float32)


def flex_list_loop(x):
    """A list that a loop carries."""
    def step(i, items):
        item = tf.raw_ops.TensorListGetItem(input_handle=items, index=i, element_shape=[2], element_dtype=tf.float32)
        return i + 1, tf.raw_ops.TensorListSetItem(input_handle=items, index=i, item=item * 2. + tf.cast(i, tf.float32))
    items = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([2]))
    items = tf.while_loop(lambda i, items: i < 3, step, [0, items])[1]
    return tf.raw_ops.TensorListStack(input_handle=items, element_shape=[2], element_dtype=tf.float32)


def drawn(x):
    """Random numbers, which have seeds and are the same in each run, also of a loop, and numbers that do not depend on them."""
    walk = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + tf.random.uniform([4], seed=1)), [0, x])[1]
    return x + tf.random.normal([4], seed=2), walk, tf.random.categorical(tf.reshape(x, (1, 4)), 9, seed=3), tf.sqrt(tf.abs(x))


def loop(x):
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.matmul(v, SQUARE)), [0, x])[1]


def branches(p, x):
    return tf.cond(p > 0, lambda: tf.matmul(x, SQUARE), lambda: x - 1.)


class Coder(tf.Module):
    """Two signatures over one matrix."""

    def __init__(self):
        super().__init__()
        self.m = tf.Variable(weights(4, 4))

    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x"), tf.TensorSpec((4,), name="bias")])
    def encode(self, x, bias):
        return {"code": tf.matmul(x, self.m) + bias, "again": tf.nn.relu(x)}

    @tf.function(input_signature=[tf.TensorSpec((2, 4), name="code")])
    def decode(self, code):
        return {"y": tf.matmul(code, self.m, transpose_b=True)}


def signatures():
    folder = tempfile.mkdtemp()
    module = Coder()
    tf.saved_model.save(module, folder, signatures={"encode": module.encode, "decode": module.decode})
    finish("signatures", tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["decode", "encode"]), [], "float")
    shutil.rmtree(folder)


class Counter(tf.Module):
    """A variable that starts at 3 and that each run changes."""

    def __init__(self):
        super().__init__()
        self.n = tf.Variable(tf.fill((4,), 3.0))

    @tf.function(input_signature=[tf.TensorSpec((4,), name="x")])
    def step(self, x):
        self.n.assign_add(x)
        return {"y": self.n.read_value() * 2.0}


def state():
    folder = tempfile.mkdtemp()
    module = Counter()
    tf.saved_model.save(module, folder, signatures={"serving_default": module.step})
    finish("state", tf.lite.TFLiteConverter.from_saved_model(folder), [], "float")
    shutil.rmtree(folder)


def recurrent(name, steps, kind):
    import tf_keras
    tf_keras.utils.set_random_seed(1)
    model = tf_keras.Sequential([tf_keras.layers.LSTM(4, return_sequences=True, input_shape=(steps, 3), batch_size=1)])
    # Of smaller inputs the cells' scale is below 2^-15, for which LiteRT's integer kernels compute no tanh.
    finish(name, tf.lite.TFLiteConverter.from_keras_model(model), [tf.TensorSpec((1, steps, 3))], kind, largest=4)


def sparse():
    matrix = rng.normal(0, 0.5, (16, 16)).astype("float32")
    matrix[rng.uniform(size=(16, 4)).repeat(4, 1) < 0.8] = 0
    module = tf.Module()
    module.f = tf.function(lambda x: tf.matmul(x, tf.constant(matrix)), input_signature=[tf.TensorSpec((2, 16))])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.f.get_concrete_function()], module)
    converter.optimizations = [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]
    finish("sparse", converter, [], "float")


def ranged(x, low, high):
    return tf.quantization.fake_quant_with_min_max_vars(x, low, high)


def ranged_weights(*shape, scale):
    w = weights(*shape, scale=scale)
    return ranged(w, -3 * scale, 3 * scale)


def trained_with_ranges(x):
    """What quantization-aware training leaves: sums, means and rescaled codes whose scales have simple ratios."""
    h = ranged(nn.relu(nn.conv2d(ranged(x, -1., 1.), ranged_weights(3, 3, 3, 8, scale=0.4), 1, "SAME")), 0., 6.)
    h = ranged(nn.relu(h + ranged(nn.conv2d(h, ranged_weights(3, 3, 8, 8, scale=0.15), 1, "SAME"), -7., 7.)), 0., 9.)
    h = ranged(h * ranged(tf.sigmoid(h), 0., 1.), 0., 9.)
    h = ranged(tf.reduce_mean(h, [1, 2]), 0., 2.25)
    return ranged(tf.matmul(h, ranged_weights(8, 4, scale=0.5)), -4., 4.)


def main():
    DATA.mkdir(parents=True, exist_ok=True)
    global FILTER, BIAS, DEPTHWISE, DENSE, SQUARE
    FILTER, BIAS, DEPTHWISE, DENSE, SQUARE = weights(3, 3, 3, 4), weights(4), weights(3, 3, 4, 1), weights(16, 5), weights(4, 4)
    write("cnn", cnn, (1, 8, 8, 3))
    write("cnn_batch", cnn, (None, 8, 8, 3))
    for kind in ("half", "int8", "int8io", "int16"):
        write(f"cnn_{kind}", cnn, (1, 8, 8, 3), kind=kind)
    write("elementwise", elementwise, (2, 3), (3,))
    write("reductions", reductions, (2, 3, 4))
    write("moves", moves, (1, 4, 4))
    write("moves_int8io", lambda x: moves(x)[0], (1, 4, 4), kind="int8io")
    write("images", images, (1, 4, 4, 4))
    write("loop", loop, (2, 4))
    write("branches", branches, (), (2, 4))
    write("dynamic_range", lambda x: tf.matmul(x, weights(64, 32)), (2, 64), kind="weights")
    write("flex", lambda x: tf.sinh(x) + tf.raw_ops.Roll(input=x, shift=[1], axis=[0]), (3,), kind="flex")
    # shapes that depend on values, tensors that only TensorFlow's operators can hold, strings
    write("flex_values", lambda x: tf.raw_ops.ListDiff(x=x, y=tf.constant([3, 1, 7]))[0] * 2, tf.TensorSpec((6,), tf.int32), kind="flex")
    write("flex_list", flex_list, (3, 2), kind="flex")
    write("flex_text", lambda x: tf.strings.join([x, tf.reshape(x, (2, 2)), tf.constant([["a", "b"], ["", "d"]])], "-"), tf.TensorSpec((2, 2), tf.string), kind="flex")
    write("text", lambda x: tf.gather(tf.constant(["a", "", "ccc"]), x), tf.TensorSpec((2,), tf.int32))
    signatures()
    sparse()
    state()
    recurrent("lstm", 6, "float")
    recurrent("lstm_clipped", 12, "float")  # the file says that the cell's state ends at 10
    recurrent("lstm_int8", 6, "int8")
    write("trained_with_ranges", trained_with_ranges, (1, 8, 8, 3), kind="weights")
    write("flex_list_loop", flex_list_loop, (3, 2), kind="flex")
    write("drawn", drawn, (4,))


if __name__ == "__main__":
    main()
