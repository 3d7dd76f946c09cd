#!/usr/bin/env python3
"""Which rows of the op registry the tests reach: tests/coverage.tsv, which docs/support.md shows.

    coverage.py update PROGRAM GOLDEN NUMERIC    writes tests/coverage.tsv and docs/support.md
    coverage.py check PROGRAM GOLDEN NUMERIC     fails when they are stale, or a row is not reached and not exempt

PROGRAM is tf2onnx-cpp; GOLDEN and NUMERIC are the files that golden_tests and numeric_tests write to T2O_COVERAGE_FILE.
tests/coverage_exempt.tsv has the rows that no numeric test can reach, each with the reason; those that no golden case can,
with "golden: " before it.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COVERAGE = ROOT / "tests" / "coverage.tsv"
EXEMPT = ROOT / "tests" / "coverage_exempt.tsv"
SUPPORT = ROOT / "docs" / "support.md"


def read(path):
    rows = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            op, since, *rest = line.split("\t")
            rows[op, int(since)] = rest[0] if rest else ""
    return rows


def exemptions():
    rows = {"numeric": {}, "golden": {}}
    for line in EXEMPT.read_text().splitlines():
        if line and not line.startswith("#"):
            op, since, reason = line.split("\t")
            kind = "golden" if reason.startswith("golden: ") else "numeric"
            rows[kind][op, int(since)] = reason
    return rows


def registry(program):
    ops = json.loads(subprocess.run([program, "ops", "--json"], check=True, capture_output=True, text=True).stdout)
    return [(op["op"], int(since)) for op in ops for since in op["since"].split(", ")]


def table(rows, golden, numeric):
    lines = ["# op, since, has a golden case, dtypes of its numeric cases: written by scripts/coverage.py"]
    lines += ["\t".join([op, str(since), "golden" if (op, since) in golden else "-", numeric.get((op, since), "") or "-"])
              for op, since in sorted(rows)]
    return "\n".join(lines) + "\n"


def support(program, coverage):
    return subprocess.run([program, "ops", "--markdown", "--coverage", coverage], check=True, capture_output=True, text=True).stdout


def main():
    what, program, golden, numeric = sys.argv[1:]
    if not pathlib.Path(numeric).exists():
        print("the numeric tests have not run: they need TensorFlow and ONNX Runtime")
        return 77
    golden, numeric = read(golden), read(numeric)
    rows = registry(program)
    text = table(rows, golden, numeric)
    if what == "update":
        COVERAGE.write_text(text)
        SUPPORT.write_text(support(program, COVERAGE))
    exempt = exemptions()
    problems = []
    if COVERAGE.read_text() != text:
        problems.append("tests/coverage.tsv is stale: scripts/coverage.py update")
    for kind, reached in (("numeric", numeric), ("golden", golden)):
        problems += [f"no {kind} case reaches %s since %d" % row for row in rows if row not in reached and row not in exempt[kind]]
        problems += [f"tests/coverage_exempt.tsv: a {kind} case reaches %s since %d" % row for row in exempt[kind] if row in reached]
        problems += ["tests/coverage_exempt.tsv: there is no row %s since %d" % row for row in exempt[kind] if row not in rows]
    counts = ", ".join(f"{len(reached)} by {kind} cases, {len(exempt[kind])} exempt" for kind, reached in (("numeric", numeric), ("golden", golden)))
    print("\n".join(problems) or f"{len(rows)} rows: {counts}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
