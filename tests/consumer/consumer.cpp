// consumer MODEL.pb OUT.onnx SIGNATURES: converts from path and from memory, to file and to memory, and wants the same
// bytes each time. SIGNATURES is a SavedModel with several signatures.
#include <tf2onnx/tf2onnx.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  std::printf("%s: %s\n", condition ? "ok" : "FAILED", what);
  failures += !condition;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string out = argv[2];
  tf2onnx::Options options;
  options.model = argv[1];
  expect(tf2onnx::set_option(options, "opset", "18"), "an option by name");
  std::string why;
  expect(!tf2onnx::set_option(options, "opsett", "18", &why) && why.find("opset") != std::string::npos,
         "a wrong option name");

  const tf2onnx::Result to_file = tf2onnx::convert_file(options, out);
  std::fputs(tf2onnx::to_string(to_file).c_str(), stdout);
  expect(to_file.ok() && to_file.nodes > 0 && to_file.opset == 18, "path to file");
  expect(to_file.inputs.size() == 1 && to_file.outputs.size() == 1, "the interface is told");
  std::string bytes;
  expect(tf2onnx::convert_file_to_memory(options, bytes).ok() && !bytes.empty(), "path to memory");

  options.model.clear();
  const std::string model = content(argv[1]);
  std::string from_memory;
  expect(tf2onnx::convert_memory(options, model, from_memory).ok() && !from_memory.empty(),
         "memory to memory");
  expect(tf2onnx::convert_memory_to_file(options, model, out + ".2.onnx").ok(), "memory to file");
  expect(content(out) == bytes, "file and memory have the same bytes");
  expect(content(out + ".2.onnx") == from_memory, "so they have when the model came from memory");

  tf2onnx::Options missing;
  missing.model = "/nonexistent/model.pb";
  const tf2onnx::Result failed = tf2onnx::convert_file(missing, out + ".3.onnx");
  expect(failed.exit_code == 4 && !failed.diagnostics.empty() && content(out + ".3.onnx").empty(),
         "a missing file is an error");
  expect(!tf2onnx::convert_memory(options, "no model at all", from_memory).ok(),
         "bytes that are no model are an error");

  tf2onnx::Options several;
  several.model = argv[3];
  several.signature = "encode,look,project";
  const tf2onnx::Result models = tf2onnx::convert_file(several, out + ".{signature}.onnx");
  expect(models.ok() && models.models.size() == 3 && models.models[1].signature == "look", "several signatures");
  for (const tf2onnx::Model& m : models.models)
    expect(content(m.path).size() == m.bytes && m.inputs.size() == 1, "a model of a signature");
  expect(content(models.data_path).size() == models.data_bytes && models.data_bytes > 0, "their weights");
  return failures == 0 ? 0 : 1;
}
