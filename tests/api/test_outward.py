"""Numbers that are shown never promise more than is known: they are rounded to the safe side."""

import json
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prvcore as prv
from prvcore._outward import DOWN, NEAREST, UP, RoundedDown, RoundedUp, formatted, rounded

NUMBERS = st.floats(-1e300, 1e300)
SPECIFICATIONS = st.builds(
    "{}.{}{}".format,
    st.sampled_from(["", "+", "012", ","]),
    st.integers(0, 20),
    st.sampled_from(["", "e", "E", "f", "g", "G", "%"]),
)


def number(text):
    """Return what a formatted number says, exactly."""
    plain = text.strip().replace(",", "")
    return Fraction(plain[:-1]) / 100 if plain.endswith("%") else Fraction(plain)


@pytest.mark.slow
@given(NUMBERS, SPECIFICATIONS)
def test_formatted_numbers_are_on_the_safe_side(value, specification):
    low, high = (formatted(value, specification, side) for side in (DOWN, UP))
    assert number(low) <= Fraction(value) <= number(high)
    assert formatted(value, specification, NEAREST) in (low, high)


@pytest.mark.slow
@given(st.floats(1e-30, 1e30), st.integers(1, 15), st.sampled_from("efg"))
def test_few_digits_look_as_floats_do(value, digits, kind):
    if kind != "f" or abs(value) < 10.0 ** (15 - digits):
        text = f".{digits - (kind == 'e')}{kind}"
        assert formatted(value, text, NEAREST) == format(value, text)


@pytest.mark.slow
@given(NUMBERS, st.integers(-5, 20))
def test_rounded_numbers_are_on_the_safe_side(value, decimals):
    assert rounded(value, decimals, DOWN) <= value <= rounded(value, decimals, UP)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_stay(value):
    assert formatted(value, ".3f", UP) == f"{value:.3f}"
    assert rounded(value, 2, DOWN) == value


def test_a_format_without_digits_is_exact():
    assert formatted(0.1, "", UP) == "0.1"
    assert float(formatted(0.1, ".3000f", UP)) == 0.1


@pytest.mark.parametrize("specification", ["x", ".3d", ".f", "_.3f", "s"])
def test_formats_of_other_things_are_refused(specification):
    with pytest.raises(ValueError, match="format must be one of floats"):
        formatted(0.5, specification, UP)


def test_bounds_are_rounded_outwards():
    bounds = prv.Bounds(0.703638, 0.7037089, 0.703779)
    assert f"{bounds:.3f}" == "[0.703, 0.704]"
    assert f"{bounds:.1%}" == "[70.3%, 70.4%]"
    assert f"{bounds}" == str(bounds)
    assert round(bounds, 3) == (0.703, 0.704, 0.704)
    assert round(bounds) == (0.0, 1.0, 1.0)
    many = prv.Bounds(*(np.array([end, 2 * end]) for end in bounds))
    assert f"{many:.2f}" == "[0.70, 0.71]\n[1.40, 1.41]"
    lower = np.array([[0.701, 10.5], [1.25, 2.0]])
    table = prv.Bounds(lower, lower, lower)
    assert f"{table:.2f}".splitlines() == [
        "  [0.70, 0.71]  [10.50, 10.50]",
        "  [1.25, 1.25]    [2.00, 2.00]",
    ]
    both = prv.Bounds(*(np.stack([part, part]) for part in table))
    assert f"{both:.2f}" == f"{table:.2f}\n\n{table:.2f}"
    none = np.zeros((0, 3))
    assert f"{prv.Bounds(none, none, none):.2f}" == ""
    assert round(many, 2).upper.tolist() == [0.71, 1.41]


def test_bounds_of_a_sweep_keep_their_settings():
    bounds = prv.dpsgd_epsilon([0.8, 1.0], 1e-3, 100, 1e-7)
    whole = round(bounds, 2)
    assert whole.settings is bounds.settings
    assert (whole.lower <= bounds.lower).all()
    assert (bounds.upper <= whole.upper).all()
    assert pickle.loads(pickle.dumps(whole)).settings.keys() == bounds.settings.keys()


def test_calibrations_are_rounded_to_where_the_target_is_met():
    step = prv.PoissonSubsampledGaussian(1.0, 256 / 60_000)
    noise = prv.calibrate(step, 3525, epsilon=2, delta=1e-5)
    assert f"{noise:.3f}" == "0.840"  # of 0.83917
    again = prv.PoissonSubsampledGaussian(round(noise, 3), 256 / 60_000)
    assert prv.eps_from_delta(again, 1e-5, counts=3525).upper <= 2
    share = prv.calibrate(step, 3525, epsilon=2, delta=1e-5, parameter="sampling_probability")
    assert float(f"{share:.2g}") <= share.value
    assert round(share, 4) <= share.value
    steps = prv.calibrate(step, epsilon=2, delta=1e-5, parameter="steps")
    assert round(steps, 1) == steps.value == int(f"{steps:d}")


def test_what_may_not_be_rounded_is_not():
    found = prv.calibrate(prv.DiscreteGaussian(10.0), 3, epsilon=2, delta=1e-5)
    assert not found.monotone
    with pytest.raises(ValueError, match="must not be rounded"):
        round(found, 2)
    with pytest.raises(ValueError, match="must not be rounded"):
        f"{found:.2f}"


def test_calibrations_of_a_sweep_are_rounded_too():
    found = prv.dpsgd_noise_multiplier(256 / 60_000, 3525, [2.0, 4.0], 1e-5)
    shown = [float(line) for line in f"{found:.3f}".splitlines()]
    assert all(a >= b for a, b in zip(shown, found.value, strict=True))
    assert round(found, 3).tolist() == shown
    most = prv.dpsgd_steps(1.1, 256 / 60_000, 2, 1e-5)
    assert int(f"{most:d}") == round(most, 2) == most.value


def test_a_sweep_is_shown_as_a_table_of_its_shape():
    noise = [[0.8], [1.0]]
    spent = prv.dpsgd_epsilon(noise, 0.01, [10, 20, 30], 1e-5)
    rows = [re.findall(r"\[.*?\]", line) for line in f"{spent:.3f}".splitlines()]
    assert [len(row) for row in rows] == [3, 3]
    for i, row in enumerate(rows):
        for j, shown in enumerate(row):
            assert shown == f"{prv.Bounds(*(part[i, j] for part in spent)):.3f}"
    assert len(repr(spent).partition("settings=")[2]) < 150
    found = prv.dpsgd_steps(noise, [0.01, 0.02], 1.0, 1e-5)
    assert [line.split() for line in f"{found:d}".splitlines()] == [
        [str(value) for value in row] for row in found.value.tolist()
    ]
    assert "settings=<2 x 2: noise_multiplier=0.8..1.0 (2 values), sampling" in repr(found)
    assert repr(found).startswith("SweepCalibrations(value=array([[")
    alone = prv.dpsgd_steps(0.8, 0.01, 1.0, 1e-5)
    assert repr(alone).endswith(f"settings={alone.settings!r})")


def test_bounds_that_are_floats_are_rounded_to_their_side():
    for kind, shown, kept in (
        (RoundedDown, ("5.9", "599%", "5.99941"), (5.99, 5)),
        (RoundedUp, ("6.0", "600%", "5.99941"), (6.0, 6)),
    ):
        bound = kind(5.99941)
        assert (f"{bound:.1f}", f"{bound:.0%}", f"{bound}") == shown
        assert (round(bound, 2), round(bound)) == kept
        assert pickle.loads(pickle.dumps(bound)) == bound == 5.99941
        assert json.dumps(bound) == "5.99941"
    assert f"{prv.shuffled_lower_bound(1.1, 235, 15, delta=1e-5):.3f}" == "6.000"  # 6.0006
    noise = prv.adaptive_clipping_noise(1.0, deviation=0.8, centred=True)
    assert (f"{noise:.6f}", round(noise, 6)) == ("1.281026", 1.281026)
    assert noise < 1.281026


def test_the_ends_of_scalar_bounds_are_shown_on_the_safe_side():
    bounds = prv.Bounds(0.7036, 0.70365, 0.7031 + 0.0006)
    assert (f"{bounds.lower:.3f}", f"{bounds.upper:.3f}") == ("0.703", "0.704")
    assert (round(bounds.lower, 2), round(bounds.upper, 2)) == (0.7, 0.71)
    spent = prv.compose(prv.Gaussian(2.0)).epsilon(1e-6)
    for one in (spent, spent._replace(estimate=spent.lower), prv.Bounds._make(tuple(spent))):
        assert float(f"{one.lower:.2f}") <= one.lower <= one.upper <= float(f"{one.upper:.2f}")


def test_a_value_that_was_found_is_shown_where_its_target_is_met():
    noise = prv.dpsgd_noise_multiplier(256 / 60_000, 3525, epsilon=2.0, delta=1e-5)
    assert f"{noise.value:.3f}" == f"{noise:.3f}"
    assert round(noise.value, 3) == round(noise, 3) > noise.value
    step = prv.PoissonSubsampledGaussian(1.0, 0.01)
    for parameter, is_less in (("noise_multiplier", False), ("sampling_probability", True)):
        found = prv.calibrate(step, 100, epsilon=2.0, delta=1e-5, parameter=parameter)
        for decimals in (2, 3, 4):
            assert f"{found.value:.{decimals}f}" == f"{found:.{decimals}f}"
            assert (round(found.value, decimals) < found.value) == is_less
    steps = prv.calibrate(step, epsilon=2.0, delta=1e-5, parameter="steps")
    assert type(steps.value) is int
    # more noise may have a larger epsilon here, so that no side is safe
    discrete = prv.calibrate(prv.DiscreteGaussian(1.0), epsilon=2.0, delta=1e-5)
    assert type(discrete.value) is float
    assert repr(noise.value) == repr(float(noise.value))
    assert pickle.loads(pickle.dumps(noise)).value.__class__ is noise.value.__class__
