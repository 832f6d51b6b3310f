# l0gm-serve: compact models over HTTP, without LibTorch. `l0gm serve` starts it, and so it lies beside l0gm.
add_executable(l0gm_serve src/cli/serve/main.cpp)
set_target_properties(l0gm_serve PROPERTIES OUTPUT_NAME l0gm-serve)
target_link_libraries(l0gm_serve PRIVATE l0gm_server)
target_compile_options(l0gm_serve PRIVATE -Wall -Wextra -Wshadow -ffunction-sections -fdata-sections)
target_link_options(l0gm_serve PRIVATE -Wl,--as-needed -Wl,--gc-sections)
l0gm_use_headers(l0gm_serve base)
install(TARGETS l0gm_serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
