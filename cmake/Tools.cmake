# ccache and mold when they are there: compiling against LibTorch is slow.
find_program(L0GM_CCACHE ccache)
if(L0GM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need ccache to look past their time stamps.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${L0GM_CCACHE})
endif()
find_program(L0GM_MOLD mold)
if(L0GM_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  add_link_options(-fuse-ld=mold)
endif()
