from prvcore._core.core cimport prv_status

# Returns 0 on PRV_OK and otherwise raises what the status stands for; call it with the GIL.
cdef int check(prv_status status) except -1
