"""Ctrl-C in long calls: it comes through soon, and everything stays usable."""

import contextlib
import io
import queue
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import prvcore as prv
from prvcore import stages
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q
from tests.witnesses import verifier

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads"),
    pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning"),
]

STEP = prv.PoissonSubsampledGaussian(0.8, 0.1)
KINDS = [(prv.PoissonSubsampledGaussian(0.5 + 0.01 * i, 1e-3 * (i + 1)), 50 + i) for i in range(30)]
WIDE = prv.MixtureOfGaussians(1.0, np.arange(1000) / 100, np.full(1000, 1e-3))
MANY = np.linspace(0.0, 1.0, 100_000)
MILLION = np.linspace(0.0, 1.0, 1_000_000)
THOUSANDS = [(prv.PoissonSubsampledGaussian(0.5 + 0.001 * i, 1e-3), 50 + i) for i in range(3000)]
CENTRES = prv.MixtureOfGaussians(1.0, np.arange(4000) / 100, np.full(4000, 1 / 4000))
ALLOCATED = {
    "sampling_probability": 1e-3,
    "steps": 10_000,
    "delta": 1e-6,
    "sampler": "random-allocation",
}


MESH = stages.Mesh(np.arange(-500, 1501), spacing=0.01)
LATTICE = stages.dominating(stages.cells(STEP, MESH.losses), MESH)
TAILS = {"shift_down": 3.0, "shift_up": 3.0}
SHORT = stages.Window(lowest=-5.0, length=4096, **TAILS)
LONG = stages.Window(lowest=-5.0, length=1 << 20, **TAILS)
NEAR = stages.Window(low_epsilon=1.0, high_epsilon=2.0, **TAILS)
SPECTRUM = stages.sum_spectrum(LATTICE, 1000, NEAR, tilt=5.0)


def grow(ask):
    """Ask an accountant again and again, as it grows."""
    accountant = prv.Accountant(eps_error=1e-4)
    asked = ask(accountant)
    for i in range(10**6):
        accountant.step(noise_multiplier=30.0 + 1e-4 * i, sampling_probability=0.01)
        asked()


def spend(accountant):
    """Return what asks a filter and takes from it."""
    budget = prv.PrivacyFilter(accountant, 30.0, 1e-6)

    def ask():
        budget.remaining_steps(noise_multiplier=5.0, sampling_probability=0.01)
        budget.step(noise_multiplier=50.0, sampling_probability=0.01)

    return ask


def commands(command, *more):
    """Return what runs a command again and again."""
    from prvcore import _cli

    setting = {"noise-multiplier": 0.7, "sampling-probability": 0.1, "steps": 1000, "delta": 1e-6}
    words = [word for name, value in setting.items() for word in (f"--{name}", str(value))]

    def run():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            while _cli.main([command, *words, *more]) != 130:
                pass
        raise KeyboardInterrupt  # of which the command makes a status

    return run


def verify():
    """Prove a witness that takes some seconds, of which no product of polynomials takes many."""
    step = prv.PoissonSubsampledGaussian(1.0, 0.001)
    witness = prv.compose(step, 100_000).witness(delta=1e-5)
    for _ in MANY:
        verifier().prove(witness)


def plots():
    from matplotlib.figure import Figure

    for i in range(10**6):
        prv.compose(KINDS, eps_error=1e-6 * (1 + i)).plot("trade-off", Figure().subplots())


# each is made again until it is stopped
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
    "sweep of two threads": lambda: prv.dpsgd_noise_multiplier(
        epsilon=0.5 + MANY, sampling_probability=0.01, steps=1000, delta=1e-6, workers=2
    ),
    "sweep of allocations": lambda: prv.dpsgd_epsilon(
        noise_multiplier=0.5 + MANY, workers=2, **ALLOCATED
    ),
    "sweep of steps": lambda: prv.dpsgd_steps(
        epsilon=0.5 + MANY, sampling_probability=0.01, noise_multiplier=1.0, delta=1e-6
    ),
    "sweep of counts": lambda: prv.dpsgd_epsilon(
        noise_multiplier=0.5,
        sampling_probability=0.01,
        steps=np.arange(100_000),
        delta=1e-6 * (1 + MANY),
    ),
    "power": lambda: prv.compose(KINDS).power(MANY),
    "Bayes risk": lambda: prv.compose(KINDS).bayes_risk(MANY),
    "Gaussian mu": lambda: prv.compose(KINDS).gaussian_mu(0.1 * MANY + 1e-9),
    "Renyi divergence": lambda: prv.compose(CENTRES).renyi_divergence(1.5 + MANY),
    "Renyi divergence of atoms": lambda: prv.compose(prv.DiscreteGaussian(3e4)).renyi_divergence(
        1.5 + MANY
    ),
    "witness": lambda: prv.compose(KINDS, eps_error=1e-4).witness(delta=1e-5),
    "calibrated risk": lambda: [
        prv.calibrate(KINDS, advantage=0.1 + 0.1 * x, tolerance=1e-8) for x in MANY
    ],
    "accountant": lambda: grow(lambda accountant: lambda: accountant.epsilon(1e-6)),
    "filter": lambda: grow(spend),
    "odometer": lambda: grow(lambda accountant: prv.PrivacyOdometer(accountant, 1e-6).read),
    "allocation": lambda: [
        prv.compose(
            prv.RandomAllocation(prv.Gaussian(0.5 + x), 300, 5), 10, eps_error=1e-5
        ).epsilon(1e-5)
        for x in MANY
    ],
    "several on one sample": lambda: [
        prv.compose(
            prv.PoissonSubsampled([prv.DiscreteLaplace(100.0), prv.Laplace(3.0 + x)], 0.1), 10
        ).epsilon(1e-5)
        for x in MANY
    ],
    "nested": lambda: [
        prv.compose(
            prv.PoissonSubsampled(prv.compose([*KINDS[:9]]).as_mechanism(), 0.1 + 0.1 * x), 100
        ).epsilon(1e-5)
        for x in MANY
    ],
    "verifier": verify,
    "reports": lambda: prv.compose(STEP, 10).epsilon(0.1 + 0.8 * MANY).report(),
    "shuffled batches": lambda: [
        prv.shuffled_lower_bound(0.7 + x, 10**6, 10, delta=1e-6) for x in MANY
    ],
    "thousands of mechanisms": lambda: prv.compose(THOUSANDS).epsilon(1e-6),
    "cells": lambda: stages.cells(WIDE, 15.0 * MILLION),
    "mean-matched lattice": lambda: stages.mean_matched(WIDE, spacing=1e-5, half_length=10**6),
    "convolution": lambda: stages.convolve([LATTICE] * 200, [100] * 200, LONG, tilt=5.0),
    "precise convolution": lambda: stages.convolve(
        [LATTICE] * 200,
        [100] * 200,
        stages.Window(lowest=-5.0, length=1 << 20, precise=True, **TAILS),
        tilt=5.0,
    ),
    "lattices multiplied out": lambda: stages.convolve(
        [LATTICE] * 300, [1] * 300, SHORT, tilt=5.0, transforms=False
    ),
    "sum of a spectrum": lambda: stages.sum_spectrum(
        [LATTICE] * 3000, [1] * 3000, NEAR, tilt=5.0, most_work=1e12
    ),
    "delta of a spectrum": lambda: SPECTRUM.delta(np.tile(MILLION, 10)),
    "epsilon of a spectrum": lambda: SPECTRUM.epsilon(1e-9 + 0.5 * MILLION),
    "plan": lambda: stages.plan(THOUSANDS, delta=1e-6, tilt=5.0, mesh_size=1e-2, eps_error=0.1),
    **{
        f"command {name}": commands(name, *more)
        for name, *more in (
            ("epsilon",),
            ("check", "--epsilon", "3"),
            ("witness",),
            ("explain",),
            ("report",),
            ("risk", "--prior", "0.5", "--false-positive-rate", "0.01"),
        )
    },
    "plots": plots,
}


def import_what_is_needed(name):
    """Import it before the signal, which would leave half a module."""
    if name == "plots":
        pytest.importorskip("matplotlib.figure")
    elif name == "verifier":
        pytest.importorskip("flint")
        verifier()


def endlessly(call):
    while True:
        call()


MOST_CPU = 2.0  # seconds of all threads, from the signal until its exception
PATIENCE = 120.0  # seconds, after which a signal was swallowed


class Bell:
    """Sends Ctrl-C's signal after some seconds, and again if Python says that it was lost.

    What is raised in a callback of the garbage collection, say, comes out nowhere, and hypothesis
    has such a callback once it has run.
    """

    def __init__(self, seconds):
        self.seconds = seconds
        self.sent = []  # CPU times
        self.lost = []  # where
        self.is_swallowed = False
        self._main = threading.main_thread().ident
        self._heard = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._ring)

    def __enter__(self):
        self._hook, sys.unraisablehook = sys.unraisablehook, self._heard.put  # which is C
        self._handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._heard.put(None)
        self._thread.join()
        signal.signal(signal.SIGINT, self._handler)
        sys.unraisablehook = self._hook

    def _ring(self):
        wait = self.seconds
        while not self.is_swallowed:
            try:
                heard = self._heard.get(timeout=wait)
            except queue.Empty:
                self.is_swallowed = len(self.sent) > 0
            else:
                if heard is None:
                    return
                if not issubclass(heard.exc_type, KeyboardInterrupt):
                    self._hook(heard)
                    continue
                self.lost.append(repr(heard.object))
            self.sent.append(time.process_time())
            signal.pthread_kill(self._main, signal.SIGINT)
            wait = PATIENCE


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seconds", [0.05, 0.4])
def test_long_calls_can_be_stopped(name, seconds):
    import_what_is_needed(name)
    curve = prv.compose(STEP, 100)
    before = curve.epsilon(1e-5)
    with Bell(seconds) as bell:
        with pytest.raises(KeyboardInterrupt):
            endlessly(CALLS[name])
        stopped = time.process_time()
    assert not bell.is_swallowed
    assert not any("prvcore" in where for where in bell.lost)
    assert stopped - bell.sent[-1] < MOST_CPU
    assert curve.epsilon(1e-5) == before
    with ThreadPoolExecutor(1) as pool:  # to which nothing is locked
        assert pool.submit(prv.compose(STEP, 100).epsilon, 1e-5).result(timeout=60) == before
