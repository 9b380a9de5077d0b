"""Random mechanisms of each kind."""

import math

import numpy as np
from scipy.special import ndtr

import prvcore as prv

from .parameters import draw_count, draw_noise, draw_probability, log_uniform, upto


class GaussianCDF:
    """A distribution function of the loss of N(0, s^2) against N(1, s^2), under Q or P."""

    def __init__(self, noise, sign):
        self.noise, self.sign, self.like = noise, sign, prv.Gaussian(noise)

    def __call__(self, losses):
        return ndtr(losses * self.noise - self.sign * 0.5 / self.noise)

    def __repr__(self):
        return f"GaussianCDF({self.noise!r}, {self.sign!r})"


class ResponseCurve:
    """The privacy curve of PureDP(single), a chain of segments in e^epsilon."""

    def __init__(self, single):
        self.single, self.like = single, prv.PureDP(single)

    def __call__(self, epsilons):
        t = np.minimum(epsilons, self.single)
        inside = -np.expm1(t - self.single) / (1.0 + math.exp(-self.single))
        return np.where(epsilons < -self.single, -np.expm1(np.minimum(epsilons, 0.0)), inside)

    def __repr__(self):
        return f"ResponseCurve({self.single!r})"


def draw_mechanism(rng, kind, count):
    p = draw_probability(rng)
    if kind in ("sampled gaussian", "replaced poisson"):
        return prv.PoissonSubsampledGaussian(draw_noise_of_samples(rng, count, p), p)
    if kind == "truncated":
        size = int(log_uniform(rng, 2, 1000))
        spread = math.sqrt(size * p * (1.0 - p)) + 0.5
        batch = max(1, min(size, round(size * p + spread * rng.uniform(-3.0, 8.0))))
        noise = draw_noise_of_samples(rng, count, p)
        return prv.TruncatedPoissonSubsampledGaussian(noise, p, size, batch)
    if kind == "replaced":
        return draw_mechanism(rng, str(rng.choice(NOT_SAMPLED)), count)
    if kind == "fixed size":
        if rng.random() < 0.5:
            base = prv.Gaussian(draw_noise_of_samples(rng, count, p))
        else:
            base = draw_mechanism(rng, str(rng.choice(NOT_SAMPLED)), max(1, int(count * p * p)))
        return prv.SubsampledWithoutReplacement(base, p)
    if kind == "mixture":
        noise = max(0.2, p * math.sqrt(count) * log_uniform(rng, 0.3, 30))
        if rng.random() < 0.5:
            return prv.GroupPoissonSubsampledGaussian(noise, p, int(rng.integers(2, 6)))
        size = int(rng.integers(2, 5))
        weights = np.array([1.0 - p, *(p * rng.dirichlet(np.ones(size - 1)))])
        centers = [0.0, *np.cumsum(rng.uniform(0.1, 1.5, size - 1))]
        return prv.MixtureOfGaussians(noise, centers, weights)
    if kind in ("gaussian", "very many gaussian"):
        return prv.Gaussian(draw_noise(rng, count))
    if kind == "laplace":
        return prv.Laplace(draw_noise(rng, count), float(rng.choice([1.0, 0.3, 7.0])))
    if kind == "sampled laplace":
        return prv.PoissonSubsampled(prv.Laplace(draw_noise(rng, count * p)), p)
    if kind == "pure":
        return prv.PureDP(1.0 / draw_noise(rng, count))
    if kind == "bounded range":
        return prv.BoundedRange(1.0 / draw_noise(rng, count))
    if kind == "randomized response":
        return prv.RandomizedResponse(1.0 / draw_noise(rng, count), upto(rng, 1e6))
    if kind == "approximate":
        return prv.ApproximateDP(1.0 / draw_noise(rng, count), log_uniform(rng, 1e-15, 1e-2))
    if kind == "discrete gaussian":
        return prv.DiscreteGaussian(log_uniform(rng, 0.2, 30), int(rng.integers(1, 4)))
    if kind == "discrete laplace":
        return prv.DiscreteLaplace(draw_noise(rng, count), int(rng.integers(1, 6)))
    if kind == "table":
        return draw_table(rng, int(rng.integers(1, 6)))
    if kind == "own cdfs":
        noise = draw_noise(rng, count)
        return prv.FromCDFs(GaussianCDF(noise, 1), GaussianCDF(noise, -1))
    if kind == "own curve":
        return prv.FromPrivacyCurve(ResponseCurve(1.0 / draw_noise(rng, count)))
    if kind == "sampled approximate":
        base = prv.ApproximateDP(1.0 / draw_noise(rng, count * p), log_uniform(rng, 1e-15, 1e-2))
    elif kind == "sampled table":
        base = draw_table(rng, int(rng.integers(1, 4)))
    else:
        base = [
            prv.PureDP(1.0 / draw_noise(rng, 1)),
            prv.DiscreteLaplace(draw_noise(rng, 1), 1),
            prv.DiscreteLaplace(draw_noise(rng, 1), 2),
            prv.DiscreteGaussian(log_uniform(rng, 0.2, 5.0), 1),
        ][rng.integers(4)]
    return prv.PoissonSubsampled(base, p)


NOT_SAMPLED = (
    *("gaussian", "laplace", "pure", "approximate", "bounded range", "randomized response"),
    *("discrete gaussian", "discrete laplace"),
)


def draw_noise_of_samples(rng, count, p):
    if rng.random() < 0.6:  # where the answer is neither 0 nor huge
        return max(0.2, min(200.0, p * math.sqrt(count) * log_uniform(rng, 0.3, 10)))
    return log_uniform(rng, 0.2, 200)


def draw_table(rng, size):
    """Return a table, its losses moved up until P has no more mass than 1."""
    gaps = np.exp(rng.uniform(math.log(1e-4), math.log(2.0), size))
    masses = np.exp(rng.uniform(math.log(1e-9), 0.0, size))
    infinite = float(rng.choice([0.0, 1e-9, 1e-30]))
    masses *= (1.0 - infinite) / masses.sum()
    losses = np.cumsum(gaps)
    losses += np.log((masses * np.exp(-losses)).sum()) + float(rng.choice([1e-7, 0.1]))
    return prv.FromTable(losses, masses, infinite)


def draw_smooth_step(rng):
    kinds = ["sampled gaussian", "mixture", "gaussian", "laplace", "pure", "bounded range"]
    kind = str(rng.choice(kinds, p=[0.5, 0.15, 0.15, 0.1, 0.05, 0.05]))
    count = draw_count(rng, most=1e5)
    return draw_for_one_record(rng, kind, count), count


def draw_for_one_record(rng, kind, count):
    """Return a mechanism that composes with others: groups do with groups of their size alone."""
    while True:
        mechanism = draw_mechanism(rng, kind, count)
        if not isinstance(mechanism, prv.GroupPoissonSubsampledGaussian):
            return mechanism


def draw_replaced_step(rng):
    kinds = ["replaced poisson", "fixed size", "truncated", "gaussian", "bounded range"]
    kind = str(rng.choice(kinds))
    count = draw_count(rng, kind, 1e4)
    return draw_mechanism(rng, kind, count), count


def draw_discrete_step(rng):
    kinds = ["pure", "approximate", "discrete laplace", "sampled approximate", "table", "own curve"]
    kind = str(rng.choice(kinds))
    count = int(log_uniform(rng, 1, 4 if kind in ("table", "sampled approximate") else 20))
    return draw_mechanism(rng, kind, count), count


def draw_finite_kind(rng):
    """Return a kind of which the oracle composes many."""
    kinds = ("sampled gaussian", "gaussian", "mixture", "laplace", "pure", "approximate", "table")
    more = ("sampled laplace", "sampled discrete", "discrete laplace", "sampled table", "own cdfs")
    return str(rng.choice([*kinds, *more]))
