"""What holds for every composition, on settings that hypothesis chooses."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from tests.support.examples import gaussian_delta
from tests.support.strategies import (
    compositions,
    counts,
    deltas,
    gaussians,
    laplaces,
    log_uniform,
    mechanisms,
    noises,
    parameters,
    probabilities,
    sensitivities,
    shares,
    tables,
    unsampled,
)

# bounds must hold whatever their width: little memory keeps the hard settings short
pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    limit = prv.get_memory_limit()
    prv.set_memory_limit(2**25)
    yield
    prv.set_memory_limit(limit)


few = settings(max_examples=8, derandomize=True)
many = settings(max_examples=60, derandomize=True)


def overlap(a, b):
    return a.lower <= b.upper and b.lower <= a.upper


def ordered(bounds):
    return 0.0 <= bounds.lower <= bounds.estimate <= bounds.upper


# ---- The same composition said in two ways ---------------------------------------------------


@pytest.mark.slow
@many
@given(compositions, deltas)
def test_two_widths_overlap(steps, delta):
    coarse = prv.compose(steps, eps_error=3e-2).epsilon(delta)
    fine = prv.compose(steps, eps_error=3e-3).epsilon(delta)
    assert ordered(coarse)
    assert ordered(fine)
    assert overlap(coarse, fine)


@pytest.mark.slow
@many
@given(compositions, deltas, log_uniform(1e-2, 0.3), log_uniform(1e-2, 0.3))
def test_two_meshes_overlap(steps, delta, mesh, another):
    one = prv.compose(steps, mesh_size=mesh).epsilon(delta)
    assert ordered(one)
    assert overlap(one, prv.compose(steps, mesh_size=another).epsilon(delta))
    assert overlap(one, prv.compose(steps).epsilon(delta))


def contains_the_gaussian_value(bounds, noise, count, delta):
    """Whether the bounds of epsilon contain the exact one, by its delta at either bound."""
    mu = math.sqrt(count) / noise
    lower, _, upper = bounds
    above = upper == math.inf or gaussian_delta(upper, mu) <= delta * (1.0 + 1e-12)
    return above and (lower == 0.0 or gaussian_delta(lower, mu) >= delta * (1.0 - 1e-12))


@pytest.mark.slow
@many
@given(noises, counts, deltas, log_uniform(3e-3, 3.0))
def test_every_mesh_contains_the_exact_gaussian_value(noise, count, delta, mesh):
    mesh /= noise  # in units of the loss of one step
    bounds = prv.compose(prv.Gaussian(noise), count, mesh_size=mesh).epsilon(delta)
    assert contains_the_gaussian_value(bounds, noise, count, delta)


@pytest.mark.parametrize(
    ("noise", "count", "delta", "mesh"),
    [(7.389, 1, 0.0183, 2.718), (4.15, 1, 1.4e-12, 0.976), (16.3, 3, 9.4e-12, 2.87)],
)
def test_a_mesh_far_wider_than_a_step_contains_the_gaussian_value(noise, count, delta, mesh):
    bounds = prv.compose(prv.Gaussian(noise), count, mesh_size=mesh).epsilon(delta)
    assert contains_the_gaussian_value(bounds, noise, count, delta)


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-50])
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_nearly_one_outcome_reaches_the_greatest_loss(count, delta):
    # An outcome within 2.9 deviations has a density ratio below 1e-8: its loss is within 1e-8 of
    # the greatest. All outcomes are such with a probability above 0.9.
    noise, probability = 0.1, 0.02
    step = prv.PoissonSubsampledGaussian(noise, probability)
    greatest = -count * math.log1p(-probability)
    lower, _, upper = prv.compose(step, count, neighbors="add").epsilon(delta)
    assert upper <= greatest * (1 + 1e-12)
    assert lower >= (greatest - count * 1e-8 - 2 * delta) * (1 - 1e-3)


@pytest.mark.slow
@few
@given(gaussians, laplaces, counts, counts, deltas)
def test_order_does_not_change_a_bit(a, b, m, n, delta):
    one = prv.compose([(a, m), (b, n)], eps_error=3e-2).epsilon(delta)
    assert prv.compose([(b, n), (a, m)], eps_error=3e-2).epsilon(delta) == one


@pytest.mark.slow
@few
@given(mechanisms, counts, counts, deltas)
def test_equal_objects_are_one_mechanism(mechanism, m, n, delta):
    whole = prv.compose(mechanism, m + n).epsilon(delta)
    assert prv.compose([(mechanism, m), (mechanism, n)]).epsilon(delta) == whole
    assert prv.compose([(mechanism, m), (copy.copy(mechanism), n)]).epsilon(delta) == whole


@pytest.mark.slow
@many
@given(mechanisms, counts, counts, deltas)
def test_splitting_the_steps_changes_nothing(mechanism, m, n, delta):
    twin = prv.PoissonSubsampled(mechanism, 1.0)  # the same one, but not equal: it is not merged
    curve = prv.compose([(mechanism, m), (twin, n)])
    assert len(curve.mechanisms) == 2
    assert overlap(curve.epsilon(delta), prv.compose(mechanism, m + n).epsilon(delta))


@pytest.mark.slow
@many
@given(mechanisms, counts, deltas)
def test_probability_one_is_the_mechanism_itself(mechanism, count, delta):
    plain = prv.compose(mechanism, count).epsilon(delta)
    assert prv.compose(prv.PoissonSubsampled(mechanism, 1.0), count).epsilon(delta) == plain


@few
@given(noises, counts, deltas)
def test_probability_one_is_the_gaussian_itself(noise, count, delta):
    plain = prv.compose(prv.Gaussian(noise), count).epsilon(delta)
    assert prv.compose(prv.PoissonSubsampledGaussian(noise, 1.0), count).epsilon(delta) == plain


# ---- More privacy ----------------------------------------------------------------------------


def no_worse(more_private, less_private, delta):
    """Whether bounds allow the first to be at least as private as the second."""
    more, less = prv.compose(more_private), prv.compose(less_private)
    return more.epsilon(delta).lower <= less.epsilon(delta).upper


# the first of the parameters is a noise that more privacy has more of
FAMILIES = {
    "gaussian": lambda noise, delta, p, sensitivity: prv.Gaussian(noise),
    "laplace": lambda noise, delta, p, sensitivity: prv.Laplace(noise, sensitivity),
    "discrete-laplace": lambda noise, delta, p, sensitivity: prv.DiscreteLaplace(
        noise, sensitivity
    ),
    "pure": lambda noise, delta, p, sensitivity: prv.PureDP(1.0 / noise),
    "approximate": lambda noise, delta, p, sensitivity: prv.ApproximateDP(1.0 / noise, delta),
    "sampled-gaussian": lambda noise, delta, p, sensitivity: prv.PoissonSubsampledGaussian(
        noise, p
    ),
    "sampled-laplace": lambda noise, delta, p, sensitivity: prv.PoissonSubsampled(
        prv.Laplace(noise, sensitivity), p
    ),
}


@pytest.mark.slow
@few
@pytest.mark.parametrize("family", FAMILIES)
@given(parameters, shares, counts, deltas)
def test_more_noise_never_harms(family, values, share, count, delta):
    noise, *others = values
    less, more = FAMILIES[family](noise, *others), FAMILIES[family](noise * (1 + share), *others)
    assert no_worse([(more, count)], [(less, count)], delta)


@pytest.mark.slow
@many
@given(unsampled, probabilities, shares, counts, deltas)
def test_smaller_samples_never_harm(mechanism, p, share, count, delta):
    less, more = (prv.PoissonSubsampled(mechanism, x) for x in (p, p / (1.0 + share)))
    assert no_worse([(more, count)], [(less, count)], delta)


@pytest.mark.slow
@many
@given(compositions, counts, deltas)
def test_fewer_steps_never_harm(steps, count, delta):
    (mechanism, first), *others = steps
    assert no_worse(steps, [(mechanism, first + count), *others], delta)
    assert no_worse(others, steps, delta)


@pytest.mark.slow
@many
@given(compositions, deltas, shares)
def test_a_larger_delta_never_needs_a_larger_epsilon(steps, delta, share):
    curve = prv.compose(steps)
    assert curve.epsilon(delta * (1.0 + share)).lower <= curve.epsilon(delta).upper


# ---- Directions, inverses --------------------------------------------------------------------


@pytest.mark.slow
@many
@given(compositions, deltas)
def test_both_directions_are_the_larger(steps, delta):
    both, add, remove = (
        prv.compose(steps, neighbors=neighbors) for neighbors in ("add-or-remove", "add", "remove")
    )
    epsilon = both.epsilon(delta)
    for whole, a, b in (
        (epsilon, add.epsilon(delta), remove.epsilon(delta)),
        tuple(curve.delta(epsilon.estimate) for curve in (both, add, remove)),
    ):
        assert whole.lower <= max(a.upper, b.upper)
        assert max(a.lower, b.lower) <= whole.upper


@pytest.mark.slow
@many
@given(compositions, deltas)
def test_delta_inverts_epsilon(steps, delta):
    curve = prv.compose(steps)
    lower, _, upper = curve.epsilon(delta)
    if upper < math.inf:
        assert curve.delta(upper).lower <= delta
    if lower > 0.0:
        assert curve.delta(lower).upper >= delta


@pytest.mark.slow
@many
@given(compositions, deltas)
def test_epsilon_inverts_delta(steps, delta):
    curve = prv.compose(steps)
    epsilon = curve.epsilon(delta).estimate
    lower, _, upper = curve.delta(epsilon)
    assert curve.epsilon(upper).lower <= epsilon
    if lower > curve.delta(math.inf).upper:  # else all epsilons from some on have the same delta
        assert curve.epsilon(lower).upper >= epsilon


# ---- Shape of the curve ----------------------------------------------------------------------


@pytest.mark.slow
@many
@given(compositions, deltas, st.floats(0.01, 0.99), st.sampled_from(["add", "remove"]))
def test_curves_fall_and_are_convex_in_e_to_the_epsilon(steps, delta, share, direction):
    curve = prv.compose(steps, neighbors=direction)
    last = curve.epsilon(delta).estimate
    if not 0.0 < last < 500.0:
        return
    first, middle = (
        0.5 * last,
        math.log(share * math.exp(0.5 * last) + (1 - share) * math.exp(last)),
    )
    lower, _, upper = curve.delta([first, middle, last])
    assert lower[1] <= upper[0]
    assert lower[2] <= upper[1]
    # the rounding of `middle` moves the chord by about that of its exponential, and the curve,
    # which falls no steeper than 1, by that of a logarithm of numbers near 1
    chord = share * upper[0] + (1 - share) * upper[2] + 1e-15 * (1.0 + last)
    chord += 1e-14 * upper[0] * math.exp(min(last, 30.0))
    assert lower[1] <= chord


SYMMETRIC = st.one_of(
    gaussians,
    laplaces,
    st.builds(
        prv.PoissonSubsampled,
        st.one_of(
            st.builds(prv.DiscreteLaplace, noises, sensitivities),
            st.builds(prv.ApproximateDP, log_uniform(0.01, 2.0), log_uniform(1e-12, 1e-3)),
        ),
        probabilities,
    ),
)


@pytest.mark.slow
@few
@given(st.lists(st.tuples(SYMMETRIC, counts), min_size=1, max_size=2), st.floats(0.0, 2.0))
def test_directions_are_each_others_reverse(steps, epsilon):
    # of (Q, P): sup Q(S) - e^eps P(S) = 1 - e^eps + e^eps sup (P(S) - e^-eps Q(S))
    add, remove = (
        prv.compose(steps, neighbors=neighbors, eps_error=1e-2) for neighbors in ("add", "remove")
    )
    for one, other in ((add, remove), (remove, add)):
        here, there = one.delta(epsilon), other.delta(-epsilon)
        rounding = 1e-14 * math.exp(epsilon)
        low, high = (
            1.0 - math.exp(epsilon) + math.exp(epsilon) * x for x in (there.lower, there.upper)
        )
        assert here.lower <= high + rounding
        assert low - rounding <= here.upper


@pytest.mark.slow
@few
@given(unsampled, counts, deltas)
def test_unsampled_mechanisms_have_one_direction(mechanism, count, delta):
    add, remove = (
        prv.compose(mechanism, count, neighbors=neighbors).epsilon(delta)
        for neighbors in ("add", "remove")
    )
    assert add == remove


# ---- Changes of variables, post-processing ---------------------------------------------------


@pytest.mark.slow
@few
@given(noises, log_uniform(0.1, 10.0), st.sampled_from([0.25, 2.0, 1024.0]), counts, deltas)
def test_the_unit_of_the_query_does_not_matter(noise, sensitivity, unit, count, delta):
    one = prv.compose(prv.Laplace(noise, sensitivity), count).epsilon(delta)
    assert prv.compose(prv.Laplace(unit * noise, unit * sensitivity), count).epsilon(delta) == one
    other = prv.compose(prv.Laplace(1.7 * noise, 1.7 * sensitivity), count).epsilon(delta)
    assert overlap(one, other)


@pytest.mark.slow
@many
@given(tables(), st.integers(0, 4), log_uniform(1.0, 50.0).map(int), deltas)
def test_merging_outcomes_never_harms(table, place, count, delta):
    losses, q = table.losses, table.probabilities
    if len(losses) < 2:
        return
    i = place % (len(losses) - 1)
    p = q * np.exp(-losses)
    merged = prv.FromTable(
        [*losses[:i], math.log((q[i] + q[i + 1]) / (p[i] + p[i + 1])), *losses[i + 2 :]],
        [*q[:i], q[i] + q[i + 1], *q[i + 2 :]],
        table.mass_at_infinity,
    )
    assert no_worse([(merged, count)], [(table, count)], delta)


# ---- The error law ---------------------------------------------------------------------------


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


@pytest.mark.slow
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
