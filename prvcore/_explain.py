"""An explanation of a curve's epsilon, in words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prvcore import _pickling
from prvcore._bounds import ErrorBudget, ScalarBounds
from prvcore._curve import PrivacyCurve
from prvcore._names import public
from prvcore._tables import table_of
from prvcore.mechanisms.base import Mechanism

__all__ = ["Explanation", "StepShare", "explain", "explain_by"]

_MOST_STEPS = 50

_ADVICE = {
    "discretization": "discretization: a smaller eps_error makes the lattice finer",
    "truncation": "large losses that are counted as infinite: with a smaller eps_error they are "
    "fewer",
    "wrap_around": "tails outside the window: a smaller eps_error widens the window",
    "rounding": "rounding in double precision, which no setting makes smaller",
    "unattained": "the distance between the worst known data sets and the bound for all data sets, "
    "which no setting makes smaller",
}


@public
@dataclass(frozen=True, slots=True)
class StepShare(_pickling.Pickled):
    """The contribution of one step of a composition.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism of the step.
    count : int
        The number of times it runs.
    alone : Bounds
        Epsilon of this step alone, at the same delta, nats.
    without : Bounds
        Epsilon of all other steps, at the same delta, nats.

    """

    mechanism: Mechanism
    count: int
    alone: ScalarBounds
    without: ScalarBounds


@public
@dataclass(frozen=True, slots=True)
class Explanation(_pickling.Pickled):
    """The steps that an epsilon comes from, and the width of its bounds; `str` gives sentences.

    Attributes
    ----------
    delta : float
        The delta of the epsilon.
    epsilon : Bounds
        Epsilon of the whole composition, nats.
    other_direction : Bounds or None
        Epsilon in the better direction, nats, if both directions were asked.
    steps : tuple of StepShare
        The steps, first the one without which epsilon would fall most.
    budget : ErrorBudget
        The parts of the width of the bounds.

    """

    delta: float
    epsilon: ScalarBounds
    other_direction: ScalarBounds | None
    steps: tuple[StepShare, ...]
    budget: ErrorBudget

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: a row for each step, nats.

        The bounds of the step alone and of all others have their columns.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        columns: dict[str, Any] = {
            "mechanism": [repr(step.mechanism) for step in self.steps],
            "count": [step.count for step in self.steps],
        }
        for part in ("alone", "without"):
            for place, name in enumerate(("lower", "estimate", "upper")):
                columns[f"{part}_{name}"] = [getattr(step, part)[place] for step in self.steps]
        return table_of(columns, (len(self.steps),))

    def __str__(self) -> str:
        return "\n".join([*self._of_the_whole(), *self._of_the_steps(), *self._of_the_error()])

    def _of_the_whole(self) -> list[str]:
        lines = [f"At delta = {self.delta!r} epsilon lies in {self.epsilon:.6g}."]
        if not self.budget.attained:
            lines.append(
                "The lower bound belongs to data sets that exist; the upper bound holds for all "
                "data sets, but none are known to reach it."
            )
        if self.other_direction is not None and self.other_direction != self.epsilon:
            lines.append(
                f"{_CHANGE[self.budget.direction]} a record is the worse direction; "
                f"{_CHANGE[_OTHER[self.budget.direction]].lower()} one gives an epsilon of "
                f"{self.other_direction.estimate:.6g}."
            )
        return lines

    def _of_the_steps(self) -> list[str]:
        if len(self.steps) < 2:
            return []
        lines = ["", "By how much epsilon would fall without each step (and its epsilon alone):"]
        for step in self.steps:
            fall = self.epsilon.estimate - step.without.estimate
            lines.append(
                f"  {fall:<10.4g} ({step.alone.estimate:.4g})  {step.count:,} x {step.mechanism!r}"
            )
        first = self.steps[0]
        lines.append(f"Most of the loss is that of {first.mechanism!r}.")
        return lines

    def _of_the_error(self) -> list[str]:
        budget = self.budget
        names = [name for name in _ADVICE if name != "unattained" or not budget.attained]
        parts = {name: getattr(budget, name) for name in names}
        if budget.engine == "none" and budget.width > 0.0:
            near = f"The bounds are {budget.width:.3g} apart in epsilon"
            return ["", f"{near}, which is close enough: no composition was needed."]
        if budget.engine == "closed_form" or budget.width == 0.0 or not any(parts.values()):
            return ["", "The bounds are exact but for rounding."]
        largest = max(parts, key=lambda name: parts[name])
        said = f"The bounds are {budget.width:.3g} apart in epsilon, mostly because of"
        lines = ["", f"{said} {_ADVICE[largest]}."]
        lines += [f"  {name.replace('_', ' '):<15}{part:.3g}" for name, part in parts.items()]
        return lines


_CHANGE = {"add": "Adding", "remove": "Removing"}
_OTHER = {"add": "remove", "remove": "add"}


@public
def explain(curve: PrivacyCurve, delta: float, *, memory_limit: int | None = None) -> Explanation:
    """Say which steps of a curve its epsilon comes from, and why its bounds are apart.

    Parameters
    ----------
    curve : PrivacyCurve
        A curve of at most 50 distinct mechanisms.
    delta : float
        A probability in [0, 1].
    memory_limit
        As for `PrivacyCurve.epsilon`.

    Returns
    -------
    Explanation
        The explanation, to be printed.

    Raises
    ------
    TypeError, ValueError
        If `curve` is no curve or has too many mechanisms, and as `PrivacyCurve.epsilon`.

    Notes
    -----
    Each distinct mechanism costs two more compositions, and the other direction one.

    """
    if not isinstance(curve, PrivacyCurve):
        raise TypeError(f"curve must be a PrivacyCurve, which compose makes, got {curve!r}")
    return explain_by(
        lambda part: part.epsilon(delta, memory_limit=memory_limit), curve, delta, memory_limit
    )


def explain_by(
    epsilon_of: Callable[[PrivacyCurve], ScalarBounds],
    curve: PrivacyCurve,
    delta: float,
    memory_limit: int | None = None,
) -> Explanation:
    """Explain a curve by what is told of the epsilon, at `delta`, of curves of parts of it."""
    every = zip(curve.mechanisms, curve.counts, strict=True)
    steps = tuple((mechanism, count) for mechanism, count in every if count)
    if len(steps) > _MOST_STEPS:
        raise ValueError(
            f"curve must have at most {_MOST_STEPS} distinct mechanisms, got {len(steps)}"
        )
    epsilon = epsilon_of(curve)
    shares = []
    for step in steps if len(steps) > 1 else ():
        alone = epsilon_of(curve._with([step]))
        without = epsilon_of(curve._with([other for other in steps if other is not step]))
        shares.append(StepShare(*step, alone, without))
    shares.sort(key=lambda share: share.without.estimate)
    budget = curve.error_budget(delta=delta, memory_limit=memory_limit)
    other = None
    if curve.neighbors == "add-or-remove" and budget.direction in _OTHER:
        other = epsilon_of(curve._with(steps, neighbors=_OTHER[budget.direction]))
    return Explanation(float(delta), epsilon, other, tuple(shares), budget)
