# TensorFlow's messages, as far as we read them: a library of its own, with the warnings of generated code left alone.
file(GLOB T2O_PROTO_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/tf/protos/*.proto)
set(T2O_PROTO_OUT ${CMAKE_CURRENT_BINARY_DIR}/protos)
file(MAKE_DIRECTORY ${T2O_PROTO_OUT}/tf/protos)
set(T2O_PROTO_SOURCES "")
foreach(proto ${T2O_PROTO_FILES})
  get_filename_component(stem ${proto} NAME_WE)
  set(out ${T2O_PROTO_OUT}/tf/protos/${stem}.pb)
  add_custom_command(OUTPUT ${out}.cc ${out}.h
    COMMAND ${TF2ONNX_PROTOC} --cpp_out=${T2O_PROTO_OUT} --proto_path=${CMAKE_CURRENT_SOURCE_DIR}/src ${proto}
    DEPENDS ${T2O_PROTO_FILES})
  list(APPEND T2O_PROTO_SOURCES ${out}.cc)
endforeach()
add_library(t2o_protos STATIC ${T2O_PROTO_SOURCES})
target_include_directories(t2o_protos SYSTEM PUBLIC ${T2O_PROTO_OUT})
target_link_libraries(t2o_protos PUBLIC t2o::protobuf)
