"""Rare samples beside mechanisms of far larger losses, by the few losses that these have.

Given one of them, delta of all is that of the samples alone, at an epsilon less by that loss.
"""

import itertools
import math

import pytest

import prvcore as prv

RARE = prv.PoissonSubsampledGaussian(19.5, 1.515e-5)


def losses_of(responses):
    """(loss, mass) of all steps together that are randomized responses of these epsilons."""
    odds = [[(e, 1 / (1 + math.exp(-e))), (-e, 1 / (1 + math.exp(e)))] for e in responses]
    for chosen in itertools.product(*odds):
        yield sum(loss for loss, _ in chosen), math.prod(mass for _, mass in chosen)


@pytest.mark.parametrize("neighbors", ["add", "remove"])
@pytest.mark.parametrize(
    ("responses", "count", "delta"),
    [
        ([0.05633] * 2, 6, 1.5e-9),
        ([0.3, 0.2], 40, 1e-6),
        ([0.1239], 3, 1e-12),
        ([0.6694] * 3, 93, 7e-9),
    ],
)
def test_epsilon_by_the_losses_of_responses(responses, count, delta, neighbors):
    steps = [(prv.PureDP(e), 1) for e in responses] + [(RARE, count)]
    curve = prv.compose(steps, neighbors=neighbors)
    lower, _, upper = curve.epsilon(delta)
    assert curve.error_budget(delta=delta).engine == "none"
    assert upper - lower <= 1e-3 * upper
    samples = prv.compose(RARE, count, neighbors=neighbors)
    laws = list(losses_of(responses))
    # what these sums, in doubles, are off by is far less than a billionth
    least = sum(mass * samples.delta(upper - loss).lower for loss, mass in laws)
    most = sum(mass * samples.delta(lower - loss).upper for loss, mass in laws)
    assert least * (1 - 1e-9) <= delta <= most * (1 + 1e-9)


def test_both_neighbors_are_the_worst():
    steps = [(prv.PureDP(0.05633), 2), (RARE, 6)]
    each = [prv.eps_from_delta(steps, 1.5e-9, neighbors=n) for n in ("add", "remove")]
    worst = prv.eps_from_delta(steps, 1.5e-9, neighbors="add-or-remove")
    assert worst.lower == max(b.lower for b in each)
    assert worst.upper == max(b.upper for b in each)


def test_an_engine_that_is_asked_for_composes():
    steps = [(prv.PureDP(0.05633), 2), (RARE, 6)]
    curve = prv.compose(steps, engine="convolution")
    assert curve.error_budget(delta=1.5e-9).engine == "convolution"
    composed, known = curve.epsilon(1.5e-9), prv.compose(steps).epsilon(1.5e-9)
    assert max(composed.lower, known.lower) <= min(composed.upper, known.upper)
