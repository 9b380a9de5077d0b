"""Noise on the integers and Laplace noise, on Poisson samples, against sums over outcomes."""

import numpy as np
import pytest

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
