"""The bounds hold against values computed independently, in high precision."""

import math

import pytest

import prvcore as prv
from tests.support.truth import ROWS, SLACK, curve_of


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_bounds_contain_the_truth(row):
    scale = float(row.get("eps_at_delta") or row["eps"])
    eps_error = max(1e-3, 1e-5 * scale)
    curve = curve_of(row, eps_error)

    eps, delta = float(row["eps"]), float(row["delta"])
    bounds = curve.delta(eps)
    slack = SLACK + abs(float(row.get("dlogdelta_deps") or 0.0)) * math.ulp(eps)
    assert bounds.lower <= delta * (1 + slack) + 5e-324
    assert bounds.upper >= delta * (1 - slack)
    assert bounds.lower <= bounds.estimate <= bounds.upper

    if row.get("eps_at_delta") is not None:
        truth = float(row["eps_at_delta"])
        bounds = curve.epsilon(float(row["target_delta"]))
        slack = SLACK * max(1.0, truth)
        assert bounds.lower <= truth + slack
        assert bounds.upper >= truth - slack
        assert bounds.upper - bounds.lower <= eps_error * (1 + 1e-9)


@pytest.mark.parametrize(
    ("steps", "truth", "close"),
    [(1_000, 0.703708838718, 2e-5), (100_000, 3.226228970317, 5e-5)],
)
def test_the_papers_setting_without_any_knob(steps, truth, close):
    step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
    bounds = prv.compose(step, steps, neighbors="remove").epsilon(1e-7)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    assert abs(bounds.estimate - truth) <= close


def test_there_is_no_smallest_delta():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-2)
    bounds = prv.compose(step, 1000, neighbors="remove", eps_error=1e-3).epsilon(1e-30)
    assert bounds.lower <= 16.25003157553 <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-3
    # 1000 Gaussian steps are one with noise_multiplier / sqrt(1000).
    together = prv.compose(prv.Gaussian(30 / math.sqrt(1000)), 1, eps_error=1e-6).epsilon(1e-100)
    bounds = prv.compose(prv.Gaussian(30), 1000, eps_error=1e-3).epsilon(1e-100)
    assert bounds.upper - bounds.lower <= 1e-3
    assert bounds.lower <= together.upper
    assert together.lower <= bounds.upper
