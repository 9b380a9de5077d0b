# cmake -DKIND=... -DBUILD=... -DSOURCE=... -DFFT=... -DWORK=... -DCC=... -DLIBDIR=... -P check_consumer.cmake
# Builds a consumer of SOURCE/examples/consumers around epsilon.c, and runs it. KIND is find_package, pkg_config or
# pkg_config_static, for which the library of BUILD is installed and then moved; pkg_config_alone, pkg_config where only
# the static library was built; add_subdirectory, which has the sources, or fetch_content, an archive of them.
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

set(script "${KIND}")
if(KIND STREQUAL "pkg_config_alone")
    set(script pkg_config)
    set(options -DCMAKE_BUILD_TYPE=Debug) # which compiles in less than half the time
    if(DEFINED ENV{CMAKE_C_COMPILER_LAUNCHER}) # a cache, which has what BUILD has compiled
        load_cache("${BUILD}" READ_WITH_PREFIX of_build_ CMAKE_BUILD_TYPE CMAKE_C_FLAGS PRVCORE_WERROR)
        set(options "-DCMAKE_BUILD_TYPE=${of_build_CMAKE_BUILD_TYPE}" "-DCMAKE_C_FLAGS=${of_build_CMAKE_C_FLAGS}"
            "-DPRVCORE_WERROR=${of_build_PRVCORE_WERROR}")
    endif()
    set(BUILD "${WORK}/static")
    run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" -DBUILD_SHARED_LIBS=OFF -DPRVCORE_TESTS=OFF "-DPRVCORE_FFT=${FFT}"
        "-DCMAKE_C_COMPILER=${CC}" ${options})
    run("${CMAKE_COMMAND}" --build "${BUILD}" --parallel 2)
endif()

if(KIND STREQUAL "add_subdirectory")
    file(CREATE_LINK "${SOURCE}/.." "${project}/prvcore" SYMBOLIC)
elseif(KIND STREQUAL "fetch_content")
    set(archive "${WORK}/prvcore.tar.gz")
    execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${archive}" src_c LICENSE WORKING_DIRECTORY "${SOURCE}/.."
        COMMAND_ERROR_IS_FATAL ANY)
else()
    run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
    file(RENAME "${WORK}/installed" "${prefix}")
endif()

if(KIND MATCHES "^pkg_config")
    set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
    if(NOT KIND STREQUAL "pkg_config_static")
        set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
        set(ENV{DYLD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
    endif()
    run(sh -e "${consumers}/${script}.sh")
    set(program "${project}/my_program")
else()
    unset(ENV{CMAKE_C_COMPILER_LAUNCHER}) # no cache has what is compiled in this folder
    file(COPY "${consumers}/${KIND}/CMakeLists.txt" DESTINATION "${project}")
    run("${CMAKE_COMMAND}" -Werror=dev -S . -B build "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${CC}"
        "-DPRVCORE_SOURCES=${archive}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_UNITY_BUILD=ON)
    # No build type was asked for: the library would be optimised all the same.
    file(STRINGS "${project}/build/compile_commands.json" slow REGEX "PRV_FFT_PLANNER")
    list(FILTER slow EXCLUDE REGEX " -O3 ")
    if(slow)
        message(FATAL_ERROR "not optimised: ${slow}")
    endif()
    run("${CMAKE_COMMAND}" -S . -B build -DCMAKE_BUILD_TYPE=Debug) # which compiles in less than half the time
    run("${CMAKE_COMMAND}" --build build --parallel 2)
    set(program "${project}/build/my_program")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_LIST_DIR}/check_epsilon.cmake" -- "${program}"
    COMMAND_ERROR_IS_FATAL ANY)
