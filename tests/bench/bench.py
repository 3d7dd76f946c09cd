#!/usr/bin/env python3
"""Measures what the program promises about speed and memory, as ratios within one run. Needs Python alone.

    bench.py PROGRAM [--models DIR] [--peer PYTHON] [--quick]

  help      wall time of --help
  scaling   CPU time of a chain of 50,000, 100,000 and 200,000 nodes, and the ratio for each doubling
  weights   CPU time of converting a frozen graph of 500 MB, against `cp` of the same bytes to a new file; peak memory
  models    with --models: each SavedModel below DIR (DIR/*/saved_model): wall, CPU, peak memory and, for big ones, against cp;
            with --peer (a Python that has tf2onnx, and openvino if you like): the ratio of wall times
            and each TensorFlow Lite model DIR/*.tflite: the same, with a bound of the file and 40 MB, and 200 times the peer's speed

Exits with 1 when a bound is missed. The bounds stand beside the measurements.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

MISSED = []


# ---- GraphDef, written by hand: the few wire types that it takes
def varint(n):
    out = bytearray()
    while True:
        out.append((n & 0x7F) | (0x80 if n > 0x7F else 0))
        n >>= 7
        if not n:
            return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def attr(name, value):
    return field(5, field(1, name.encode()) + field(2, value))


DT_FLOAT = b"\x30\x01"  # AttrValue.type = DT_FLOAT


def node(name, op, inputs=(), attrs=b""):
    return field(1, field(1, name.encode()) + field(2, op.encode()) + b"".join(field(3, i.encode()) for i in inputs) + attrs)


def shape(dims):
    return b"".join(field(2, b"\x08" + varint(d)) for d in dims)


def placeholder(name, dims):
    return node(name, "Placeholder", (), attr("dtype", DT_FLOAT) + attr("shape", field(7, shape(dims))))


def chain(path, nodes):
    with open(path, "wb") as f:
        f.write(placeholder("x", [4]))
        last = "x"
        for i in range(nodes):
            op, inputs = (("Relu", [last]), ("AddV2", [last, "x"]), ("Tanh", [last]))[i % 3]
            f.write(node(f"block{i // 100}/n{i}", op, inputs, attr("T", DT_FLOAT)))
            last = f"block{i // 100}/n{i}"
        f.write(node("y", "Identity", [last], attr("T", DT_FLOAT)))


def heavy(path, megabytes):
    """x @ W0 @ W1 ...: matrices of 4 MB each."""
    with open(path, "wb") as f:
        f.write(placeholder("x", [1, 1024]))
        last = "x"
        for i in range(megabytes // 4):
            content = os.urandom(4096) * 1024
            tensor = b"\x08\x01" + field(2, shape([1024, 1024])) + field(4, content)
            f.write(node(f"w{i}", "Const", (), attr("dtype", DT_FLOAT) + attr("value", field(8, tensor))))
            f.write(node(f"m{i}", "MatMul", [last, f"w{i}"], attr("T", DT_FLOAT)))
            last = f"m{i}"
        f.write(node("y", "Identity", [last], attr("T", DT_FLOAT)))


# ---- measuring
class Run:
    def __init__(self, argv):
        start = time.perf_counter()
        p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
        self.err = p.stderr.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        self.wall, self.cpu, self.mb, self.code = time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, p.returncode
        if self.code != 0:
            print(f"FAILED ({self.code}): {' '.join(argv)}\n{self.err[-800:]}")
            MISSED.append("a command failed")


def best(argv, times, clean=None):
    runs = []
    for _ in range(times):
        for path in (clean, f"{clean}.data") if clean else ():
            if os.path.exists(path):
                os.remove(path)
        runs.append(Run(argv))
    return min(runs, key=lambda r: r.cpu)


def say(label, text, value=None, bound=None):
    missed = bound is not None and value > bound
    if missed:
        MISSED.append(label)
    print(f"{label:34s} {text}" + (f"   (bound {bound:g}{': MISSED' if missed else ''})" if bound is not None else ""), flush=True)


def size_of(path):
    return sum(os.path.getsize(f) for f in glob.glob(f"{path}/**", recursive=True) if os.path.isfile(f)) if os.path.isdir(path) else os.path.getsize(path)


def against_cp(label, convert, out, tmp, runs=3):
    ours = best(convert, runs, out)
    produced = size_of(out) + (size_of(out + ".data") if os.path.exists(out + ".data") else 0)
    blob = f"{tmp}/blob"
    with open(blob, "wb") as f:
        for _ in range(produced >> 20):
            f.write(b"\1" * (1 << 20))
    copy = best(["cp", "--sparse=never", "--reflink=never", blob, f"{tmp}/blob2"], runs, f"{tmp}/blob2")
    os.remove(blob)
    os.remove(f"{tmp}/blob2")
    say(label, f"CPU {ours.cpu:.2f} s, cp {copy.cpu:.2f} s: {ours.cpu / copy.cpu:.2f} times cp", ours.cpu / copy.cpu, 2.5)
    say(label, f"peak memory {ours.mb:.0f} MB of {produced / 1e6:.0f} MB", ours.mb, 400)


def models(a, tmp):
    for path in sorted(glob.glob(f"{a.models}/*/saved_model")):
        name, out = os.path.basename(os.path.dirname(path)), f"{tmp}/m.onnx"
        ours = best([a.program, path, "-o", out, "-q"], 1 if a.quick else 3, out)
        if ours.code != 0:
            continue
        weights = (os.path.getsize(out) + (os.path.getsize(out + ".data") if os.path.exists(out + ".data") else 0)) / 1e6
        say(name, f"wall {ours.wall * 1e3:.0f} ms, CPU {ours.cpu * 1e3:.0f} ms, peak {ours.mb:.0f} MB for {weights:.0f} MB", ours.mb, weights + 60)
        if weights > 400:
            against_cp(name, [a.program, path, "-o", out, "-q"], out, tmp)
        elif a.peer:
            peer = Run([a.peer, "-m", "tf2onnx.convert", "--saved-model", path, "--output", f"{tmp}/p.onnx"])
            say(name, f"peer wall {peer.wall:.1f} s: {peer.wall / ours.wall:.0f} times ours")
            probe = Run([a.peer, "-c", f"import openvino, time; t = time.perf_counter(); openvino.convert_model({path!r}); import sys; print(time.perf_counter() - t, file=sys.stderr)"])
            if probe.code == 0:
                say(name, f"openvino in process {float(probe.err.split()[-1]):.2f} s: {float(probe.err.split()[-1]) / ours.wall:.1f} times ours")


def lite_models(a, tmp):
    for path in sorted(glob.glob(f"{a.models}/*.tflite")):
        name, out = os.path.basename(path), f"{tmp}/m.onnx"
        ours = best([a.program, path, "-o", out, "-q"], 1 if a.quick else 5, out)
        if ours.code != 0:
            continue
        file = os.path.getsize(path) / 1e6
        say(name, f"wall {ours.wall * 1e3:.0f} ms, CPU {ours.cpu * 1e3:.0f} ms, peak {ours.mb:.0f} MB for {file:.1f} MB", ours.mb, file + 40)
        if a.peer:
            peer = Run([a.peer, "-m", "tf2onnx.convert", "--tflite", path, "--output", f"{tmp}/p.onnx"])
            say(name, f"peer CPU {peer.cpu:.1f} s, peak {peer.mb:.0f} MB: {peer.cpu / ours.cpu:.0f} times ours", -peer.cpu / ours.cpu, -200)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("program")
    ap.add_argument("--models")
    ap.add_argument("--peer")
    ap.add_argument("--quick", action="store_true")
    a = ap.parse_args()
    tmp = tempfile.mkdtemp(prefix="bench_")
    try:
        help_ = min((Run([a.program, "--help"]) for _ in range(20)), key=lambda r: r.wall)
        say("--help", f"{help_.wall * 1e3:.1f} ms wall, {help_.cpu * 1e3:.1f} ms CPU", help_.wall * 1e3, 5)
        cpu = {}
        for n in (50_000, 100_000, 200_000):
            chain(f"{tmp}/chain.pb", n)
            cpu[n] = best([a.program, f"{tmp}/chain.pb", "-o", f"{tmp}/c.onnx", "-q"], 2 if a.quick else 4).cpu
        say("100,000 nodes", f"CPU {cpu[100_000]:.2f} s", cpu[100_000], 1.5)
        for n in (100_000, 200_000):
            say(f"{n // 2:,} -> {n:,} nodes", f"{cpu[n] / cpu[n // 2]:.2f} times", cpu[n] / cpu[n // 2], 2.3)
        heavy(f"{tmp}/heavy.pb", 100 if a.quick else 500)
        against_cp("frozen graph of weights", [a.program, f"{tmp}/heavy.pb", "-o", f"{tmp}/h.onnx", "-q"], f"{tmp}/h.onnx", tmp)
        os.remove(f"{tmp}/heavy.pb")
        if a.models:
            models(a, tmp)
            lite_models(a, tmp)
    finally:
        shutil.rmtree(tmp)
    print("all bounds hold" if not MISSED else f"MISSED: {', '.join(MISSED)}")
    return 1 if MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
