if(L0GM_TORCH)
  list(PREPEND CMAKE_PREFIX_PATH ${L0GM_TORCH})
endif()
find_package(Torch 2.9 QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "LibTorch >= 2.9 was not found. ./quickstart and ./test bring it; by hand: "
    "-DL0GM_TORCH=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')")
endif()
message(STATUS "LibTorch ${Torch_VERSION}")
