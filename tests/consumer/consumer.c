/* consumer_c MODEL.pb OUT.onnx SIGNATURES: the last is a SavedModel with several signatures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tf2onnx/c_api.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  printf("%s: %s\n", condition ? "ok" : "FAILED", what);
  failures += !condition;
}

static void* content(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size + 1);
  if (bytes && fread(bytes, 1, *size, file) != *size) *size = 0;
  fclose(file);
  return bytes;
}

static int has_size(const char* path, uint64_t bytes) {
  size_t size = 0;
  free(content(path, &size));
  return size == bytes && size > 0;
}

static void several_signatures(const char* model, const char* out) {
  tf2onnx_options* options = tf2onnx_options_new();
  tf2onnx_options_set(options, "signature", "encode,look,project", NULL);
  tf2onnx_result* result = NULL;
  const int status = tf2onnx_convert(options, model, out, &result);
  if (status != TF2ONNX_OK) puts(result->messages);
  expect(status == TF2ONNX_OK && result->model_count == 3, "several signatures");
  for (size_t i = 0; i < result->model_count; ++i) {
    const tf2onnx_model* m = tf2onnx_result_model(result, i);
    printf("%s: %s, %s -> %s\n", m->signature, m->path, tf2onnx_model_input(m, 0)->name,
           tf2onnx_model_output(m, 0)->name);
    expect(has_size(m->path, m->bytes), "a model of a signature");
  }
  expect(strcmp(tf2onnx_result_model(result, 1)->signature, "look") == 0, "in the order that was asked for");
  expect(has_size(result->data_path, result->data_bytes), "their weights");
  tf2onnx_result_free(result);
  tf2onnx_options_free(options);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char* messages = NULL;
  tf2onnx_options* options = tf2onnx_options_new();
  expect(tf2onnx_options_set(options, "opset", "17", NULL) == TF2ONNX_OK, "an option by name");
  expect(tf2onnx_options_set(options, "opset", "seventeen", &messages) == TF2ONNX_BAD_OPTION && messages,
         "a bad value");
  tf2onnx_free(messages);

  const int to_file = tf2onnx_convert_file(options, argv[1], argv[2], &messages);
  if (messages) puts(messages);
  tf2onnx_free(messages);
  expect(to_file == TF2ONNX_OK, "path to file");

  size_t size = 0, onnx_size = 0;
  void* model = content(argv[1], &size);
  void* onnx = NULL;
  expect(tf2onnx_convert_memory(options, model, size, &onnx, &onnx_size, NULL) == TF2ONNX_OK && onnx_size > 0,
         "memory to memory");
  tf2onnx_free(onnx);
  free(model);

  expect(tf2onnx_convert_file(options, "/nonexistent/model.pb", argv[2], &messages) == TF2ONNX_BAD_INPUT &&
             messages,
         "a missing file is an error, with a text");
  tf2onnx_free(messages);
  expect(tf2onnx_convert_file(options, NULL, NULL, NULL) == TF2ONNX_BAD_OPTION, "null pointers are an error");
  tf2onnx_options_free(options);
  several_signatures(argv[3], argv[2]);
  return failures == 0 ? 0 : 1;
}
