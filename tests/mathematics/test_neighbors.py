"""Neighbours with a replaced record, and mechanisms that are stated for these."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import gaussian_delta, normal_cdf

REPLACED = {"neighbors": "replace-one"}


def contains(bounds, truth, error=1e-9):
    return bounds.lower <= truth * (1.0 + error) and truth * (1.0 - error) <= bounds.upper


def overlap(a, b):
    return a.lower <= b.upper and b.lower <= a.upper


# ---- Exact deltas of one step, for every real epsilon -----------------------------------------


def mirrored_delta(epsilons, noise, p):
    """Of (1-p)N(0) + pN(1) against (1-p)N(0) + pN(-1), noise of this deviation."""
    mu = 1.0 / noise
    z = np.linspace(-60.0, 60.0, 240_001)
    loss = np.log1p(p * np.expm1(mu * (z - mu / 2))) - np.log1p(p * np.expm1(-mu * (z + mu / 2)))
    at = np.interp(epsilons, loss, z)
    for _ in range(4):  # Newton
        up, down = p * np.exp(mu * (at - mu / 2)), p * np.exp(-mu * (at + mu / 2))
        here = np.log1p(up - p) - np.log1p(down - p)
        slope = mu * up / (1.0 - p + up) + mu * down / (1.0 - p + down)
        at = at - (here - epsilons) / slope
    first = (1.0 - p) * normal_cdf(-at) + p * normal_cdf(mu - at)
    return first - np.exp(epsilons) * ((1.0 - p) * normal_cdf(-at) + p * normal_cdf(-mu - at))


def symmetric(epsilons, delta):
    """Extend a delta at epsilons >= 0 to all of them, as the relation is symmetric."""
    size = np.abs(epsilons)
    above = delta(size)
    return np.where(epsilons >= 0.0, above, -np.expm1(epsilons) + np.exp(epsilons) * above)


def fixed_size_delta(epsilons, noise, p):
    """Of Gaussian noise on a sample without replacement: sensitivity 2, amplified."""

    def above(epsilon):
        mu, base = 2.0 / noise, np.log1p(np.expm1(np.minimum(epsilon, 600.0)) / p)
        lower = normal_cdf(-base / mu - mu / 2)
        with np.errstate(over="ignore", invalid="ignore"):
            rest = np.where(lower > 0.0, np.exp(base) * lower, 0.0)
        return p * np.maximum(normal_cdf(-base / mu + mu / 2) - rest, 0.0)

    return symmetric(np.minimum(epsilons, 600.0), above)


def bounded_range_delta(epsilons, size):
    x = np.clip(epsilons, -size, size)
    inside = np.expm1((x - size) / 2) ** 2 / -np.expm1(-size)
    return np.where(epsilons < -size, -np.expm1(np.minimum(epsilons, 0.0)), inside)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [-1.0, -0.02, 0.0, 0.02, 1.0, 3.0])
@pytest.mark.parametrize(("noise", "p"), [(1.0, 0.125), (0.8, 0.01), (4.0, 0.5)])
def test_gaussian_noise_on_a_poisson_sample(noise, p, epsilon):
    curve = prv.compose(prv.PoissonSubsampledGaussian(noise, p), eps_error=0.01, **REPLACED)
    assert contains(curve.delta(epsilon), mirrored_delta(np.array([epsilon]), noise, p)[0])


@pytest.mark.parametrize("epsilon", [-1.0, -0.02, 0.0, 0.02, 1.0, 3.0])
@pytest.mark.parametrize(("noise", "p"), [(1.0, 0.125), (0.8, 0.01), (4.0, 0.5)])
def test_gaussian_noise_on_a_sample_of_fixed_size(noise, p, epsilon):
    mechanism = prv.SubsampledWithoutReplacement(prv.Gaussian(noise), p)
    curve = prv.compose(mechanism, eps_error=0.01, **REPLACED)
    assert contains(curve.delta(epsilon), fixed_size_delta(np.array([epsilon]), noise, p)[0])


@pytest.mark.parametrize("epsilon", [-2.0, -0.3, 0.0, 0.1, 0.45, 2.0])
@pytest.mark.parametrize("size", [0.5, 2.0, 30.0])
def test_bounded_range(size, epsilon):
    curve = prv.compose(prv.BoundedRange(size), eps_error=0.001)
    assert contains(curve.delta(epsilon), bounded_range_delta(np.array([epsilon]), size)[0])


@pytest.mark.parametrize("size", [0.1, 1.0])
@pytest.mark.parametrize("count", [1, 40])
def test_a_bounded_range_dominates_generalized_randomized_responses(size, count):
    bound = prv.compose(prv.BoundedRange(size), count, eps_error=1e-3).epsilon(1e-5)
    for share in (0.1, 0.4, 0.5, 0.6, 0.9):
        t = share * size
        own = (math.exp(size) - math.exp(t)) / math.expm1(size)
        response = prv.FromTable([t - size, t], [1.0 - own, own])
        found = prv.compose(response, count, eps_error=1e-3).epsilon(1e-5)
        assert found.lower <= bound.upper
    pure = prv.compose(prv.PureDP(size), count, eps_error=1e-3).epsilon(1e-5)
    assert bound.lower <= pure.upper


def test_the_exponential_mechanism_has_a_bounded_range():
    rng = np.random.default_rng(1)
    size, shift = 0.7, rng.uniform(-1.0, 1.0, 40)
    utility = rng.normal(size=40)

    def law(u):
        weight = np.exp(0.5 * size * u)
        return weight / weight.sum()

    q, p = law(utility + shift), law(utility)
    curve = prv.compose(prv.BoundedRange(size))
    for epsilon in (-0.2, 0.0, 0.05, 0.3):
        delta = np.maximum(q - math.exp(epsilon) * p, 0.0).sum()
        assert delta <= curve.delta(epsilon).upper


# ---- Compositions, by another way to the same pair --------------------------------------------


def mirrored(above_q, above_p, x):
    """Return the two CDFs of a symmetric law from its upper tails under Q and P at abs(x)."""
    q, p = above_q(np.abs(x)), above_p(np.abs(x))
    return np.where(x >= 0.0, 1.0 - q, p), np.where(x >= 0.0, 1.0 - p, q)


def fixed_size_cdfs(x, noise=1.0, p=0.125):
    mu = 2.0 / noise

    def above_p(loss):
        return normal_cdf(-np.log1p(np.expm1(np.minimum(loss, 600.0)) / p) / mu - mu / 2)

    def above_q(loss):
        base = np.log1p(np.expm1(np.minimum(loss, 600.0)) / p)
        return p * normal_cdf(mu / 2 - base / mu) + (1.0 - p) * above_p(loss)

    return mirrored(above_q, above_p, x)


def bounded_range_cdfs(x, size=0.5):
    def above_q(loss):
        return np.expm1(0.5 * (np.minimum(loss, size) - size)) / math.expm1(-size)

    def above_p(loss):
        return np.expm1(0.5 * (size - np.minimum(loss, size))) / math.expm1(size)

    return mirrored(above_q, above_p, x)


SAME_PAIRS = {
    "fixed-size": (
        prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.125),
        prv.FromCDFs(lambda x: fixed_size_cdfs(x)[0], lambda x: fixed_size_cdfs(x)[1]),
    ),
    "range": (
        prv.BoundedRange(0.5),
        prv.FromCDFs(lambda x: bounded_range_cdfs(x)[0], lambda x: bounded_range_cdfs(x)[1]),
    ),
}


@pytest.mark.parametrize("pair", SAME_PAIRS)
@pytest.mark.parametrize("engine", ["convolution", "spectrum"])
@pytest.mark.parametrize("count", [2, 30])
def test_compositions_of_pairs_are_those_of_the_cdfs(pair, count, engine):
    """Which bound the mechanisms from above: data sets that have these pairs are not known."""
    mechanism, own = SAME_PAIRS[pair]
    curve = prv.compose(mechanism, count, engine=engine, eps_error=0.01, **REPLACED)
    a, b = curve.epsilon(1e-4), prv.compose(own, count, eps_error=0.05).epsilon(1e-4)
    assert not curve.attained
    assert a.lower <= b.upper
    if pair == "range":  # adaptive composition is below that of the pair
        assert a.upper <= b.upper
    else:
        assert a.upper - 0.01 <= b.upper
        assert b.lower <= a.upper


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 30])
def test_compositions_of_mirrored_mixtures_are_those_of_the_privacy_curve(count):
    step = prv.PoissonSubsampledGaussian(1.0, 0.125)
    own = prv.FromPrivacyCurve(lambda x: mirrored_delta(np.clip(x, -30.0, 30.0), 1.0, 0.125))
    a = prv.compose(step, count, eps_error=0.01, **REPLACED).epsilon(1e-3)
    assert overlap(a, prv.compose(own, count, eps_error=0.5).epsilon(1e-3))


def exact(losses, q, count, epsilon):
    """Return the exact delta of a composition of a finite table, by all of its outcomes."""
    total = 0.0
    for outcome in itertools.combinations_with_replacement(range(len(losses)), count):
        loss = sum(losses[i] for i in outcome)
        if loss <= epsilon:
            continue
        times = math.factorial(count)
        mass = 1.0
        for i in set(outcome):
            times //= math.factorial(outcome.count(i))
            mass *= q[i] ** outcome.count(i)
        total += times * mass * -math.expm1(epsilon - loss)
    return total


@pytest.mark.parametrize("engine", ["convolution", "spectrum"])
@pytest.mark.parametrize("categories", [2, 3, 10])
def test_randomized_response_against_all_outcomes(categories, engine):
    size, count = 0.8, 12
    own = math.exp(size) / (math.exp(size) + categories - 1)
    other = 1.0 / (math.exp(size) + categories - 1)
    losses, q = [size, 0.0, -size], [own, 1.0 - own - other, other]
    mechanism = prv.RandomizedResponse(size, categories)
    curve = prv.compose(mechanism, count, engine=engine, eps_error=1e-3, **REPLACED)
    for epsilon in (0.3, 2.0, 5.1):
        assert contains(curve.delta(epsilon), exact(losses, q, count, epsilon))


def test_two_categories_are_the_pure_mechanism():
    response = prv.compose(prv.RandomizedResponse(0.3), 50, **REPLACED).epsilon(1e-6)
    assert overlap(response, prv.compose(prv.PureDP(0.3), 50, **REPLACED).epsilon(1e-6))


@pytest.mark.parametrize("p", [0.25, 0.01])
def test_a_pure_mechanism_on_a_sample_of_fixed_size_against_all_outcomes(p):
    size, count = 1.0, 8
    own = 1.0 / (1.0 + math.exp(-size))
    high = math.log1p(p * math.expm1(size))  # above 0: those of the Poisson sample, removed
    mass_q, mass_p = p * own + (1.0 - p) * (1.0 - own), 1.0 - own
    losses, q = [high, 0.0, -high], [mass_q, 1.0 - mass_q - mass_p, mass_p]
    mechanism = prv.SubsampledWithoutReplacement(prv.PureDP(size), p)
    curve = prv.compose(mechanism, count, eps_error=1e-4, **REPLACED)
    for epsilon in (0.5 * high, 1.7 * high, 5.1 * high):
        assert contains(curve.delta(epsilon), exact(losses, q, count, epsilon))


# ---- Twice the sensitivity --------------------------------------------------------------------

TWICE = [
    (prv.Gaussian(2.0), prv.Gaussian(1.0)),
    (prv.Laplace(3.0, 0.5), prv.Laplace(3.0, 1.0)),
    (prv.DiscreteGaussian(5.0, 2), prv.DiscreteGaussian(5.0, 4)),
    (prv.DiscreteLaplace(5.0), prv.DiscreteLaplace(5.0, 2)),
    (prv.PoissonSubsampled(prv.Gaussian(2.0), 1.0), prv.Gaussian(1.0)),
]


@pytest.mark.parametrize(("mechanism", "twice"), TWICE, ids=str)
def test_noise_has_twice_the_sensitivity(mechanism, twice):
    found = prv.compose(mechanism, 20, **REPLACED).epsilon(1e-6)
    other = prv.compose(twice, 20).epsilon(1e-6)
    # Closed forms know the noise of one, and the quotient of the other as a double.
    assert overlap(found, other)
    assert found.upper == pytest.approx(other.upper, rel=1e-13)


@pytest.mark.parametrize(("mechanism", "twice"), TWICE[:4], ids=str)
def test_a_sample_of_all_records_is_no_sample(mechanism, twice):
    whole = prv.SubsampledWithoutReplacement(mechanism, 1.0)
    assert overlap(
        prv.compose(whole, 20, **REPLACED).epsilon(1e-6), prv.compose(twice, 20).epsilon(1e-6)
    )
    none = prv.SubsampledWithoutReplacement(mechanism, 0.0)
    assert prv.compose(none, 20, **REPLACED).epsilon(1e-6).upper == 0.0


def test_statements_of_whatever_neighbors_stay_as_they_are():
    for mechanism in (prv.PureDP(0.2), prv.ApproximateDP(0.2, 1e-9), prv.BoundedRange(0.2)):
        found = prv.compose(mechanism, 20, **REPLACED).epsilon(1e-6)
        assert found == prv.compose(mechanism, 20).epsilon(1e-6)


def test_a_replaced_record_is_a_removed_and_an_added_one():
    # no more than both, as mechanisms on samples of their own
    step = prv.PoissonSubsampledGaussian(1.0, 0.01)
    one = prv.compose(step, 500, eps_error=0.01)
    both = prv.compose(step, 500, eps_error=0.01, **REPLACED).epsilon(1e-6)
    assert one.epsilon(1e-6).lower <= both.upper
    doubled = prv.compose(prv.PoissonSubsampledGaussian(0.5, 0.01), 500, eps_error=0.01)
    assert both.lower <= doubled.epsilon(1e-6).upper


def test_no_noise_on_a_poisson_sample_tells_apart_what_is_sampled():
    curve = prv.compose(prv.PoissonSubsampledGaussian(0.0, 0.25), 2, **REPLACED)
    assert contains(curve.delta(7.0), 1.0 - 0.75**2)


@pytest.mark.parametrize("delta", [1e-40, 1e-200])
def test_tiny_deltas(delta):
    steps = [
        (prv.PoissonSubsampledGaussian(3.0, 0.01), 100),
        (prv.SubsampledWithoutReplacement(prv.Gaussian(9.0), 0.01), 100),
    ]
    a, b = (
        prv.compose(steps, engine=engine, eps_error=0.1, **REPLACED).epsilon(delta)
        for engine in ("convolution", "spectrum")
    )
    assert overlap(a, b)
    assert a.upper - a.lower <= 0.1


@pytest.mark.parametrize(
    "mechanism",
    [
        prv.Gaussian(5.0),
        prv.PoissonSubsampledGaussian(1.0, 0.05),
        prv.SubsampledWithoutReplacement(prv.Gaussian(3.0), 0.1),
        prv.SubsampledWithoutReplacement(prv.Laplace(3.0), 0.1),
        prv.SubsampledWithoutReplacement(prv.BoundedRange(0.5), 0.1),
        prv.SubsampledWithoutReplacement(prv.DiscreteLaplace(3.0), 0.1),
        prv.BoundedRange(0.3),
        prv.RandomizedResponse(0.3, 4),
    ],
    ids=str,
)
def test_mean_matching_agrees(mechanism):
    exact_ = prv.compose(mechanism, 20, eps_error=0.01, **REPLACED).epsilon(1e-4)
    lower, estimate, upper = prv.compose(
        mechanism, 20, discretization="mean-matching", eps_error=0.2, **REPLACED
    ).epsilon(1e-4)
    assert lower <= exact_.upper
    assert exact_.lower <= upper
    assert estimate == pytest.approx(exact_.estimate, abs=0.1)


def test_a_fixed_size_is_far_less_private_than_a_poisson_sample():
    fixed = prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.01)
    poisson = prv.PoissonSubsampledGaussian(1.0, 0.01)
    a, b = (prv.compose(m, 1000, **REPLACED).epsilon(1e-6) for m in (fixed, poisson))
    assert a.lower > 4.0 * b.upper


# ---- What it says of itself, and refuses -------------------------------------------------------


def test_the_budget_names_the_neighbors():
    curve = prv.compose(prv.Gaussian(2.0), **REPLACED)
    assert curve.error_budget(delta=1e-3).direction == "replace-one"
    assert "neighbors='replace-one'" in repr(curve)
    assert gaussian_delta(curve.epsilon(1e-3).upper, 1.0) <= 1e-3 * (1.0 + 1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        prv.PoissonSubsampled(prv.FromTable([0.0], [1.0]), 0.1),
        prv.PoissonSubsampled(prv.MixtureOfGaussians(1.0, [1.0], [1.0]), 0.1),
        prv.MixtureOfGaussians(1.0, [1.0], [1.0]),
        prv.GroupPoissonSubsampledGaussian(1.0, 0.1, 2),
        prv.FromTable([0.0], [1.0]),
        prv.FromCDFs(normal_cdf, normal_cdf),
        prv.FromPrivacyCurve(normal_cdf),
        prv.PoissonSubsampled(prv.FromTable([0.0], [1.0]), 1.0),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_mechanisms_without_a_pair_are_refused_by_name(mechanism):
    with pytest.raises(ValueError, match=f"got 'replace-one': .*{type(mechanism).__name__}"):
        prv.compose([prv.Gaussian(1.0), mechanism], **REPLACED)


@pytest.mark.parametrize("neighbors", ["add-or-remove", "add", "remove"])
@pytest.mark.parametrize(
    "mechanism",
    [
        prv.RandomizedResponse(1.0),
        prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.1),
        prv.SubsampledWithoutReplacement(prv.PureDP(1.0), 0.1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_other_neighbors_are_refused_by_name(mechanism, neighbors):
    message = f"must be 'replace-one', got '{neighbors}': .*{type(mechanism).__name__}"
    with pytest.raises(ValueError, match=message):
        prv.compose(mechanism, neighbors=neighbors)


@pytest.mark.parametrize(
    "mechanism",
    [
        prv.FromTable([0.0], [1.0]),
        prv.PoissonSubsampledGaussian(1.0, 0.1),
        prv.MixtureOfGaussians(1.0, [1.0], [1.0]),
        prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_no_sample_of_fixed_size_of_what_has_no_pair(mechanism):
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(prv.SubsampledWithoutReplacement(mechanism, 0.1), **REPLACED)


def test_no_poisson_sample_of_replaced_records():
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(prv.PoissonSubsampled(prv.RandomizedResponse(1.0), 0.1), **REPLACED)


@pytest.mark.parametrize("categories", [0, 1])
def test_fewer_than_two_categories_are_refused(categories):
    with pytest.raises(ValueError, match="categories must be in"):
        prv.RandomizedResponse(1.0, categories)


@pytest.mark.slow
def test_calibration_of_replaced_records():
    step = prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.01)
    found = prv.calibrate(
        step, 1000, parameter="noise_multiplier", epsilon=2.0, delta=1e-6, **REPLACED
    )
    assert found.bounds.upper <= 2.0
    assert found.curve.neighbors == "replace-one"
    again = prv.SubsampledWithoutReplacement(prv.Gaussian(found.value), 0.01)
    assert prv.compose(again, 1000, **REPLACED).epsilon(1e-6).lower <= 2.0


def replaced_answers(epsilon, categories):
    """The laws of an answer by randomized response under one answer and under another, exactly."""
    own = Fraction(epsilon) / (Fraction(epsilon) + categories - 1)
    other = (1 - own) / (categories - 1)
    q = [own, other] + [other] * (categories - 2)
    return q, [q[1], q[0], *q[2:]]


def table_of(q, p, **statement):
    """A table of the losses of a pair."""
    masses = {}
    for a, b in zip(q, p, strict=True):
        masses[a / b] = masses.get(a / b, 0) + a
    ratios = sorted(masses)
    losses = [math.log(r) for r in ratios]
    return prv.FromTable(losses, [float(masses[r]) for r in ratios], **statement)


@pytest.mark.parametrize("relation", ["replace-one", "any"])
@pytest.mark.parametrize("orders", list(itertools.product([False, True], repeat=3)))
def test_a_stated_pair_composes_in_any_order(relation, orders):
    # Later steps may swap the roles of both data sets: the sum over all outcomes, exactly.
    pairs = [replaced_answers(r, k) for r, k in ((2, 2), (3, 3), (Fraction(3, 2), 4))]
    steps = [table_of(q, p, neighbors=relation) for q, p in pairs]
    curve = prv.compose(steps, neighbors="replace-one")
    laws = [(p, q) if swap else (q, p) for (q, p), swap in zip(pairs, orders, strict=True)]
    for epsilon in (0.0, 0.5, 1.5):
        a = Fraction(math.exp(epsilon))
        exact = sum(
            max(math.prod(x for x, _ in outcome) - a * math.prod(y for _, y in outcome), 0)
            for outcome in itertools.product(*(list(zip(q, p, strict=True)) for q, p in laws))
        )
        bounds = curve.delta(epsilon)
        assert bounds.lower - 1e-9 <= exact <= bounds.upper + 1e-9
        assert bounds.upper - bounds.lower < 1e-3


def test_a_statement_is_for_its_relation_alone():
    table = table_of(*replaced_answers(2, 2), neighbors="replace-one")
    with pytest.raises(ValueError, match="replace-one"):
        prv.compose(table)
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(prv.SubsampledWithoutReplacement(table, 0.5), neighbors="replace-one")
    with pytest.raises(ValueError, match="neighbors"):
        table_of(*replaced_answers(2, 2), neighbors="zero-out")


@pytest.mark.parametrize("sampled", [False, True])
def test_an_upper_bound_is_no_lower_one(sampled):
    table = table_of(*replaced_answers(2, 2), attained=False)
    step = prv.PoissonSubsampled(table, 0.25) if sampled else table
    noise = prv.Gaussian(2.0)
    both, alone = prv.compose([step, noise], [4, 3]), prv.compose(noise, 3)
    bounds = both.epsilon(1e-3)
    assert not both.attained
    assert abs(bounds.lower - alone.epsilon(1e-3).lower) < 1e-3
    stated = table_of(*replaced_answers(2, 2))
    exact = prv.compose([prv.PoissonSubsampled(stated, 0.25) if sampled else stated, noise], [4, 3])
    assert exact.epsilon(1e-3).lower <= bounds.upper
    other = prv.compose(step).epsilon(1e-3)
    assert other.lower == 0.0
