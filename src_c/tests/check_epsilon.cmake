# cmake -P check_epsilon.cmake -- COMMAND...: runs it, and looks whether the bounds that it prints contain the truth, which
# is from arithmetic of high precision.
set(truth 0.703708838718)

include("${CMAKE_CURRENT_LIST_DIR}/command_line.cmake")

execute_process(COMMAND ${command} OUTPUT_VARIABLE output RESULT_VARIABLE result)
message("${output}")
if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${result}")
endif()
if(NOT output MATCHES "^([0-9.]+) <= epsilon <= ([0-9.]+)\n$")
    message(FATAL_ERROR "prints no bounds of epsilon")
endif()
set(lower "${CMAKE_MATCH_1}")
set(upper "${CMAKE_MATCH_2}")
if(NOT (lower LESS_EQUAL truth AND truth LESS_EQUAL upper AND upper LESS 0.7047 AND lower GREATER 0.7027))
    message(FATAL_ERROR "epsilon is ${truth}")
endif()
