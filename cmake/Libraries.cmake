# libtf2onnx.so and libtf2onnx.a: both hold all that they need, protobuf and onnx among it, and show nothing but the
# interface in src/tf2onnx.

add_library(tf2onnx SHARED $<TARGET_OBJECTS:t2o_objects>)
target_link_libraries(tf2onnx PRIVATE t2o_objects)
set(_exports "${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map")
target_link_options(tf2onnx PRIVATE "LINKER:--version-script=${_exports}" LINKER:--exclude-libs,ALL LINKER:--no-undefined-version)
set_target_properties(tf2onnx PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # below 1.0 each minor version may break the interface
  LINK_DEPENDS "${_exports}")

# One object of everything, so that what is inside cannot meet another protobuf in the program of the user.
set(TF2ONNX_STATIC_LIBRARY "${CMAKE_CURRENT_BINARY_DIR}/libtf2onnx.a")
set(_parts t2o_protos t2o::onnx t2o::protobuf t2o::leveldb)
list(TRANSFORM _parts REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE _archives)
set(_merge "${CMAKE_CURRENT_SOURCE_DIR}/cmake/merge_static.sh")
add_custom_command(
  OUTPUT "${TF2ONNX_STATIC_LIBRARY}"
  COMMAND "${_merge}" "${TF2ONNX_STATIC_LIBRARY}" "${CMAKE_LINKER}" "${CMAKE_OBJCOPY}" "${CMAKE_NM}" "${CMAKE_AR}"
    "$<TARGET_OBJECTS:t2o_objects>" ${_archives}
  DEPENDS t2o_objects "$<TARGET_OBJECTS:t2o_objects>" ${_parts} "${_merge}"
  COMMENT "Merging libtf2onnx.a"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(tf2onnx_static ALL DEPENDS "${TF2ONNX_STATIC_LIBRARY}")

include(cmake/Install.cmake)
