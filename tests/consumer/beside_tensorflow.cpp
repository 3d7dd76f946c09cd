// beside_tensorflow MODEL.pb OUT.onnx LIBTENSORFLOW_CC: converts in a process that has loaded TensorFlow,
// with its own protobuf, for all to see; and TensorFlow still works afterwards.
#include <dlfcn.h>
#include <tf2onnx/tf2onnx.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  void* library = dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::printf("FAILED: %s\n", dlerror());
    return 1;
  }
  const auto tf_version = reinterpret_cast<const char* (*)()>(dlsym(library, "TF_Version"));
  const auto new_graph = reinterpret_cast<void* (*)()>(dlsym(library, "TF_NewGraph"));
  const auto delete_graph = reinterpret_cast<void (*)(void*)>(dlsym(library, "TF_DeleteGraph"));
  if (!tf_version || !new_graph || !delete_graph) return 1;
  delete_graph(new_graph());

  tf2onnx::Options options;
  options.model = argv[1];
  const tf2onnx::Result result = tf2onnx::convert_file(options, argv[2]);
  std::fputs(tf2onnx::to_string(result).c_str(), stdout);
  delete_graph(new_graph());
  std::printf("%s: converted beside TensorFlow %s\n", result.ok() ? "ok" : "FAILED", tf_version());
  return result.exit_code;
}
