"""The names and calls of prv-accountant, and the bounds behind them."""

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prvcore as prv
from prvcore._quotients import quotient_rounded_down
from prvcore.adapters import prv_accountant as ours

ERRORS = {"eps_error": 0.05, "delta_error": 1e-10}


def mechanisms(library):
    return [
        library.PoissonSubsampledGaussianMechanism(sampling_probability=1e-2, noise_multiplier=0.8),
        library.GaussianMechanism(noise_multiplier=20.0),
        library.LaplaceMechanism(mu=0.05),
        library.PureDPMechanism(0.02),
    ]


def test_mechanisms_are_those_of_prvcore():
    assert mechanisms(ours) == [
        prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-2),
        prv.Gaussian(20.0),
        prv.Laplace(scale=1.0, sensitivity=0.05),
        prv.PureDP(0.02),
    ]
    assert ours.GaussianMechanism(3.0, l2_sensitivity=1.5) == prv.Gaussian(2.0)
    assert ours.ApproximateDPMechanism(0.1, 1e-6) == prv.ApproximateDP(0.1, 1e-6)


@pytest.mark.slow
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_quotients_are_rounded_down(numerator, denominator):
    from fractions import Fraction

    found = quotient_rounded_down(numerator, denominator)
    exact = Fraction(numerator) / Fraction(denominator)
    assert Fraction(found) <= exact < Fraction(math.nextafter(found, math.inf))


def test_bounds_are_those_of_the_composition():
    accountant = ours.PRVAccountant(mechanisms(ours), max_self_compositions=[1000] * 4, **ERRORS)
    counts = [100, 10, 20, 3]
    curve = prv.compose(mechanisms(ours), counts, eps_error=0.1)
    assert accountant.compute_epsilon(1e-5, counts) == curve.epsilon(1e-5)
    assert accountant.compute_delta(1.0, counts) == curve.delta(1.0)
    assert accountant.compute_epsilon(1e-5) == prv.compose(mechanisms(ours), eps_error=0.1).epsilon(
        1e-5
    )


@pytest.mark.filterwarnings("ignore")  # of prv-accountant, which is not ours
def test_intervals_meet_those_of_prv_accountant():
    theirs = pytest.importorskip("prv_accountant", reason="prv-accountant is not installed")
    found = []
    for library, options in ((theirs, {}), (ours, {"neighbors": "remove"})):
        counts = [100, 10, 20, 3]
        accountant = library.PRVAccountant(
            prvs=mechanisms(library), max_self_compositions=counts, **ERRORS, **options
        )
        found.append(
            (accountant.compute_epsilon(1e-5, counts), accountant.compute_delta(1.0, counts))
        )
    for (lower, _, upper), (low, estimate, high) in zip(*found, strict=True):
        assert lower <= estimate <= upper
        assert max(lower, low) <= min(upper, high)


@pytest.mark.filterwarnings("ignore")
def test_the_accountant_of_dpsgd_is_called_as_theirs():
    theirs = pytest.importorskip("prv_accountant.dpsgd", reason="prv-accountant is not installed")
    found = []
    for library, options in ((theirs, {}), (ours, {"neighbors": "remove"})):
        accountant = library.DPSGDAccountant(
            noise_multiplier=0.8, sampling_probability=1e-2, max_steps=500, **options
        )
        found.append(accountant.compute_epsilon(delta=1e-6, num_steps=300))
    (lower, _, upper), (_, estimate, _) = found
    assert lower <= estimate <= upper


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prvs": [object()]}, TypeError, r"prvs\[0\] must be a mechanism of prvcore"),
        ({"eps_error": 0.0}, ValueError, "eps_error must be finite and > 0, got 0.0"),
        ({"delta_error": 0.0}, ValueError, r"delta_error must be in \(0, 1\), got 0.0"),
        ({"max_self_compositions": [1, 2]}, ValueError, "max_self_compositions must have one"),
        ({"neighbors": "none"}, ValueError, "neighbors must be one of"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    arguments = {"prvs": prv.Gaussian(1.0), "max_self_compositions": 3, **ERRORS, **change}
    with pytest.raises(error, match=message):
        ours.PRVAccountant(**arguments)


def test_no_more_runs_than_were_said():
    accountant = ours.PRVAccountant(prv.Gaussian(1.0), max_self_compositions=3, **ERRORS)
    assert accountant.compute_epsilon(0.1, 3) == prv.compose(
        prv.Gaussian(1.0), 3, eps_error=0.1
    ).epsilon(0.1)
    with pytest.raises(ValueError, match=r"at most max_self_compositions, \[3\], got \[4\]"):
        accountant.compute_epsilon(0.1, 4)
    with pytest.warns(UserWarning, match="eps_max is not needed"):
        ours.PRVAccountant(prv.Gaussian(1.0), eps_max=5.0, **ERRORS)


def test_quotients_beyond_all_floats_are_the_greatest_of_them():
    """Rounded down: less noise than there is."""
    found = ours.GaussianMechanism(1e300, 1e-100)
    assert found.noise_multiplier == sys.float_info.max
    assert ours.GaussianMechanism(1e-300, 1e300).noise_multiplier == 0.0
    assert ours.GaussianMechanism(3.0, 10.0).noise_multiplier < Fraction(3, 10)
