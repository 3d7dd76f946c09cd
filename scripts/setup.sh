#!/bin/bash
# Makes a Debian 12 machine ready to build and to test tf2onnx-cpp: see usage() below.
# Everything but Debian packages goes into one cache folder; cmake/Dependencies.cmake finds it there.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$HERE/lib/common.sh"
. "$HERE/lib/versions.sh"
. "$HERE/lib/apt.sh"
. "$HERE/lib/python.sh"
. "$HERE/lib/build.sh"
. "$HERE/lib/engines.sh"

usage() {
  cat <<EOF
Usage: scripts/setup.sh [--build] [--engines] [--python] [--all] [--offline] [--help]

  --build    what the converter is built with: Debian packages, and protobuf,
             leveldb and onnx built from source
  --engines  what it can load at run time: ONNX Runtime, TensorFlow and LiteRT
  --python   the Python environment of the tests
  --all      all of these (the default)
  --offline  use what is in the cache, and fetch nothing

What is there already is left alone; a second run takes no time. Debian packages
are installed as root, through sudo if need be.

Environment:
  TF2ONNX_CACHE            the cache folder, now: $CACHE
  TF2ONNX_JOBS             compilers at a time, now: $JOBS
  ONNXRUNTIME_INCLUDE_DIR  ONNX Runtime's C headers, if you have them already
EOF
}

# The name of each variable in deps.cmake and env.sh, and the file that has to be there.
dependency_paths() {
  printf '%s\t%s\n' \
    TF2ONNX_PROTOBUF_ROOT "${PROTOBUF_ROOT:-}" \
    TF2ONNX_LEVELDB_ROOT "${LEVELDB_ROOT:-}" \
    TF2ONNX_ONNX_ROOT "${ONNX_ROOT:-}" \
    TF2ONNX_ORT_INCLUDE_DIR "${ONNXRUNTIME_INCLUDE_DIR:-$ORT_HEADERS_ROOT/include}" \
    TF2ONNX_ORT_LIBRARY "$ORT_ROOT/lib/libonnxruntime.so" \
    TF2ONNX_TF_LIBRARY "$TENSORFLOW_ROOT/lib/libtensorflow_cc.so.2" \
    TF2ONNX_TFLITE_C_LIBRARY "$TFLITE_C_ROOT/lib/libtensorflowlite_c.so" \
    TF2ONNX_LITERT_LIBRARY "$LITERT_ROOT/lib/libLiteRt.so" \
    TF2ONNX_PYTHON "$VENV/bin/python"
}

write_deps() {
  local name path
  build_keys
  engine_keys
  : >"$WORK/deps.cmake"
  : >"$WORK/env.sh"
  while IFS=$'\t' read -r name path; do
    [[ -e $path ]] || continue
    [[ $name != TF2ONNX_PYTHON || -e $VENV/requirements.installed ]] || continue
    printf 'set(%s "%s")\n' "$name" "$path" >>"$WORK/deps.cmake"
    printf 'export %s=%q\n' "$name" "$path" >>"$WORK/env.sh"
  done < <(dependency_paths)
  local file
  for file in deps.cmake env.sh; do
    # Left alone when nothing changed: CMake runs again when deps.cmake is newer.
    cmp -s "$WORK/$file" "$CACHE/$file" || mv -T "$WORK/$file" "$CACHE/$file"
  done
}

PARTS=(build python engines ort_headers)

main() {
  local wanted=() part start=${EPOCHREALTIME/[.,]/}
  while (($#)); do
    case $1 in
      --build | --python) wanted+=("${1#--}") ;;
      --engines) wanted+=(engines ort_headers) ;;
      --all) wanted+=("${PARTS[@]}") ;;
      --offline) OFFLINE=1 ;;
      -h | --help) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  ((${#wanted[@]})) || wanted=("${PARTS[@]}")
  open_cache
  for part in "${PARTS[@]}"; do
    [[ " ${wanted[*]} " == *" $part "* ]] || continue
    "setup_$part"
    write_deps
  done
  say "ready in $(seconds_since "$start"); the cache is $CACHE"
}

main "$@"
