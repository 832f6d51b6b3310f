# The installed program finds LibTorch where the build found it. Not by INSTALL_RPATH_USE_LINK_PATH: that leaves out folders inside the
# project, and .venv is one.
set_target_properties(l0gm_program PROPERTIES INSTALL_RPATH "${TORCH_INSTALL_PREFIX}/lib")
install(TARGETS l0gm_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS l0gm_base l0gm_gate EXPORT l0gmTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/l0gm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT l0gmTargets NAMESPACE l0gm:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/l0gm)
