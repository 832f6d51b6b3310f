# Header-only parts are found by their header, so that a folder made by scripts/bundle serves as well as installed packages.
add_library(l0gm_parts INTERFACE)
if(L0GM_PARTS)
  list(PREPEND CMAKE_INCLUDE_PATH ${L0GM_PARTS}/include)
  list(PREPEND CMAKE_LIBRARY_PATH ${L0GM_PARTS}/lib)
endif()

function(l0gm_header_part name header package)
  find_path(L0GM_${name}_INCLUDE ${header})
  if(NOT L0GM_${name}_INCLUDE)
    message(FATAL_ERROR "${header} was not found: install ${package} (scripts/setup does), or name a folder made by scripts/bundle with -DL0GM_PARTS=DIR")
  endif()
  target_include_directories(l0gm_parts SYSTEM INTERFACE ${L0GM_${name}_INCLUDE})
endfunction()
l0gm_header_part(CLI11 CLI/CLI.hpp libcli11-dev)
l0gm_header_part(TOML toml++/toml.h libtomlplusplus-dev)
l0gm_header_part(JSON nlohmann/json.hpp nlohmann-json3-dev)
l0gm_header_part(FMT fmt/format.h libfmt-dev)
l0gm_header_part(HIGHWAY hwy/highway.h libhwy-dev)
target_compile_definitions(l0gm_parts INTERFACE TOML_HEADER_ONLY=1)

# fmt's own functions are compiled once (src/base/fmt_library.cpp), where that file fits the installed version; else in every file.
if(NOT DEFINED L0GM_FMT_COMPILED)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/fmt_try.cpp "#include <fmt/format.h>\nint main() {\n"
    "  return static_cast<int>(fmt::format(\"{} {:.3f} {} {:e} {}\", 1, 2.5, 3.25F, 1e-9, \"x\").size());\n}\n")
  try_compile(L0GM_FMT_COMPILED ${CMAKE_BINARY_DIR}/fmt_try
    SOURCES ${CMAKE_BINARY_DIR}/generated/fmt_try.cpp ${PROJECT_SOURCE_DIR}/src/base/fmt_library.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${L0GM_FMT_INCLUDE}" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
endif()
if(NOT L0GM_FMT_COMPILED)
  message(STATUS "src/base/fmt_library.cpp does not fit this fmt: its functions are compiled in every file, which takes longer")
  target_compile_definitions(l0gm_parts INTERFACE FMT_HEADER_ONLY)
endif()

# Libraries: a missing one switches off what needs it, with a message at run time.
function(l0gm_library_part name header library definition package)
  find_path(L0GM_${name}_INCLUDE ${header})
  find_library(L0GM_${name}_LIBRARY ${library})
  if(L0GM_${name}_INCLUDE AND L0GM_${name}_LIBRARY)
    target_include_directories(l0gm_parts SYSTEM INTERFACE ${L0GM_${name}_INCLUDE})
    target_link_libraries(l0gm_parts INTERFACE ${L0GM_${name}_LIBRARY})
    target_compile_definitions(l0gm_parts INTERFACE ${definition})
  else()
    message(STATUS "${library} was not found (${package}): the build goes on without it")
  endif()
endfunction()
l0gm_library_part(ZLIB zlib.h z L0GM_HAS_ZLIB zlib1g-dev)
l0gm_library_part(LZMA lzma.h lzma L0GM_HAS_LZMA liblzma-dev)
l0gm_library_part(ZSTD zstd.h zstd L0GM_HAS_ZSTD libzstd-dev)
l0gm_library_part(CURL curl/curl.h curl L0GM_HAS_CURL libcurl4-openssl-dev)

# oneDNN computes the matrix products of text models without LibTorch. Its header is needed here; the library is loaded when a text model
# is opened. Version 3 has other functions.
find_path(L0GM_ONEDNN_INCLUDE oneapi/dnnl/dnnl_version.h)
set(onednn_version "none")
if(L0GM_ONEDNN_INCLUDE)
  file(STRINGS ${L0GM_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h onednn_line REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX MATCH "[0-9]+$" onednn_version "${onednn_line}")
endif()
if(onednn_version EQUAL 2)
  set_source_files_properties(src/runtime/text/onednn.cpp src/runtime/text/onednn_library.cpp PROPERTIES
    COMPILE_DEFINITIONS L0GM_HAS_ONEDNN SKIP_PRECOMPILE_HEADERS ON)
  target_include_directories(l0gm_parts SYSTEM INTERFACE ${L0GM_ONEDNN_INCLUDE})
  target_link_libraries(l0gm_parts INTERFACE ${CMAKE_DL_LIBS})
else()
  message(STATUS "oneDNN 2 was not found (libdnnl-dev; found version: ${onednn_version}): text models are served with LibTorch alone")
endif()
find_package(Threads REQUIRED)
target_link_libraries(l0gm_parts INTERFACE Threads::Threads)
