"""The plain implementations in benchmarks/reference, and prvcore's agreement with them."""

import importlib
import sys

import numpy as np
import pytest

import prvcore as prv
from tests.support.checkout import ROOT
from tests.support.examples import gaussian_delta

if not (ROOT / "benchmarks" / "reference").is_dir():
    pytest.skip("the reference is part of the checkout", allow_module_level=True)
if np.finfo(np.longdouble).nmant < 63:
    pytest.skip("the reference needs a long double of 64 bits", allow_module_level=True)
if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    pytest.skip("the reference needs long double transforms", allow_module_level=True)


def benchmark_module(name):
    """Import a module of the benchmarks of the checkout, after what is installed."""
    sys.path.append(str(ROOT))
    try:
        return importlib.import_module(f"benchmarks.{name}")
    finally:
        sys.path.remove(str(ROOT))


closed_form = benchmark_module("closed_form")
compose_prv = benchmark_module("reference.compose_prv")
fourier_accountant = benchmark_module("reference.fourier_accountant")
peers = benchmark_module("peers")
SubsampledGaussian = benchmark_module("reference.subsampled_gaussian").SubsampledGaussian

EPS_ERROR, DELTA_ERROR = 0.1, 1e-10


# ---- The paper's algorithm ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        [(0.8, 1e-3, 1000)],
        [(2.0, 0.1, 30)],
        [(1.0, 1.0, 10)],
        [(0.8, 1e-3, 500), (1.0, 5e-3, 200), (4.0, 1.0, 7)],
    ],
)
def test_mean_matching_is_the_reference_to_rounding(steps):
    curve = prv.compose(
        [(prv.PoissonSubsampledGaussian(noise, p), count) for noise, p, count in steps],
        eps_error=EPS_ERROR,
        delta_error=DELTA_ERROR,
        neighbors="remove",
        discretization="mean-matching",
    )
    prvs, counts = [SubsampledGaussian(*step[:2]) for step in steps], [step[2] for step in steps]
    h = compose_prv.mesh_size(counts, EPS_ERROR, DELTA_ERROR)
    window = curve.error_budget(delta=1e-5).transform_length * h / 2  # the bounds of both differ
    pmfs = [
        compose_prv.discretize(plain.cdf, plain.conditional_mean(window), window, h)
        for plain in prvs
    ]
    composed = compose_prv.compose(pmfs, counts)
    rounding = 1e-15 * sum(counts)  # 8 units of a double for each step
    for epsilon in (-0.1, 0.0, 0.3, 1.0, 3.0):
        exact = compose_prv.delta(composed, epsilon)
        assert curve.delta(epsilon).estimate == pytest.approx(float(exact), rel=0, abs=rounding)


def test_its_bounds_contain_the_closed_form():
    plain, count = SubsampledGaussian(10.0, 1.0), 50
    composed = compose_prv.compose_prvs([plain], [count], EPS_ERROR, DELTA_ERROR)
    for epsilon in (0.1, 1.0, 3.0):
        exact = gaussian_delta(epsilon, mu=50**0.5 / 10.0)
        bounds = compose_prv.delta_bounds(composed, epsilon, EPS_ERROR, DELTA_ERROR)
        assert bounds[0] <= exact <= bounds[2]
        bounds = compose_prv.epsilon_bounds(composed, exact, EPS_ERROR, DELTA_ERROR)
        assert bounds[0] <= epsilon <= bounds[2]


def test_mesh_and_error_are_each_others_inverse():
    h = compose_prv.mesh_size([300, 700], 0.07, DELTA_ERROR)
    assert compose_prv.eps_error_of([300, 700], h, DELTA_ERROR) == pytest.approx(0.07, rel=1e-14)


@pytest.mark.slow
def test_lengths_have_small_odd_factors():
    def smooth(number):
        for factor in (3, 5, 7):
            while number % factor == 0:
                number //= factor
        return number == 1

    for least in range(1, 500):
        brute_force = next(number for number in range(least, 1000) if smooth(number))
        assert compose_prv.odd_smooth_number(least) == brute_force
        assert compose_prv.odd_smooth_number(least - 0.5) == brute_force


# ---- Koskela et al. ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("mesh", "delta_error"), [(1e-2, 1e-6), (1e-3, 1e-12)])
def test_the_fourier_accountant_contains_the_closed_form(mesh, delta_error):
    plain, count = SubsampledGaussian(10.0, 1.0), 50
    composed = fourier_accountant.compose_rounded(plain, count, mesh, delta_error)
    for epsilon in (0.1, 1.0, 3.0):
        exact = gaussian_delta(epsilon, mu=50**0.5 / 10.0)
        lower, upper = fourier_accountant.delta_bounds(composed, epsilon)
        assert lower <= exact <= upper
        lower, upper = fourier_accountant.epsilon_bounds(composed, exact)
        assert lower <= epsilon <= upper


@pytest.mark.slow
def test_both_roundings_of_the_fourier_accountant_lie_a_mesh_apart_in_every_step():
    plain, count, mesh = SubsampledGaussian(0.8, 1e-2), 40, 1e-3
    composed = fourier_accountant.compose_rounded(plain, count, mesh, 1e-14)
    for epsilon in (0.3, 1.0):
        down = compose_prv.delta(composed.down, epsilon)
        assert compose_prv.delta(composed.up, epsilon + count * mesh) == pytest.approx(
            float(down), rel=1e-9
        )


@pytest.mark.parametrize("count", [1, 2, 7, 64, 1000])
def test_sums_of_powers(count):
    a = np.array([-1e-3, 0.0, 2e-2])
    plain = [np.log(sum(np.exp(j * one) for j in range(1, count + 1))) for one in a]
    assert fourier_accountant.log_geometric(a, count) == pytest.approx(plain, rel=1e-12)


def test_the_window_keeps_the_bound_of_the_transform():
    plain, count, mesh, error = SubsampledGaussian(0.8, 1e-2), 100, 1e-3, 1e-9
    window = float(fourier_accountant.truncation(plain, count, mesh, error))
    tilts = compose_prv.TILTS
    bounds = fourier_accountant.log_errors(plain, count, mesh) - tilts * window
    assert np.min(bounds - np.log1p(-np.exp(-2 * tilts * window))) <= np.log(error)


# ---- Peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_the_closed_form_and_its_inverse(mu):
    for epsilon in (0.0, 0.5, 4.0, 30.0):
        delta = closed_form.gaussian_delta(epsilon, mu)
        exact = gaussian_delta(epsilon, mu)
        assert delta == pytest.approx(exact, rel=1e-11)
        if exact > 0.0:
            assert closed_form.gaussian_epsilon(exact, mu) == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prvcore", "paper (numpy)", "Koskela et al. (numpy)"])
def test_peers_that_need_nothing_contain_the_truth(name):
    peer = peers.find(name)
    runs = [peers.Run(noise_multiplier=0.8, sampling_probability=1e-3, count=1000)]
    answer = peer.epsilon(runs, 1e-7, **peer.ladder[0])
    assert answer.lower <= 0.703708838718 <= answer.upper
    answer = peer.delta(runs, 0.703708838718, **peer.ladder[0])
    assert answer.lower <= 1e-7 <= answer.upper


def test_a_peer_that_cannot_be_imported_says_why():
    class Absent(peers.Peer):
        name, module = "absent", "there_is_no_such_module"

    assert "there_is_no_such_module" in Absent().missing


def test_a_missing_peer_is_not_asked(monkeypatch):
    monkeypatch.setitem(vars(peers.PEERS["opake"]), "missing", "not here")
    with pytest.raises(NotImplementedError, match="opake is left out: not here"):
        peers.find("opake")
