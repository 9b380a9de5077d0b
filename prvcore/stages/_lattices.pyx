"""Stage 2: lattices of the loss, which dominate it, are dominated by it, or have its mean."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.float cimport DBL_EPSILON
from libc.math cimport fabsl
from libc.stdint cimport int64_t

from prvcore._core.composition cimport let_stop, watch
from prvcore._core.core cimport (
    PRV_ERR_PRECISION,
    PRV_OK,
    prv_options,
    prv_options_default,
    prv_status,
)
from prvcore._core.internals cimport (
    PRV_DOMINATED,
    PRV_DOMINATING,
    PRV_LONGEST_TRANSFORM,
    PRV_WIDEST_CELL,
    prv_check_arithmetic,
    prv_discretization_error,
    prv_discretize_prv,
    prv_lattice_dominated,
    prv_lattice_dominating,
    prv_lattice_free,
    prv_lattice_new,
    prv_mean_exists,
    prv_mesh,
    prv_mesh_free,
    prv_mesh_new,
    prv_side,
)
from prvcore._core.mechanism cimport Handle
from prvcore._core.status cimport check
from prvcore.stages._arrays cimport check_room, copy_of, integers_of
from prvcore.stages._cells cimport Cells, handle_of, name_of

import numpy as np

from prvcore import _arguments
from prvcore._errors import PrecisionError
from prvcore._settings import memory_limit_of
from prvcore.stages._cells import Rounding

__all__ = ["Lattice", "Mesh", "dominated", "dominating", "mean_matched"]

cdef int64_t FARTHEST_INDEX = 1LL << 52
cdef double BYTES_OF_ATOM = 24.0  # its index, loss and mass


@cython.final
cdef class Mesh:
    """Which knots of cells are lattice points.

    Parameters
    ----------
    index : array_like of int, shape (m,), m >= 2
        Strictly increasing, in [-2^52, 2^52]. The lattice points are ``offset + spacing * index``.
    spacing : float
        Distance of neighbouring lattice points, nats, > 0.
    offset : float
        The loss at index 0, nats, finite.
    positions : array_like of int, shape (m,), optional
        Strictly increasing: where the lattice points are among the knots of the cells. Without it
        each knot is a lattice point.
    on_knots : bool
        If True, a dominated lattice gathers mass at the knots, where the loss has atoms; otherwise
        between the knots.
    tilt : float
        The tilt at which merged cells shall lose least; finite and >= 0. A dominated lattice is
        valid for any tilt, and tight for a good one.
    step : float, optional
        Former name of `spacing`.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    __module__ = "prvcore.stages"

    def __init__(
        self,
        index,
        spacing=None,
        *,
        offset=0.0,
        positions=None,
        on_knots=False,
        tilt=0.0,
        step=None,
    ):
        if self.mesh.index is not NULL:
            raise TypeError("a Mesh is immutable")
        cdef int64_t[::1] points = _arguments.increasing(
            index, "index", -FARTHEST_INDEX, FARTHEST_INDEX
        )
        cdef size_t length = points.shape[0], k
        cdef int64_t[::1] places = np.arange(length, dtype=np.int64)
        if length < 2:
            raise ValueError(f"index must have at least 2 entries, got {length}")
        if positions is not None:
            places = _arguments.increasing(positions, "positions", 0, FARTHEST_INDEX)
            if places.shape[0] != points.shape[0]:
                raise ValueError(
                    f"positions must have one entry for each of index, got {places.shape[0]} for "
                    f"{length}"
                )
        spacing = _arguments.positive(spacing_of(spacing, step), "spacing")
        offset = _arguments.finite(offset, "offset")
        tilt = _arguments.non_negative(tilt, "tilt")
        on_knots = bool(on_knots)
        check(prv_mesh_new(length, &self.mesh))
        for k in range(length):
            self.mesh.index[k] = points[k]
            self.mesh.knot[k] = <size_t>places[k]
        self.mesh.spacing, self.mesh.offset = spacing, offset
        self.mesh.on_knots, self.mesh.tilt = on_knots, tilt

    def __dealloc__(self):
        prv_mesh_free(&self.mesh)

    @property
    def index(self):
        """Indices of the lattice points, int64 (m,)."""
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
        """The lattice points ``offset + spacing * index``, float64 (m,): knots for `cells`."""
        found = np.empty(self.mesh.length)
        cdef double[::1] view = found
        cdef size_t k
        for k in range(self.mesh.length):
            view[k] = self.mesh.offset + self.mesh.spacing * <double>self.mesh.index[k]
        return found

    @property
    def spacing(self):
        """Distance of neighbouring lattice points, nats."""
        return self.mesh.spacing

    @property
    def step(self):
        """Former name of `spacing`."""
        return self.mesh.spacing

    @property
    def offset(self):
        """The loss at index 0, nats."""
        return self.mesh.offset

    def __repr__(self):
        return f"<Mesh: {self.mesh.length} points, spacing {self.mesh.spacing!r}>"


@cython.final
cdef class Lattice:
    """A distribution of losses on ``offset + spacing * index``, which is to be composed.

    Made by `dominating`, `dominated` and `mean_matched`, or of any masses.

    Parameters
    ----------
    index : array_like of int, shape (m,), m >= 1
        Strictly increasing, in [-2^52, 2^52].
    mass : array_like of float, shape (m,)
        Q's masses, >= 0, not all 0.
    spacing : float
        Distance of neighbouring lattice points, nats, > 0.
    offset : float
        The loss at index 0, nats, finite.
    infinite_mass : float
        Q's mass at +infinity, in [0, 1]. With `mass` it sums to at most 1 within 1e-9.
    step : float, optional
        Former name of `spacing`.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range.

    """

    __module__ = "prvcore.stages"

    def __init__(
        self, index, mass, spacing=None, *, offset=0.0, infinite_mass=0.0, step=None
    ):
        if self.lattice.index is not NULL:
            raise TypeError("a Lattice is immutable")
        cdef int64_t[::1] points = _arguments.increasing(
            index, "index", -FARTHEST_INDEX, FARTHEST_INDEX
        )
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
        spacing = _arguments.positive(spacing_of(spacing, step), "spacing")
        offset = _arguments.finite(offset, "offset")
        check(prv_lattice_new(length, &self.lattice))
        self.lattice.spacing, self.lattice.offset = spacing, offset
        self.lattice.infinite_mass = infinite_mass
        for i in range(length):
            self.lattice.index[i] = points[i]
            self.lattice.loss[i] = self.lattice.offset + self.lattice.spacing * <double>points[i]
            self.lattice.mass[i] = values[i]

    def __dealloc__(self):
        prv_lattice_free(&self.lattice)

    @property
    def index(self):
        """Indices of the atoms, int64 (m,)."""
        return integers_of(self.lattice.index, self.lattice.length)

    @property
    def loss(self):
        """Losses of the atoms, nats, float64 (m,)."""
        return copy_of(self.lattice.loss, self.lattice.length)

    @property
    def mass(self):
        """Q's mass of each atom, float64 (m,)."""
        return copy_of(self.lattice.mass, self.lattice.length)

    @property
    def spacing(self):
        """Distance of neighbouring lattice points, nats."""
        return self.lattice.spacing

    @property
    def step(self):
        """Former name of `spacing`."""
        return self.lattice.spacing

    @property
    def offset(self):
        """The loss at index 0, nats."""
        return self.lattice.offset

    @property
    def infinite_mass(self):
        """Q's mass at +infinity; of a dominating lattice, also what lies above its last point."""
        return self.lattice.infinite_mass

    @property
    def infinite_error(self):
        """Absolute error of `infinite_mass`, at most."""
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
        """Absolute error of delta from the caller's table or functions, as of `Cells`."""
        return self.error

    def __repr__(self):
        return f"<Lattice: {self.lattice.length} atoms, spacing {self.lattice.spacing!r}>"


def dominating(Cells cells not None, Mesh mesh not None, *, memory_limit=None):
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
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Lattice

    Raises
    ------
    TypeError, ValueError
        The mesh does not belong to the cells; the cells are of the other side; the lattice needs
        more memory than the limit.

    References
    ----------
    .. [1] Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: tighter discrete
       approximations of privacy loss distributions", PoPETs 2022, section 4.

    """
    check_mesh(cells, mesh, PRV_DOMINATING)
    check_room(f"{mesh!r}", BYTES_OF_ATOM * mesh.mesh.length, memory_limit_of(memory_limit))
    cdef Lattice made = Lattice.__new__(Lattice)
    check(prv_check_arithmetic())
    made.error = cells.error
    check(prv_lattice_new(mesh.mesh.length, &made.lattice))
    with nogil:
        prv_lattice_dominating(&cells.cells, &mesh.mesh, &made.lattice)
    return made


def dominated(Cells cells not None, Mesh mesh not None, *, memory_limit=None):
    """Return the dominated lattice of cells: its privacy curve is nowhere above the mechanism's.

    Outcomes are merged into lattice points that have the likelihood ratio of the merged masses.
    Merging is post-processing; what fits nowhere is dropped.

    Parameters
    ----------
    cells : Cells
        With side "dominated" if the mechanism is known by the values of functions alone.
    mesh : Mesh
        As for `dominating`.
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Lattice
        Unless the mesh is `on_knots`, its points lie between those of the mesh: `offset` differs.

    Raises
    ------
    TypeError, ValueError
        The mesh does not belong to the cells; the cells are of the other side; the lattice needs
        more memory than the limit.
    MemoryError
        There is no room for the arrays.

    """
    check_mesh(cells, mesh, PRV_DOMINATED)
    cdef double scratch = sizeof(double) * (cells.cells.length + 1.0)
    check_room(
        f"{mesh!r}",
        BYTES_OF_ATOM * mesh.mesh.length + scratch,
        memory_limit_of(memory_limit),
    )
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


def mean_matched(
    mechanism,
    spacing=None,
    half_length=None,
    *,
    direction="remove",
    memory_limit=None,
    step=None,
):
    """Return the lattice of DiscretizePRV, Algorithm 2 of [1]_: close to the loss, with its mean.

    Losses are rounded to the nearest lattice point, those out of reach are left out and the rest is
    normalised; then all are moved until their mean is right. The lattice neither dominates nor is
    dominated: Theorem 5.5 of [1]_ bounds the difference for a whole composition.

    Parameters
    ----------
    mechanism : Mechanism
        One step; not one that is known by its privacy curve alone, which has no mean.
    spacing : float
        Distance of neighbouring lattice points, the mesh size of [1]_, nats, in (0, 100].
    half_length : int
        In [1, 2^39]. The lattice has the points ``offset + spacing * i``, ``|i| <= half_length``,
        that a loss can reach.
    direction : {"remove", "add"}
        Which neighbour has one record less.
    memory_limit : int, optional
        Bytes that the arrays of the call may take together; left out, `prvcore.get_memory_limit`.
    step : float, optional
        Former name of `spacing`.

    Returns
    -------
    Lattice
        Its `rounding` is that of floating point alone, of which the theorem knows nothing: with it
        the theorem's bounds hold for the lattice as it was computed.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the lattice needs more memory than the
        limit.
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
    cdef double mesh_size = mesh_size_of(spacing_of(spacing, step), "spacing")
    cdef size_t n = _arguments.integer(half_length, "half_length", 1, PRV_LONGEST_TRANSFORM // 2)
    cdef Lattice made = Lattice.__new__(Lattice)
    cdef prv_discretization_error error
    cdef prv_options options = prv_options_default()
    cdef watch w
    cdef prv_status status = PRV_OK
    if not prv_mean_exists(handle.pointer):
        raise ValueError(
            f"mechanism must not be known by its privacy curve alone, got {mechanism!r}"
        )
    check_room(f"half_length = {n}", 64.0 * n, memory_limit_of(memory_limit))
    check(prv_check_arithmetic())
    let_stop(&options, &w, None)
    with nogil:
        status = prv_discretize_prv(
            handle.pointer, add, mesh_size, n, &options, &made.lattice, &error
        )
    if status == PRV_ERR_PRECISION:
        raise PrecisionError(
            f"no point has any mass: spacing = {mesh_size!r} with half_length = {n} does not reach "
            f"the losses of {mechanism!r}"
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
            f"cells must be made with side {name_of(side)!r}, got "
            f"{name_of(cells.side)!r}: the mechanism is known by values of functions"
        )
    if m.knot[0] != 0 or m.knot[m.length - 1] != last:
        raise ValueError(
            f"mesh.positions must begin with 0 and end with {last}, the outermost knots of cells, "
            f"got {m.knot[0]} and {m.knot[m.length - 1]}"
        )
    for k in range(m.length):
        # prv_rounding_of_points allows for the rounding of a product and a sum.
        point = <long double>m.offset + <long double>m.spacing * <long double>m.index[k]
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


cdef object spacing_of(object spacing, object step):
    """Return the spacing, which may be given by its former name."""
    if step is not None and spacing is not None:
        raise TypeError("spacing must not be given with step, its former name")
    return spacing if step is None else step
