"""What bad input gets: an error that names the argument, shows the value and says the range."""

import copy
import math
import operator
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import prvcore as prv
from prvcore import _names, sampling
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q, gaussian_delta

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


def message(*parts):
    """Return a pattern for an error that consists of these parts in this order."""
    return "^" + ".*".join(re.escape(part) for part in parts)


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


# ---- Tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "probabilities", "parts"),
    [
        ([0.0, NAN], [0.5, 0.5], ["losses must be finite, got nan at index 1"]),
        ([0.0, INF], [0.5, 0.5], ["losses must be finite, got inf at index 1"]),
        ([-INF, 0.0], [0.5, 0.5], ["losses must be finite, got -inf at index 0"]),
        (
            [0.0, 1.0, 1.0],
            [0.5, 0.25, 0.25],
            ["losses must be strictly increasing, got 1.0 before 1.0 at index 2"],
        ),
        (
            [1.0, 0.5],
            [0.5, 0.5],
            ["losses must be strictly increasing, got 1.0 before 0.5 at index 1"],
        ),
        ([0.0, 1.0], [1.5, -0.5], ["probabilities must be >= 0, got -0.5 at index 1"]),
        ([0.0, 1.0], [0.5, NAN], ["probabilities must be finite, got nan at index 1"]),
        ([0.0, 1.0], [0.5, INF], ["probabilities must be finite, got inf at index 1"]),
        (
            [0.0, 1.0],
            [0.5, 0.4],
            ["probabilities and mass_at_infinity must sum to 1 within 1e-9, got", "0.9", "0.0"],
        ),
        (
            [0.0, 1.0],
            [0.5, 0.5 + 2e-9],
            ["probabilities and mass_at_infinity must sum to 1 within 1e-9, got"],
        ),
        ([0.0, 1.0], [1.0], ["probabilities must have one entry for each of losses, got 1 for 2"]),
        ([], [], ["losses must be one-dimensional and not empty, got", "shape (0,)"]),
        ([[0.0]], [[1.0]], ["losses must be one-dimensional and not empty, got", "shape (1, 1)"]),
        (0.0, 1.0, ["losses must be one-dimensional and not empty, got", "shape ()"]),
    ],
)
def test_tables(losses, probabilities, parts):
    with pytest.raises(ValueError, match=message(*parts)):
        prv.FromTable(losses, probabilities)


@pytest.mark.parametrize("bad", [["0"], [True], [1j], [None], "0"])
def test_tables_of_other_kinds(bad):
    numbers = "real numbers" if isinstance(bad, list) else "a real number"
    with pytest.raises(TypeError, match=message(f"losses must be {numbers}, got", repr(bad))):
        prv.FromTable(bad, [1.0])
    with pytest.raises(TypeError, match=message(f"probabilities must be {numbers}, got")):
        prv.FromTable([0.0], bad)


def test_a_table_that_counts_the_mass_at_infinity_twice():
    with pytest.raises(ValueError, match=r"mass_at_infinity 0\.5"):
        prv.FromTable([0.0], [1.0], mass_at_infinity=0.5)


def test_a_table_of_no_pair():
    with pytest.raises(ValueError, match=message("the sum of probability", "exp(-loss)", "2.718")):
        prv.compose(prv.FromTable([-1.0], [1.0]))


# ---- Functions -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 1.0, "erf", np.array([1.0])])
def test_what_is_no_function(value):
    calls = {
        "cdf_q": lambda: prv.FromCDFs(value, gaussian_cdf_p),
        "cdf_p": lambda: prv.FromCDFs(gaussian_cdf_q, value),
        "delta": lambda: prv.FromPrivacyCurve(value),
    }
    for argument, call in calls.items():
        with pytest.raises(TypeError, match=message(argument, "function", f"got {value!r}")):
            call()


def ask(mechanism):
    return prv.compose(mechanism).epsilon(1e-3)


def with_one(position, function):
    """Return FromCDFs of the Gaussian with one of its functions replaced."""
    functions = {"cdf_q": gaussian_cdf_q, "cdf_p": gaussian_cdf_p}
    functions[position] = function
    return prv.FromCDFs(**functions)


@pytest.mark.parametrize("position", ["cdf_q", "cdf_p"])
@pytest.mark.parametrize(
    ("function", "parts"),
    [
        (lambda x: np.where(x < 0.0, 0.0, 1.5), ["must return values in [0, 1], got 1.5 at loss"]),
        (
            lambda x: np.where(x < 0.0, -0.5, 1.0),
            ["must return values in [0, 1], got -0.5 at loss"],
        ),
        (lambda x: np.where(x < 0.0, 0.0, NAN), ["must return values in [0, 1], got nan at loss"]),
        (lambda x: gaussian_cdf_q(x) - 1e-15, ["must return values in [0, 1], got -1e-15 at loss"]),
        (lambda x: 1.0 - gaussian_cdf_q(x), ["must not decrease, got ", "at loss", "at loss"]),
        (lambda x: 0.5, ["same shape, ", "got shape ()"]),
        (lambda x: x[:-1], ["same shape, ", "got shape ("]),
        (lambda x: np.stack([x, x]), ["same shape, ", "got shape (2, "]),
    ],
)
def test_functions_that_are_no_cdf(position, function, parts):
    with pytest.raises(ValueError, match=message(position, *parts)):
        ask(with_one(position, function))


@pytest.mark.parametrize("position", ["cdf_q", "cdf_p"])
@pytest.mark.parametrize(
    "function", [lambda x: None, lambda x: x + 0j, lambda x: x > 0.0, lambda x: x.astype(str)]
)
def test_functions_that_return_another_kind(position, function):
    with pytest.raises(TypeError, match=message(position, "real numbers, got dtype")):
        ask(with_one(position, function))


def test_cdfs_that_belong_to_no_pair():
    with pytest.raises(
        ValueError, match=message("cdf_q and cdf_p must belong to one pair", "got ")
    ):
        ask(prv.FromCDFs(gaussian_cdf_p, gaussian_cdf_q))


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        (
            lambda x: np.full_like(x, 1.5),
            ["delta must return values in [0, 1], got 1.5 at epsilon"],
        ),
        (lambda x: np.full_like(x, -0.5), ["delta must return values in [0, 1], got -0.5"]),
        (lambda x: np.full_like(x, NAN), ["delta must return values in [0, 1], got nan"]),
        (gaussian_cdf_q, ["delta must not increase, got ", "at epsilon", "at epsilon"]),
        (lambda x: np.full_like(x, -1e-15), ["delta must return values in [0, 1], got -1e-15"]),
        (np.zeros_like, ["delta must return values of at least 1 - e^epsilon, got 0.0 at epsilon"]),
        (
            lambda x: np.where(x < 1.0, 1.0, 0.0),
            ["delta must be convex in e^epsilon, got [", "at the epsilons ["],
        ),
        (lambda x: 0.5, ["delta is called with a float64 array", "same shape, ", "got shape ()"]),
    ],
)
def test_functions_that_are_no_privacy_curve(function, parts):
    with pytest.raises(ValueError, match=message(*parts)):
        ask(prv.FromPrivacyCurve(function))


# ---- What is unusual, but no error -----------------------------------------------------------


def test_tiny_sampling_still_gives_valid_bounds():
    lower, estimate, upper = prv.compose(prv.PoissonSubsampledGaussian(1.0, 1e-300), 1).epsilon(
        1e-9
    )
    assert lower == 0.0
    assert estimate <= upper
    assert upper < 1e-3


# Rounding hides such a delta in one direction, and in the other one losses are next to nothing:
# both upper bounds are about equal, and the larger one's direction tells whether they are close.
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_sampling_that_hardly_happens_still_gives_valid_bounds():
    p, count = 1e-12, 1000
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.0, p), count)
    lower, _, upper = curve.delta(0.0)
    one = p * math.erf(0.5 / math.sqrt(2.0))  # the total variation of one step
    assert lower <= count * one
    assert one <= upper <= 1e-6
    assert curve.epsilon(1e-5) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_large_losses_are_legal():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=0.01, sampling_probability=0.01)
    lower, _, upper = prv.compose(step, 1000).epsilon(1e-5)
    assert lower <= 129_944 <= upper
    assert upper - lower <= 1e-3 * upper


@pytest.mark.parametrize("neighbors", ["add-or-remove", "remove", "replace-one"])
@pytest.mark.parametrize("noise", [prv.Gaussian(0.0), prv.Laplace(0.0)])
def test_no_noise(noise, neighbors):
    # P and Q share no outcome: delta is 1, and of a sampled record 1 - (1 - p)^k
    options = {"neighbors": neighbors}
    assert prv.eps_from_delta(noise, 0.9, **options).lower == INF
    for epsilon in (-700.0, -1.0, 0.0, 700.0):
        lower, _, upper = prv.delta_from_eps(noise, epsilon, **options)
        assert 1.0 - 1e-12 <= lower <= upper == 1.0
    sampled = prv.PoissonSubsampled(noise, 0.125)
    lower, _, upper = prv.delta_from_eps(sampled, 700.0, counts=3, **options)
    assert lower <= 1.0 - 0.875**3 <= upper <= lower + 1e-9


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e-150, 5e307, 1.7e308])
@pytest.mark.parametrize(
    "noise",
    [
        prv.Gaussian,
        prv.Laplace,
        prv.DiscreteGaussian,
        prv.DiscreteLaplace,
        lambda scale: prv.MixtureOfGaussians(scale, [0.0, 1.0], [0.5, 0.5]),
        lambda scale: prv.PoissonSubsampledGaussian(scale, 0.25),
        lambda scale: prv.Laplace(1.0, min(1.0 / max(scale, 1e-308), 1.7e308)),
    ],
)
def test_noise_that_no_double_tells_from_none_or_from_all_is_refused(noise, scale):
    # Gaussian(1e-151) has a finite epsilon, about 5e301: to take it for no noise is no lower bound.
    with pytest.raises(ValueError, match=r"1e-150|1e150"):
        prv.compose(noise(scale)).delta(0.5)


def test_other_sizes_that_no_double_tells_apart_are_refused():
    for mechanism in (
        lambda: prv.BoundedRange(1e155),
        lambda: prv.MixtureOfGaussians(1e10, [0.0, 1.0, 5e-324], [0.5, 0.25, 0.25]),
        lambda: prv.MixtureOfGaussians(1.0, [0.0, 1.0], [1.5e-323, 1.0]),
    ):
        with pytest.raises(ValueError, match="1e150"):
            prv.compose(mechanism()).epsilon(1e-5)


def test_greatest_losses_that_are_subnormal_or_overflow_are_enclosed():
    # log(1 + p expm1(mu)) and log(1 - p expm1(-mu)) are p mu, but for a part in 1e10
    sampled = prv.PoissonSubsampled(prv.Laplace(1e10), 1e-300)
    lower, _, upper = prv.compose(sampled, neighbors="remove").epsilon(0.0)
    exact = Fraction(1e-300) * (1 / Fraction(1e10) + Fraction(1, 2 * 10**20))
    assert Fraction(lower) < exact < Fraction(upper) < exact * (1 + Fraction(1, 10**12))
    tiny = prv.PoissonSubsampled(prv.Laplace(9.999999999999999e17), 2.5e-308)
    assert prv.compose(tiny).epsilon(0.0).upper > 0.0
    for steps in ([(prv.PureDP(1e308), 10)], [prv.PureDP(1e308), prv.PureDP(0.9e308)]):
        with pytest.warns(prv.AccuracyWarning):
            lower, _, upper = prv.compose(steps).epsilon(0.0)
        assert lower < INF  # which the exact value is not
        assert upper == INF


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("eps_error", [1e6, 1e12, 1e100, 1.7e308])
def test_widths_that_hardly_ask_anything(eps_error):
    curve = prv.compose(GAUSSIAN, 100, eps_error=eps_error)
    lower, _, upper = curve.delta(90.0)
    assert lower <= gaussian_delta(90.0, 10.0) <= upper
    lower, _, upper = curve.epsilon(gaussian_delta(90.0, 10.0))
    assert lower <= 90.0 <= upper


def test_nothing_is_printed(memory_limit, capfd):
    prv.set_memory_limit(2**20)
    with pytest.warns(prv.AccuracyWarning):
        prv.compose(GAUSSIAN, 1000, eps_error=1e-9, engine="convolution").epsilon(1e-5)
    with pytest.raises(ValueError, match="mesh_size"):
        prv.compose(GAUSSIAN, 1000, mesh_size=1e-12).epsilon(1e-5)
    with pytest.raises(ValueError, match="cdf_q"):
        ask(prv.FromCDFs(lambda x: x, gaussian_cdf_p))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "values",
    [
        [0.5, True],
        (0.5, np.True_),
        [[0.5], [False]],
        np.array([], complex),
        np.ma.masked,
        [0.5, np.ma.masked],
        np.ma.array([0.5, 0.1], mask=[False, True]),
    ],
    ids=repr,
)
def test_what_numpy_would_take_for_numbers(values):
    with pytest.raises(TypeError, match="delta must be real"):
        CURVE.epsilon(values)


# ---- Messages that say what to do --------------------------------------------------------------


def test_a_point_of_the_error_budget_has_a_name():
    with pytest.raises(TypeError, match=r"by name, as error_budget\(delta=\.\.\.\).*got 1e-07"):
        prv.compose(prv.Gaussian(1)).error_budget(1e-7)


@pytest.mark.parametrize("second", [prv.Gaussian(1), prv.compose(prv.Gaussian(1))])
@pytest.mark.parametrize(
    ("function", "name"), [(prv.eps_from_delta, "delta"), (prv.delta_from_eps, "epsilon")]
)
def test_swapped_arguments_are_told(function, name, second):
    with pytest.raises(TypeError, match=f"mechanisms first and {name} second"):
        function(0.1, second)
    with pytest.raises(TypeError, match=f"mechanisms first and {name} second"):
        function(0.1, [second])


def test_both_lengths_are_told_but_not_all_counts():
    with pytest.raises(ValueError, match=r"of 3 integers.*got 50 of them$"):
        prv.compose([prv.Gaussian(1)] * 3, list(range(50)))


def test_a_table_of_too_much_of_p_is_refused_at_once():
    with pytest.raises(ValueError, match=r"P's mass, must be at most 1, got 1\.543080634815"):
        prv.FromTable([-1, 1], [0.5, 0.5])  # cosh(1)


def test_exchanged_cdfs_are_told():
    own = prv.FromCDFs(lambda x: ndtr(x + 0.5), lambda x: ndtr(x - 0.5))
    with pytest.raises(ValueError, match="Exchanged they would"):
        prv.compose(own).epsilon(1e-5)


@pytest.mark.slow
def test_a_limit_that_is_missed_is_told(memory_limit):
    prv.set_memory_limit(2**25)  # refinement cannot help, and ends where memory does

    def delta(epsilons):
        return 0.1 + 0.9 * -np.expm1(np.minimum(epsilons, 0.0))

    for own in (
        prv.FromPrivacyCurve(delta),
        prv.PoissonSubsampled(prv.FromPrivacyCurve(delta), 0.5),
    ):
        told = r"delta is 0\.1 at epsilon 8192\.0, where mass_at_infinity = 0\.0 leaves"
        with pytest.warns(prv.AccuracyWarning, match=told):
            bounds = prv.compose(own).epsilon(0.01)
        assert bounds.upper == math.inf
    with pytest.raises(ValueError, match=r"delta must return values of at least.*0\.2, got 0\.1"):
        prv.compose(prv.FromPrivacyCurve(delta, mass_at_infinity=0.2)).epsilon(0.3)
    own = prv.FromCDFs(lambda x: ndtr(x - 0.5), lambda x: ndtr(x + 0.5), mass_at_infinity=0.1)
    with pytest.raises(ValueError, match=r"at most 1 - mass_at_infinity, mass_at_infinity = 0\.1"):
        prv.compose(own).epsilon(0.3)


def test_a_relative_width_is_told_as_one():
    before = prv.get_memory_limit()
    prv.set_memory_limit(1000)
    try:
        with pytest.raises(ValueError, match=r"^eps_error = 0\.001 \* max.* needs"):
            prv.compose(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000).epsilon(1e-7)
    finally:
        prv.set_memory_limit(before)


@pytest.mark.parametrize(
    "call",
    [
        lambda **options: prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, **options),
        lambda **options: prv.delta_from_eps(prv.Gaussian(1.0), 1.0, **options),
        lambda **options: prv.dpsgd_epsilon(1.0, 0.1, 1, 1e-5, **options),
        lambda **options: prv.dpsgd_delta(1.0, 0.1, 1, 1.0, **options),
        lambda **options: prv.dpsgd_noise_multiplier(0.1, 1, 1.0, 1e-5, **options),
        lambda **options: prv.dpsgd_steps(1.0, 0.1, 1.0, 1e-5, **options),
        lambda **options: prv.Accountant(**options),
    ],
)
def test_an_unknown_option_is_refused_by_the_name_of_what_was_called(call):
    name = next(name for name in call.__code__.co_names if name not in ("prv", "Gaussian"))
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'width'"):
        call(width=1.0)


PLAN = prv.dpsgd_schedule(60_000, 256, 15)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prv.PoissonSubsampledGaussian(sigma=1.1, q=0.1), "'sigma': did you mean noise_m"),
        (lambda: prv.PoissonSubsampledGaussian(1.1, sample_rate=0.1), "mean sampling_probability"),
        (lambda: prv.Laplace(b=2.0), "^Laplace.* did you mean scale"),
        # the deviation of Laplace noise is another number than its scale
        (lambda: prv.Laplace(sigma=2.0), "it takes scale, sensitivity$"),
        (lambda: prv.Gaussian(1.1, sensitivity=2.0), "it takes noise_multiplier$"),
        (lambda: prv.Accountant().step(noise_multiplier=1.1, sample_rate=0.1), "mean sampling_pro"),
        (lambda: prv.Accountant().step(noise_multiplier=1.1, steps=3), "^Acc.*step.* mean count"),
        (lambda: prv.dpsgd_epsilon(noise_multiplier=1.1, sample_rate=0.1), "mean sampling_prob"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, num_steps=10, delta=1e-5), "did you mean steps"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, target_delta=1e-5), "did you mean delta"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, epochs=3), "dpsgd_schedule takes it"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, num_samples=3), "dpsgd_schedule takes it"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, neighbours="add"), "mean neighbors"),
        (lambda: prv.dpsgd_delta(1.1, 0.1, 1, eps=1.0), "did you mean epsilon"),
        (lambda: prv.dpsgd_noise_multiplier(0.1, 1, target_epsilon=1.0), "did you mean epsilon"),
        (lambda: prv.dpsgd_steps(1.1, 0.1, 1.0, 1e-5, tolerence=1e-3), "did you mean tolerance"),
        (lambda: prv.dpsgd_schedule(num_samples=60_000), "did you mean dataset_size"),
        (lambda: prv.compose(prv.Gaussian(1.0), steps=3), "did you mean counts"),
        (lambda: prv.compose(prv.Gaussian(1.0), eps_eror=0.1), "did you mean eps_error"),
        (lambda: prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, count=3), "did you mean counts"),
        (lambda: prv.calibrate(prv.Gaussian(1.0), target_epsilon=1.0), "did you mean epsilon"),
        (lambda: prv.Accountant(neighbours="add"), "did you mean neighbors"),
        (lambda: prv.PrivacyFilter(target_epsilon=1.0), "^PrivacyFilter.* did you mean epsilon"),
        (lambda: prv.PrivacyOdometer(prv.Accountant(), 1e-5, reading=3), "did you mean readings"),
        (lambda: sampling.PoissonBatches(100, sample_rate=0.1, steps=3), "mean sampling_prob"),
        (lambda: sampling.BallsInBinsBatches(num_samples=100, bins=3), "did you mean dataset_si"),
        (lambda: PLAN.epsilon(sigma=1.1, delta=1e-5), "^TrainingSchedule.eps.* mean noise_mult"),
        (lambda: PLAN.delta(1.1, eps=1.0), "did you mean epsilon"),
        (lambda: PLAN.noise_multiplier(target_epsilon=1.0, delta=1e-5), "did you mean epsilon"),
        (lambda: prv.compose([]).epsilon(target_delta=1e-5), "^PrivacyCurve.eps.* mean delta"),
        (lambda: prv.Accountant().delta(eps=1.0), "^Accountant.delta.* did you mean epsilon"),
        (lambda: prv.Accountant().add(prv.Gaussian(1.0), steps=3), "did you mean count"),
        (lambda: prv.eps_from_delta(prv.Gaussian(1.0), target_delta=1e-5), "did you mean delta"),
        (lambda: prv.shuffled_lower_bound(1.1, 9, target_delta=1e-5), "did you mean delta"),
        (lambda: PLAN.report(1.1, 1e-5, digit=3), "^TrainingSchedule.report.* mean digits"),
        (lambda: prv.PoissonSubsampledGaussian(1.1, batch_size=256), "dpsgd_schedule takes it"),
    ],
)
def test_an_argument_under_another_name_is_told_its_own(call, told):
    with pytest.raises(TypeError, match="got an unexpected keyword argument") as refused:
        call()
    assert re.search(told, str(refused.value)), refused.value
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prv.Gaussian(1.0, 2.0), "Gaussian() got 2 arguments without names: it is Gaussi"),
        (
            lambda: prv.SubsampledWithoutReplacement(prv.Gaussian(1.1), 256, 60_000),
            "got 3 arguments without names: it is SubsampledWithoutReplacement(mechanism, samp",
        ),
        (lambda: prv.Accountant("rdp"), "without its name: it is Accountant(name=...)"),
        (
            lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, "replace-one"),
            "it is dpsgd_epsilon(noise_multiplier, sampling_probability, steps, delta, name=...)",
        ),
    ],
)
def test_arguments_that_need_a_name(call, told):
    with pytest.raises(TypeError) as refused:
        call()
    assert told in str(refused.value), refused.value


@pytest.mark.parametrize(
    ("thing", "name", "meant"),
    [
        (prv.Accountant(), "get_epsilon", "epsilon"),
        (prv.Accountant(), "compose", "add"),
        (prv.Accountant(), "state_dict", "to_json"),
        (prv.Accountant(), "load_state_dict", "from_json"),
        (prv.compose([]), "get_epsilon", "epsilon"),
        (prv.compose([]), "get_delta_for_epsilon", "delta"),
        (PLAN, "get_epsilon", "epsilon"),
        (prv.PrivacyFilter(prv.Accountant(), 1.0, 1e-5), "get_epsilon", "spent"),
        (PLAN, "get_noise_multiplier", "noise_multiplier"),
        (prv, "get_noise_multiplier", "dpsgd_noise_multiplier"),
        (prv, "RDPAccountant", "Accountant"),
        (prv, "GaussianDpEvent", "Gaussian"),
        (prv, "PoissonSampledDpEvent", "PoissonSubsampled"),
        (prv, "compute_dp_sgd_privacy", "dpsgd_epsilon"),
    ],
)
def test_a_name_of_another_library_tells_the_one_here(thing, name, meant):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': did you mean {meant}\?$"):
        getattr(thing, name)
    assert hasattr(thing, meant)


def test_a_module_that_nobody_has_imported():
    code = "import prvcore; prvcore.sampling.PoissonBatches"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr.strip().endswith("no attribute 'sampling': import prvcore.sampling")
    code = code.replace("import prvcore", "from prvcore import sampling; import prvcore")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_told_exists():
    methods = {
        name for kind in (prv.Accountant, prv.PrivacyCurve, prv.PrivacyFilter) for name in dir(kind)
    }
    assert set(_names._METHODS_ALSO_CALLED) <= methods | set(dir(prv.TrainingSchedule))
    assert set(_names._GLOBALS_ALSO_CALLED) <= set(prv.__all__)
    for others in _names._GLOBALS_ALSO_CALLED.values():
        assert not set(others.split()) & set(prv.__all__)


@pytest.mark.parametrize("thing", [prv, prv.Accountant(), prv.compose([]), PLAN])
def test_other_missing_names_are_missing(thing):
    with pytest.raises(AttributeError, match=r"no attribute 'nothing_of_the_kind'$"):
        thing.nothing_of_the_kind  # noqa: B018
    assert not hasattr(prv.compose([]), "state_dict")  # nothing there is saved as JSON
    assert copy.copy(prv.Accountant()) == prv.Accountant()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("replace", "replace-one"),
        ("replace_one", "replace-one"),
        ("Bounded", "replace-one"),
        ("unbounded", "add-or-remove"),
        ("ADD_OR_REMOVE_ONE", "add-or-remove"),
    ],
)
def test_neighbours_under_another_name(given, meant):
    with pytest.raises(ValueError, match=rf"got '{given}': did you mean '{meant}'\?$"):
        prv.compose(prv.Gaussian(1.0), neighbors=given)


def test_choices_that_are_like_no_other():
    with pytest.raises(ValueError, match=r"got 'zero-out'$"):
        prv.compose(prv.Gaussian(1.0), neighbors="zero-out")
    with pytest.raises(TypeError, match=r"got None$"):
        prv.compose(prv.Gaussian(1.0), neighbors=None)
    with pytest.raises(ValueError, match="did you mean 'random-allocation'"):
        prv.dpsgd_epsilon(1.1, 0.1, 10, 1e-5, sampler="random_allocation")


def test_a_fraction_is_a_real_number_in_all_places():
    one, probability, delta = Fraction(11, 10), Fraction(1, 250), Fraction(1, 10**5)
    assert prv.PoissonSubsampledGaussian(one, probability).noise_multiplier == 1.1
    swept = prv.dpsgd_epsilon(one, probability, 10, delta)
    assert swept == prv.dpsgd_epsilon(1.1, 0.004, 10, 1e-5)
    with pytest.raises(ValueError, match="noise_multiplier must be finite and >= 0, got Fraction"):
        prv.dpsgd_epsilon(Fraction(10**400), probability, 10, delta)


def test_mechanisms_in_a_list_are_added_one_by_one():
    for given in ((GAUSSIAN, 10), [GAUSSIAN]):
        with pytest.raises(
            TypeError, match=r"got .*: give each by itself, with its count after it"
        ):
            prv.Accountant().add(given)


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_bounds_are_compared_by_their_ends(compare):
    one, two = CURVE.epsilon(1e-5), CURVE.epsilon([1e-5, 1e-6])
    for bounds, number in ((one, 3), (two, 3.0), (one, np.float64(3.0)), (one, Fraction(3))):
        with pytest.raises(TypeError, match=r"^bounds are no number: compare their .upper or "):
            compare(bounds, number)
    other = CURVE.epsilon(1e-6)
    assert compare(one, other) == compare(tuple(one), tuple(other))
    with pytest.raises(TypeError, match="not supported between"):
        compare(one, "3")


def test_a_truth_value_is_no_number():
    with pytest.raises(TypeError, match="noise_multiplier must be a real number, finite and >= 0"):
        prv.dpsgd_epsilon(True, 0.1, 10, 1e-5)


def test_other_errors_of_type_are_as_they_were():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'delta'"):
        prv.dpsgd_epsilon(1.1, 0.1, steps=1)
    with pytest.raises(TypeError, match="multiple values for argument 'noise_multiplier'"):
        prv.Gaussian(1.1, noise_multiplier=1.1)
    with pytest.raises(TypeError, match=r"^steps must be left out: dpsgd_schedule has set it"):
        PLAN.epsilon(1.1, 1e-5, steps=3)
    with pytest.raises(TypeError, match=r"^PrivacyCurve.report takes its .*: report\(delta=\.\.\."):
        prv.compose(prv.Gaussian(1.0)).report(1e-5)
    with pytest.raises(TypeError, match=r"^noise_multiplier must be a real number"):
        prv.Gaussian(noise_multiplier="1.1")


@pytest.mark.parametrize(
    "call",
    [
        lambda: prv.PoissonSubsampledGaussian(1.1, 256),
        lambda: prv.PoissonSubsampledGaussian(0.01, 1.1),  # the wrong order
        lambda: prv.dpsgd_epsilon(1.1, [0.01, 256], 1000, 1e-5),
        lambda: prv.Accountant().step(noise_multiplier=1.1, sampling_probability=256),
    ],
)
def test_the_size_of_a_batch_is_no_probability(call):
    with pytest.raises(
        ValueError, match=r"got \S+( at .*)?: it is the expected size of a batch over"
    ):
        call()


def test_a_name_is_no_list_of_mechanisms():
    with pytest.raises(TypeError, match=r"^mechanisms must be a mechanism, .* got 'Gaussian'"):
        prv.compose("Gaussian", 5)


def test_a_mapping_does_not_lose_its_counts():
    steps = {prv.Gaussian(1.0): 5}
    with pytest.raises(TypeError, match=r"^mechanisms must be .* a mapping has them as its items"):
        prv.compose(steps)
    assert prv.compose(steps.items()) == prv.compose(prv.Gaussian(1.0), 5)


@pytest.mark.parametrize("loader", ["shuffle", "pytorch", "DataLoader"])
def test_a_loader_that_shuffles_is_told_what_is_known_of_it(loader):
    with pytest.raises(ValueError, match=r"loader must be .*shuffled_lower_bound"):
        prv.dpsgd_schedule(60_000, 256, 15, loader=loader)
    with pytest.raises(ValueError, match=r"'opacus', got 'jax'$"):
        prv.dpsgd_schedule(60_000, 256, 15, loader="jax")
