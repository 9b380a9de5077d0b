# cmake -DHEADER=... -DTEST=... -P check_arithmetic.cmake: every function of the header that returns a status is one of those
# that test_arithmetic.c calls in each mode.
file(STRINGS "${HEADER}" declared REGEX "^PRV_API prv_status ")
list(TRANSFORM declared REPLACE "^PRV_API prv_status ([a-z_]+)\\(.*$" "\\1")
file(STRINGS "${TEST}" called REGEX "^    (COMPUTES|TELLS)\\(")
list(TRANSFORM called REPLACE "^    [A-Z]+\\(([a-z_]+)\\),$" "\\1")
list(SORT declared)
list(SORT called)
if(NOT declared STREQUAL called)
    message(FATAL_ERROR "declared: ${declared}\ncalled: ${called}")
endif()
