#!/usr/bin/env python3
"""Runs our exports in several ONNX runtimes, and writes which are right: docs/scoreboard.md.

    scoreboard.py PROGRAM [FOLDER...] [--out FILE] [--check] [--only REGEX] [--runtimes A,B] [--opsets 13,17,21] [--options "..."]

Without FOLDER it takes the models of the repository. A FOLDER holds folders, each with a saved_model or a frozen.pb (and frozen.json) and,
for the inputs and expected outputs, a test_data_set_0 as the ONNX model zoo has it. Where there is none, the inputs are random, and the newest
ONNX Runtime gives the expected outputs; TensorFlow confirms them where it is installed (tf2onnx-cpp verify).

Each runtime has an environment of its own, made by pip in the cache folder. Each run is a process with a time limit. --check compares with
the page that is there, writes nothing, and fails where an export that was right gives wrong numbers now.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "scoreboard.md")
CACHE = os.path.join(os.environ.get("TF2ONNX_CACHE", os.path.expanduser("~/.cache/tf2onnx-cpp")), "scoreboard")
RUN = os.path.join(ROOT, "scripts", "lib", "run_export.py")
OPSETS = (13, 17, 21)

# title: (runner, packages). The first one gives the expected outputs.
RUNTIMES = {
    "ONNX Runtime 1.31": ("onnxruntime", ["onnxruntime==1.31.1", "onnx==1.23.2", "numpy==2.3.5"]),
    "ONNX Runtime 1.18": ("onnxruntime", ["onnxruntime==1.18.1", "numpy==1.26.4"]),
    "OpenVINO 2026.4": ("openvino", ["openvino==2026.4.1", "numpy==2.3.5"]),
    "ReferenceEvaluator 1.23": ("reference", ["onnx==1.23.2", "numpy==2.3.5"]),
    "tract 0.23": ("tract", ["tract==0.23.9", "numpy==2.3.5"]),
    "OpenCV 5.0": ("opencv", ["opencv-python-headless==5.0.0.93", "numpy==2.3.5"]),
}
LETTERS = {"right": "o", "wrong": "W", "refused": "R", "crashed": "C", "late": "L", "none": "-"}
REPO_MODELS = ("models/mnist", "models/mnist_frozen.pb", "models/mnist_tf1/mnist.meta", "tests/data/keras3", "tests/data/nets/*.pb",
               "tests/data/jax/*.pb")


# ---- environments

def environment(title):
    """The Python of a runtime; made when it is missing."""
    folder = os.path.join(CACHE, re.sub(r"[^a-z0-9.]+", "-", title.lower()))
    python, done = os.path.join(folder, "bin", "python"), os.path.join(folder, "installed")
    packages = "\n".join(RUNTIMES[title][1])
    if not os.path.exists(done) or open(done).read() != packages:
        print(f"installing {title}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *RUNTIMES[title][1]], check=True)
        with open(done, "w") as f:
            f.write(packages)
    return python


# ---- models

Model = collections.namedtuple("Model", "name source options data")


def repo_models():
    import glob
    for pattern in REPO_MODELS:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            yield Model(os.path.relpath(path, ROOT), path, [], None)


def zoo_models(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        data = os.path.join(path, "test_data_set_0")
        data = data if os.path.isdir(data) else None
        if os.path.isdir(os.path.join(path, "saved_model")):
            yield Model(name, os.path.join(path, "saved_model"), [], data)
        elif os.path.exists(os.path.join(path, "frozen.pb")):
            names = json.load(open(os.path.join(path, "frozen.json"))) if os.path.exists(os.path.join(path, "frozen.json")) else {}
            options = [w for k in ("inputs", "outputs") if k in names for w in ("--" + k, ",".join(names[k]))]
            yield Model(name, os.path.join(path, "frozen.pb"), options, data)


# ---- runs

def call(command, limit):
    """The answer of run_export.py."""
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env, errors="replace")
    except subprocess.TimeoutExpired:
        return {"verdict": "late", "why": f"more than {limit} s"}
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"verdict": "crashed", "why": f"exit code {done.returncode} {last}"[:300]}


class Board:
    def __init__(self, args, titles, opsets, scratch):
        self.args, self.titles, self.opsets, self.scratch = args, titles, opsets, scratch
        self.pythons = {t: environment(t) for t in {*titles, next(iter(RUNTIMES))}}

    def export(self, model, opset):
        path = os.path.join(self.scratch, f"{opset}.onnx")
        command = [self.args.program, model.source, "-o", path, "--opset", str(opset), "-q", *model.options, *self.args.options.split()]
        return path if subprocess.run(command, capture_output=True).returncode == 0 else None

    def expected(self, model, exports):
        """The file with inputs and expected outputs, or the reason why there is none."""
        path = exports.get(21) or next((p for p in reversed(exports.values()) if p), None)
        if not path:
            return None, "does not convert"
        data = os.path.join(self.scratch, "data.npz")
        answer = call([self.pythons[next(iter(RUNTIMES))], RUN, "truth", path, data] + ([model.data] if model.data else []), self.args.limit)
        if answer["verdict"] != "right":
            return None, answer["why"]
        if answer["why"] == "computed":
            confirm = [self.args.program, "verify", model.source, path, *model.options, "--input-data", data[:-len(".npz")] + ".feed.npz", "-q"]
            if subprocess.run(confirm, capture_output=True).returncode == 3:
                return None, "TensorFlow gives other results"
        return data, ""

    def run(self, model):
        """{title: {opset: answer}}, or the reason why the model is left out."""
        exports = {o: self.export(model, o) for o in self.opsets}
        data, why = self.expected(model, exports)
        if not data:
            return why
        none = {"verdict": "none", "why": ""}
        return {t: {o: call([self.pythons[t], RUN, RUNTIMES[t][0], p, data], self.args.limit) if p else none for o, p in exports.items()}
                for t in self.titles}


# ---- the page

def counts(results, titles, opsets):
    yield "| runtime | opset | " + " | ".join(LETTERS) + " |"
    yield "|---|--:|" + "--:|" * len(LETTERS)
    for t in titles:
        for o in opsets:
            found = collections.Counter(r[t][o]["verdict"] for r in results.values())
            yield f"| {t} | {o} | " + " | ".join(str(found[v]) for v in LETTERS) + " |"


def grid(results, titles, opsets):
    yield "| model | " + " | ".join(titles) + " |"
    yield "|---|" + "---|" * len(titles)
    for name, r in results.items():
        yield f"| {name} | " + " | ".join("`" + "".join(LETTERS[r[t][o]["verdict"]] for o in opsets) + "`" for t in titles) + " |"


def plain(why):
    """One line without what changes from run to run."""
    why = re.sub(r"(/[\w.+-]+)+/", "", why)
    why = re.sub(r"0x[0-9a-f]+|\x1b\[[0-9;]*m", "", why)
    return re.sub(r"[|`<>*_\s]+", " ", why)[:160].strip()


def reasons(results, titles, opsets):
    for t in titles:
        found = collections.defaultdict(list)
        for name, r in results.items():
            for o in opsets:
                if r[t][o]["verdict"] not in ("right", "none"):
                    found[r[t][o]["verdict"] + ": " + plain(r[t][o]["why"])].append((name, o))
        if found:
            yield f"\n**{t}**\n"
        for why, cells in found.items():
            names = collections.defaultdict(list)
            for name, o in cells:
                names[name].append(str(o))
            yield f"- {why} ({'; '.join(n + ' ' + ', '.join(os_) for n, os_ in names.items())})"


def page(results, left_out, titles, opsets):
    columns = ", ".join(map(str, opsets))
    lines = ["# Scoreboard", "", "<!-- Written by scripts/scoreboard.py. -->", "",
             "Our exports in other ONNX runtimes: the models of this repository on one set of inputs each, with a tolerance of 1e-3. TensorFlow confirms the",
             "expected outputs. *Wrong* are exports that run and give other numbers, *refused* those that a runtime does not load or run with an error,",
             "*crashed* those at which its process dies, *late* those that take too long, *none* the opsets that the model does not convert to.", "",
             *counts(results, titles, opsets), "",
             f"Below, a cell has a letter for each of the opsets {columns}: o right, W wrong, R refused, C crashed, L late, - not exported.", "",
             *grid(results, titles, opsets), ""]
    if left_out:
        lines += ["Left out:", "", *(f"- {n}: {why}" for n, why in left_out.items()), ""]
    lines += ["## First errors", *reasons(results, titles, opsets), ""]
    return "\n".join(lines)


def read_page(path):
    """{(model, title): letters} of a page, and its opsets."""
    titles, cells, opsets = [], {}, OPSETS
    for line in open(path):
        told = re.match(r"Below, a cell has a letter for each of the opsets ([\d, ]+):", line)
        if told:
            opsets = tuple(int(o) for o in told.group(1).split(","))
        words = [w.strip() for w in line.strip().strip("|").split("|")]
        if words[0] == "model":
            titles = words[1:]
        elif titles and len(words) == len(titles) + 1 and words[1].startswith("`"):
            cells.update({(words[0], t): w.strip("`") for t, w in zip(titles, words[1:])})
    return cells, opsets


def turned_wrong(before, opsets, results):
    for (name, title), letters in before.items():
        for o, letter in zip(opsets, letters):
            now = results.get(name, {}).get(title, {}).get(o)
            if letter == "o" and now and now["verdict"] == "wrong":
                yield f"{name}, opset {o}, {title}: was right, is wrong now: {now['why']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--out", default=PAGE)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--runtimes", default="", help="parts of their names")
    parser.add_argument("--opsets", default=",".join(map(str, OPSETS)))
    parser.add_argument("--options", default="", help="more options for the program")
    parser.add_argument("--limit", type=int, default=120, help="seconds for a run")
    args = parser.parse_args()
    if args.out == PAGE and not args.check and (args.only or args.folders or args.runtimes != parser.get_default("runtimes")):
        parser.error("a page of some models or runtimes needs --out FILE")
    wanted = args.runtimes.lower().split(",")
    titles = [t for t in RUNTIMES if any(w in t.lower() for w in wanted)]
    opsets = tuple(int(o) for o in args.opsets.split(","))
    models = [m for f in args.folders for m in zoo_models(f)] if args.folders else list(repo_models())
    results, left_out = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        board = Board(args, titles, opsets, scratch)
        for model in (m for m in models if re.search(args.only, m.name)):
            found = board.run(model)
            (left_out if isinstance(found, str) else results)[model.name] = found
            shown = found if isinstance(found, str) else "  ".join("".join(LETTERS[a["verdict"]] for a in r.values()) for r in found.values())
            print(f"{model.name}: {shown}", file=sys.stderr, flush=True)
    if not results:
        print("no model was run")
        return 1
    if args.check:
        bad = list(turned_wrong(*read_page(args.out), results))
        print("\n".join(bad) or "nothing that was right is wrong now")
        return 1 if bad else 0
    with open(args.out, "w") as f:
        f.write(page(results, left_out, titles, opsets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
