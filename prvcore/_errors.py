"""What goes wrong beyond a bad argument, which is a ValueError or TypeError."""

from prvcore._names import public

__all__ = [
    "AccuracyWarning",
    "BudgetExceededError",
    "PrecisionError",
    "TargetError",
    "UnattainedWarning",
]


@public
class PrecisionError(ValueError):
    """Rounding of floating point is larger than the answer asked for.

    Mean-matching works in plain double precision and so cannot resolve a small delta; the
    bracketing discretization can.
    """


@public
class AccuracyWarning(UserWarning):
    """The bounds hold, but are wider than was asked."""


@public
class UnattainedWarning(AccuracyWarning):
    """No data sets are known for which the upper bound is exact: see `PrivacyCurve.attained`.

    The lower bound is exact for the worst data sets that are known, the upper one holds for all,
    and they are further apart than was asked. No setting changes this. Report the upper bound.
    """


@public
class TargetError(ValueError):
    """No value of the parameter that was to be calibrated meets the target."""


@public
class BudgetExceededError(RuntimeError):
    """A step would exceed the budget of a privacy filter."""
