"""The sentences of a paper: what is guaranteed, of which mechanisms, for which neighbours."""

from __future__ import annotations

from typing import Any

from prvcore._bounds import ScalarBounds
from prvcore._composed_steps import ComposedSteps
from prvcore._core.status import VERSION
from prvcore._outward import DOWN, UP, formatted

__all__ = ["report"]

_NEIGHBORS = {
    "add-or-remove": "one record added or removed",
    "add": "one record added",
    "remove": "one record removed",
    "replace-one": "one record replaced by another",
}


def report(
    curve: ComposedSteps, wanted: str, point: float, bounds: ScalarBounds, attained: bool
) -> str:
    """Return what the bounds of `wanted` at the other quantity's `point` say."""
    given = "delta" if wanted == "epsilon" else "epsilon"
    lower = formatted(bounds.lower, ".4g", DOWN)
    upper = formatted(bounds.upper, ".4g", UP)
    reached = "exact value" if attained else "value for the worst data sets"
    return (
        f"At {given} = {point!r}, {wanted} is at most {upper} ({reached} in [{lower}, {upper}], "
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
