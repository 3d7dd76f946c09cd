/* consumer_c MODEL.pb OUT.onnx */
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char** argv) {
  if (argc != 3) return 2;
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
  return failures == 0 ? 0 : 1;
}
