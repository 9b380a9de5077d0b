"""One or more mechanisms of each kind, for tests that hold for all of them."""

import numpy as np

import prvcore as prv


def gaussian_cdf_q(losses):
    """Of the loss of Gaussian(1) under Q, N(1/2, 1)."""
    return normal_cdf(losses - 0.5)


def gaussian_cdf_p(losses):
    """Of the same under P, N(-1/2, 1)."""
    return normal_cdf(losses + 0.5)


def normal_cdf(x):
    from scipy.special import ndtr

    return ndtr(x)


def gaussian_delta(epsilon, mu):
    """Return the exact delta of N(mu, 1) against N(0, 1), rounded to a float at last."""
    import mpmath

    with mpmath.workdps(60):
        epsilon, mu, root = mpmath.mpf(epsilon), mpmath.mpf(mu), mpmath.sqrt(2)
        high = mpmath.erfc((epsilon / mu - mu / 2) / root)
        low = mpmath.erfc((epsilon / mu + mu / 2) / root)
        return float((high - mpmath.exp(epsilon) * low) / 2)


def randomized_response_curve(epsilons):
    """Of PureDP(1): piecewise linear in e^epsilon with corners at -1 and 1."""
    t = np.exp(np.minimum(epsilons, 1.0))
    inside = (np.e - t) / (1.0 + np.e)
    return np.where(epsilons < -1.0, -np.expm1(np.minimum(epsilons, 0.0)), inside)


BUILT_IN = [
    prv.Gaussian(noise_multiplier=2.0),
    prv.Laplace(scale=3.0),
    prv.Laplace(scale=3.0, sensitivity=0.5),
    prv.PureDP(epsilon=0.5),
    prv.BoundedRange(epsilon=0.5),
    prv.ApproximateDP(epsilon=0.5, delta=1e-6),
    prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3),
    prv.PoissonSubsampled(prv.Laplace(scale=1.0), sampling_probability=0.1),
    prv.PoissonSubsampled(prv.ApproximateDP(1.0, 1e-5), sampling_probability=0.1),
    prv.GroupPoissonSubsampledGaussian(2.0, sampling_probability=0.01, group_size=3),
    prv.GroupSubsampledWithoutReplacementGaussian(4.0, 1000, batch_size=10, group_size=3),
    prv.TruncatedPoissonSubsampledGaussian(2.0, 0.01, dataset_size=1000, maximum_batch_size=15),
    prv.MixtureOfGaussians(2.0, sensitivities=[0.0, 1.0, 2.5], probabilities=[0.8, 0.15, 0.05]),
    prv.DiscreteGaussian(scale=5.0),
    prv.DiscreteLaplace(scale=5.0, sensitivity=2),
    prv.NoisyCount(deviation=1.5, centred=False),
    prv.Composed([prv.Gaussian(3.0), (prv.Gaussian(4.0), 2), prv.NoisyCount(2.0, centred=True)]),
    prv.PoissonSubsampled([prv.Gaussian(1.2), prv.NoisyCount(0.8, centred=True)], 0.01),
    prv.PoissonSubsampled([prv.Gaussian(2.0), prv.Laplace(2.0)], 0.1),
    prv.RandomAllocation(prv.Gaussian(2.0), batches=10),
    prv.BallsInBins(prv.Gaussian(2.0), bins=5, epochs=2),
]
OWN = [
    prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p),
    prv.FromTable([-1.0, 1.0], [1.0 / (1.0 + np.e), np.e / (1.0 + np.e)]),
    prv.FromPrivacyCurve(randomized_response_curve),
]
ALL = BUILT_IN + OWN


def name(mechanism):
    """Return a short name for a test's identifier."""
    return f"{type(mechanism).__name__}-{ALL.index(mechanism)}"
