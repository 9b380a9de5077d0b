"""Curves as objects: sums, multiples, tests of hypotheses, pictures."""

import math
import pickle
import re
import sys
from fractions import Fraction

import matplotlib
import numpy as np
import pytest
from mpmath import mp
from scipy.stats import norm

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-2)


# ---- Sums and multiples ------------------------------------------------------------------------


def test_a_sum_composes_all_steps_of_both():
    a = prv.compose([(STEP, 100), prv.Laplace(scale=20)], neighbors="remove")
    b = prv.compose([(STEP, 50), (prv.Gaussian(noise_multiplier=30), 3)], neighbors="remove")
    together = prv.compose(
        [(STEP, 150), prv.Laplace(scale=20), (prv.Gaussian(noise_multiplier=30), 3)],
        neighbors="remove",
    )
    assert a + b == b + a == together
    assert (a + b).epsilon(1e-6) == together.epsilon(1e-6)


def test_a_multiple_repeats_all_steps():
    curve = prv.compose([(STEP, 10), prv.Laplace(scale=20)], eps_error=0.01)
    assert 3 * curve == curve * 3 == curve + curve + curve
    assert curve * np.int64(2) == curve + curve
    assert (curve * 0).epsilon(1e-6) == (0.0, 0.0, 0.0)
    assert pickle.loads(pickle.dumps(curve * 3)) == 3 * curve


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"neighbors": "add"}, "neighbors"), ({"eps_error": 0.5}, "eps_error")],
)
def test_curves_of_other_settings_are_not_added(settings, name):
    with pytest.raises(ValueError, match=f"same settings, got {name}"):
        prv.compose(STEP) + prv.compose(STEP, **settings)


@pytest.mark.parametrize("times", [-1, 1.5, True, "2"])
def test_multiples_are_counts(times):
    with pytest.raises(ValueError if times == -1 else TypeError):
        prv.compose(STEP) * times
    with pytest.raises(TypeError):
        prv.compose(STEP) + STEP


def test_counts_of_multiples_stay_in_range():
    with pytest.raises(ValueError, match="counts must add up to at most"):
        prv.compose(STEP, 2**30) * 2**30


# ---- Tests of hypotheses -----------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "count"), [(1.0, 1), (10.0, 25), (50.0, 1000)])
def test_power_against_gaussian_noise(noise, count):
    """Neyman and Pearson: Phi(Phi^-1(alpha) + mu)."""
    rates = np.array([1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.99])
    bounds = prv.compose(prv.Gaussian(noise_multiplier=noise), count).power(rates)
    truth = norm.cdf(norm.ppf(rates) + math.sqrt(count) / noise)
    assert np.all(bounds.lower <= truth * (1 + 1e-12))
    assert np.all(truth * (1 - 1e-12) <= bounds.upper)
    assert np.all(bounds.upper - bounds.lower <= 0.1 * truth)


def test_power_against_randomized_response():
    """alpha e^epsilon up to the kink at 1 / (1 + e^epsilon), then a line of slope e^-epsilon."""
    epsilon = 1.2
    rates = np.linspace(0.0, 1.0, 11)
    bounds = prv.compose(prv.PureDP(epsilon=epsilon)).power(rates)
    truth = np.minimum(math.exp(epsilon) * rates, 1.0 - math.exp(-epsilon) * (1.0 - rates))
    assert np.all((bounds.lower <= truth + 1e-12) & (truth - 1e-12 <= bounds.upper))
    assert np.all(bounds.upper - bounds.lower <= 0.01)


def test_trade_off_is_what_power_leaves():
    curve = prv.compose(STEP, 1000)
    power, errors = curve.power([0.01, 0.2]), curve.trade_off([0.01, 0.2])
    for i in range(2):
        low, high = 1 - Fraction(power.upper[i]), 1 - Fraction(power.lower[i])
        assert math.nextafter(low, -1.0) <= errors.lower[i] <= low
        assert high <= errors.upper[i] <= math.nextafter(high, 2.0)
    assert np.all((errors.lower <= errors.estimate) & (errors.estimate <= errors.upper))


def test_power_is_the_greater_of_both_directions():
    both, add, remove = (
        prv.compose(STEP, 1000, neighbors=neighbors).power(0.05)
        for neighbors in ("add-or-remove", "add", "remove")
    )
    assert both.upper == max(add.upper, remove.upper)
    assert both.lower == max(add.lower, remove.lower)


@pytest.mark.slow
def test_no_test_beats_guessing_by_more_than_the_total_variation():
    curve = prv.compose(STEP, 1000)
    rates = np.linspace(0.0, 1.0, 21)
    advantage = curve.power(rates).lower - rates
    total = curve.total_variation()
    assert np.all(advantage <= total.upper)
    assert total == curve.delta(0.0)


def test_mass_at_infinity_is_power_for_nothing():
    bounds = prv.compose(prv.ApproximateDP(epsilon=1.0, delta=0.25)).power([0.0, 1.0])
    assert np.all((bounds.lower <= [0.25, 1.0]) & (bounds.upper >= [0.25, 1.0]))
    np.testing.assert_allclose(bounds.upper, bounds.lower, rtol=1e-13)


@pytest.mark.parametrize("count", [1, 2])
def test_no_mass_at_infinity_is_zero_without_a_sign(count):
    for part in prv.compose(STEP, count).power(0.0):
        assert part == 0.0
        assert math.copysign(1.0, part) == 1.0


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_rates_are_probabilities(rate):
    with pytest.raises(ValueError, match=r"false_positive_rate must be in \[0, 1\]"):
        prv.compose(STEP).power(rate)


# ---- For people --------------------------------------------------------------------------------


def test_html_names_all_that_is_assumed():
    curve = prv.compose([(STEP, 1000), prv.Laplace(scale=20)], neighbors="add", eps_error=0.25)
    text = curve._repr_html_()
    for part in ("PoissonSubsampledGaussian", "1,000", "Laplace", "neighbors add", "0.25"):
        assert part in text
    text = prv.compose(STEP, engine="convolution", mesh_size=0.125)._repr_html_()
    assert "engine convolution; mesh_size 0.125" in text


def test_an_explanation_of_exact_bounds_has_nothing_to_add():
    assert "exact but for rounding" in str(prv.explain(prv.compose([]), 1e-5))
    with pytest.raises(TypeError, match="curve must be a PrivacyCurve, which compose makes, got 3"):
        prv.explain(3, 1e-5)


@pytest.fixture
def axes():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot.subplots()[1]
    pyplot.close("all")


def test_a_title_breaks_no_word(axes):
    step = prv.SubsampledWithoutReplacement(prv.Gaussian(1.1), 0.25)
    title = prv.compose(step, 2, neighbors="replace-one").plot(ax=axes).get_title()
    assert title.split() == [
        "SubsampledWithoutReplacement(mechanism=Gaussian(noise_multiplier=1.1),",
        "sampling_probability=0.25),",
        "2",
        "times,",
        "replace-one",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("delta", {}),
        ("trade-off", {"false_positive_rates": [0, 0.1, 0.5, 1]}),
        ("steps", {"delta": 1e-6, "multiples": [1, 10]}),
    ],
)
def test_a_plot_shows_the_certified_bounds(axes, kind, options):
    curve = prv.compose(STEP, 100)
    assert curve.plot(kind, axes, **options) is axes
    x, upper = axes.lines[0].get_data()
    if kind == "delta":
        truth = curve.delta(x).upper
    elif kind == "trade-off":
        truth = curve.trade_off(x).upper
    else:
        truth = [(curve * (int(n) // 100)).epsilon(1e-6).upper for n in x]
    np.testing.assert_array_equal(upper, truth)
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'prvcore\[plot\]'"):
        prv.compose(STEP, 100).plot("delta")


def test_a_plot_says_what_it_lacks(axes):
    curve = prv.compose(STEP, 100)
    with pytest.raises(ValueError, match="kind must be one of"):
        curve.plot("pie", axes)
    with pytest.raises(TypeError, match="delta must be given"):
        curve.plot("steps", axes)
    with pytest.raises(TypeError, match=r"delta must be a real number, in \[0, 1\], got \[1e-05"):
        curve.plot("steps", axes, delta=[1e-5, 1e-6])
    with pytest.raises(ValueError, match="a curve must have steps to plot"):
        prv.compose([]).plot("steps", axes, delta=1e-5)


WIDE = {
    "mesh": ({"mesh_size": 0.05, "eps_error": 1e-3}, r"mesh_size = 0\.05 kept .* Lower mesh_size"),
    "memory": ({}, r"the memory limit of 16384 bytes kept .* Raise eps_error or memory_limit"),
}


@pytest.mark.parametrize("why", WIDE)
@pytest.mark.parametrize(
    ("question", "named"),
    [
        (lambda curve: curve.power([0.01, 0.2]), "the power"),
        (lambda curve: curve.trade_off(0.01), "the power"),
        (lambda curve: curve.gaussian_mu(1e-5), "mu"),
    ],
    ids=["power", "trade-off", "mu"],
)
def test_bounds_that_are_too_wide_say_what_kept_them_so(memory_limit, why, question, named):
    options, message = WIDE[why]
    if why == "memory":
        prv.set_memory_limit(2**14)
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.0, 0.01), 1000, **options)
    with pytest.warns(prv.AccuracyWarning, match=f"bounds of {named} up to") as caught:
        question(curve)
    assert re.match(message, str(caught[0].message))
    assert caught[0].filename == __file__


def test_too_little_memory_names_what_was_asked(memory_limit):
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.0, 0.01), 1000)
    prv.set_memory_limit(2**10)
    for question in (lambda: curve.power(0.01), lambda: curve.gaussian_mu(1e-5)):
        with pytest.raises(ValueError, match=r"eps_error = .* needs \d+ bytes, .* limit of 1024"):
            question()


@pytest.mark.parametrize("exponent", [-50, -150, -200, -250, -280, -299])
def test_powers_at_tiny_rates_are_as_close(exponent):
    """Of a Gaussian: Phi(Phi^-1(rate) + mu)."""
    noise, steps = 50.0, 10
    rate = 10.0**exponent
    with mp.workdps(40):
        mu = mp.sqrt(steps) / noise
        log_rate, start = mp.log(mp.mpf(rate)), mp.sqrt(-2 * mp.log(rate))
        z = mp.findroot(lambda z: mp.log(mp.ncdf(-z)) - log_rate, start)
        truth = mp.ncdf(mu - z)
        bounds = prv.compose(prv.Gaussian(noise), steps).power(rate)
        assert mp.mpf(bounds.lower) <= truth <= mp.mpf(bounds.upper)
        assert bounds.upper <= 1.25 * bounds.lower


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_picture_without_points_says_so():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for axes, said in (
        (prv.compose([]).plot(), "delta is 0 at every epsilon here"),
        (
            prv.compose(prv.PureDP(0.01)).plot("steps", delta=0.9, multiples=[1, 2]),
            "epsilon is 0 or infinite at all of these steps",
        ),
    ):
        assert [text.get_text() for text in axes.texts] == [said]
        assert not axes.lines
        assert axes.get_legend() is None
    pyplot.close("all")
