"""From a mechanism of prvcore, of which only the parameters are read, to the law of its loss.

Where a record is replaced, noise has twice the sensitivity to one that is added or removed; what
else has a pair for that is written down in `replaced`.
"""

import math

import numpy as np

from .batches import choice, truncation
from .folded import FoldedLoss
from .laws import (
    FAR,
    LONG,
    DiscreteBase,
    GaussianMixtureLoss,
    GaussianNoise,
    LaplaceNoise,
    Range,
    SampledGaussian,
)


def law_of(mechanism, direction):
    """Return the law of a mechanism's loss for 'add', 'remove' or 'replace-one'."""
    if direction == "replace-one":
        return replaced(mechanism)
    name = type(mechanism).__name__
    if name == "MixtureOfGaussians":
        weights = mechanism.probabilities.astype(LONG)
        centers = mechanism.sensitivities.astype(LONG)
        noise = LONG(mechanism.noise_multiplier)
        return GaussianMixtureLoss(noise, centers, weights / weights.sum(), direction)
    if name == "GroupPoissonSubsampledGaussian":
        p, size = LONG(mechanism.sampling_probability), mechanism.group_size
        centers = np.arange(size + 1).astype(LONG)
        ways = np.array([LONG(math.comb(size, i)) for i in range(size + 1)])
        weights = ways * p**centers * (1 - p) ** (size - centers)
        return GaussianMixtureLoss(LONG(mechanism.noise_multiplier), centers, weights, direction)
    if name == "TruncatedPoissonSubsampledGaussian":
        never, cut, kept = truncation(mechanism)
        noise, p = mechanism.noise_multiplier, mechanism.sampling_probability
        return choice(
            (never, lambda: GaussianNoise(noise).sampled(p, direction)),
            (cut, lambda: SampledGaussian(GaussianNoise(noise / 2), kept, direction)),
        )
    base, probability = split(mechanism)
    return base.sampled(probability, direction)


def replaced(mechanism):
    """Return the law of a mechanism's loss where one record is in the place of another."""
    name = type(mechanism).__name__
    if name == "SubsampledWithoutReplacement":
        return _fixed_size(split(mechanism.mechanism, 2)[0], mechanism.sampling_probability)
    if name == "TruncatedPoissonSubsampledGaussian":
        never, cut, kept = truncation(mechanism)
        noise, p = mechanism.noise_multiplier, mechanism.sampling_probability
        return choice(
            (never, lambda: _mirrored(noise, p)),
            (cut, lambda: _fixed_size(GaussianNoise(noise / 2), kept)),
        )
    base, probability = split(mechanism, 2)
    if probability == 1.0:
        return base.sampled(1.0, "remove")
    if not isinstance(base, GaussianNoise):
        raise NotImplementedError(name)
    return _mirrored(2 * base.noise, probability)


def _mirrored(noise, probability):
    """Return the law of (1-p) N(0, s^2) + p N(1, s^2) against (1-p) N(0, s^2) + p N(-1, s^2)."""
    p = LONG(probability)
    if probability == 1.0:
        return GaussianNoise(noise / 2).sampled(1.0, "remove")
    centers, weights = np.array([LONG(0), LONG(1)]), np.array([1 - p, p])
    return GaussianMixtureLoss(LONG(noise), centers, weights, "replace-one")


def _fixed_size(base, probability):
    if probability == 1.0:
        return base.sampled(1.0, "remove")
    if isinstance(base, DiscreteBase):
        return base.folded(probability)
    return FoldedLoss(base, probability)


def split(mechanism, times=1):
    """Return the mechanism without its subsampling, and the sampling probability.

    Noise gets `times` the sensitivity.
    """
    name = type(mechanism).__name__
    if name in ("FromCDFs", "FromPrivacyCurve"):  # own functions say what they are like
        function = mechanism.cdf_q if name == "FromCDFs" else mechanism.delta
        return split(function.like)
    if name == "PoissonSubsampledGaussian":
        return GaussianNoise(mechanism.noise_multiplier / times), mechanism.sampling_probability
    if name == "PoissonSubsampled":
        base, probability = split(mechanism.mechanism, times)
        if probability != 1.0:
            raise NotImplementedError("a sample of a sample")
        return base, mechanism.sampling_probability
    if name == "Gaussian":
        return GaussianNoise(mechanism.noise_multiplier / times), 1.0
    if name == "Laplace":
        return LaplaceNoise(mechanism.scale, times * LONG(mechanism.sensitivity)), 1.0
    if name == "BoundedRange":
        return Range(mechanism.epsilon), 1.0
    return _atoms_of(mechanism, name, times), 1.0


def _atoms_of(mechanism, name, times):
    if name in ("PureDP", "ApproximateDP"):
        epsilon, delta = LONG(mechanism.epsilon), LONG(getattr(mechanism, "delta", 0.0))
        low, high = -epsilon - np.log1p(np.exp(-epsilon)), -np.log1p(np.exp(-epsilon))
        with np.errstate(divide="ignore"):
            rest, one = np.log1p(-delta), np.log(delta)
        nothing = LONG(-np.inf)
        log_q = np.array([one, high + rest, low + rest, nothing])
        losses = np.array([LONG(np.inf), epsilon, -epsilon, nothing])
        return DiscreteBase(log_q, log_q[::-1], losses)
    if name == "RandomizedResponse":
        epsilon, others = LONG(mechanism.epsilon), LONG(mechanism.categories - 1)
        high = -np.log1p(others * np.exp(-epsilon))
        with np.errstate(divide="ignore"):
            log_q = np.array([high, high - epsilon + np.log(others - 1), high - epsilon])
        return DiscreteBase(log_q, log_q[::-1], np.array([epsilon, LONG(0), -epsilon]))
    if name == "DiscreteLaplace":
        s, b = times * mechanism.sensitivity, LONG(mechanism.scale)
        x = np.arange(s + 1).astype(LONG)
        tail = -np.log1p(np.exp(-1 / b))
        log_q = tail + np.log(-np.expm1(-1 / b)) - (s - x) / b
        log_q[0], log_q[-1] = tail - s / b, tail
        return DiscreteBase(log_q, log_q[::-1], (2 * x - s) / b)
    if name == "DiscreteGaussian":
        s, sigma = times * mechanism.sensitivity, LONG(mechanism.scale)
        reach = int(FAR * float(sigma)) + 2
        x = np.arange(-reach, s + reach + 1).astype(LONG)
        total = np.exp(-(np.arange(-reach, reach + 1).astype(LONG) ** 2) / (2 * sigma**2)).sum()
        log_q = -((x - s) ** 2) / (2 * sigma**2) - np.log(total)
        log_p = -(x**2) / (2 * sigma**2) - np.log(total)
        return DiscreteBase(log_q, log_p, s * (2 * x - s) / (2 * sigma**2))
    if name == "FromTable":
        losses, masses = mechanism.losses.astype(LONG), mechanism.probabilities.astype(LONG)
        infinite = LONG(mechanism.mass_at_infinity)
        total = masses.sum() + infinite
        masses, infinite = masses / total, infinite / total
        only_p = max(1 - (masses * np.exp(-losses)).sum(), LONG(0))
        with np.errstate(divide="ignore"):
            log_q = np.log(np.array([*masses, infinite, LONG(0)]))
            log_p = np.log(np.array([*(masses * np.exp(-losses)), LONG(0), only_p]))
        return DiscreteBase(log_q, log_p, np.array([*losses, LONG(np.inf), LONG(-np.inf)]))
    raise NotImplementedError(name)
