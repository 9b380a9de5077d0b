"""What C computed, as arrays of NumPy; and whether there is room for what is asked."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy as np


cdef object copy_of(const double *values, size_t length):
    found = np.empty(length if values is not NULL else 0)
    cdef double[::1] view = found
    if found.size > 0:
        memcpy(&view[0], values, length * sizeof(double))
    return found


cdef object integers_of(const int64_t *values, size_t length):
    found = np.empty(length, dtype=np.int64)
    cdef int64_t[::1] view = found
    if length > 0:
        memcpy(&view[0], values, length * sizeof(int64_t))
    return found


cdef int check_room(object what, double bytes_needed, object memory_limit) except -1:
    if bytes_needed > memory_limit:
        raise ValueError(
            f"{what} needs {bytes_needed:.0f} bytes, which is above the memory limit of "
            f"{memory_limit} bytes"
        )
    return 0
