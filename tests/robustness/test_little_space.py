"""Where the system gives little memory: the same bits or a MemoryError, and then the same bits."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")

MIB = 2**20

# Each kind of call is made once in a process without a limit, and once more for each size of the
# address space that is left; then again, in the same process, without one. No thread may be started
# here: where no byte is left, CPython waits for ever for one that cannot begin.
IN_LITTLE_SPACE = """
import json
import os
import resource
import signal
import sys

import numpy as np
import prvcore as prv
from prvcore import stages

STEP = prv.PoissonSubsampledGaussian(0.8, 0.1)


def grow():
    accountant = prv.Accountant()
    for count in (10, 20, 30):
        accountant.step(noise_multiplier=1.0, sampling_probability=0.01, count=count)
        yield accountant.epsilon(1e-6)


def one_by_one():
    mesh = stages.Mesh(np.arange(-5000, 15001), spacing=1e-3)
    lattice = stages.dominating(stages.cells(STEP, mesh.losses), mesh)
    window = stages.Window(lowest=-5.0, length=30_000, shift_down=3.0, shift_up=3.0)
    return stages.convolve(lattice, 10, window, tilt=2.0).epsilon(1e-5)


CENTRES = prv.MixtureOfGaussians(1.0, np.arange(200) / 100, np.full(200, 1 / 200))
BOTH = prv.PoissonSubsampled([prv.DiscreteLaplace(10.0), prv.Laplace(3.0)], 0.1)
MATCHING = {"discretization": "mean-matching", "eps_error": 0.1}
CALLS = {
    "convolution": lambda: prv.compose(
        STEP, 10, engine="convolution", mesh_size=1e-4
    ).epsilon(1e-5),
    "spectrum": lambda: prv.compose(STEP, 1000, engine="spectrum").epsilon(1e-5),
    "mean-matching": lambda: prv.compose(STEP, 100, **MATCHING).epsilon(1e-5),
    "centres": lambda: prv.compose(CENTRES, 10).delta([0.5, 1.0]),
    "several on one sample": lambda: prv.compose(BOTH, 10).epsilon(1e-5),
    "calibrate": lambda: prv.calibrate(STEP, 100, epsilon=2.0, delta=1e-6).value,
    "Renyi divergence": lambda: prv.compose(STEP, 10).renyi_divergence([2.0, 8.0]),
    "sweep": lambda: prv.dpsgd_epsilon(
        noise_multiplier=[0.8, 0.9], sampling_probability=0.01, steps=9, delta=1e-6, workers=1
    ),
    "accountant": lambda: list(grow()),
    "witness": lambda: prv.compose(STEP, 10).witness(delta=1e-5),
    "stages": one_by_one,
}


def bits(call):
    return repr(call())  # of floats, all digits


def with_little(call, room):
    with open("/proc/self/statm") as statm:
        taken = int(statm.read().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + room, most))
    try:
        first = bits(call)
    except MemoryError:
        first = "MemoryError"
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return [first, bits(call)]


def in_child(function, *arguments):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it, whatever it waits for
        try:
            found = function(*arguments)
        except BaseException as error:
            found = repr(error)
        with open(write, "w") as end:
            end.write(json.dumps(found))
        os._exit(0)
    os.close(write)
    with open(read) as end:
        text = end.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 else f"the process ended with status {status}"


np.set_printoptions(floatmode="unique", threshold=sys.maxsize)
bits(CALLS["spectrum"])  # which loads what is loaded late
rooms = json.loads(sys.argv[1])
found = {
    name: [in_child(bits, call), *(in_child(with_little, call, room) for room in rooms)]
    for name, call in CALLS.items()
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return of each kind the answer without a limit, and those with more and more space."""
    rooms = json.dumps([0, MIB, 4 * MIB, 16 * MIB, 64 * MIB])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_LITTLE_SPACE, rooms],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path_factory.mktemp("space"),  # a checkout has no compiled modules
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_same_bits_or_a_memory_error(answers):
    for name, (right, *limited) in answers.items():
        assert "Error" not in right, name
        for first, again in limited:
            assert first in (right, "MemoryError"), name
            assert again == right, name


@pytest.mark.slow
def test_some_have_enough_and_some_have_not(answers):
    firsts = [first for _, *limited in answers.values() for first, _ in limited]
    assert 0 < firsts.count("MemoryError") < len(firsts)
