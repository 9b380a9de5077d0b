cimport cython

from prvcore._core.internals cimport prv_cells, prv_side
from prvcore._core.mechanism cimport Handle

# The mechanism as the C core has it; TypeError if it is none.
cdef Handle handle_of(object mechanism, object direction)
cdef str name_of(prv_side side)


@cython.final
cdef class Cells:
    cdef prv_cells cells
    cdef bint by_values  # known by a callback's values alone: each side has cells of its own
    cdef prv_side side
    cdef double error
