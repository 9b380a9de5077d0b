"""What bad input gets: an error that names the argument, shows the value and says the range."""

import math
import re

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q
from tests.support.messages import message

NAN, INF = math.nan, math.inf
GAUSSIAN = prv.Gaussian(1.0)
CURVE = prv.compose(GAUSSIAN)

NON_NEGATIVE = "finite and >= 0"
POSITIVE = "finite and > 0"
PROBABILITY = "in [0, 1]"

# call of one bad value, name, range, values out of that range
REAL_ARGUMENTS = [
    (prv.Gaussian, "noise_multiplier", NON_NEGATIVE, [-1.0, -5e-324, INF, NAN]),
    (prv.Laplace, "scale", NON_NEGATIVE, [-1.0, INF, NAN]),
    (lambda x: prv.Laplace(1.0, x), "sensitivity", POSITIVE, [0.0, -1.0, INF, NAN]),
    (prv.PureDP, "epsilon", NON_NEGATIVE, [-1.0, INF, NAN]),
    (lambda x: prv.ApproximateDP(x, 0.1), "epsilon", NON_NEGATIVE, [-1.0, INF, NAN]),
    (lambda x: prv.ApproximateDP(0.1, x), "delta", PROBABILITY, [-0.1, 1.1, INF, NAN]),
    (
        lambda x: prv.PoissonSubsampledGaussian(x, 0.1),
        "noise_multiplier",
        NON_NEGATIVE,
        [-1, INF, NAN],
    ),
    (
        lambda x: prv.PoissonSubsampledGaussian(1.0, x),
        "sampling_probability",
        PROBABILITY,
        [-0.1, 1.1, 2, INF, NAN],
    ),
    (
        lambda x: prv.PoissonSubsampled(GAUSSIAN, x),
        "sampling_probability",
        PROBABILITY,
        [-0.1, 1.1, INF, NAN],
    ),
    (prv.DiscreteGaussian, "scale", POSITIVE, [0.0, -1.0, INF, NAN]),
    (prv.DiscreteLaplace, "scale", POSITIVE, [0.0, -1.0, INF, NAN]),
    (
        lambda x: prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p, x),
        "mass_at_infinity",
        PROBABILITY,
        [-0.1, 1.1, NAN],
    ),
    (
        lambda x: prv.FromTable([0.0], [1.0], x),
        "mass_at_infinity",
        PROBABILITY,
        [-0.1, 1.1, NAN],
    ),
    (
        lambda x: prv.FromPrivacyCurve(gaussian_cdf_q, x),
        "mass_at_infinity",
        PROBABILITY,
        [-0.1, 1.1, NAN],
    ),
    (lambda x: prv.compose(GAUSSIAN, eps_error=x), "eps_error", POSITIVE, [0.0, -1.0, INF, NAN]),
    (lambda x: prv.compose(GAUSSIAN, mesh_size=x), "mesh_size", POSITIVE, [0.0, -1.0, INF, NAN]),
    (
        lambda x: prv.compose(GAUSSIAN, discretization="mean-matching", delta_error=x),
        "delta_error",
        "in (0, 1)",
        [0.0, 1.0, -1.0, INF, NAN],
    ),
    (CURVE.epsilon, "delta", PROBABILITY, [-1e-300, 1.0000001, -INF, INF, NAN]),
    (lambda x: CURVE.error_budget(delta=x), "delta", PROBABILITY, [-1.0, 1.1, NAN]),
    (lambda x: prv.eps_from_delta(CURVE, x), "delta", PROBABILITY, [-1.0, 1.1, NAN]),
    (lambda x: prv.eps_from_delta(GAUSSIAN, x, counts=2), "delta", PROBABILITY, [-1.0, NAN]),
    (CURVE.delta, "epsilon", "in [-inf, inf], not nan", [NAN]),
    (lambda x: CURVE.error_budget(epsilon=x), "epsilon", "in [-inf, inf], not nan", [NAN]),
    (lambda x: prv.delta_from_eps(CURVE, x), "epsilon", "in [-inf, inf], not nan", [NAN]),
]
INTEGER_ARGUMENTS = [
    (
        lambda x: prv.DiscreteGaussian(1.0, x),
        "sensitivity",
        "in [1, 9223372036854775807]",
        [0, -1, 2**63],
    ),
    (
        lambda x: prv.DiscreteLaplace(1.0, x),
        "sensitivity",
        "in [1, 9223372036854775807]",
        [0, -1, 2**63],
    ),
    (lambda x: prv.compose(GAUSSIAN, x), "counts", "in [0, 9007199254740992]", [-1, 2**53 + 1]),
    (
        lambda x: prv.compose([GAUSSIAN, GAUSSIAN], [1, x]),
        "counts[1]",
        "in [0, 9007199254740992]",
        [-1, 2**53 + 1],
    ),
    (
        lambda x: prv.compose([(GAUSSIAN, x)]),
        "the count of mechanisms[0]",
        "in [0, 9007199254740992]",
        [-1, 2**53 + 1],
    ),
    (
        lambda x: prv.eps_from_delta(GAUSSIAN, 0.1, counts=x),
        "counts",
        "in [0, 9007199254740992]",
        [-1],
    ),
    (
        lambda x: prv.delta_from_eps(GAUSSIAN, 0.1, counts=x),
        "counts",
        "in [0, 9007199254740992]",
        [-1],
    ),
    (prv.set_memory_limit, "limit", "in [1, 9223372036854775807]", [0, -1, 2**63]),
]


def identifiers(rows):
    return [f"{i}-{row[1].split('[')[0].replace(' ', '-')}" for i, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("call", "argument", "allowed", "values"), REAL_ARGUMENTS, ids=identifiers(REAL_ARGUMENTS)
)
def test_numbers_out_of_range(call, argument, allowed, values):
    for value in values:
        with pytest.raises(ValueError, match=message(argument, allowed, f"got {value!r}")):
            call(value)
        with pytest.raises(ValueError, match=message(argument, allowed, "got ")):
            call(np.float64(value))


@pytest.mark.parametrize(
    ("call", "argument", "allowed", "values"), REAL_ARGUMENTS, ids=identifiers(REAL_ARGUMENTS)
)
@pytest.mark.parametrize("value", [True, np.True_, "0.5", b"1", 1j, [None], {}, object()])
def test_what_is_no_real_number(call, argument, allowed, values, value):
    with pytest.raises(TypeError, match=message(argument, "real", f"got {value!r}")):
        call(value)


@pytest.mark.parametrize(
    ("call", "argument"),
    [(prv.Gaussian, "noise_multiplier"), (CURVE.epsilon, "delta"), (CURVE.delta, "epsilon")],
)
def test_none_where_there_is_no_default(call, argument):
    with pytest.raises(TypeError, match=message(argument, "real", "got None")):
        call(None)


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_integers_beyond_floating_point(value):
    with pytest.raises(
        ValueError, match=message("noise_multiplier must be", f"got {value!r:.77}...")
    ):
        prv.Gaussian(value)


@pytest.mark.parametrize(
    ("call", "argument", "allowed", "values"), INTEGER_ARGUMENTS, ids=identifiers(INTEGER_ARGUMENTS)
)
def test_integers_out_of_range(call, argument, allowed, values):
    for value in values:
        with pytest.raises(ValueError, match=message(argument, allowed, f"got {value!r}")):
            call(value)


@pytest.mark.parametrize(
    ("call", "argument", "allowed", "values"), INTEGER_ARGUMENTS, ids=identifiers(INTEGER_ARGUMENTS)
)
@pytest.mark.parametrize("value", [True, "2", 1j, [1], object()])
def test_what_is_no_integer(call, argument, allowed, values, value):
    with pytest.raises(TypeError, match=message(argument, "integer", allowed, f"got {value!r}")):
        call(value)


# ---- Arrays ----------------------------------------------------------------------------------


def test_an_array_names_the_first_bad_element():
    with pytest.raises(ValueError, match=message("delta must be in [0, 1], got 1.5 at index 2")):
        CURVE.epsilon([0.1, 0.2, 1.5, -1.0])
    with pytest.raises(
        ValueError, match=message("epsilon must be", "not nan, got nan at index (1, 0)")
    ):
        CURVE.delta([[0.1, 0.2], [NAN, 0.3]])
    with pytest.raises(ValueError, match=message("delta must be in [0, 1], got nan at index 1")):
        CURVE.epsilon(np.array([0.1, NAN]))


@pytest.mark.parametrize(
    "values", [[True, False], ["0.1"], [0.1j], [None], np.array([0.1], dtype=object), [{}]]
)
def test_arrays_of_other_kinds(values):
    with pytest.raises(TypeError, match=message("delta must be real numbers, in [0, 1], got")):
        CURVE.epsilon(values)
    required = "epsilon must be real numbers, in [-inf, inf], not nan, got"
    with pytest.raises(TypeError, match=message(required)):
        CURVE.delta(values)


def test_ragged_arrays():
    with pytest.raises(ValueError, match=message("delta must be a number or a regular array, got")):
        CURVE.epsilon([[0.1], [0.1, 0.2]])


# ---- Counts and mechanisms -------------------------------------------------------------------


def test_counts_that_add_up_to_too_much():
    with pytest.raises(
        ValueError,
        match=message("counts must add up to at most 9007199254740992", "got 9007199254740993"),
    ):
        prv.compose([(GAUSSIAN, 2**53), (prv.Gaussian(2.0), 1)])
    with pytest.raises(ValueError, match="counts must add up to at most 9007199254740992"):
        prv.compose([(GAUSSIAN, 2**53), GAUSSIAN])


@pytest.mark.parametrize("counts", [3, [1], [1, 2, 3], []])
def test_counts_of_another_length(counts):
    with pytest.raises(
        ValueError,
        match=message("counts must be a sequence of 2 integers, one for each of mechanisms, got"),
    ):
        prv.compose([GAUSSIAN, GAUSSIAN], counts)


@pytest.mark.parametrize("mechanisms", [3, None, 1.5])
def test_no_mechanisms(mechanisms):
    with pytest.raises(
        TypeError, match=message("mechanisms must be a mechanism", repr(mechanisms))
    ):
        prv.compose(mechanisms)


@pytest.mark.parametrize(
    "item", [3, "Gaussian", (GAUSSIAN,), (3, GAUSSIAN), (GAUSSIAN, 1, 2), CURVE]
)
def test_items_that_are_no_mechanisms(item):
    with pytest.raises(
        TypeError, match=message("mechanisms[1] must be a mechanism or a pair", "got ", repr(item))
    ):
        prv.compose([GAUSSIAN, item])


def test_pairs_beside_counts():
    with pytest.raises(TypeError, match=message("mechanisms[0] must be a mechanism where counts")):
        prv.compose([(GAUSSIAN, 1)], [1])


@pytest.mark.parametrize("mechanism", [1, None, CURVE, prv.Gaussian])
def test_subsampling_what_is_no_mechanism(mechanism):
    with pytest.raises(TypeError, match=message("mechanism must be a mechanism", repr(mechanism))):
        prv.PoissonSubsampled(mechanism, 0.1)


def test_subsampling_twice_multiplies_the_probabilities():
    twice = prv.PoissonSubsampled(prv.PoissonSubsampledGaussian(1.0, 0.5), 0.25)
    once = prv.PoissonSubsampledGaussian(1.0, 0.125)
    assert prv.compose(twice, 10).epsilon(1e-5) == prv.compose(once, 10).epsilon(1e-5)


def test_discrete_noise_of_too_many_values():
    with pytest.raises(ValueError, match=message("DiscreteGaussian(scale=1000000000000.0", "2^24")):
        prv.compose(prv.DiscreteGaussian(scale=1e12))


def test_missing_and_unknown_arguments():
    with pytest.raises(TypeError, match="noise_multiplier"):
        prv.Gaussian()
    with pytest.raises(TypeError, match="sigma"):
        prv.Gaussian(sigma=1.0)
    with pytest.raises(TypeError, match="epsilon_error"):
        prv.compose(GAUSSIAN, epsilon_error=0.1)
    with pytest.raises(TypeError, match="epsilon_error"):
        prv.eps_from_delta(GAUSSIAN, 0.1, epsilon_error=0.1)


# ---- Options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("neighbors", "'add-or-remove', 'add', 'remove', 'replace-one'"),
        ("discretization", "'bracketing', 'mean-matching'"),
    ],
)
def test_options_of_a_few_values(option, choices):
    for value, error in (("both", ValueError), ("", ValueError), (None, TypeError), (1, TypeError)):
        with pytest.raises(
            error, match=message(f"{option} must be one of {choices}, got {value!r}")
        ):
            prv.compose(GAUSSIAN, **{option: value})


def test_delta_error_without_mean_matching():
    with pytest.raises(
        ValueError, match=message("delta_error must be None unless", "'mean-matching', got 1e-10")
    ):
        prv.compose(GAUSSIAN, delta_error=1e-10)


def test_composing_what_is_composed():
    for function in (prv.eps_from_delta, prv.delta_from_eps):
        with pytest.raises(TypeError, match="already composed: counts must not be given"):
            function(CURVE, 0.1, 5)
        with pytest.raises(TypeError, match="already composed: eps_error, neighbors must not"):
            function(CURVE, 0.1, eps_error=0.1, neighbors="add")


def test_a_budget_of_one_point():
    with pytest.raises(TypeError, match="exactly one of delta and epsilon, got delta=None"):
        CURVE.error_budget()
    with pytest.raises(TypeError, match=r"exactly one of .* got delta=0.1 and epsilon=0.2"):
        CURVE.error_budget(delta=0.1, epsilon=0.2)
    with pytest.raises(
        TypeError, match=re.escape("delta must be a scalar, got an array of shape (2,)")
    ):
        CURVE.error_budget(delta=[0.1, 0.2])


@pytest.mark.slow
def test_a_mesh_that_needs_too_much_memory():
    curve = prv.compose(prv.Gaussian(1.0), 1000, mesh_size=1e-12)
    for ask in (lambda: curve.epsilon(1e-5), lambda: curve.delta(100.0)):
        with pytest.raises(
            ValueError,
            match=r"^mesh_size = 1e-12 needs [1-9]\d+ bytes, .*limit of 1073741824 bytes: "
            r"use a larger mesh_size or raise memory_limit$",
        ):
            ask()


def test_mean_matching_that_needs_too_much_memory():
    curve = prv.compose(prv.Gaussian(30.0), 10_000, discretization="mean-matching", eps_error=1e-7)
    with pytest.raises(
        ValueError,
        match=r"^eps_error = 1e-07 needs [1-9]\d+ bytes, .*limit of 1073741824 bytes: "
        r"use a larger eps_error or raise memory_limit$",
    ):
        curve.epsilon(1e-5)
    curve = prv.compose(GAUSSIAN, 1000, discretization="mean-matching", mesh_size=1e-9)
    with pytest.raises(
        ValueError, match=r"^mesh_size = 1e-09 needs [1-9]\d+ bytes, .*: use a larger mesh_size or"
    ):
        curve.epsilon(1e-5)
