#!/usr/bin/env python3
"""Makes the sample models of models/ (needs: tensorflow numpy). Deterministic but for TensorFlow's own file formats.

    make_models.py [models]

mnist           TF2 SavedModel: a small convolutional classifier of 28x28 images; signatures serving_default and train_step
mnist_frozen.pb the same network as a frozen GraphDef: input x:0, output probabilities:0
mnist_tf1       TF1: MetaGraph and checkpoint (mnist.meta, mnist.index, mnist.data-...) of the same network with variables
"""
import os
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "models")


def initial(rng, *shape):
    return (rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def weights():
    rng = np.random.default_rng(28)
    return {"conv1": initial(rng, 3, 3, 1, 8), "bias1": initial(rng, 8), "conv2": initial(rng, 3, 3, 8, 16), "bias2": initial(rng, 16),
            "dense": initial(rng, 7 * 7 * 16, 10), "bias3": initial(rng, 10)}


def network(x, w):
    x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w["conv1"], 1, "SAME"), w["bias1"]))
    x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w["conv2"], 1, "SAME"), w["bias2"]))
    x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    return tf.matmul(tf.reshape(x, [-1, 7 * 7 * 16]), w["dense"]) + w["bias3"]


class Mnist(tf.Module):
    def __init__(self):
        super().__init__("mnist")
        self.w = {k: tf.Variable(v, name=k) for k, v in weights().items()}

    @tf.function(input_signature=[tf.TensorSpec([None, 28, 28, 1], tf.float32, "image")])
    def classify(self, image):
        return {"probabilities": tf.nn.softmax(network(image, self.w))}

    @tf.function(input_signature=[tf.TensorSpec([None, 28, 28, 1], tf.float32, "image"), tf.TensorSpec([None], tf.int32, "label")])
    def train_step(self, image, label):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, network(image, self.w)))
        variables = list(self.w.values())
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(0.1 * g)
        return {"loss": loss}


def saved_model():
    m = Mnist()
    tf.saved_model.save(m, f"{OUT}/mnist", signatures={"serving_default": m.classify, "train_step": m.train_step})


def frozen():
    with tf.Graph().as_default() as g:
        x = tf.compat.v1.placeholder(tf.float32, [None, 28, 28, 1], "x")
        tf.nn.softmax(network(x, {k: tf.constant(v, name=k) for k, v in weights().items()}), name="probabilities")
        with open(f"{OUT}/mnist_frozen.pb", "wb") as f:
            f.write(g.as_graph_def().SerializeToString(deterministic=True))


def tf1_checkpoint():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None, 28, 28, 1], "x")
        w = {k: tf.compat.v1.get_variable(k, initializer=v, use_resource=False) for k, v in weights().items()}
        tf.nn.softmax(network(x, w), name="probabilities")
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver().save(session, f"{OUT}/mnist_tf1/mnist", write_state=False)


for name in ("mnist", "mnist_tf1"):
    shutil.rmtree(f"{OUT}/{name}", ignore_errors=True)
os.makedirs(f"{OUT}/mnist_tf1")
saved_model()
frozen()
tf1_checkpoint()
