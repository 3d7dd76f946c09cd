#!/usr/bin/env python3
"""Writes tests/data/recurrent: small frozen graphs with recurrent layers. Needs tensorflow >= 2.16 with Keras 3."""
import os
import pathlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "recurrent"
L = tf.keras.layers
RANDOM = np.random.default_rng(7)
X = tf.TensorSpec((None, None, 2), tf.float32, "x")
H = tf.TensorSpec((None, 3), tf.float32, "h")
C = tf.TensorSpec((None, 3), tf.float32, "c")
LENGTHS = tf.TensorSpec((None,), tf.int32, "lengths")


def weights(*dims):
    return tf.constant(RANDOM.standard_normal(dims), tf.float32)


def freeze(name, f, *specs):
    function = tf.function(f).get_concrete_function(*specs)
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    outputs = [t.op.name for t in frozen.outputs]
    graph = tf.compat.v1.graph_util.extract_sub_graph(frozen.graph.as_graph_def(), outputs)
    (FOLDER / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))


def keras(name, layer, call=None, *specs):
    specs = specs or (X,)
    layer.build((None, None, 2))
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    freeze(name, call or (lambda x: layer(x)), *specs)


def masked(layer):
    return lambda x: layer(x, mask=x[:, :, 0] > 0)


def over_time(step, states, x, lengths=None, width=2):
    """The loop of TensorFlow 1's dynamic_rnn: step(x, states) -> (output, states)."""
    x = tf.transpose(x, [1, 0, 2])
    time, batch = tf.shape(x)[0], tf.shape(x)[1]
    states = [tf.zeros([batch, 3]) for _ in range(states)]
    rows = tf.TensorArray(tf.float32, time, element_shape=(None, width)).unstack(x)
    outputs = tf.TensorArray(tf.float32, time, element_shape=(None, 3))
    last = time if lengths is None else tf.minimum(time, tf.maximum(1, tf.reduce_max(lengths)))

    def body(t, outputs, *states):
        y, new = step(rows.read(t), states)
        if lengths is not None:
            done = t >= lengths
            y = tf.raw_ops.Select(condition=done, x=tf.zeros([batch, 3]), y=y)
            new = [tf.raw_ops.Select(condition=done, x=a, y=b) for a, b in zip(states, new)]
        return (t + 1, outputs.write(t, y), *new)

    _, outputs, *states = tf.while_loop(lambda t, *_: t < last, body, (0, outputs, *states))
    return (tf.transpose(outputs.stack(), [1, 0, 2]), *states)


def peepholes():
    w, b, wi, wf, wo = weights(5, 12), weights(12), weights(3), weights(3), weights(3)

    def step(x, states):
        c, h = states
        i, g, f, o = tf.split(tf.concat([x, h], 1) @ w + b, 4, 1)
        c = tf.sigmoid(f + 1.0 + wf * c) * c + tf.sigmoid(i + wi * c) * tf.tanh(g)
        h = tf.sigmoid(o + wo * c) * tf.tanh(c)
        return h, (c, h)

    freeze("lstm_peepholes_lengths", lambda x, n: over_time(step, 2, x, n), X, LENGTHS)


def residual():
    """The second cell reads, and adds, what the first one read and gave."""
    w, r, v, u = (weights(3, 3) for _ in range(4))

    def step(x, states):
        h, g = states
        h = tf.tanh(x @ w + h @ r)
        y = x + h
        g = tf.tanh(y @ v + g @ u)
        return y + g, (h, g)

    x = tf.TensorSpec((None, None, 3), tf.float32, "x")
    freeze("residual", lambda x: over_time(step, 2, x, width=3), x)
    freeze("residual_lengths", lambda x, n: over_time(step, 2, x, n, width=3), x, LENGTHS)


def block_cells():
    w, b, p, zero = weights(5, 12), weights(12), weights(3), tf.zeros([3])

    def lstm(clip):
        def step(x, states):
            r = tf.raw_ops.LSTMBlockCell(x=x, cs_prev=states[0], h_prev=states[1], w=w, wci=p, wcf=p, wco=p, b=b,
                                         forget_bias=0.5, cell_clip=clip, use_peephole=True)
            return r.h, (r.cs, r.h)
        return step

    def gru(x, states):
        r = tf.raw_ops.GRUBlockCell(x=x, h_prev=states[0], w_ru=w[:, :6], w_c=w[:, 6:9], b_ru=b[:6], b_c=b[6:9])
        return r.h, (r.h,)

    freeze("lstm_block_cell", lambda x: over_time(lstm(-1.0), 2, x), X)
    freeze("gru_block_cell", lambda x, n: over_time(gru, 1, x, n), X, LENGTHS)


def reversed_rows():
    w, r = weights(2, 3), weights(3, 3)

    def step(x, states):
        h = tf.tanh(x @ w + states[0] @ r)
        return h, (h,)

    def call(x, lengths):
        lengths = tf.minimum(lengths, tf.shape(x)[1])
        turned = tf.reverse_sequence(x, lengths, 1, 0)
        y, h = over_time(step, 1, turned, lengths)
        return tf.reverse_sequence(y, lengths, 1, 0), h

    freeze("rnn_reversed_lengths", call, X, LENGTHS)


def drawn_out():
    """Layers without a loop: each step is drawn."""
    s = tf.TensorSpec((None, 4, 2), tf.float32, "x")

    def unrolled(name, layer, call=None, *specs):
        layer.build((None, 4, 2))
        layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
        freeze(f"unrolled_{name}", call or (lambda x: layer(x)), *(specs or (s,)))

    def static(rows, w, b, clip=None):
        batch = tf.shape(rows[0])[0]
        c, h, outputs, cells = tf.zeros([batch, 3]), tf.zeros([batch, 3]), [], []
        for x in rows:
            i, g, f, o = tf.split(tf.concat([x, h], 1) @ w + b, 4, 1)
            c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(g)
            c = c if clip is None else tf.clip_by_value(c, -clip, clip)
            h = tf.tanh(c) * tf.sigmoid(o)
            outputs.append(h)
            cells.append(c)
        return outputs, cells

    w, b, w2 = RANDOM.standard_normal((5, 12)).astype("f"), RANDOM.standard_normal(12).astype("f"), RANDOM.standard_normal((5, 12)).astype("f")

    def both_ways(x):
        rows = tf.unstack(x, 4, 1)
        there, back = static(rows, w, b)[0], static(rows[::-1], w2, b)[0][::-1]
        return [tf.concat(pair, 1) for pair in zip(there, back)]

    def steps_apart(x):
        outputs, cells = static(tf.unstack(x, 4, 1), w, b)
        return outputs[1], outputs[-1], tf.stack(outputs, 1), cells[-1]

    states = L.LSTM(3, unroll=True, return_sequences=True, return_state=True)
    unrolled("lstm_states", states, lambda x, h, c: states(x, initial_state=[tf.tanh(h), c]), s, H, C)
    unrolled("gru_reset_before", L.GRU(3, unroll=True, reset_after=False))
    unrolled("gru_bidirectional", L.Bidirectional(L.GRU(3, unroll=True, return_sequences=True)))
    unrolled("rnn_backwards", L.SimpleRNN(3, unroll=True, go_backwards=True, return_sequences=True))
    unrolled("stacked", L.RNN([L.LSTMCell(3), L.GRUCell(4)], unroll=True, return_sequences=True))
    gaps = L.LSTM(3, unroll=True, return_sequences=True)
    unrolled("lstm_gaps", gaps, masked(gaps))
    back = L.GRU(3, unroll=True, go_backwards=True)
    unrolled("gru_gaps_backwards", back, masked(back))
    freeze("static_both_ways", both_ways, s)
    freeze("static_steps_apart", steps_apart, s)
    freeze("static_clipped", lambda x: static(tf.unstack(x, 4, 1), w, b, 0.5)[0][-1], s)
    freeze("static_cells", lambda x: tf.stack(static(tf.unstack(x, 4, 1), w, b)[1], 1), s)


class Cell:
    """What static_rnn wants of a cell."""
    output_size = 3

    def __init__(self, states, step):
        self.state_size = 3 if states == 1 else (3,) * states
        self.step = step

    def zero_state(self, batch_size, dtype):
        return tf.nest.map_structure(lambda n: tf.zeros([batch_size, n], dtype), self.state_size)

    def __call__(self, x, state, scope=None):
        return self.step(x, state)


def static_lengths():
    """TensorFlow 1's static_rnn: a step runs only where a sequence goes on, and copies only where one is over."""
    s = tf.TensorSpec((None, 4, 2), tf.float32, "x")
    w, b, wg, bg, wc, bc = weights(5, 12), weights(12), weights(5, 6), weights(6), weights(5, 3), weights(3)

    def lstm(x, state):
        c, h = state
        i, g, f, o = tf.split(tf.concat([x, h], 1) @ w + b, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(g)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)

    def gru(x, h):
        r, z = tf.split(tf.sigmoid(tf.concat([x, h], 1) @ wg + bg), 2, 1)
        h = z * h + (1 - z) * tf.tanh(tf.concat([x, r * h], 1) @ wc + bc)
        return h, h

    def run(states, step):
        def call(x, n):
            y, state = tf.compat.v1.nn.static_rnn(Cell(states, step), tf.unstack(x, 4, 1), dtype=tf.float32, sequence_length=n)
            return (tf.stack(y, 1), *tf.nest.flatten(state))
        return call

    freeze("static_lengths_lstm", run(2, lstm), s, LENGTHS)
    freeze("static_lengths_gru", run(1, gru), s, LENGTHS)


def distributed():
    """A layer in each of a sequence's items: how long their sequences are is known of shapes alone, which the file does not have."""
    layer = L.TimeDistributed(L.LSTM(3))
    layer.build((None, 3, 4, 2))
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    freeze("time_distributed", lambda x: layer(x), tf.TensorSpec((None, 3, 4, 2), tf.float32, "x"))


def mapped():
    """A step for all items at once, as TimeDistributed of Keras 3 has it: what is left of x[i] is a loop."""
    def dense(x):
        return tf.nn.relu(x @ w + b)

    def conv(x):
        return tf.nn.bias_add(tf.nn.conv2d(x, k, 1, "SAME"), b)

    def over(layer, steps, axes):
        def call(x):
            rows = tf.transpose(x, axes)
            y = tf.vectorized_map(lambda i: layer(rows[i]), tf.range(tf.shape(rows)[0] if steps is None else tf.minimum(steps, tf.shape(rows)[0])))
            return tf.transpose(y, axes)
        return call

    w, b, k = (tf.constant(np.random.default_rng(8).standard_normal(d), tf.float32) for d in ((2, 3), (3,), (3, 3, 2, 3)))
    images = tf.TensorSpec((None, None, 4, 4, 2), tf.float32, "x")
    freeze("mapped_dense", over(dense, None, [1, 0, 2]), X)
    freeze("mapped_first", over(dense, 2, [1, 0, 2]), X)
    freeze("mapped_conv", over(conv, None, [1, 0, 2, 3, 4]), images)


def mapped_rows():
    """tf.map_fn over a known number of rows: its loop is a Scan, or no loop at all."""
    def picked(row):
        x, at = row
        return tf.gather(x, at)

    def scaled(row):
        x, at = row
        best = tf.reduce_max(x, axis=0, keepdims=True)
        y = tf.nn.softmax(tf.nn.relu(x - best) @ w, axis=0) + tf.gather(w[0], at[0])
        return tf.concat([tf.transpose(y), tf.expand_dims(tf.gather(x, 1, axis=1), 0)], 0)

    def over(f):
        def call(x):
            at = tf.cast(tf.abs(x[:, :3, 0]) * 7.0, tf.int32) % 3
            return tf.map_fn(f, (x, at), fn_output_signature=tf.float32)
        return call

    w = tf.constant(np.random.default_rng(9).standard_normal((2, 3)), tf.float32)
    rows = tf.TensorSpec((4, 5, 2), tf.float32, "x")
    freeze("mapped_gather", over(picked), rows)
    freeze("mapped_rows", over(scaled), rows)


def with_lengths(name, layer):
    layer.build((None, None, 2))
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    freeze(name, lambda x, n: layer(x, mask=tf.sequence_mask(n, maxlen=tf.shape(x)[1])), X, LENGTHS)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    keras("lstm_last", L.LSTM(3))
    everything = L.LSTM(3, return_sequences=True, return_state=True)
    keras("lstm_states", everything, lambda x, h, c: everything(x, initial_state=[h, c]), X, H, C)
    keras("lstm_hard_sigmoid", L.LSTM(3, recurrent_activation="hard_sigmoid", activation="elu", return_sequences=True))
    keras("gru_sequence", L.GRU(3, return_sequences=True))
    keras("gru_reset_before", L.GRU(3, reset_after=False, return_sequences=True, activation="softsign"))
    keras("rnn_relu_backwards", L.SimpleRNN(3, activation="relu", go_backwards=True, return_sequences=True))
    keras("cells_stacked", L.RNN([L.LSTMCell(3), L.GRUCell(4)], return_sequences=True, return_state=True))
    keras("lstm_bidirectional", L.Bidirectional(L.LSTM(3, return_sequences=True)))
    keras("gru_bidirectional_last", L.Bidirectional(L.GRU(3), merge_mode="sum"))
    gaps = L.LSTM(3, return_sequences=True, return_state=True)
    keras("lstm_gaps", gaps, masked(gaps))
    back = L.GRU(3, return_sequences=True, go_backwards=True)
    keras("gru_gaps_backwards", back, masked(back))
    both = L.Bidirectional(L.SimpleRNN(3, return_sequences=True))
    keras("rnn_gaps_bidirectional", both, masked(both))
    zeros = L.RNN(L.LSTMCell(3), return_sequences=True, zero_output_for_mask=True)
    keras("lstm_gaps_zeros", zeros, masked(zeros))
    held = L.GRU(3, return_sequences=True, return_state=True)
    keras("gru_gaps_states", held, lambda x, h: held(x, initial_state=h, mask=x[:, :, 0] > 0), X, H)
    peepholes()
    block_cells()
    reversed_rows()
    drawn_out()
    static_lengths()
    distributed()
    with_lengths("lengths_lstm", L.LSTM(3, return_sequences=True, return_state=True))
    with_lengths("lengths_gru_backwards", L.GRU(3, return_sequences=True, return_state=True, go_backwards=True))
    with_lengths("lengths_lstm_both_ways", L.Bidirectional(L.LSTM(3, return_sequences=True)))
    with_lengths("lengths_rnn_both_ways_zeros", L.Bidirectional(L.RNN(L.SimpleRNNCell(3), return_sequences=True, zero_output_for_mask=True)))
    mapped()
    mapped_rows()
    residual()
    long = L.LSTM(3, return_sequences=True, return_state=True)
    keras("lstm_long_mask", long, lambda x: long(x, mask=tf.concat([x[:, :, 0] > 0, x[:, :2, 1] > 0], 1)))


if __name__ == "__main__":
    main()
