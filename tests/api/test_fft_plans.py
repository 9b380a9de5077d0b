"""The plans of pyFFTW that the core is given: alignment, bits, threads, what is refused."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyfftw
import pytest

from prvcore._core import fft_plans

U = 2.0**-53


def aligned(array):
    copy = pyfftw.empty_aligned(array.shape, array.dtype, n=fft_plans.ALIGNMENT)
    copy[:] = array
    return copy


def transforms_of(values):
    """Return the spectrum of `values` and the transform back of it."""
    spectrum = aligned(np.empty(values.size // 2 + 1, complex))
    fft_plans.forward(aligned(values), spectrum)
    back = aligned(np.empty(values.size))
    fft_plans.inverse(aligned(spectrum), back)
    return spectrum, back


def test_alignment_is_that_of_the_header():
    assert fft_plans.ALIGNMENT == 64


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 12, 64, 210, 1000, 4096, 3**7, 2**15])
def test_transforms_are_those_of_numpy(length):
    values = np.random.default_rng(length).random(length)
    spectrum, back = transforms_of(values)
    # twice the error of one transform that prvcore.h allows a provider, since numpy's has one too
    allowed = 2.0 * 7.0 * U * max(1.0, np.log2(length))
    expected = np.fft.rfft(values)
    assert np.linalg.norm(spectrum - expected) <= allowed * np.linalg.norm(expected)
    assert np.linalg.norm(back / length - values) <= allowed * np.linalg.norm(values)


def test_the_input_of_a_forward_transform_survives():
    values = aligned(np.arange(24.0))
    fft_plans.forward(values, aligned(np.empty(13, complex)))
    assert values.tolist() == list(range(24))


def test_a_length_is_planned_once():
    transforms_of(np.ones(30))
    before = fft_plans.cached_lengths()
    assert 30 in before
    assert list(before) == sorted(set(before))
    transforms_of(np.ones(30))
    assert fft_plans.cached_lengths() == before


def test_repeated_transforms_have_the_same_bits():
    values = np.random.default_rng(0).random(3000)
    first, second = transforms_of(values), transforms_of(values)
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1].tobytes() == second[1].tobytes()


@pytest.mark.slow
def test_eight_threads_share_plans():
    rng = np.random.default_rng(1)
    lengths = [600, 625, 640, 648]  # planned by whichever thread comes first
    inputs = [rng.random(length) for length in lengths for _ in range(50)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(transforms_of, inputs))
    for values, (spectrum, back) in zip(inputs, together, strict=True):
        alone = transforms_of(values)
        assert spectrum.tobytes() == alone[0].tobytes()
        assert back.tobytes() == alone[1].tobytes()


@pytest.mark.parametrize("offset", [8, 16, 32])
def test_buffers_off_the_alignment_are_refused(offset):
    room = pyfftw.empty_aligned(16 + offset // 8, np.float64, n=64)
    values = room[offset // 8 :]
    spectrum = aligned(np.empty(9, complex))
    with pytest.raises(ValueError, match="values must be aligned to 64 bytes, got address 0x"):
        fft_plans.forward(values, spectrum)
    with pytest.raises(ValueError, match="values must be aligned to 64 bytes, got address 0x"):
        fft_plans.inverse(spectrum, values)


def test_buffers_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"spectrum must have length 9, .* got 8"):
        fft_plans.forward(aligned(np.ones(16)), aligned(np.ones(8, complex)))
    with pytest.raises(ValueError, match="values must not be empty"):
        fft_plans.forward(np.empty(0), np.empty(1, complex))


def test_read_only_buffers_are_refused():
    values = aligned(np.ones(16))
    values.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fft_plans.inverse(aligned(np.ones(9, complex)), values)


@pytest.mark.slow
def test_short_transforms_are_the_cores_own(tmp_path):
    """They import nothing, and give the same bits after pyFFTW was imported."""
    code = (
        "import sys, prvcore as prv\n"
        "steps = [(prv.Gaussian(2.0), 5), (prv.Laplace(3.0), 10), (prv.PureDP(0.1), 20)]\n"
        "def ask():\n"
        "    curve = prv.compose(steps, engine='convolution', eps_error=1e-3)\n"
        "    return curve.epsilon(1e-2), curve.error_budget(delta=1e-2).transform_length\n"
        "before = ask()\n"
        "assert 0 < before[1] <= 2**22, before\n"
        "assert 'pyfftw' not in sys.modules\n"
        "import prvcore._core.fft_plans\n"
        "assert 'pyfftw' in sys.modules and ask() == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
