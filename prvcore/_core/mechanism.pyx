"""Mechanisms of the C core, and the callbacks through which it asks a user's own."""

from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from prvcore._core.core cimport (
    PRV_ADD_OR_REMOVE,
    PRV_OK,
    PRV_REPLACE_ONE,
    prv_mechanism_approximate_dp,
    prv_mechanism_bounded_range,
    prv_mechanism_cdfs,
    prv_mechanism_check_neighbors,
    prv_mechanism_composed,
    prv_mechanism_curve,
    prv_mechanism_discrete_gaussian,
    prv_mechanism_discrete_laplace,
    prv_mechanism_free,
    prv_mechanism_gaussian,
    prv_mechanism_gaussian_mixture,
    prv_mechanism_gaussians,
    prv_mechanism_fixed_size_group_gaussian,
    prv_mechanism_group_gaussian,
    prv_mechanism_laplace,
    prv_mechanism_poisson_subsampled,
    prv_mechanism_random_selection,
    prv_mechanism_randomized_response,
    prv_mechanism_shuffled_from_below,
    prv_mechanism_stated,
    prv_mechanism_subsampled_without_replacement,
    prv_mechanism_table,
    prv_mechanism_tails,
    prv_mechanism_truncated_poisson_gaussian,
    prv_relation,
    prv_status,
    prv_step,
)
from prvcore._core.status cimport check

import numpy as np

from prvcore._arguments import check_cdf, check_cdf_pair, check_curve


cdef class Handle:
    """Owner of one mechanism of the C core; never modified, so any thread may use it."""

    def __dealloc__(self):
        prv_mechanism_free(self.pointer)


def gaussian(double noise_multiplier):
    """Return the Handle of a Gaussian mechanism."""
    cdef Handle handle = Handle.__new__(Handle)
    check(prv_mechanism_gaussian(noise_multiplier, &handle.pointer))
    return handle


def gaussians(const double[::1] noise_multipliers not None, const uint64_t[::1] counts not None):
    """Return the Handle of Gaussian noise on several queries of the same records."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef size_t length = noise_multipliers.shape[0]
    if length == 0 or noise_multipliers.shape[0] != counts.shape[0]:
        raise ValueError("noise_multipliers and counts must be of one length >= 1")
    check(
        prv_mechanism_gaussians(&noise_multipliers[0], &counts[0], length, &handle.pointer)
    )
    return handle


def laplace(double scale, double sensitivity):
    """Return the Handle of a Laplace mechanism."""
    cdef Handle handle = Handle.__new__(Handle)
    check(prv_mechanism_laplace(scale, sensitivity, &handle.pointer))
    return handle


def discrete_gaussian(double scale, int64_t sensitivity):
    """Return the Handle of a discrete Gaussian mechanism."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef prv_status status
    with nogil:
        status = prv_mechanism_discrete_gaussian(scale, sensitivity, &handle.pointer)
    check(status)
    return handle


def discrete_laplace(double scale, int64_t sensitivity):
    """Return the Handle of a discrete Laplace mechanism."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef prv_status status
    with nogil:
        status = prv_mechanism_discrete_laplace(scale, sensitivity, &handle.pointer)
    check(status)
    return handle


def approximate_dp(double epsilon, double delta):
    """Return the Handle of the dominating pair of (epsilon, delta)-DP."""
    cdef Handle handle = Handle.__new__(Handle)
    check(prv_mechanism_approximate_dp(epsilon, delta, &handle.pointer))
    return handle


def table(
    const double[::1] losses not None,
    const double[::1] probabilities not None,
    double mass_at_infinity,
):
    """Return the Handle of a finite table, which is copied."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef size_t length = losses.shape[0]
    if length == 0 or losses.shape[0] != probabilities.shape[0]:
        raise ValueError("losses and probabilities must be of one length >= 1")
    check(
        prv_mechanism_table(
            &losses[0], &probabilities[0], length, mass_at_infinity, &handle.pointer
        )
    )
    return handle


def bounded_range(double epsilon):
    """Return the Handle of the dominating pair of losses in an interval of this length."""
    cdef Handle handle = Handle.__new__(Handle)
    check(prv_mechanism_bounded_range(epsilon, &handle.pointer))
    return handle


def randomized_response(double epsilon, uint64_t categories):
    """Return the Handle of randomized response."""
    cdef Handle handle = Handle.__new__(Handle)
    check(prv_mechanism_randomized_response(epsilon, categories, &handle.pointer))
    return handle


def gaussian_mixture(
    double noise_multiplier,
    const double[::1] sensitivities not None,
    const double[::1] probabilities not None,
):
    """Return the Handle of Gaussian noise on a query of random sensitivity."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef size_t length = sensitivities.shape[0]
    if length == 0 or sensitivities.shape[0] != probabilities.shape[0]:
        raise ValueError("sensitivities and probabilities must be of one length >= 1")
    check(
        prv_mechanism_gaussian_mixture(
            noise_multiplier, &sensitivities[0], &probabilities[0], length, &handle.pointer
        )
    )
    return handle


def group_gaussian(double noise_multiplier, double sampling_probability, uint64_t group_size):
    """Return the Handle of a Gaussian mechanism on a Poisson sample, for a group of records."""
    cdef Handle handle = Handle.__new__(Handle)
    check(
        prv_mechanism_group_gaussian(
            noise_multiplier, sampling_probability, group_size, &handle.pointer
        )
    )
    return handle


def fixed_size_group_gaussian(
    double noise_multiplier, uint64_t dataset_size, uint64_t batch_size, uint64_t group_size
):
    """Return the Handle of a Gaussian mechanism on a sample of fixed size, for a group."""
    cdef Handle handle = Handle.__new__(Handle)
    check(
        prv_mechanism_fixed_size_group_gaussian(
            noise_multiplier, dataset_size, batch_size, group_size, &handle.pointer
        )
    )
    return handle


def truncated_poisson_gaussian(
    double noise_multiplier,
    double sampling_probability,
    uint64_t dataset_size,
    uint64_t maximum_batch_size,
):
    """Return the Handle of a Gaussian mechanism on a truncated Poisson sample."""
    cdef Handle handle = Handle.__new__(Handle)
    check(
        prv_mechanism_truncated_poisson_gaussian(
            noise_multiplier,
            sampling_probability,
            dataset_size,
            maximum_batch_size,
            &handle.pointer,
        )
    )
    return handle


def shuffled_from_below(double noise_multiplier, uint64_t batches, bint replaced):
    """Return the Handle of what an epoch of shuffled batches tells at least."""
    cdef Handle handle = Handle.__new__(Handle)
    check(
        prv_mechanism_shuffled_from_below(noise_multiplier, batches, replaced, &handle.pointer)
    )
    return handle


def cdfs(cdf_q, cdf_p, double mass_at_infinity):
    """Return the Handle of a mechanism given by the two CDFs of its loss."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = (cdf_q, cdf_p, mass_at_infinity)
    check(
        prv_mechanism_cdfs(ask_cdfs, <void *>handle.context, mass_at_infinity, &handle.pointer)
    )
    return handle


def tails(tails_at, bint mirrored):
    """Return the Handle of a mechanism given by tails of its loss: see prv_tail_callback."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = (tails_at,)
    check(prv_mechanism_tails(ask_tails, <void *>handle.context, mirrored, &handle.pointer))
    return handle


def curve(delta, double mass_at_infinity):
    """Return the Handle of a mechanism given by its privacy curve."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = (delta, mass_at_infinity)
    check(
        prv_mechanism_curve(ask_curve, <void *>handle.context, mass_at_infinity, &handle.pointer)
    )
    return handle


def stated(Handle own not None, int relation, bint attained):
    """Return the Handle of a mechanism of one's own, stated for a relation, a prv_relation."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = own.context
    check(prv_mechanism_stated(own.pointer, <prv_relation>relation, attained, &handle.pointer))
    return handle


def poisson_subsampled(Handle base not None, double sampling_probability):
    """Return the Handle of a mechanism on a Poisson sample."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = base.context
    check(
        prv_mechanism_poisson_subsampled(base.pointer, sampling_probability, &handle.pointer)
    )
    return handle


def composed(handles, counts):
    """Return the Handle of several mechanisms on the same records, from Handles and counts."""
    cdef Handle handle = Handle.__new__(Handle)
    cdef size_t length = len(handles), i
    cdef prv_step *steps = <prv_step *>PyMem_Malloc(max(length, 1) * sizeof(prv_step))
    if steps == NULL:
        raise MemoryError
    try:
        handle.context = tuple((<Handle?>part).context for part in handles)
        for i in range(length):
            steps[i].mechanism = (<Handle>handles[i]).pointer
            steps[i].count = counts[i]
        check(prv_mechanism_composed(steps, length, &handle.pointer))
    finally:
        PyMem_Free(steps)
    return handle


def random_allocation(Handle base not None, uint64_t batches, uint64_t selected=1):
    """Return the Handle of a mechanism on batches, of which each record is in some at random."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = base.context
    check(prv_mechanism_random_selection(base.pointer, batches, selected, &handle.pointer))
    return handle


def subsampled_without_replacement(Handle base not None, double sampling_probability):
    """Return the Handle of a mechanism on a sample of fixed size."""
    cdef Handle handle = Handle.__new__(Handle)
    handle.context = base.context
    check(
        prv_mechanism_subsampled_without_replacement(
            base.pointer, sampling_probability, &handle.pointer
        )
    )
    return handle


def has_neighbors(Handle handle not None, bint replaced):
    """Return whether a dominating pair is known where records are replaced, or else added."""
    cdef prv_status status = prv_mechanism_check_neighbors(
        handle.pointer, PRV_REPLACE_ONE if replaced else PRV_ADD_OR_REMOVE
    )
    return status == PRV_OK


cdef int ask_cdfs(
    void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p
) except -1 with gil:
    if PyErr_Occurred():  # an earlier callback of this query has failed: C has only to stop
        return -1
    if length == 0:
        return 0
    points = array_of(losses, length)
    values_q = values_at((<tuple>context)[0], points.copy(), "cdf_q")
    values_p = values_at((<tuple>context)[1], points.copy(), "cdf_p")
    check_cdf("cdf_q", points, values_q, (<tuple>context)[2])
    check_cdf("cdf_p", points, values_p)
    check_cdf_pair(points, values_q, values_p)
    copy_out(values_q, cdf_q)
    copy_out(values_p, cdf_p)
    return 0


cdef int ask_tails(
    void *context,
    int is_reversed,
    const double *losses,
    size_t length,
    double *tail_q,
    double *tail_p,
    double *scaled_p,
    double *error,
) except -1 with gil:
    if PyErr_Occurred():
        return -1
    values_q, values_p, scaled, told = (<tuple>context)[0](
        bool(is_reversed), array_of(losses, length)
    )
    copy_out(values_q, tail_q)
    copy_out(values_p, tail_p)
    copy_out(scaled, scaled_p)
    error[0] = told
    return 0


cdef int ask_curve(
    void *context, const double *epsilons, size_t length, double *deltas
) except -1 with gil:
    if PyErr_Occurred():
        return -1
    if length == 0:
        return 0
    points = array_of(epsilons, length)
    values = values_at((<tuple>context)[0], points.copy(), "delta")
    check_curve("delta", points, values, (<tuple>context)[1])
    copy_out(values, deltas)
    return 0


cdef object array_of(const double *values, size_t length):
    array = np.empty(length)
    cdef double[::1] view = array
    memcpy(&view[0], values, length * sizeof(double))
    return array


cdef object values_at(object function, object points, str name):
    values = np.asarray(function(points))
    if values.dtype.kind not in "fiu":
        raise TypeError(
            f"{name} must return an array of real numbers, got dtype {values.dtype} "
            f"from {function!r}"
        )
    if values.shape != points.shape:
        raise ValueError(
            f"{name} is called with a float64 array and must return one of the same shape, "
            f"{points.shape}, got shape {values.shape} from {function!r}"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


cdef int copy_out(const double[::1] values, double *target) except -1:
    memcpy(target, &values[0], values.shape[0] * sizeof(double))
    return 0
