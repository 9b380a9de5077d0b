"""The stages of a composition, one by one: the code that answers every question.

.. code-block:: none

   mechanism -> cells -> dominating, dominated or mean_matched -> convolve or sum_spectrum -> delta

A stage here is the function of the C core that a `prvcore.PrivacyCurve` calls: of the same arrays
it makes the same bits. A curve chooses knots, tilt and window by itself, as `plan` does; here they
are arguments, and may be any. What a stage says of its errors holds whatever they are: bad choices
make the errors large.

Objects of these classes are immutable, and may be shared between threads. Their arrays are copies.
The GIL is released while a stage computes.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.float cimport DBL_EPSILON
from libc.math cimport fabsl, fmax, fmin
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from prvcore._core.composition cimport plan_transforms
from prvcore._core.core cimport (
    PRV_ADD,
    PRV_ENGINE_AUTO,
    PRV_ENGINE_CONVOLUTION,
    PRV_ENGINE_SPECTRUM,
    PRV_ERR_MEMORY_LIMIT,
    PRV_OK,
    PRV_REMOVE,
    prv_fft,
    prv_options,
    prv_status,
    prv_step,
)
from prvcore._core.internals cimport (
    PRV_ASK_EPSILON,
    PRV_DOMINATED,
    PRV_DOMINATING,
    PRV_LONGEST_TRANSFORM,
    PRV_WIDEST_CELL,
    prv_absolute_cdf_error,
    prv_aim,
    prv_cells,
    prv_cells_compute,
    prv_cells_free,
    prv_cells_new,
    prv_cells_rounding,
    prv_certificate,
    prv_check_arithmetic,
    prv_compose,
    prv_composed,
    prv_composed_loss,
    prv_curve_delta,
    prv_curve_epsilon,
    prv_direct_products,
    prv_direction,
    prv_direction_free,
    prv_direction_new,
    prv_discretization_error,
    prv_discretize_prv,
    prv_inverse,
    prv_lattice,
    prv_lattice_dominated,
    prv_lattice_dominating,
    prv_lattice_free,
    prv_lattice_new,
    prv_layout,
    prv_layout_free,
    prv_layout_new,
    prv_mean_exists,
    prv_mesh,
    prv_mesh_free,
    prv_mesh_new,
    prv_refine_aim,
    prv_rounding,
    prv_side,
    prv_slack_parts,
    prv_spectrum,
    prv_spectrum_free,
    prv_spectrum_new,
    prv_take_aim,
    prv_value,
    prv_widen_reach,
    prv_window,
    prv_workspace,
    prv_workspace_bytes,
    prv_workspace_free,
    prv_workspace_new,
)
from prvcore._core.mechanism cimport Handle
from prvcore._core.status cimport check

from collections import namedtuple

import numpy as np

from prvcore import _arguments, _steps
from prvcore._bounds import Bounds, shaped
from prvcore._settings import get_memory_limit
from prvcore.mechanisms.base import Mechanism

__all__ = [
    "Cells",
    "Composed",
    "Convolution",
    "ErrorTerms",
    "Lattice",
    "Mesh",
    "Plan",
    "Rounding",
    "Spectrum",
    "Window",
    "cells",
    "convolve",
    "dominated",
    "dominating",
    "mean_matched",
    "plan",
    "sum_spectrum",
]

cdef int64_t FARTHEST_INDEX = 1LL << 52
cdef tuple DIRECTIONS = ("remove", "add")
cdef tuple SIDES = ("dominating", "dominated")

Rounding = namedtuple("Rounding", ("relative", "shift"), module=__name__)
Rounding.__doc__ = """How far rounding may have moved a privacy curve.

Attributes
----------
relative : float
    Delta is off by a factor of at most ``1 + relative``, either way.
shift : float
    And epsilon by at most `shift`, nats, either way.

"""

ErrorTerms = namedtuple(
    "ErrorTerms", ("outside", "transforms", "relative", "shift", "absolute"), module=__name__
)
ErrorTerms.__doc__ = """What a composition may be off by: the certificate of its bounds.

The first two are added to the finite part of delta at epsilon, or taken from it, in units of
``exp(log_moment - tilt * epsilon)``.

Attributes
----------
outside : float
    Truncation and wrap-around: what tilted mass outside the window may contribute, where it is left
    out or comes back at the other end. Of a spectrum, frequencies left out and periodic images.
transforms : float
    Rounding of the transforms and of the power; of a spectrum, that of its sums.
relative : float
    Rounding of cells, lattices, weights and sums: delta is off by a factor of at most
    ``1 + relative``.
shift : float
    And of knots and lattice points: epsilon is off by at most `shift`, nats.
absolute : float
    What tables and functions of one's own may be off by: delta of the mechanisms, not of the
    lattices, is off by at most `absolute` on top.

"""


# ---- Cells --------------------------------------------------------------------------------------


@cython.final
cdef class Cells:
    """The two masses of a mechanism's loss in every cell between knots; made by `cells`."""

    cdef prv_cells cells
    cdef bint by_values  # known by a callback's values alone: each side has cells of its own
    cdef prv_side side
    cdef double error

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
        """What that may be off by, absolutely."""
        return self.cells.infinite_error

    @property
    def absolute_error(self):
        """What delta may be off by absolutely: of tables and functions of one's own; else 0."""
        return self.error

    @property
    def rounding(self):
        """`Rounding` of the curve of any lattice of these cells, before that of the lattice."""
        cdef prv_rounding rounding = prv_cells_rounding(&self.cells)
        return Rounding(rounding.relative, rounding.shift)

    def __repr__(self):
        return f"<Cells: {self.cells.length} knots>"


def cells(mechanism, knots, *, direction="remove", side="dominating"):
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
        Which lattice the cells are for. It matters if the mechanism is known by the values of
        functions of one's own alone, such as `prvcore.FromCDFs`: the values are off by their
        rounding, so that each lattice needs cells of its own.

    Returns
    -------
    Cells

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the mechanism's own functions returned
        what no pair has.
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
    cdef Cells made = Cells.__new__(Cells)
    made.side = (
        PRV_DOMINATED
        if _arguments.choice(side, "side", SIDES) == "dominated"
        else PRV_DOMINATING
    )
    check_knots(points)
    made.by_values = handle.context is not None
    made.error = prv_absolute_cdf_error(handle.pointer)
    check(prv_check_arithmetic())
    check(prv_cells_new(length, &made.cells))
    memcpy(made.cells.knots, &points[0], length * sizeof(double))
    with nogil:
        status = prv_cells_compute(handle.pointer, add, made.side, &made.cells)
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


# ---- Lattices -----------------------------------------------------------------------------------


@cython.final
cdef class Mesh:
    """Which knots of cells are lattice points.

    Parameters
    ----------
    index : array_like of int, shape (m,), m >= 2
        Strictly increasing, in [-2^52, 2^52]. The lattice points are ``offset + step * index``.
    step : float
        Nats, > 0.
    offset : float
        Nats, finite.
    positions : array_like of int, shape (m,), optional
        Strictly increasing: where the lattice points are among the knots of the cells. Without it
        each knot is a lattice point.
    on_knots : bool
        Whether a dominated lattice gathers mass at the knots themselves, where the loss has atoms;
        else it does so between them.
    tilt : float
        Weighs one way of merging against another, for the tightness of a dominated lattice alone;
        finite and >= 0.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    cdef prv_mesh mesh

    def __init__(
        self, index, step, *, offset=0.0, positions=None, on_knots=False, tilt=0.0
    ):
        if self.mesh.index is not NULL:
            raise TypeError("a Mesh is immutable")
        cdef int64_t[::1] points = increasing(index, "index", -FARTHEST_INDEX, FARTHEST_INDEX)
        cdef size_t length = points.shape[0], k
        cdef int64_t[::1] places = np.arange(length, dtype=np.int64)
        if length < 2:
            raise ValueError(f"index must have at least 2 entries, got {length}")
        if positions is not None:
            places = increasing(positions, "positions", 0, FARTHEST_INDEX)
            if places.shape[0] != points.shape[0]:
                raise ValueError(
                    f"positions must have one entry for each of index, got {places.shape[0]} for "
                    f"{length}"
                )
        step = _arguments.positive(step, "step")
        offset = finite(offset, "offset")
        tilt = _arguments.non_negative(tilt, "tilt")
        on_knots = bool(on_knots)
        check(prv_mesh_new(length, &self.mesh))
        for k in range(length):
            self.mesh.index[k] = points[k]
            self.mesh.knot[k] = <size_t>places[k]
        self.mesh.step, self.mesh.offset = step, offset
        self.mesh.on_knots, self.mesh.tilt = on_knots, tilt

    def __dealloc__(self):
        prv_mesh_free(&self.mesh)

    @property
    def index(self):
        """Of the lattice points, int64 (m,)."""
        return integers_of(self.mesh.index, self.mesh.length)

    @property
    def positions(self):
        """Where the lattice points are among the knots of the cells, int64 (m,)."""
        found = np.empty(self.mesh.length, dtype=np.int64)
        cdef int64_t[::1] view = found
        cdef size_t k
        for k in range(self.mesh.length):
            view[k] = <int64_t>self.mesh.knot[k]
        return found

    @property
    def losses(self):
        """The lattice points ``offset + step * index``, float64 (m,): knots for `cells`."""
        found = np.empty(self.mesh.length)
        cdef double[::1] view = found
        cdef size_t k
        for k in range(self.mesh.length):
            view[k] = self.mesh.offset + self.mesh.step * <double>self.mesh.index[k]
        return found

    @property
    def step(self):
        """Nats."""
        return self.mesh.step

    @property
    def offset(self):
        """Nats."""
        return self.mesh.offset

    def __repr__(self):
        return f"<Mesh: {self.mesh.length} points, step {self.mesh.step!r}>"


@cython.final
cdef class Lattice:
    """A distribution of losses on ``offset + step * index``, which is to be composed.

    Made by `dominating`, `dominated` and `mean_matched`, or of any masses.

    Parameters
    ----------
    index : array_like of int, shape (m,), m >= 1
        Strictly increasing, in [-2^52, 2^52].
    mass : array_like of float, shape (m,)
        Q's masses, >= 0, not all 0.
    step : float
        Nats, > 0.
    offset : float
        Nats, finite.
    infinite_mass : float
        Q's mass at +infinity, in [0, 1]. With `mass` it sums to at most 1 within 1e-9.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    cdef prv_lattice lattice
    cdef double error

    def __init__(self, index, mass, step, *, offset=0.0, infinite_mass=0.0):
        if self.lattice.index is not NULL:
            raise TypeError("a Lattice is immutable")
        cdef int64_t[::1] points = increasing(index, "index", -FARTHEST_INDEX, FARTHEST_INDEX)
        masses = _arguments.frozen_vector(mass, "mass")
        cdef const double[::1] values = masses
        cdef size_t length = points.shape[0], i
        infinite_mass = _arguments.probability(infinite_mass, "infinite_mass")
        if values.shape[0] != points.shape[0]:
            raise ValueError(
                f"mass must have one entry for each of index, got {values.shape[0]} for {length}"
            )
        _arguments.non_negatives(masses, "mass")
        if not 0.0 < np.sum(masses) <= 1.0 + 1e-9 - infinite_mass:
            raise ValueError(
                "mass must not be all 0, and with infinite_mass sum to at most 1 within 1e-9, got "
                f"a sum of {float(np.sum(masses))!r} and infinite_mass {infinite_mass!r}"
            )
        step = _arguments.positive(step, "step")
        offset = finite(offset, "offset")
        check(prv_lattice_new(length, &self.lattice))
        self.lattice.step, self.lattice.offset = step, offset
        self.lattice.infinite_mass = infinite_mass
        for i in range(length):
            self.lattice.index[i] = points[i]
            self.lattice.loss[i] = self.lattice.offset + self.lattice.step * <double>points[i]
            self.lattice.mass[i] = values[i]

    def __dealloc__(self):
        prv_lattice_free(&self.lattice)

    @property
    def index(self):
        """Of the atoms, int64 (m,)."""
        return integers_of(self.lattice.index, self.lattice.length)

    @property
    def loss(self):
        """Of the atoms, nats, float64 (m,)."""
        return copy_of(self.lattice.loss, self.lattice.length)

    @property
    def mass(self):
        """Q's mass of each atom, float64 (m,)."""
        return copy_of(self.lattice.mass, self.lattice.length)

    @property
    def step(self):
        """Nats."""
        return self.lattice.step

    @property
    def offset(self):
        """Nats."""
        return self.lattice.offset

    @property
    def infinite_mass(self):
        """Q's mass at +infinity; of a dominating lattice, also what lies above its last point."""
        return self.lattice.infinite_mass

    @property
    def infinite_error(self):
        """What that may be off by, absolutely."""
        return self.lattice.infinite_error

    @property
    def rounding(self):
        """`Rounding` of the curve of the atoms; 0 of a lattice of masses that were given.

        With D that curve and delta the mechanism's finite losses, ``delta(e) <= (1 + relative)
        D(e - shift)`` for every e if the lattice dominates, and ``delta(e) >= D(e + shift) / (1 +
        relative)`` if it is dominated.
        """
        return Rounding(self.lattice.rounding.relative, self.lattice.rounding.shift)

    @property
    def absolute_error(self):
        """As of the `Cells`."""
        return self.error

    def __repr__(self):
        return f"<Lattice: {self.lattice.length} atoms, step {self.lattice.step!r}>"


def dominating(Cells cells not None, Mesh mesh not None):
    """Return the dominating lattice of cells: its privacy curve is nowhere below the mechanism's.

    Each cell's two masses are split onto its two ends, which keeps both: the curve becomes the
    chords of the mechanism's between lattice points [1]_. Mass above the last point goes to
    +infinity.

    Parameters
    ----------
    cells : Cells
        With side "dominating" if the mechanism is known by the values of functions alone.
    mesh : Mesh
        Its lattice points are knots of the cells, the outermost ones among them.

    Returns
    -------
    Lattice

    Raises
    ------
    ValueError
        The mesh does not belong to the cells; the cells are of the other side.

    References
    ----------
    .. [1] Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: tighter discrete
       approximations of privacy loss distributions", PoPETs 2022, section 4.

    """
    check_mesh(cells, mesh, PRV_DOMINATING)
    cdef Lattice made = Lattice.__new__(Lattice)
    check(prv_check_arithmetic())
    made.error = cells.error
    check(prv_lattice_new(mesh.mesh.length, &made.lattice))
    with nogil:
        prv_lattice_dominating(&cells.cells, &mesh.mesh, &made.lattice)
    return made


def dominated(Cells cells not None, Mesh mesh not None):
    """Return the dominated lattice of cells: its privacy curve is nowhere above the mechanism's.

    Outcomes are merged into lattice points that have the likelihood ratio of the merged masses.
    Merging is post-processing; what fits nowhere is dropped.

    Parameters
    ----------
    cells : Cells
        With side "dominated" if the mechanism is known by the values of functions alone.
    mesh : Mesh
        As for `dominating`.

    Returns
    -------
    Lattice
        Unless the mesh is `on_knots`, its points lie between those of the mesh: `offset` differs.

    Raises
    ------
    ValueError
        The mesh does not belong to the cells; the cells are of the other side.
    MemoryError
        There is no room for the arrays.

    """
    check_mesh(cells, mesh, PRV_DOMINATED)
    cdef Lattice made = Lattice.__new__(Lattice)
    cdef prv_mesh shifted = mesh.mesh  # C chooses the shift of the targets, and keeps it here
    check(prv_check_arithmetic())
    made.error = cells.error
    check(prv_lattice_new(mesh.mesh.length, &made.lattice))
    cdef double *left = <double *>PyMem_Malloc((cells.cells.length + 1) * sizeof(double))
    if left is NULL:
        raise MemoryError
    with nogil:
        prv_lattice_dominated(&cells.cells, &shifted, left, &made.lattice)
    PyMem_Free(left)
    return made


def mean_matched(mechanism, step, half_length, *, direction="remove"):
    """Return the lattice of DiscretizePRV, Algorithm 2 of [1]_: close to the loss, with its mean.

    Losses are rounded to the nearest lattice point, those out of reach are left out and the rest is
    normalised; then all are moved until their mean is right. The lattice neither dominates nor is
    dominated: Theorem 5.5 of [1]_ bounds the difference for a whole composition.

    Parameters
    ----------
    mechanism : Mechanism
        One step; not one that is known by its privacy curve alone, which has no mean.
    step : float
        The mesh size, nats, in (0, 100].
    half_length : int
        In [1, 2^39]. The lattice has the points ``offset + step * i``, ``|i| <= half_length``,
        that a loss can reach.
    direction : {"remove", "add"}
        Which neighbour has one record less.

    Returns
    -------
    Lattice
        Its `rounding` is that of floating point alone, of which the theorem knows nothing: with it
        the theorem's bounds hold for the lattice as it was computed.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.
    PrecisionError
        No point has any mass.
    MemoryError
        There is no room for the arrays.

    References
    ----------
    .. [1] Gopi, Lee, Wutschitz, "Numerical composition of differential privacy", NeurIPS 2021,
       arXiv:2106.02848.

    """
    cdef Handle handle = handle_of(mechanism, direction)
    cdef bint add = direction == "add"
    cdef double mesh_size = mesh_size_of(step, "step")
    cdef size_t n = _arguments.integer(half_length, "half_length", 1, PRV_LONGEST_TRANSFORM // 2)
    cdef Lattice made = Lattice.__new__(Lattice)
    cdef prv_discretization_error error
    cdef prv_status status = PRV_OK
    if not prv_mean_exists(handle.pointer):
        raise ValueError(
            f"mechanism must not be known by its privacy curve alone, got {mechanism!r}"
        )
    if 64.0 * n > get_memory_limit():
        raise ValueError(
            f"half_length = {n} needs more than {64 * n} bytes, which is above the memory limit of "
            f"{get_memory_limit()} bytes"
        )
    check(prv_check_arithmetic())
    with nogil:
        status = prv_discretize_prv(
            handle.pointer, add, mesh_size, n, NULL, &made.lattice, &error
        )
    check(status)
    # Errors of masses move the curve as those of cells do (cells.h); the mean moves every loss.
    made.lattice.rounding.relative = 1.5 * error.cells
    made.lattice.rounding.shift = 2.5 * error.cells + error.mean
    made.error = error.cdfs
    return made


cdef double mesh_size_of(object value, str name) except? -1.0:
    return _arguments.real(
        value, name, f"in (0, {PRV_WIDEST_CELL:g}]", lambda x: 0.0 < x <= PRV_WIDEST_CELL
    )


cdef int check_mesh(Cells cells, Mesh mesh, prv_side side) except -1:
    cdef const prv_mesh *m = &mesh.mesh
    cdef const double *x = cells.cells.knots
    cdef size_t last = cells.cells.length - 1, k
    cdef long double point
    if cells.cells.length == 0 or m.length == 0:
        raise ValueError(f"cells and mesh must not be empty, got {cells!r} and {mesh!r}")
    if cells.by_values and cells.side != side:
        raise ValueError(
            f"cells must be made with side {SIDES[<int>side]!r}, got "
            f"{SIDES[<int>cells.side]!r}: the mechanism is known by values of functions"
        )
    if m.knot[0] != 0 or m.knot[m.length - 1] != last:
        raise ValueError(
            f"mesh.positions must begin with 0 and end with {last}, the outermost knots of cells, "
            f"got {m.knot[0]} and {m.knot[m.length - 1]}"
        )
    for k in range(m.length):
        # prv_rounding_of_points allows for the rounding of a product and a sum.
        point = <long double>m.offset + <long double>m.step * <long double>m.index[k]
        if not fabsl(x[m.knot[k]] - point) <= DBL_EPSILON * (
            fabsl(m.offset) + fabsl(x[m.knot[k]])
        ):
            raise ValueError(
                f"mesh.losses must be knots of cells, got {<double>point!r} for "
                f"{x[m.knot[k]]!r} at index {k}"
            )
        if k > 0 and not x[m.knot[k]] - x[m.knot[k - 1]] <= PRV_WIDEST_CELL:
            raise ValueError(
                f"mesh.losses must be at most {PRV_WIDEST_CELL:g} apart, got "
                f"{x[m.knot[k - 1]]!r} before {x[m.knot[k]]!r}"
            )
    return 0


# ---- Composition --------------------------------------------------------------------------------


@cython.final
cdef class Window:
    """Where a composed loss is looked at, and what proves that little lies outside.

    Parameters
    ----------
    lowest : float
        The lowest loss, nats, finite; rounded down to a lattice point. For `convolve`.
    length : int
        Lattice points of the window, in [1, 2^40]: the length of the transforms, which are fast if
        its prime factors are small. For `convolve`.
    shift_down, shift_up : float
        The tilted mass below and above the window is bounded by Chernoff's inequality at these
        distances from the tilt; finite and >= 0. With 0 nothing is known of it. Any other number
        gives a true bound; which are best depends on the law.
    precise : bool
        Whether `convolve` takes the way with less rounding, and more time, for laws whose bulk is a
        few atoms.
    low_epsilon, high_epsilon : float
        Where lower bounds are wanted, nats, finite. For `sum_spectrum`.
    tolerance : float
        What each thing that is left out may cost, in units of ``exp(log_moment - tilt * epsilon)``;
        finite and > 0.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    cdef prv_window window

    def __init__(
        self,
        *,
        lowest=0.0,
        length=1,
        shift_down=0.0,
        shift_up=0.0,
        precise=False,
        low_epsilon=0.0,
        high_epsilon=0.0,
        tolerance=1e-20,
    ):
        cdef prv_window window
        memset(&window, 0, sizeof(window))
        window.lowest = finite(lowest, "lowest")
        window.length = _arguments.integer(length, "length", 1, PRV_LONGEST_TRANSFORM)
        window.shift_down = _arguments.non_negative(shift_down, "shift_down")
        window.shift_up = _arguments.non_negative(shift_up, "shift_up")
        window.precise = bool(precise)
        window.low_epsilon = finite(low_epsilon, "low_epsilon")
        window.high_epsilon = finite(high_epsilon, "high_epsilon")
        window.tolerance = _arguments.positive(tolerance, "tolerance")
        if window.high_epsilon < window.low_epsilon:
            raise ValueError(
                f"high_epsilon must be at least low_epsilon = {low_epsilon!r}, got "
                f"{high_epsilon!r}"
            )
        if self.window.length != 0:
            raise TypeError("a Window is immutable")
        self.window = window

    @property
    def lowest(self):
        """Nats."""
        return self.window.lowest

    @property
    def length(self):
        """Lattice points."""
        return self.window.length

    @property
    def shift_down(self):
        """Of the tilt, for the bound of the mass below."""
        return self.window.shift_down

    @property
    def shift_up(self):
        """Of the tilt, for the bound of the mass above."""
        return self.window.shift_up

    @property
    def precise(self):
        """Whether `convolve` takes the way with less rounding."""
        return self.window.precise

    @property
    def low_epsilon(self):
        """Nats."""
        return self.window.low_epsilon

    @property
    def high_epsilon(self):
        """Nats."""
        return self.window.high_epsilon

    @property
    def tolerance(self):
        """In units of ``exp(log_moment - tilt * epsilon)``."""
        return self.window.tolerance

    def __repr__(self):
        return f"<Window: {self.window.length} points from {self.window.lowest!r}>"


cdef class Composed:
    """A composed privacy loss, which tells delta and epsilon; made by the functions below.

    Base of `Convolution` and `Spectrum`. With lam the tilt and M the moment, the law that was
    composed is c(x) = y(x) e^(lam x) / M, where y is that of the sum.
    """

    cdef prv_composed composed
    cdef prv_rounding rounding  # sum of counts times those of the lattices
    cdef double absolute  # and of their absolute errors

    cdef int check_made(self) except -1:
        if self.composed.engine == PRV_ENGINE_AUTO:
            raise ValueError(f"{type(self).__name__} must be made by a function of this module")
        return check(prv_check_arithmetic())

    def __init__(self):
        raise TypeError("made by prvcore.stages.convolve and prvcore.stages.sum_spectrum")

    @property
    def tilt(self):
        """The tilt lam."""
        return self.composed.tilted.tilt

    @property
    def log_moment(self):
        """The logarithm of M, the sum of all y(x) e^(lam x) over finite losses."""
        return self.composed.tilted.log_moment

    @property
    def infinite_mass(self):
        """`Bounds` of the mass at +infinity, ``1 - prod (1 - infinite_mass)^count``."""
        return Bounds(
            self.composed.tilted.infinite.low,
            self.composed.tilted.infinite.mass,
            self.composed.tilted.infinite.high,
        )

    @property
    def errors(self):
        """`ErrorTerms`: truncation, wrap-around and rounding."""
        self.check_made()
        cdef prv_slack_parts parts = prv_certificate(&self.composed, &self.rounding)
        return ErrorTerms(
            parts.outside,
            parts.transforms,
            parts.slack.relative,
            parts.slack.shift,
            self.absolute,
        )

    def delta(self, epsilon):
        """Bound delta of the composed lattices, by sums over the larger losses.

        Parameters
        ----------
        epsilon : float or array_like of float, any shape
            Nats, finite.

        Returns
        -------
        Bounds
            Floats for a scalar, else arrays. The estimate is the sum as it comes out, where that
            lies between the bounds. These have the errors on top, so that they hold for the
            lattices. If the lattices dominate mechanisms, the upper bound holds for the mechanisms
            too; if they are dominated, the lower bound does.

        Raises
        ------
        TypeError, ValueError
            An epsilon is not a finite number.

        Notes
        -----
        Of a convolution, prefix sums from the largest loss down, in long double or pairs of
        doubles: one pass over the window for each epsilon. All terms are >= 0 and nothing cancels.

        """
        points = _arguments.points(
            epsilon, "epsilon", "finite", -np.finfo(float).max, np.finfo(float).max
        )
        cdef const double[::1] flat = np.ascontiguousarray(points).reshape(-1)
        found = np.empty((flat.shape[0], 3))
        cdef double[:, ::1] bounds = found
        cdef prv_slack_parts parts
        cdef prv_value value
        cdef Py_ssize_t i
        self.check_made()
        with nogil:
            parts = prv_certificate(&self.composed, &self.rounding)
            for i in range(flat.shape[0]):
                value = prv_curve_delta(&self.composed, flat[i], -1, &parts.slack)
                bounds[i, 0] = value.delta
                bounds[i, 1] = fmax(value.plain, value.delta)
                value = prv_curve_delta(&self.composed, flat[i], 1, &parts.slack)
                bounds[i, 1] = fmin(bounds[i, 1], value.delta)
                bounds[i, 2] = value.delta
        return shaped(found, points)

    def epsilon(self, delta, *, guess=0.0):
        """Bound the epsilon at which delta of the composed lattices has a value.

        Parameters
        ----------
        delta : float or array_like of float, any shape
            In (0, 1].
        guess : float
            Where the search begins, nats, finite. The bounds hold whatever it is; it may change
            their last bits.

        Returns
        -------
        Bounds
            Nats, >= 0, as `delta` returns them. Infinite where the mass at infinity, or the errors,
            reach delta.

        Raises
        ------
        TypeError, ValueError
            A delta is not in (0, 1].

        Notes
        -----
        Newton's method on the logarithm of the sums of `delta`. A bound is a point at which delta
        with its errors was found on the right side.

        """
        points = _arguments.points(delta, "delta", "in (0, 1]", np.nextafter(0.0, 1.0), 1.0)
        cdef const double[::1] flat = np.ascontiguousarray(points).reshape(-1)
        cdef double start = finite(guess, "guess")
        found = np.empty((flat.shape[0], 3))
        cdef double[:, ::1] bounds = found
        cdef prv_slack_parts parts
        cdef prv_inverse inverse
        cdef Py_ssize_t i
        self.check_made()
        with nogil:
            parts = prv_certificate(&self.composed, &self.rounding)
            for i in range(flat.shape[0]):
                inverse = prv_curve_epsilon(&self.composed, flat[i], -1, &parts.slack, start)
                bounds[i, 0] = inverse.epsilon
                bounds[i, 1] = fmax(inverse.plain, inverse.epsilon)
                inverse = prv_curve_epsilon(&self.composed, flat[i], 1, &parts.slack, start)
                bounds[i, 1] = fmin(bounds[i, 1], inverse.epsilon)
                bounds[i, 2] = inverse.epsilon
        return shaped(found, points)


@cython.final
cdef class Convolution(Composed):
    """A composed loss by its tilted masses in a window; made by `convolve`."""

    cdef prv_workspace work

    def __dealloc__(self):
        prv_workspace_free(&self.work)

    @property
    def loss(self):
        """The losses of the window, nats, float64 (length,)."""
        cdef size_t i, length = self.composed.convolved.length
        found = np.empty(length)
        cdef double[::1] values = found
        for i in range(length):
            values[i] = prv_composed_loss(&self.composed, i)
        return found

    @property
    def mass(self):
        """The tilted mass c(x) of each loss of the window, float64 (length,).

        They sum to 1. Rounding of the transforms may leave tiny negative ones.
        """
        cdef size_t length = self.composed.convolved.length, start = self.composed.convolved.start
        return np.concatenate(
            (
                copy_of(self.composed.convolved.mass + start, length - start),
                copy_of(self.composed.convolved.mass, start),
            )
        )

    @property
    def transforms(self):
        """How many transforms were executed; 0 if the lattices were multiplied out."""
        return self.composed.convolved.transforms

    def __repr__(self):
        return f"<Convolution: {self.composed.convolved.length} points>"


@cython.final
cdef class Spectrum(Composed):
    """A composed loss by its Fourier series at some frequencies; made by `sum_spectrum`."""

    cdef prv_spectrum spectrum

    def __dealloc__(self):
        prv_spectrum_free(&self.spectrum)

    @property
    def frequencies(self):
        """How many frequencies are summed."""
        return self.spectrum.count

    @property
    def period(self):
        """Of the series, in nats."""
        return self.spectrum.points * self.composed.step

    def __repr__(self):
        return f"<Spectrum: {self.spectrum.count} frequencies>"


@cython.final
cdef class Steps:
    """Lattices and their counts, as C takes them; keeps the lattices alive."""

    cdef list kept
    cdef const prv_lattice **lattices
    cdef double *counts
    cdef size_t length, longest
    cdef double total
    cdef prv_rounding rounding
    cdef double absolute

    def __cinit__(self, lattices, counts):
        cdef Lattice one
        cdef size_t j
        if isinstance(lattices, Lattice):
            lattices, counts = [lattices], [counts]
        self.kept = list(lattices)
        self.length = len(self.kept)
        try:
            counts = [_arguments.integer(n, "counts", 1, 2**53) for n in counts]
        except TypeError:
            raise TypeError(
                "counts must be an integer for one lattice, or one for each of lattices, got "
                f"{counts!r}"
            ) from None
        if self.length == 0 or len(counts) != len(self.kept):
            raise ValueError(
                "lattices must not be empty, and counts have one entry for each of them, got "
                f"{len(counts)} for {self.length}"
            )
        _arguments.total_count(counts)
        self.lattices = <const prv_lattice **>PyMem_Malloc(self.length * sizeof(void *))
        self.counts = <double *>PyMem_Malloc(self.length * sizeof(double))
        if self.lattices is NULL or self.counts is NULL:
            raise MemoryError
        for j in range(self.length):
            if not isinstance(self.kept[j], Lattice):
                raise TypeError(f"lattices[{j}] must be a Lattice, got {self.kept[j]!r}")
            one = self.kept[j]
            if one.lattice.length == 0 or one.lattice.step != (<Lattice>self.kept[0]).lattice.step:
                raise ValueError(
                    f"lattices must have atoms, and all one step, got {self.kept[0]!r} and {one!r}"
                )
            self.lattices[j] = &one.lattice
            self.counts[j] = counts[j]
            self.longest = max(self.longest, one.lattice.length)
            self.total += self.counts[j]
            self.rounding.relative += self.counts[j] * one.lattice.rounding.relative
            self.rounding.shift += self.counts[j] * one.lattice.rounding.shift
            self.absolute += self.counts[j] * one.error

    def __dealloc__(self):
        PyMem_Free(self.lattices)
        PyMem_Free(self.counts)


def convolve(lattices, counts, Window window not None, *, tilt=0.0, transforms=True):
    """Return the sum of independent losses by circular convolution, tilted or not.

    Parameters
    ----------
    lattices : Lattice, or sequence of Lattice
        One for each distinct mechanism, all with one step.
    counts : int, or sequence of int
        How often each runs, >= 1, at most 2^53 together.
    window : Window
        Its length is the period: mass outside comes back at the other end, and is bounded in
        `errors`.
    tilt : float
        Finite and >= 0. With 0 this is ComposePRV, Algorithm 1 of [1]_.
    transforms : bool
        If True, by pyFFTW: one transform for each lattice, powers of the spectra, and one back. If
        False, the lattices are multiplied out: masses keep relative accuracy.

    Returns
    -------
    Convolution

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the window needs more memory than
        `prvcore.get_memory_limit` says; too many products would be multiplied out.
    PrecisionError
        The power would amplify the rounding of the transforms too much.
    MemoryError
        There is no room for the arrays.

    Notes
    -----
    O(length log length) for each lattice. ``src_c/composition/convolution.h`` has the bound of
    rounding.

    References
    ----------
    .. [1] Gopi, Lee, Wutschitz, "Numerical composition of differential privacy", NeurIPS 2021,
       arXiv:2106.02848.

    """
    cdef Steps steps = Steps(lattices, counts)
    cdef double lam = _arguments.non_negative(tilt, "tilt")
    cdef size_t length = window.window.length
    cdef prv_fft plans
    cdef const prv_fft *fft = NULL
    cdef Convolution made = Convolution.__new__(Convolution)
    cdef prv_status status = PRV_OK
    if length == 0:
        raise ValueError(f"window.length must be at least 1, got {window!r}")
    cdef double bytes_needed = prv_workspace_bytes(<double>length, steps.length)
    if bytes_needed > get_memory_limit():
        raise ValueError(
            f"window.length = {length} needs {bytes_needed:.0f} bytes, which is above the memory "
            f"limit of {get_memory_limit()} bytes"
        )
    if transforms:
        check(plan_transforms(NULL, length, &plans))
        fft = &plans
    elif steps.total > 1.0 and not (
        prv_direct_products(steps.lattices, steps.counts, steps.length, length) <= 1e10
    ):
        raise ValueError(
            f"transforms must be True for these lattices, counts {counts!r} and {window!r}: too "
            "many products"
        )
    check(prv_check_arithmetic())
    check(prv_workspace_new(length, steps.length, steps.longest, &made.work))
    made.rounding, made.absolute = steps.rounding, steps.absolute
    with nogil:
        status = prv_compose(
            steps.lattices,
            steps.counts,
            steps.length,
            lam,
            &window.window,
            fft,
            &made.work,
            &made.composed,
        )
    check(status)
    return made


def sum_spectrum(lattices, counts, Window window not None, *, tilt, most_work=1e9):
    """Return the sum of independent losses by the spectrum: its Fourier series.

    Parameters
    ----------
    lattices, counts
        As for `convolve`.
    window : Window
        Of it `low_epsilon`, `high_epsilon`, `tolerance` and the shifts, which must be > 0.
    tilt : float
        Finite and > 0. The period grows like 1 / tilt.
    most_work : float
        Products of an atom and a frequency that may be computed, > 0.

    Returns
    -------
    Spectrum

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.
    PrecisionError
        The spectrum falls too slowly, or not at all.
    MemoryError
        There is no room for the arrays.

    Notes
    -----
    The cost does not depend on the counts: atoms times frequencies. :doc:`/spectrum` proves what is
    left out.

    """
    cdef Steps steps = Steps(lattices, counts)
    cdef double lam = _arguments.positive(tilt, "tilt")
    cdef double work = _arguments.positive(most_work, "most_work")
    cdef Spectrum made = Spectrum.__new__(Spectrum)
    cdef prv_status status = PRV_OK
    for name in ("shift_down", "shift_up", "tolerance"):
        _arguments.positive(getattr(window, name), f"window.{name}")
    check(prv_check_arithmetic())
    made.rounding, made.absolute = steps.rounding, steps.absolute
    with nogil:
        status = prv_spectrum_new(
            steps.lattices,
            steps.counts,
            steps.length,
            lam,
            &window.window,
            work,
            &made.spectrum,
            &made.composed,
        )
    check(status)
    return made


# ---- Planning -----------------------------------------------------------------------------------


@cython.final
@cython.auto_pickle(False)
cdef class Plan:
    """Meshes, knots and window that answer a question well; made by `plan`.

    Attributes
    ----------
    meshes : tuple of Mesh
        One for each step.
    knots : tuple of ndarray
        Of the cells of each step: the lattice points, and some between them.
    window : Window
        Of their composition.
    tilt : float
        As given.
    epsilon : float
        A guess of the answer, nats.
    saddle : float
        The tilt that centres the composed loss on it.

    """

    cdef readonly tuple meshes
    cdef readonly tuple knots
    cdef readonly Window window
    cdef readonly double tilt
    cdef readonly double epsilon
    cdef readonly double saddle

    def __init__(self):
        raise TypeError("a Plan is made by prvcore.stages.plan")

    def __repr__(self):
        return f"<Plan: tilt {self.tilt!r}, {self.window!r}, {len(self.meshes)} meshes>"


def plan(
    mechanisms,
    counts=None,
    *,
    delta,
    tilt,
    mesh_size,
    eps_error,
    direction="remove",
    engine="convolution",
    exact_mesh=False,
):
    """Return meshes and window for epsilon at a delta, as a pass of a question lays them out.

    `prvcore.PrivacyCurve.error_budget` tells which `tilt` and `mesh_size` the last pass took.

    Parameters
    ----------
    mechanisms, counts
        As `prvcore.compose` takes them; all counts >= 1.
    delta : float
        In (0, 1), above the mass at infinity.
    tilt : float
        Finite and > 0.
    mesh_size : float
        Nats, in (0, 100].
    eps_error : float
        The width wanted, nats, > 0: how much truncation may cost.
    direction : {"remove", "add"}
        Which neighbour has one record less.
    engine : {"convolution", "spectrum"}
        Which of `convolve` and `sum_spectrum` the plan is for.
    exact_mesh : bool
        Whether `mesh_size` is taken as it is, as if it was given to `prvcore.compose`; else it is
        changed to put sharp features of the losses onto lattice points.

    Returns
    -------
    Plan
        No bound relies on it.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the mesh needs more memory than
        `prvcore.get_memory_limit` says.
    MemoryError
        There is no room for the arrays.

    """
    steps = _steps.pairs(mechanisms, counts)
    _arguments.total_count([n for _, n in steps])
    cdef list handles = [handle_of(mechanism, direction) for mechanism, _ in steps]
    cdef size_t length = len(steps), j
    cdef bint add = direction == "add"
    cdef double value = _arguments.open_probability(delta, "delta")
    cdef double lam = _arguments.positive(tilt, "tilt")
    cdef double step = mesh_size_of(mesh_size, "mesh_size")
    cdef double width = _arguments.positive(eps_error, "eps_error")
    cdef bint exact = bool(exact_mesh)
    cdef prv_options options
    memset(&options, 0, sizeof(options))
    options.engine = (
        PRV_ENGINE_SPECTRUM
        if _arguments.choice(engine, "engine", ("convolution", "spectrum")) == "spectrum"
        else PRV_ENGINE_CONVOLUTION
    )
    options.eps_error = width
    options.neighbors = PRV_ADD if add else PRV_REMOVE
    options.memory_limit = get_memory_limit()
    if length == 0 or min(n for _, n in steps) == 0:
        raise ValueError(f"mechanisms must not be empty, and counts be at least 1, got {steps!r}")
    check(prv_check_arithmetic())
    cdef Layout made = Layout(length)
    for j in range(length):
        made.steps[j].mechanism = (<Handle>handles[j]).pointer
        made.steps[j].count = steps[j][1]
    check(prv_direction_new(made.steps, length, options.neighbors, add, &made.direction))
    made.planned = True
    if not made.direction.all.infinite.high < value:
        raise ValueError(
            "delta must be above the mass at infinity, "
            f"{made.direction.all.infinite.mass!r}, got {value!r}"
        )
    cdef prv_status status = PRV_OK
    with nogil:
        status = lay_out(made, &options, value, lam, step, exact)
    if status == PRV_ERR_MEMORY_LIMIT:
        raise ValueError(
            f"mesh_size = {step!r} needs {made.layout.bytes:.0f} bytes, which is above the memory "
            f"limit of {options.memory_limit} bytes"
        )
    check(status)
    return made.as_plan()


# The first pass of prv_bracket, up to its meshes.
cdef prv_status lay_out(
    Layout made, const prv_options *options, double delta, double tilt, double step, bint exact
) noexcept nogil:
    cdef prv_aim *aim = &made.aim
    aim.strictness = 1.0
    prv_take_aim(&made.direction, options, PRV_ASK_EPSILON, delta, aim)
    cdef prv_status status = prv_refine_aim(
        &made.direction, options, PRV_ASK_EPSILON, delta, aim
    )
    if status != PRV_OK:
        return status
    aim.width = aim.asked = options.eps_error
    prv_widen_reach(aim)
    return prv_layout_new(
        &made.direction,
        aim,
        tilt,
        step,
        exact,
        options.engine,
        <double>options.memory_limit,
        &made.layout,
    )


@cython.final
cdef class Layout:
    """What planning allocates."""

    cdef prv_step *steps
    cdef prv_direction direction
    cdef prv_aim aim
    cdef prv_layout layout
    cdef bint planned

    def __cinit__(self, size_t length):
        self.steps = <prv_step *>PyMem_Malloc(length * sizeof(prv_step))
        if self.steps is NULL:
            raise MemoryError

    def __dealloc__(self):
        prv_layout_free(&self.layout)
        if self.planned:
            prv_direction_free(&self.direction)
        PyMem_Free(self.steps)

    cdef Plan as_plan(self):
        cdef Plan made = Plan.__new__(Plan)
        cdef size_t j
        made.meshes = tuple([mesh_of(&self.layout.meshes[j]) for j in range(self.layout.steps)])
        made.knots = tuple(
            [
                copy_of(self.layout.cells[j].knots, self.layout.cells[j].length)
                for j in range(self.layout.steps)
            ]
        )
        made.window = Window.__new__(Window)
        made.window.window = self.layout.window
        made.tilt = self.layout.tilt
        made.epsilon, made.saddle = self.aim.epsilon, self.aim.saddle
        return made


cdef Mesh mesh_of(const prv_mesh *mesh):
    cdef Mesh made = Mesh.__new__(Mesh)
    check(prv_mesh_new(mesh.length, &made.mesh))
    memcpy(made.mesh.index, mesh.index, mesh.length * sizeof(int64_t))
    memcpy(made.mesh.knot, mesh.knot, mesh.length * sizeof(size_t))
    made.mesh.offset, made.mesh.step = mesh.offset, mesh.step
    made.mesh.on_knots, made.mesh.tilt = mesh.on_knots, mesh.tilt
    return made


# ---- Arrays -------------------------------------------------------------------------------------


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


cdef double finite(object value, str name) except? -1.0:
    return _arguments.real(value, name, "finite", np.isfinite)


cdef object increasing(object values, str name, int64_t least, int64_t greatest):
    found = np.ascontiguousarray(_arguments.integers(values, name, least, greatest))
    if found.ndim != 1 or found.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {found.shape}"
        )
    falls = np.flatnonzero(np.diff(found) <= 0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"{name} must be strictly increasing, got {found[i]} before {found[i + 1]} at index "
            f"{i + 1}"
        )
    return found
