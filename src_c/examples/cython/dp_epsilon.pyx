"""Epsilon of DP-SGD, without Python between the steps."""

from operator import index

from prvcore cimport (
    PRV_OK,
    PRV_REMOVE,
    prv_bounds,
    prv_epsilon,
    prv_mechanism,
    prv_mechanism_free,
    prv_mechanism_gaussian,
    prv_mechanism_poisson_subsampled,
    prv_options,
    prv_options_default,
    prv_status,
    prv_status_message,
    prv_step,
)


cdef prv_status ask(
    double noise_multiplier,
    double sampling_probability,
    unsigned long long steps,
    double delta,
    prv_bounds *bounds,
) noexcept nogil:
    cdef prv_mechanism *gaussian = NULL
    cdef prv_mechanism *sampled = NULL
    cdef prv_step step
    cdef prv_options options = prv_options_default()
    options.neighbors = PRV_REMOVE
    cdef prv_status status = prv_mechanism_gaussian(noise_multiplier, &gaussian)
    if status == PRV_OK:
        status = prv_mechanism_poisson_subsampled(gaussian, sampling_probability, &sampled)
    if status == PRV_OK:
        step.mechanism, step.count = sampled, steps
        status = prv_epsilon(&step, 1, &options, &delta, 1, bounds, NULL)
    prv_mechanism_free(sampled)
    prv_mechanism_free(gaussian)
    return status


def epsilon(double noise_multiplier, double sampling_probability, steps, double delta):
    """Return the bounds (lower, upper) of epsilon when one record is removed."""
    cdef unsigned long long count = index(steps)  # a float would be cut to fewer steps
    cdef prv_bounds bounds
    cdef prv_status status
    with nogil:
        status = ask(noise_multiplier, sampling_probability, count, delta, &bounds)
    if status != PRV_OK:
        raise ValueError(prv_status_message(status).decode("ascii"))
    return bounds.lower, bounds.upper
