"""Noise by distribution functions, against closed forms in 40 digits."""

import pickle

import mpmath
import numpy as np
import pytest

import prvcore as prv

stats = pytest.importorskip("scipy.stats")

EPSILONS = [-30.0, -3.0, -0.7, 0.0, 0.1, 0.4, 1.0, 2.5, 6.0, 40.0]


def normal(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def laplace(x):
    return mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2


def logistic(x):
    return 1 / (1 + mpmath.exp(x))


def log_density(tail, x):
    if tail is normal:
        return -x * x / 2
    return -abs(x) if tail is laplace else -x - 2 * mpmath.log1p(mpmath.exp(-x))


def exact(tail, shift, epsilon):
    """Return the greatest S(c - shift) - e^epsilon S(c), where the log ratio crosses epsilon."""
    with mpmath.workdps(40):
        shift, epsilon = mpmath.mpf(shift), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(-2000), mpmath.mpf(2000)
        for _ in range(160):
            middle = (low + high) / 2
            ratio = log_density(tail, middle - shift) - log_density(tail, middle)
            low, high = (middle, high) if ratio < epsilon else (low, middle)
        return max(tail(high - shift) - mpmath.exp(epsilon) * tail(high), mpmath.mpf(0))


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # deltas below the error
@pytest.mark.parametrize(
    ("name", "tail"), [("norm", normal), ("laplace", laplace), ("logistic", logistic)]
)
@pytest.mark.parametrize("scale", [0.25, 8.0])
def test_deltas_lie_above_closed_forms_and_close(name, tail, scale):
    mechanism = prv.FromDistribution(getattr(stats, name)(scale=scale))
    widened = mechanism._delta(np.array(EPSILONS))
    room = 2 * mechanism._left_out() + 1e-12
    for epsilon, value in zip(EPSILONS, widened, strict=True):
        truth = exact(tail, 1 / mpmath.mpf(scale), epsilon)
        assert truth <= value + 2.0**-52  # for which the core has room
        assert value <= truth + room
    lower, _, upper = prv.compose(mechanism).delta(0.05)
    assert lower - room <= exact(tail, 1 / mpmath.mpf(scale), 0.05) <= upper


@pytest.mark.parametrize("count", [1, 10])
def test_it_agrees_with_the_mechanisms_that_are_there(count):
    for noise, known in (
        (stats.norm(scale=3.0), prv.Gaussian(3.0)),
        (stats.laplace(scale=4.0), prv.Laplace(4.0)),
    ):
        found = prv.compose(prv.FromDistribution(noise), count).epsilon(1e-6)
        closed = prv.compose(known, count).epsilon(1e-6)
        assert found.upper >= closed.lower
        assert found.lower <= closed.upper + 1e-3
        assert found.upper == pytest.approx(closed.upper, rel=5e-3)
    twice = prv.FromDistribution(stats.norm(scale=6.0), sensitivity=2.0)
    sampled = prv.compose(prv.PoissonSubsampled(twice, 0.1), 10, neighbors="remove").epsilon(1e-5)
    known = prv.compose(prv.PoissonSubsampledGaussian(3.0, 0.1), 10, neighbors="remove")
    assert sampled.upper >= known.epsilon(1e-5).lower
    assert sampled.upper == pytest.approx(known.epsilon(1e-5).upper, rel=0.02)


@pytest.mark.parametrize(
    ("noise", "error", "message"),
    [
        (stats.cauchy(), ValueError, "log-concave"),
        (stats.t(3), ValueError, "log-concave"),
        (stats.norm(loc=1), ValueError, "leave loc out"),
        (stats.gumbel_r(), ValueError, "symmetric about 0"),
        (stats.uniform(), ValueError, "on all reals"),
        (stats.norm, TypeError, "frozen"),
        (3, TypeError, "with the method logpdf"),
    ],
    ids=["cauchy", "t", "moved", "gumbel", "uniform", "not frozen", "a number"],
)
def test_other_noise_is_refused(noise, error, message):
    with pytest.raises(error, match=message):
        prv.FromDistribution(noise)


def test_parameters():
    for wrong in ({"sensitivity": 0}, {"error": 0}, {"error": 0.1}):
        with pytest.raises(ValueError, match="must be"):
            prv.FromDistribution(stats.norm(), **wrong)
    one, same = (prv.FromDistribution(stats.norm(scale=2.0)) for _ in range(2))
    assert one == same == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(same)
    assert one != prv.FromDistribution(stats.norm(scale=2.5))
    # No delta below the error has a finite epsilon.
    rough = prv.FromDistribution(stats.norm(scale=2.0), error=1e-4)
    assert prv.compose(rough).epsilon(1e-5).upper == np.inf
    assert prv.compose(rough).epsilon(1e-3).upper < np.inf
