# cmake -DKIND=find_package|add_subdirectory|fetch_content|pkg_config|pkg_config_static -DBUILD=... -DSOURCE=...
#       -DWORK=... -DCC=... -DLIBDIR=... -P check_consumer.cmake
# Builds a consumer of SOURCE/examples/consumers around epsilon.c, and runs it. The library of BUILD is installed for
# it and then moved; add_subdirectory and fetch_content have the sources.
set(consumers "${SOURCE}/examples/consumers")
set(prefix "${WORK}/moved")
set(project "${WORK}/project")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${project}")
file(COPY "${SOURCE}/examples/epsilon.c" DESTINATION "${project}")

function(run)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${project}" OUTPUT_VARIABLE output ERROR_VARIABLE output
        RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${ARGN}\n${output}")
    endif()
endfunction()

if(KIND STREQUAL "add_subdirectory")
    file(CREATE_LINK "${SOURCE}/.." "${project}/prvcore" SYMBOLIC)
elseif(NOT KIND STREQUAL "fetch_content")
    run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
    file(RENAME "${WORK}/installed" "${prefix}")
endif()

if(KIND MATCHES "^pkg_config")
    set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
    if(KIND STREQUAL "pkg_config")
        set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
        set(ENV{DYLD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
    endif()
    run(sh -e "${consumers}/${KIND}.sh")
    set(program "${project}/my_program")
else()
    file(COPY "${consumers}/${KIND}/CMakeLists.txt" DESTINATION "${project}")
    run("${CMAKE_COMMAND}" -S . -B build "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${CC}"
        "-DFETCHCONTENT_SOURCE_DIR_PRVCORE=${SOURCE}/.." -DCMAKE_BUILD_TYPE=Release)
    run("${CMAKE_COMMAND}" --build build --parallel)
    set(program "${project}/build/my_program")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_LIST_DIR}/check_epsilon.cmake" -- "${program}"
    COMMAND_ERROR_IS_FATAL ANY)
