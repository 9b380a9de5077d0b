"""Lower bounds are of data sets that exist, and upper ones hold for the worst, adaptive mechanisms.

The truths are optima over mechanisms and data sets, found without prvcore: by recursion over steps
that are chosen by results before, by linear programming, by enumeration.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.optimize import linprog, minimize_scalar

import prvcore as prv

REPLACED = {"neighbors": "replace-one"}


# ---- Bounded range ---------------------------------------------------------------------------


def response(size, place):
    """Return losses and masses under Q of generalized randomized response."""
    below, whole = size - place, -np.expm1(-size)
    high = -np.expm1(-below) / whole
    return np.array([place, -below]), np.array([high, 1.0 - high])


def best_delta(size, epsilon):
    """Return the greatest delta of one step: (sqrt(E) - sqrt(a))^2 / (E - 1) between the ends."""
    epsilon = np.minimum(epsilon, size)
    inside = np.expm1(0.5 * (size - epsilon)) ** 2 * np.exp(epsilon) / np.expm1(size)
    return np.where(epsilon < -size, -np.expm1(epsilon), inside)


def best_of_two(size, epsilon):
    """Return the greatest delta of two steps, the second chosen by what the first released."""
    places = np.linspace(0.0, size, 20_001)[1:-1]
    losses, masses = response(size, places)
    return (masses * best_delta(size, epsilon - losses)).sum(axis=0).max()


def product_delta(size, place, count, epsilon):
    """Return delta of the same response `count` times, without a choice."""
    losses, masses = response(size, place)
    highs = np.arange(count + 1)
    ways = np.array(
        [math.lgamma(count + 1) - math.lgamma(j + 1) - math.lgamma(count - j + 1) for j in highs]
    )
    log_mass = ways + highs * np.log(masses[0]) + (count - highs) * np.log(masses[1])
    loss = highs * losses[0] + (count - highs) * losses[1]
    return -(np.exp(log_mass) * np.expm1(np.minimum(epsilon - loss, 0.0))).sum()


def most_log_moment(size, tilt):
    """Return the greatest log E_Q[e^(tilt L)] of one step, in mpmath, by its derivative."""
    size, tilt = mpf(size), mpf(tilt)

    def log_moment(place):
        below, whole = size - place, 1 - mp.exp(-size)
        high = (1 - mp.exp(-below)) / whole
        return mp.log(high * mp.exp(tilt * place) + (1 - high) * mp.exp(-tilt * below))

    low, high = mpf(0), size
    for _ in range(100):
        third = (high - low) / 3
        if log_moment(low + third) < log_moment(high - third):
            low += third
        else:
            high -= third
    return log_moment(low)


def epsilon_by_moments(size, count, delta):
    """Return the least of Chernoff's bounds, delta <= M e^(-t eps) t^t / (1 + t)^(1 + t).

    The moments are the greatest on a grid of places, and no more than the greatest of all.
    """
    losses, masses = response(size, np.linspace(0.0, size, 4001)[1:-1])
    below = losses[1]

    def bound(tilt):
        # relative to the lower loss, so that nothing overflows
        moments = masses[0] * np.exp(tilt * (losses[0] - below)) + masses[1]
        log_moment = (np.log(moments) + tilt * below).max()
        kernel = tilt * math.log(tilt) - (tilt + 1) * math.log(tilt + 1)
        return (count * log_moment + kernel - math.log(delta)) / tilt

    return min(bound(math.exp(i / 32)) for i in range(-64, 193))


def test_one_step_of_bounded_range_is_tight():
    curve = prv.compose(prv.BoundedRange(1.0))
    assert curve.attained
    for epsilon in (-0.5, 0.1, 0.5, 0.9):
        bounds, truth = curve.delta(epsilon), float(best_delta(1.0, epsilon))
        # The truth is rounded, and the bounds are a few ulps apart.
        assert bounds.lower * (1 - 1e-14) <= truth <= bounds.upper * (1 + 1e-14)
        assert bounds.upper - bounds.lower <= 2e-2 * truth


@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("share", [-0.3, 0.0, 0.25, 0.5, 1.0, 1.7])
def test_two_steps_of_bounded_range_against_the_best_adaptive_ones(size, share):
    truth = best_of_two(size, share * size)
    curve = prv.compose(prv.BoundedRange(size), 2)
    bounds = curve.delta(share * size)
    assert not curve.attained
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.lower >= 0.9 * truth


def test_what_was_found():
    curve = prv.compose(prv.BoundedRange(1.0), 2)
    assert best_of_two(1.0, 0.5) == pytest.approx(0.152452, abs=1e-6)
    assert best_of_two(1.0, 1.0) == pytest.approx(0.057005, abs=1e-6)
    assert curve.delta(0.5).lower <= 0.152452
    assert curve.delta(1.0).lower <= 0.057005


SETTINGS = [(0.1, 1000, 1e-6), (0.5, 40, 1e-6), (0.05, 2000, 1e-8), (1.0, 20, 1e-5), (0.5, 8, 1e-6)]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count", "delta"), SETTINGS)
def test_many_steps_of_bounded_range(size, count, delta):
    bounds = prv.compose(prv.BoundedRange(size), count).epsilon(delta)
    # r-bounded range is r^2 / 8 zero-concentrated DP: the same without the exact moments
    rho = count * size**2 / 8

    def by_zcdp(order):
        return (
            order * rho
            + math.log((order - 1) / order)
            - (math.log(delta) + math.log(order)) / (order - 1)
        )

    of_moments = epsilon_by_moments(size, count, delta)
    assert bounds.upper <= min(by_zcdp(1 + math.exp(i / 64)) for i in range(-100, 400)) * (1 + 1e-4)
    assert bounds.upper <= of_moments * (1 + 1e-8)
    places = np.linspace(0.0, size, 501)[1:-1]
    best = max(product_delta(size, place, count, bounds.lower) for place in places)
    assert best >= 0.98 * delta  # some data sets have that much: grids miss the best place
    assert (
        max(product_delta(size, place, count, bounds.lower * 1.01) for place in places) < 2 * delta
    )


def least_epsilon_by_moments(size, count, delta):
    """Return the least of Chernoff's bounds, by searches of the worst place and the tilt."""

    def bound(log_tilt):
        tilt = math.exp(log_tilt)

        def less_log_moment(place):
            losses, masses = response(size, place)
            logs = np.log(masses) + tilt * losses
            return -np.logaddexp(logs[0], logs[1])

        log_moment = -minimize_scalar(
            less_log_moment, bounds=(0.0, size), method="bounded", options={"xatol": 1e-9 * size}
        ).fun
        kernel = tilt * math.log(tilt) - (tilt + 1) * math.log(tilt + 1)
        return (count * log_moment + kernel - math.log(delta)) / tilt

    start = min(np.linspace(-5.0, math.log(600.0 / size), 60), key=bound)
    return minimize_scalar(bound, bounds=(start - 0.3, start + 0.3), method="bounded").fun


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("count", [2, 6, 30, 300])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_composed_ranges_are_no_worse_than_their_moments(size, count, delta):
    found = prv.eps_from_delta(prv.BoundedRange(size), delta, counts=count)
    assert found.upper <= least_epsilon_by_moments(size, count, delta) * (1 + 1e-9)
    assert found.lower <= found.upper


def test_the_moment_bound_of_forty_steps():
    assert epsilon_by_moments(0.5, 40, 1e-6) == pytest.approx(8.590, abs=2e-3)
    assert prv.eps_from_delta(prv.BoundedRange(0.5), 1e-6, counts=40).upper <= 8.5905


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-7, 1e-3, 0.5, 4.0, 60.0])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 8.0, 1000.0])
def test_renyi_divergences_of_bounded_range_are_the_greatest_of_all(size, order):
    with mp.workdps(60):
        truth = 7 * most_log_moment(size, mpf(order) - 1) / (mpf(order) - 1)
        bounds = prv.compose(prv.BoundedRange(size), 7).renyi_divergence(order)
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.upper <= bounds.lower * (1 + 1e-5)


def test_no_loss_at_all_costs_all_of_the_range():
    lower, _, upper = prv.eps_from_delta(prv.BoundedRange(0.5), 0.0, counts=10)
    assert lower <= 5.0 <= upper
    assert upper - lower < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["add", "remove", "add-or-remove"])
@pytest.mark.parametrize("p", [0.1, 1.0])
def test_bounded_ranges_among_others_are_between_data_sets_and_the_pair(neighbors, p):
    """Every place of the response is a mechanism of bounded range."""
    others = [(prv.PoissonSubsampledGaussian(2.0, 0.1), 5), (prv.PureDP(0.1), 2)]
    ranged = prv.PoissonSubsampled(prv.BoundedRange(0.8), p)
    bounds = prv.compose([*others, (ranged, 6)], neighbors=neighbors).epsilon(1e-4)
    known = []
    for place in np.linspace(0.0, 0.8, 33)[1:-1]:
        losses, masses = response(0.8, place)
        table = prv.PoissonSubsampled(prv.FromTable(losses[::-1], masses[::-1]), p)
        known.append(prv.compose([*others, (table, 6)], neighbors=neighbors).epsilon(1e-4))
    assert max(b.lower for b in known) <= bounds.upper
    assert bounds.lower <= max(b.upper for b in known) * (1 + 2e-3)
    assert bounds.lower >= 0.97 * max(b.lower for b in known)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1e-4, 0.05, 0.5])
def test_the_power_of_bounded_range_is_that_of_one_pair(rate):
    """One pair has all of a trade-off function; the dominating pair is none of them, even once."""
    for count in (1, 6):
        bounds = prv.compose(prv.BoundedRange(0.7), count).power(rate)
        known = []
        for place in np.linspace(0.0, 0.7, 41)[1:-1]:
            losses, masses = response(0.7, place)
            curve = prv.compose(
                prv.FromTable(losses[::-1], masses[::-1]), count, neighbors="remove"
            )
            known.append(curve.power(rate))
        assert bounds.lower <= max(b.upper for b in known) * (1 + 2e-3)
        assert bounds.upper >= max(b.lower for b in known)


# ---- Samples of fixed size -------------------------------------------------------------------


def best_of_two_samples(epsilon0, p, epsilon):
    """Return the greatest delta of two samples for all pure mechanisms, the second chosen late.

    Likelihoods under no special record, one record and the other are within e^epsilon0 of each
    other: a mixture of the 8 extreme ones. One step's greatest delta at all a = e^x is known.
    """
    top = math.exp(epsilon0)

    def once(a):  # the sample's pair, which is attained at each a by one order or the other
        if a < 1.0:
            return 1.0 - a + a * once(1.0 / a)
        c = 1.0 + (a - 1.0) / p
        return p * max(top - c, 0.0) / (1.0 + top)

    rays = np.array([[(top, 1.0)[(i >> bit) & 1] for bit in range(3)] for i in range(8)])
    first = (1 - p) * rays[:, 0] + p * rays[:, 1]
    second = (1 - p) * rays[:, 0] + p * rays[:, 2]
    gain = [f * once(math.exp(epsilon) * s / f) for f, s in zip(first, second, strict=True)]
    found = linprog(-np.array(gain), A_eq=rays.T, b_eq=np.ones(3))
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize(("epsilon0", "p", "known"), [(1.0, 0.5, 0.198982), (2.0, 0.25, 0.236118)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.7])
def test_two_samples_of_fixed_size_against_the_best_mechanism(epsilon0, p, known, epsilon):
    truth = best_of_two_samples(epsilon0, p, epsilon)
    if epsilon == 0.3:
        assert truth == pytest.approx(known, abs=2e-6)
    step = prv.SubsampledWithoutReplacement(prv.PureDP(epsilon0), p)
    curve = prv.compose(step, 2, **REPLACED)
    bounds = curve.delta(epsilon)
    assert not curve.attained
    assert prv.compose(step, **REPLACED).attained
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.lower >= 0.5 * truth  # two steps may look for different records


SAMPLED = [
    prv.Gaussian(2.0),
    prv.Laplace(2.0),
    prv.DiscreteGaussian(2.0),
    prv.DiscreteLaplace(2.0),
    prv.ApproximateDP(0.5, 1e-7),
]


@pytest.mark.parametrize("base", SAMPLED, ids=repr)
@pytest.mark.parametrize("epsilon", [-0.4, 0.2, 1.0])
def test_lower_bounds_of_samples_are_those_of_one_special_record(base, epsilon):
    """Seen is whether the record is in the sample: a Poisson sample, with the replaced pair."""
    doubled = {
        prv.Gaussian: lambda: prv.Gaussian(1.0),
        prv.Laplace: lambda: prv.Laplace(1.0),
        prv.DiscreteGaussian: lambda: prv.DiscreteGaussian(2.0, sensitivity=2),
        prv.DiscreteLaplace: lambda: prv.DiscreteLaplace(2.0, sensitivity=2),
    }.get(type(base), lambda: base)()
    bounds = prv.compose(prv.SubsampledWithoutReplacement(base, 0.2), 5, **REPLACED).delta(epsilon)
    orders = [
        prv.compose(prv.PoissonSubsampled(doubled, 0.2), 5, neighbors=order).delta(epsilon)
        for order in ("remove", "add")
    ]
    assert bounds.lower <= max(order.upper for order in orders)
    assert bounds.lower >= max(order.lower for order in orders) * (1 - 1e-9)
    assert bounds.upper >= max(order.lower for order in orders)


# ---- Truncated batches -----------------------------------------------------------------------


def kept_share(p, size, most):
    """Return the probability that one record is sampled and kept, exactly."""
    q, others = Fraction(p), size - 1
    return sum(
        q
        * math.comb(others, k)
        * q**k
        * (1 - q) ** (others - k)
        * min(Fraction(1), Fraction(most, k + 1))
        for k in range(size)
    )


@pytest.mark.parametrize(
    ("p", "size", "most"), [(0.5, 2, 1), (0.25, 9, 3), (0.9, 6, 2), (0.01, 40, 2)]
)
@pytest.mark.parametrize("neighbors", ["add", "remove", "replace-one"])
def test_lower_bounds_of_truncated_batches_are_those_of_records_of_zeros(p, size, most, neighbors):
    noise, count = 1.0, 3
    share = float(kept_share(p, size, most))
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, size, most)
    plain = prv.PoissonSubsampledGaussian(noise, share)
    for runs in (1, count):
        curve = prv.compose(step, runs, neighbors=neighbors)
        bounds = curve.epsilon(1e-3)
        data = prv.compose(plain, runs, neighbors=neighbors).epsilon(1e-3)
        assert not curve.attained
        assert bounds.lower <= data.upper
        assert bounds.lower >= data.lower * (1 - 1e-9)
        assert bounds.upper >= data.lower


@pytest.mark.parametrize(
    ("neighbors", "epsilon", "greatest"),
    [("remove", 0.3, 0.116422), ("add", 0.3, 0.016560), ("remove", 0.0, 0.176645)],
)
def test_truncated_batches_of_two_records(neighbors, epsilon, greatest):
    """One of at most two records is kept; the greatest of all pairs of records in the disc."""
    step = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.5, 2, 1)
    bounds = prv.compose(step, neighbors=neighbors).delta(epsilon)
    assert bounds.lower <= greatest + 5e-7  # as printed
    assert bounds.upper >= greatest - 5e-7


# ---- What is said of it ----------------------------------------------------------------------


@pytest.mark.slow
def test_calibrations_prove_by_data_sets_alone():
    steps = prv.calibrate(prv.BoundedRange(0.1), epsilon=9.5, delta=1e-6, parameter="steps")
    assert steps.value >= 1129  # by zero-concentrated DP, without the exact moments
    assert not steps.proven
    samples = prv.SubsampledWithoutReplacement(prv.PureDP(1.0), 0.5)
    found = prv.calibrate(
        samples, 2, epsilon=0.3, delta=0.2073, parameter="sampling_probability", **REPLACED
    )
    assert not found.proven
    assert best_of_two_samples(1.0, found.next_value, 0.3) < 0.2073
    batches = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.5, 2, 1)
    assert not prv.calibrate(batches, epsilon=0.3, delta=0.12).proven


ATTAINED = [
    prv.compose([(prv.Gaussian(1.0), 3), (prv.PureDP(0.1), 2)]),
    prv.compose(prv.BoundedRange(0.5)),
    prv.compose(prv.PoissonSubsampled(prv.BoundedRange(0.5), 0.1)),
    prv.compose(prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.1), **REPLACED),
    prv.compose(prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 1.0), 9, **REPLACED),
    prv.compose([]),
]
NOT_ATTAINED = [
    prv.compose([prv.BoundedRange(0.5), prv.BoundedRange(0.4)]),
    prv.compose([prv.BoundedRange(0.5), prv.Gaussian(3.0)]),
    prv.compose(prv.PoissonSubsampled(prv.BoundedRange(0.5), 0.1), 2),
    prv.compose(prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.1), 2, **REPLACED),
    prv.compose(prv.SubsampledWithoutReplacement(prv.BoundedRange(1.0), 0.1), 2, **REPLACED),
    prv.compose(prv.TruncatedPoissonSubsampledGaussian(1.0, 0.5, 2, 1)),
    prv.compose(prv.TruncatedPoissonSubsampledGaussian(1.0, 0.5, 2, 1), 4, **REPLACED),
]


@pytest.mark.parametrize("curve", ATTAINED, ids=repr)
def test_attained(curve):
    assert curve.attained
    assert "attained" not in repr(curve)
    budget = curve.error_budget(delta=1e-4)
    assert budget.attained
    assert budget.unattained == 0.0
    bounds = curve.epsilon(1e-4)
    assert bounds.upper - bounds.lower <= 1e-3 * max(bounds.lower, 1e-3)


@pytest.mark.parametrize("curve", NOT_ATTAINED, ids=repr)
def test_not_attained(curve):
    assert not curve.attained
    assert repr(curve).endswith(", attained=False)")
    assert "data sets that exist" in curve._repr_html_()
    assert "data sets that exist" in str(prv.explain(curve, 1e-4))
    for asked, bounds in (
        ({"delta": 1e-4}, curve.epsilon(1e-4)),
        ({"epsilon": 0.1}, curve.delta(0.1)),
    ):
        budget = curve.error_budget(**asked)
        parts = budget[:4]
        assert not budget.attained
        assert budget.accurate
        assert 0.0 <= bounds.lower < bounds.upper
        assert sum(parts) + budget.unattained == pytest.approx(budget.width, rel=1e-6)


@pytest.mark.slow
def test_an_accountant_gives_the_same_bounds():
    accountant = prv.Accountant()
    steps = [(prv.BoundedRange(0.1 + 0.01 * i), 3) for i in range(6)]
    for step in steps:
        accountant.add(*step)
        accountant.epsilon(1e-5)
    whole = prv.compose(steps).epsilon(1e-5)
    asked = accountant.epsilon(1e-5)
    assert asked.lower == pytest.approx(whole.lower, rel=1e-9)
    assert asked.upper == pytest.approx(whole.upper, rel=1e-9)


@pytest.mark.parametrize("curve", NOT_ATTAINED, ids=repr)
def test_mean_matching_bounds_the_same(curve):
    exact = curve.epsilon(1e-3)
    settings = {"discretization": "mean-matching", "eps_error": 0.02, "neighbors": curve.neighbors}
    found = prv.compose(curve.mechanisms, curve.counts, **settings).epsilon(1e-3)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.lower == pytest.approx(exact.lower, abs=0.05)
    assert found.upper == pytest.approx(exact.upper, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("curve", NOT_ATTAINED, ids=repr)
def test_every_lower_bound_is_below_the_upper_one(curve):
    for bounds in (
        curve.power([0.0, 1e-300, 0.01, 0.5, 1.0]),
        curve.gaussian_mu([1e-6, 0.01, 1.0]),
        curve.renyi_divergence([1.1, 2.0, 30.0]),
        curve.epsilon([0.0, 1e-30, 1e-8, 0.3, 1.0]),
        curve.delta([-math.inf, -3.0, -0.1, 0.0, 0.5, 20.0, math.inf]),
    ):
        assert np.all(bounds.lower >= 0.0)
        assert np.all(bounds.lower <= bounds.estimate)
        assert np.all(bounds.estimate <= bounds.upper)
