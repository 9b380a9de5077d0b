"""The Gaussian mechanism that is no more private than a composition, against closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom, norm

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)


def gaussian_delta(epsilon, mu):
    return norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "count"), [(1e-3, 1), (0.1, 16), (1.0, 1), (1.0, 1000), (5.0, 3)])
@pytest.mark.parametrize("delta", [1e-4, 1e-10, 1e-100])
def test_a_gaussian_composition_has_its_own_mu(mu, count, delta):
    curve = prv.compose(prv.Gaussian(noise_multiplier=math.sqrt(count) / mu), count)
    bounds = curve.gaussian_mu(delta)
    if gaussian_delta(0.0, mu) > delta:
        assert bounds.lower <= mu * (1 + 1e-14)
        assert mu * (1 - 1e-14) <= bounds.upper
        assert bounds.upper - bounds.lower <= 4e-3 * mu
    else:
        assert bounds == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("mu", "count"), [(14.5, 1), (16.0, 100), (30.0, 1), (60.0, 7)])
@pytest.mark.parametrize("neighbors", ["remove", "replace-one"])
def test_a_gaussian_composition_has_its_own_mu_where_delta_rounds_to_1(mu, count, neighbors):
    assert gaussian_delta(0.0, mu) == pytest.approx(1.0, abs=1e-12)
    sensitivity = 2 if neighbors == "replace-one" else 1
    noise = prv.Gaussian(noise_multiplier=sensitivity * math.sqrt(count) / mu)
    bounds = prv.compose(noise, count, neighbors=neighbors).gaussian_mu([1e-3, 1e-12])
    assert np.all(bounds.lower <= mu * (1 + 1e-14))
    assert np.all(bounds.lower >= mu * (1 - 4e-3))
    assert np.all((mu * (1 - 1e-14) <= bounds.upper) & (bounds.upper <= 1.15 * mu))


@pytest.mark.slow
def test_a_single_step_whose_masses_underflow_has_a_mu():
    assert 400.0 * (1 - 1e-14) <= prv.compose(prv.Gaussian(1 / 400)).gaussian_mu(1e-5).upper < 1e3


@pytest.mark.parametrize("epsilon", [40.0, 300.0])
def test_pure_mechanisms_that_protect_little(epsilon):
    """As below, where delta rounds to 1 up to an epsilon not far from that of the mechanism."""
    upper = prv.compose(prv.PureDP(epsilon=epsilon)).gaussian_mu([1e-12, 1e-3]).upper
    truth = 2 * norm.isf(1 / (1 + math.exp(epsilon)))
    assert np.all((truth * (1 - 1e-12) <= upper) & (upper <= 1.01 * truth))


def test_the_distance_of_delta_from_1_is_that_of_the_mu_or_more():
    """1 - delta of 300 pure mechanisms as a sum over how many of them have the greater loss."""
    epsilon, count = 1.0, 300
    upper = prv.compose(prv.PureDP(epsilon), count).gaussian_mu(1e-5).upper
    assert upper < 25.0
    greater = np.arange(count + 1)
    losses = epsilon * (2.0 * greater - count)
    log_masses = binom.logpmf(greater, count, 1 / (1 + math.exp(-epsilon)))
    for at in np.linspace(0.0, 130.0, 53):
        log_distance = logsumexp(log_masses + np.minimum(at - losses, 0.0))
        x = at / upper - upper / 2
        assert np.logaddexp(norm.logcdf(x), at + norm.logsf(x + upper)) <= log_distance + 1e-9


@pytest.mark.slow
def test_functions_tell_nothing_of_the_distance_of_delta_from_1():
    curve = prv.compose(
        prv.FromCDFs(lambda y: norm.cdf(y, 200, 20), lambda y: norm.cdf(y, -200, 20))
    )
    assert curve.gaussian_mu(1e-3).upper == math.inf


@pytest.mark.parametrize("epsilon", [0.01, 1.2, 8.0])
def test_pure_mechanisms(epsilon):
    """The Gaussians that a test tells apart with both errors 1 / (1 + e^epsilon)."""
    bounds = prv.compose(prv.PureDP(epsilon=epsilon)).gaussian_mu([1e-12, 1e-3])
    truth = 2 * norm.isf(1 / (1 + math.exp(epsilon)))
    assert np.all((bounds.lower <= truth * (1 + 1e-12)) & (truth * (1 - 1e-12) <= bounds.upper))
    assert np.all(bounds.upper <= truth * 1.001)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_randomized_response(epsilon):
    """Its delta falls linearly in e^epsilon: the Gaussian curve that touches that line."""
    categories = 10
    own = math.exp(epsilon) / (math.exp(epsilon) + categories - 1)
    other = 1 / (math.exp(epsilon) + categories - 1)
    curve = prv.compose(prv.RandomizedResponse(epsilon, categories), neighbors="replace-one")
    bounds = curve.gaussian_mu(1e-9)
    # the line own - other t touches the curve of this mu at t = e^(mu (touch - mu / 2))
    mu, touch = norm.isf(other) - norm.isf(own), norm.isf(other)
    if mu * (touch - mu / 2) <= 0.0:  # it touches below epsilon 0: there delta(0) decides
        mu = 2 * norm.isf((1 - (own - other)) / 2)
    assert bounds.lower <= mu * (1 + 1e-12)
    assert mu * (1 - 1e-12) <= bounds.upper <= mu * 1.001


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("neighbors", ["add", "remove", "add-or-remove"])
def test_what_the_mu_says_is_so(delta, neighbors):
    """upper: no epsilon has a delta above both; lower: some epsilon has."""
    curve = prv.compose(STEP, 1000, neighbors=neighbors)
    lower, estimate, upper = curve.gaussian_mu(delta)
    assert 0 < lower <= estimate <= upper <= 1.01 * lower
    end = curve.epsilon(delta)
    epsilons = np.linspace(0.0, end.upper, 41)
    above = np.array([max(gaussian_delta(e, upper), delta) for e in epsilons])
    assert np.all(curve.delta(epsilons).lower <= above)
    epsilons = np.linspace(0.0, end.lower, 41)
    needed = [
        brentq(lambda mu, e=e, d=d: gaussian_delta(e, mu) - d, 1e-3, 10.0)
        for e, d in zip(epsilons, curve.delta(epsilons).upper, strict=True)
    ]
    assert 0.99 * lower <= max(needed) <= upper * 1.01


def test_more_deltas_more_mu():
    bounds = prv.compose(STEP, 1000).gaussian_mu([1e-2, 1e-4, 1e-8, 1e-16])
    assert np.all(np.diff(bounds.upper) > 0.0)
    assert np.all(bounds.upper[:-1] <= bounds.lower[1:])


def test_mass_at_infinity_has_no_mu():
    curve = prv.compose(prv.ApproximateDP(epsilon=0.1, delta=1e-3))
    assert curve.gaussian_mu(1e-4) == (math.inf, math.inf, math.inf)
    assert 0.0 < curve.gaussian_mu(2e-3).upper < 1.0


@pytest.mark.slow
def test_both_discretizations_agree():
    steps = [(prv.Gaussian(noise_multiplier=20), 100)]
    for settings in ({}, {"discretization": "mean-matching", "eps_error": 0.01}):
        lower, _, upper = prv.compose(steps, **settings).gaussian_mu(1e-4)
        assert lower <= 0.5 <= upper <= 0.53


def test_nothing_composed_has_mu_0():
    assert prv.compose([]).gaussian_mu([1e-9, 1.0]).upper.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.1, math.nan])
def test_deltas_are_positive_probabilities(delta):
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\]"):
        prv.compose(STEP).gaussian_mu(delta)
