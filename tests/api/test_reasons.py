"""Each answer that is wider than asked says why, over random lists of mechanisms."""

import math
import random
import warnings

import pytest

import prvcore as prv

ASKED = 1e-3  # of epsilon, and of 1e-3 at least: the default


def log_uniform(draw, low, high):
    return low * (high / low) ** draw.random()


def mechanism(draw):
    """Return one of the kinds whose losses are smooth, discrete or both, attained or not."""
    noise, p = log_uniform(draw, 0.5, 20), log_uniform(draw, 1e-4, 0.3)
    return draw.choice(
        [
            lambda: prv.PoissonSubsampledGaussian(noise, p),
            lambda: prv.PoissonSubsampled(prv.DiscreteGaussian(noise), p),
            lambda: prv.PoissonSubsampled(prv.Laplace(noise), p),
            lambda: prv.DiscreteGaussian(noise, draw.choice([1, 2, 5])),
            lambda: prv.DiscreteLaplace(noise),
            lambda: prv.Gaussian(noise),
            lambda: prv.PureDP(log_uniform(draw, 1e-3, 2)),
            lambda: prv.ApproximateDP(log_uniform(draw, 1e-3, 2), 1e-10),
            lambda: prv.BoundedRange(log_uniform(draw, 1e-3, 2)),
            lambda: prv.TruncatedPoissonSubsampledGaussian(noise, 0.01, 10_000, 110),
        ]
    )()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_wider_than_asked_says_why(seed):
    draw = random.Random(seed)
    steps = [
        (mechanism(draw), int(log_uniform(draw, 1, 3000))) for _ in range(draw.choice([1, 2, 3, 5]))
    ]
    delta = log_uniform(draw, *draw.choice([(1e-12, 1e-3), (1e-12, 1e-3), (1e-90, 1e-12)]))
    curve = prv.compose(steps)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", prv.AccuracyWarning)
        bounds = curve.epsilon(delta)
    width = 0.0 if bounds.lower == math.inf else bounds.upper - bounds.lower
    if not told:
        assert width <= ASKED * max(bounds.upper, 1e-3)
    elif told[0].category is prv.UnattainedWarning:
        # No setting helps: the known data sets are that far from the bound for all of them.
        assert not curve.attained
        budget = curve.error_budget(delta=delta)
        assert budget.accurate
        assert width <= 1.01 * (budget.unattained + ASKED * max(bounds.upper, 1e-3))
    else:
        assert any(cause in str(told[0].message) for cause in ("rounding", "passes", "memory"))


UNKNOWN = "the worst data sets known"


def test_unattained_bounds_say_that_no_setting_brings_them_closer():
    step = prv.BoundedRange(1.0)
    with pytest.warns(prv.UnattainedWarning, match=UNKNOWN):
        prv.eps_from_delta(step, 1e-6, counts=20)
    with pytest.warns(prv.UnattainedWarning, match=UNKNOWN):
        prv.delta_from_eps(step, 5.0, counts=20)
    accountant = prv.Accountant()
    accountant.add(step, 20)
    for _ in range(2):  # the second answer is the kept one
        with pytest.warns(prv.UnattainedWarning, match=UNKNOWN):
            accountant.epsilon(1e-6)


def test_bounds_as_close_as_asked_need_no_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert prv.compose(prv.BoundedRange(1.0), counts=1).epsilon(1e-6).upper <= 1.0
        unattained = prv.compose(prv.BoundedRange(1.0), counts=20, eps_error=3.0)
        assert not unattained.attained
        assert unattained.epsilon(1e-6).upper <= 20.0
        assert prv.compose(prv.ApproximateDP(1.0, 1e-3)).epsilon(1e-6).upper == math.inf


def test_unattained_quantities_say_that_no_setting_brings_them_closer():
    curve = prv.compose(prv.RandomAllocation(prv.Gaussian(1.0), batches=10, selected=2))
    for bound in (curve.power, curve.gaussian_mu):
        with pytest.warns(prv.UnattainedWarning, match="lower bound is that of " + UNKNOWN):
            bound(1e-3)
    for bound in (curve.trade_off, prv.compose(prv.BoundedRange(2.0), 20).bayes_risk):
        with pytest.warns(prv.UnattainedWarning, match="upper bound is that of " + UNKNOWN):
            bound(0.1)
    cut = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 10_000, 110)
    with pytest.warns(prv.UnattainedWarning, match=UNKNOWN):
        prv.compose(cut, 100).renyi_divergence(8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attained = prv.compose(prv.Gaussian(1.0), 10)
        for bound in (attained.power, attained.trade_off, attained.bayes_risk):
            bound(0.1)
        prv.compose(prv.Gaussian(5.0)).renyi_divergence([2, 8])


def test_at_the_mass_at_infinity_epsilon_is_the_greatest_loss_or_a_reason_is_told():
    def exact(loss, part):  # a record that enters with this probability, and loses so much
        return math.log1p(part * math.expm1(loss))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The mass is known, and the greatest loss is enclosed: that of a fifth of the batches.
        epoch = prv.compose(prv.RandomAllocation(prv.ApproximateDP(0.1, 1e-5), 5))
        bounds = epoch.epsilon(1e-5)
        assert bounds.lower <= 0.1 <= bounds.upper <= 0.1 + 1e-9
        assert bounds.lower >= 0.1 - 1e-6  # all batches lose 0.1 with a probability of 1 / 2^5
        both = prv.PoissonSubsampled([prv.Laplace(1.0), prv.PureDP(0.3)], 0.3)
        bounds = prv.compose(both, 3).epsilon(0.0)
        assert bounds.lower <= 3.0 * exact(1.3, 0.3) <= bounds.upper <= bounds.lower * 1.001
    # The mass is a rounded product, of which nobody knows whether delta is below it.
    sampled = prv.compose(prv.PoissonSubsampled(prv.ApproximateDP(0.1, 1e-5), 0.9))
    with pytest.warns(prv.AccuracyWarning, match="rounding"):
        bounds = sampled.epsilon(0.9 * 1e-5)
    assert bounds.upper == math.inf
    assert 0.0 <= exact(0.1, 0.9) - bounds.lower <= 1e-6
