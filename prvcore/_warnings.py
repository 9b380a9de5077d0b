"""The words of an AccuracyWarning: why bounds are wider than asked, and what helps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from prvcore._arguments import FloatArray
from prvcore._bounds import ErrorBudget
from prvcore._composed_steps import ComposedSteps

__all__ = ["why_share_is_wide", "why_wide"]

_NAMES = {"power": "the power", "bayes_risk": "the Bayes risk", "gaussian_mu": "mu"}
# How each limit of a report is called, and what helps.
_LIMITS = {
    "rounding": ("rounding in double precision", "Raise eps_error"),
    "memory": ("the memory limit of {} bytes", "Raise eps_error or memory_limit"),
    "engine": ("engine = 'spectrum'", "Leave engine out, or raise eps_error"),
    "passes": ("the greatest number of passes", "Raise eps_error"),
}
# The core stops a power and a mu at so many times the width asked, and not below this share.
_MOST_WIDTHS, _LEAST_SHARE = 5.0, 1e-3


def why_wide(
    curve: ComposedSteps,
    wanted: str,
    bounds: FloatArray,
    reports: Iterable[Any],
    memory_limit: int,
) -> str | None:
    """Say why bounds of epsilon or delta are wider than asked; None if they are not."""
    settings = curve._settings
    budgets = [ErrorBudget(*report) for report in reports]
    width = settings.width()
    if wanted == "delta" and settings.discretization != "mean-matching":
        width = settings.width_of_delta()
        lower, _, upper = bounds.T
        wide = (upper - lower > settings.delta_relative_error * upper).tolist()
        budgets = [budget for budget, is_wide in zip(budgets, wide, strict=True) if is_wide]
    widest = max((budget._of_the_answer for budget in budgets), default=0.0)
    limit = _limit(curve, budgets, widest, memory_limit)
    if limit is None:
        return None
    cause, advice = limit
    return (
        f"{cause} kept the bounds up to {widest:.3g} apart in epsilon, wider than "
        f"{width}; they hold all the same. {advice}"
    )


def why_share_is_wide(
    curve: ComposedSteps,
    quantity: str,
    bounds: FloatArray,
    reports: Iterable[Any],
    memory_limit: int,
) -> str | None:
    """Say why a power, risk or mu has a wider relative width than asked; None if it has not."""
    lower, _, upper = bounds.T
    known = (upper > 0.0) & np.isfinite(upper)
    share = float(np.max(1.0 - lower[known] / upper[known], initial=0.0))
    if np.isinf(upper).any():
        share = 1.0
    widest = max(share - _LEAST_SHARE, 0.0) / _MOST_WIDTHS
    limit = _limit(curve, [ErrorBudget(*report) for report in reports], widest, memory_limit)
    if limit is None:
        return None
    cause, advice = limit
    return (
        f"{cause} kept the bounds of {_NAMES[quantity]} up to {share:.3g} times the upper one "
        f"apart, wider than {curve._settings.width()} allows; they hold all the same. {advice}"
    )


def _limit(
    curve: ComposedSteps, budgets: list[ErrorBudget], widest: float, memory_limit: int
) -> tuple[str, str] | None:
    """Return the reason why bounds are too wide, and advice, or None."""
    wide = [budget for budget in budgets if not budget.accurate]
    if wide:
        worst = max(wide, key=lambda budget: budget._of_the_answer)
        if worst.limit != "rounding" and (missing := _missing_mass(curve)):
            return missing, "State mass_at_infinity, or mend the function"
        if worst.limit == "rounding" and worst._of_the_answer == math.inf:
            return "rounding in double precision", "Ask about a larger delta"
        cause, advice = _LIMITS[worst.limit]
        return cause.format(memory_limit), advice
    if _mesh_is_too_coarse(curve, widest):
        return (
            f"mesh_size = {curve.mesh_size!r}",
            "Lower mesh_size or leave it out, or raise eps_error",
        )
    return None


def _missing_mass(curve: ComposedSteps) -> str | None:
    """Say which function does not reach the limit that its mass_at_infinity states."""
    for mechanism in curve.mechanisms:
        if (found := mechanism._missing_mass()) is not None:
            return found
    return None


def _mesh_is_too_coarse(curve: ComposedSteps, widest: float) -> bool:
    wanted = curve.eps_error
    if wanted is None or curve.mesh_size is None or curve.discretization == "mean-matching":
        return False
    return widest > wanted
