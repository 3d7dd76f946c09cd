#include "engines/tensorflow_api.h"

#include <cstdlib>
#include <map>

#include "engines/tensorflow.h"

#ifndef TF2ONNX_TF_LIBRARY
#define TF2ONNX_TF_LIBRARY ""
#endif

namespace t2o::engines::tf_api {
namespace {

const LibraryNames& library_names() {
  static const LibraryNames names = {"TensorFlow",
                                     "libtensorflow_cc.so",
                                     "TF2ONNX_TENSORFLOW",
                                     TF2ONNX_TF_LIBRARY,
                                     "tensorflow-",
                                     "tensorflow",
                                     "",
                                     "tensorflow-cpu"};
  return names;
}

void bind_tensors(Api& a, const Library& l) {
  l.bind(a.allocate_tensor, "TF_AllocateTensor");
  l.bind(a.delete_tensor, "TF_DeleteTensor");
  l.bind(a.tensor_type, "TF_TensorType");
  l.bind(a.num_dims, "TF_NumDims");
  l.bind(a.dim, "TF_Dim");
  l.bind(a.tensor_byte_size, "TF_TensorByteSize");
  l.bind(a.tensor_data, "TF_TensorData");
  l.bind(a.string_init, "TF_StringInit");
  l.bind(a.string_copy, "TF_StringCopy");
  l.bind(a.string_data, "TF_StringGetDataPointer");
  l.bind(a.string_size, "TF_StringGetSize");
  l.bind(a.string_dealloc, "TF_StringDealloc");
}

void bind_graph(Api& a, const Library& l) {
  l.bind(a.new_graph, "TF_NewGraph");
  l.bind(a.delete_graph, "TF_DeleteGraph");
  l.bind(a.new_operation, "TF_NewOperation");
  l.bind(a.add_input, "TF_AddInput");
  l.bind(a.add_input_list, "TF_AddInputList");
  l.bind(a.add_control_input, "TF_AddControlInput");
  l.bind(a.finish_operation, "TF_FinishOperation");
  l.bind(a.operation_by_name, "TF_GraphOperationByName");
  l.bind(a.next_operation, "TF_GraphNextOperation");
  l.bind(a.operation_name, "TF_OperationName");
  l.bind(a.operation_type, "TF_OperationOpType");
  l.bind(a.num_outputs, "TF_OperationNumOutputs");
  l.bind(a.output_type, "TF_OperationOutputType");
  l.bind(a.set_tensor_shape, "TF_GraphSetTensorShape");
  l.bind(a.get_tensor_rank, "TF_GraphGetTensorNumDims");
  l.bind(a.get_tensor_shape, "TF_GraphGetTensorShape");
  l.bind(a.get_op_def, "TF_GraphGetOpDef");
  l.bind(a.to_graph_def, "TF_GraphToGraphDef");
  l.bind(a.new_import_options, "TF_NewImportGraphDefOptions");
  l.bind(a.delete_import_options, "TF_DeleteImportGraphDefOptions");
  l.bind(a.import_prefix, "TF_ImportGraphDefOptionsSetPrefix");
  l.bind(a.import_input, "TF_ImportGraphDefOptionsAddInputMapping");
  l.bind(a.import_graph_def, "TF_GraphImportGraphDef");
  l.bind(a.to_function, "TF_GraphToFunction");
  l.bind(a.copy_function, "TF_GraphCopyFunction");
  l.bind(a.delete_function, "TF_DeleteFunction");
}

void bind_attributes(Api& a, const Library& l) {
  l.bind(a.set_string, "TF_SetAttrString");
  l.bind(a.set_strings, "TF_SetAttrStringList");
  l.bind(a.set_int, "TF_SetAttrInt");
  l.bind(a.set_ints, "TF_SetAttrIntList");
  l.bind(a.set_float, "TF_SetAttrFloat");
  l.bind(a.set_floats, "TF_SetAttrFloatList");
  l.bind(a.set_bool, "TF_SetAttrBool");
  l.bind(a.set_bools, "TF_SetAttrBoolList");
  l.bind(a.set_type, "TF_SetAttrType");
  l.bind(a.set_types, "TF_SetAttrTypeList");
  l.bind(a.set_shape, "TF_SetAttrShape");
  l.bind(a.set_shapes, "TF_SetAttrShapeList");
  l.bind(a.set_tensor, "TF_SetAttrTensor");
  l.bind(a.set_function, "TF_SetAttrFuncName");
}

void bind_sessions(Api& a, const Library& l) {
  l.bind(a.new_session_options, "TF_NewSessionOptions");
  l.bind(a.delete_session_options, "TF_DeleteSessionOptions");
  l.bind(a.set_config, "TF_SetConfig");
  l.bind(a.new_session, "TF_NewSession");
  l.bind(a.load_saved_model, "TF_LoadSessionFromSavedModel");
  l.bind(a.close_session, "TF_CloseSession");
  l.bind(a.delete_session, "TF_DeleteSession");
  l.bind(a.session_run, "TF_SessionRun");
}

// Read by TensorFlow while it loads. oneDNN's kernels round differently from the plain ones.
void quieten() {
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  setenv("TF_ENABLE_ONEDNN_OPTS", "0", 0);
}

}  // namespace

Api::Api(const Library& library) {
  library.bind(version, "TF_Version");
  library.bind(new_status, "TF_NewStatus");
  library.bind(delete_status, "TF_DeleteStatus");
  library.bind(get_code, "TF_GetCode");
  library.bind(message, "TF_Message");
  library.bind(new_buffer, "TF_NewBuffer");
  library.bind(delete_buffer, "TF_DeleteBuffer");
  bind_tensors(*this, library);
  bind_graph(*this, library);
  bind_attributes(*this, library);
  bind_sessions(*this, library);
}

const Api& api(const std::string& library) {
  static std::map<std::string, Api> apis;  // by the path asked for; in practice one
  auto it = apis.find(library);
  if (it == apis.end()) {
    quieten();
    it = apis.emplace(library, Api(load_engine(library_names(), library))).first;
  }
  return it->second;
}

}  // namespace t2o::engines::tf_api

namespace t2o::engines {

std::vector<std::string> tensorflow_libraries(const std::string& explicit_path) {
  return engine_candidates(tf_api::library_names(), explicit_path);
}

}  // namespace t2o::engines
