#!/usr/bin/env python3
"""Writes tests/data/nms: small frozen graphs that suppress boxes by loops over tiles. Needs tensorflow >= 2.16."""
import os
import pathlib

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "nms"
TILE = 8


def freeze(name, f, batch=None, boxes=None):
    specs = (tf.TensorSpec((batch, boxes, 4), tf.float32, "boxes"), tf.TensorSpec((batch, boxes), tf.float32, "scores"))
    function = tf.function(f).get_concrete_function(*specs)
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    outputs = [t.op.name for t in frozen.outputs]
    graph = tf.compat.v1.graph_util.extract_sub_graph(frozen.graph.as_graph_def(), outputs)
    (FOLDER / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))


def padded(most, overlap, score=float("-inf"), **options):
    return lambda boxes, scores: tf.image.non_max_suppression_padded(
        boxes, scores, most, overlap, score, pad_to_max_output_size=True, tile_size=TILE, **options)


# ---- as the vision models of the TensorFlow Model Garden have it


def overlaps(a, b, masks):
    """masks: "": none, "b": negative boxes of b have -1, "ab": those of a as well"""
    a_corners, b_corners = tf.split(a, 4, axis=2), tf.split(b, 4, axis=2)
    b_rows = [tf.transpose(x, [0, 2, 1]) for x in b_corners]
    low = [tf.maximum(a_corners[i], b_rows[i]) for i in range(2)]
    high = [tf.minimum(a_corners[i + 2], b_rows[i + 2]) for i in range(2)]
    shared = tf.maximum(high[1] - low[1], 0) * tf.maximum(high[0] - low[0], 0)
    area = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a_corners, b_corners)]
    result = shared / (area[0] + tf.transpose(area[1], [0, 2, 1]) - shared + 1e-8)
    if "b" in masks:
        negative = tf.transpose(tf.less(tf.reduce_max(b, axis=-1, keepdims=True), 0.0), [0, 2, 1])
        mask = tf.logical_or(tf.zeros_like(a_corners[1], dtype=tf.bool), negative)
        result = tf.where(mask, -tf.ones_like(result), result)
    if "a" in masks:
        negative = tf.less(tf.reduce_max(a, axis=-1, keepdims=True), 0.0)
        result = tf.where(negative, -tf.ones_like(result), result)
    return result


def garden(most, threshold, masks="ab", shows_loop=False):
    def within(overlap, _, total):
        batch = tf.shape(overlap)[0]
        free = tf.cast(tf.reshape(tf.reduce_max(overlap, 1) <= 0.5, [batch, -1, 1]), overlap.dtype)
        kept = tf.reshape(tf.cast(tf.reduce_max(free * overlap, 1) <= 0.5, overlap.dtype), [batch, -1, 1]) * overlap
        now = tf.reduce_sum(kept, [1, 2])
        return kept, tf.reduce_any(total - now > 0.5), now

    def across(boxes, tile, threshold, i):
        earlier = tf.slice(boxes, [0, i * TILE, 0], [tf.shape(boxes)[0], TILE, 4])
        free = tf.reduce_all(overlaps(earlier, tile, masks) < threshold, [1])
        return boxes, tf.expand_dims(tf.cast(free, tile.dtype), 2) * tile, threshold, i + 1

    def body(boxes, threshold, counts, at):
        shape = tf.shape(boxes)
        batch, tiles = shape[0], shape[1] // TILE
        tile = tf.slice(boxes, [0, at * TILE, 0], [batch, TILE, 4])
        _, tile, _, _ = tf.while_loop(lambda _b, _t, _o, i: i < at, across, [boxes, tile, threshold, tf.constant(0)])
        overlap = overlaps(tile, tile, masks)
        order = tf.expand_dims(tf.reshape(tf.range(TILE), [1, -1]) > tf.reshape(tf.range(TILE), [-1, 1]), 0)
        overlap *= tf.cast(tf.logical_and(order, overlap >= threshold), overlap.dtype)
        left, _, _ = tf.while_loop(lambda _o, going, _s: going, within,
                                   [overlap, tf.constant(True), tf.reduce_sum(overlap, [1, 2])])
        tile *= tf.expand_dims(1.0 - tf.cast(tf.reduce_sum(left, 1) > 0, tile.dtype), 2)
        mask = tf.reshape(tf.cast(tf.equal(tf.range(tiles), at), boxes.dtype), [1, -1, 1, 1])
        boxes = tf.tile(tf.expand_dims(tile, [1]), [1, tiles, 1, 1]) * mask + tf.reshape(
            boxes, [batch, tiles, TILE, 4]) * (1 - mask)
        counts += tf.reduce_sum(tf.cast(tf.reduce_any(tile > 0, [2]), tf.int32), [1])
        return tf.reshape(boxes, shape), threshold, counts, at + 1

    def f(boxes, scores):
        batch, count = tf.shape(boxes)[0], tf.shape(boxes)[1]
        pad = tf.cast(tf.math.ceil(tf.cast(count, tf.float32) / TILE), tf.int32) * TILE - count
        boxes = tf.pad(boxes, [[0, 0], [0, pad], [0, 0]])
        count += pad
        kept, _, counts, _ = tf.while_loop(
            lambda _b, _t, counts, i: tf.logical_and(tf.reduce_min(counts) < most, i < count // TILE), body,
            [boxes, threshold, tf.zeros([batch], tf.int32), tf.constant(0)])
        if shows_loop:
            return kept, counts
        order = tf.cast(tf.reduce_any(kept > 0, [2]), tf.int32) * tf.expand_dims(tf.range(count, 0, -1), 0)
        at = tf.minimum(count - tf.cast(tf.nn.top_k(order, most)[0], tf.int32), count - 1)
        chosen = tf.gather(boxes, at, batch_dims=1)
        return chosen * tf.cast(tf.reshape(tf.range(most), [1, -1, 1]) < tf.reshape(counts, [-1, 1, 1]), tf.float32)

    return f


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    freeze("padded", padded(12, 0.5))
    freeze("padded_sorted", padded(6, 0.3, sorted_input=True, canonicalized_coordinates=True), 3, 40)
    freeze("padded_scores", padded(20, 0.6, 0.3), 1, 30)
    freeze("garden", garden(6, 0.7))
    freeze("garden_static", garden(6, 0.7), 2, 40)
    freeze("garden_loop", garden(6, 0.6, shows_loop=True))
    freeze("garden_loop_static", garden(6, 0.6, shows_loop=True), 2, 40)
    freeze("garden_low", garden(6, 0.3))  # stays: a box that is suppressed may suppress others
    freeze("garden_one_mask", garden(6, 0.7, "b"))  # stays: a negative box suppresses others, and is not suppressed
