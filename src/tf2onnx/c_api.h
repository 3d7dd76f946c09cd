#ifndef TF2ONNX_C_API_H
#define TF2ONNX_C_API_H

#include <stddef.h>
#include <stdint.h>

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

/* What a conversion has made. The library makes these structs, and everything that they and the functions below point to lives as
 * long as the result. Later versions may append fields. */
typedef struct tf2onnx_result {
  int status;
  int opset, ir_version;
  size_t model_count;      /* one, or one for each signature; 0 when there are errors */
  const char* data_path;   /* the file with the weights beside the models; "" if there is none */
  uint64_t data_bytes;
  size_t diagnostic_count; /* all errors, warnings and notes */
  const char* messages;    /* the same as a text; "" if there are none */
} tf2onnx_result;

typedef struct tf2onnx_model {
  const char* signature;   /* "" unless the option "signature" names several */
  const char* path;
  uint64_t bytes;
  int64_t nodes;
  size_t input_count, output_count;
} tf2onnx_model;

typedef struct tf2onnx_tensor {
  const char* name;
  const char* dtype;       /* "f32", "i64", "string" ... */
  int ranked;              /* 0: the rank is not known */
  size_t rank;
  const int64_t* shape;    /* -1: not known before the model runs */
  int has_default;         /* an input that may be left out: the state of a variable, which then has its saved value */
} tf2onnx_tensor;

enum tf2onnx_severity { TF2ONNX_NOTE = 0, TF2ONNX_WARNING = 1, TF2ONNX_ERROR = 2 };

typedef struct tf2onnx_diagnostic {
  int severity;
  const char* code;                /* "unsupported-op", "bad-file" ... */
  const char* message;             /* the cause */
  const char* remedy;              /* what can be done; may be "" */
  const char *node, *op, *function; /* where in the source model; "" where no node is to blame */
} tf2onnx_diagnostic;

/* As tf2onnx_convert_file, with everything that the conversion says. Returns the status. `result` gets NULL only when there is no
 * memory; tf2onnx_result_free releases it. */
TF2ONNX_API int tf2onnx_convert(const tf2onnx_options* options, const char* model_path, const char* out_path,
                                tf2onnx_result** result);
TF2ONNX_API void tf2onnx_result_free(tf2onnx_result* result);

/* Each by its number, counted from 0; NULL if there is none of that number. */
TF2ONNX_API const tf2onnx_model* tf2onnx_result_model(const tf2onnx_result* result, size_t i);
TF2ONNX_API const tf2onnx_diagnostic* tf2onnx_result_diagnostic(const tf2onnx_result* result, size_t i);
TF2ONNX_API const tf2onnx_tensor* tf2onnx_model_input(const tf2onnx_model* model, size_t i);
TF2ONNX_API const tf2onnx_tensor* tf2onnx_model_output(const tf2onnx_model* model, size_t i);

#ifdef __cplusplus
}
#endif

#endif
