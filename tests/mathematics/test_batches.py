"""Truncated Poisson batches and shuffled ones, against exact laws of small cases."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import normal_cdf

NEIGHBORS = ["remove", "add", "replace-one"]


def overlap(a, b):
    return a.lower <= b.upper and b.lower <= a.upper


def contains(bounds, truth, error=1e-9):
    return bounds.lower <= truth * (1.0 + error) and truth * (1.0 - error) <= bounds.upper


def upper_tail(n, p, k):
    """Return P(X >= k), X binomial, exactly but for one rounding."""
    p = Fraction(p)
    return float(sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)))


def hockey_stick(first, second, epsilon, noise):
    """Return the delta of two mixtures of N(c, noise^2), as {c: weight}, by a fine sum."""
    low, high = min([*first, *second]) - 12.0 * noise, max([*first, *second]) + 12.0 * noise
    z, step = np.linspace(low, high, 80_001, retstep=True)

    def density(law):
        return sum(
            float(w) * np.exp(-0.5 * ((z - c) / noise) ** 2) for c, w in law.items() if w
        ) / (noise * math.sqrt(2.0 * math.pi))

    return step * np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0).sum()


# ---- Truncated Poisson batches ------------------------------------------------------------------


def delta_of_sampled(noise, p, epsilon, direction):
    law = {0.0: 1.0 - p, 1.0: p}
    if direction == "replace-one":
        return hockey_stick(law, {0.0: 1.0 - p, -1.0: p}, epsilon, noise)
    pair = (law, {0.0: 1.0}) if direction == "remove" else ({0.0: 1.0}, law)
    return hockey_stick(*pair, epsilon, noise)


@pytest.mark.parametrize("direction", NEIGHBORS)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.7])
@pytest.mark.parametrize(("n", "most"), [(40, 3), (40, 8), (40, 15), (4, 1)])
def test_a_step_is_the_mixture_of_two_known_ones(n, most, epsilon, direction):
    noise, p = 1.5, 0.125
    full = upper_tail(n - 1, p, most)
    kept = most * upper_tail(n, p, most + 1) / (n * full)
    cut = "remove" if direction == "replace-one" else direction  # at epsilon >= 0
    truth = (1.0 - full) * delta_of_sampled(noise, p, epsilon, direction)
    truth += full * delta_of_sampled(0.5 * noise, kept, epsilon, cut)
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, n, most)
    curve = prv.compose(step, neighbors=direction, eps_error=1e-3)
    assert contains(curve.delta(epsilon), truth, 1e-6)


def sums(values, p, most):
    """Return the law of the sum of a truncated Poisson sample of the values, exactly."""
    law = {}
    for size in range(len(values) + 1):
        weight = p**size * (1.0 - p) ** (len(values) - size)
        for sample in itertools.combinations(values, size):
            kept = list(itertools.combinations(sample, min(size, most)))
            for part in kept:
                total = float(sum(part))
                law[total] = law.get(total, 0.0) + weight / len(kept)
    return law


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_small_data_sets_are_dominated(most, epsilon):
    noise, p, n = 1.0, 0.4, 4
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, n, most)
    upper = {
        direction: prv.compose(step, neighbors=direction).delta(epsilon).upper
        for direction in NEIGHBORS
    }
    for others in ((0.0, 0.0, 0.0), (-1.0, -1.0, -1.0), (1.0, -1.0, 0.5)):
        laws = {x: sums((x, *others), p, most) for x in (1.0, -1.0, 0.0)}
        without = sums(others, p, most)
        for x, law in laws.items():
            assert hockey_stick(law, without, epsilon, noise) <= upper["remove"] * (1 + 1e-6)
            assert hockey_stick(without, law, epsilon, noise) <= upper["add"] * (1 + 1e-6)
            for y in laws:
                if x != y:
                    found = hockey_stick(law, laws[y], epsilon, noise)
                    assert found <= upper["replace-one"] * (1 + 1e-6)


@pytest.mark.parametrize("direction", NEIGHBORS)
def test_batches_that_are_never_cut_are_poisson_samples(direction):
    poisson = prv.compose(prv.PoissonSubsampledGaussian(1.0, 0.01), 100, neighbors=direction)
    for most in (1000, 10_000):
        step = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 1000, most)
        whole = prv.compose(step, 100, neighbors=direction)
        assert whole.epsilon(1e-6) == poisson.epsilon(1e-6)
    rarely = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 1000, 80)
    assert overlap(
        prv.compose(rarely, 100, neighbors=direction).epsilon(1e-6), poisson.epsilon(1e-6)
    )


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_batches_that_are_hardly_ever_full_have_the_greatest_losses(noise):
    n, p, order = 1000, 0.999, 1e5
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, n, 1)
    curve = prv.compose(step, neighbors="add")
    greatest = -math.log(1.0 - p)
    assert curve.epsilon(0.0).upper >= greatest
    # No other record is in the batch with the probability (1 - p)^999. Then half of the outcomes
    # lie below 0, where losses are at least -log(1 - p + p e^(-1 / (2 noise^2))).
    least = -math.log1p(p * math.expm1(-0.5 / noise**2))
    log_moment = (n - 1) * math.log1p(-p) + (order - 1.0) * least - math.log(2.0)
    assert log_moment / (order - 1.0) <= curve.renyi_divergence(order).upper


@pytest.mark.parametrize("direction", NEIGHBORS)
@pytest.mark.parametrize("delta", [1e-5, 1e-60])
def test_engines_and_mean_matching_agree(direction, delta):
    step = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 10_000, 120)
    a, b = (
        prv.compose(step, 300, neighbors=direction, engine=engine, eps_error=0.02).epsilon(delta)
        for engine in ("convolution", "spectrum")
    )
    assert overlap(a, b)
    assert abs(a.upper - b.upper) <= 0.02
    assert abs(a.lower - b.lower) <= 0.02
    if delta > 1e-10:
        found = prv.compose(
            step, 300, neighbors=direction, discretization="mean-matching", eps_error=0.2
        ).epsilon(delta)
        assert overlap(a, found)
        assert found.estimate == pytest.approx(a.estimate, abs=0.1)


def test_smaller_batches_are_less_private():
    epsilons = [
        prv.compose(prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 10_000, most), 100).epsilon(
            1e-6
        )
        for most in (160, 130, 110, 100)
    ]
    # which is what all data sets have; none are known to have much more with smaller batches
    for larger, smaller in itertools.pairwise(epsilons):
        assert larger.upper < smaller.upper


@pytest.mark.parametrize("neighbors", ["add-or-remove", "replace-one"])
def test_truncated_batches_without_noise(neighbors):
    n, p, most = 100, 0.1, 5
    full = upper_tail(n - 1, p, most)
    kept = most * upper_tail(n, p, most + 1) / (n * full)
    step = prv.TruncatedPoissonSubsampledGaussian(0.0, p, n, most)
    truth = (1.0 - full) * p + full * kept
    assert contains(prv.compose(step, neighbors=neighbors).delta(3.0), truth)


def test_sampling_everything_and_cutting_is_a_sample_of_fixed_size():
    step = prv.TruncatedPoissonSubsampledGaussian(4.0, 1.0, 1000, 100)
    fixed = prv.SubsampledWithoutReplacement(prv.Gaussian(4.0), 0.1)
    a, b = (prv.compose(m, 50, neighbors="replace-one").epsilon(1e-6) for m in (step, fixed))
    assert overlap(a, b)


@pytest.mark.parametrize("name", ["dataset_size", "maximum_batch_size"])
@pytest.mark.parametrize("value", [0, 2**32 + 1])
def test_bad_sizes_are_refused(name, value):
    sizes = {"dataset_size": 10, "maximum_batch_size": 5, name: value}
    with pytest.raises(ValueError, match=rf"{name} must be in \[1, 4294967296\]"):
        prv.TruncatedPoissonSubsampledGaussian(1.0, 0.5, **sizes)


# ---- Shuffled batches ----------------------------------------------------------------------------


def best_cube(noise, batches, epsilon, means):
    """Return the greatest delta of the events that the largest sum is above some x."""
    x = np.linspace(-3.0, 60.0, 200_001)
    above = [
        -np.expm1(
            np.log1p(-normal_cdf(mean / noise - x)) + (batches - 1) * np.log1p(-normal_cdf(-x))
        )
        for mean in means
    ]
    return (above[0] - math.exp(epsilon) * above[1]).max()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize(("noise", "batches"), [(0.5, 1000), (1.0, 10), (2.0, 100_000)])
def test_one_epoch_is_as_good_as_the_best_cube(noise, batches, epsilon):
    for neighbors, means in (("add-or-remove", (2.0, 1.0)), ("replace-one", (2.0, 0.0))):
        found = prv.shuffled_lower_bound(noise, batches, epsilon=epsilon, neighbors=neighbors)
        assert found >= best_cube(noise, batches, epsilon, means) * (1.0 - 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("noise", [0.7, 2.0])
@pytest.mark.parametrize(("neighbors", "mean"), [("add-or-remove", 1.0), ("replace-one", 0.0)])
def test_two_batches_have_at_least_that(noise, epsilon, neighbors, mean):
    side, step = np.linspace(-10.0, 10.0 + 2.0 / noise, 2001, retstep=True)
    x, y = side[:, None], side[None, :]

    def density(m):
        one = np.exp(-0.5 * ((x - m / noise) ** 2 + y**2))
        other = np.exp(-0.5 * (x**2 + (y - m / noise) ** 2))
        return (one + other) / (4.0 * math.pi)

    q, p = density(2.0), density(mean)
    truth = max(
        step**2 * np.maximum(a - math.exp(epsilon) * b, 0.0).sum() for a, b in ((q, p), (p, q))
    )
    found = prv.shuffled_lower_bound(noise, 2, epsilon=epsilon, neighbors=neighbors)
    assert 0.0 < found <= truth * (1.0 + 1e-6)


@pytest.mark.slow
def test_one_batch_an_epoch_is_nearly_the_gaussian_mechanism():
    for neighbors in ("add-or-remove", "replace-one"):
        whole = prv.compose(prv.Gaussian(3.0), 20, neighbors=neighbors).epsilon(1e-6)
        found = prv.shuffled_lower_bound(3.0, 1, 20, delta=1e-6, neighbors=neighbors)
        assert found <= whole.upper
        assert found == pytest.approx(whole.lower, rel=3e-3)


def test_a_removed_record_that_moves_the_others_changes_two_batches():
    """Records 1, 1, 1, -1 in two batches of two, noise 1: the sums without the last are 2 and 1."""
    epsilon, thresholds = 3.0, np.linspace(-5.0, 15.0, 2001)
    # With it the sums are (0, 2) or (2, 0), each as likely; -2 x + y, of deviation sqrt(5), tells.
    beyond = [normal_cdf((mean - thresholds) / math.sqrt(5.0)) for mean in (2.0, -4.0, -3.0)]
    worst = ((beyond[0] + beyond[1]) / 2 - math.exp(epsilon) * beyond[2]).max()
    stays, moved = (
        prv.delta_from_eps(prv.Gaussian(1.0 / change), epsilon) for change in (1.0, math.sqrt(5.0))
    )
    assert 50.0 * stays.upper < worst <= moved.lower


def test_the_gap_that_was_published():
    # sigma 0.5, 10,000 steps, delta 1e-6 of Chua et al. 2024: far above Poisson sampling's 1.96
    found = prv.shuffled_lower_bound(0.5, 10_000, delta=1e-6)
    known_order = prv.compose(prv.Gaussian(0.5)).epsilon(1e-6)
    poisson = prv.compose(prv.PoissonSubsampledGaussian(0.5, 1e-4), 10_000).epsilon(1e-6)
    assert 10.99 <= found <= known_order.upper
    assert poisson.upper < 2.0


@pytest.mark.slow
def test_epochs_add_up():
    found = prv.shuffled_lower_bound(1.0, 100, 5, delta=[1e-3, 1e-6])
    assert found.shape == (2,)
    assert found[0] < found[1]
    assert prv.shuffled_lower_bound(1.0, 100, 4, delta=1e-6) < found[1]
    assert prv.shuffled_lower_bound(1.0, 100, 0, delta=1e-6) == 0.0


@pytest.mark.parametrize("noise", [0.0, 1e-140, 1e-3, 0.05])
def test_little_noise_hides_little(noise):
    found = prv.shuffled_lower_bound(noise, 100, delta=1e-6)
    assert found >= 290.0
    if noise >= 1e-3:
        assert found < 710.0  # beyond which masses underflow, and the bound is content


def test_bad_arguments_of_the_bound():
    with pytest.raises(TypeError, match="exactly one of delta and epsilon"):
        prv.shuffled_lower_bound(1.0, 10)
    with pytest.raises(ValueError, match="batches must be in"):
        prv.shuffled_lower_bound(1.0, 0, delta=1e-6)
    with pytest.raises(ValueError, match="neighbors must be one of"):
        prv.shuffled_lower_bound(1.0, 10, delta=1e-6, neighbors="add")
    with pytest.raises(ValueError, match="noise_multiplier must be"):
        prv.shuffled_lower_bound(-1.0, 10, delta=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["add-or-remove", "replace-one"])
def test_noise_of_truncated_batches_is_calibrated(neighbors):
    start = prv.TruncatedPoissonSubsampledGaussian(
        noise_multiplier=1.0,
        sampling_probability=0.01,
        dataset_size=10_000,
        maximum_batch_size=120,
    )
    found = prv.calibrate(start, 100, epsilon=1.0, delta=1e-6, neighbors=neighbors)
    ((mechanism, _),) = found.mechanisms
    assert mechanism == dataclasses.replace(start, noise_multiplier=found.value)
    assert prv.compose(mechanism, 100, neighbors=neighbors).epsilon(1e-6).lower <= 1.0
    assert found.bounds.upper <= 1.0
    assert found.next_bounds.upper > 1.0
    assert not found.proven  # no data sets are known to come near the upper bound
