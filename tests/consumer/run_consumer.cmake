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
# The runtime: a package of its own that must not ask for LibTorch.
file(COPY ${SOURCE}/examples/serve DESTINATION ${WORK})
run("configuring serve" ${CMAKE_COMMAND} -S ${WORK}/serve -B ${WORK}/build_serve -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run("building serve" ${CMAKE_COMMAND} --build ${WORK}/build_serve)
set(model ${SOURCE}/tests/runtime/files/version1.l0gm)
run("serving from C" ${WORK}/build_serve/serve_c ${model} 30 0.5 red Paris "a|b" 70)
run("serving from C++" ${WORK}/build_serve/serve_cpp ${model} city=Paris further=1 age=30 angle=0.5 colour=red tags=a|b weight=70)
run("the installed program" ${WORK}/prefix/bin/l0gm --version)
file(REMOVE_RECURSE ${WORK})
