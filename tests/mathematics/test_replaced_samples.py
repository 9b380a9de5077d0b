"""Samples of which a record is replaced, against data sets whose curves are finite sums."""

import itertools
import math

import pytest

import prvcore as prv

REPLACED = {"neighbors": "replace-one"}
EPSILONS = (0.0, 0.2, 0.7, 1.5)


def curve(left, right, epsilon):
    """Return H_a of two laws on the same outcomes."""
    a = math.exp(epsilon)
    return math.fsum(max(left[o] - a * right.get(o, 0.0), 0.0) for o in left)


def mixed(p, law, other):
    return {o: (1 - p) * law.get(o, 0.0) + p * other.get(o, 0.0) for o in {*law, *other}}


def product(*laws):
    found = {}
    for outcomes in itertools.product(*(law.items() for law in laws)):
        found[tuple(o for o, _ in outcomes)] = math.prod(mass for _, mass in outcomes)
    return found


def response(epsilon, answer):
    """Return the worst law of a pure guarantee: a bit, or its opposite."""
    high = 1 / (1 + math.exp(-epsilon))
    return {answer: high, 1 - answer: 1 - high}


def geometric(scale, center):
    ratio = math.exp(-1 / scale)
    return {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - center) for k in range(-60, 61)}


def folded(p, null, special):
    """Return the symmetric pair of Lemma 2 as two laws."""
    above = [(p * special[o] + (1 - p) * null[o], null[o]) for o in null]
    above = [(q, m) for q, m in above if q > m]
    rest = 1 - sum(q + m for q, m in above)
    left = {("up", i): q for i, (q, _) in enumerate(above)}
    right = {("up", i): m for i, (_, m) in enumerate(above)}
    for i, (q, m) in enumerate(above):
        left["down", i], right["down", i] = m, q
    left["rest"] = right["rest"] = rest
    return left, right


def check(found, exact, upper_of):
    assert found.lower <= exact * (1 + 1e-9) + 1e-15
    assert exact * (1 - 1e-9) <= found.upper
    assert upper_of * (1 - 1e-9) <= found.upper <= upper_of * (1 + 2e-3) + 1e-9


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_pure_guarantees_on_poisson_samples(p, count):
    """A removed record is a worst one, in either order; what dominates is the folded pair."""
    step = prv.PoissonSubsampled(prv.PureDP(1.0), p)
    null, special = response(1.0, 0), response(1.0, 1)
    sampled, pair = mixed(p, null, special), folded(p, null, special)
    found = prv.compose(step, count, **REPLACED)
    for epsilon in EPSILONS:
        orders = [
            curve(product(*[a] * count), product(*[b] * count), epsilon)
            for a, b in ((sampled, null), (null, sampled))
        ]
        dominating = curve(product(*[pair[0]] * count), product(*[pair[1]] * count), epsilon)
        bounds = found.delta(epsilon)
        check(bounds, max(orders), dominating)
        assert max(orders) * (1 - 2e-3) - 1e-9 <= bounds.lower


def test_the_value_of_a_linear_program():
    step = prv.PoissonSubsampled(prv.PureDP(1.0), 0.5)
    bounds = prv.delta_from_eps(step, 0.2, **REPLACED)
    assert bounds.lower <= 0.1715145
    assert bounds.upper >= 0.1715135


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_discrete_noise_on_poisson_samples(p, count):
    """No two data sets lose more than the bound, and some lose as much as the lower one."""
    step = prv.PoissonSubsampled(prv.DiscreteLaplace(1.5), p)
    found = prv.compose(step, count, **REPLACED)
    away = geometric(1.5, 0)
    laws = [product(*[mixed(p, away, geometric(1.5, one))] * count) for one in (-1, 0, 1)]
    for epsilon in EPSILONS:
        worst = max(curve(*pair, epsilon) for pair in itertools.product(laws, repeat=2))
        bounds = found.delta(epsilon)
        assert bounds.lower <= worst * (1 + 1e-9) + 1e-14
        assert worst * (1 - 1e-9) <= bounds.upper
        removed = prv.delta_from_eps(step, epsilon, counts=count)
        assert bounds.lower >= removed.lower * (1 - 2e-3)
    assert not found.attained


def test_a_guarantee_that_runs_once_on_a_poisson_sample_is_attained():
    """The curve and the report agree on it: each value is that of a record that does nothing."""
    p, null, special = 0.3, response(1.0, 0), response(1.0, 1)
    once = prv.compose(prv.PoissonSubsampled(prv.PureDP(1.0), p), **REPLACED)
    assert once.attained
    assert once.error_budget(delta=1e-2).attained
    for epsilon in EPSILONS:
        exact = curve(mixed(p, null, special), null, epsilon)
        assert once.delta(epsilon).estimate == pytest.approx(exact, rel=1e-12, abs=1e-15)
    assert not (once * 2).attained
    assert not (once * 2).error_budget(delta=1e-2).attained


def test_laplace_noise_on_poisson_samples():
    step = prv.PoissonSubsampled(prv.Laplace(2.0), 0.2)
    fixed = prv.SubsampledWithoutReplacement(prv.Laplace(2.0), 0.2)
    removed = prv.delta_from_eps(step, 0.3)
    found = prv.delta_from_eps(step, 0.3, **REPLACED)
    assert found.upper == pytest.approx(prv.delta_from_eps(fixed, 0.3, **REPLACED).upper, rel=1e-3)
    assert found.lower == pytest.approx(removed.lower, rel=1e-3)
    accountant = prv.Accountant(**REPLACED)
    accountant.add(step)
    assert accountant.delta(0.3).lower <= removed.upper


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("kind", [prv.PoissonSubsampled, prv.SubsampledWithoutReplacement])
@pytest.mark.parametrize("p", [0.1, 0.7])
@pytest.mark.parametrize("count", [1, 2])
def test_several_mechanisms_on_one_sample(kind, p, count):
    step = kind([prv.PureDP(0.5), (prv.PureDP(0.8), 2)], p)
    null = product(response(0.5, 0), response(0.8, 0), response(0.8, 0))
    special = product(response(0.5, 1), response(0.8, 1), response(0.8, 1))
    sampled, pair = mixed(p, null, special), folded(p, null, special)
    found = prv.compose(step, count, **REPLACED)
    for epsilon in EPSILONS:
        orders = [
            curve(product(*[a] * count), product(*[b] * count), epsilon)
            for a, b in ((sampled, null), (null, sampled))
        ]
        dominating = curve(product(*[pair[0]] * count), product(*[pair[1]] * count), epsilon)
        check(found.delta(epsilon), max(orders), dominating)


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_laplace_and_gaussian_on_one_sample_of_fixed_size():
    """Between each alone and both, known to be in the sample."""
    both = [prv.Gaussian(2.0), prv.Laplace(3.0)]
    for kind in (prv.PoissonSubsampled, prv.SubsampledWithoutReplacement):
        found = prv.eps_from_delta(kind(both, 0.3), 1e-3, **REPLACED)
        whole = prv.eps_from_delta(both, 1e-3, **REPLACED)
        alone = prv.eps_from_delta(kind(prv.Gaussian(2.0), 0.3), 1e-3, **REPLACED)
        assert alone.lower <= found.upper <= whole.upper
    # Many times: what dominates the gradient's part alone is below.
    many = prv.eps_from_delta(
        prv.SubsampledWithoutReplacement(both, 0.01), 1e-5, counts=100, **REPLACED
    )
    gradient = prv.SubsampledWithoutReplacement(prv.Gaussian(2.0), 0.01)
    assert prv.eps_from_delta(gradient, 1e-5, counts=100, **REPLACED).lower <= many.upper


def test_noise_on_a_sample_of_fixed_size_is_calibrated():
    step = prv.SubsampledWithoutReplacement([prv.Gaussian(1.0), prv.Laplace(2.0)], 0.1)
    found = prv.calibrate(step, epsilon=1.0, delta=1e-4, tolerance=1e-2, **REPLACED)
    assert found.bounds.upper <= 1.0


def test_what_has_no_pair_is_refused():
    inner = prv.PoissonSubsampled([prv.Laplace(1.0), prv.Gaussian(1.0)], 0.5)
    for step in (
        prv.PoissonSubsampled(inner, 0.5),
        prv.Composed([prv.PoissonSubsampled(prv.Laplace(1.0), 0.5), prv.Gaussian(1.0)]),
        prv.PoissonSubsampled(prv.FromTable([-0.5, 1.0], [0.4, 0.6]), 0.5),
        prv.SubsampledWithoutReplacement(inner, 0.5),
    ):
        with pytest.raises(ValueError, match=r"no |neighbors"):
            prv.compose(step, **REPLACED)
