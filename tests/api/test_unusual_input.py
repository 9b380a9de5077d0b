"""What is unusual, but no error: answers that hold, or a refusal that says why."""

import math
from fractions import Fraction

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_delta

INF = math.inf
GAUSSIAN = prv.Gaussian(1.0)
CURVE = prv.compose(GAUSSIAN)


def test_tiny_sampling_still_gives_valid_bounds():
    lower, estimate, upper = prv.compose(prv.PoissonSubsampledGaussian(1.0, 1e-300), 1).epsilon(
        1e-9
    )
    assert lower == 0.0
    assert estimate <= upper
    assert upper < 1e-3


# Rounding hides such a delta in one direction, and in the other one losses are next to nothing:
# both upper bounds are about equal, and the larger one's direction tells whether they are close.
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_sampling_that_hardly_happens_still_gives_valid_bounds():
    p, count = 1e-12, 1000
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.0, p), count)
    lower, _, upper = curve.delta(0.0)
    one = p * math.erf(0.5 / math.sqrt(2.0))  # the total variation of one step
    assert lower <= count * one
    assert one <= upper <= 1e-6
    assert curve.epsilon(1e-5) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_large_losses_are_legal():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=0.01, sampling_probability=0.01)
    lower, _, upper = prv.compose(step, 1000).epsilon(1e-5)
    assert lower <= 129_944 <= upper
    assert upper - lower <= 1e-3 * upper


@pytest.mark.parametrize("neighbors", ["add-or-remove", "remove", "replace-one"])
@pytest.mark.parametrize("noise", [prv.Gaussian(0.0), prv.Laplace(0.0)])
def test_no_noise(noise, neighbors):
    # P and Q share no outcome: delta is 1, and of a sampled record 1 - (1 - p)^k
    options = {"neighbors": neighbors}
    assert prv.eps_from_delta(noise, 0.9, **options).lower == INF
    for epsilon in (-700.0, -1.0, 0.0, 700.0):
        lower, _, upper = prv.delta_from_eps(noise, epsilon, **options)
        assert 1.0 - 1e-12 <= lower <= upper == 1.0
    sampled = prv.PoissonSubsampled(noise, 0.125)
    lower, _, upper = prv.delta_from_eps(sampled, 700.0, counts=3, **options)
    assert lower <= 1.0 - 0.875**3 <= upper <= lower + 1e-9


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e-150, 5e307, 1.7e308])
@pytest.mark.parametrize(
    "noise",
    [
        prv.Gaussian,
        prv.Laplace,
        prv.DiscreteGaussian,
        prv.DiscreteLaplace,
        lambda scale: prv.MixtureOfGaussians(scale, [0.0, 1.0], [0.5, 0.5]),
        lambda scale: prv.PoissonSubsampledGaussian(scale, 0.25),
        lambda scale: prv.Laplace(1.0, min(1.0 / max(scale, 1e-308), 1.7e308)),
    ],
)
def test_noise_that_no_double_tells_from_none_or_from_all_is_refused(noise, scale):
    # Gaussian(1e-151) has a finite epsilon, about 5e301: to take it for no noise is no lower bound.
    with pytest.raises(ValueError, match=r"1e-150|1e150"):
        prv.compose(noise(scale)).delta(0.5)


def test_other_sizes_that_no_double_tells_apart_are_refused():
    for mechanism in (
        lambda: prv.BoundedRange(1e155),
        lambda: prv.MixtureOfGaussians(1e10, [0.0, 1.0, 5e-324], [0.5, 0.25, 0.25]),
        lambda: prv.MixtureOfGaussians(1.0, [0.0, 1.0], [1.5e-323, 1.0]),
    ):
        with pytest.raises(ValueError, match="1e150"):
            prv.compose(mechanism()).epsilon(1e-5)


def test_greatest_losses_that_are_subnormal_or_overflow_are_enclosed():
    # log(1 + p expm1(mu)) and log(1 - p expm1(-mu)) are p mu, but for a part in 1e10
    sampled = prv.PoissonSubsampled(prv.Laplace(1e10), 1e-300)
    lower, _, upper = prv.compose(sampled, neighbors="remove").epsilon(0.0)
    exact = Fraction(1e-300) * (1 / Fraction(1e10) + Fraction(1, 2 * 10**20))
    assert Fraction(lower) < exact < Fraction(upper) < exact * (1 + Fraction(1, 10**12))
    tiny = prv.PoissonSubsampled(prv.Laplace(9.999999999999999e17), 2.5e-308)
    assert prv.compose(tiny).epsilon(0.0).upper > 0.0
    for steps in ([(prv.PureDP(1e308), 10)], [prv.PureDP(1e308), prv.PureDP(0.9e308)]):
        with pytest.warns(prv.AccuracyWarning):
            lower, _, upper = prv.compose(steps).epsilon(0.0)
        assert lower < INF  # which the exact value is not
        assert upper == INF


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("eps_error", [1e6, 1e12, 1e100, 1.7e308])
def test_widths_that_hardly_ask_anything(eps_error):
    curve = prv.compose(GAUSSIAN, 100, eps_error=eps_error)
    lower, _, upper = curve.delta(90.0)
    assert lower <= gaussian_delta(90.0, 10.0) <= upper
    lower, _, upper = curve.epsilon(gaussian_delta(90.0, 10.0))
    assert lower <= 90.0 <= upper


def test_nothing_is_printed(memory_limit, capfd):
    prv.set_memory_limit(2**20)
    with pytest.warns(prv.AccuracyWarning):
        prv.compose(GAUSSIAN, 1000, eps_error=1e-9, engine="convolution").epsilon(1e-5)
    with pytest.raises(ValueError, match="mesh_size"):
        prv.compose(GAUSSIAN, 1000, mesh_size=1e-12).epsilon(1e-5)
    with pytest.raises(ValueError, match="cdf_q"):
        prv.compose(prv.FromCDFs(lambda x: x, gaussian_cdf_p)).epsilon(1e-5)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "values",
    [
        [0.5, True],
        (0.5, np.True_),
        [[0.5], [False]],
        np.array([], complex),
        np.ma.masked,
        [0.5, np.ma.masked],
        np.ma.array([0.5, 0.1], mask=[False, True]),
    ],
    ids=repr,
)
def test_what_numpy_would_take_for_numbers(values):
    with pytest.raises(TypeError, match="delta must be real"):
        CURVE.epsilon(values)
