cimport cython

from prvcore._core.internals cimport prv_window


@cython.final
cdef class Window:
    cdef prv_window window
