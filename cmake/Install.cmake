# What `cmake --install` puts in place: the program with its manual page and completions, the libraries with their
# headers, and what find_package(tf2onnx) and pkg-config read.
include(CMakePackageConfigHelpers)

install(TARGETS tf2onnx-cpp RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS tf2onnx-litert RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/tf2onnx")
install(TARGETS tf2onnx LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "${TF2ONNX_STATIC_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY src/tf2onnx DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tf2onnx")
configure_package_config_file(cmake/tf2onnxConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tf2onnxConfig.cmake"
  INSTALL_DESTINATION "${_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tf2onnxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tf2onnxConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tf2onnxConfigVersion.cmake"
  DESTINATION "${_package_dir}")

# From where it lies, so that the installed tree can be moved.
file(RELATIVE_PATH _include_from_pkgconfig "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/tf2onnx.pc.in "${CMAKE_CURRENT_BINARY_DIR}/tf2onnx.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tf2onnx.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The program itself knows its manual page and completions.
set(_generated "${CMAKE_CURRENT_BINARY_DIR}/generated")
add_custom_command(
  OUTPUT "${_generated}/tf2onnx-cpp.1" "${_generated}/tf2onnx-cpp.bash" "${_generated}/_tf2onnx-cpp" "${_generated}/tf2onnx-cpp.fish"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${_generated}"
  COMMAND tf2onnx-cpp man > "${_generated}/tf2onnx-cpp.1"
  COMMAND tf2onnx-cpp completion bash > "${_generated}/tf2onnx-cpp.bash"
  COMMAND tf2onnx-cpp completion zsh > "${_generated}/_tf2onnx-cpp"
  COMMAND tf2onnx-cpp completion fish > "${_generated}/tf2onnx-cpp.fish"
  DEPENDS tf2onnx-cpp)
add_custom_target(tf2onnx_generated ALL DEPENDS "${_generated}/tf2onnx-cpp.1")
install(FILES "${_generated}/tf2onnx-cpp.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${_generated}/tf2onnx-cpp.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  RENAME tf2onnx-cpp)
install(FILES "${_generated}/_tf2onnx-cpp" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES "${_generated}/tf2onnx-cpp.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
