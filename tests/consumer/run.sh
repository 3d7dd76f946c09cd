#!/bin/bash
# run.sh BUILD_DIR MODEL.pb [LIBTENSORFLOW_CC]: installs the build into a folder, moves it, and there builds and runs a
# project that uses it.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
build=$(cd -- "$1" && pwd)
model=$(realpath -- "$2")
tensorflow=${3:-}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv -T "$work/first" "$work/installed"
pc=$(find "$work/installed" -name tf2onnx.pc)
libdir=$(cd -- "$(dirname -- "$pc")/.." && pwd)
PKG_CONFIG_PATH=$(dirname -- "$pc") cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" >"$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"

export LD_LIBRARY_PATH=$libdir
for program in consumer_shared consumer_static consumer_c; do
  echo "== $program"
  "$work/build/$program" "$model" "$work/$program.onnx" "$here/../data/signatures"
done
echo "== the installed program"
"$work/installed/bin/tf2onnx-cpp" "$model" -o "$work/program.onnx"

echo "== what the libraries show"
shown() { # NM_OPTIONS FILE
  # shellcheck disable=SC2086
  nm $1 --defined-only "$2" | awk 'NF == 3 {print $3}' | grep -vE '^(tf2onnx_|_ZN7tf2onnx)' || true
}
for strangers in "$(shown -D "$libdir/libtf2onnx.so")" "$(shown -g "$libdir/libtf2onnx.a")"; do
  [[ -z $strangers ]] || { echo "FAILED: not of the interface:"; head -20 <<<"$strangers"; exit 1; }
done
echo "ok: nothing but the interface"

echo "== beside TensorFlow"
if [[ -n $tensorflow && -e $tensorflow ]]; then
  "$work/build/beside_tensorflow" "$model" "$work/beside.onnx" "$tensorflow"
else
  echo "skipped: libtensorflow_cc.so.2 is not here; scripts/setup.sh --engines gets it"
fi
