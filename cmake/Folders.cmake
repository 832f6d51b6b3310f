# The version is the project's, written once in the top CMakeLists.txt; the commit is asked of git where there is one.
execute_process(COMMAND git rev-parse --short HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE L0GM_COMMIT
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(EXISTS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)  # a new commit configures again: files that are made say which one made them
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
endif()
if(NOT L0GM_COMMIT)
  set(L0GM_COMMIT "unknown")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${CMAKE_BINARY_DIR}/generated/base/version.h @ONLY)

# Heavy headers are compiled once: those of every folder for base, LibTorch's with them for the gate. A target takes one of the two over
# when it is compiled in the same way: programs, too, have position-independent code.
set(L0GM_HEADERS <nlohmann/json.hpp> <fmt/format.h> <algorithm> <filesystem> <functional> <map> <memory> <span> <string> <string_view> <vector>)
set(L0GM_TORCH_HEADERS <torch/nn/module.h> <ATen/Functions.h> ${L0GM_HEADERS})

# LibTorch brings a fmt of its own, whose version is another one and whose functions it does not export: they come from its headers.
function(l0gm_use_headers target from)
  if(from STREQUAL "gate")
    target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY $<$<BOOL:${L0GM_CUDA}>:L0GM_HAS_CUDA>)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  endif()
  target_precompile_headers(${target} REUSE_FROM l0gm_${from})
endfunction()

# l0gm_folder(NAME [TORCH] [PARTS] [DEPENDS folders…]): the library of one folder of src/.
function(l0gm_folder name)
  cmake_parse_arguments(FOLDER "TORCH;PARTS" "" "DEPENDS" ${ARGN})
  set(FOLDER_SOURCES ${name}/*.cpp)
  if(L0GM_CUDA AND FOLDER_TORCH)  # kernels of our own, beside the folder's other sources
    list(APPEND FOLDER_SOURCES ${name}/*.cu)
  endif()
  list(TRANSFORM FOLDER_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/)
  file(GLOB_RECURSE FOLDER_SOURCES CONFIGURE_DEPENDS ${FOLDER_SOURCES})
  add_library(l0gm_${name} STATIC ${FOLDER_SOURCES})
  add_library(l0gm::${name} ALIAS l0gm_${name})
  set_target_properties(l0gm_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_options(l0gm_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow>)
  # What the runtime's shared library does not call is left out of it, function by function.
  target_compile_options(l0gm_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)
  target_include_directories(l0gm_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(FOLDER_PARTS)
    target_link_libraries(l0gm_${name} PUBLIC $<BUILD_INTERFACE:l0gm_parts>)
  endif()
  foreach(dependency IN LISTS FOLDER_DEPENDS)
    target_link_libraries(l0gm_${name} PUBLIC l0gm_${dependency})
  endforeach()
  if(NOT FOLDER_TORCH)
    if(name STREQUAL "base")
      target_precompile_headers(l0gm_base PRIVATE ${L0GM_HEADERS})
    else()
      l0gm_use_headers(l0gm_${name} base)
    endif()
    return()
  endif()
  if(name STREQUAL "gate")
    target_compile_definitions(l0gm_gate PRIVATE FMT_HEADER_ONLY $<$<BOOL:${L0GM_CUDA}>:L0GM_HAS_CUDA>)
    # The standard library first: LibTorch exports its own copy of std::filesystem, of another compiler, and calls would end there.
    target_link_libraries(l0gm_gate PUBLIC stdc++ ${TORCH_LIBRARIES})
    target_precompile_headers(l0gm_gate PRIVATE ${L0GM_TORCH_HEADERS})
  else()
    target_link_libraries(l0gm_${name} PUBLIC l0gm_gate)
    l0gm_use_headers(l0gm_${name} gate)
  endif()
  set(kernels ${FOLDER_SOURCES})
  list(FILTER kernels INCLUDE REGEX "[.]cu$")
  set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # Every file against LibTorch costs five seconds before its own first line: several are compiled as one.
  set_target_properties(l0gm_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()
