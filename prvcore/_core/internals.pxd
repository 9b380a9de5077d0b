# Functions of the core that are not in prvcore.h, for prvcore.stages. Their headers are not
# installed, so that no other package can use this file. src_c/README.md explains the folders.

from libc.stdint cimport int64_t

from prvcore._core.core cimport (
    prv_engine,
    prv_fft,
    prv_mechanism,
    prv_neighbors,
    prv_options,
    prv_status,
    prv_step,
)


cdef extern from "base/arithmetic.h" nogil:
    prv_status prv_check_arithmetic()


cdef extern from "base/progress.h" nogil:
    prv_status prv_check_interrupt(const prv_options *options)


cdef extern from "mechanisms/support.h" nogil:
    double prv_absolute_cdf_error(const prv_mechanism *mechanism)


cdef extern from "lattices/cells.h" nogil:
    ctypedef enum prv_side:
        PRV_DOMINATING
        PRV_DOMINATED

    ctypedef struct prv_rounding:
        double relative
        double shift

    ctypedef struct prv_cells:
        size_t length
        double *knots
        double *mass
        double *relative
        double *excess
        double infinite_mass
        double infinite_error
        double tail_error
        double least_width
        const prv_options *options

    prv_status prv_cells_new(size_t length, prv_cells *cells)
    void prv_cells_free(prv_cells *cells)
    prv_status prv_cells_compute(
        const prv_mechanism *mechanism, bint add, prv_side side, prv_cells *cells
    )
    prv_rounding prv_cells_rounding(const prv_cells *cells)


cdef extern from "lattices/mesh.h" nogil:
    const double PRV_WIDEST_CELL

    ctypedef struct prv_mesh:
        double offset
        double spacing
        size_t length
        int64_t *index
        size_t *knot
        bint on_knots
        bint may_shift
        double shift
        double tilt

    prv_status prv_mesh_new(size_t length, prv_mesh *mesh)
    void prv_mesh_free(prv_mesh *mesh)


cdef extern from "lattices/lattice.h" nogil:
    ctypedef struct prv_lattice:
        size_t length
        double offset
        double spacing
        int64_t *index
        double *loss
        double *mass
        double infinite_mass
        double infinite_error
        prv_rounding rounding

    prv_status prv_lattice_new(size_t length, prv_lattice *lattice)
    void prv_lattice_free(prv_lattice *lattice)
    void prv_lattice_dominating(
        const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice
    )


cdef extern from "lattices/dominated.h" nogil:
    void prv_lattice_dominated(
        const prv_cells *cells, prv_mesh *mesh, double *scratch, prv_lattice *lattice
    )


cdef extern from "lattices/conditional_mean.h" nogil:
    bint prv_mean_exists(const prv_mechanism *mechanism)


cdef extern from "lattices/discretize_prv.h" nogil:
    ctypedef struct prv_discretization_error:
        double cells
        double mean
        double cdfs

    prv_status prv_discretize_prv(
        const prv_mechanism *mechanism,
        bint add,
        double spacing,
        size_t n,
        const prv_options *options,
        prv_lattice *lattice,
        prv_discretization_error *error,
    )


cdef extern from "composition/window.h" nogil:
    ctypedef struct prv_window:
        const prv_options *options
        double shift_up
        double shift_down
        double lowest
        size_t length
        bint precise
        double tolerance
        double low_epsilon
        double high_epsilon


cdef extern from "composition/infinite_mass.h" nogil:
    ctypedef struct prv_infinite:
        double mass
        double low
        double high


cdef extern from "composition/tilted.h" nogil:
    ctypedef struct prv_tilted:
        double tilt
        double log_moment
        prv_infinite infinite


cdef extern from "composition/composed.h" nogil:
    ctypedef struct prv_convolved:
        double *mass
        size_t length
        size_t start
        size_t transforms

    ctypedef struct prv_composed:
        prv_tilted tilted
        double spacing
        prv_engine engine
        prv_convolved convolved


cdef extern from "composition/transforms.h" nogil:
    const size_t PRV_LONGEST_TRANSFORM

    ctypedef struct prv_workspace:
        pass

    double prv_workspace_bytes(double length, size_t steps)
    prv_status prv_workspace_new(
        size_t length, size_t steps, size_t longest, prv_workspace *work
    )
    void prv_workspace_free(prv_workspace *work)


cdef extern from "composition/convolution.h" nogil:
    double prv_composed_loss(const prv_composed *composed, size_t point)
    prv_status prv_compose(
        const prv_lattice *const *lattices,
        const double *counts,
        size_t steps,
        double tilt,
        const prv_window *window,
        const prv_fft *fft,
        prv_workspace *work,
        prv_composed *result,
    )


cdef extern from "composition/direct_convolution.h" nogil:
    double prv_direct_products(
        const prv_lattice *const *lattices, const double *counts, size_t steps, size_t length
    )


cdef extern from "composition/spectrum.h" nogil:
    ctypedef struct prv_spectrum:
        size_t count
        double points

    prv_status prv_spectrum_new(
        const prv_lattice *const *lattices,
        const double *counts,
        size_t steps,
        double tilt,
        const prv_window *window,
        double most_work,
        prv_spectrum *spectrum,
        prv_composed *composed,
    )
    void prv_spectrum_free(prv_spectrum *spectrum)


cdef extern from "curve/curve.h" nogil:
    ctypedef struct prv_slack:
        double relative
        double shift

    ctypedef struct prv_value:
        double delta
        double plain

    ctypedef struct prv_inverse:
        double epsilon
        double plain

    prv_value prv_curve_delta(
        const prv_composed *composed, double epsilon, prv_side side, const prv_slack *slack
    )
    prv_inverse prv_curve_epsilon(
        const prv_composed *composed,
        double delta,
        prv_side side,
        const prv_slack *slack,
        double guess,
    )


cdef extern from "curve/certificate.h" nogil:
    ctypedef struct prv_slack_parts:
        prv_slack slack
        double outside
        double transforms

    prv_slack_parts prv_certificate(const prv_composed *composed, const prv_rounding *cells)


cdef extern from "curve/gate.h" nogil:
    ctypedef enum prv_question:
        PRV_ASK_EPSILON
        PRV_ASK_DELTA

    ctypedef struct prv_totals:
        prv_infinite infinite


cdef extern from "curve/direction.h" nogil:
    ctypedef struct prv_direction:
        prv_totals all

    prv_status prv_direction_new(
        const prv_step *steps,
        size_t step_count,
        prv_neighbors neighbors,
        bint add,
        const void *first,
        const prv_options *options,
        prv_direction *direction,
    )
    void prv_direction_free(prv_direction *direction)


cdef extern from "planning/aim.h" nogil:
    ctypedef struct prv_aim:
        double epsilon
        double reach
        double saddle
        double deviation
        double width
        double asked
        double strictness

    void prv_take_aim(
        prv_direction *direction,
        const prv_options *options,
        prv_question question,
        double value,
        prv_aim *aim,
    )
    void prv_widen_reach(prv_aim *aim)
    prv_status prv_refine_aim(
        prv_direction *direction,
        const prv_options *options,
        prv_question question,
        double value,
        prv_aim *aim,
    )


cdef extern from "planning/layout.h" nogil:
    ctypedef struct prv_layout:
        size_t steps
        double tilt
        prv_mesh *meshes
        prv_cells *cells
        prv_window window
        double bytes

    prv_status prv_layout_new(
        prv_direction *direction,
        const prv_aim *aim,
        double tilt,
        double spacing,
        bint exact_spacing,
        prv_engine engine,
        double memory_limit,
        const prv_options *options,
        prv_layout *layout,
    )
    void prv_layout_free(prv_layout *layout)
