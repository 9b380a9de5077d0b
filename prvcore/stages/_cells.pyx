"""Stage 1: the two masses of a mechanism's privacy loss in every cell between knots."""

cimport cython
from libc.string cimport memcpy

from prvcore._core.composition cimport let_stop, watch
from prvcore._core.core cimport PRV_OK, prv_options, prv_options_default, prv_status
from prvcore._core.internals cimport (
    PRV_DOMINATED,
    PRV_DOMINATING,
    PRV_WIDEST_CELL,
    prv_absolute_cdf_error,
    prv_cells_compute,
    prv_cells_free,
    prv_cells_new,
    prv_cells_rounding,
    prv_check_arithmetic,
    prv_rounding,
    prv_side,
)
from prvcore._core.mechanism cimport Handle
from prvcore._core.status cimport check
from prvcore.stages._arrays cimport check_room, copy_of

from collections import namedtuple

from prvcore import _arguments
from prvcore._settings import memory_limit_of
from prvcore.mechanisms.base import Mechanism

__all__ = ["Cells", "Rounding", "cells"]

cdef tuple DIRECTIONS = ("remove", "add")
cdef tuple SIDES = ("dominating", "dominated")


Rounding = namedtuple("Rounding", ("relative", "shift"), module="prvcore.stages")
Rounding.__doc__ = """How far rounding may have moved a privacy curve.

Attributes
----------
relative : float
    Delta is off by a factor of at most ``1 + relative``, either way.
shift : float
    Epsilon is off by at most `shift`, nats, either way.

"""


@cython.final
cdef class Cells:
    """The two masses of a mechanism's loss in every cell between knots; made by `cells`."""

    __module__ = "prvcore.stages"

    def __init__(self):
        raise TypeError("Cells are made by prvcore.stages.cells")

    def __dealloc__(self):
        prv_cells_free(&self.cells)

    @property
    def knots(self):
        """The n increasing losses (nats) that cut the line into n + 1 cells."""
        return copy_of(self.cells.knots, self.cells.length)

    @property
    def mass(self):
        """Q's mass of each cell, float64 (n + 1,).

        Cell 0 is ``(-inf, knots[0]]``, cell i ``(knots[i - 1], knots[i]]``, cell n
        ``(knots[n - 1], inf)``.
        """
        return copy_of(self.cells.mass, self.cells.length + 1)

    @property
    def relative(self):
        """P's mass of each cell times e^x, with x its lower knot (of cell 0: the upper one).

        Float64 (n + 1,). It does not underflow where P does.
        """
        return copy_of(self.cells.relative, self.cells.length + 1)

    @property
    def infinite_mass(self):
        """Q's mass at the loss +infinity."""
        return self.cells.infinite_mass

    @property
    def infinite_error(self):
        """Absolute error of `infinite_mass`, at most."""
        return self.cells.infinite_error

    @property
    def absolute_error(self):
        """Absolute error of delta from a table or functions of the caller, at most; else 0."""
        return self.error

    @property
    def rounding(self):
        """`Rounding` of the curve of any lattice of these cells, before that of the lattice."""
        cdef prv_rounding rounding = prv_cells_rounding(&self.cells)
        return Rounding(rounding.relative, rounding.shift)

    def __repr__(self):
        return f"<Cells: {self.cells.length} knots>"


def cells(mechanism, knots, *, direction="remove", side="dominating", memory_limit=None):
    """Return the masses of a mechanism's privacy loss between knots.

    Parameters
    ----------
    mechanism : Mechanism
        One step.
    knots : array_like of float, shape (n,), n >= 2
        Losses in nats, finite, strictly increasing, neighbours at most 100 apart.
    direction : {"remove", "add"}
        Which neighbour has one record less.
    side : {"dominating", "dominated"}
        The lattice that the cells are for. It matters if a mechanism is known only by the values of
        the caller's functions, such as `prvcore.FromCDFs`: these values are rounded, so that each
        lattice needs cells of its own.
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Cells

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the cells need more memory than the
        limit; the mechanism's own functions returned what no pair has.
    MemoryError
        There is no room for the arrays.

    Notes
    -----
    Cost O(n), vectorised. With a = ``rounding.relative / 1.5``, every lattice of these cells has
    the promise of ``src_c/lattices/cells.h``, which docs/bounds derives.

    """
    cdef const double[::1] points = _arguments.frozen_vector(knots, "knots")
    cdef size_t length = points.shape[0]
    cdef prv_status status = PRV_OK
    cdef Handle handle = handle_of(mechanism, direction)
    cdef bint add = direction == "add"
    cdef prv_options options = prv_options_default()
    cdef watch w
    cdef Cells made = Cells.__new__(Cells)
    made.side = (
        PRV_DOMINATED
        if _arguments.choice(side, "side", SIDES) == "dominated"
        else PRV_DOMINATING
    )
    check_knots(points)
    # Four arrays: knots, both masses, and the slack of the lattices.
    check_room(f"knots of length {length}", 32.0 * length, memory_limit_of(memory_limit))
    made.by_values = handle.context is not None
    made.error = prv_absolute_cdf_error(handle.pointer)
    check(prv_check_arithmetic())
    check(prv_cells_new(length, &made.cells))
    memcpy(made.cells.knots, &points[0], length * sizeof(double))
    let_stop(&options, &w, None)
    made.cells.options = &options
    with nogil:
        status = prv_cells_compute(handle.pointer, add, made.side, &made.cells)
    made.cells.options = NULL
    check(status)
    return made


cdef Handle handle_of(object mechanism, object direction):
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a mechanism, got {mechanism!r}")
    return <Handle?>mechanism._build(_arguments.choice(direction, "direction", DIRECTIONS))


cdef int check_knots(const double[::1] x) except -1:
    cdef Py_ssize_t i
    if x.shape[0] < 2:
        raise ValueError(f"knots must have at least 2 entries, got {x.shape[0]}")
    for i in range(1, x.shape[0]):
        if not 0.0 < x[i] - x[i - 1] <= PRV_WIDEST_CELL:
            raise ValueError(
                f"knots must be strictly increasing, each at most {PRV_WIDEST_CELL:g} above the "
                f"one before, got {x[i - 1]!r} before {x[i]!r} at index {i}"
            )
    return 0


cdef str name_of(prv_side side):
    return SIDES[<int>side]
