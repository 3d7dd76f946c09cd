#!/bin/bash
# Sets up, builds, converts a sample model and verifies it against TensorFlow. scripts/demo.sh [MODEL [OUT.onnx]]
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=/dev/null
. "$root/scripts/lib/configure.sh"

model=$(realpath -- "${1:-$root/models/mnist}")
out=${2:-$BUILD_DIR/demo/$(basename -- "${model%.pb}").onnx}
cd -- "$root"
scripts/setup.sh --all
configure
cmake --build "$BUILD_DIR" --target tf2onnx-cpp
mkdir -p -- "$(dirname -- "$out")"
echo
set -x
"$BUILD_DIR/tf2onnx-cpp" info "$model"
"$BUILD_DIR/tf2onnx-cpp" "$model" -o "$out" --verify
