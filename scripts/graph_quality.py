#!/usr/bin/env python3
"""Compares our exports with those of tf2onnx: nodes, transposes, loops, and the time that ONNX Runtime takes for them.

    graph_quality.py PROGRAM MODELS [--only REGEX] [--opset N] [--peer-opset N] [--cache DIR] [--markdown FILE]

MODELS is a folder of folders, each with a saved_model and, for its inputs, a test_data_set_0 with input_<i>.pb files as the ONNX
model zoo has them. To be run by a Python that has numpy, onnx, onnxruntime and, for the peer's exports, tf2onnx with TensorFlow;
these are kept in the cache, for they take long. Times are medians of interleaved runs in one process, on one thread.
"""
import argparse
import collections
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort

RECURRENT = ("LSTM", "GRU", "RNN")


def counts(path):
    """Nodes by operator, those of subgraphs included."""
    found = collections.Counter()
    todo = [onnx.load(path, load_external_data=False).graph]
    while todo:
        for node in todo.pop().node:
            found[node.op_type] += 1
            todo += [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return found


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(model, folder):
    """The stored inputs by position or by name, as the session wants them."""
    stored = []
    for i in range(len(glob.glob(f"{folder}/input_*.pb"))):
        tensor = onnx.TensorProto()
        with open(f"{folder}/input_{i}.pb", "rb") as f:
            tensor.ParseFromString(f.read())
        stored.append((tensor.name.split(":")[0], onnx.numpy_helper.to_array(tensor)))
    by_name = dict(stored)
    wanted = [i.name for i in model.get_inputs()]
    if all(n.split(":")[0] in by_name for n in wanted):
        return {n: by_name[n.split(":")[0]] for n in wanted}
    return {n: value for n, (_, value) in zip(wanted, stored)}


def medians(models, feeds, seconds=1.0):
    """Interleaved, so that a busy machine is busy for both."""
    times = [[] for _ in models]
    for model, values in zip(models, feeds):
        model.run(None, values)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for model, values, list_ in zip(models, feeds, times):
            start = time.perf_counter()
            model.run(None, values)
            list_.append(time.perf_counter() - start)
    return [statistics.median(t) * 1000 for t in times]


def ours(program, saved_model, opset, out):
    done = subprocess.run([program, saved_model, "--opset", str(opset), "-o", out], capture_output=True, text=True)
    return done.returncode == 0


def peers(saved_model, opset, cached):
    if not os.path.exists(cached):
        subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", saved_model, "--opset", str(opset), "--output", cached],
                       capture_output=True, text=True)
    return os.path.exists(cached)


def measure(args, name, folder, scratch):
    mine, cached = f"{scratch}/{name}.onnx", f"{args.cache}/{name}-{args.peer_opset}.onnx"
    if not ours(args.program, f"{folder}/saved_model", args.opset, mine):
        return {"name": name, "note": "refused"}
    row = {"name": name, "mine": counts(mine), "note": ""}
    paths = [mine]
    if peers(f"{folder}/saved_model", args.peer_opset, cached):
        row["peer"] = counts(cached)
        paths.append(cached)
    try:
        session(paths[-1])
    except Exception:  # the peer writes files that do not load
        paths, row["note"] = [mine], "tf2onnx's file does not load"
    row["ms"] = [statistics.mean(t) for t in zip(*(in_order(paths, o, folder) for o in (1, -1)))]
    return row


def in_order(paths, step, folder):
    """Of two models that are the same the one that is loaded first takes a hundredth longer: each is once the first."""
    models = [session(p) for p in paths[::step]]
    return medians(models, [feed(m, f"{folder}/test_data_set_0") for m in models])[::step]


def line(row):
    if "mine" not in row:
        return f"| {row['name']} | - | - | - | - | - | - | {row['note']} |"
    mine, peer, ms = row["mine"], row.get("peer"), row["ms"]
    both = lambda f: (str(f(mine)), str(f(peer)) if peer else "-")
    nodes, transposes = both(lambda c: sum(c.values())), both(lambda c: c["Transpose"])
    loops = both(lambda c: f"{sum(c[o] for o in RECURRENT)} / {c['Loop'] + c['Scan']}")
    latency = f"{ms[0]:.3g} | {ms[1]:.3g} | {ms[0] / ms[1]:.2f}" if len(ms) == 2 else f"{ms[0]:.3g} | - | -"
    return f"| {row['name']} | {nodes[0]} | {nodes[1]} | {transposes[0]} | {transposes[1]} | {loops[0]} | {loops[1]} | {latency} | {row['note']} |"


HEAD = """| model | nodes | tf2onnx | transposes | tf2onnx | RNN / loops | tf2onnx | ms | tf2onnx | ratio | |
|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("models")
    p.add_argument("--only", default="")
    p.add_argument("--opset", type=int, default=21)
    p.add_argument("--peer-opset", type=int, default=18, help="18 is tf2onnx's highest")
    p.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "tf2onnx-exports"))
    p.add_argument("--markdown", help="also write the table between the marks of this page")
    args = p.parse_args()
    os.makedirs(args.cache, exist_ok=True)
    lines = [HEAD]
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for folder in sorted(glob.glob(f"{args.models}/*")):
            name = os.path.basename(folder)
            if os.path.isdir(f"{folder}/saved_model") and re.search(args.only, name):
                lines.append(line(measure(args, name, folder, scratch)))
                print(lines[-1], flush=True)
    if args.markdown:
        with open(args.markdown) as f:
            before, _, rest = f.read().partition("<!-- table -->\n")
        after = rest.partition("<!-- end of table -->\n")[2]
        with open(args.markdown, "w") as f:
            f.write(before + "<!-- table -->\n" + "\n".join(lines) + "\n<!-- end of table -->\n" + after)


if __name__ == "__main__":
    main()
