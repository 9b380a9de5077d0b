cimport cython

from prvcore._core.internals cimport prv_lattice, prv_mesh

cdef double mesh_size_of(object value, str name) except? -1.0


@cython.final
cdef class Mesh:
    cdef prv_mesh mesh


@cython.final
cdef class Lattice:
    cdef prv_lattice lattice
    cdef double error
