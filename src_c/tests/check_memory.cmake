# cmake -DVALGRIND=... -P check_memory.cmake -- COMMAND...: runs it under valgrind, and fails where that finds an error or
# lost memory, or the program does not end by itself. Checks of accuracy do not count here: valgrind gives long double no
# more precision than double.
include("${CMAKE_CURRENT_LIST_DIR}/command_line.cmake")

execute_process(COMMAND "${VALGRIND}" --quiet --error-exitcode=99 --leak-check=full ${command}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
string(REGEX MATCH "[^\n]*\n$" last "${output}")
message("${last}${errors}")
if(NOT result MATCHES "^[01]$")
    message(FATAL_ERROR "failed: ${result}")
endif()
