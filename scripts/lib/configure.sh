# shellcheck shell=bash
# The build that demo.sh and test.sh share. Sourced; the caller has set $root.

PRESET=${TF2ONNX_PRESET:-release}
BUILD_DIR=${TF2ONNX_BUILD_DIR:-$root/build/$PRESET}

configure() {
  [[ -e $BUILD_DIR/build.ninja ]] || cmake --preset "$PRESET" -S "$root" -B "$BUILD_DIR"
}
