"""What holds for every composition, on settings that hypothesis chooses."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv

noises = st.floats(math.log(0.3), math.log(20.0)).map(math.exp)
probabilities = st.floats(math.log(1e-4), 0.0).map(math.exp)
counts = st.floats(0.0, math.log(3000.0)).map(lambda x: int(math.exp(x)))
deltas = st.floats(math.log(1e-12), math.log(0.3)).map(math.exp)
gaussians = st.builds(prv.PoissonSubsampledGaussian, noises, probabilities)
laplaces = st.builds(prv.PoissonSubsampled, st.builds(prv.Laplace, noises), probabilities)
responses = st.builds(prv.PureDP, st.floats(0.01, 2.0))
mechanisms = st.one_of(gaussians, laplaces, responses)
few = settings(max_examples=8, derandomize=True, deadline=None)


def overlap(a, b):
    return a.lower <= b.upper and b.lower <= a.upper


@few
@given(mechanisms, counts, deltas)
def test_two_widths_overlap(mechanism, count, delta):
    coarse = prv.compose(mechanism, count, eps_error=3e-2).epsilon(delta)
    fine = prv.compose(mechanism, count, eps_error=3e-3).epsilon(delta)
    assert coarse.lower <= coarse.estimate <= coarse.upper
    assert overlap(coarse, fine)


@few
@given(gaussians, laplaces, counts, counts, deltas)
def test_order_does_not_change_a_bit(a, b, m, n, delta):
    one = prv.compose([(a, m), (b, n)], eps_error=3e-2).epsilon(delta)
    assert prv.compose([(b, n), (a, m)], eps_error=3e-2).epsilon(delta) == one


@few
@given(mechanisms, counts, deltas)
def test_adding_steps_never_helps(mechanism, count, delta):
    less = prv.compose(mechanism, count, eps_error=3e-2).epsilon(delta)
    more = prv.compose(mechanism, 2 * count, eps_error=3e-2).epsilon(delta)
    assert more.upper >= less.lower


@few
@given(mechanisms, counts, deltas)
def test_both_directions_are_the_larger(mechanism, count, delta):
    both = prv.compose(mechanism, count, eps_error=3e-2).epsilon(delta)
    for neighbors in ("add", "remove"):
        single = prv.compose(mechanism, count, eps_error=3e-2, neighbors=neighbors).epsilon(delta)
        assert both.upper >= single.lower


@few
@given(st.one_of(gaussians, laplaces), counts, deltas)
def test_delta_inverts_epsilon(mechanism, count, delta):
    curve = prv.compose(mechanism, count, eps_error=1e-2)
    bounds = curve.epsilon(delta)
    assert curve.delta(bounds.upper).lower <= delta * (1 + 1e-9)
    if bounds.lower > 0:
        assert curve.delta(bounds.lower).upper >= delta * (1 - 1e-9)


@pytest.mark.parametrize("noise", [0.7, 3.0])
def test_probability_one_is_the_mechanism_itself(noise):
    plain = prv.compose(prv.Gaussian(noise), 10).epsilon(1e-6)
    sampled = prv.compose(prv.PoissonSubsampled(prv.Gaussian(noise), 1.0), 10).epsilon(1e-6)
    assert plain == sampled


@pytest.mark.parametrize(
    ("mechanism", "count", "delta", "mesh"),
    [
        (prv.Gaussian(20.0), 200, 1e-6, 4e-3),
        (prv.PoissonSubsampledGaussian(2.0, 0.1), 300, 1e-6, 4e-3),
    ],
)
def test_halving_the_mesh_quarters_the_width(mechanism, count, delta, mesh):
    widths = []
    for size in (mesh, mesh / 2):
        bounds = prv.compose(mechanism, count, neighbors="remove", mesh_size=size).epsilon(delta)
        widths.append(bounds.upper - bounds.lower)
    assert 3.0 <= widths[0] / widths[1] <= 5.0


def test_error_law_of_the_dominating_and_dominated_lattice():
    count, mesh, delta = 300, 2e-3, 1e-6
    step = prv.PoissonSubsampledGaussian(2.0, 0.1)
    fine = prv.compose(step, count, neighbors="remove", eps_error=1e-6)
    truth = fine.epsilon(delta).estimate
    near = fine.delta([truth, truth + 1e-3]).estimate
    slope = math.log(near[0] / near[1]) / 1e-3
    law = count * mesh**2 * (slope + 1)
    bounds = prv.compose(step, count, neighbors="remove", mesh_size=mesh).epsilon(delta)
    assert law / 24 <= bounds.upper - truth <= law / 6
    assert law / 48 <= truth - bounds.lower <= law / 12
