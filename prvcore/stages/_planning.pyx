"""Meshes, knots and window as a question plans them. No bound relies on the choice."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from prvcore._core.composition cimport let_stop, watch
from prvcore._core.core cimport (
    PRV_ADD,
    PRV_ENGINE_CONVOLUTION,
    PRV_ENGINE_SPECTRUM,
    PRV_ERR_MEMORY_LIMIT,
    PRV_OK,
    PRV_REMOVE,
    prv_options,
    prv_status,
    prv_step,
)
from prvcore._core.internals cimport (
    PRV_ASK_EPSILON,
    prv_aim,
    prv_check_arithmetic,
    prv_direction,
    prv_direction_free,
    prv_direction_new,
    prv_layout,
    prv_layout_free,
    prv_layout_new,
    prv_mesh,
    prv_mesh_new,
    prv_refine_aim,
    prv_take_aim,
    prv_widen_reach,
)
from prvcore._core.mechanism cimport Handle
from prvcore._core.status cimport check
from prvcore.stages._arrays cimport copy_of
from prvcore.stages._cells cimport handle_of
from prvcore.stages._composition cimport Window
from prvcore.stages._lattices cimport Mesh, mesh_size_of

from prvcore import _arguments, _steps
from prvcore._settings import memory_limit_of

__all__ = ["Plan", "plan"]


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

    __module__ = "prvcore.stages"

    cdef readonly tuple meshes
    cdef readonly tuple knots
    cdef readonly Window window
    cdef readonly double tilt
    cdef readonly double epsilon
    cdef readonly double saddle

    def __init__(self):
        raise TypeError("a Plan is made by prvcore.stages.plan")

    def __repr__(self):
        if self.meshes is None:
            return "<Plan: empty>"
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
    memory_limit=None,
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
    memory_limit : int, optional
        Bytes that the arrays of one pass may take together; left out, `prvcore.get_memory_limit`.

    Returns
    -------
    Plan
        No bound relies on it.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or out of its range; the mesh needs more memory than
        the limit.
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
    cdef double spacing = mesh_size_of(mesh_size, "mesh_size")
    cdef double width = _arguments.positive(eps_error, "eps_error")
    cdef bint exact = bool(exact_mesh)
    cdef prv_options options
    cdef watch w
    memset(&options, 0, sizeof(options))
    options.engine = (
        PRV_ENGINE_SPECTRUM
        if _arguments.choice(engine, "engine", ("convolution", "spectrum")) == "spectrum"
        else PRV_ENGINE_CONVOLUTION
    )
    options.eps_error = width
    options.neighbors = PRV_ADD if add else PRV_REMOVE
    options.memory_limit = memory_limit_of(memory_limit)
    if length == 0 or min(n for _, n in steps) == 0:
        raise ValueError(f"mechanisms must not be empty, and counts be at least 1, got {steps!r}")
    check(prv_check_arithmetic())
    let_stop(&options, &w, None)
    cdef Layout made = Layout(length)
    for j in range(length):
        made.steps[j].mechanism = (<Handle>handles[j]).pointer
        made.steps[j].count = steps[j][1]
    check(
        prv_direction_new(
            made.steps, length, options.neighbors, add, NULL, &options, &made.direction
        )
    )
    made.planned = True
    if not made.direction.all.infinite.high < value:
        raise ValueError(
            "delta must be above the mass at infinity, "
            f"{made.direction.all.infinite.mass!r}, got {value!r}"
        )
    cdef prv_status status = PRV_OK
    with nogil:
        status = lay_out(made, &options, value, lam, spacing, exact)
    if status == PRV_ERR_MEMORY_LIMIT:
        raise ValueError(
            f"mesh_size = {spacing!r} needs {made.layout.bytes:.0f} bytes, which is above the "
            f"memory limit of {options.memory_limit} bytes"
        )
    check(status)
    return made.as_plan()


# The first pass of prv_bracket, up to its meshes.
cdef prv_status lay_out(
    Layout made, const prv_options *options, double delta, double tilt, double spacing, bint exact
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
        spacing,
        exact,
        options.engine,
        <double>options.memory_limit,
        options,
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
    made.mesh.offset, made.mesh.spacing = mesh.offset, mesh.spacing
    made.mesh.on_knots, made.mesh.tilt = mesh.on_knots, mesh.tilt
    made.mesh.may_shift = mesh.may_shift
    return made
