# The library's name follows the version of the C interface.
file(STRINGS include/l0gm/c_api.h abi_line REGEX "^#define L0GM_ABI_VERSION")
string(REGEX MATCH "[0-9]+$" abi_version "${abi_line}")
# libl0gm_runtime: what serves a compact model without LibTorch, as one shared library with the C++ and the C interface.
add_library(l0gm_runtime_shared SHARED $<TARGET_OBJECTS:l0gm_runtime>)
set_target_properties(l0gm_runtime_shared PROPERTIES OUTPUT_NAME l0gm_runtime EXPORT_NAME runtime LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} VERSION ${PROJECT_VERSION} SOVERSION ${abi_version})
target_link_libraries(l0gm_runtime_shared PRIVATE l0gm_metrics l0gm_encode l0gm_base)
target_include_directories(l0gm_runtime_shared PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(l0gm_runtime_shared PUBLIC cxx_std_20)
target_link_options(l0gm_runtime_shared PRIVATE -Wl,--as-needed -Wl,--gc-sections $<$<CONFIG:Release>:-s>)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/l0gm)
install(TARGETS l0gm_runtime_shared EXPORT l0gmRuntimeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(EXPORT l0gmRuntimeTargets NAMESPACE l0gm:: DESTINATION ${package} COMPONENT runtime)
install(FILES include/l0gm/api.h include/l0gm/error.h include/l0gm/input_counts.h include/l0gm/runtime.h include/l0gm/c_api.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/l0gm COMPONENT runtime)
# The Python package carries the library beside its module.
install(FILES $<TARGET_FILE:l0gm_runtime_shared> DESTINATION l0gm RENAME libl0gm_runtime.so COMPONENT python EXCLUDE_FROM_ALL)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/l0gmConfig.cmake.in ${CMAKE_BINARY_DIR}/l0gmConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/l0gmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/l0gmConfig.cmake ${CMAKE_BINARY_DIR}/l0gmConfigVersion.cmake DESTINATION ${package} COMPONENT runtime)
