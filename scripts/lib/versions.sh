# shellcheck shell=bash disable=SC2034
# What setup.sh installs, in one place. Sourced by ../setup.sh.

PROTOBUF_VERSION=3.21.12   # Debian's protoc must be of the same version
LEVELDB_VERSION=1.23

ONNX_VERSION=1.23.2
ONNX_FILE=onnx-1.23.2.tar.gz
ONNX_SHA256=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8

# Only the shared libraries are taken from these wheels: any one Python tag does.
WHEEL_TAGS=(--python-version 3.11 --implementation cp --abi cp311
  --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_35_x86_64)

TENSORFLOW_VERSION=2.21.0
TENSORFLOW_FILE=tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl
TENSORFLOW_SHA256=2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c

ORT_VERSION=1.31.1
ORT_FILE=onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_x86_64.whl
ORT_SHA256=5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f

# LiteRT twice. The first wheel has the whole C interface of TensorFlow Lite, of LiteRT 2.17.1: libtensorflowlite_c.so.
# The other one is the official wheel, with the newest operators: libLiteRt.so, which passes no strings.
TFLITE_C_VERSION=2.5.0
TFLITE_C_FILE=pymicro_wakeword-2.5.0-py3-none-manylinux_2_35_x86_64.whl
TFLITE_C_SHA256=3869f536402b1254e3be3549d3a462ecd6ed21ce2c3e77ec8eb501c3c700417c

LITERT_VERSION=2.3.0
LITERT_FILE=ai_edge_litert-2.3.0-cp311-cp311-manylinux_2_27_x86_64.whl
LITERT_SHA256=1f15078a6725d2357d9de9221664c29afa0545d807559c5f7199ce5e40b96b23

# ONNX Runtime's wheel has no header. An older API is enough: ONNX Runtime serves every version up to its own.
ORT_HEADERS_VERSION=1.21
ORT_HEADERS_SUITE=trixie   # the first Debian that has libonnxruntime-dev
