"""Warnings of bounds that are wider than asked: why they are, and what helps."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from prvcore._arguments import FloatArray
from prvcore._bounds import ErrorBudget
from prvcore._composed_steps import ComposedSteps
from prvcore._errors import AccuracyWarning, UnattainedWarning

__all__ = ["warn_caller", "why_share_is_wide", "why_wide"]

_NAMES = {
    "power": "the power",
    "trade_off": "the power",
    "bayes_risk": "the Bayes risk",
    "gaussian_mu": "mu",
}
# How each limit of a report is called, and what helps.
_LIMITS = {
    "rounding": ("rounding in double precision", "Raise eps_error"),
    "memory": ("the memory limit of {} bytes", "Raise eps_error or memory_limit"),
    "engine": ("engine = 'spectrum'", "Leave engine out, or raise eps_error"),
    "passes": ("the greatest number of passes", "Raise eps_error"),
}
_UNATTAINED = (
    "the lower bound is that of the worst data sets known, the upper one holds for all data sets, "
    "and they are further apart than asked, which no setting changes. Report upper"
)
_UNATTAINED_RISK = (
    "the upper bound is that of the worst data sets known, the lower one holds for all data sets, "
    "and they are further apart than asked, which no setting changes. Report lower"
)
_FALLING = ("bayes_risk", "trade_off")  # less of these is less privacy
# The core stops a power and a mu at so many times the width asked, and not below this share.
_MOST_WIDTHS, _LEAST_SHARE = 5.0, 1e-3

_PACKAGE = "".join(__file__.rpartition(os.sep)[:2])


def warn_caller(warning: Warning) -> None:
    """Warn at the line that called prvcore, through however many functions of it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def why_wide(
    curve: ComposedSteps,
    wanted: str,
    bounds: FloatArray,
    reports: Iterable[Any],
    memory_limit: int,
) -> AccuracyWarning | None:
    """Return a warning that says why bounds of epsilon or delta are too wide, or None."""
    settings = curve._settings
    all_budgets = [ErrorBudget(*report) for report in reports]
    if curve.mesh_size is None and all(each.accurate and each.attained for each in all_budgets):
        return None  # no array need be looked at
    wide = settings.are_wide(wanted, bounds).tolist()
    wide_budgets = [budget for budget, is_wide in zip(all_budgets, wide, strict=True) if is_wide]
    if wanted == "delta" and settings.discretization != "mean-matching":
        budgets, width = wide_budgets, settings.width_of_delta()
    else:
        budgets, width = all_budgets, settings.width()
    widest = max((budget._of_the_answer for budget in budgets), default=0.0)
    limit = _limit(curve, budgets, widest, memory_limit)
    if limit is None:
        known = all(budget.attained for budget in wide_budgets)
        return None if known else UnattainedWarning(_UNATTAINED)
    cause, advice = limit
    return AccuracyWarning(
        f"{cause} kept the bounds up to {widest:.3g} apart in epsilon, wider than "
        f"{width}; they hold all the same. {advice}"
    )


def why_share_is_wide(
    curve: ComposedSteps,
    quantity: str,
    bounds: FloatArray,
    reports: Iterable[Any],
    memory_limit: int,
) -> AccuracyWarning | None:
    """Return a warning that says why a power, risk, mu or divergence is too wide, or None.

    `bounds` of a trade-off are those of its power. A divergence has no reports.
    """
    lower, _, upper = bounds.T
    known = (upper > 0.0) & np.isfinite(upper)
    share = float(np.max(1.0 - lower[known] / upper[known], initial=0.0))
    if np.isinf(upper).any():
        share = 1.0
    widest = max(share - _LEAST_SHARE, 0.0) / _MOST_WIDTHS
    budgets = [ErrorBudget(*report) for report in reports]
    limit = _limit(curve, budgets, widest, memory_limit)
    if limit is None:
        if not _is_unattained(curve, bounds, budgets):
            return None
        return UnattainedWarning(_UNATTAINED_RISK if quantity in _FALLING else _UNATTAINED)
    cause, advice = limit
    return AccuracyWarning(
        f"{cause} kept the bounds of {_NAMES[quantity]} up to {share:.3g} times the upper one "
        f"apart, wider than {curve._settings.width()} allows; they hold all the same. {advice}"
    )


def _is_unattained(curve: ComposedSteps, bounds: FloatArray, budgets: list[ErrorBudget]) -> bool:
    """Return whether what no data sets attain keeps a share further apart than asked."""
    lower, _, upper = bounds.T
    attained = np.array(
        [budget.attained for budget in budgets] or [curve.attained] * len(bounds), bool
    )
    asked = curve._settings.least_width()
    for budget in budgets:
        asked = max(asked, budget._of_the_answer)
    with np.errstate(invalid="ignore"):  # infinite bounds
        wide = upper - lower > (_LEAST_SHARE + _MOST_WIDTHS * asked) * upper
    return bool(np.any(~attained & (wide | (np.isinf(upper) & np.isfinite(lower)))))


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
