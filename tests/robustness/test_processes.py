"""Other processes, however they begin, give the same bits, and cannot be stuck."""

import multiprocessing
import os
import subprocess
import sys
import threading
from operator import methodcaller

import pytest

import prvcore as prv
from prvcore._core import fft_plans

SETTINGS = [
    (prv.PoissonSubsampledGaussian(1.1, 1e-2), 30, {"engine": "convolution"}),
    (prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, {}),
    (prv.Laplace(20.0), 20, {"discretization": "mean-matching", "eps_error": 0.1}),
]
CURVES = [prv.compose(step, count, **options) for step, count, options in SETTINGS]


# What other processes are sent: they import prvcore, and need not find these tests.
ask = methodcaller("epsilon", 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_after_transforms_were_planned(method):
    here = list(map(ask, CURVES))
    assert fft_plans.cached_lengths()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(ask, CURVES * 4) == here * 4


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forks_while_threads_plan():
    stop = threading.Event()

    def plan(first):
        length = first
        while not stop.is_set():  # new lengths all the time, each of which holds the lock
            fft_plans.forward(*aligned(length))
            length += 4

    threads = [threading.Thread(target=plan, args=(1000 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                fft_plans.forward(*aligned(999))
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def aligned(length):
    """Return buffers of a transform of this length."""
    import numpy as np
    import pyfftw

    return (
        pyfftw.zeros_aligned(length, np.float64, n=fft_plans.ALIGNMENT),
        pyfftw.empty_aligned(length // 2 + 1, np.complex128, n=fft_plans.ALIGNMENT),
    )


# A mesh of the memory limit of 1 GiB in less address space than that: refused by the limit where
# that is lower, a MemoryError where it is not, and the process goes on.
IN_LITTLE_SPACE = """
import resource
import sys
import prvcore as prv

step = prv.PoissonSubsampledGaussian(0.5, 0.3)
before = prv.compose(step, 10, engine="convolution").epsilon(1e-5)
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**26,) * 2)
fine = prv.compose(step, 10, engine="convolution", mesh_size=5e-6)
prv.set_memory_limit(2**24)
try:
    fine.epsilon(1e-5)
except ValueError as error:
    print(f"ValueError: {error}")
prv.set_memory_limit(2**40)
try:
    fine.epsilon(1e-5)
except MemoryError as error:
    print(f"MemoryError: {error}")
assert prv.compose(step, 10, engine="convolution").epsilon(1e-5) == before
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_too_little_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_SPACE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,  # a checkout has no compiled modules
    )
    assert done.returncode == 0, done.stderr
    refused, failed = done.stdout.splitlines()
    assert refused.startswith("ValueError: mesh_size = 5e-06 needs ")
    assert "above the memory limit of 16777216 bytes" in refused
    assert failed.startswith("MemoryError: ")
