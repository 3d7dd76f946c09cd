# The accessors and the verifier of the TensorFlow Lite file format, which flatc generates from src/tflite/schema.fbs. The library is
# header-only. Generated code compiles only with the headers of the same version, so both come from one Debian package version.
find_program(TF2ONNX_FLATC flatc DOC "The flatbuffers compiler")
find_path(TF2ONNX_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h DOC "The folder with the headers of flatbuffers")
mark_as_advanced(TF2ONNX_FLATC TF2ONNX_FLATBUFFERS_INCLUDE)
if(NOT TF2ONNX_FLATC)
  _t2o_missing("flatc")
endif()
if(NOT TF2ONNX_FLATBUFFERS_INCLUDE)
  _t2o_missing("flatbuffers/flatbuffers.h")
endif()

function(_t2o_check_flatc)
  file(STRINGS "${TF2ONNX_FLATBUFFERS_INCLUDE}/flatbuffers/base.h" lines REGEX "#define FLATBUFFERS_VERSION_(MAJOR|MINOR|REVISION) ")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers "." headers)
  execute_process(COMMAND "${TF2ONNX_FLATC}" --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT version MATCHES " ${headers}$")
    message(FATAL_ERROR "${TF2ONNX_FLATC} is ${version}, but the headers in ${TF2ONNX_FLATBUFFERS_INCLUDE} are ${headers}.\n"
      "Set -DTF2ONNX_FLATC to Debian's flatc, usually /usr/bin/flatc.")
  endif()
endfunction()
_t2o_check_flatc()

set(T2O_TFLITE_SCHEMA ${CMAKE_CURRENT_SOURCE_DIR}/src/tflite/schema.fbs)
set(T2O_FLATBUFFERS_OUT ${CMAKE_CURRENT_BINARY_DIR}/flatbuffers)
set(T2O_TFLITE_HEADER ${T2O_FLATBUFFERS_OUT}/tflite/schema_generated.h)
add_custom_command(OUTPUT ${T2O_TFLITE_HEADER}
  COMMAND ${TF2ONNX_FLATC} --cpp --scoped-enums -o ${T2O_FLATBUFFERS_OUT}/tflite ${T2O_TFLITE_SCHEMA}
  DEPENDS ${T2O_TFLITE_SCHEMA})
add_custom_target(t2o_tflite_header DEPENDS ${T2O_TFLITE_HEADER})
add_library(t2o_flatbuffers INTERFACE)
target_include_directories(t2o_flatbuffers SYSTEM INTERFACE ${T2O_FLATBUFFERS_OUT} ${TF2ONNX_FLATBUFFERS_INCLUDE})
add_dependencies(t2o_flatbuffers t2o_tflite_header)
