#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "engines/library.h"

// The part of TensorFlow's C API that is used, declared here so that no header of TensorFlow is needed.
namespace t2o::engines::tf_api {

struct Status;
struct Graph;
struct Session;
struct SessionOptions;
struct Operation;
struct OperationDescription;
struct ImportOptions;
struct TensorHandle;
struct Function;

struct Output {  // TF_Output
  Operation* operation;
  int index;
};
struct Buffer {  // TF_Buffer
  const void* data;
  std::size_t length;
  void (*deallocate)(void*, std::size_t);
};
struct String {  // TF_TString: only its size matters here
  alignas(8) unsigned char raw[24];
};

struct Api {
  explicit Api(const Library& library);

  const char* (*version)();
  Status* (*new_status)();
  void (*delete_status)(Status*);
  int (*get_code)(const Status*);
  const char* (*message)(const Status*);
  Buffer* (*new_buffer)();
  void (*delete_buffer)(Buffer*);

  TensorHandle* (*allocate_tensor)(int dtype, const std::int64_t* dims, int rank, std::size_t bytes);
  void (*delete_tensor)(TensorHandle*);
  int (*tensor_type)(const TensorHandle*);
  int (*num_dims)(const TensorHandle*);
  std::int64_t (*dim)(const TensorHandle*, int);
  std::size_t (*tensor_byte_size)(const TensorHandle*);
  void* (*tensor_data)(const TensorHandle*);
  void (*string_init)(String*);
  void (*string_copy)(String*, const char*, std::size_t);
  const char* (*string_data)(const String*);
  std::size_t (*string_size)(const String*);
  void (*string_dealloc)(String*);

  Graph* (*new_graph)();
  void (*delete_graph)(Graph*);
  OperationDescription* (*new_operation)(Graph*, const char* op, const char* name);
  void (*add_input)(OperationDescription*, Output);
  void (*add_input_list)(OperationDescription*, const Output*, int);
  void (*add_control_input)(OperationDescription*, Operation*);
  Operation* (*finish_operation)(OperationDescription*, Status*);
  Operation* (*operation_by_name)(Graph*, const char*);
  Operation* (*next_operation)(Graph*, std::size_t*);
  const char* (*operation_name)(Operation*);
  const char* (*operation_type)(Operation*);
  int (*num_outputs)(Operation*);
  int (*output_type)(Output);
  void (*set_tensor_shape)(Graph*, Output, const std::int64_t*, int, Status*);
  int (*get_tensor_rank)(Graph*, Output, Status*);
  void (*get_tensor_shape)(Graph*, Output, std::int64_t*, int, Status*);
  void (*get_op_def)(Graph*, const char*, Buffer*, Status*);
  void (*to_graph_def)(Graph*, Buffer*, Status*);
  ImportOptions* (*new_import_options)();
  void (*delete_import_options)(ImportOptions*);
  void (*import_prefix)(ImportOptions*, const char*);
  void (*import_input)(ImportOptions*, const char*, int, Output);
  void (*import_graph_def)(Graph*, const Buffer*, const ImportOptions*, Status*);

  Function* (*to_function)(const Graph*, const char* name, unsigned char append_hash, int operations,
                           const Operation* const*, int inputs, const Output*, int outputs, const Output*,
                           const char* const* output_names, const void* options, const char* description,
                           Status*);
  void (*copy_function)(Graph*, const Function*, const Function* gradient, Status*);
  void (*delete_function)(Function*);

  void (*set_string)(OperationDescription*, const char*, const void*, std::size_t);
  void (*set_strings)(OperationDescription*, const char*, const void* const*, const std::size_t*, int);
  void (*set_int)(OperationDescription*, const char*, std::int64_t);
  void (*set_ints)(OperationDescription*, const char*, const std::int64_t*, int);
  void (*set_float)(OperationDescription*, const char*, float);
  void (*set_floats)(OperationDescription*, const char*, const float*, int);
  void (*set_bool)(OperationDescription*, const char*, unsigned char);
  void (*set_bools)(OperationDescription*, const char*, const unsigned char*, int);
  void (*set_type)(OperationDescription*, const char*, int);
  void (*set_types)(OperationDescription*, const char*, const int*, int);
  void (*set_shape)(OperationDescription*, const char*, const std::int64_t*, int);
  void (*set_shapes)(OperationDescription*, const char*, const std::int64_t* const*, const int*, int);
  void (*set_tensor)(OperationDescription*, const char*, TensorHandle*, Status*);
  void (*set_function)(OperationDescription*, const char*, const char*, std::size_t);

  SessionOptions* (*new_session_options)();
  void (*delete_session_options)(SessionOptions*);
  void (*set_config)(SessionOptions*, const void*, std::size_t, Status*);
  Session* (*new_session)(Graph*, const SessionOptions*, Status*);
  Session* (*load_saved_model)(const SessionOptions*, const Buffer*, const char*, const char* const*, int,
                               Graph*, Buffer*, Status*);
  void (*close_session)(Session*, Status*);
  void (*delete_session)(Session*, Status*);
  void (*session_run)(Session*, const Buffer*, const Output*, TensorHandle* const*, int, const Output*,
                      TensorHandle**, int, const Operation* const*, int, Buffer*, Status*);
};

const Api& api(const std::string& library);  // loaded at the first call

}  // namespace t2o::engines::tf_api
