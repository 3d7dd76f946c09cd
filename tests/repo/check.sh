#!/bin/bash
# What must hold of the repository itself: generated documents are up to date, dependencies point one way, no room has
# outgrown its purpose. check.sh PROGRAM
set -uo pipefail
program=$(realpath -- "$1")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
failed=0
complain() {
  printf '%s\n' "$*"
  failed=1
}

# ---- generated documents
diff -u docs/opsets.md <("$program" opsets --markdown) || complain "docs/opsets.md is stale: $program opsets --markdown > docs/opsets.md"
diff -u docs/support.md <("$program" ops --markdown --coverage tests/coverage.tsv) || complain "docs/support.md is stale: $program ops --markdown --coverage tests/coverage.tsv > docs/support.md"

diff -u docs/support-tflite.md <("$program" ops --tflite --markdown) || complain "docs/support-tflite.md is stale: $program ops --tflite --markdown > docs/support-tflite.md"

diff -u docs/runtime-rows.md <("$program" ops --runtime --markdown) || complain "docs/runtime-rows.md is stale: $program ops --runtime --markdown > docs/runtime-rows.md"

# ---- who may include whom: FOLDERS must not include PATTERN
may_not() {
  local pattern=$1 hits
  shift
  hits=$(grep -rnE "#include [<\"]($pattern)" --include='*.cpp' --include='*.h' "$@")
  case $? in
    0) hits=$(grep -vE '^(rewriters/tf/|op_mappers/custom_ops|src/cli/ops|src/tflite/).*"tf/op_(defs|builder).h"' <<< "$hits") || return  # what TensorFlow's operators are, not how it is read
      complain "these must not include $pattern:"$'\n'"$hits" ;;
    1) ;;
    *) complain "grep could not read $*" ;;
  esac
}
may_not '(tf|tfgraph|tflite|onnx|engines|verify|cli)/|op_mappers/|rewriters/' src/ir src/support
may_not 'ir/' src/support
may_not '(tf|tflite|onnx|engines|verify|cli)/|op_mappers/|rewriters/' src/tfgraph  # facts depend on the graph alone
may_not 'tfgraph/' src/onnx src/engines src/cli
may_not 'onnx/.*pb\.h|onnx/defs|google/protobuf' src/ir src/support src/engines src/verify src/cli op_mappers rewriters
may_not 'tf/protos' src/ir src/support src/onnx src/engines src/verify src/cli op_mappers rewriters
may_not 'op_mappers/|rewriters/|engines/|verify/' src/onnx
may_not 'engines/|verify/|tf/|cli/' op_mappers rewriters
may_not 'rewriters/' op_mappers
# The rooms of a format: a reader and, in src/verify, a reference. Nothing else knows the format but the table of formats.
readers=$(ls -d src/tf src/tflite 2> /dev/null)
may_not '(verify/)?(tf|tflite)/' $(git ls-files 'src/*.cpp' 'src/*.h' | grep -vE '^src/((verify/)?(tf|tflite)/|formats/formats\.cpp)')
may_not '(verify|engines|onnx|cli)/|op_mappers/|rewriters/' $readers
may_not 'tf/' src/tflite  # but for TensorFlow's declarations of operators
may_not 'flatbuffers/|tflite/schema_generated' $(git ls-files 'src/*.cpp' 'src/*.h' op_mappers rewriters | grep -vE '^src/(tflite/|engines/litert/flex\.)')
may_not '(verify|engines)/|op_mappers/|rewriters/' src/formats/source.h src/formats/formats.h
may_not 'op_mappers/' rewriters
may_not 'cli/' src/ir src/support src/tf src/onnx src/engines src/verify op_mappers rewriters

# ---- what one runtime needs stands in rewriters/runtime, comments included. Left are:
# the table of portable forms: what each costs in ONNX Runtime
runtime_only=$(grep -rnE 'ONNX Runtime|for_ort' rewriters --include='*.cpp' --include='*.h' | grep -vE '^rewriters/(runtime/|portable/table\.cpp:)')
[[ -z $runtime_only ]] || complain "these name a runtime: make a row of rewriters/runtime/table.cpp, and ask it:"$'\n'"$runtime_only"
# ---- mappers state mathematics; what a runtime needs is in rewriters/runtime
runtime_named=$(grep -nE 'ONNX Runtime|for_ort' op_mappers/*)
[[ -z $runtime_named ]] || complain "these name a runtime: move it to a row of rewriters/runtime/table.cpp:"$'\n'"$runtime_named"

# ---- rooms
while read -r lines file; do
  [[ $file == total || $lines -le 500 ]] || complain "$file has $lines lines: split it"
done < <(git ls-files 'src/*.cpp' 'src/*.h' 'op_mappers/*' 'rewriters/*' 'tests/*.cpp' 'tests/*.h' | xargs wc -l)

# ---- lines: .clang-format's width (clang-format -i does it; headers are laid out by hand)
git ls-files 'src/*.cpp' 'op_mappers/*.cpp' 'rewriters/*.cpp' | xargs awk 'length > 110 { print FILENAME ":" FNR ": " length " columns"; wide = 1 } END { exit wide }' ||
  complain "too wide: clang-format -i FILE"

exit "$failed"
