"""Which widths a delta is asked for: one in epsilon, or a part of delta, whichever is met first."""

import math
import pickle
import warnings

import mpmath
import numpy as np
import pytest

import prvcore as prv

GAUSSIANS = [(1.0, 1), (20.0, 100), (1.0, 400), (0.5, 7)]
EPSILONS = [-2.0, 0.0, 1e-9, 0.3, 1.0, 5.0, 20.0]
PARTS = [1e-2, 1e-3, 1e-9]


def truth(noise, count, epsilon):
    """Return delta of Gaussians (Balle, Wang 2018, Theorem 8), as an interval of 60 digits."""
    with mpmath.workdps(60):
        mu = mpmath.sqrt(count) / mpmath.mpf(noise)
        x = mpmath.mpf(epsilon)
        upper, below = x / mu - mu / 2, x / mu + mu / 2
        # ncdf(-x) and not 1 - ncdf(x), which keeps no digits
        return +(mpmath.ncdf(-upper) - mpmath.exp(x) * mpmath.ncdf(-below))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("noise", "count"), GAUSSIANS)
def test_bounds_hold_and_one_of_the_widths_is_met(noise, count, part):
    curve = prv.compose(prv.Gaussian(noise), count, delta_relative_error=part, eps_error=1e-5)
    for epsilon in EPSILONS:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            bounds = curve.delta(epsilon)
        exact = truth(noise, count, epsilon)
        assert mpmath.mpf(bounds.lower) <= exact <= mpmath.mpf(bounds.upper), epsilon
        budget = curve.error_budget(epsilon=epsilon)
        relative = bounds.upper - bounds.lower <= part * bounds.upper
        met = relative or budget.width <= 1e-5 * (1.0 + 1e-9)
        assert met == budget.accurate == (not told), epsilon


def test_the_default_is_a_thousandth_of_delta_or_the_width_in_epsilon():
    for noise, count in GAUSSIANS:
        curve = prv.compose(prv.Gaussian(noise), count)
        assert curve.delta_relative_error == 1e-3
        for epsilon in EPSILONS:
            bounds = curve.delta(epsilon)
            width = curve.error_budget(epsilon=epsilon).width
            asked = 1e-3 * max(abs(epsilon), 1e-3) * (1.0 + 1e-9)
            assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper or width <= asked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_mass_at_infinity_counts_as_a_part_of_delta():
    """Where a mass of 1e-3 that is known is most of delta, the rest need not be close."""
    steps = [(prv.ApproximateDP(0.01, 1e-5), 100), (prv.Gaussian(30.0), 100)]
    free = [(prv.ApproximateDP(0.01, 0.0), 100), (prv.Gaussian(30.0), 100)]
    for epsilon in (0.1, 0.3, 0.5, 1.0, 2.0):
        bounds = prv.compose(steps, delta_relative_error=1e-3, eps_error=1e-8).delta(epsilon)
        finite = prv.compose(free, delta_relative_error=1e-6, eps_error=1e-8).delta(epsilon)
        assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
        with mpmath.workdps(60):
            missed = (1 - mpmath.mpf(1e-5)) ** 100
            assert bounds.lower <= 1 - missed * (1 - mpmath.mpf(finite.upper))
            assert 1 - missed * (1 - mpmath.mpf(finite.lower)) <= bounds.upper


@pytest.mark.slow
def test_zero_asks_for_the_width_in_epsilon_alone():
    step = prv.PoissonSubsampledGaussian(1.0, 0.01)
    narrow = prv.compose(step, 1000, delta_relative_error=0, eps_error=1e-6)
    wide = prv.compose(step, 1000, eps_error=1e-6)
    inner, outer = narrow.delta(1.0), wide.delta(1.0)
    assert narrow.error_budget(epsilon=1.0).width <= 1e-6 * (1.0 + 1e-9)
    assert outer.lower <= inner.lower <= inner.upper <= outer.upper
    assert inner.upper - inner.lower < 0.1 * (outer.upper - outer.lower)
    assert outer.upper - outer.lower <= 1e-3 * outer.upper


def test_what_has_a_width_in_epsilon_does_not_change():
    step = prv.PoissonSubsampledGaussian(1.0, 0.01)
    one, other = (prv.compose(step, 500, delta_relative_error=x) for x in (0.0, 0.5))
    assert one.epsilon(1e-6) == other.epsilon(1e-6)
    assert one.power(0.01) == other.power(0.01)
    assert one.gaussian_mu(1e-6) == other.gaussian_mu(1e-6)
    mean = {"discretization": "mean-matching"}
    one, other = (prv.compose(step, 500, delta_relative_error=x, **mean) for x in (0.0, 0.5))
    assert one.delta(1.0) == other.delta(1.0)


def test_a_mesh_is_too_coarse_only_if_neither_width_is_met():
    options = {"mesh_size": 1e-2, "eps_error": 1e-9}
    curve = prv.compose(prv.Gaussian(20.0), 100, delta_relative_error=0.5, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve.delta(1.0)
    curve = prv.compose(prv.Gaussian(20.0), 100, delta_relative_error=1e-9, **options)
    with pytest.warns(
        prv.AccuracyWarning, match=r"wider than eps_error = 1e-09, and than delta_relative_error"
    ):
        curve.delta(1.0)


def test_it_is_a_setting_like_the_others():
    step = prv.Gaussian(1.0)
    curve = prv.compose(step, 3, delta_relative_error=0.25)
    assert curve.delta_relative_error == 0.25
    assert curve != prv.compose(step, 3)
    assert hash(curve) == hash(prv.compose(step, 3, delta_relative_error=0.25))
    assert "delta_relative_error=0.25" in repr(curve)
    assert "delta_relative_error" not in repr(prv.compose(step, 3))
    assert pickle.loads(pickle.dumps(curve)) == curve
    assert (curve * 2).delta_relative_error == 0.25
    with pytest.raises(ValueError, match=r"delta_relative_error=0\.25"):
        curve + prv.compose(step, 3)
    assert prv.delta_from_eps(step, 1.0, counts=3, delta_relative_error=0.25) == curve.delta(1.0)
    accountant = prv.Accountant(delta_relative_error=0.25)
    accountant.add(step, 3)
    again = prv.Accountant.from_json(accountant.to_json())
    assert again == accountant
    assert again.options == {"delta_relative_error": 0.25}
    assert again.curve().delta_relative_error == 0.25
    swept = prv.dpsgd_delta(1.0, 1.0, np.array([3, 4]), 1.0, delta_relative_error=0.25)
    assert swept.upper[0] == curve.delta(1.0).upper


@pytest.mark.parametrize("part", [-1e-3, 1.0, 2.0, float("inf"), float("nan")])
def test_a_part_outside_its_range_is_refused(part):
    with pytest.raises(ValueError, match=r"^delta_relative_error must be in \[0, 1\), got "):
        prv.compose(prv.Gaussian(1.0), delta_relative_error=part)


@pytest.mark.parametrize("part", ["1e-3", None, 1j])
def test_a_part_that_is_no_number_is_refused(part):
    with pytest.raises(TypeError, match=r"^delta_relative_error must be "):
        prv.Accountant(delta_relative_error=part)


def test_the_command_line_takes_it(capsys):
    from prvcore._cli import main

    mechanism = ["--noise-multiplier", "20", "--sampling-probability", "1", "--steps", "100"]
    main(["delta", *mechanism, "--epsilon", "0", "--delta-relative-error", "0.25", "--json"])
    assert '"delta_relative_error": 0.25' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("steps", "epsilon"),
    [
        ([(prv.PoissonSubsampledGaussian(8.535, 0.0001386), 602)], 0.508575515638132),
        ([(prv.BoundedRange(0.007678), 20_276)], 23.0),
        ([(prv.PoissonSubsampled(prv.Laplace(4.054), 0.002054), 40_948)], 6.9),
    ],
)
def test_a_delta_below_the_promised_ones_composes_nothing(steps, epsilon):
    curve = prv.compose(steps)
    bounds = curve.delta(epsilon)
    assert bounds.lower == 0.0 < bounds.upper <= 1e-301
    assert curve.error_budget(epsilon=epsilon).engine == "none"
    assert curve.error_budget(epsilon=epsilon).accurate
    # The greatest epsilon at which this holds is an epsilon of that delta.
    assert prv.compose(steps, eps_error=0.1).epsilon(1e-301).lower <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("part", [1e-2, 1e-4])
def test_a_delta_that_is_the_mass_at_infinity_composes_nothing(part):
    """Two-point losses of 1,000 steps, by a sum of 60 digits: most of delta is at infinity."""
    odds = math.exp(0.125)
    table = prv.FromTable(
        [-0.125, 0.125], [(1 - 1e-7) / (1 + odds), (1 - 1e-7) * odds / (1 + odds)], 1e-7
    )
    steps = [(table, 1000)]
    curve = prv.compose(steps, delta_relative_error=part)
    bounds = curve.delta(60.0)
    with mpmath.workdps(60):
        odds = mpmath.exp(mpmath.mpf(0.125))
        kept = (1 - mpmath.mpf(1e-7)) ** 1000
        finite = mpmath.fsum(
            mpmath.binomial(1000, i)
            * odds**i
            / (1 + odds) ** 1000
            * -mpmath.expm1(60 - mpmath.mpf(0.125) * (2 * i - 1000))
            for i in range(741, 1001)
        )
        exact = 1 - kept + kept * finite
        assert mpmath.mpf(bounds.lower) <= exact <= mpmath.mpf(bounds.upper)
    assert bounds.upper - bounds.lower <= part * bounds.upper
    assert curve.error_budget(epsilon=60.0).engine == "none"
