from libc.stdint cimport int64_t

cdef object copy_of(const double *values, size_t length)
cdef object integers_of(const int64_t *values, size_t length)

# ValueError if `what` needs more bytes than the limit.
cdef int check_room(object what, double bytes_needed, object memory_limit) except -1
