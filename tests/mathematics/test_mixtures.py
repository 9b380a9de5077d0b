"""Mixtures of Gaussians, and the mechanisms that are such, against values from mpmath."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import prvcore as prv

TIGHT = 1e-3  # nats
PAIRS = [
    (1.0, [0.0, 1.0, 2.0], [0.9, 0.09, 0.01]),
    (0.5, [3.0, 1.0], [0.5, 0.5]),
    (3.0, [0.0, 0.5, 7.0], [1.0 - 1e-3 - 2.0**-30, 1e-3, 2.0**-30]),
    (20.0, [0.0, 1.0, 0.25], [0.25, 0.5, 0.25]),
]


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(50):
        yield


class Pair:
    """N(0, 1) against sum_i w_i N(c_i, 1), and its reverse for 'add'."""

    def __init__(self, noise, sensitivities, probabilities, direction):
        total = sum(mpf(p) for p in probabilities)
        self.q = [
            (mpf(c) / mpf(noise), mpf(p) / total)
            for c, p in zip(sensitivities, probabilities, strict=True)
        ]
        self.p = [(mpf(0), mpf(1))]
        self.add = direction == "add"

    def loss(self, z):
        """Return the loss of outcome z with the mixture first."""
        return mpmath.log(sum(w * mpmath.exp(c * (z - c / 2)) for c, w in self.q))

    def outcome(self, loss):
        low, high = mpf(-100), max(c for c, _ in self.q) + 100
        if self.loss(low) >= loss:
            return low
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.loss(middle) < loss else (low, middle)
        return low

    def delta(self, epsilon):
        """Return the exact delta of one step."""
        epsilon = mpf(epsilon)
        z = self.outcome(-epsilon if self.add else epsilon)
        if self.add:
            z, sign, first, second = -z, -1, self.p, self.q
        else:
            sign, first, second = 1, self.q, self.p
        tails = [
            sum(w * mpmath.erfc((z - sign * c) / mpmath.sqrt(2)) / 2 for c, w in law)
            for law in (first, second)
        ]
        return max(tails[0] - mpmath.exp(epsilon) * tails[1], mpf(0))


def delta_of_two_steps(noise, sensitivities, probabilities, epsilon, direction):
    """Return delta by quadrature over the outcome of the first step, to about 1e-7."""
    from scipy.special import ndtr

    centers = np.array(sensitivities)[:, None] / noise
    weights = np.array(probabilities)[:, None]
    z = np.linspace(-12.0, centers.max() + 12.0, 400_001)
    mixture = weights * np.exp(-0.5 * (z - centers) ** 2) / math.sqrt(2.0 * math.pi)
    loss = np.log((weights * np.exp(centers * (z - 0.5 * centers))).sum(axis=0))
    add = direction == "add"
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) if add else mixture.sum(axis=0)
    rest = epsilon + loss if add else epsilon - loss
    # outcomes of the second step above which, or for 'add' below which, its loss is above the rest
    edge = np.interp(-rest if add else rest, loss, z, left=-100.0, right=100.0)
    if add:
        first, second = ndtr(edge), (weights * ndtr(edge - centers)).sum(axis=0)
    else:
        first, second = (weights * ndtr(centers - edge)).sum(axis=0), ndtr(-edge)
    return np.sum(density * (first - np.exp(rest) * second)) * (z[1] - z[0])


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.02, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_one_step(pair, epsilon, direction):
    truth = Pair(*pair, direction).delta(epsilon)
    curve = prv.compose(prv.MixtureOfGaussians(*pair), neighbors=direction, eps_error=0.01)
    lower, _, upper = curve.delta(epsilon)
    # epsilon 0 and losses of their own size: the slope turns an ulp of either into this
    assert lower <= truth * (1 + mpf(1e-12))
    assert truth * (1 - mpf(1e-12)) <= upper
    if truth > 1e-250:
        assert lower > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("engine", ["convolution", "spectrum"])
@pytest.mark.parametrize(
    ("pair", "epsilon"), [(PAIRS[0], 0.1), (PAIRS[1], 2.0), (PAIRS[1], 6.0)], ids=str
)
def test_two_steps(pair, epsilon, engine, direction):
    truth = delta_of_two_steps(*pair, epsilon, direction)
    curve = prv.compose(
        prv.MixtureOfGaussians(*pair), 2, neighbors=direction, engine=engine, eps_error=TIGHT
    )
    lower, _, upper = curve.delta(epsilon)
    assert lower <= truth * (1.0 + 1e-6)
    assert truth * (1.0 - 1e-6) <= upper
    lower, _, upper = curve.epsilon(truth)
    assert upper - lower <= TIGHT
    assert lower - 1e-5 <= epsilon <= upper + 1e-5


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("count", [1, 30, 1000])
@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-200])
def test_two_components_are_the_subsampled_gaussian(count, delta, direction):
    p = 2.0**-7
    options = {"neighbors": direction, "eps_error": 0.01}
    mixture = prv.MixtureOfGaussians(1.5, [0.0, 1.0], [1.0 - p, p])
    plain = prv.compose(prv.PoissonSubsampledGaussian(1.5, p), count, **options).epsilon(delta)
    for same in (
        mixture,
        prv.GroupPoissonSubsampledGaussian(1.5, p, group_size=1),
        prv.PoissonSubsampled(prv.MixtureOfGaussians(1.5, [1.0], [1.0]), p),
    ):
        lower, _, upper = prv.compose(same, count, **options).epsilon(delta)
        assert upper - lower <= 0.01
        assert lower <= plain.upper
        assert plain.lower <= upper


def test_a_group_is_a_binomial_mixture():
    p, size = 0.125, 5
    weights = [math.comb(size, k) * p**k * (1.0 - p) ** (size - k) for k in range(size + 1)]
    mixture = prv.compose(prv.MixtureOfGaussians(3.0, range(size + 1), weights), 50)
    group = prv.compose(prv.GroupPoissonSubsampledGaussian(3.0, p, size), 50)
    a, b = mixture.epsilon(1e-9), group.epsilon(1e-9)
    assert a.lower <= b.upper
    assert b.lower <= a.upper


def test_a_group_always_sampled_is_a_larger_sensitivity():
    whole = prv.compose(prv.GroupPoissonSubsampledGaussian(6.0, 1.0, 3), 10)
    one = prv.compose(prv.Gaussian(2.0), 10)
    a, b = whole.epsilon(1e-6), one.epsilon(1e-6)
    # Of the group, 3 / 6 is known as a rounded product.
    assert a.lower <= b.lower <= b.upper <= a.upper
    assert a.upper - a.lower <= 1e-13 * a.upper
    none = prv.compose(prv.GroupPoissonSubsampledGaussian(6.0, 0.0, 3), 10)
    assert none.epsilon(1e-6).upper == 0.0


def test_larger_groups_have_less_privacy():
    epsilons = [
        prv.compose(prv.GroupPoissonSubsampledGaussian(2.0, 0.01, size), 300).epsilon(1e-6)
        for size in (1, 2, 8, 40)
    ]
    for small, large in itertools.pairwise(epsilons):
        assert small.upper < large.lower


def test_no_noise_tells_all_but_the_unchanged_apart():
    curve = prv.compose(prv.MixtureOfGaussians(0.0, [0.0, 1.0], [0.75, 0.25]))
    assert curve.epsilon(0.2).lower == math.inf
    # with probability 1/4 for sure; else the loss is log(3/4) or its negative
    lower, _, upper = curve.delta(0.0)
    assert lower <= 0.25 * (1 + 1e-12)
    assert upper >= 0.25 * (1 - 1e-12)
    same = prv.compose(prv.MixtureOfGaussians(0.0, [0.0], [1.0]))
    assert same.epsilon(1e-9).upper == 0.0


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_mean_matching_agrees(pair, direction):
    mechanism = prv.MixtureOfGaussians(*pair)
    exact = prv.compose(mechanism, 20, neighbors=direction, eps_error=0.01).epsilon(1e-4)
    lower, estimate, upper = prv.compose(
        mechanism, 20, neighbors=direction, discretization="mean-matching", eps_error=0.2
    ).epsilon(1e-4)
    assert lower <= exact.upper
    assert exact.lower <= upper
    assert estimate == pytest.approx(exact.estimate, abs=0.1)


@pytest.mark.parametrize(
    ("sensitivities", "probabilities", "message"),
    [
        ([1.0, 2.0], [1.0], "one entry for each of sensitivities"),
        ([-1.0], [1.0], "sensitivities must be >= 0, got -1.0 at index 0"),
        ([math.nan], [1.0], "sensitivities must be finite"),
        ([1.0, 2.0], [1.5, -0.5], "probabilities must be >= 0"),
        ([1.0], [0.5], "probabilities must sum to 1 within 1e-9, got a sum of 0.5"),
        ([1.0] * 4097, [1.0 / 4097] * 4097, "at most 4096 entries, got 4097"),
    ],
)
def test_bad_mixtures_are_refused(sensitivities, probabilities, message):
    with pytest.raises(ValueError, match=message):
        prv.MixtureOfGaussians(1.0, sensitivities, probabilities)


def test_sensitivities_too_far_apart_are_refused():
    with pytest.raises(ValueError, match="1e150"):
        prv.compose(prv.MixtureOfGaussians(1e-10, [1.0, 1e200], [0.5, 0.5]))


@pytest.mark.parametrize("size", [0, 4096])
def test_bad_group_sizes_are_refused(size):
    with pytest.raises(ValueError, match=r"group_size must be in \[1, 4095\]"):
        prv.GroupPoissonSubsampledGaussian(1.0, 0.1, size)
