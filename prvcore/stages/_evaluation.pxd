from prvcore._core.internals cimport prv_composed, prv_rounding


cdef class Composed:
    cdef prv_composed composed
    cdef prv_rounding rounding  # sum of counts times those of the lattices
    cdef double absolute  # and of their absolute errors

    cdef int check_made(self) except -1
