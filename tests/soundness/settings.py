"""Random questions: what is composed, how it is asked, and where."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

import prvcore as prv


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


@dataclass(frozen=True)
class Setting:
    """One question: the epsilon of `steps` at `delta`, and delta near it; `options` for compose."""

    kind: str
    steps: tuple
    delta: float
    options: dict = field(default_factory=dict)
    share: float = 0.97  # of that epsilon, where delta is asked too

    def __repr__(self):
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self.steps)
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"compose([{steps}]{options})"


KINDS = (
    *("sampled gaussian",) * 6,
    "gaussian",
    "very many gaussian",
    *("mixture",) * 2,
    "laplace",
    *("sampled laplace",) * 2,
    "pure",
    "bounded range",
    "randomized response",
    "approximate",
    "sampled approximate",
    "discrete gaussian",
    "discrete laplace",
    *("sampled discrete",) * 2,
    "table",
    "sampled table",
    "own cdfs",
    "own curve",
    *("list",) * 5,
    *("discrete list",) * 2,
    *("truncated",) * 2,
    *("replaced",) * 2,
    "replaced poisson",
    *("fixed size",) * 3,
    *("replaced list",) * 2,
)

REPLACED = ("randomized response", "replaced", "replaced poisson", "fixed size", "replaced list")


def draw(seed, number, kinds=KINDS):
    """Return setting `number` of a seed, of one of the kinds; whatever others were drawn."""
    rng = np.random.default_rng([seed, number])
    kind = kinds[rng.integers(len(kinds))]
    if kind == "list":
        steps = tuple(_smooth_step(rng, 30) for _ in range(rng.integers(2, _upto(rng, 30) + 1)))
    elif kind == "replaced list":
        steps = tuple(_replaced_step(rng) for _ in range(rng.integers(2, 6)))
    elif kind == "discrete list":
        steps = tuple(_discrete_step(rng) for _ in range(rng.integers(2, 6)))
    else:
        count = int(log_uniform(rng, 1e6, 2**53)) if kind == "very many gaussian" else _count(rng)
        steps = ((_mechanism(rng, kind, count), count),)
    share = float(rng.choice([0.97, 0.97, 0.9, 0.5, -0.3]))
    return Setting(kind, steps, _delta(rng), _options(rng, kind), share)


def log_uniform(rng, low, high):
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _upto(rng, most):
    return int(log_uniform(rng, 2, most + 1))


def _noise(rng, count):
    """Return a noise; often one with which so many steps still have some privacy."""
    noise = log_uniform(rng, 0.2, 200)
    return noise * math.sqrt(count) ** float(rng.choice([0.0, 0.5, 1.0]))


def _count(rng, most=1e6):
    return int(log_uniform(rng, 1, 8)) if rng.random() < 0.25 else int(log_uniform(rng, 1, most))


def _probability(rng):
    chance = rng.random()
    if chance < 0.05:
        return 1.0
    if chance < 0.12:
        return 1.0 - log_uniform(rng, 1e-13, 0.1)
    return log_uniform(rng, 1e-7, 1.0)


def _delta(rng):
    if rng.random() < 0.6:
        return log_uniform(rng, 1e-15, 0.9)
    return log_uniform(rng, 1e-200, 1e-15)


def _options(rng, kind):
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    if kind in REPLACED or (kind == "truncated" and rng.random() < 0.4):
        options["neighbors"] = "replace-one"
    engine = str(rng.choice(["auto", "convolution", "spectrum"], p=[0.4, 0.3, 0.3]))
    if engine != "auto":
        options["engine"] = engine
    chance = rng.random()
    if chance < 0.35:
        options["eps_error"] = log_uniform(rng, 1e-4, 3.0)
    elif chance < 0.6:
        options["mesh_size"] = log_uniform(rng, 1e-5, 10.0)
    elif chance < 0.65 and kind != "own curve" and engine != "spectrum":
        options["discretization"] = "mean-matching"
        options["eps_error"] = log_uniform(rng, 1e-2, 3.0)
    return options


def _mechanism(rng, kind, count):
    p = _probability(rng)
    if kind in ("sampled gaussian", "replaced poisson"):
        return prv.PoissonSubsampledGaussian(_noise_of_samples(rng, count, p), p)
    if kind == "truncated":
        size = int(log_uniform(rng, 2, 1e6))
        spread = math.sqrt(size * p * (1.0 - p)) + 0.5
        batch = max(1, min(size, round(size * p + spread * rng.uniform(-3.0, 8.0))))
        noise = _noise_of_samples(rng, count, p)
        return prv.TruncatedPoissonSubsampledGaussian(noise, p, size, batch)
    if kind == "replaced":
        return _mechanism(rng, str(rng.choice(NOT_SAMPLED)), count)
    if kind == "fixed size":
        if rng.random() < 0.5:
            base = prv.Gaussian(_noise_of_samples(rng, count, p))
        else:
            base = _mechanism(rng, str(rng.choice(NOT_SAMPLED)), max(1, int(count * p * p)))
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
        return prv.Gaussian(_noise(rng, count))
    if kind == "laplace":
        return prv.Laplace(_noise(rng, count), float(rng.choice([1.0, 0.3, 7.0])))
    if kind == "sampled laplace":
        return prv.PoissonSubsampled(prv.Laplace(_noise(rng, count * p)), p)
    if kind == "pure":
        return prv.PureDP(1.0 / _noise(rng, count))
    if kind == "bounded range":
        return prv.BoundedRange(1.0 / _noise(rng, count))
    if kind == "randomized response":
        return prv.RandomizedResponse(1.0 / _noise(rng, count), _upto(rng, 1e6))
    if kind == "approximate":
        return prv.ApproximateDP(1.0 / _noise(rng, count), log_uniform(rng, 1e-15, 1e-2))
    if kind == "discrete gaussian":
        return prv.DiscreteGaussian(_noise(rng, 1), int(rng.integers(1, 4)))
    if kind == "discrete laplace":
        return prv.DiscreteLaplace(_noise(rng, count), int(rng.integers(1, 6)))
    if kind == "table":
        return _table(rng, int(rng.integers(1, 6)))
    if kind == "own cdfs":
        noise = _noise(rng, count)
        return prv.FromCDFs(GaussianCDF(noise, 1), GaussianCDF(noise, -1))
    if kind == "own curve":
        return prv.FromPrivacyCurve(ResponseCurve(1.0 / _noise(rng, count)))
    if kind == "sampled approximate":
        base = prv.ApproximateDP(1.0 / _noise(rng, count * p), log_uniform(rng, 1e-15, 1e-2))
    elif kind == "sampled table":
        base = _table(rng, int(rng.integers(1, 4)))
    else:
        base = [
            prv.PureDP(1.0 / _noise(rng, 1)),
            prv.DiscreteLaplace(_noise(rng, 1), 1),
            prv.DiscreteLaplace(_noise(rng, 1), 2),
            prv.DiscreteGaussian(log_uniform(rng, 0.2, 5.0), 1),
        ][rng.integers(4)]
    return prv.PoissonSubsampled(base, p)


NOT_SAMPLED = (
    *("gaussian", "laplace", "pure", "approximate", "bounded range", "randomized response"),
    *("discrete gaussian", "discrete laplace"),
)


def _noise_of_samples(rng, count, p):
    if rng.random() < 0.6:  # where the answer is neither 0 nor huge
        return max(0.2, min(200.0, p * math.sqrt(count) * log_uniform(rng, 0.3, 10)))
    return log_uniform(rng, 0.2, 200)


def _table(rng, size):
    """Return a table, its losses moved up until P has no more mass than 1."""
    gaps = np.exp(rng.uniform(math.log(1e-4), math.log(2.0), size))
    masses = np.exp(rng.uniform(math.log(1e-9), 0.0, size))
    infinite = float(rng.choice([0.0, 1e-9, 1e-30]))
    masses *= (1.0 - infinite) / masses.sum()
    losses = np.cumsum(gaps)
    losses += np.log((masses * np.exp(-losses)).sum()) + float(rng.choice([1e-7, 0.1]))
    return prv.FromTable(losses, masses, infinite)


def _smooth_step(rng, most):
    count = _count(rng, 1e5)
    kind = str(
        rng.choice(
            [
                *("sampled gaussian", "mixture", "gaussian", "laplace", "sampled laplace"),
                *("pure", "bounded range"),
            ],
            p=[0.45, 0.15, 0.1, 0.1, 0.1, 0.05, 0.05],
        )
    )
    mechanism = _mechanism(rng, kind, count)
    while isinstance(
        mechanism, prv.GroupPoissonSubsampledGaussian
    ):  # all others are for one record
        mechanism = _mechanism(rng, kind, count)
    return mechanism, count


def _replaced_step(rng):
    count = _count(rng, 1e4)
    kinds = ["replaced poisson", "fixed size", "truncated", "gaussian", "bounded range"]
    return _mechanism(rng, str(rng.choice(kinds)), count), count


def _discrete_step(rng):
    kinds = ["pure", "approximate", "discrete laplace", "sampled approximate", "table", "own curve"]
    kind = str(rng.choice(kinds))
    count = int(log_uniform(rng, 1, 60))
    return _mechanism(rng, kind, count), count
