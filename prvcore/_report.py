"""The sentences of a paper: what is guaranteed, of which mechanisms, for which neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from prvcore import _arguments
from prvcore._core.status import VERSION
from prvcore._in_words import steps_in_words
from prvcore._outward import DOWN, UP, formatted
from prvcore._steps import Steps, merged

if TYPE_CHECKING:
    from prvcore._composed_steps import ComposedSteps

__all__ = ["OfCurve"]

_MOST_DIGITS = 17  # of a float

_NEIGHBORS = {
    "add-or-remove": "one record added or removed",
    "add": "one record added",
    "remove": "one record removed",
    "replace-one": "one record replaced by another",
}
_MEAN_MATCHING = "by Theorem 5.5 of arXiv:2106.02848 without a count of rounding"

# Of each quantity: what is bounded at a point, and which of the bounds is the claim.
_QUANTITIES = {
    "epsilon": ("At delta = {0!r}, epsilon", "at most"),
    "delta": ("At epsilon = {0!r}, delta", "at most"),
    "advantage": ("The advantage of a membership test", "at most"),
    "power": ("At a false positive rate of {0!r}, the power of a membership test", "at most"),
    "trade_off": (
        "At a false positive rate of {0!r}, the type II error of a membership test",
        "at least",
    ),
    "bayes_risk": (
        "At a prior of {0!r}, the chance of a wrong guess which data set was used",
        "at least",
    ),
    "gaussian_mu": (
        "For deltas from {0!r} on, the mu of a Gaussian mechanism no more private",
        "at most",
    ),
    "renyi_divergence": ("The Renyi divergence of order {0!r}", "at most"),
}


class OfCurve:
    """What bounds are bounds of: a quantity of a composition, at some points.

    Parameters
    ----------
    quantity : str
        One of the names of the table above.
    points : array_like of float
        Where it is taken, of the shape of the bounds; of an advantage no matter.
    curve : ComposedSteps or None
        The composition. Sentences are made when they are asked for.
    ending : tuple of str, optional
        The sentences about the composition, where it did not travel with a pickle.

    """

    __slots__ = ("_curve", "_ending", "_points", "_quantity")

    def __init__(
        self,
        quantity: str,
        points: Any,
        curve: ComposedSteps | None,
        ending: tuple[str, str, str, str] | None = None,
    ) -> None:
        self._quantity = quantity
        self._points = np.array(points, dtype=np.float64)
        self._curve = curve
        self._ending = ending

    def __reduce__(self) -> tuple[Any, ...]:
        return OfCurve, (self._quantity, self._points, None, self._ended())

    def report(self, lower: Any, upper: Any, digits: int = 4, training: str = "") -> str:
        """Return what these bounds say: one sentence for each point, and what they rest on.

        What is known of the training, a sentence, comes before the version.
        """
        digits = _arguments.integer(digits, "digits", 1, _MOST_DIGITS)
        reached, how, *sentences, version = self._ended()
        rest = " ".join([*sentences, *([training] if training else []), version])
        ends = zip(np.ravel(lower).tolist(), np.ravel(upper).tolist(), strict=True)
        points = self._points.ravel().tolist()
        said = [
            _claim(self._quantity, point, low, high, reached, digits)
            for point, (low, high) in zip(points, ends, strict=True)
        ]
        if not self._points.shape:
            return f"{said[0]}, {how}) {rest}"
        return "\n".join([*(f"{one})." for one in said), f"{how.capitalize()} {rest}"])

    def _ended(self) -> tuple[str, str, str, str]:
        if self._ending is not None:
            return self._ending
        assert self._curve is not None
        return _about(self._curve)


def _claim(
    quantity: str, point: float, lower: float, upper: float, reached: str, digits: int
) -> str:
    what, side = _QUANTITIES[quantity]
    low, high = _with_digits(lower, digits, DOWN), _with_digits(upper, digits, UP)
    claimed = f"is {side} {high if side == 'at most' else low}"
    if side == "at most" and upper == math.inf:
        claimed = "has no finite bound"
    return f"{what.format(point)} {claimed} ({reached} in [{low}, {high}]"


def _with_digits(value: float, digits: int, rounding: str) -> str:
    """Return the number with all of its digits, zeros at the end too: they are known."""
    if value == 0.0:
        return "0"
    return formatted(value, f"#.{digits}g", rounding).rstrip(".")


def _about(curve: ComposedSteps) -> tuple[str, str, str, str]:
    """Return what lies between the bounds, how they were made, what they rest on, the version."""
    reached = "exact value" if curve.attained else "value for the worst data sets"
    how = "certified" if curve.discretization == "bracketing" else _MEAN_MATCHING
    steps = merged(curve._steps)
    rest = (
        f"for neighbouring data sets with {_neighbors(curve.neighbors, steps)}. "
        f"Accounted for: {steps_in_words(steps) or 'no mechanism'}."
    )
    return reached, how, rest, f"Computed with prvcore {VERSION}."


def _neighbors(relation: str, steps: Steps) -> str:
    """Return what the neighbours differ by; all steps are for groups of one size."""
    size = max((mechanism._group_size() for mechanism, _ in steps), default=1)
    differ = _NEIGHBORS[relation]
    return differ if size == 1 else differ.replace("one record", f"a group of {size:,} records")
