"""Ctrl-C in long calls: it comes through soon, and everything stays usable."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals"),
    pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning"),
    # what is raised in a callback of the garbage collection goes nowhere
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

STEP = prv.PoissonSubsampledGaussian(0.8, 0.1)
KINDS = [(prv.PoissonSubsampledGaussian(0.5 + 0.01 * i, 1e-3 * (i + 1)), 50 + i) for i in range(30)]
WIDE = prv.MixtureOfGaussians(1.0, np.arange(1000) / 100, np.full(1000, 1e-3))
MANY = np.linspace(0.0, 1.0, 100_000)

# each takes far longer than any test does
CALLS = {
    "epsilon": lambda: prv.compose(KINDS, eps_error=1e-6).epsilon(MANY),
    "delta": lambda: prv.compose(KINDS).delta(10.0 * MANY),
    "a fine mesh of wide losses": lambda: prv.compose(
        prv.PoissonSubsampledGaussian(0.3, 0.3), 3000, engine="convolution", eps_error=1e-6
    ).epsilon(MANY),
    "a thousand centres": lambda: prv.compose(WIDE, 1000, eps_error=1e-5).epsilon(MANY),
    "mean-matching": lambda: [
        prv.compose(STEP, 2000 + i, discretization="mean-matching", eps_error=0.02).epsilon(1e-6)
        for i in range(10_000)
    ],
    "own functions": lambda: prv.compose(
        prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p), 100, eps_error=1e-5
    ).epsilon(MANY),
    "trade-off": lambda: prv.compose(KINDS).trade_off(MANY),
    "error budget": lambda: [
        prv.compose(KINDS, eps_error=1e-6).error_budget(delta=x) for x in MANY
    ],
    "explain": lambda: [prv.explain(prv.compose(KINDS), delta=1e-6 * (1 + x)) for x in MANY],
    "calibrate": lambda: [
        prv.calibrate(KINDS, epsilon=1.0 + x, delta=1e-9, tolerance=1e-8) for x in MANY
    ],
    "sweep": lambda: prv.dpsgd_epsilon(
        noise_multiplier=0.5 + MANY, sampling_probability=0.01, steps=1000, delta=1e-6
    ),
    "sweep of calibrations": lambda: prv.dpsgd_noise_multiplier(
        epsilon=0.5 + MANY, sampling_probability=0.01, steps=1000, delta=1e-6
    ),
}


@contextmanager
def ringing(seconds):
    """Send a signal, as Ctrl-C does, after some seconds of what is inside; again if it was lost."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, 2.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seconds", [0.05, 0.4])
def test_long_calls_can_be_stopped(name, seconds):
    curve = prv.compose(STEP, 100)
    before = curve.epsilon(1e-5)
    with pytest.raises(KeyboardInterrupt), ringing(seconds):
        CALLS[name]()
    assert curve.epsilon(1e-5) == before
    assert prv.compose(STEP, 100).epsilon(1e-5) == before
