#ifndef TF2ONNX_C_API_H
#define TF2ONNX_C_API_H

#include <stddef.h>

#include "tf2onnx/export.h"

/* Converts TensorFlow models to ONNX, for C and everything that can call C. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tf2onnx_options tf2onnx_options;

/* What a call came to: the exit codes of the command line tool. */
enum tf2onnx_status {
  TF2ONNX_OK = 0,
  TF2ONNX_NOT_CONVERTIBLE = 1,
  TF2ONNX_BAD_OPTION = 2,
  TF2ONNX_BAD_INPUT = 4
};

TF2ONNX_API const char* tf2onnx_version(void);

/* NULL when there is no memory. */
TF2ONNX_API tf2onnx_options* tf2onnx_options_new(void);
TF2ONNX_API void tf2onnx_options_free(tf2onnx_options* options);

/* Sets an option by the name and with the text that the command line has for it: ("opset", "18"),
 * ("inputs", "x:0[1,4]"), ("use-graph-names", "true"). `messages`, here and below, may be NULL; else it gets
 * NULL or a text that tf2onnx_free releases: all errors, warnings and notes. */
TF2ONNX_API int tf2onnx_options_set(tf2onnx_options* options, const char* name, const char* value,
                                    char** messages);

/* From a model's path to a file, written whole or not at all. `options` may be NULL here and below. If the option "signature"
 * names several signatures ("a,b" or "all"), each gets a file of its own, as on the command line. */
TF2ONNX_API int tf2onnx_convert_file(const tf2onnx_options* options, const char* model_path,
                                     const char* out_path, char** messages);

/* From the bytes of a GraphDef to the bytes of an ONNX model, which tf2onnx_free releases. */
TF2ONNX_API int tf2onnx_convert_memory(const tf2onnx_options* options, const void* graph_def, size_t size,
                                       void** onnx, size_t* onnx_size, char** messages);

TF2ONNX_API void tf2onnx_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
