# cmake -DKIND=find_package|pkg_config|pkg_config_static|add_subdirectory -DBUILD=... -DEXAMPLES=... -DWORK=... -DCC=...
#       -DLIBDIR=... -P check_consumer.cmake
# Installs the library (but for add_subdirectory), moves it elsewhere, builds the consumer project against it, and
# runs that.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/build")
set(prefix "${WORK}/moved")

function(run)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}/build" OUTPUT_VARIABLE output ERROR_VARIABLE output
        RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${ARGN}\n${output}")
    endif()
endfunction()

if(NOT KIND STREQUAL "add_subdirectory")
    run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
    file(RENAME "${WORK}/installed" "${prefix}")
endif()
if(KIND MATCHES "^pkg_config")
    set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
    set(goal consumer)
    if(KIND STREQUAL "pkg_config_static")
        set(goal static)
    else()
        set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
        set(ENV{DYLD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
    endif()
    run(make -f "${EXAMPLES}/pkg_config/Makefile" "CC=${CC}" ${goal})
else()
    run("${CMAKE_COMMAND}" -S "${EXAMPLES}/${KIND}" -B . "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${CC}"
        -DCMAKE_BUILD_TYPE=Release)
    run("${CMAKE_COMMAND}" --build . --parallel)
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_LIST_DIR}/check_epsilon.cmake" -- "${WORK}/build/consumer"
    COMMAND_ERROR_IS_FATAL ANY)
