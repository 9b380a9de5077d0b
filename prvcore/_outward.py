"""Numbers rounded to the safe side: lower bounds down, upper bounds up, noise up.

A bound that is rounded inwards is none: noise 0.83917 shown as 0.839 misses the target.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from operator import index
from typing import Any, ClassVar, SupportsIndex, overload

import numpy as np

__all__ = ["DOWN", "NEAREST", "UP", "RoundedDown", "RoundedUp", "formatted", "laid_out", "rounded"]

DOWN, NEAREST, UP = ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_CEILING

# The format specifications of floats, without what would change the rounding.
_SPECIFICATION = re.compile(
    r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*,?(?:\.(?P<precision>\d+))?(?P<kind>[eEfFgG%]?)"
)
_USUAL_PRECISION = 6  # of floats where a specification has a kind but no precision
# A double has at most 309 digits before the point and 1074 behind it: so many decimals hold it.
_MOST_DECIMALS = 1100
_MOST_DIGITS = 2 * _MOST_DECIMALS


def formatted(value: float, specification: str, rounding: str) -> str:
    """Return `value` in the format that floats take, rounded in the direction given.

    Parameters
    ----------
    value : float
        Infinite numbers and nan are written as floats write them.
    specification : str
        As floats take it, of the kinds ``eEfFgG%`` and without underscores. Without a kind and a
        precision it is the shortest text that reads back as `value`.
    rounding : {DOWN, NEAREST, UP}
        Towards minus infinity, to the nearest, towards infinity.

    Returns
    -------
    str
        Its number is at most `value` (DOWN) or at least (UP).

    Raises
    ------
    ValueError
        `specification` is none of floats.

    """
    found = _SPECIFICATION.fullmatch(specification)
    if found is None:
        raise ValueError(
            f"format must be one of floats, such as '.3f' or '.4g', got {specification!r}"
        )
    kind, given = found["kind"], found["precision"]
    if not math.isfinite(value) or (given is None and not kind):
        return format(value, specification)
    precision = _USUAL_PRECISION if given is None else int(given)
    if kind in ("f", "F", "%"):
        digits = _quantized(value, precision + 2 * (kind == "%"), rounding)
    else:
        significant = precision + 1 if kind in ("e", "E") else max(precision, 1)
        digits = Context(prec=significant, rounding=rounding).create_decimal(Decimal(value))
    # If the digits are so few, the nearest float has them too, unless it is subnormal, and writes
    # the exponent as people know it.
    few = len(digits.as_tuple().digits) <= sys.float_info.dig
    normal = not digits or digits.adjusted() > sys.float_info.min_10_exp
    if few and normal:
        return format(float(digits), specification)
    return format(digits, specification.replace("#", ""))  # a Decimal keeps its zeros itself


def _quantized(value: float, decimals: int, rounding: str) -> Decimal:
    context = Context(prec=_MOST_DIGITS, rounding=rounding)
    least = Decimal(1).scaleb(-min(decimals, _MOST_DECIMALS))
    return Decimal(value).quantize(least, context=context)


def laid_out(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    """Return texts, in C order, as an array of this shape is read.

    Those of one axis are one a line. Of more axes, each row is a line with its columns aligned, and
    an empty line parts one table of rows from the next.
    """
    if len(shape) < 2 or not texts:
        return "\n".join(texts)
    width = max(map(len, texts))
    columns, table = shape[-1], shape[-2] * shape[-1]
    lines = []
    for start in range(0, len(texts), columns):
        if start and start % table == 0:
            lines.append("")
        lines.append("  ".join(text.rjust(width) for text in texts[start : start + columns]))
    return "\n".join(lines)


def rounded(values: Any, decimals: int, rounding: str) -> Any:
    """Return a float, or an array of floats, rounded to so many decimals (tens if -1, and so on).

    Each is the double nearest to the rounded decimal: it lies on the same side of the value, which
    is a double, since to round to the nearest keeps order.
    """
    if isinstance(values, np.ndarray):
        found = [rounded(value, decimals, rounding) for value in values.ravel().tolist()]
        return np.array(found, dtype=np.float64).reshape(values.shape)
    if not math.isfinite(values):
        return values
    return float(_quantized(values, decimals, rounding))


class _Outward(float):
    """A float that is rounded to one side where it is shown with fewer digits."""

    __slots__ = ()
    _rounding: ClassVar[str]

    def __format__(self, specification: str) -> str:
        """Return the number in the format that floats take, rounded to the safe side."""
        return formatted(float(self), specification, self._rounding)

    @overload
    def __round__(self, decimals: None = None, /) -> int: ...
    @overload
    def __round__(self, decimals: SupportsIndex, /) -> float: ...
    def __round__(self, decimals: SupportsIndex | None = None, /) -> float:
        """Return the number with so many decimals, an int if None, rounded to the safe side."""
        if decimals is None:
            return int(rounded(float(self), 0, self._rounding))
        found: float = rounded(float(self), index(decimals), self._rounding)
        return found


class RoundedDown(_Outward):
    """A lower bound: where it is shown with fewer digits, it is rounded down."""

    __slots__ = ()
    _rounding = DOWN


class RoundedUp(_Outward):
    """An upper bound, or noise: where it is shown with fewer digits, it is rounded up."""

    __slots__ = ()
    _rounding = UP
