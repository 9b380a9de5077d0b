"""Checks of arrays: numbers in a range, of any shape or in order, and shapes that broadcast."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore._arguments import scalars
from prvcore._arguments.scalars import MAX_COUNT, hint, number_in, short
from prvcore._arguments.types import FloatArray


def array(values: ArrayLike, name: str, requirement: str = "") -> FloatArray:
    """Return `values` as float64 of any shape; only real numbers are accepted.

    The message of an error says what else is required of them.
    """
    said = f", {requirement}" if requirement else ""
    real = f"real numbers{said}"
    if _misread(values):
        if isinstance(values, bool | np.bool_):
            real = f"a real number{said}"
        raise TypeError(f"{name} must be {real}, got {short(values)}")
    if isinstance(values, numbers.Rational) and not isinstance(values, int | np.integer):
        values = scalars.real(
            values, name, requirement or "finite", lambda _: True
        )  # as mechanisms take it
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} must be a number or a regular array, got {short(values)}"
        ) from None
    if found.dtype.kind not in "fiu" and (found.size or found.dtype.kind == "c"):
        if found.ndim == 0:
            real = f"a real number{said}"
        raise TypeError(f"{name} must be {real}, got {short(values)}{number_in(values)}")
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
    found = array(values, name, requirement)
    refuse(~((found >= low) & (found <= high)), name, found, requirement)
    return found


def probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of numbers in [0, 1]."""
    return points(values, name, "in [0, 1]", 0.0, 1.0)


def extended_reals(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of numbers, infinite ones too, but not nan."""
    return points(values, name, "in [-inf, inf], not nan", -math.inf, math.inf)


def non_negatives(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of any shape of finite numbers >= 0."""
    return points(values, name, "finite and >= 0", 0.0, np.finfo(np.float64).max)


def integers(values: ArrayLike, name: str, least: int, greatest: int) -> NDArray[np.int64]:
    """Return an array of any shape of integers in [least, greatest]; floats must be whole."""
    requirement = f"in [{least}, {greatest}]"
    if _misread(values):
        whole = "an integer" if isinstance(values, bool | np.bool_) else "integers"
        raise TypeError(f"{name} must be {whole} {requirement}, got {short(values)}")
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} must be an integer or a regular array, got {short(values)}"
        ) from None
    whole = "integers" if found.ndim else "an integer"
    # an object array may hold integers that fit no integer type
    real = found.dtype.kind in "iuf" or (
        found.dtype.kind == "O"
        and all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in found.flat)
    )
    if not real and found.size:
        raise TypeError(f"{name} must be {whole} {requirement}, got {short(values)}")
    if found.dtype.kind == "f":
        broken = ~(np.isfinite(found) & (found == np.trunc(found)))
        refuse(broken, name, found, f"{whole} {requirement}")
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
    return integers(values, name, 0, MAX_COUNT)


def broadcast(**arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return read-only views of the arrays in their common shape, which they must have."""
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"the shapes must broadcast to one, got {shapes}") from None
    return tuple(np.broadcast_to(array, shape) for array in arrays.values())


def refuse(bad: NDArray[Any], name: str, values: FloatArray, requirement: str) -> None:
    """Refuse values of which some are bad: the error shows the first, and where it is."""
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    value = float(values[index])
    raise ValueError(f"{name} must be {requirement}, got {value!r}{where}{hint(name, value)}")


def frozen_vector(values: ArrayLike, name: str) -> FloatArray:
    """Return a one-dimensional copy that nobody can write to."""
    found = array(values, name)
    if found.ndim != 1 or not found.size:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {found.shape}"
        )
    refuse(~np.isfinite(found), name, found, "finite")
    return np.frombuffer((found + 0.0).tobytes(), dtype=np.float64)
