"""The sample models that scripts/make_tflite_op_models.py writes, by name, and numbers for them."""
import zlib

import numpy as np

MODELS = {}


def model(f):
    MODELS[f.__name__] = f
    return f


def numbers(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return lambda *shape, scale=0.5: rng.normal(0, scale, shape).astype("float32")
