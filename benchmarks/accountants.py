"""One way to ask every implementation for epsilon of the Poisson-subsampled Gaussian.

An accountant is called as ``epsilon(noise_multiplier, sampling_probability, steps, delta, width)``
and returns ``(lower, estimate, upper)`` in nats; `width` is the ``upper - lower`` asked for.
"""

import importlib
import math

DELTA_ERROR_SHARE = 1e-3  # of delta, for the accountants that take an error of delta as well


def accountant(implementation):
    """Find the accountant called `implementation`.

    Raises
    ------
    NotImplementedError
        Its package is not installed, or not built; asv takes this, in a set-up, as "skip".
    """
    package, epsilon = ACCOUNTANTS[implementation]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] != package:
            raise
        raise NotImplementedError(f"{implementation} is left out: {error}") from error
    return epsilon


def prvcore_epsilon(noise_multiplier, sampling_probability, steps, delta, width):
    """Ask prvcore, for the larger of the 'add' and 'remove' directions."""
    import prvcore

    step = prvcore.PoissonSubsampledGaussian(
        noise_multiplier=noise_multiplier, sampling_probability=sampling_probability
    )
    return tuple(prvcore.eps_from_delta(step, delta, counts=steps, eps_error=width))


def prv_accountant_epsilon(
    noise_multiplier, sampling_probability, steps, delta, width, delta_error=None
):
    """Ask prv-accountant, whose error is half a width, for the 'remove' direction."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    step = PoissonSubsampledGaussianMechanism(
        sampling_probability=sampling_probability, noise_multiplier=noise_multiplier
    )
    return PRVAccountant(
        prvs=[step],
        max_self_compositions=[steps],
        eps_error=width / 2,
        delta_error=delta * DELTA_ERROR_SHARE if delta_error is None else delta_error,
    ).compute_epsilon(delta, [steps])


def dp_accounting_epsilon(
    noise_multiplier,
    sampling_probability,
    steps,
    delta,
    width=None,  # noqa: ARG001
    interval=1e-4,
):
    """Ask dp-accounting for its upper bound, the only answer it has.

    It takes no width: `width` is ignored and `interval`, its mesh, is its default.
    """
    from dp_accounting.pld import privacy_loss_distribution

    step = privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier,
        sampling_prob=sampling_probability,
        value_discretization_interval=interval,
    )
    upper = step.self_compose(steps).get_epsilon_for_delta(delta)
    return math.nan, upper, upper


def reference_epsilon(noise_multiplier, sampling_probability, steps, delta, width):
    """Ask the paper's algorithm in plain numpy, for the 'remove' direction."""
    from .reference import SubsampledGaussian, epsilon_bounds

    step = SubsampledGaussian(noise_multiplier, sampling_probability)
    return epsilon_bounds([step], [steps], delta, width / 2, delta * DELTA_ERROR_SHARE)


ACCOUNTANTS = {
    "prvcore": ("prvcore", prvcore_epsilon),
    "prv_accountant": ("prv_accountant", prv_accountant_epsilon),
    "dp_accounting": ("dp_accounting", dp_accounting_epsilon),
    "reference": ("numpy", reference_epsilon),
}
