"""Runs one ONNX model in one runtime and judges its results. scoreboard.py starts it, once for each run, in the runtime's own environment.

    run_export.py truth MODEL.onnx DATA.npz [TEST_DATA_SET]   writes inputs and expected outputs to DATA.npz
    run_export.py RUNTIME MODEL.onnx DATA.npz                 prints {"verdict": "right" or "wrong" or "refused", "why": ...}

DATA.npz holds arrays in:NAME and out:NAME. A runtime that dies has crashed: then nothing is printed.
"""
import glob
import json
import os
import sys

import numpy as np

TOLERANCE = 1e-3


# ---- what each runtime takes; a runner gets the path, the inputs by name and the names of the outputs, and gives arrays by name

def run_onnxruntime(path, feed, names):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, feed)))


def run_openvino(path, feed, names):
    import openvino as ov
    exact = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    model = ov.Core().compile_model(path, "CPU", exact)
    found = model({n: x for n, x in feed.items()})
    return {n: found[model.output(n)] for n in names}


def run_reference(path, feed, names):
    import onnx.reference
    return dict(zip(names, onnx.reference.ReferenceEvaluator(path).run(names, feed)))


def run_tract(path, feed, names):
    import tract
    model = tract.onnx().load(path)
    order = [model.input_name(i) for i in range(model.input_count())]
    for i, name in enumerate(order):
        x = feed[name]
        kind = {"float32": "f32", "float64": "f64", "bool": "bool"}.get(x.dtype.name, x.dtype.name.replace("uint", "u").replace("int", "i"))
        model.set_input_fact(i, ",".join([str(d) for d in x.shape] + [kind]))
    for i in range(model.output_count()):
        model.set_output_fact(i, None)
    outputs = [model.output_name(i) for i in range(model.output_count())]
    results = model.into_model().into_runnable().run([feed[n] for n in order])
    found = dict(zip(outputs, (r.to_numpy() for r in results)))
    return found if set(names) <= set(found) else dict(zip(names, found.values()))


def run_opencv(path, feed, names):
    import cv2
    cv2.setNumThreads(1)
    net = cv2.dnn.readNetFromONNX(path)
    for name, x in feed.items():
        net.setInput(x, name)
    return dict(zip(names, net.forward(names)))


RUNNERS = {"onnxruntime": run_onnxruntime, "openvino": run_openvino, "reference": run_reference, "tract": run_tract, "opencv": run_opencv}


# ---- inputs and expected outputs

def stored(folder, kind):
    import onnx
    import onnx.numpy_helper
    found = []
    for i in range(len(glob.glob(f"{folder}/{kind}_*.pb"))):
        tensor = onnx.TensorProto()
        with open(f"{folder}/{kind}_{i}.pb", "rb") as f:
            tensor.ParseFromString(f.read())
        found.append((tensor.name.split(":")[0], onnx.numpy_helper.to_array(tensor)))
    return found


def by_name(names, found):
    """The stored tensors by their names, or in their order where the names are others."""
    known = dict(found)
    if all(n.split(":")[0] in known for n in names):
        return {n: known[n.split(":")[0]] for n in names}
    return {n: x for n, (_, x) in zip(names, found)}


def random_input(rng, port):
    """Small numbers; 2 for the first open size, 7 for the others."""
    open_size = [2] + [7] * len(port.shape)
    shape = [d if isinstance(d, int) and d > 0 else open_size[i] for i, d in enumerate(port.shape)]
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_}.get(port.type[7:-1]) or np.dtype(port.type[7:-1])
    if np.issubdtype(dtype, np.floating):
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, 2, size=shape).astype(dtype)


def truth(path, data, folder):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs, names = session.get_inputs(), [o.name for o in session.get_outputs()]
    rng = np.random.default_rng(0)
    feed = by_name([i.name for i in inputs], stored(folder, "input")) if folder else {i.name: random_input(rng, i) for i in inputs}
    results = by_name(names, stored(folder, "output")) if folder else {}
    if set(results) != set(names):
        results = dict(zip(names, session.run(names, feed)))
    arrays = {"in:" + n: x for n, x in feed.items()} | {"out:" + n: x for n, x in results.items()}
    if any(x.dtype.kind in "OUS" for x in arrays.values()):
        return {"verdict": "refused", "why": "strings"}
    np.savez(data, **arrays)
    np.savez(data[:-len(".npz")] + ".feed.npz", **feed)
    return {"verdict": "right", "why": "stored" if folder else "computed"}


# ---- the judgement

def difference(found, expected, runtime):
    """Empty: they agree."""
    found, expected = np.asarray(found), np.asarray(expected)
    if runtime == "opencv" and found.size == expected.size:
        found = found.reshape(expected.shape)  # its tensors may have more axes of size 1
    if found.shape != expected.shape:
        return f"shape {found.shape}, not {expected.shape}"
    if found.size == 0:
        return ""
    with np.errstate(all="ignore"):
        ours, theirs = found.astype(np.float64), expected.astype(np.float64)
        bad = ~((np.abs(ours - theirs) <= TOLERANCE + TOLERANCE * np.abs(theirs)) | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        return f"{bad.mean():.1%} of the elements differ, by up to {np.nanmax(np.abs(ours - theirs)):.3g}" if bad.any() else ""


def judge(runtime, path, data):
    arrays = dict(np.load(data))
    feed = {n[3:]: x for n, x in arrays.items() if n.startswith("in:")}
    expected = {n[4:]: x for n, x in arrays.items() if n.startswith("out:")}
    try:
        results = RUNNERS[runtime](path, feed, list(expected))
    except Exception as e:  # whatever a runtime throws is its way of refusing
        why = " ".join(s.strip() for s in str(e).splitlines())
        return {"verdict": "refused", "why": f"{type(e).__name__}: {why}"[:600]}
    for name, x in expected.items():
        why = difference(results[name], x, runtime)
        if why:
            return {"verdict": "wrong", "why": f"{name}: {why}"}
    return {"verdict": "right", "why": ""}


def main():
    runtime, path, data = sys.argv[1:4]
    answer = truth(path, data, *(sys.argv[4:5] or [None])) if runtime == "truth" else judge(runtime, path, data)
    sys.stdout.flush()
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # some runtimes crash when they are unloaded


if __name__ == "__main__":
    main()
