"""Bounds next to where rounding hides the answer, against exact numbers and without tolerance."""

import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import prvcore as prv


def holds(bounds, low, high=None):
    """Check that the interval and the truth, known to lie in [low, high], meet."""
    low = Fraction(low)
    high = low if high is None else Fraction(high)
    assert math.isinf(bounds.upper) or Fraction(bounds.upper) >= low
    assert Fraction(bounds.lower) <= high
    assert bounds.lower <= bounds.estimate <= bounds.upper


# ---- Atoms in cells ----------------------------------------------------------------------------

BESIDE = prv.FromTable(
    [-0.07528963682067195, 0.4390303875613365, 0.439030466857105],
    [0.6550168138023521, 0.3449831861808775, 1.6770467573765995e-11],
)
ON_A_MESH = prv.FromTable(
    [-0.125, 0.37500000000000006, 0.38500000000000006], [0.649999999999997, 0.35, 3e-15]
)


def test_a_rare_atom_is_not_lost_behind_a_heavy_one_beside_a_knot():
    holds(prv.compose(BESIDE).delta(0.43903042720922075), "6.649e-19", "6.650e-19")


@pytest.mark.parametrize(
    ("delta", "low", "high"), [(1e-17, 0.38166, 0.38167), (1e-30, 0.38499, 0.38501)]
)
def test_nor_on_a_mesh_that_was_asked_for(delta, low, high):
    holds(prv.compose(ON_A_MESH, mesh_size=0.125).epsilon(delta), low, high)


def test_nor_in_a_composition():
    holds(prv.compose(ON_A_MESH, 3, mesh_size=0.125).epsilon(1e-18), 1.13409, 1.1341)


@pytest.mark.slow
def test_a_crowd_of_atoms_in_one_cell_adds_up():
    n = 65536
    each = (int(0.4999 / n * 2**54) + 0.499) * 2.0**-54
    losses = [-0.2] + [1 + i * 2.0**-52 for i in range(n)]
    crowd = prv.FromTable(losses, [1 - n * each] + [each] * n)
    holds(prv.compose(crowd).delta(0.0), "0.315997067360178", "0.315997067360179")


@pytest.mark.slow
def test_the_sum_that_normalises_a_table_counts():
    n = 2**19
    table = prv.FromTable(
        np.append(np.linspace(1, 2, n), 3.0), np.append(np.full(n, 2.0**-66), 0.5), 0.5
    )
    holds(prv.compose(table).delta(10.0), Fraction(1, 2) / (1 + n * Fraction(1, 2**66)))


def test_a_table_whose_p_has_more_than_all_mass_is_normalised():
    size = 7.623432424162901e-11
    table = prv.FromTable([-size, 0.4], [1 - size / 10, size / 10])
    for part in (0.99, 1.0, 1.01):
        bounds = prv.compose(table, neighbors="remove").delta(-part * size)
        assert bounds.upper >= -math.expm1(-part * size) * (1 - 1e-15)


# ---- Mass at infinity, floors ------------------------------------------------------------------


@pytest.mark.parametrize("count", [500, 2000])
def test_masses_at_infinity_of_many_distinct_steps(count):
    steps = [prv.ApproximateDP(0.001 + 1e-6 * i, 1e-7) for i in range(count)]
    holds(prv.compose(steps).delta(math.inf), 1 - (1 - Fraction(1e-7)) ** count)


def test_a_delta_just_below_the_mass_at_infinity_is_not_bounded():
    steps = [prv.ApproximateDP(0.001 + 1e-6 * i, 0.00244496998995089366) for i in range(2000)]
    assert prv.compose(steps).epsilon(0.3873736058155996).upper == math.inf


@pytest.mark.parametrize("delta", [1e-3, 1.0000001e-5, 2e-5])
def test_mass_at_infinity_may_come_last(delta):
    accountant = prv.Accountant()
    for i in range(6):
        accountant.add(prv.BoundedRange(0.01 + 0.001 * i), 100)
    accountant.add(prv.ApproximateDP(0.0, delta))
    assert accountant.epsilon(1e-5).lower == math.inf


@pytest.mark.slow
def test_products_of_many_probabilities_round_as_often():
    random.seed(1)
    step, mass, exact = prv.ApproximateDP(1.0, 0.5625), 0.5625, Fraction(0.5625)
    for _ in range(40):
        candidates = [random.uniform(0.93, 0.99) for _ in range(300)]
        p = max(candidates, key=lambda p: Fraction(mass * p) / (Fraction(mass) * Fraction(p)))
        step, mass, exact = prv.PoissonSubsampled(step, p), mass * p, exact * Fraction(p)
    holds(prv.compose(step, neighbors="remove").delta(50.0), exact)


@pytest.mark.parametrize("epsilon", [-0.5, -1e-12, -1.5190232047371526, -30.0])
def test_no_lower_bound_is_above_the_floor_that_pure_privacy_has(epsilon):
    with mp.workdps(60):
        truth = -mp.expm1(mp.mpf(epsilon))
        steps = [[], prv.PureDP(-epsilon / 2)]
        for step in steps:
            bounds = prv.compose(step).delta(epsilon)
            assert mp.mpf(bounds.lower) <= truth <= mp.mpf(bounds.upper)


# ---- Losses of any size ------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [1e9, 1e12, 1e15])
@pytest.mark.parametrize("part", [1 - 1e-4, 0.97, 0.5, 1e-3])
def test_tiny_losses(noise, part):
    with mp.workdps(60):
        mu = 1 / mp.mpf(noise)
        delta = float(part * (mp.ncdf(mu / 2) - mp.ncdf(-mu / 2)))
        upper = mp.mpf(prv.compose(prv.Gaussian(noise)).epsilon(delta).upper)
        if upper < mp.inf:  # the curve at the upper bound is no more than delta
            z = upper / mu
            at = mp.ncdf(mu / 2 - z) - mp.exp(upper) * mp.ncdf(-mu / 2 - z)
            assert at <= mp.mpf(delta)


@pytest.mark.parametrize(("loss", "p"), [(700.5, 2.3e-308), (703.1, 5e-308), (705.0, 1e-307)])
def test_losses_of_tiny_probabilities_do_not_cancel(loss, p):
    with mp.workdps(60):
        truth = mp.log1p(mp.mpf(p) * mp.expm1(mp.mpf(loss)))
        bounds = prv.compose(
            prv.PoissonSubsampled(prv.PureDP(loss), p), neighbors="remove"
        ).epsilon(0.0)
        assert mp.mpf(bounds.lower) <= truth <= mp.mpf(bounds.upper)


@pytest.mark.parametrize(
    "step",
    [
        prv.PoissonSubsampled(prv.DiscreteGaussian(1000, 1), 0.5),
        prv.TruncatedPoissonSubsampledGaussian(1.0, 1.0, 100, 50),
    ],
)
def test_losses_of_added_records_end_at_the_logarithm_of_what_is_left_out(step):
    bounds = prv.compose(step, neighbors="add").epsilon(0.0)
    with mp.workdps(60):
        assert mp.mpf(bounds.upper) >= mp.log(2) >= 0.999 * mp.mpf(bounds.lower)
    assert bounds.upper < 1.0


def test_atoms_whose_mass_underflows_still_have_a_loss():
    step = prv.PoissonSubsampled(prv.FromTable([0.0, 700.0], [1.0, 1e-30]), 1e-300)
    bounds = prv.compose(step, neighbors="remove").epsilon(0.0)
    with mp.workdps(60):
        truth = mp.log1p(mp.mpf(1e-300) * mp.expm1(700))
        assert mp.mpf(bounds.lower) <= truth <= mp.mpf(bounds.upper)


def laplace_curve(epsilons):
    """Return the privacy curve of Laplace noise of scale 1, whose losses end at 1."""
    low = np.minimum(epsilons, 1.0)
    return np.maximum(-np.expm1((low - 1.0) / 2), np.maximum(-np.expm1(low), 0.0))


def test_where_losses_of_a_function_end_is_not_known():
    with pytest.warns(prv.AccuracyWarning, match="larger delta"):
        bounds = prv.compose(prv.FromPrivacyCurve(laplace_curve)).epsilon(0.0)
    assert bounds.lower <= 1.0 <= bounds.upper


def test_powers_round_outwards():
    step = prv.ApproximateDP(1.4633936507905497e-09, 1.6150718732871267e-11)
    bounds = prv.compose(step).power(1.1781647154182756e-20)
    assert Fraction(bounds.upper) >= Fraction("1.6150718744652914653e-11")
