"""Tables and functions of one's own that are no pair: the error says which, and why."""

import math

import numpy as np
import pytest

import prvcore as prv
from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q
from tests.support.messages import message

NAN, INF = math.nan, math.inf
GAUSSIAN = prv.Gaussian(1.0)


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
