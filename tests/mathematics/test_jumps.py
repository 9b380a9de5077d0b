"""Counting rare jumps: against engines that share no arithmetic with it, and against integrals."""

import math

import mpmath
import pytest
from hypothesis import given, settings

import prvcore as prv
from tests.support.quadrature import two_steps
from tests.support.strategies import log_uniform

# a forced convolution may stay wider than asked, and is a bound all the same
pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")

RARE = [
    # noise, sampling probability, steps, delta
    (0.5212, 1.201e-6, 1480, 2.995e-12),
    (0.4431, 1.227e-5, 111, 5.515e-5),
    (0.3102, 3.281e-5, 184, 1.161e-10),
    (0.395, 9.277e-6, 795, 9.49e-5),
    (0.4249, 1.305e-5, 17, 6.756e-5),
    (0.3188, 1.396e-6, 104, 2.686e-9),
]


def curve(noise, p, steps, **options):
    """Return the curve of removing a record."""
    steps = [(prv.PoissonSubsampledGaussian(noise, p), steps)]
    return prv.PrivacyCurve(steps, neighbors="remove", **options)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "p", "steps", "delta"), RARE)
def test_rare_jumps_are_counted_to_the_width_asked(noise, p, steps, delta):
    counted, convolved = curve(noise, p, steps), curve(noise, p, steps, engine="convolution")
    b, other = counted.epsilon(delta), convolved.epsilon(delta)
    budget = counted.error_budget(delta=delta)
    assert budget.engine == "jumps"
    assert budget.accurate
    assert 0.0 <= budget.truncation < budget.discretization
    assert budget.rounding >= 0.0
    assert budget.transforms == budget.frequencies == budget.transform_length == 0
    assert b.upper - b.lower <= 1e-3 * max(b.lower, 1e-3) * (1 + 1e-9)
    assert b.lower <= other.upper
    assert other.lower <= b.upper


@pytest.mark.parametrize(("noise", "p", "steps", "delta"), RARE)
def test_delta_of_rare_jumps(noise, p, steps, delta):
    epsilon = curve(noise, p, steps).epsilon(delta).estimate
    b = curve(noise, p, steps).delta(epsilon)
    other = curve(noise, p, steps, engine="convolution").delta(epsilon)
    assert b.lower <= other.upper
    assert other.lower <= b.upper
    assert delta * 0.9 <= b.lower <= delta * 1.1
    assert delta * 0.9 <= b.upper <= delta * 1.1


@pytest.mark.parametrize(
    ("mechanism", "steps", "epsilon"),
    [
        (prv.PoissonSubsampledGaussian(1.509, 5.957e-6), 49217, 6.808),
        (prv.PoissonSubsampledGaussian(1.287, 1.909e-6), 70360, 0.996),
        (prv.GroupPoissonSubsampledGaussian(1.264, 1e-5, 3), 40, 5.0),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(0.9258), 2e-4), 122, 1.301),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(0.9258), 2e-4), 122, 0.531),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(0.58), 5.3461e-5), 71, 7.659),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(0.679, 2), 0.001657), 714, 0.2267),
    ],
)
def test_tiny_deltas_are_counted(mechanism, steps, epsilon):
    counted, convolved = (
        prv.PrivacyCurve([(mechanism, steps)], neighbors="remove", engine=engine)
        for engine in ("auto", "convolution")
    )
    b, other = counted.delta(epsilon), convolved.delta(epsilon)
    budget = counted.error_budget(epsilon=epsilon)
    assert budget.engine == "jumps"
    assert budget.accurate
    assert b.lower <= other.upper
    assert other.lower <= b.upper


@pytest.mark.slow
@settings(max_examples=60)
@given(
    noise=log_uniform(0.3, 3.0),
    p=log_uniform(1e-6, 0.1),
    steps=log_uniform(1.0, 1e4).map(int),
    delta=log_uniform(1e-14, 1e-2),
    width=log_uniform(1e-5, 0.1),
)
def test_no_engine_refutes_what_counting_proves(noise, p, steps, delta, width):
    b = curve(noise, p, steps, eps_error=width).epsilon(delta)
    other = curve(noise, p, steps, engine="convolution", eps_error=width).epsilon(delta)
    assert b.lower <= other.upper
    assert other.lower <= b.upper


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "p", "epsilon"), [(0.5, 1e-5, 0.01), (0.35, 1e-4, 4.0)])
def test_two_steps_by_quadrature(noise, p, epsilon):
    with mpmath.workdps(18):
        step = mpmath.mpf(noise), mpmath.mpf(p)
        exact, error = two_steps(step, step, mpmath.mpf(epsilon))
        assert error < 1e-5 * exact
        b = curve(noise, p, 2, eps_error=1e-5).delta(epsilon)
        assert b.lower <= exact + error
        assert b.upper >= exact - error


def test_an_epsilon_of_both_directions_is_the_greater_one():
    noise, p, steps, delta = RARE[4]
    mechanism = [(prv.PoissonSubsampledGaussian(noise, p), steps)]
    each = [prv.eps_from_delta(mechanism, delta, neighbors=n) for n in ("add", "remove")]
    both = prv.eps_from_delta(mechanism, delta)
    assert both.upper >= max(b.lower for b in each)
    assert both.lower <= max(b.upper for b in each)
    assert math.isfinite(both.upper)


@pytest.mark.parametrize(
    ("noise", "probability", "epsilon"),
    [(0.025, 1e-80, 580.0), (0.025, 1e-80, 598.0), (0.024, 1e-58, 598.0), (0.03, 1e-40, 400.0)],
)
def test_what_underflows_far_above_the_bulk_is_counted(noise, probability, epsilon):
    # Two runs: with both a jump has a probability below 1e-79, and one alone a formula. A loss is
    # above epsilon from the output z noise on; the other run takes log(1 - p) of it, which is less
    # than p in all.
    with mpmath.workdps(80):
        p, s = mpmath.mpf(probability), mpmath.mpf(noise)
        threshold = mpmath.exp(epsilon) - 1 + p
        z = s * mpmath.log(threshold / p) + 1 / (2 * s)
        above = p * mpmath.ncdf(1 / s - z) - threshold * mpmath.ncdf(-z)
        exact = 2 * above
        step = prv.PoissonSubsampledGaussian(noise, probability)
        bounds = prv.compose(step, 2, neighbors="remove").delta(epsilon)
        assert bounds.lower <= exact * (1 + mpmath.mpf(10) ** -35)
        assert exact * (1 - mpmath.mpf(10) ** -35) <= bounds.upper


def advantage_of_one_jump(noise, p, steps, epsilon):
    """Return the greatest power - e^epsilon rate of tests that look for one large output."""
    mpmath.mp.dps = 40
    noise, p = mpmath.mpf(noise), mpmath.mpf(p)

    def advantage(threshold):
        rare = mpmath.ncdf(-threshold / noise)
        likely = (1 - p) * rare + p * mpmath.ncdf((1 - threshold) / noise)
        power, rate = (-mpmath.expm1(steps * mpmath.log1p(-x)) for x in (likely, rare))
        return power - mpmath.exp(epsilon) * rate

    return max(advantage(mpmath.mpf(i) / 20) for i in range(20, 100))


@pytest.mark.slow
def test_rounding_of_very_many_steps_ends_the_counting():
    setting, delta = (0.3, 1e-12, 2**31 - 1), 1e-12
    counted = curve(*setting)
    b, budget = counted.epsilon(delta), counted.error_budget(delta=delta)
    assert (budget.engine, budget.limit) == ("jumps", "rounding")
    other = curve(*setting, engine="convolution").epsilon(delta)
    assert max(b.lower, other.lower) <= min(b.upper, other.upper)
    assert b.upper - b.lower <= 2.5 * budget.rounding <= 5e-3
    assert advantage_of_one_jump(*setting, b.upper) <= delta
    assert advantage_of_one_jump(*setting, 0.9 * b.lower) >= 0.9 * delta


def test_rare_jumps_beside_atoms():
    """A spectrum falls too slowly there: a convolution has lattices that end above epsilon."""
    steps = [(prv.PoissonSubsampledGaussian(0.5929, 1.245e-5), 888), (prv.Laplace(122.6), 16)]
    c, delta = prv.compose(steps), 3.05088894778739e-09
    b = c.epsilon(delta)
    assert b.upper - b.lower <= 1e-3 * b.lower
    assert c.delta(b.upper).lower <= delta <= c.delta(b.lower).upper


def test_a_delta_that_is_guessed_far_too_large():
    steps = [(prv.PoissonSubsampledGaussian(0.9531, 5.491e-5), 660), (prv.Laplace(0.43), 5)]
    c, epsilon = prv.compose(steps), 12.2521244026279
    b = c.delta(epsilon)
    assert 0.0 < 0.7 * b.upper < b.lower
    assert c.epsilon(b.upper).lower <= epsilon <= c.epsilon(b.lower).upper
