"""Mechanisms given by callbacks: a privacy curve, or the two cdfs of the loss."""

import _thread
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import prvcore as prv


def gaussian_curve(mu):
    """Return the privacy curve of N(mu, 1) against N(0, 1)."""

    def delta(epsilons):
        epsilons = np.asarray(epsilons)
        log_q = log_ndtr(mu / 2.0 - epsilons / mu)
        log_p = epsilons + log_ndtr(-mu / 2.0 - epsilons / mu)
        return np.clip(np.exp(log_q) * -np.expm1(np.minimum(log_p - log_q, 0.0)), 0.0, 1.0)

    return delta


def by_curve(mu):
    return prv.FromPrivacyCurve(gaussian_curve(mu))


def by_cdfs(mu):
    return prv.FromCDFs(
        lambda losses: ndtr(losses / mu - mu / 2.0), lambda losses: ndtr(losses / mu + mu / 2.0)
    )


def exact_epsilon(mu, delta):
    curve = gaussian_curve(mu)
    top = mu * (mu / 2.0 + 9.0)
    return brentq(lambda e: float(curve(e)) - delta, -1.0, top, xtol=1e-13, rtol=1e-14)


OWN = pytest.mark.parametrize("own", [by_curve, by_cdfs])


@pytest.mark.slow
@OWN
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0, 5.0])
@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
def test_the_bounds_contain_the_closed_form(own, mu, count, delta):
    lower, estimate, upper = prv.compose(own(mu), count).epsilon(delta)
    epsilon = exact_epsilon(mu * math.sqrt(count), delta)
    assert lower <= epsilon <= upper
    assert lower <= estimate <= upper
    assert upper - lower <= 1e-3 * upper


@OWN
@pytest.mark.parametrize("delta", [1e-15, 1e-20, 1e-300])
def test_a_delta_within_the_rounding_of_values_has_a_lower_bound_alone(own, delta):
    mu, count = 0.5, 100
    with pytest.warns(prv.AccuracyWarning, match="rounding in double .* Ask about a larger delta"):
        lower, _, upper = prv.compose(own(mu), count).epsilon(delta)
    assert upper == math.inf
    # epsilon falls with delta
    assert exact_epsilon(mu * math.sqrt(count), 1e-10) < lower
    assert lower <= prv.compose(prv.Gaussian(1 / mu), count).epsilon(delta).upper


@OWN
@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 1.0, 4.0])
def test_deltas_contain_the_closed_form(own, count, epsilon):
    mu = 1.0
    exact = float(gaussian_curve(mu * math.sqrt(count))(epsilon))
    lower, _, upper = prv.compose(own(mu), count).delta(epsilon)
    assert lower <= exact * (1.0 + 1e-12)
    assert exact * (1.0 - 1e-12) <= upper


@pytest.mark.slow
@OWN
@pytest.mark.parametrize("neighbors", ["add", "remove", "add-or-remove"])
@pytest.mark.parametrize("count", [1, 10, 100])
def test_subsampling_agrees_with_the_built_in_mechanism(own, neighbors, count):
    sampled = prv.PoissonSubsampled(own(1.0), sampling_probability=0.1)
    built_in = prv.PoissonSubsampledGaussian(1.0, sampling_probability=0.1)
    for delta in (1e-2, 1e-5, 1e-8):
        found = prv.compose(sampled, count, neighbors=neighbors).epsilon(delta)
        expected = prv.compose(built_in, count, neighbors=neighbors, eps_error=1e-6).epsilon(delta)
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper
        assert found.upper - found.lower <= 1e-3 * found.upper


@pytest.mark.parametrize("mu", [0.1, 3.0])
def test_values_may_be_off_by_their_rounding(mu):
    def noise(x):
        return 2e-16 * np.sin(3e7 * x)

    def delta(epsilons):
        values = gaussian_curve(mu)(epsilons)
        inner = (values > 1e-3) & (values < 1.0 - 1e-3)
        return np.where(inner, values + noise(epsilons), values)

    def cdf(shift):
        def values(losses):
            noisy = ndtr((losses + shift) / mu) + noise(losses + shift)
            return np.maximum.accumulate(np.clip(noisy, 0.0, 1.0))

        return values

    epsilon = exact_epsilon(10.0 * mu, 1e-6)
    half = mu * mu / 2.0
    for mechanism in (prv.FromPrivacyCurve(delta), prv.FromCDFs(cdf(-half), cdf(half))):
        lower, _, upper = prv.compose(mechanism, 100).epsilon(1e-6)
        assert lower <= epsilon <= upper


@pytest.mark.parametrize("error", [-4, -0.1, 1, 4])
def test_cdfs_may_leave_the_unit_interval_by_their_rounding(error):
    error *= 2.0**-53
    mechanism = prv.FromCDFs(lambda y: ndtr(y - 0.5) + error, lambda y: ndtr(y + 0.5) + error)
    lower, _, upper = prv.compose(mechanism, 10).epsilon(1e-5)
    assert lower <= exact_epsilon(math.sqrt(10.0), 1e-5) <= upper


@pytest.mark.parametrize("error", [-4, -0.1, 4])
def test_curves_may_leave_the_unit_interval_by_their_rounding(error):
    mechanism = prv.FromPrivacyCurve(lambda e: gaussian_curve(1.0)(e) + error * 2.0**-53)
    lower, _, upper = prv.compose(mechanism, 10).epsilon(1e-5)
    assert lower <= exact_epsilon(math.sqrt(10.0), 1e-5) <= upper


def test_a_tail_of_p_below_its_rounding_is_no_news():
    # at this epsilon P's cdf has long been 1 in double precision
    lower, _, upper = prv.compose(by_cdfs(5.0), 1).epsilon(1e-8)
    assert lower <= exact_epsilon(5.0, 1e-8) <= upper


def test_mass_at_infinity_is_kept():
    base = gaussian_curve(1.0)
    mechanism = prv.FromPrivacyCurve(
        lambda epsilons: 1e-4 + (1.0 - 1e-4) * base(epsilons), mass_at_infinity=1e-4
    )
    curve = prv.compose(mechanism, 3)
    total = -math.expm1(3.0 * math.log1p(-1e-4))
    assert curve.epsilon(0.9 * total).lower == math.inf
    delta = total + (1.0 - total) * float(gaussian_curve(math.sqrt(3.0))(2.0))
    lower, _, upper = curve.delta(2.0)
    assert lower <= delta <= upper
    assert upper - lower < 1e-2 * delta


# ---- What callbacks do wrong -----------------------------------------------------------------


class MineError(Exception):
    pass


def raising(own, after):
    calls = []

    def look(*_):
        calls.append(None)
        if len(calls) > after:
            raise MineError("from the callback")

    if own is by_curve:
        return prv.FromPrivacyCurve(lambda e: look() or gaussian_curve(1.0)(e))
    return prv.FromCDFs(lambda y: look() or ndtr(y - 0.5), lambda y: ndtr(y + 0.5))


@OWN
@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_what_a_callback_raises_comes_out(own, after):
    with pytest.raises(MineError, match="from the callback"):
        prv.compose(raising(own, after), 10, eps_error=1e-4).epsilon(1e-5)


def test_control_c_in_a_callback_comes_out():
    def delta(epsilons):
        _thread.interrupt_main()
        return gaussian_curve(1.0)(epsilons)

    with pytest.raises(KeyboardInterrupt):
        prv.compose(prv.FromPrivacyCurve(delta), 10).epsilon(1e-5)


@pytest.mark.parametrize(
    "values",
    [
        lambda e: np.full(e.shape, 1.5),
        lambda e: np.full(e.shape, np.nan),
        lambda e: 1.0 / (1.0 + np.exp(-np.clip(e, -30.0, 30.0))),  # increases
        lambda e: np.where(e < 1.0, 1.0, 0.0),  # not convex in e^epsilon
    ],
)
def test_values_of_no_curve_are_refused(values):
    with pytest.raises(ValueError, match=r"must|curve"):
        prv.compose(prv.FromPrivacyCurve(values), 2).epsilon(1e-3)


def test_cdfs_of_no_pair_are_refused():
    swapped = prv.FromCDFs(lambda y: ndtr(y + 0.5), lambda y: ndtr(y - 0.5))
    with pytest.raises(ValueError, match="pair"):
        prv.compose(swapped, 2).epsilon(1e-3)


class Unhashable:
    """A privacy curve, of which all instances are equal, and none has a hash."""

    def __eq__(self, other):
        return isinstance(other, Unhashable)

    def __call__(self, epsilons):
        return -np.expm1(np.minimum(epsilons, 0.0))


def test_equal_functions_without_a_hash_are_one_mechanism():
    steps = [(prv.FromPrivacyCurve(Unhashable()), count) for count in (2, 3)]
    curve = prv.compose([*steps, (prv.Gaussian(2.0), 1), *steps])
    assert sorted(curve.counts) == [1, 10]
