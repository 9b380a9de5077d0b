"""Many threads at once have the bits of one, and each its own errors."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q

SETTINGS = [
    (prv.Gaussian(30.0), 1000, {}),
    (prv.Gaussian(5.0), 10, {"eps_error": 1e-2}),
    (prv.Laplace(20.0), 100, {}),
    (prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, {}),
    (prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, {"neighbors": "add"}),
    (prv.PoissonSubsampledGaussian(1.1, 1e-2), 300, {"eps_error": 1e-2}),
    (prv.PoissonSubsampled(prv.Laplace(1.0), 0.05), 30, {}),
    (prv.ApproximateDP(0.01, 1e-9), 200, {}),
    (prv.DiscreteGaussian(8.0), 20, {}),
    (prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p), 4, {}),
    (
        prv.PoissonSubsampledGaussian(0.8, 1e-3),
        500,
        {"discretization": "mean-matching", "eps_error": 0.1},
    ),
]


def answers(setting):
    """Return the answers of a new curve."""
    mechanism, count, options = setting
    curve = prv.compose(mechanism, count, **options)
    return curve.epsilon(1e-6), curve.delta(0.5)


@pytest.mark.slow
def test_eight_threads_give_the_bits_of_one():
    work = SETTINGS * 4
    with ThreadPoolExecutor(8) as pool:  # before the single thread, so that plans are made here
        together = list(pool.map(answers, work))
    alone = [answers(setting) for setting in SETTINGS]
    assert together == alone * 4


@pytest.mark.slow
def test_sixty_four_threads_give_the_bits_of_one():
    alone = [answers(setting) for setting in SETTINGS]
    ready = threading.Barrier(64, timeout=60)

    def ask(i):
        ready.wait()  # all at once
        return answers(SETTINGS[i % len(SETTINGS)])

    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(ask, range(64)))
    assert together == [alone[i % len(SETTINGS)] for i in range(64)]


@pytest.mark.slow
def test_eight_threads_may_share_a_curve():
    curve = prv.compose([(prv.Gaussian(30.0), 100), (prv.PoissonSubsampledGaussian(0.8, 1e-2), 50)])
    deltas = [10.0**-i for i in range(1, 9)] * 4
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(curve.epsilon, deltas))
    assert together == [curve.epsilon(delta) for delta in deltas]


def test_each_thread_gets_its_own_functions_exception():
    """Exceptions of functions that run at the same time are not mixed up."""
    barrier = threading.Barrier(8, timeout=60)

    def ask(i):
        def fail(losses):
            barrier.wait()
            raise LookupError(i)

        with pytest.raises(LookupError) as caught:
            prv.compose(prv.FromCDFs(fail, fail)).epsilon(1e-3)
        return caught.value.args[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == list(range(8))
