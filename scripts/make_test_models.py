#!/usr/bin/env python3
"""Writes the small checkpoints and models below tests/data that the readers are tested with. Needs tensorflow >= 2.16.

Every variable is filled with a number of its own, so that a test can tell whether it got the right one.
"""
import os
import pathlib
import shutil

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import dtypes

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"


def fresh(name):
    folder = DATA / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def save(prefix, tensors, slices=None):
    slices = slices or {}
    names = list(tensors)
    flat = [n.split("@")[0] for n in names]
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=flat, shape_and_slices=[slices.get(n, "") for n in names],
                      tensors=[tensors[n] for n in names])


def checkpoints():
    folder = fresh("checkpoint")
    ramp = np.arange(6).reshape(2, 3)
    types = {t.name: tf.constant(ramp, t) for t in
             (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64,
              tf.uint64, tf.complex64)}
    types["bool"] = tf.constant([True, False, True])
    types["scalar"] = tf.constant(7.0)
    types["empty"] = tf.zeros([0, 3])
    types["int4"] = tf.cast(tf.constant([-8, -1, 0, 1, 7], tf.int8), dtypes.int4)
    types["uint4"] = tf.cast(tf.constant([0, 1, 15], tf.uint8), dtypes.uint4)
    types["strings"] = tf.constant([["", "a"], ["b" * 300, "\0\xff".encode("latin-1")]])
    types["a/b/.ATTRIBUTES/VARIABLE_VALUE"] = tf.constant([1.5])
    save(folder / "types", types)

    whole = tf.reshape(tf.range(4 * 600, dtype=tf.float32), [4, 600])
    save(folder / "sliced", {"rows@0": whole[:1], "rows@1": whole[1:], "columns@0": whole[:, :500], "columns@1": whole[:, 500:]},
         {"rows@0": "4 600 0,1:-", "rows@1": "4 600 1,3:-", "columns@0": "4 600 -:0,500", "columns@1": "4 600 -:500,100"})

    shards = [str(tf.raw_ops.ShardedFilename(basename=str(folder / "part"), shard=i, num_shards=2).numpy(), "utf-8") for i in range(2)]
    save(shards[0], {"first": tf.fill([3], 1.0)})
    save(shards[1], {"second": tf.fill([3], 2.0)})
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=shards, destination_prefix=str(folder / "sharded"), delete_old_dirs=False)

    state = fresh("checkpoint_state")
    save(state / "model-1", {"v": tf.constant(1.0)})
    save(state / "model-2", {"v": tf.constant(2.0)})
    (state / "checkpoint").write_text('model_checkpoint_path: "/gone/model-2"\nall_model_checkpoint_paths: "/gone/model-1"\n')

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.get_variable("v", initializer=tf.constant([1.0]), use_resource=False)
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver([v], write_version=tf.compat.v1.train.SaverDef.V1).save(
            session, str(fresh("checkpoint_v1") / "old.ckpt"), write_meta_graph=False, write_state=False)


def keras():
    tf.keras.utils.set_random_seed(1)
    x = tf.keras.Input([4], name="features")
    y = tf.keras.Input([2], name="extra")
    a = tf.keras.layers.Dense(3, name="same")(x)
    b = tf.keras.layers.Dense(3, name="same_too")(y)
    model = tf.keras.Model([y, x], {"total": a + b, "product": a * b})
    for i, v in enumerate(model.weights):
        v.assign(tf.fill(v.shape, float(i + 1)))
    folder = fresh("keras3")
    model.export(str(folder), verbose=False)
    (folder / "fingerprint.pb").unlink()


class Twins(tf.Module):
    """Two variables of one name, which only the restore function tells apart; two signatures; an asset."""

    def __init__(self, vocabulary):
        super().__init__()
        self.first = tf.Variable([1.0, 1.0], name="twin")
        self.second = tf.Variable([2.0, 2.0], name="twin")
        self.vocabulary = tf.saved_model.Asset(str(vocabulary))

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "zebra"), tf.TensorSpec([2], tf.float32, "ant")])
    def add(self, zebra, ant):
        return {"b": zebra + self.first + ant, "a": zebra + self.second}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, "x")])
    def scale(self, x):
        return x * self.second


def twins():
    folder = fresh("twins")
    vocabulary = folder / "words.txt"
    vocabulary.write_text("a\nb\n")
    module = Twins(vocabulary)
    tf.saved_model.save(module, str(folder), signatures={"add": module.add, "scale": module.scale})
    vocabulary.unlink()
    (folder / "fingerprint.pb").unlink()


def signatures():
    """Signatures that share weights: one as it is, one that ONNX wants transposed; one signature has weights of its own, one no outputs."""
    class Model(tf.Module):
        def __init__(self):
            random = np.random.default_rng(0)
            self.dense = tf.Variable(random.normal(size=(48, 16)).astype(np.float32), name="dense")
            self.kernel = tf.Variable(random.normal(size=(3, 3, 4, 16)).astype(np.float32), name="kernel")
            self.own = tf.Variable(random.normal(size=(16, 32)).astype(np.float32), name="own")
            self.count = tf.Variable(0.0, name="count")

        @tf.function(input_signature=[tf.TensorSpec([None, 48], tf.float32, name="x")])
        def encode(self, x):
            return {"code": tf.nn.relu(x @ self.dense)}

        @tf.function(input_signature=[tf.TensorSpec([None, 48], tf.float32, name="x")])
        def project(self, x):
            return {"code": x @ self.dense @ self.own}

        @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 4], tf.float32, name="image")])
        def look(self, image):
            return {"seen": tf.nn.conv2d(image, self.kernel, 1, "SAME")}

        @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 4], tf.float32, name="image")])
        def glance(self, image):
            return {"seen": tf.nn.relu(tf.nn.conv2d(image, self.kernel, 2, "VALID"))}

        @tf.function(input_signature=[])
        def reset(self):
            self.count.assign(0.0)
            return {}

    folder = fresh("signatures")
    model = Model()
    names = ["encode", "project", "look", "glance", "reset"]
    tf.saved_model.save(model, str(folder), signatures={n: getattr(model, n) for n in names})
    (folder / "fingerprint.pb").unlink()


def tracked():
    """tf.saved_model.save of a Keras 3 layer: its variables are not what the restore function restores."""
    import keras

    class Twins(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(name="v", shape=(2,))
            self.shift = self.add_weight(name="v", shape=(2,))
            self.count = self.add_weight(name="count", shape=(), trainable=False)

        def call(self, x):
            self.count.assign_add(1.0)
            return x * self.scale - self.shift

    module = tf.Module()
    module.layer = layer = Twins(name="twins")

    @tf.function(input_signature=[tf.TensorSpec([3, 2], name="x")])
    def f(x):
        count = layer.count.value + 0.0
        return {"y": layer(x) + count}

    layer.build((3, 2))
    layer.set_weights([np.float32([1, 2]), np.float32([10, 20]), np.float32(7)])
    module.f = f
    folder = fresh("tracked")
    tf.saved_model.save(module, str(folder), signatures=f)
    (folder / "fingerprint.pb").unlink(missing_ok=True)


def states():
    """Models that change variables: read before and after, added to and subtracted from; of Keras; by references, as in TensorFlow 1."""
    class Module(tf.Module):
        def __init__(self):
            self.count = tf.Variable(5.0, name="count")
            self.after = tf.Variable(7.0, name="after")
            self.mean = tf.Variable(tf.ones([3]), name="mean")
            self.queue = tf.Variable(tf.zeros([4, 3]), name="queue")

        @tf.function(input_signature=[tf.TensorSpec([1, 3], tf.float32)])
        def __call__(self, x):
            rows = tf.concat([self.queue, x], 0)
            self.queue.assign(rows[1:])
            y = tf.reduce_mean(rows, 0) * self.count - self.mean
            self.count.assign_add(1.0)
            self.mean.assign_sub(x[0] * 0.1)
            self.after.assign_add(1.0)
            return y * self.after

    tf.saved_model.save(Module(), str(fresh("states/module")))
    keras = tf.keras.Sequential([tf.keras.Input(batch_shape=(2, 5, 3)), tf.keras.layers.LSTM(4, stateful=True, return_sequences=True)])
    keras.export(str(fresh("states/keras")), verbose=False)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3], name="x")
        total = v1.get_variable("total", [3], initializer=v1.ones_initializer(), use_resource=False)
        before = tf.identity(total) * 2.0
        with tf.control_dependencies([before]):
            after = v1.assign_add(total, x)
        y = tf.add(before, x * after, name="y")
        session.run(v1.global_variables_initializer())
        folder = fresh("states/tf1")
        folder.rmdir()
        v1.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})


def state_flow():
    """Models that change variables in loops, branches and functions, several times in one run; each signature is one order of reads and writes."""
    vector, row, number = tf.TensorSpec([2], tf.float32), tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32)

    class Module(tf.Module):
        def __init__(self):
            self.v = tf.Variable([1.0, 2.0], name="v")
            self.w = tf.Variable([3.0, -1.0], name="w")
            self.n = tf.Variable(0, name="n")
            self.big = tf.Variable(tf.reshape(tf.range(12.0), [4, 3]), name="big")
            self.queue = tf.Variable(tf.zeros([0, 2]), shape=[None, 2], name="queue")
            self.v_out = tf.Variable([1.0, 1.0], name="v_out")

        def twice(self, x):
            before = self.v.read_value()
            self.v.assign_add(x)
            between = self.v * 2.0
            self.v.assign(between + before)
            return {"y": self.v + before + between}

        def loop(self, x):
            def body(i, total):
                self.v.assign_add(x * tf.cast(i + 1, tf.float32))
                return i + 1, total + self.v

            _, total = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros([2])])
            return {"y": total, "z": self.v + 0.0}

        def branch(self, x):
            y = tf.cond(tf.reduce_sum(x) > 0, lambda: self.v.assign_add(x) + 1.0, lambda: self.w.assign(x) * 2.0)
            return {"y": y, "v_after": self.v * 1.0, "w_after": self.w * 1.0}

        def effect(self, x):  # no output needs the branch and the loop
            if tf.reduce_sum(x) > self.v[0]:
                self.v.assign(x)
            for _ in tf.range(self.n + 2):
                self.n.assign_add(1)
                if self.n > 4:
                    self.w.assign_sub(x)
            return {"y": x + 1.0}

        def swap(self, x):
            for _ in tf.range(3):
                before = self.v.read_value()
                self.v.assign(self.w + x)
                self.w.assign(before)
            return {"y": self.v - self.w}

        def until(self, x):  # the condition reads what the body writes
            while tf.reduce_sum(self.v) < 20.0:
                self.v.assign(self.v * 1.5 + tf.abs(x))
            return {"y": self.v + x}

        @tf.function
        def inner(self, x):
            self.v.assign_add(x)
            return self.v * 2.0

        def calls(self, x):
            a = self.inner(x)
            b = self.inner(a)
            self.w.assign(self.v + b)
            return {"y": a + b + self.inner(x) + self.w}

        def rows(self, x):
            for i in tf.range(4):
                self.big.scatter_nd_update([[i]], [x + self.big[i]])
                self.big[1, :2].assign(x[:2])
            return {"y": tf.gather(self.big, [0, 3])}

        def nested(self, x):
            for i in tf.range(2):
                for j in tf.range(3):
                    if j > i:
                        self.v.assign_add(x)
                    else:
                        self.w.assign(self.v + self.w)
            return {"y": self.w + 0.0}

        def sides(self, x, k):
            y = tf.switch_case(k, [lambda: self.v.assign_add(x), lambda: self.w.assign_sub(x), lambda: x * 1.0])
            return {"y": y + self.v + self.w}

        def rounds(self, x):  # the loop may make no round
            for _ in tf.range(tf.cast(tf.reduce_sum(x), tf.int32)):
                self.v.assign_add([1.0, 1.0])
            return {"y": self.v * x}

        def returned(self, x, k):  # a read that a branch and a loop return, and use
            def side():
                before = self.v.read_value()
                self.w.assign(before * 2.0)
                return before, before + 1.0

            y, z = tf.cond(k > 1, side, lambda: (x, x))
            last = x
            for _ in tf.range(k):
                last = self.w.read_value()
                x = x * 0.5 + last * 2.0
            return {"y": y, "z": z, "last": last, "x_after": x}

        def grown(self, x):  # the variable's size changes
            self.queue.assign(tf.concat([self.queue, [x]], 0))
            return {"y": self.queue * 1.0}

        def filled(self, x):
            tf.raw_ops.ResourceScatterUpdate(resource=self.big.handle, indices=[0, 2], updates=x[0])
            return {"y": self.big * 1.0}

        def named_alike(self, x):
            self.v.assign_add(x)
            self.v_out.assign(self.v * 2.0)
            return {"y": self.v_out + 0.0}

    module = Module()
    specs = {"rows": [row], "filled": [row], "sides": [vector, number], "returned": [vector, number]}
    names = ["twice", "loop", "branch", "effect", "swap", "until", "calls", "rows", "nested", "sides", "rounds", "returned", "grown", "filled",
             "named_alike"]
    functions = {n: tf.function(getattr(module, n), input_signature=specs.get(n, [vector])) for n in names}
    tf.saved_model.save(module, str(fresh("states/flow")), signatures=functions)

    class Noise(tf.Module):  # a seed that is read and moved on in a loop
        def __init__(self):
            self.seed = tf.keras.random.SeedGenerator(7)
            self.state = self.seed.state.value  # else nothing tracks it

        @tf.function(input_signature=[vector])
        def __call__(self, x):
            i = 0
            while i < 3:
                x += tf.keras.random.normal([2], seed=self.seed)
                i += 1
            return {"y": x}

    noise = Noise()
    tf.saved_model.save(noise, str(fresh("states/seed")), signatures=noise.__call__)


def references():
    """Variables of TensorFlow 1: references, which a node reads when it runs, and resources (*_r)."""
    v1 = tf.compat.v1

    def variables(name):
        return [v1.get_variable(f"{name}_{k}", [2], initializer=v1.constant_initializer(k + 1.0), use_resource=name.endswith("_r"))
                for k in range(2)]

    def write_reads_other(x, v, w):
        z = -v.read_value()
        with tf.control_dependencies([v1.assign_add(w, x), z]):
            two = v1.assign_add(v, w.read_value())
        return z - two

    def write_reads_itself(x, v, w):
        with tf.control_dependencies([v1.assign_add(v, x)]):
            return v1.assign_add(v, v.read_value()) + x

    def output_of_an_earlier_write(x, v, w):
        z = -v.read_value()
        with tf.control_dependencies([z]):
            one = v1.assign_add(v, x)
        late = tf.raw_ops.Neg(x=one)
        with tf.control_dependencies([late]):
            two = v1.assign_sub(v, w.read_value())
        return late + z * two

    def read_behind_a_branch(x, v, w):
        with tf.control_dependencies([v1.assign(v, x * 2.0)]):
            late = v.read_value()
        with tf.control_dependencies([late]):
            side = tf.reduce_sum(x) > 0
        return tf.cond(side, lambda: -late, lambda: x + w.read_value())

    def invariant_of_a_loop(x, v, w):
        with tf.control_dependencies([v1.assign_add(v, x)]):
            late = v.read_value()
        return v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + late), [0, x + w])[1]

    def assigned_behind_a_loop(x, v, w):
        y = v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + v), [0, x + w])[1]
        return v1.assign(v, y) * 1.0

    def nested_reads(x, v, w):
        some = tf.reduce_sum(x) > 0
        y = v1.cond(some, lambda: v1.cond(x[0] > 0, lambda: v * 3.0, lambda: x), lambda: x - w)
        return v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, v1.cond(some, lambda: a + w, lambda: a * v)), [0, y])[1]

    with tf.Graph().as_default(), v1.Session() as session:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [2], name="x")
        signatures = {}
        for f in (write_reads_other, write_reads_itself, output_of_an_earlier_write, read_behind_a_branch, invariant_of_a_loop,
                  assigned_behind_a_loop, nested_reads):
            for name in (f.__name__, f.__name__ + "_r"):
                signatures[name] = v1.saved_model.predict_signature_def({"x": x}, {"y": tf.identity(f(x, *variables(name)))})
        v1.enable_control_flow_v2()
        session.run(v1.global_variables_initializer())
        folder = fresh("states/references")
        folder.rmdir()
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def tf1():
    v1 = tf.compat.v1

    def rows(shape, dtype, partition_info):
        offset, width = partition_info.var_offset[0], shape[1]
        return tf.reshape(tf.range(offset * width, (offset + shape[0]) * width, dtype=dtype), shape)

    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        ref = v1.get_variable("ref", initializer=tf.fill([4], 3.0), use_resource=False)
        resource = v1.get_variable("resource", initializer=tf.fill([4], 4.0), use_resource=True)
        table = v1.get_variable("table", shape=[5, 4], initializer=rows,
                                partitioner=v1.fixed_size_partitioner(2), use_resource=False)
        y = tf.identity(x * ref + resource + tf.reduce_sum(tf.convert_to_tensor(table)), "y")
        session.run(v1.global_variables_initializer())
        meta = fresh("meta_graph")
        v1.train.Saver().save(session, str(meta / "model.ckpt"), write_state=False)
        tf.io.write_graph(session.graph_def, str(meta), "graph.pb", as_text=False)
        folder = fresh("tf1")
        shutil.rmtree(folder)
        builder = v1.saved_model.Builder(str(folder))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.add_meta_graph(["serve", "tpu"], {"serving_default": signature})
        builder.save()


def text():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        v = v1.get_variable("v", initializer=tf.fill([2], 5.0), use_resource=True)
        y = tf.identity(x * v, "y")
        session.run(v1.global_variables_initializer())
        folder = fresh("text")
        shutil.rmtree(folder)
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})},
                                             strip_default_attrs=True)
        builder.save(as_text=True)
        v1.train.export_meta_graph(str(folder / "graph.meta"), graph_def=session.graph_def, as_text=True)
        tf.io.write_graph(session.graph_def, str(folder), "graph.pbtxt")


def gathered():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        i, j = v1.placeholder(tf.int32, [None], "i"), v1.placeholder(tf.int64, [None, 2], "j")
        ramp = np.arange(12).reshape(4, 3)
        outputs = {}
        for name, values in (("real", ramp.astype(np.float32)), ("complex", (ramp - 20j * ramp).astype(np.complex64))):
            v = v1.get_variable(name, initializer=values, use_resource=True)
            rows = tf.raw_ops.ResourceGather(resource=v.handle, indices=i, dtype=values.dtype, name=name + "_rows")
            elements = tf.raw_ops.ResourceGatherNd(resource=v.handle, indices=j, dtype=values.dtype, name=name + "_elements")
            outputs |= {rows.op.name: rows, elements.op.name: elements}
        session.run(v1.global_variables_initializer())
        folder = fresh("gathered")
        shutil.rmtree(folder)
        v1.saved_model.simple_save(session, str(folder), {"i": i, "j": j}, outputs)


if __name__ == "__main__":
    checkpoints()
    keras()
    twins()
    signatures()
    tracked()
    states()
    state_flow()
    references()
    tf1()
    text()
    gathered()
