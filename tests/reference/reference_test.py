#!/usr/bin/env python3
"""Runs the exports of the sample models in onnx's ReferenceEvaluator, which computes by the text of the standard, and compares with ONNX
Runtime.

    reference_test.py PROGRAM [--only REGEX] [--opsets 13,21]

known_differences.tsv lists the models of which the evaluator differs, with the reason; a model that it computes right must not be listed.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts", "lib"))
SKIPPED = 77  # to ctest

MODELS = ("models/mnist", "models/mnist_frozen.pb", "models/mnist_tf1/mnist.meta", "tests/data/functions", "tests/data/gathered",
          "tests/data/keras3", "tests/data/signatures", "tests/data/tf1", "tests/data/tracked", "tests/data/twins", "tests/data/states/*",
          "tests/data/nets/*.pb", "tests/data/jax/*.pb", "tests/data/recurrent/*.pb", "tests/data/tensor_lists/*.pb")


def known_differences():
    """{(model, opset): reason}"""
    found = {}
    with open(os.path.join(HERE, "known_differences.tsv")) as f:
        for line in f:
            if not line.startswith("#") and line.strip():
                model, opsets, reason = line.rstrip("\n").split("\t")
                found.update({(model, int(o)): reason for o in opsets.split(",")})
    return found


def outcome(program, model, opset, scratch):
    import run_export
    path, data = os.path.join(scratch, "model.onnx"), os.path.join(scratch, "data.npz")
    export = [program, os.path.join(ROOT, model), "-o", path, "--opset", str(opset), "-q"]
    if subprocess.run(export, capture_output=True).returncode != 0:
        return None  # other tests say what converts
    try:
        expected = run_export.truth(path, data, None)
    except Exception as e:  # random inputs that the model does not take
        return {"verdict": "none", "why": str(e)}
    return run_export.judge("reference", path, data) if expected["verdict"] == "right" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="13,21")
    args = parser.parse_args()
    try:
        import onnx.reference  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as e:
        print(f"needs the Python of the tests: {e}")
        return 1 if os.environ.get("T2O_REQUIRE_ENGINES") else SKIPPED
    known, failed, right = known_differences(), 0, 0
    models = [os.path.relpath(p, ROOT) for m in MODELS for p in sorted(glob.glob(os.path.join(ROOT, m)))]
    with tempfile.TemporaryDirectory() as scratch:
        for model in (m for m in models if re.search(args.only, m)):
            for opset in map(int, args.opsets.split(",")):
                found = outcome(args.program, model, opset, scratch)
                if found is None or found["verdict"] == "none":
                    print(f"{model} @{opset}: left out{': ' + found['why'][:100] if found else ''}")
                    continue
                is_right, is_known = found["verdict"] == "right", (model, opset) in known
                right += is_right
                if is_right == is_known:
                    failed += 1
                    print(f"{model} @{opset}: " + ("is right, but listed" if is_right else f"{found['verdict']}: {found['why'][:300]}"), flush=True)
    print(f"{right} right, {len(known)} known differences, {failed} failed")
    return 1 if failed or right == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
