"""Checks of arguments: an error names the argument, shows the value and says the range."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]

# By which of the first two a point is, type checkers know what is returned: floats, or arrays.
Scalar: TypeAlias = float | np.floating[Any] | np.integer[Any]
Array: TypeAlias = NDArray[Any] | Sequence[Any]

MAX_COMPONENTS = 2**12  # the core's PRV_MAX_COMPONENTS
_MAX_COUNT = 2**53
_ROUNDING = 2.0**-51  # of a function's values: four units of 2^-53, which the bounds allow for
_GROSS_ERROR = 1e-9  # of probability; what is finer is for the C core to judge
_SAMPLES = 65
FARTHEST_LOSS = 2.0**13  # nats: the core's first look at a function goes no farther


def real(value: object, name: str, requirement: str, allowed: Callable[[float], bool]) -> float:
    """Return `value` as a float for which `allowed`, which `requirement` says in words."""
    # abstract types are slow to ask
    if isinstance(value, bool) or not isinstance(value, float | numbers.Real):
        raise TypeError(f"{name} must be a real number, {requirement}, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer that no range allows
        raise ValueError(f"{name} must be {requirement}, got {value!r}") from None
    if not allowed(number):  # false for nan, whatever is allowed
        raise ValueError(f"{name} must be {requirement}, got {value!r}")
    return number + 0.0  # no negative zero


def finite(value: object, name: str) -> float:
    """Return a finite float."""
    return real(value, name, "finite", math.isfinite)


def non_negative(value: object, name: str) -> float:
    """Return a finite float >= 0."""
    return real(value, name, "finite and >= 0", lambda x: 0.0 <= x < math.inf)


def positive(value: object, name: str) -> float:
    """Return a finite float > 0."""
    return real(value, name, "finite and > 0", lambda x: 0.0 < x < math.inf)


def probability(value: object, name: str) -> float:
    """Return a float in [0, 1]."""
    return real(value, name, "in [0, 1]", lambda x: 0.0 <= x <= 1.0)


def open_probability(value: object, name: str) -> float:
    """Return a float in (0, 1)."""
    return real(value, name, "in (0, 1)", lambda x: 0.0 < x < 1.0)


def part(value: object, name: str) -> float:
    """Return a float in [0, 1)."""
    return real(value, name, "in [0, 1)", lambda x: 0.0 <= x < 1.0)


def integer(value: object, name: str, least: int, greatest: int) -> int:
    """Return an int in [least, greatest], of an integer or a float that is whole: 1e3 is 1000."""
    requirement = f"in [{least}, {greatest}]"
    if isinstance(value, bool) or not isinstance(
        value, int | float | numbers.Integral | np.floating
    ):
        raise TypeError(f"{name} must be an integer {requirement}, got {value!r}")
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        raise ValueError(f"{name} must be an integer {requirement}, got {value!r}")
    number = int(value)
    if not least <= number <= greatest:
        raise ValueError(f"{name} must be {requirement}, got {value!r}")
    return number


def count(value: object, name: str) -> int:
    """Return how often a mechanism runs, an int in [0, 2^53]."""
    return integer(value, name, 0, _MAX_COUNT)


def total_count(counts: list[int]) -> None:
    """Refuse counts that add up to more than 2^53."""
    if sum(counts) > _MAX_COUNT:
        raise ValueError(f"counts must add up to at most {_MAX_COUNT} (2^53), got {sum(counts)}")


def flag(value: object, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return `value`, which must be one of `choices`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)  # a str subclass is as good as its text


def function(value: object, name: str) -> Callable[[FloatArray], ArrayLike]:
    """Return `value`, which must be callable."""
    if not callable(value):
        raise TypeError(
            f"{name} must be a function from a float64 array to an array of the same shape, "
            f"got {value!r}"
        )
    return value


def array(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as float64 of any shape; only real numbers are accepted."""
    if _misread(values):
        raise TypeError(f"{name} must be real, got {values!r}")
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a number or a regular array, got {values!r}") from None
    if found.dtype.kind not in "fiu" and (found.size or found.dtype.kind == "c"):
        raise TypeError(f"{name} must be real, got {values!r}")
    return np.asarray(found, dtype=np.float64)


def _misread(values: object) -> bool:
    """Return whether numpy takes what is no number for one: booleans among numbers, masks."""
    if isinstance(values, list | tuple):
        return any(map(_misread, values))
    return isinstance(values, bool | np.bool_) or np.ma.is_masked(values)


def points(values: ArrayLike, name: str, requirement: str, low: float, high: float) -> FloatArray:
    """Return `values` as float64 of any shape, each in [low, high]."""
    if type(values) is float and low <= values <= high:  # most questions, told at once
        return np.asarray(values)
    found = array(values, name)
    _refuse(~((found >= low) & (found <= high)), name, found, requirement)
    return found


def probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of numbers in [0, 1]."""
    return points(values, name, "in [0, 1]", 0.0, 1.0)


def extended_reals(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of numbers, infinite ones too, but not nan."""
    return points(values, name, "a number in [-inf, inf], not nan", -math.inf, math.inf)


def non_negatives(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of finite numbers >= 0."""
    return points(values, name, "finite and >= 0", 0.0, np.finfo(np.float64).max)


def integers(values: ArrayLike, name: str, least: int, greatest: int) -> NDArray[np.int64]:
    """Return an array of any shape of integers in [least, greatest]; floats must be whole."""
    requirement = f"in [{least}, {greatest}]"
    if _misread(values):
        raise TypeError(f"{name} must be integers {requirement}, got {values!r}")
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an integer or a regular array, got {values!r}") from None
    # an object array may hold integers that fit no integer type
    real = found.dtype.kind in "iuf" or (
        found.dtype.kind == "O"
        and all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in found.flat)
    )
    if not real and found.size:
        raise TypeError(f"{name} must be integers {requirement}, got {values!r}")
    if found.dtype.kind == "f":
        broken = ~(np.isfinite(found) & (found == np.trunc(found)))
        _refuse(broken, name, found, f"integers {requirement}")
    outside = np.asarray((found < least) | (found > greatest), dtype=bool)
    if outside.any():
        raise ValueError(f"{name} must be {requirement}, got {int(found[outside].flat[0])}")
    return found.astype(np.int64)


def increasing(values: ArrayLike, name: str, least: int, greatest: int) -> NDArray[np.int64]:
    """Return a vector of integers in [least, greatest], each above the one before."""
    found = np.ascontiguousarray(integers(values, name, least, greatest))
    if found.ndim != 1 or found.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {found.shape}"
        )
    falls = np.flatnonzero(np.diff(found) <= 0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"{name} must be strictly increasing, got {found[i]} before {found[i + 1]} at index "
            f"{i + 1}"
        )
    return found


def counts(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return an array of any shape of integers in [0, 2^53]."""
    return integers(values, name, 0, _MAX_COUNT)


def broadcast(**arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return read-only views of the arrays in their common shape, which they must have."""
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"the shapes must broadcast to one, got {shapes}") from None
    return tuple(np.broadcast_to(array, shape) for array in arrays.values())


def _refuse(bad: NDArray[Any], name: str, values: FloatArray, requirement: str) -> None:
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    raise ValueError(f"{name} must be {requirement}, got {float(values[index])!r}{where}")


def frozen_vector(values: ArrayLike, name: str) -> FloatArray:
    """Return a one-dimensional copy that nobody can write to."""
    found = array(values, name)
    if found.ndim != 1 or not found.size:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {found.shape}"
        )
    _refuse(~np.isfinite(found), name, found, "finite")
    return np.frombuffer((found + 0.0).tobytes(), dtype=np.float64)


def table(losses: FloatArray, masses: FloatArray, mass_at_infinity: float) -> None:
    """Refuse a table of a privacy loss that is not a probability distribution."""
    if losses.shape != masses.shape:
        raise ValueError(
            "probabilities must have one entry for each of losses, "
            f"got {masses.size} for {losses.size}"
        )
    falls = np.flatnonzero(np.diff(losses) <= 0.0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            "losses must be strictly increasing, "
            f"got {float(losses[i])!r} before {float(losses[i + 1])!r} at index {i + 1}"
        )
    _refuse(masses < 0.0, "probabilities", masses, ">= 0")
    total = math.fsum(masses) + mass_at_infinity
    if not abs(total - 1.0) <= 1e-9:
        raise ValueError(
            "probabilities and mass_at_infinity must sum to 1 within 1e-9, "
            f"got probabilities with sum {math.fsum(masses)!r} and "
            f"mass_at_infinity {mass_at_infinity!r}"
        )
    with np.errstate(over="ignore", under="ignore"):
        reverse = float(np.sum(masses[masses > 0.0] * np.exp(-losses[masses > 0.0])) / total)
    if not reverse <= 1.0 + _GROSS_ERROR:
        raise ValueError(
            "the sum of probability * exp(-loss), which is P's mass, must be at most 1, got "
            f"{reverse!r}: losses are log(dQ/dP), and probabilities are Q's"
        )


def components(sensitivities: FloatArray, probabilities: FloatArray) -> None:
    """Refuse what is no distribution of sensitivities."""
    if sensitivities.shape != probabilities.shape:
        raise ValueError(
            "probabilities must have one entry for each of sensitivities, "
            f"got {probabilities.size} for {sensitivities.size}"
        )
    if sensitivities.size > MAX_COMPONENTS:
        raise ValueError(
            f"sensitivities must have at most {MAX_COMPONENTS} entries, got {sensitivities.size}"
        )
    _refuse(sensitivities < 0.0, "sensitivities", sensitivities, ">= 0")
    _refuse(probabilities < 0.0, "probabilities", probabilities, ">= 0")
    total = math.fsum(probabilities)
    if not abs(total - 1.0) <= 1e-9:
        raise ValueError(f"probabilities must sum to 1 within 1e-9, got a sum of {total!r}")


def missing_mass(
    name: str, point: str, found: float, beyond: float, mass_at_infinity: float
) -> str | None:
    """Say that a function is not near its limit at the farthest loss, None if it is."""
    if abs(beyond - mass_at_infinity) <= _GROSS_ERROR:
        return None
    return (
        f"{name} is {found!r} at {point} {FARTHEST_LOSS!r}, where mass_at_infinity = "
        f"{mass_at_infinity!r} leaves a mass of {beyond - mass_at_infinity:.3g} to finite losses "
        "beyond, which"
    )


def check_cdf(
    name: str, losses: FloatArray, values: FloatArray, mass_at_infinity: float = 0.0
) -> None:
    """Refuse values of a CDF that leave [0, 1] or decrease, both by more than their rounding."""
    _refuse_values(_no_probability(values), name, "in [0, 1]", losses, values)
    _refuse_values(
        values > 1.0 - mass_at_infinity + 2.0 * _ROUNDING,
        name,
        f"of at most 1 - mass_at_infinity, mass_at_infinity = {mass_at_infinity!r}",
        losses,
        values,
    )
    falls = np.flatnonzero(np.diff(values) < -2.0 * _ROUNDING)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"{name} must not decrease, got {float(values[i])!r} at loss {float(losses[i])!r} "
            f"and {float(values[i + 1])!r} at loss {float(losses[i + 1])!r}"
        )


def check_cdf_pair(losses: FloatArray, values_q: FloatArray, values_p: FloatArray) -> None:
    """Refuse two CDFs that grossly miss dP = e^(-loss) dQ; the C core looks closer."""
    pick = _thinned(losses.size)
    x, m, n = losses[pick], np.diff(values_q[pick]), np.diff(values_p[pick])
    bad = _no_pair(x, m, n)
    if bad.size:
        swapped = "" if _no_pair(x, n, m).size else ". Exchanged they would: is cdf_q the first?"
        i = int(bad[0])
        raise ValueError(
            "cdf_q and cdf_p must belong to one pair: cdf_p must rise by between e^-b and e^-a "
            f"times what cdf_q rises from loss a to b, got {float(n[i])!r} against "
            f"{float(m[i])!r} from {float(x[i])!r} to {float(x[i + 1])!r}{swapped}"
        )


def _no_pair(x: FloatArray, m: FloatArray, n: FloatArray) -> NDArray[np.intp]:
    """Return between which losses x rises n of P cannot belong to rises m of Q."""
    with np.errstate(over="ignore", invalid="ignore"):
        least, most = np.exp(-x[1:]) * m, np.exp(-x[:-1]) * m
        slack = _GROSS_ERROR * (1.0 + np.exp(-x[:-1]))
        return np.flatnonzero((n < least - slack) | (n > most + slack))


def check_curve(
    name: str, epsilons: FloatArray, values: FloatArray, mass_at_infinity: float
) -> None:
    """Refuse values of a privacy curve outside [0, 1], increasing, not convex or too low.

    They leave [0, 1] by more than their rounding, and do the rest grossly; the C core looks closer.
    """
    _refuse_values(_no_probability(values), name, "in [0, 1]", epsilons, values, "epsilon")
    pick = _thinned(epsilons.size)
    x, d = epsilons[pick], values[pick]
    rises = np.flatnonzero(np.diff(d) > _GROSS_ERROR)
    if rises.size:
        i = int(rises[0])
        raise ValueError(
            f"{name} must not increase, got {float(d[i])!r} at epsilon {float(x[i])!r} "
            f"and {float(d[i + 1])!r} at epsilon {float(x[i + 1])!r}"
        )
    # the chord over e^epsilon, written with differences so that e^epsilon never overflows
    share = -np.expm1(x[:-2] - x[1:-1]) / -np.expm1(x[:-2] - x[2:]) * np.exp(x[1:-1] - x[2:])
    chord = d[:-2] + share * (d[2:] - d[:-2])
    bad = np.flatnonzero(d[1:-1] > chord + _GROSS_ERROR)
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"{name} must be convex in e^epsilon, got {d[i : i + 3].tolist()!r} "
            f"at the epsilons {x[i : i + 3].tolist()!r}"
        )
    _refuse_values(
        values < mass_at_infinity - 2.0 * _ROUNDING,
        name,
        f"of at least mass_at_infinity = {mass_at_infinity!r}",
        epsilons,
        values,
        "epsilon",
    )
    low = values < -np.expm1(np.minimum(epsilons, 0.0)) - _GROSS_ERROR
    _refuse_values(low, name, "of at least 1 - e^epsilon", epsilons, values, "epsilon")


def _refuse_values(
    bad: NDArray[Any],
    name: str,
    requirement: str,
    at: FloatArray,
    values: FloatArray,
    point: str = "loss",
) -> None:
    found = np.flatnonzero(bad)
    if found.size:
        i = int(found[0])
        raise ValueError(
            f"{name} must return values {requirement}, "
            f"got {float(values[i])!r} at {point} {float(at[i])!r}"
        )


def _no_probability(values: FloatArray) -> NDArray[np.bool_]:
    """Return where values are outside [0, 1] by more than rounding, or nan."""
    return ~((values >= -_ROUNDING) & (values <= 1.0 + _ROUNDING))


def _thinned(length: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, length - 1, min(length, _SAMPLES)).astype(np.intp))
