"""The noise that adaptive clipping leaves for the gradients."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prvcore as prv


def test_the_example_of_opacus_has_the_noise_that_it_claims_if_counts_are_centred():
    noise = prv.adaptive_clipping_noise(1.0, 0.8, centred=True)
    assert 1.281025 <= noise <= 1.281026
    both = [prv.Gaussian(noise), prv.NoisyCount(0.8, centred=True)]
    found = prv.eps_from_delta(prv.PoissonSubsampled(both, 0.01), 1e-5, counts=1000)
    assert found.lower <= 1.8282 <= found.upper + 1e-4
    whole = prv.dpsgd_epsilon(1.0, 0.01, 1000, 1e-5)
    assert found.lower <= whole.upper
    assert whole.lower <= found.upper


def test_counts_of_zeros_and_ones_leave_less():
    with pytest.raises(ValueError, match=r"deviation must be above 1, at which .* got 0.8"):
        prv.adaptive_clipping_noise(1.0, 0.8, centred=False)
    assert prv.adaptive_clipping_noise(1.0, 1.6, centred=False) == prv.adaptive_clipping_noise(
        1.0, 0.8, centred=True
    )


@pytest.mark.slow
@given(
    noise=st.floats(1e-3, 1e3),
    ratio=st.floats(1.001, 100.0),
    centred=st.booleans(),
    counts=st.integers(1, 50),
)
def test_the_total_is_kept_and_the_next_float_below_misses_it(noise, ratio, centred, counts):
    sensitivity = 0.5 if centred else 1.0
    deviation = noise * sensitivity * math.sqrt(counts) * ratio
    found = prv.adaptive_clipping_noise(noise, deviation, centred=centred, counts=counts)

    def total(z):  # 1 over the square of the noise multiplier of the step
        return 1 / Fraction(z) ** 2 + counts * Fraction(sensitivity) ** 2 / Fraction(deviation) ** 2

    assert total(found) <= 1 / Fraction(noise) ** 2
    assert total(math.nextafter(found, 0.0)) > 1 / Fraction(noise) ** 2


@pytest.mark.parametrize("noise", [5e-324, 1e-300, 1e300])
def test_extreme_noise_is_kept_too(noise):
    found = prv.adaptive_clipping_noise(noise, min(noise * 1e8, 1e308), centred=True)
    assert found >= noise
    assert Fraction(found) <= Fraction(noise) * (1 + Fraction(1, 2**20)) + Fraction(5e-324)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.0, 1.0, True, 1), ValueError, "noise_multiplier must be"),
        ((1.0, math.inf, True, 1), ValueError, "deviation must be"),
        ((1.0, 1.0, 1, 1), TypeError, "centred must be"),
        ((1.0, 1.0, True, 0), ValueError, "counts must be"),
        ((1.0, 1.0, True, 4), ValueError, "deviation must be above 1,"),
        ((1e308, math.nextafter(1e308, math.inf), False, 1), ValueError, "deviation must be above"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    *numbers, centred, counts = arguments
    with pytest.raises(error, match=message):
        prv.adaptive_clipping_noise(*numbers, centred=centred, counts=counts)
