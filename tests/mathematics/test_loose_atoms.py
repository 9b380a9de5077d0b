"""Discrete noise on Poisson samples, whose losses lie on no lattice, against sums of outcomes."""

import functools
import math

import numpy as np
import pytest

import prvcore as prv

NOISE, PROBABILITY, COUNT = 0.55, 1e-3, 100
STEP = prv.PoissonSubsampled(prv.DiscreteGaussian(NOISE), PROBABILITY)
# How often each output but 0, the most likely one, may occur in all runs: more is left out.
MOST = {-1: 48, 1: 48, -2: 5, 2: 6, -3: 1, 3: 2, 4: 1}
ENGINES = ["auto", "convolution", "spectrum"]


@functools.cache
def composed(neighbors):
    """Return the sums of losses, their probabilities, and what they leave of 1."""
    x = np.arange(-40, 41)
    law = np.exp(-(x**2) / (2 * NOISE**2))
    law /= law.sum()
    ratio = dict(zip(x, 1 + PROBABILITY * np.expm1((2 * x - 1) / (2 * NOISE**2)), strict=True))
    loss = {i: math.log(ratio[i]) for i in (0, *MOST)}
    chance = dict(zip(x, law, strict=True))
    if neighbors == "remove":
        chance = {i: chance[i] * ratio[i] for i in loss}
    else:
        loss = {i: -loss[i] for i in loss}
    logs = np.array([math.lgamma(n + 1) for n in range(COUNT + 1)])
    total, log_mass, left = np.zeros(1), np.full(1, logs[COUNT]), np.full(1, COUNT)
    for i, most in MOST.items():
        n = np.arange(most + 1)
        total = np.add.outer(total, n * loss[i]).ravel()
        log_mass = np.add.outer(log_mass, n * math.log(chance[i]) - logs[n]).ravel()
        left = np.subtract.outer(left, n).ravel()
        total, log_mass, left = total[left >= 0], log_mass[left >= 0], left[left >= 0]
    total += left * loss[0]
    mass = np.exp(log_mass + left * math.log(chance[0]) - logs[left])
    return total, mass, 1.0 - mass.sum()


def truth(neighbors, epsilon):
    """Return two numbers that delta lies between."""
    total, mass, missing = composed(neighbors)
    above = total > epsilon
    delta = float(np.sum(mass[above] * -np.expm1(epsilon - total[above])))
    return delta * (1 - 1e-10), delta * (1 + 1e-10) + abs(missing) + 1e-11


def test_little_is_left_out():
    for neighbors in ("add", "remove"):
        assert abs(composed(neighbors)[2]) < 1e-6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("neighbors", ["add", "remove"])
@pytest.mark.parametrize("epsilon", [-0.02, 0.0, 0.01, 0.05, 0.1])
def test_delta(neighbors, epsilon, engine):
    low, high = truth(neighbors, epsilon)
    bounds = prv.compose(STEP, COUNT, neighbors=neighbors, engine=engine).delta(epsilon)
    assert bounds.lower <= high
    assert bounds.upper >= low


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("neighbors", "delta"), [("remove", 1e-3), ("remove", 1e-2), ("add", 1e-2)]
)
def test_epsilon(neighbors, delta, engine):
    curve = prv.compose(STEP, COUNT, neighbors=neighbors, engine=engine, eps_error=1e-4)
    bounds = curve.epsilon(delta)
    assert bounds.upper - bounds.lower <= 1e-4
    assert truth(neighbors, bounds.lower)[1] >= delta
    assert truth(neighbors, bounds.upper)[0] <= delta


def test_lattices_of_many_runs_have_few_knots():
    step = prv.PoissonSubsampled(prv.DiscreteGaussian(0.5106), 0.003334)
    for engine in ENGINES:
        budget = prv.compose(step, 271_073, engine=engine, eps_error=0.05).error_budget(
            delta=1.61e-5
        )
        assert budget.accurate
        assert budget.cells <= 64
    assert prv.compose(step, 271_073).error_budget(delta=1.61e-5).engine == "spectrum"


@pytest.mark.parametrize("neighbors", ["add", "remove"])
def test_two_atoms_on_a_lattice_stay_on_it(neighbors):
    """Else bounds of many runs are far apart, whatever the mesh."""
    scale, p = 9.555, 0.3179
    top, bottom = (math.log1p(p * math.expm1(loss)) for loss in (1 / scale, -1 / scale))
    step = prv.PoissonSubsampled(prv.Laplace(scale), p)
    widths = []
    for parts in (32, 64):
        curve = prv.compose(step, 5997, neighbors=neighbors, mesh_size=(top - bottom) / parts)
        bounds = curve.delta(1.25)
        widths.append((bounds.upper - bounds.lower) / bounds.upper)
    assert widths[0] < 3e-4
    assert widths[1] < widths[0] / 2


def test_atoms_off_the_lattice_move_by_what_loses_less():
    """Of randomized responses, against sums of outcomes.

    A lower bound that dropped what lies off the lattice, and did not merge it with the other atom,
    would lose over 20 times as much.
    """
    steps, epsilon, mesh = [(2.801, 1), (1.315, 34)], 16.0, 0.006
    total, mass = np.zeros(1), np.ones(1)
    for loss, count in steps:
        high = 1 / (1 + math.exp(-loss))
        n = np.arange(count + 1)
        chance = [math.comb(count, int(k)) * high**k * (1 - high) ** (count - k) for k in n]
        total = np.add.outer(total, (2 * n - count) * loss).ravel()
        mass = np.multiply.outer(mass, chance).ravel()
    above = total > epsilon
    truth = float(np.sum(mass[above] * -np.expm1(epsilon - total[above])))
    pairs = [(prv.PureDP(loss), count) for loss, count in steps]
    curve = prv.compose(pairs, mesh_size=mesh, engine="convolution")
    lower, _, upper = curve.delta(epsilon)
    assert lower <= truth * (1 + 1e-12)
    assert upper >= truth * (1 - 1e-12)
    off = (2 * 1.315) % mesh  # the lower atom's distance from the lattice of the upper one
    dropped = 34 * min(off, mesh - off) / (1 + math.exp(1.315))
    assert truth - lower < 0.05 * dropped * truth
