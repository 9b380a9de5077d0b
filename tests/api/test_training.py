"""Epochs, data sets and batches become steps and sampling probabilities as stated."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prvcore as prv


@pytest.mark.slow
@given(
    size=st.integers(1, 10**9),
    batch=st.integers(1, 10**6),
    parts=st.integers(1, 50),
    hundredths=st.integers(0, 10**5),
)
def test_steps_are_rounded_as_stated(size, batch, parts, hundredths):
    size = max(size, batch * parts)
    epochs = Fraction(hundredths, 100)
    plans = {
        rounding: prv.dpsgd_schedule(
            size, batch, hundredths / 100, accumulation_steps=parts, rounding=rounding
        )
        for rounding in ("up-each-epoch", "up", "down")
    }
    exact = epochs * size / (batch * parts)
    assert plans["up"].steps - 1 < exact <= plans["up"].steps
    assert plans["down"].steps <= exact < plans["down"].steps + 1
    each = plans["up-each-epoch"].steps
    assert plans["up"].steps <= each < exact + epochs + 1
    if epochs.denominator == 1:
        assert each == epochs * -(-size // (batch * parts))
    for plan in plans.values():
        assert plan.sampling_probability == float(Fraction(batch * parts, size))


def test_a_tenth_of_an_epoch_is_a_tenth():
    assert prv.dpsgd_schedule(100, 10, 0.1).steps == 1


def test_numbers_are_broadcast():
    plan = prv.dpsgd_schedule(1000, [10, 25], [[1], [2], [0.5]], rounding="up")
    assert plan.steps.tolist() == [[100, 40], [200, 80], [50, 20]]
    assert plan.sampling_probability.tolist() == [[0.01, 0.025]] * 3


@pytest.mark.parametrize("epochs", [2, [1, 2]])
def test_bounds_are_those_of_the_sweep_and_tell_all_values(epochs):
    plan = prv.dpsgd_schedule(1000, 5, epochs, accumulation_steps=2)
    for found, expected in (
        (
            plan.epsilon(1.1, 1e-5, neighbors="remove"),
            prv.dpsgd_epsilon(1.1, plan.sampling_probability, plan.steps, 1e-5, neighbors="remove"),
        ),
        (
            plan.delta(1.1, 0.5),
            prv.dpsgd_delta(1.1, plan.sampling_probability, plan.steps, 0.5),
        ),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert set(found.settings) == {*expected.settings, *plan._fields}
        for name in ("dataset_size", "batch_size", "accumulation_steps", "epochs"):
            assert np.shape(found.settings[name]) == np.shape(found.upper)
            assert np.array_equal(found.settings[name], getattr(plan, name))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((0, 1, 1), {}, ValueError, r"dataset_size must be in \[1, \d+\], got 0"),
        ((10.5, 1, 1), {}, ValueError, "dataset_size must be an integer"),
        ((10, 11, 1), {}, ValueError, "batch_size must be .* got 11 for 10"),
        (
            (10, 4, 1),
            {"accumulation_steps": 3},
            ValueError,
            r"batch_size \* accumulation_steps must be .* got 4 \* 3 for 10",
        ),
        ((10, 4, -1), {}, ValueError, "epochs must be finite and >= 0, got -1.0"),
        ((10, 4, 1e300), {}, ValueError, r"the number of steps must be in \[0, \d+\]"),
        ((10, 4, 1), {"rounding": "even"}, ValueError, "rounding must be one of"),
        (([10, 20], [1, 2, 3], 1), {}, ValueError, r"dataset_size \(2,\), batch_size \(3,\)"),
        ((10, 4, 1), {"loader": "torch"}, ValueError, "loader must be one of"),
        ((10, 4, 1), {"drop_last": True}, ValueError, "drop_last must be False"),
        ((10, 4, 1), {"drop_last": 1}, TypeError, "drop_last must be True or False"),
        ((10, 11, 1), {"loader": "opacus", "drop_last": True}, ValueError, "no batch is left"),
        (
            (10, 4, 1),
            {"loader": "opacus", "accumulation_steps": 2},
            ValueError,
            "accumulation_steps must be 1",
        ),
        ((10, 4, 1), {"loader": "opacus", "rounding": "up"}, ValueError, "rounding must be"),
    ],
)
def test_bad_arguments_are_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        prv.dpsgd_schedule(*arguments, **options)


@pytest.mark.parametrize("ask", ["epsilon", "delta", "noise_multiplier", "report"])
def test_what_a_plan_has_is_not_given_again(ask):
    plan = prv.dpsgd_schedule(1000, 5, 1)
    with pytest.raises(
        TypeError, match=r"sampler must be left out: dpsgd_schedule has .* 'poisson'"
    ):
        getattr(plan, ask)(1.0, 1e-5, sampler="poisson")


@pytest.mark.parametrize(("drop_last", "batches"), [(True, 3), (False, 4)])
def test_the_loader_of_opacus_samples_by_its_batches(drop_last, batches):
    plan = prv.dpsgd_schedule(1000, 256, 15, loader="opacus", drop_last=drop_last)
    assert (plan.sampling_probability, plan.steps) == (1 / batches, 15 * batches)
    step = prv.PoissonSubsampledGaussian(1.1, 1 / batches)
    assert plan.epsilon(1.1, 1e-5) == prv.eps_from_delta(step, 1e-5, counts=15 * batches)


def test_the_loader_of_opacus_may_lose_a_step_to_rounding():
    plan = prv.dpsgd_schedule(93, 1, [1, 0.5], loader="opacus")
    assert plan.sampling_probability.tolist() == [1 / 93] * 2
    assert plan.steps.tolist() == [92, 46]


def test_whole_floats_are_integers():
    assert prv.dpsgd_schedule(1e3, 1e1, 2) == prv.dpsgd_schedule(1000, 10, 2)
    assert prv.dpsgd_epsilon(1, 0.01, [1e3], 1e-5) == prv.dpsgd_epsilon(1, 0.01, [1000], 1e-5)
    step = prv.Gaussian(2.0)
    assert prv.compose(step, np.float64(7.0)).counts == (7,)


def test_noise_is_calibrated_for_the_schedule():
    plan = prv.dpsgd_schedule(1000, 5, [1, 2])
    found = plan.noise_multiplier(1.0, 1e-5)
    expected = prv.dpsgd_noise_multiplier(plan.sampling_probability, plan.steps, 1.0, 1e-5)
    assert np.array_equal(found.value, expected.value)
    assert set(found.settings) == {*expected.settings, *plan._fields}
