from prvcore._core.core cimport prv_mechanism


cdef class Handle:
    cdef prv_mechanism *pointer
    cdef object context  # what the C object borrows: callables, perhaps of its base
