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
set(_object "${CMAKE_CURRENT_BINARY_DIR}/tf2onnx_static.o")
set(TF2ONNX_STATIC_LIBRARY "${CMAKE_CURRENT_BINARY_DIR}/libtf2onnx.a")
set(_parts t2o_protos t2o::onnx t2o::protobuf t2o::leveldb)
list(TRANSFORM _parts REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE _archives)
add_custom_command(
  OUTPUT "${TF2ONNX_STATIC_LIBRARY}"
  COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${_object}" "$<TARGET_OBJECTS:t2o_objects>"
    --start-group ${_archives} --end-group
  COMMAND "${CMAKE_OBJCOPY}" --wildcard --keep-global-symbol=tf2onnx_* --keep-global-symbol=_ZN7tf2onnx* "${_object}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f "${TF2ONNX_STATIC_LIBRARY}"
  COMMAND "${CMAKE_AR}" rcs "${TF2ONNX_STATIC_LIBRARY}" "${_object}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f "${_object}"
  DEPENDS t2o_objects "$<TARGET_OBJECTS:t2o_objects>" ${_parts}
  COMMENT "Merging libtf2onnx.a"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(tf2onnx_static ALL DEPENDS "${TF2ONNX_STATIC_LIBRARY}")

include(cmake/Install.cmake)
