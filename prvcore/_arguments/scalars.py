"""Checks of single values: numbers in a range, flags, choices, functions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from prvcore._arguments.types import FloatArray
from prvcore._names import did_you_mean

MAX_COUNT = 2**53  # of runs of a mechanism, and of all together


def short(value: object) -> str:
    """Return how a value looks, in one line, cut off where it is long."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= 80 else f"{text[:77]}..."


def number_in(value: object) -> str:
    """Return what to say of a value that is no number, but has one: bounds, results, tensors."""
    several = isinstance(value, np.ndarray) and value.size != 1
    if several or isinstance(value, str | np.bool_):
        return ""
    has = {"value": ".value", "upper": ".upper or .lower", "item": ".item()"}
    return next((f": give its {its}" for name, its in has.items() if hasattr(value, name)), "")


def hint(name: str, value: float) -> str:
    """Return what to say of a value out of range: people give the size of a batch, or percents."""
    if name == "sampling_probability" and value > 1.0:
        return ": it is the expected size of a batch over the number of records"
    return ""


def real(value: object, name: str, requirement: str, allowed: Callable[[float], bool]) -> float:
    """Return `value` as a float for which `allowed`, which `requirement` says in words."""
    # abstract types are slow to ask
    if isinstance(value, bool) or not isinstance(value, float | numbers.Real):
        raise TypeError(
            f"{name} must be a real number, {requirement}, got {short(value)}{number_in(value)}"
        )
    try:
        number = float(value)
    except OverflowError:  # an integer that no range allows
        raise ValueError(f"{name} must be {requirement}, got {short(value)}") from None
    if not allowed(number):  # false for nan, whatever is allowed
        raise ValueError(f"{name} must be {requirement}, got {short(value)}{hint(name, number)}")
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
    if type(value) is int and least <= value <= greatest:  # most are, and the rest takes long
        return value
    requirement = f"in [{least}, {greatest}]"
    if isinstance(value, bool) or not isinstance(
        value, int | float | numbers.Integral | np.floating
    ):
        raise TypeError(
            f"{name} must be an integer {requirement}, got {short(value)}{number_in(value)}"
        )
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        raise ValueError(f"{name} must be an integer {requirement}, got {short(value)}")
    number = int(value)
    if not least <= number <= greatest:
        raise ValueError(f"{name} must be {requirement}, got {short(value)}")
    return number


def count(value: object, name: str) -> int:
    """Return how often a mechanism runs, an int in [0, 2^53]."""
    return integer(value, name, 0, MAX_COUNT)


def total_count(counts: list[int]) -> None:
    """Refuse counts that add up to more than 2^53."""
    if sum(counts) > MAX_COUNT:
        raise ValueError(f"counts must add up to at most {MAX_COUNT} (2^53), got {sum(counts)}")


def flag(value: object, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {short(value)}")
    return bool(value)


def choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return `value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        kind = ValueError if isinstance(value, str) else TypeError
        named = ", ".join(map(repr, choices))
        meant = did_you_mean(value, choices, shown=repr)
        raise kind(f"{name} must be one of {named}, got {short(value)}{meant}")
    return str(value)  # a str subclass is as good as its text


def function(value: object, name: str) -> Callable[[FloatArray], ArrayLike]:
    """Return `value`, which must be callable."""
    if not callable(value):
        raise TypeError(
            f"{name} must be a function from a float64 array to an array of the same shape, "
            f"got {short(value)}"
        )
    return value
