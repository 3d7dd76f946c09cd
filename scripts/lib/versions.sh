# shellcheck shell=bash disable=SC2034
# What setup.sh installs, in one place. Sourced by ../setup.sh.

PROTOBUF_VERSION=3.21.12   # Debian's protoc must be of the same version
LEVELDB_VERSION=1.23

ONNX_VERSION=1.23.2
ONNX_FILE=onnx-1.23.2.tar.gz
ONNX_SHA256=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8

# Only the shared libraries are taken from these wheels: any one Python tag does.
WHEEL_TAGS=(--python-version 3.11 --implementation cp --abi cp311
  --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64)

TENSORFLOW_VERSION=2.21.0
TENSORFLOW_FILE=tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl
TENSORFLOW_SHA256=2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c

ORT_VERSION=1.31.1
ORT_FILE=onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_x86_64.whl
ORT_SHA256=5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f

# The wheel has no header. An older API is enough: ONNX Runtime serves every version up to its own.
ORT_HEADERS_VERSION=1.21
ORT_HEADERS_SUITE=trixie   # the first Debian that has libonnxruntime-dev
