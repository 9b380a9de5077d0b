"""Settings on which accountants were reported to fail get the right value or the right answer."""

import math

import pytest

import prvcore as prv
from tests.support.truth import REPORTS, curve_of


@pytest.mark.parametrize("row", REPORTS["rows"], ids=lambda row: row["id"])
def test_bounds_contain_the_value(row):
    width, truth, tol = row.get("eps_error", 1e-3), float(row["eps_at_delta"]), row["tol"]
    lower, estimate, upper = curve_of(row, width).epsilon(float(row["target_delta"]))
    if tol == 0.0:
        assert lower == estimate == upper == truth
        return
    assert lower <= truth + tol
    assert upper >= truth - tol
    assert upper - lower <= width * (1.0 + 1e-9)


@pytest.mark.parametrize("row", REPORTS["calibration"], ids=lambda row: row["id"])
def test_the_least_noise_meets_the_target_and_less_does_not(row):
    noise, share, target = row["noise_multiplier"], 2.0 * row["rel_tol"], row["target_eps"]

    def epsilon(noise):
        step = prv.PoissonSubsampledGaussian(noise, row["sampling_probability"])
        # far less than what so much noise changes: epsilon falls at least like its inverse
        width = 0.2 * share * target if target > 0.0 else 1e-6
        curve = prv.compose(step, row["steps"], eps_error=width)
        return curve.epsilon(row["target_delta"])

    # an epsilon of 0 is known to about the width
    assert epsilon(noise * (1.0 + share)).upper <= (target if target > 0.0 else 1e-6)
    assert epsilon(noise * (1.0 - share)).lower >= target
    assert not math.isinf(epsilon(noise).upper)
