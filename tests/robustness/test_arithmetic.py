"""Another library may change how a thread computes: then there is an error, and no bound."""

import ctypes
import ctypes.util
import platform
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import prvcore as prv

MACHINE = platform.machine()
GLIBC = platform.libc_ver()[0] == "glibc"

# <fenv.h>: what FE_UPWARD, FE_DOWNWARD and FE_TOWARDZERO are; and of glibc's fenv_t, which 32-bit
# word has the bits that flush subnormal numbers.
ROUNDING = {
    "x86_64": {"upward": 0x800, "downward": 0x400, "towards zero": 0xC00},
    "aarch64": {"upward": 0x400000, "downward": 0x800000, "towards zero": 0xC00000},
}
FLUSHING = {
    "x86_64": {"flush to zero": (7, 0x8000), "denormals are zero": (7, 0x40), "both": (7, 0x8040)},
    "aarch64": {"flush to zero": (0, 1 << 24)},
}
MODES = [*ROUNDING.get(MACHINE, {}), *FLUSHING.get(MACHINE, {})]

pytestmark = pytest.mark.skipif(not (GLIBC and MODES), reason="modes are known of glibc alone")


def set_mode(name):
    """Change the arithmetic of this thread."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    if name in ROUNDING[MACHINE]:
        assert libm.fesetround(ROUNDING[MACHINE][name]) == 0
        return
    word, bits = FLUSHING[MACHINE][name]
    environment = (ctypes.c_uint32 * 16)()
    assert libm.fegetenv(environment) == 0
    environment[word] |= bits
    assert libm.fesetenv(environment) == 0


def in_mode(name, call):
    """Return what a call raises in a thread of its own, whose arithmetic is that."""
    raised = []

    def run():
        if name is not None:
            set_mode(name)
        try:
            call()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1.0, sampling_probability=0.01)
NOISES = np.array([0.8, 1.0])


def an_accountant():
    accountant = prv.Accountant()
    accountant.add(STEP, 50)
    return accountant


CALLS = {
    "epsilon": lambda: prv.compose(STEP, 50).epsilon(1e-5),
    "mean-matching": lambda: prv.compose(STEP, 50, discretization="mean-matching").epsilon(1e-5),
    "delta": lambda: prv.compose(STEP, 50).delta(1.5),
    "power": lambda: prv.compose(STEP, 50).power(0.1),
    "mu": lambda: prv.compose(STEP, 50).gaussian_mu(1e-5),
    "renyi": lambda: prv.compose(STEP, 50).renyi_divergence(2.0),
    "calibrate": lambda: prv.calibrate(STEP, 50, epsilon=1.0, delta=1e-5),
    "accountant": lambda: an_accountant().epsilon(1e-5),
    "sweep": lambda: prv.dpsgd_epsilon(NOISES, 0.01, 50, 1e-5, workers=2),
    "sweep alone": lambda: prv.dpsgd_epsilon(NOISES, 0.01, 50, 1e-5, workers=1),
}


@pytest.mark.parametrize("call", CALLS)
def test_as_a_thread_begins_it_answers(call):
    assert in_mode(None, CALLS[call]) is None


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mode", MODES)
def test_in_another_mode_there_is_an_error_that_says_what_to_do(mode, call):
    error = in_mode(mode, CALLS[call])
    assert type(error) is FloatingPointError
    assert "fesetround(FE_TONEAREST)" in str(error)
    assert "flush-to-zero" in str(error)


@pytest.mark.parametrize("mode", MODES)
def test_the_workers_of_a_sweep_are_what_counts(mode):
    with (
        ThreadPoolExecutor(2, initializer=set_mode, initargs=(mode,)) as executor,
        pytest.raises(FloatingPointError, match="does not round to nearest"),
    ):
        prv.dpsgd_epsilon(NOISES, 0.01, 50, 1e-5, executor=executor)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_callback_changes_is_seen(mode):
    def deltas(epsilons):
        ratios = np.exp(np.minimum(epsilons, 700.0))
        set_mode(mode)
        return np.maximum(np.maximum(0.75 - 0.25 * ratios, 1.0 - ratios), 0.0)

    own = prv.compose(prv.FromPrivacyCurve(deltas), 3)
    assert type(in_mode(None, lambda: own.epsilon(1e-3))) is FloatingPointError


def test_an_error_leaves_a_curve_as_it_was():
    curve, accountant = prv.compose(STEP, 50), an_accountant()
    assert type(in_mode(MODES[0], lambda: curve.epsilon(1e-5))) is FloatingPointError
    assert type(in_mode(MODES[0], lambda: accountant.epsilon(1e-5))) is FloatingPointError
    assert curve.epsilon(1e-5) == prv.compose(STEP, 50).epsilon(1e-5)
    assert accountant.epsilon(1e-5) == an_accountant().epsilon(1e-5)
