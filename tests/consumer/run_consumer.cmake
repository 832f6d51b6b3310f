# The installed package as a stranger uses it: install, then configure, build and run examples/own_model against it.
# cmake -DBUILD=… -DSOURCE=… -DWORK=… -DTORCH=… -DCOMPILER=… -P run_consumer.cmake
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result})")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
# The sources are copied away from ours, so that only what was installed can be found.
file(COPY ${SOURCE}/examples/own_model DESTINATION ${WORK})
run("configuring" ${CMAKE_COMMAND} -S ${WORK}/own_model -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DTorch_DIR=${TORCH})
run("building" ${CMAKE_COMMAND} --build ${WORK}/build)
run("running own_model" ${WORK}/build/own_model)
run("the installed program" ${WORK}/prefix/bin/l0gm --version)
file(REMOVE_RECURSE ${WORK})
