#!/usr/bin/env python3
"""Writes tests/data/jax: small frozen graphs of jax2tf, with XLA's operators instead of StableHLO.

Made with jax 0.4.30 and tensorflow-cpu 2.17.1; from 0.7 on jax only writes StableHLO.
"""
import os
import pathlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax import lax
from jax.experimental import jax2tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "jax"
RANDOM = np.random.default_rng(11)


def weights(*dims):
    return jnp.asarray(RANDOM.standard_normal(dims) / np.sqrt(dims[0] if len(dims) > 1 else 4), jnp.float32)


def freeze(name, f, *specs):
    """specs: shapes as text, "b, 4" with letters for what is unknown, and a type."""
    converted = jax2tf.convert(f, native_serialization=False, with_gradient=False,
                               polymorphic_shapes=[f"({shape})" if shape else None for shape, _ in specs])

    def spec(i, shape, dtype):
        dims = [int(d) if d.strip().isdigit() else None for d in shape.split(",") if d.strip()]
        return tf.TensorSpec(dims, dtype, f"x{i}")

    function = tf.function(converted, autograph=False).get_concrete_function(*[spec(i, *s) for i, s in enumerate(specs)])
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    outputs = [t.op.name for t in frozen.outputs]
    graph = tf.compat.v1.graph_util.extract_sub_graph(frozen.graph.as_graph_def(), outputs)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))


def mlp(x):
    for w in MLP:
        x = jax.nn.gelu(x @ w + 0.1)
    return jax.nn.log_softmax(x)


def conv(x, w, strides=(1, 1), **options):
    return lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def pool(x, how, init):
    return lax.reduce_window(x, init, how, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def convnet(x):
    w1, w2, w3, w4, w5 = CONVNET
    x = jax.nn.relu(conv(x, w1, (2, 2)))
    x = pool(conv(x, w2, feature_group_count=8), lax.max, -jnp.inf)
    x = pool(jax.nn.silu(conv(x, w3, rhs_dilation=(2, 2))), lax.add, 0.0) / 4
    up = lax.conv_transpose(x, w4, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.mean(x, (1, 2)) @ w5, up


def norm(x, scale):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-6) * scale


def transformer(tokens):
    table, positions, qkv, out, up, down = TRANSFORMER
    x = jnp.take(table, tokens, axis=0) + positions[: tokens.shape[1]]
    q, k, v = jnp.einsum("btd,dshe->sbthe", norm(x, 1.1), qkv)
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / 2
    mask = jnp.tril(jnp.ones((tokens.shape[1],) * 2, bool))
    attention = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
    x = x + jnp.einsum("bhqk,bkhe,hed->bqd", attention, v, out)
    x = x + jax.nn.gelu(norm(x, 0.9) @ up) @ down
    logits = x @ table.T
    return logits, jnp.argmax(logits, -1)


def places(x, i):
    best = jnp.argsort(-x, axis=1)[:, :3]
    taken = jnp.take_along_axis(x, best, axis=1)
    marked = x.at[:, i].set(0.0).at[i].add(1.5).at[0, 1:3].multiply(2.0)
    window = lax.dynamic_slice(x, (0, i[0]), (2, 3))
    written = lax.dynamic_update_slice(x, window, (1, i[1]))
    return best, taken, marked, written, jnp.sort(x, 0), jnp.cumsum(x, 1), lax.cummax(x, 1)


def recurrent(x):
    w, u = RECURRENT

    def step(state, row):
        state = jnp.tanh(row @ w + state @ u)
        return state, state * 2

    state, rows = lax.scan(step, jnp.zeros((x.shape[1], 5)), x)
    return state, rows


MLP = [weights(6, 16), weights(16, 16), weights(16, 5)]
CONVNET = [weights(3, 3, 3, 8), weights(3, 3, 1, 8), weights(3, 3, 8, 6), weights(3, 3, 6, 4), weights(6, 5)]
TRANSFORMER = [weights(20, 12), weights(10, 12), weights(12, 3, 3, 4), weights(3, 4, 12), weights(12, 24), weights(24, 12)]
RECURRENT = [weights(4, 5), weights(5, 5)]

if __name__ == "__main__":
    freeze("mlp", mlp, ("b, 6", tf.float32))
    freeze("convnet", convnet, ("b, 16, 16, 3", tf.float32))
    freeze("transformer", transformer, ("b, 7", tf.int32))
    freeze("places", places, ("6, 8", tf.float32), ("2", tf.int32))
    freeze("recurrent", recurrent, ("6, b, 4", tf.float32))
