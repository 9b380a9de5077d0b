"""The paper's algorithm: its bounds, its errors, and what it refuses."""

import itertools
import math

import pytest

import prvcore as prv
from tests.support.examples import (
    gaussian_cdf_p,
    gaussian_cdf_q,
    gaussian_delta,
    randomized_response_curve,
)

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)


def sampled(noise_multiplier, sampling_probability):
    return prv.PoissonSubsampledGaussian(noise_multiplier, sampling_probability)


# (steps, direction, delta, epsilon there), epsilon from high-precision arithmetic
TRUTH = [
    ([(STEP, 1000)], "remove", 1e-5, 0.30355393947583278),
    ([(STEP, 1000)], "add", 1e-7, 0.21467654036660812),
    ([(STEP, 100_000)], "remove", 1e-7, 3.2262289703152351),
    ([(STEP, 100_000)], "add", 1e-7, 2.9946487013561982),
    ([(sampled(0.8, 1e-6), 1_000_000)], "remove", 1e-7, 0.0069193064063216267),
    ([(sampled(0.5, 0.3), 10)], "remove", 1e-7, 29.056449709880579),
    ([(prv.Laplace(1.0), 10)], "add-or-remove", 1e-3, 9.5213081270474618),
    ([(prv.Laplace(100.0), 20)], "add-or-remove", 1e-5, 0.13597224605106271),
    ([(prv.PoissonSubsampled(prv.Laplace(5.0), 0.7), 10)], "add", 1e-5, 1.3470065222177053),
    ([(prv.PoissonSubsampled(prv.Laplace(5.0), 0.7), 10)], "remove", 1e-5, 1.4237853212084342),
    ([(prv.ApproximateDP(0.1, 1e-6), 100)], "add-or-remove", 1e-3, 3.1452818980954456),
    ([(prv.DiscreteLaplace(2.0, 2), 5)], "add-or-remove", 1e-3, 4.9892408162796969),
    (
        [(prv.Gaussian(2.0), 5), (prv.Laplace(3.0), 10), (prv.ApproximateDP(0.1, 1e-8), 20)],
        "add-or-remove",
        1e-2,
        4.2129501716989277,
    ),
    (
        [(prv.DiscreteGaussian(3.0), 10), (prv.Gaussian(4.0), 5)],
        "add-or-remove",
        1e-7,
        6.5314246760931382,
    ),
    (
        [
            (sampled(0.6, 1e-4), 5000),
            (sampled(1.0, 1e-3), 3000),
            (sampled(0.8, 4e-3), 500),
            (sampled(5.0, 0.05), 400),
            (sampled(10.0, 0.3), 50),
        ],
        "remove",
        1e-7,
        2.1451213893074041,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "neighbors", "delta", "epsilon"), TRUTH)
def test_the_bounds_contain_the_truth_and_are_as_wide_as_the_theorem_says(
    steps, neighbors, delta, epsilon
):
    eps_error = 0.05
    curve = prv.compose(
        steps, eps_error=eps_error, neighbors=neighbors, discretization="mean-matching"
    )
    lower, estimate, upper = curve.epsilon(delta)
    assert 0.0 <= lower <= epsilon <= upper
    assert lower <= estimate <= upper
    # the ends are eps_error away from the estimate, but for delta_error and rounding
    assert upper - lower < 2.2 * eps_error
    assert estimate == pytest.approx(epsilon, abs=0.5 * eps_error)
    lower, estimate, upper = curve.delta(epsilon)
    assert 0.0 <= lower <= delta * (1.0 + 1e-10)
    assert delta * (1.0 - 1e-10) <= upper <= 1.0
    assert lower <= estimate <= upper


def test_one_step_needs_no_transform():
    # of N(0, 1) against N(1, 1)
    curve = prv.compose(prv.Gaussian(1.0), 1, eps_error=0.01, discretization="mean-matching")
    lower, _, upper = curve.delta(1.0)
    assert lower <= gaussian_delta(1.0, 1.0) <= upper
    assert curve.error_budget(delta=1e-3).transforms == 0


@pytest.mark.parametrize("eps_error", [1.0, 0.1, 0.01])
def test_both_directions_report_the_larger(eps_error):
    curves = {
        neighbors: prv.compose(
            STEP, 1000, eps_error=eps_error, neighbors=neighbors, discretization="mean-matching"
        )
        for neighbors in ("add-or-remove", "add", "remove")
    }
    both, add, remove = (curve.epsilon(1e-6) for curve in curves.values())
    assert both.lower == max(add.lower, remove.lower)
    assert both.upper == max(add.upper, remove.upper)
    assert curves["add-or-remove"].error_budget(delta=1e-6).direction == "remove"


@pytest.mark.parametrize("steps", [[(STEP, 300)], [(prv.Laplace(3.0), 4), (STEP, 10)]])
def test_many_points_are_answered_as_one_by_one(steps):
    curve = prv.compose(steps, discretization="mean-matching")
    deltas = [1e-3, 0.0, 1e-6, 1.0, 0.9]
    together = curve.epsilon(deltas)
    for i, delta in enumerate(deltas):
        assert [part[i] for part in together] == list(curve.epsilon(delta))
    epsilons = [-math.inf, -0.5, 0.0, 0.3, 40.0, math.inf]
    together = curve.delta(epsilons)
    for i, epsilon in enumerate(epsilons):
        one = curve.delta(epsilon)
        assert [part[i] for part in together] == pytest.approx(list(one), rel=1e-9, abs=1e-15)
        assert one.lower >= -math.expm1(min(epsilon, 0.0)) * (1 - 8 * 2.0**-53)


def test_the_mesh_and_the_window_are_the_papers():
    k, eps_error, delta_error = 1000, 0.1, 1e-9
    curve = prv.compose(
        STEP, k, eps_error=eps_error, delta_error=delta_error, discretization="mean-matching"
    )
    budget = curve.error_budget(delta=1e-5)
    h = eps_error / math.sqrt(k / 2.0 * math.log(12.0 / delta_error))
    assert budget.mesh_size == pytest.approx(h, rel=1e-14)
    assert budget.transform_length % 2 == 1
    # 2L; L >= 2 + eps_error + (an upper bound of) epsilon at delta_error / 4
    assert budget.transform_length * h / 2.0 > 2.0 + eps_error + curve.epsilon(1e-5).lower
    assert budget.tilt == 0.0
    assert budget.discretization == pytest.approx(2.0 * eps_error)


def test_an_explicit_mesh_size_sets_the_error():
    k, mesh_size, delta_error = 500, 2e-3, 1e-10
    curve = prv.compose(
        STEP, k, mesh_size=mesh_size, delta_error=delta_error, discretization="mean-matching"
    )
    eps_error = mesh_size * math.sqrt(k / 2.0 * math.log(12.0 / delta_error))
    same = prv.compose(
        STEP, k, eps_error=eps_error, delta_error=delta_error, discretization="mean-matching"
    )
    assert curve.error_budget(delta=1e-5).mesh_size == mesh_size
    assert curve.epsilon(1e-5) == pytest.approx(tuple(same.epsilon(1e-5)), rel=1e-9)


# ---- Refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-11, 1e-10])
def test_a_delta_that_the_errors_hide_is_refused(delta):
    curve = prv.compose(STEP, 100, delta_error=1e-10, discretization="mean-matching")
    with pytest.raises(prv.PrecisionError, match="use the bracketing discretization"):
        curve.epsilon(delta)
    assert curve.delta(5.0).upper < 1e-9


def test_a_bounded_loss_is_never_refused():
    curve = prv.compose(prv.PureDP(0.5), 4, delta_error=1e-10, discretization="mean-matching")
    assert curve.epsilon(1e-11).upper == pytest.approx(2.0)


def test_a_privacy_curve_is_refused():
    mechanism = prv.FromPrivacyCurve(randomized_response_curve)
    curve = prv.compose([STEP, mechanism], discretization="mean-matching")
    with pytest.raises(ValueError, match="use the bracketing discretization"):
        curve.epsilon(1e-5)


@pytest.mark.parametrize("argument", ["eps_error", "mesh_size"])
def test_a_mesh_beyond_the_memory_limit_is_refused(argument):
    curve = prv.compose(STEP, 1000, **{argument: 1e-9}, discretization="mean-matching")
    with pytest.raises(ValueError, match=rf"{argument} = 1e-09 needs \d+ bytes"):
        curve.epsilon([1.0, 1e-5])


# ---- One's own cdfs --------------------------------------------------------------------------


def test_cdfs_give_what_the_built_in_mechanism_gives():
    own = prv.compose(
        prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p), 10, discretization="mean-matching"
    )
    built_in = prv.compose(prv.Gaussian(1.0), 10, discretization="mean-matching")
    assert own.epsilon(1e-5) == pytest.approx(tuple(built_in.epsilon(1e-5)), abs=2e-4)


@pytest.mark.parametrize("neighbors", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [-0.3, -0.1, 0.01])
@pytest.mark.parametrize("count", [1, 3])
def test_a_table_that_is_stated_for_both_directions(neighbors, epsilon, count):
    # Its least loss is not minus the greatest loss of the other direction, which is this one.
    losses, masses = (-0.37, -0.19, 0.02), (3e-5, 0.0877, 0.91)
    step = prv.FromTable(losses, masses, mass_at_infinity=1 - math.fsum(masses))
    laws = itertools.product(zip(losses, masses, strict=True), repeat=count)
    outcomes = [(math.fsum(x for x, _ in law), math.prod(q for _, q in law)) for law in laws]
    finite = math.fsum(q * max(-math.expm1(epsilon - x), 0.0) for x, q in outcomes)
    exact = finite + 1 - math.fsum(masses) ** count
    curve = prv.compose(
        step, count, neighbors=neighbors, discretization="mean-matching", eps_error=1e-3
    )
    lower, _, upper = curve.delta(epsilon)
    assert lower <= exact <= upper
