# shellcheck shell=bash disable=SC2034,SC2153
# The engines that are loaded at run time, if they are there: TensorFlow, ONNX Runtime and LiteRT.
# Sourced by ../setup.sh.

# unpack_members ARCHIVE FOLDER MEMBER...: without their own folders.
unpack_members() {
  python3 - "$@" <<'EOF'
import os, shutil, sys, zipfile
archive, folder, *members = sys.argv[1:]
os.makedirs(folder)
with zipfile.ZipFile(archive) as source:
    for member in members:
        path = os.path.join(folder, os.path.basename(member))
        with source.open(member) as packed, open(path, "wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
EOF
}

unpack_tensorflow() {
  unpack_members "$DOWNLOADS/$TENSORFLOW_FILE" "$WORK/tensorflow/lib" \
    tensorflow/libtensorflow_cc.so.2 tensorflow/libtensorflow_framework.so.2
  publish "$WORK/tensorflow" "$1"
}

unpack_ort() {
  unpack_members "$DOWNLOADS/$ORT_FILE" "$WORK/onnxruntime/lib" "onnxruntime/capi/libonnxruntime.so.$ORT_VERSION"
  ln -s "libonnxruntime.so.$ORT_VERSION" "$WORK/onnxruntime/lib/libonnxruntime.so"
  ln -s "libonnxruntime.so.$ORT_VERSION" "$WORK/onnxruntime/lib/libonnxruntime.so.1"
  publish "$WORK/onnxruntime" "$1"
}

unpack_tflite_c() {
  unpack_members "$DOWNLOADS/$TFLITE_C_FILE" "$WORK/tflite_c/lib" pymicro_wakeword/lib/libtensorflowlite_c.so
  publish "$WORK/tflite_c" "$1"
}

unpack_litert() {
  unpack_members "$DOWNLOADS/$LITERT_FILE" "$WORK/litert/lib" ai_edge_litert/libLiteRt.so
  publish "$WORK/litert" "$1"
}

engine_keys() {
  TENSORFLOW_ROOT=$CACHE/$(recipe_key tensorflow "$TENSORFLOW_VERSION" unpack_tensorflow "$TENSORFLOW_SHA256")
  ORT_ROOT=$CACHE/$(recipe_key onnxruntime "$ORT_VERSION" unpack_ort "$ORT_SHA256")
  TFLITE_C_ROOT=$CACHE/$(recipe_key tensorflowlite-c "$TFLITE_C_VERSION" unpack_tflite_c "$TFLITE_C_SHA256")
  LITERT_ROOT=$CACHE/$(recipe_key litert "$LITERT_VERSION" unpack_litert "$LITERT_SHA256")
  ORT_HEADERS_ROOT=$CACHE/$(recipe_key onnxruntime-headers "$ORT_HEADERS_VERSION" unpack_ort_headers)
}

# ensure_engine TITLE PREFIX UNPACK FILE SHA256 REQUIREMENT
ensure_engine() {
  local title=$1 prefix=$2 unpack=$3
  if [[ -d $prefix ]]; then
    have "$title"
    return
  fi
  ensure_download "$title, wheel" fetch_wheel "${@:4}"
  on_failure "$title could not be unpacked" "It needs 2 GB in $CACHE."
  step "$title" "$unpack" "$prefix"
}

# Debian 12 has no package of the headers, the next release has.
fetch_ort_headers() {
  local suite=() codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  [[ $codename != bookworm ]] || suite=("$ORT_HEADERS_SUITE")
  apt_private_open "$WORK/apt-ort" deb "${suite[@]}"
  mkdir "$WORK/ort-deb"
  (cd "$WORK/ort-deb" && apt_private "$WORK/apt-ort" download libonnxruntime-dev)
  mv "$WORK"/ort-deb/libonnxruntime-dev_*.deb "$DOWNLOADS"
}

ort_headers_package() { find "$DOWNLOADS" -maxdepth 1 -name 'libonnxruntime-dev_*.deb' | sort -V | tail -n 1; }

unpack_ort_headers() {
  local header
  dpkg-deb -x "$(ort_headers_package)" "$WORK/ort-package"
  header=$(find "$WORK/ort-package" -name onnxruntime_c_api.h -print -quit)
  [[ -n $header ]] || { echo "the package has no onnxruntime_c_api.h"; return 1; }
  mkdir "$WORK/ort-headers"
  cp -r "$(dirname "$header")" "$WORK/ort-headers/include"
  publish "$WORK/ort-headers" "$1"
}

ensure_ort_headers() {
  local title="ONNX Runtime headers $ORT_HEADERS_VERSION" package
  if [[ -n ${ONNXRUNTIME_INCLUDE_DIR:-} ]]; then
    [[ -f $ONNXRUNTIME_INCLUDE_DIR/onnxruntime_c_api.h ]] ||
      die "ONNXRUNTIME_INCLUDE_DIR=$ONNXRUNTIME_INCLUDE_DIR has no onnxruntime_c_api.h"
    line "$title" "yours: $ONNXRUNTIME_INCLUDE_DIR"
    return
  fi
  if [[ -d $ORT_HEADERS_ROOT ]]; then
    have "$title"
    return
  fi
  local help=("They are needed to build the ONNX Runtime engine only. If you have them elsewhere, set"
    "ONNXRUNTIME_INCLUDE_DIR to the folder of onnxruntime_c_api.h and run scripts/setup.sh again.")
  if [[ -z $(ort_headers_package) ]]; then
    need_network "Debian's package libonnxruntime-dev"
    on_failure "Debian's package libonnxruntime-dev could not be fetched" "${help[@]}"
    step "$title, package" fetch_ort_headers
  fi
  package=$(basename "$(ort_headers_package)")
  [[ $package == "libonnxruntime-dev_$ORT_HEADERS_VERSION"* ]] ||
    warn "$package is not the version that this project was tested with, $ORT_HEADERS_VERSION"
  on_failure "$package could not be unpacked" "${help[@]}"
  step "$title" unpack_ort_headers "$ORT_HEADERS_ROOT"
}

setup_engines() {
  engine_keys
  [[ $(uname -sm) == "Linux x86_64" ]] ||
    die "the engines are to be had for Linux on x86_64 only; this is $(uname -sm)" \
      "The converter works without them: scripts/setup.sh --build --python"
  ensure_engine "ONNX Runtime $ORT_VERSION" "$ORT_ROOT" unpack_ort "$ORT_FILE" "$ORT_SHA256" "onnxruntime==$ORT_VERSION"
  ensure_engine "TensorFlow $TENSORFLOW_VERSION" "$TENSORFLOW_ROOT" unpack_tensorflow \
    "$TENSORFLOW_FILE" "$TENSORFLOW_SHA256" "tensorflow-cpu==$TENSORFLOW_VERSION"
  ensure_engine "LiteRT, C interface of TensorFlow Lite" "$TFLITE_C_ROOT" unpack_tflite_c \
    "$TFLITE_C_FILE" "$TFLITE_C_SHA256" "pymicro-wakeword==$TFLITE_C_VERSION"
  ensure_engine "LiteRT $LITERT_VERSION" "$LITERT_ROOT" unpack_litert "$LITERT_FILE" "$LITERT_SHA256" "ai-edge-litert==$LITERT_VERSION"
}

setup_ort_headers() {
  engine_keys
  ensure_ort_headers
}
