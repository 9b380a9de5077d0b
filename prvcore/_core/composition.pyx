"""Queries of the C core, with the GIL released."""

from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport fabs, isinf
from libc.stdint cimport uint64_t

from prvcore._core.core cimport (
    PRV_ADD,
    PRV_ADD_OR_REMOVE,
    PRV_ADVANTAGE,
    PRV_BAYES_RISK,
    PRV_BRACKETING,
    PRV_ENGINE_AUTO,
    PRV_ENGINE_CLOSED_FORM,
    PRV_ENGINE_CONVOLUTION,
    PRV_ENGINE_JUMPS,
    PRV_ENGINE_SPECTRUM,
    PRV_ERR_FFT,
    PRV_ERR_MEMORY_LIMIT,
    PRV_ERR_OPTIONS,
    PRV_ERR_TARGET,
    PRV_GAUSSIAN_MU,
    PRV_LIMIT_ENGINE,
    PRV_LIMIT_MEMORY,
    PRV_LIMIT_MESH_SIZE,
    PRV_LIMIT_NONE,
    PRV_LIMIT_PASSES,
    PRV_LIMIT_ROUNDING,
    PRV_MEAN_MATCHING,
    PRV_NOISE_SCALE,
    PRV_POWER,
    PRV_REMOVE,
    PRV_REPLACE_ONE,
    PRV_SAMPLING_PROBABILITY,
    PRV_STEPS,
    prv_bayes_risk,
    prv_bounds,
    prv_calibrate,
    prv_calibrate_risk,
    prv_calibration,
    prv_delta,
    prv_engine,
    prv_epsilon,
    prv_fft,
    prv_fft_provider,
    prv_fft_provider_new,
    prv_gaussian_mu,
    prv_history,
    prv_history_delta,
    prv_history_epsilon,
    prv_history_free,
    prv_history_new,
    prv_is_attained,
    prv_mechanism,
    prv_neighbors,
    prv_options,
    prv_options_default,
    prv_options_fault,
    prv_parameter,
    prv_power,
    prv_progress,
    prv_renyi_divergence,
    prv_report,
    prv_risk,
    prv_status,
    prv_step,
    prv_steps_left,
    prv_sweep,
    prv_sweep_epsilon,
    prv_sweep_free,
    prv_sweep_new,
    prv_witness,
    prv_witness_lattice,
    prv_witness_pass,
)
from prvcore._core.mechanism cimport Handle
from prvcore._core.status cimport check

import os
import threading

from prvcore._errors import TargetError

cdef extern from "<time.h>" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec

    enum:
        TIME_UTC

    int timespec_get(timespec *moment, int base)


cdef dict NEIGHBORS = {
    "add-or-remove": <int>PRV_ADD_OR_REMOVE,
    "add": <int>PRV_ADD,
    "remove": <int>PRV_REMOVE,
    "replace-one": <int>PRV_REPLACE_ONE,
}
cdef dict DISCRETIZATIONS = {
    "bracketing": <int>PRV_BRACKETING,
    "mean-matching": <int>PRV_MEAN_MATCHING,
}
cdef dict ENGINES = {
    "auto": <int>PRV_ENGINE_AUTO,
    "convolution": <int>PRV_ENGINE_CONVOLUTION,
    "spectrum": <int>PRV_ENGINE_SPECTRUM,
}
cdef dict LIMITS = {
    <int>PRV_LIMIT_NONE: "none",
    <int>PRV_LIMIT_ROUNDING: "rounding",
    <int>PRV_LIMIT_MEMORY: "memory",
    <int>PRV_LIMIT_ENGINE: "engine",
    <int>PRV_LIMIT_MESH_SIZE: "mesh_size",
    <int>PRV_LIMIT_PASSES: "passes",
}
cdef dict RISKS = {
    "advantage": <int>PRV_ADVANTAGE,
    "power": <int>PRV_POWER,
    "bayes_risk": <int>PRV_BAYES_RISK,
    "gaussian_mu": <int>PRV_GAUSSIAN_MU,
}
cdef dict PARAMETERS = {
    "noise": <int>PRV_NOISE_SCALE,
    "sampling_probability": <int>PRV_SAMPLING_PROBABILITY,
    "steps": <int>PRV_STEPS,
}


# Up to this length the transforms of the core take about as long as pyFFTW's, and are planned
# sooner; longer ones would keep more memory. Importing pyFFTW takes far longer than most queries:
# not before one needs more.
cdef enum:
    MOST_OF_OWN = 1 << 22

cdef prv_fft_provider *OWN = NULL
cdef prv_fft_provider TRANSFORMS
TRANSFORMS.context = NULL
TRANSFORMS.plan = plan_transforms
check(prv_fft_provider_new(&OWN))

cdef object planning = threading.RLock()
if hasattr(os, "register_at_fork"):  # no child has a lock that a thread of its parent's holds
    os.register_at_fork(
        before=planning.acquire, after_in_parent=planning.release, after_in_child=planning.release
    )


cdef prv_status plan_transforms(
    void *context, size_t length, prv_fft *fft
) except? PRV_ERR_FFT with gil:
    cdef const prv_fft_provider *provider = OWN
    cdef prv_status status
    if length <= MOST_OF_OWN:
        with planning:
            status = provider.plan(provider.context, length, fft)
        if status != PRV_ERR_FFT:  # lengths with prime factors above 7 are pyFFTW's
            return status
    from prvcore._core import fft_plans

    provider = <const prv_fft_provider *>PyCapsule_GetPointer(
        fft_plans.provider(), "prvcore.prv_fft_provider"
    )
    return provider.plan(provider.context, length, fft)


cdef double seconds() noexcept nogil:
    cdef timespec moment
    timespec_get(&moment, TIME_UTC)
    return moment.tv_sec + 1e-9 * moment.tv_nsec


cdef class Stop:
    """Ends, once asked to, what the threads that were given it compute, within them or later."""

    cdef int asked

    def ask(self):
        """Let calls of these threads raise KeyboardInterrupt soon."""
        self.asked = True

    def end_this_thread(self):
        """Give it to the thread that calls."""
        this_thread.stop = self


cdef object this_thread = threading.local()


cdef int look(void *context, const prv_progress *progress) except -1 nogil:
    cdef watch *w = <watch *>context
    cdef double now = seconds()
    # Taking the GIL may wait for other threads, so look for signals now and then only.
    cdef bint signals = w.signals and fabs(now - w.last_look) >= 0.02
    if w.stop is not NULL and w.stop[0]:
        return -1
    if not signals and w.callback is NULL:
        return 0
    with gil:
        if PyErr_Occurred():  # an earlier callback of this call has failed: C has only to stop
            return -1
        if signals:
            w.last_look = now
            PyErr_CheckSignals()
        if w.callback is not NULL:
            (<object>w.callback)(
                (
                    progress.question,
                    progress.questions,
                    progress.compositions,
                    progress.passes,
                    progress.width,
                    progress.width_asked,
                    progress.fraction,
                )
            )
    return 0


cdef int let_stop(prv_options *options, watch *w, object progress) except -1:
    w.signals = threading.get_ident() == threading.main_thread().ident
    w.last_look = seconds()
    w.callback = NULL if progress is None else <void *>progress
    cdef Stop stop = getattr(this_thread, "stop", None)  # kept by the thread
    w.stop = NULL if stop is None else &stop.asked
    options.progress_context = w
    if w.signals or w.callback is not NULL or w.stop is not NULL:
        options.progress = look
    return 0


cdef prv_options new_options(
    str neighbors, str engine, size_t memory_limit, object progress, watch *w
):
    """Return what queries and calibrations have in common; progress and w outlive the call."""
    cdef prv_options options = prv_options_default()
    options.neighbors = NEIGHBORS[neighbors]
    options.engine = ENGINES[engine]
    options.memory_limit = memory_limit
    options.fft = &TRANSFORMS
    let_stop(&options, w, progress)
    return options


def default_options():
    """Return the widths and the memory limit that a program in C begins with."""
    cdef prv_options options = prv_options_default()
    return {
        "eps_error": options.eps_error,
        "eps_relative_error": options.eps_relative_error,
        "eps_floor": options.eps_floor,
        "delta_relative_error": options.delta_relative_error,
        "memory_limit": options.memory_limit,
    }


cdef prv_options query_options(dict settings, object progress, watch *w):
    cdef prv_options options = new_options(
        settings["neighbors"], settings["engine"], settings["memory_limit"], progress, w
    )
    options.discretization = DISCRETIZATIONS[settings["discretization"]]
    options.eps_error = settings["eps_error"]
    options.eps_relative_error = settings["eps_relative_error"]
    options.eps_floor = settings["eps_floor"]
    options.delta_error = settings["delta_error"]
    options.delta_relative_error = settings["delta_relative_error"]
    options.mesh_size = settings["mesh_size"]
    return options


cdef int keep(void *context, const prv_witness_pass *shown) except -1 nogil:
    with gil:
        (<object>context)(pass_of(shown))
    return 0


cdef size_t length_of(const double[::1] points, const double[:, ::1] bounds) except? 0:
    if bounds.shape[0] != points.shape[0] or bounds.shape[1] != 3:
        raise ValueError(f"bounds must have shape ({points.shape[0]}, 3)")
    return points.shape[0]


cdef enum bounded_quantity:
    POWER
    BAYES_RISK
    GAUSSIAN_MU
    RENYI_DIVERGENCE


cdef dict QUANTITIES = {
    "power": <int>POWER,
    "bayes_risk": <int>BAYES_RISK,
    "gaussian_mu": <int>GAUSSIAN_MU,
    "renyi_divergence": <int>RENYI_DIVERGENCE,
}


cdef class History:
    """What was computed for the steps of compositions that grow; for one thread at a time."""

    cdef prv_history *pointer
    cdef object last  # the composition asked last: C compares with the addresses of its mechanisms

    def __cinit__(self):
        check(prv_history_new(&self.pointer))

    def __dealloc__(self):
        prv_history_free(self.pointer)


cdef class Composition:
    """Steps as C takes them; never modified, so any thread may query it."""

    cdef tuple handles  # own the mechanisms that `steps` points to
    cdef prv_step *steps

    def __cinit__(self, tuple handles not None, tuple counts not None):
        self.handles = handles
        self.steps = <prv_step *>PyMem_Calloc(max(1, len(handles)), sizeof(prv_step))
        if self.steps is NULL:
            raise MemoryError
        for i, (handle, count) in enumerate(zip(handles, counts, strict=True)):
            self.steps[i].mechanism = (<Handle?>handle).pointer
            self.steps[i].count = count

    def __dealloc__(self):
        PyMem_Free(self.steps)

    def attained(self, str neighbors not None):
        """Say whether two data sets have the dominating pair, or each value of its curve."""
        cdef prv_neighbors relation = <prv_neighbors><int>NEIGHBORS[neighbors]
        return bool(prv_is_attained(self.steps, len(self.handles), relation))

    def query(
        self,
        bint for_epsilon,
        const double[::1] points not None,
        double[:, ::1] bounds not None,
        *,
        History history=None,
        double threshold=0.0,
        object progress=None,
        **settings,
    ):
        """Fill `bounds` (shape (n, 3): lower, estimate, upper) at each of n `points`.

        Returns a list of n tuples: the fields of prv_report in the order of ErrorBudget. `progress`
        is called with the fields of prv_progress as a tuple. With a `history`, bounds are those of
        prv_history_epsilon or prv_history_delta. With a
        `threshold` > 0 they need to be no closer than tells on which side of it an answer lies.
        """
        cdef size_t length = length_of(points, bounds)
        if length == 0:
            return []

        cdef watch w
        cdef prv_options options = query_options(settings, progress, &w)
        options.threshold = threshold
        cdef size_t step_count = len(self.handles)
        cdef const double *point = &points[0]
        cdef prv_bounds *bound = <prv_bounds *>&bounds[0, 0]
        cdef prv_status status
        cdef prv_report *reports = <prv_report *>PyMem_Calloc(length, sizeof(prv_report))
        if reports is NULL:
            raise MemoryError
        cdef prv_history *kept = NULL if history is None else history.pointer
        try:
            with nogil:
                if kept is not NULL and for_epsilon:
                    status = prv_history_epsilon(
                        kept, self.steps, step_count, &options, point, length, bound, reports
                    )
                elif kept is not NULL:
                    status = prv_history_delta(
                        kept, self.steps, step_count, &options, point, length, bound, reports
                    )
                elif for_epsilon:
                    status = prv_epsilon(
                        self.steps, step_count, &options, point, length, bound, reports
                    )
                else:
                    status = prv_delta(
                        self.steps, step_count, &options, point, length, bound, reports
                    )
            if history is not None:
                history.last = self
            if status == PRV_ERR_MEMORY_LIMIT:
                raise ValueError(over_limit(&options, reports.memory))
            check_asked(status, &options)
            return [fields_of(&reports[i]) for i in range(length)]
        finally:
            PyMem_Free(reports)

    def witness(
        self, bint of_epsilon, double value, object see, *, object progress=None, **settings
    ):
        """Return the bounds of prv_witness; `see` is called with a dict for each pass."""
        cdef watch w
        cdef prv_options options = query_options(settings, progress, &w)
        cdef size_t step_count = len(self.handles)
        cdef prv_bounds found
        cdef prv_status status
        with nogil:
            status = prv_witness(
                self.steps, step_count, &options, of_epsilon, value, keep, <void *>see, &found
            )
        check_asked(status, &options)
        return bounds_of(&found)

    def bound(
        self,
        str quantity not None,
        const double[::1] points not None,
        double[:, ::1] bounds not None,
        *,
        object progress=None,
        **settings,
    ):
        """Fill `bounds` with those of a quantity of QUANTITIES at each point.

        Returns what `query` does, of what decides each; an empty list for renyi_divergence.
        """
        cdef size_t length = length_of(points, bounds), step_count = len(self.handles)
        if length == 0:
            return []
        cdef watch w
        cdef prv_options options = query_options(settings, progress, &w)
        cdef prv_bounds *bound = <prv_bounds *>&bounds[0, 0]
        cdef const double *point = &points[0]
        cdef int wanted = QUANTITIES[quantity]
        cdef prv_status status
        cdef prv_report *reports = <prv_report *>PyMem_Calloc(length, sizeof(prv_report))
        if reports is NULL:
            raise MemoryError
        try:
            with nogil:
                if wanted == POWER:
                    status = prv_power(
                        self.steps, step_count, &options, point, length, bound, reports
                    )
                elif wanted == BAYES_RISK:
                    status = prv_bayes_risk(
                        self.steps, step_count, &options, point, length, bound, reports
                    )
                elif wanted == GAUSSIAN_MU:
                    status = prv_gaussian_mu(
                        self.steps, step_count, &options, point, length, bound, reports
                    )
                else:
                    status = prv_renyi_divergence(
                        self.steps, step_count, &options, point, length, bound
                    )
            if status == PRV_ERR_MEMORY_LIMIT:
                raise ValueError(over_limit(&options, reports.memory))
            check_asked(status, &options)
            if wanted == RENYI_DIVERGENCE:
                return []
            return [fields_of(&reports[i]) for i in range(length)]
        finally:
            PyMem_Free(reports)

    def calibrate(
        self,
        str parameter not None,
        size_t fixed_count,
        *,
        str quantity not None,
        double at,
        double target,
        double tolerance,
        str neighbors not None,
        str engine not None,
        size_t memory_limit,
        bint all_changed,
        object progress=None,
    ):
        """Return prv_calibration as a tuple of its fields, bounds as tuples; progress as above.

        `quantity` is epsilon, `at` is then a delta; or it is one of RISKS. `all_changed` says that
        every step that runs has the parameter, for what is said where the target is not met.
        """
        cdef watch w
        cdef prv_options options = new_options(neighbors, engine, memory_limit, progress, &w)
        cdef prv_parameter changed = <prv_parameter><int>PARAMETERS[parameter]
        cdef bint of_epsilon = quantity == "epsilon"
        cdef prv_risk risk = PRV_ADVANTAGE if of_epsilon else <prv_risk><int>RISKS[quantity]
        cdef size_t step_count = len(self.handles)
        cdef prv_calibration found
        cdef prv_status status
        with nogil:
            if of_epsilon:
                status = prv_calibrate(
                    self.steps,
                    step_count,
                    fixed_count,
                    changed,
                    target,
                    at,
                    tolerance,
                    &options,
                    &found,
                )
            else:
                status = prv_calibrate_risk(
                    self.steps,
                    step_count,
                    fixed_count,
                    changed,
                    risk,
                    at,
                    target,
                    tolerance,
                    &options,
                    &found,
                )
        if status == PRV_ERR_TARGET:
            raise TargetError(
                missed(parameter, quantity, at, target, &found.epsilon, all_changed)
            )
        check_asked(status, &options)
        return (
            found.factor,
            found.eps_error,
            bounds_of(&found.epsilon),
            found.next_factor,
            found.next_eps_error,
            bounds_of(&found.next_epsilon),
            found.monotone,
            found.compositions,
            found.fine,
        )

    def steps_left(
        self,
        Handle handle not None,
        *,
        double epsilon,
        double delta,
        double tolerance,
        str neighbors not None,
        str engine not None,
        size_t memory_limit,
        object progress=None,
    ):
        """Return how many runs of a mechanism a budget allows; None if it has been exceeded."""
        cdef watch w
        cdef prv_options options = new_options(neighbors, engine, memory_limit, progress, &w)
        cdef size_t step_count = len(self.handles)
        cdef const prv_mechanism *mechanism = handle.pointer
        cdef uint64_t left = 0
        cdef prv_status status
        with nogil:
            status = prv_steps_left(
                self.steps, step_count, mechanism, epsilon, delta, tolerance, &options, &left
            )
        if status == PRV_ERR_TARGET:
            return None
        check_asked(status, &options)
        return left


cdef class Sweep:
    """What was computed of one mechanism for other counts; for one thread at a time."""

    cdef Handle handle  # owns the mechanism
    cdef prv_sweep *pointer

    def __cinit__(self, Handle handle not None):
        self.handle = handle
        check(prv_sweep_new(handle.pointer, &self.pointer))

    def __dealloc__(self):
        prv_sweep_free(self.pointer)

    def epsilon(
        self,
        const uint64_t[::1] counts not None,
        const double[::1] deltas not None,
        double[:, ::1] bounds not None,
        **settings,
    ):
        """Fill `bounds` as `query` does for each count with its delta, to the same bits.

        Returns a list of (place, width) of the bounds that are wider than asked. A count that fails
        raises the error of `query`.
        """
        cdef size_t length = length_of(deltas, bounds)
        if counts.shape[0] != deltas.shape[0]:
            raise ValueError(f"counts must have length {deltas.shape[0]}")
        if length == 0:
            return []
        cdef watch w
        cdef prv_options options = query_options(settings, None, &w)
        cdef prv_bounds *bound = <prv_bounds *>&bounds[0, 0]
        cdef prv_status status
        cdef prv_report *reports = <prv_report *>PyMem_Calloc(length, sizeof(prv_report))
        if reports is NULL:
            raise MemoryError
        try:
            with nogil:
                status = prv_sweep_epsilon(
                    self.pointer, &counts[0], &deltas[0], length, &options, bound, reports
                )
            if status == PRV_ERR_MEMORY_LIMIT:
                raise ValueError(over_limit(&options, reports.memory))
            check_asked(status, &options)
            return [(i, reports[i].width) for i in range(length) if not reports[i].accurate]
        finally:
            PyMem_Free(reports)


cdef tuple bounds_of(const prv_bounds *bounds):
    return (bounds.lower, bounds.estimate, bounds.upper)


cdef dict pass_of(const prv_witness_pass *shown):
    return {
        "direction": name_of(shown.direction),
        "symmetric": bool(shown.symmetric),
        "bounds": bounds_of(&shown.bounds),
        "engine": engine_of(shown.engine),
        "tilt": shown.tilt,
        "mesh_size": shown.mesh_size,
        "transform_length": shown.transform_length,
        "width": {
            "discretization": shown.discretization,
            "truncation": shown.truncation,
            "wrap_around": shown.wrap_around,
            "rounding": shown.rounding,
        },
        "above": [lattice_of(&shown.above[j]) for j in range(shown.step_count)],
        "below": [lattice_of(&shown.below[j]) for j in range(shown.step_count)],
    }


cdef dict lattice_of(const prv_witness_lattice *y):
    return {
        "offset": y.offset,
        "spacing": y.spacing,
        "index": [y.index[i] for i in range(y.length)],
        "mass": [y.mass[i] for i in range(y.length)],
        "infinite_mass": y.infinite_mass,
        "infinite_error": y.infinite_error,
        "relative": y.relative,
        "shift": y.shift,
    }


# The words of a target that cannot be met: the target, and what is left.
cdef dict TARGETS = {
    "epsilon": ("epsilon = {target!r} at delta = {at!r}", "an epsilon"),
    "advantage": ("advantage = {target!r}", "an advantage"),
    "power": ("power = {target!r} at false_positive_rate = {at!r}", "a power"),
    "bayes_risk": ("bayes_risk = {target!r} at prior = {at!r}", "a Bayes risk"),
    "gaussian_mu": ("mu = {target!r} at delta = {at!r}", "a mu"),
}
# What lowers the risk; where all of it goes, and the end of what is tried.
cdef dict CHANGES = {
    "noise": ("more noise", "infinite noise, which leaves nothing of the data", "the most noise"),
    "sampling_probability": (
        "a smaller sampling_probability",
        "a sampling_probability of 0, which uses none of the data",
        "the smallest",
    ),
    "steps": ("fewer steps", "no steps", "the fewest"),
}


cdef str missed(
    str parameter, str quantity, double at, double target, const prv_bounds *limit, bint all_changed
):
    """Say why no value of the parameter meets the target.

    The bounds are those that the steps without the parameter have, or where these meet the target,
    those at the safest value that was tried.
    """
    words, left = TARGETS[quantity]
    change, end, extreme = CHANGES[parameter]
    stated = words.format(target=target, at=at)
    of_risk = quantity == "bayes_risk"
    bound = limit.lower if of_risk else limit.upper
    sure = limit.upper < target if of_risk else limit.lower > target
    if sure:
        remains = f"{left} of at least {limit.lower!r} is left"
        if of_risk:
            remains = f"{left} of at most {limit.upper!r} is left"
        elif isinf(limit.lower):
            remains = f"{left.partition(' ')[2]} is infinite"
        where = f"with {extreme} that is tried" if all_changed else "in the limit"
        return f"{stated} cannot be met by {change}: {where} {remains}"
    if all_changed:
        return (
            f"{stated} is met by {end}, but no other is shown to meet it: with {extreme} that is "
            f"tried, rounding leaves a bound of {bound!r}"
        )
    remains = f"down to {bound!r}" if of_risk else f"up to {bound!r}"
    return f"{stated} cannot be met by {change}: in the limit {left} of {remains} is left"


cdef tuple fields_of(const prv_report *report):
    return (
        report.discretization,
        report.truncation,
        report.wrap_around,
        report.rounding,
        report.width,
        name_of(report.direction),
        engine_of(report.engine),
        report.mesh_size,
        report.tilt,
        report.cells,
        report.transform_length,
        report.transforms,
        report.frequencies,
        bool(report.accurate),
        bool(report.attained),
        report.unattained,
        LIMITS[<int>report.limit],
    )


cdef str name_of(prv_neighbors direction):
    if direction == PRV_ADD:
        return "add"
    if direction == PRV_REMOVE:
        return "remove"
    return "replace-one" if direction == PRV_REPLACE_ONE else "add-or-remove"


cdef str engine_of(prv_engine engine):
    if engine == PRV_ENGINE_JUMPS:
        return "jumps"  # which nobody can ask for
    if engine == PRV_ENGINE_CLOSED_FORM:
        return "closed_form"
    for name, value in ENGINES.items():
        if value == <int>engine:
            return "none" if engine == PRV_ENGINE_AUTO else name
    return "none"


cdef int check_asked(prv_status status, const prv_options *options) except -1:
    """As `check`, for a question with these options: names the one that is out of its range."""
    cdef const char *fault = NULL
    if status == PRV_ERR_OPTIONS:
        fault = prv_options_fault(options)
    if fault is not NULL:
        raise ValueError(f"{fault.decode('ascii')} is out of its range")
    return check(status)


cdef str over_limit(const prv_options *options, size_t needed):
    if options.mesh_size > 0.0:
        culprit = f"mesh_size = {options.mesh_size!r}"
    elif options.eps_error > 0.0:
        culprit = f"eps_error = {options.eps_error!r}"
    else:
        culprit = (
            f"eps_error = {options.eps_relative_error:g} * max(epsilon, {options.eps_floor:g})"
        )
    # What needs too large a transform, or more bytes than a size holds, has no number of them.
    need = f"{needed} bytes" if options.memory_limit < needed < <size_t>-1 else "more"
    return (
        f"{culprit} needs {need}, which is above the memory limit of {options.memory_limit} bytes: "
        f"use a larger {culprit.partition(' ')[0]} or raise memory_limit"
    )
