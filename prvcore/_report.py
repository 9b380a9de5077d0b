"""The sentences of a paper: what is guaranteed, of which mechanisms, for which neighbours."""

from __future__ import annotations

from typing import Any

from prvcore._bounds import ScalarBounds
from prvcore._composed_steps import ComposedSteps
from prvcore._core.status import VERSION
from prvcore._outward import DOWN, UP, formatted

__all__ = ["report", "report_of_target"]

_NEIGHBORS = {
    "add-or-remove": "one record added or removed",
    "add": "one record added",
    "remove": "one record removed",
    "replace-one": "one record replaced by another",
}


_QUANTITIES = {
    "epsilon": "At delta = {0!r}, epsilon",
    "advantage": "The advantage of a membership test",
    "power": "At a false positive rate of {0!r}, the power of a membership test",
    "bayes_risk": "At a prior of {0!r}, the chance of a wrong guess which data set was used",
    "gaussian_mu": "For deltas from {0!r} on, the mu of a Gaussian mechanism no more private",
}


def report(
    curve: ComposedSteps, wanted: str, point: float, bounds: ScalarBounds, attained: bool
) -> str:
    """Return what the bounds of `wanted` at the other quantity's `point` say."""
    given = "delta" if wanted == "epsilon" else "epsilon"
    return f"At {given} = {point!r}, {wanted}{_rest(curve, bounds, attained, 'at most')}"


def report_of_target(
    curve: ComposedSteps, quantity: str, at: float | None, bounds: ScalarBounds, attained: bool
) -> str:
    """Return what the bounds of what a target is about say."""
    side = "at least" if quantity == "bayes_risk" else "at most"
    return f"{_QUANTITIES[quantity].format(at)}{_rest(curve, bounds, attained, side)}"


def _rest(curve: ComposedSteps, bounds: ScalarBounds, attained: bool, side: str) -> str:
    lower = formatted(bounds.lower, ".4g", DOWN)
    upper = formatted(bounds.upper, ".4g", UP)
    reached = "exact value" if attained else "value for the worst data sets"
    return (
        f" is {side} {upper if side == 'at most' else lower} ({reached} in [{lower}, {upper}], "
        f"certified) for neighbouring data sets with {_NEIGHBORS[curve.neighbors]}. "
        f"Accounted for: {_steps(curve)}. Computed with prvcore {VERSION}."
    )


def _steps(curve: ComposedSteps) -> str:
    steps: list[tuple[Any, int]] = list(zip(curve.mechanisms, curve.counts, strict=True))
    if not steps:
        return "no mechanism"
    return "; ".join(f"{mechanism!r}, {_times(count)}" for mechanism, count in steps)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
