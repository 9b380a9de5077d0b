"""Noise on the integers and Laplace noise, on Poisson samples, against sums over outcomes."""

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest
from mpmath import mp

import prvcore as prv

P = 0.125


def law_of(kind, scale, sensitivity):
    """Return the two pmfs of the noise, on the integers or on a fine even mesh."""
    reach = scale * (12.0 if kind == "gaussian" else 60.0)  # beyond: less than e^-60
    x = np.linspace(-reach, reach, 48_001) if kind == "laplace" else np.arange(-reach, reach + 1)

    def weight(z):
        return np.exp(-0.5 * (z / scale) ** 2 if kind == "gaussian" else -np.abs(z) / scale)

    total = weight(x).sum()
    return weight(x) / total, weight(x - sensitivity) / total


def sampled_losses(kind, scale, sensitivity, direction):
    """Return the losses of one sampled step, and their masses."""
    p, q = law_of(kind, scale, sensitivity)
    mixed = (1.0 - P) * p + P * q
    first, second = (mixed, p) if direction == "remove" else (p, mixed)
    return np.log(first / second), first


def delta_of(losses, masses, epsilon):
    return (masses * np.maximum(-np.expm1(epsilon - losses), 0.0)).sum()


def delta_of_two(losses, masses, epsilon):
    """Return delta of two steps by all pairs of outcomes, those of the same loss together."""
    at, where = np.unique(np.round(losses, 13), return_inverse=True)
    merged = np.bincount(where, masses)
    return sum(m * delta_of(at, merged, epsilon - loss) for loss, m in zip(at, merged, strict=True))


MECHANISMS = {"gaussian": prv.DiscreteGaussian, "discrete-laplace": prv.DiscreteLaplace}


def held_against_sums(step, losses, masses, epsilon, direction, slack):
    """Hold bounds of one and of two steps against the sums; return lower bounds and sums."""
    held = []
    for count, truth in ((1, delta_of), (2, delta_of_two)):
        lower, _, upper = prv.compose(step, count, neighbors=direction, eps_error=1e-3).delta(
            epsilon
        )
        exact = truth(losses, masses, epsilon)
        assert lower <= exact * (1.0 + slack)
        assert exact * (1.0 - slack) <= upper
        held.append((lower, exact))
    return held


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("kind", ["gaussian", "discrete-laplace"])
@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1), (5.0, 3)])
def test_discrete_noise(kind, scale, sensitivity, epsilon, direction):
    step = prv.PoissonSubsampled(MECHANISMS[kind](scale, sensitivity), P)
    losses, masses = sampled_losses(kind, scale, sensitivity, direction)
    for lower, exact in held_against_sums(step, losses, masses, epsilon, direction, 1e-9):
        assert exact == 0.0 or lower > 0.0


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.07])
def test_laplace_noise(epsilon, direction):
    step = prv.PoissonSubsampled(prv.Laplace(2.0, 1.0), P)
    losses, masses = sampled_losses("laplace", 2.0, 1.0, direction)
    held_against_sums(step, losses, masses, epsilon, direction, 1e-4)


# ---- Atoms that lie on no lattice ---------------------------------------------------------------


def exact_law(scale, probability, direction, reach=60):
    """Return (loss, mass) of one sampled step of discrete Gaussian noise, at 60 digits."""
    sigma, p = mp.mpf(scale), mp.mpf(probability)
    weights = {z: mp.exp(-(mp.mpf(z) ** 2) / (2 * sigma**2)) for z in range(-reach - 1, reach + 1)}
    total = mp.fsum(weights.values())
    law = []
    for z in range(-reach, reach + 1):
        plain, moved = weights[z] / total, weights[z - 1] / total
        mixed = (1 - p) * plain + p * moved
        first, second = (mixed, plain) if direction == "remove" else (plain, mixed)
        law.append((mp.log(first / second), first))
    return law


def exact_delta(law, count, epsilon):
    """Return delta of `count` steps: each multiset of outcomes once."""
    deltas = []
    for outcomes in combinations_with_replacement(law, count):
        loss = mp.fsum(loss for loss, _ in outcomes)
        if loss > epsilon:
            orders = mp.factorial(count)
            for many in Counter(outcomes).values():
                orders /= mp.factorial(many)
            masses = mp.fprod(mass for _, mass in outcomes)
            deltas.append(orders * masses * -mp.expm1(epsilon - loss))
    return mp.fsum(deltas)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("scale", "probability"), [(0.5, 0.25), (0.75, 0.0078125)])
@pytest.mark.parametrize("epsilon", [0.015625, 0.25, 1.0, 3.0])
def test_scattered_atoms_against_all_outcomes(scale, probability, epsilon, direction):
    with mp.workdps(60):
        # what lies beyond z = 12 weighs less than e^-120 at these scales
        truth = exact_delta(exact_law(scale, probability, direction, 12), 3, mp.mpf(epsilon))
        step = prv.PoissonSubsampled(prv.DiscreteGaussian(scale), probability)
        bounds = prv.compose(step, 3, neighbors=direction).delta(epsilon)
        assert mp.mpf(bounds.lower) <= truth + mp.exp(-100)
        assert truth - mp.exp(-100) <= mp.mpf(bounds.upper)


def test_scattered_atoms_need_few_cells():
    """A uniform lattice would take some million points for the atoms to lie close to it."""
    step = prv.PoissonSubsampled(prv.DiscreteGaussian(2.367), 0.001169)
    curve = prv.compose(
        [(step, 5110), (prv.PureDP(0.02008), 2)], neighbors="remove", eps_error=1e-3
    )
    bounds = curve.epsilon(8.343e-7)
    assert bounds.upper - bounds.lower <= 1e-3
    assert curve.error_budget(delta=8.343e-7).cells < 10_000
