"""Questions that 0 and Chernoff's bound are narrow enough for."""

import math

import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q, gaussian_delta
from tests.support.truth import ROWS, SLACK, curve_of

WIDTHS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3]
STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)


def is_rough(budget):
    return budget.engine == "none" and budget.width > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12, 1e-100, 1e-290])
@pytest.mark.parametrize(
    ("noise", "count"), [(1000.0, 1), (30.0, 10), (1.0, 1), (1.0, 100), (0.05, 1), (0.3, 100)]
)
def test_a_gaussian_of_any_width(noise, count, delta):
    step, mu = prv.Gaussian(noise), math.sqrt(count) / noise
    for width in WIDTHS:
        lower, estimate, upper = prv.compose(step, count, eps_error=width).epsilon(delta)
        assert 0.0 <= lower <= estimate <= upper <= lower + width * (1 + 1e-12)
        assert gaussian_delta(upper, mu) <= delta * (1 + 1e-9)
        assert lower == 0.0 or gaussian_delta(lower, mu) >= delta * (1 - 1e-9)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.get("eps_at_delta")], ids=lambda row: row["id"]
)
def test_the_truth_lies_within_loose_bounds(row):
    truth, delta = float(row["eps_at_delta"]), float(row["target_delta"])
    for width in (0.3 * truth, truth, 1.2 * truth, 3.0 * truth, 1e3 * truth):
        lower, estimate, upper = curve_of(row, width).epsilon(delta)
        assert lower <= truth + SLACK
        assert upper >= truth - SLACK
        assert lower <= estimate <= upper
        assert upper - lower <= width * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["add", "remove", "add-or-remove"])
@pytest.mark.parametrize(
    "steps",
    [
        [(STEP, 1000)],
        [(STEP, 10**6)],
        [(prv.Laplace(3.0), 20), (STEP, 100)],
        [(prv.PoissonSubsampled(prv.Laplace(0.5), 0.01), 300)],
        [(prv.ApproximateDP(0.1, 1e-9), 10)],
        [(prv.DiscreteGaussian(5.0, 2), 30), (prv.DiscreteLaplace(4.0), 3)],
    ],
)
def test_bounds_of_all_widths_meet(steps, neighbors):
    for delta in (1e-3, 1e-7, 1e-20):
        found = [
            prv.compose(steps, neighbors=neighbors, eps_error=width).epsilon(delta)
            for width in WIDTHS
        ]
        assert max(bounds.lower for bounds in found) <= min(bounds.upper for bounds in found)


def test_what_is_told_of_it():
    curve = prv.compose(STEP, 1000, eps_error=1.0)
    lower, estimate, upper = curve.epsilon(1e-7)
    assert lower == 0.0 < estimate < upper <= 1.0
    budget = curve.error_budget(delta=1e-7)
    assert is_rough(budget)
    assert budget.accurate
    assert budget.width == upper
    assert budget.direction == "remove"
    assert budget[:4] == (0.0, 0.0, 0.0, 0.0)
    assert budget.mesh_size == budget.tilt == budget.cells == budget.frequencies == 0
    adding = prv.compose(STEP, 1000, eps_error=1.0, neighbors="add").error_budget(delta=1e-7)
    assert adding.direction == "add"
    said = str(prv.explain(curve, 1e-7))
    assert "no composition was needed" in said
    assert "exact" not in said


def test_the_direction_is_the_one_of_the_upper_bound():
    curve = prv.compose(STEP, 1000, eps_error=5.0)
    upper = {
        neighbors: prv.compose(STEP, 1000, eps_error=5.0, neighbors=neighbors).epsilon(1e-7).upper
        for neighbors in ("add", "remove")
    }
    assert curve.epsilon(1e-7).upper == max(upper.values())
    assert upper[curve.error_budget(delta=1e-7).direction] == max(upper.values())


@pytest.mark.parametrize(
    "options", [{"engine": "convolution"}, {"engine": "spectrum"}, {"mesh_size": 1e-3}]
)
def test_what_was_asked_for_is_composed(options):
    curve = prv.compose(STEP, 1000, eps_error=5.0, **options)
    assert curve.error_budget(delta=1e-7).engine != "none"
    assert curve.epsilon(1e-7).lower > 0.0


def test_a_default_width_is_for_the_digits_of_small_epsilons_too():
    curve = prv.compose(prv.Gaussian(1e8))
    lower, _, upper = curve.epsilon(1e-12)
    assert 0.0 < upper < 1e-6
    assert lower > 0.5 * upper


def test_bounded_losses_bound_it():
    ranges = prv.compose(prv.BoundedRange(0.5), 4, eps_error=2.5)
    lower, _, upper = ranges.epsilon(1e-30)
    assert lower <= upper
    assert 1.9 < upper <= 2.0
    assert ranges.error_budget(delta=1e-30).engine == "none"


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-11])
def test_ones_own_functions_are_bounded_like_the_mechanism_they_are_of(delta):
    own = prv.FromCDFs(cdf_q=gaussian_cdf_q, cdf_p=gaussian_cdf_p)
    exact = prv.compose(prv.Gaussian(1.0), 5).epsilon(delta)
    for width in (1.5 * exact.upper, 100.0):
        curve = prv.compose(own, 5, eps_error=width)
        lower, estimate, upper = curve.epsilon(delta)
        assert lower <= exact.upper
        assert upper >= exact.lower
        assert lower <= estimate <= upper <= lower + width
        assert is_rough(curve.error_budget(delta=delta))
