#pragma once

/* Marks what the shared library exports; everything else in it is hidden. */
#define TF2ONNX_API __attribute__((visibility("default")))
