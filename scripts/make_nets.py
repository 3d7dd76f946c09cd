#!/usr/bin/env python3
"""Writes tests/data/nets: twelve small frozen nets, one of each family. Needs tensorflow >= 2.16 with Keras 3."""
import os
import pathlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "nets"
L = tf.keras.layers
RANDOM = np.random.default_rng(11)


def conv_bn(x, filters, size, name, strides=1, activation="relu"):
    x = L.Conv2D(filters, size, strides, padding="same", use_bias=False, name=name)(x)
    x = L.BatchNormalization(name=name + "_bn")(x)
    return L.Activation(activation, name=name + "_act")(x) if activation else x


def head(x, name="head"):
    return L.Dense(5, name=name)(L.GlobalAveragePooling2D(name="pool")(x))


def image(size=8, channels=3):
    return L.Input((size, size, channels), batch_size=2, name="x")


def plain():
    x = i = image()
    x = L.Rescaling(1 / 2.55, name="rescale")(x)
    x = L.Conv2D(8, 3, padding="same", activation="relu", name="conv1")(x)  # as high and wide as it has channels
    x = L.MaxPooling2D(name="pool1")(x)
    x = L.Conv2D(6, 3, padding="same", activation="relu", name="conv2")(x)
    x = L.Flatten(name="flat")(x)
    x = L.Dense(10, activation="relu", name="dense1")(x)
    return i, L.Dense(5, activation="softmax", name="dense2")(x)


def resnet():
    i = image()
    x = conv_bn(i, 8, 3, "stem")
    y = conv_bn(conv_bn(x, 8, 3, "a1"), 8, 3, "a2", activation=None)
    x = L.ReLU(name="a_out")(L.Add(name="a_add")([x, y]))
    y = conv_bn(conv_bn(x, 12, 3, "b1", 2), 12, 3, "b2", activation=None)
    x = L.ReLU(name="b_out")(L.Add(name="b_add")([conv_bn(x, 12, 1, "b_short", 2, None), y]))
    return i, head(x)


def mobilenet():
    i = image()
    x = conv_bn(i, 6, 3, "stem", 2, "hard_swish")
    y = conv_bn(x, 12, 1, "expand", activation="relu6")
    y = L.DepthwiseConv2D(3, padding="same", use_bias=False, name="depthwise")(y)
    y = L.Activation("relu6", name="depthwise_act")(L.BatchNormalization(name="depthwise_bn")(y))
    s = L.GlobalAveragePooling2D(keepdims=True, name="squeeze")(y)
    s = L.Conv2D(3, 1, activation="silu", name="squeeze1")(s)
    s = L.Conv2D(12, 1, activation="hard_sigmoid", name="squeeze2")(s)
    y = conv_bn(L.Multiply(name="gate")([y, s]), 6, 1, "project", activation=None)
    return i, head(L.Add(name="add")([x, y]))


def unet():
    i = image()
    a = L.Conv2D(4, 3, padding="same", activation="relu", name="down1")(i)
    b = L.Conv2D(8, 3, padding="same", activation="relu", name="down2")(L.MaxPooling2D(name="pool1")(a))
    x = L.Conv2DTranspose(4, 2, 2, activation="relu", name="up1")(b)
    x = L.Conv2D(4, 3, padding="same", activation="relu", name="merge")(L.Concatenate(name="join")([a, x]))
    return i, L.Conv2D(1, 1, activation="sigmoid", name="mask")(x)


def lstm():
    i = L.Input((6, 4), batch_size=2, name="x")
    x = L.LSTM(6, return_sequences=True, name="lstm1")(i)
    x = L.LSTM(5, name="lstm2")(L.Dense(4, activation="tanh", name="between")(x))
    return i, L.Dense(3, name="head")(x)


def both_ways():
    i = L.Input((6, 4), batch_size=2, name="x")
    x = L.Bidirectional(L.LSTM(4, return_sequences=True), name="both")(i)
    x = L.GRU(5, return_sequences=True, name="gru")(x)
    x = L.Dense(6, activation="relu", name="dense1")(L.Flatten(name="flat")(x))
    return i, L.Dense(3, name="head")(x)


class Positions(L.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], name="table")

    def call(self, x):
        return x + self.table


def transformer():
    i = L.Input((6,), batch_size=2, dtype="int32", name="ids")
    x = L.Embedding(20, 8, name="tokens")(i)
    x = Positions(name="positions")(x)
    y = L.MultiHeadAttention(2, 4, name="attention")(x, x)
    x = L.LayerNormalization(name="norm1")(L.Add(name="add1")([x, y]))
    y = L.Dense(8, name="ffn2")(L.Dense(16, activation="gelu", name="ffn1")(x))
    x = L.LayerNormalization(name="norm2")(L.Add(name="add2")([x, y]))
    return i, L.Dense(3, name="head")(L.GlobalAveragePooling1D(name="pool")(x))


def text_cnn():
    i = L.Input((7,), batch_size=2, dtype="int32", name="ids")
    x = L.Embedding(30, 7, name="tokens")(i)  # as many steps as channels
    x = L.Conv1D(7, 3, padding="same", activation="relu", name="first")(x)
    parts = [L.GlobalMaxPooling1D(name=f"most{k}")(L.Conv1D(4, k, activation="relu", name=f"conv{k}")(x)) for k in (2, 3)]
    return i, L.Dense(3, activation="softmax", name="head")(L.Concatenate(name="join")(parts))


class Scale(L.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), name="gamma")

    def call(self, x):
        return x * self.gamma


def convnext():
    i = image(12)
    x = L.LayerNormalization(epsilon=1e-6, name="stem_norm")(L.Conv2D(6, 2, 2, name="stem")(i))
    y = L.DepthwiseConv2D(5, padding="same", name="depthwise")(x)
    y = L.LayerNormalization(epsilon=1e-6, name="norm")(y)
    y = L.Dense(6, name="pointwise2")(L.Dense(12, activation="gelu", name="pointwise1")(y))
    x = L.Add(name="add")([x, Scale(name="scale")(y)])
    x = L.Conv2D(8, 2, 2, name="down")(L.LayerNormalization(epsilon=1e-6, name="down_norm")(x))
    return i, L.Dense(4, name="head")(L.LayerNormalization(name="head_norm")(L.GlobalAveragePooling2D(name="pool")(x)))


def inception():
    i = image()
    x = conv_bn(i, 6, 3, "stem")
    parts = [conv_bn(x, 4, 1, "one"), conv_bn(conv_bn(x, 3, 1, "three_in"), 4, 3, "three"),
             conv_bn(conv_bn(x, 3, 1, "five_in"), 4, 5, "five"),
             conv_bn(L.AveragePooling2D(3, 1, "same", name="mean")(x), 4, 1, "pooled")]
    x = L.Concatenate(name="join")(parts)
    parts = [L.Conv2D(4, k, padding="same", name=f"late{k}")(x) for k in (1, 3)]
    x = L.ReLU(name="late_act")(L.BatchNormalization(name="late_bn")(L.Concatenate(name="late")(parts)))
    return i, head(x)


def densenet():
    i = image()
    x = L.Conv2D(4, 3, padding="same", use_bias=False, name="stem")(i)
    for k in (1, 2):
        y = L.ReLU(name=f"act{k}")(L.BatchNormalization(name=f"bn{k}")(x))
        x = L.Concatenate(name=f"join{k}")([x, L.Conv2D(4, 3, padding="same", use_bias=False, name=f"conv{k}")(y)])
    x = L.ReLU(name="act3")(L.BatchNormalization(name="bn3")(x))
    x = L.AveragePooling2D(2, name="half")(L.Conv2D(6, 1, use_bias=False, name="narrow")(x))
    return i, head(L.ReLU(name="act4")(L.BatchNormalization(name="bn4")(x)))


def mlp():
    a = L.Input((1,), batch_size=4, dtype="int32", name="user")
    b = L.Input((3,), batch_size=4, dtype="int64", name="items")
    n = L.Input((5,), batch_size=4, name="numbers")
    x = L.Concatenate(name="join")([L.Flatten(name="flat1")(L.Embedding(40, 4, name="users")(a)),
                                    L.Flatten(name="flat2")(L.Embedding(25, 3, name="things")(b)), n])
    x = L.BatchNormalization(name="bn")(L.Dense(12, activation="relu", name="dense1")(x))
    return [a, b, n], L.Dense(2, activation="sigmoid", name="head")(L.Dense(6, activation="tanh", name="dense2")(x))


def drawn(weight):
    numbers = RANDOM.standard_normal(weight.shape) * 0.5
    if weight.path.endswith("variance"):
        numbers = 0.5 + np.abs(numbers)
    elif weight.path.endswith("gamma"):
        numbers = 1 + 0.3 * numbers
    elif len(weight.shape) > 2:  # a sum over a window
        numbers *= 0.7
    return numbers


def freeze(name, inputs, outputs):
    model = tf.keras.Model(inputs, outputs, name=name)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(drawn(weight))
    inputs = inputs if isinstance(inputs, list) else [inputs]
    specs = [tf.TensorSpec(x.shape, x.dtype, x.name) for x in inputs]
    function = tf.function(lambda *x: model(list(x) if len(x) > 1 else x[0])).get_concrete_function(*specs)
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    outputs = [t.op.name for t in frozen.outputs]
    graph = tf.compat.v1.graph_util.extract_sub_graph(frozen.graph.as_graph_def(), outputs)
    (FOLDER / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for net in (plain, resnet, mobilenet, unet, lstm, both_ways, transformer, text_cnn, convnext, inception, densenet, mlp):
        tf.keras.backend.clear_session()
        freeze(net.__name__, *net())
