"""Mechanisms as values: equality, repr, parameters of any scalar type, tables that are copies."""

import dataclasses
import math
import re

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import ALL, gaussian_cdf_p, gaussian_cdf_q, name


@pytest.mark.parametrize("mechanism", ALL, ids=name)
def test_fields_cannot_be_set(mechanism):
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, getattr(mechanism, field.name))
    with pytest.raises((AttributeError, TypeError)):
        mechanism.another = 1


@pytest.mark.parametrize("mechanism", ALL, ids=name)
def test_equal_to_another_of_the_same_fields(mechanism):
    fields = {f.name: getattr(mechanism, f.name) for f in dataclasses.fields(mechanism)}
    again = type(mechanism)(**fields)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert type(mechanism)(*fields.values()) == mechanism
    assert len({again, mechanism}) == 1
    assert mechanism != object()


def test_all_examples_differ():
    assert len(set(ALL)) == len(ALL)


@pytest.mark.parametrize("mechanism", ALL, ids=name)
def test_repr_names_type_and_fields(mechanism):
    for field in dataclasses.fields(mechanism):
        assert f"{field.name}=" in repr(mechanism)
    assert repr(mechanism).startswith(type(mechanism).__name__)


def test_repr_is_the_call():
    mechanism = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=0.001)
    assert repr(mechanism) == (
        "PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=0.001)"
    )


@pytest.mark.parametrize("number", [2, np.int32(2), np.float64(2.0), np.float32(2.0), np.uint8(2)])
def test_real_parameters_take_any_real_scalar(number):
    mechanism = prv.Gaussian(noise_multiplier=number)
    assert mechanism == prv.Gaussian(2.0)
    assert type(mechanism.noise_multiplier) is float


@pytest.mark.parametrize("number", [2, np.int32(2), np.uint64(2)])
def test_integer_parameters_take_any_integer_scalar(number):
    mechanism = prv.DiscreteGaussian(scale=1, sensitivity=number)
    assert mechanism == prv.DiscreteGaussian(1.0, 2)
    assert type(mechanism.sensitivity) is int


def test_no_negative_zero():
    assert repr(prv.Gaussian(noise_multiplier=-0.0)) == "Gaussian(noise_multiplier=0.0)"


def test_sensitivities_default_to_one():
    assert prv.Laplace(2.0) == prv.Laplace(2.0, 1)
    assert prv.DiscreteGaussian(2.0) == prv.DiscreteGaussian(2.0, 1)
    assert prv.DiscreteLaplace(2.0) == prv.DiscreteLaplace(2.0, 1)


def test_edge_parameters_are_mechanisms():
    prv.Gaussian(0)
    prv.Laplace(0)
    prv.PureDP(0)
    prv.ApproximateDP(0, 1)
    prv.PoissonSubsampledGaussian(0, 0)
    prv.PoissonSubsampledGaussian(1, 1)
    prv.PoissonSubsampled(prv.PureDP(1), 0)


def test_table_is_a_read_only_copy():
    losses, probabilities = np.array([0.0, 0.5]), np.array([0.5, 0.4])
    mechanism = prv.FromTable(losses, probabilities, mass_at_infinity=0.1)
    losses[0], probabilities[0] = 9.0, 9.0
    assert mechanism.losses.tolist() == [0.0, 0.5]
    assert mechanism.probabilities.tolist() == [0.5, 0.4]
    for array in (mechanism.losses, mechanism.probabilities):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match=re.escape("WRITEABLE")):
            array.flags.writeable = True


def test_table_takes_unaligned_strided_and_read_only_arrays():
    wanted = prv.FromTable([0.0, 0.5], [0.5, 0.5])
    strided = np.array([0.0, 9.0, 0.5, 9.0])[::2]
    unaligned = np.frombuffer(b"x" + np.array([0.5, 0.5]).tobytes(), offset=1)
    assert not unaligned.flags.aligned
    assert not unaligned.flags.writeable
    assert prv.FromTable(strided, unaligned) == wanted
    assert prv.FromTable((0, 0.5), np.array([0.5, 0.5], dtype=np.float32)) == wanted


def test_own_mechanisms_are_equal_where_their_functions_are():
    assert prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p) == prv.FromCDFs(
        cdf_q=gaussian_cdf_q, cdf_p=gaussian_cdf_p, mass_at_infinity=0
    )
    assert prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p) != prv.FromCDFs(
        gaussian_cdf_p, gaussian_cdf_q
    )


def test_all_are_mechanisms():
    assert all(isinstance(mechanism, prv.Mechanism) for mechanism in ALL)


@pytest.mark.parametrize("delta", [1e-300, 1e-3, 0.2, 0.999])
@pytest.mark.parametrize("epsilon", [0.0, 1.5])
def test_an_approximate_mechanism_is_what_it_says(epsilon, delta):
    """It is (epsilon, delta)-DP, and at any smaller delta for no epsilon."""
    curve = prv.compose(prv.ApproximateDP(epsilon=epsilon, delta=delta))
    lower, _, upper = curve.epsilon(delta)
    assert lower <= epsilon <= upper
    assert upper - lower <= 1e-14
    assert curve.epsilon(delta * 0.999).lower == math.inf


def test_the_mass_at_infinity_of_many_steps_is_rounded():
    """1 - (1 - 2^-20)^3 is no double: at the one nearby epsilon may be 0 or infinite."""
    curve = prv.compose(prv.ApproximateDP(epsilon=0.0, delta=2.0**-20), 3)
    with pytest.warns(prv.AccuracyWarning, match="rounding"):
        lower, _, upper = curve.epsilon(-math.expm1(3 * math.log1p(-(2.0**-20))))
    assert (lower, upper) == (0.0, math.inf)
