"""What a curve's epsilon comes from, in words."""

from dataclasses import dataclass

from prvcore import _pickling
from prvcore._bounds import ErrorBudget, ScalarBounds
from prvcore._curve import PrivacyCurve
from prvcore._names import public
from prvcore.mechanisms.base import Mechanism

__all__ = ["Explanation", "StepShare", "explain"]

_MOST_STEPS = 50

_ADVICE = {
    "discretization": "the mesh: ask for a smaller eps_error to make it finer",
    "truncation": "losses so large that they were counted as infinite: a smaller eps_error moves "
    "them out",
    "wrap_around": "tails outside the window: a smaller eps_error widens it",
    "rounding": "rounding in double precision, which no setting makes smaller",
    "unattained": "what lies between the worst data sets that are known and what holds for all, "
    "which no setting makes smaller",
}


@public
@dataclass(frozen=True, slots=True)
class StepShare(_pickling.Pickled):
    """What one of the steps of a composition contributes.

    Attributes
    ----------
    mechanism : Mechanism
        It runs `count` times.
    count : int
        How often it runs.
    alone : Bounds
        Epsilon of these runs alone, at the same delta, nats.
    without : Bounds
        Epsilon of all others, at the same delta, nats.

    """

    mechanism: Mechanism
    count: int
    alone: ScalarBounds
    without: ScalarBounds


@public
@dataclass(frozen=True, slots=True)
class Explanation(_pickling.Pickled):
    """Where an epsilon comes from; its `str` says so in sentences.

    Attributes
    ----------
    delta : float
        Where epsilon was asked.
    epsilon : Bounds
        Of the whole composition, nats.
    other_direction : Bounds or None
        With the neighbouring relation that does not decide, where both were asked.
    steps : tuple of StepShare
        The one without which epsilon would fall most comes first.
    budget : ErrorBudget
        Where the distance of the bounds comes from.

    """

    delta: float
    epsilon: ScalarBounds
    other_direction: ScalarBounds | None
    steps: tuple[StepShare, ...]
    budget: ErrorBudget

    def __str__(self) -> str:
        return "\n".join([*self._of_the_whole(), *self._of_the_steps(), *self._of_the_error()])

    def _of_the_whole(self) -> list[str]:
        lower, _, upper = self.epsilon
        lines = [f"At delta = {self.delta:g} epsilon lies between {lower:.6g} and {upper:.6g}."]
        if not self.budget.attained:
            lines.append(
                "The lower bound is of data sets that exist; the upper one holds for all, but none "
                "are known to come near it."
            )
        if self.other_direction is not None and self.other_direction != self.epsilon:
            lines.append(
                f"The neighbour with one record {_NEIGHBOUR[self.budget.direction]} decides; the "
                f"other has an epsilon of {self.other_direction.estimate:.6g}."
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
            return ["", f"{near}, which is close enough: nothing had to be composed."]
        if budget.width == 0.0 or not any(parts.values()):
            return ["", "The bounds are exact but for rounding."]
        largest = max(parts, key=lambda name: parts[name])
        said = f"The bounds are {budget.width:.3g} apart in epsilon, most of it because of"
        lines = ["", f"{said} {_ADVICE[largest]}."]
        lines += [f"  {name.replace('_', ' '):<15}{part:.3g}" for name, part in parts.items()]
        return lines


_NEIGHBOUR = {"add": "more", "remove": "less"}
_OTHER = {"add": "remove", "remove": "add"}


@public
def explain(curve: PrivacyCurve, delta: float, *, memory_limit: int | None = None) -> Explanation:
    """Say which of a curve's steps its epsilon comes from, and where its error does.

    Parameters
    ----------
    curve : PrivacyCurve
        Of at most 50 distinct mechanisms.
    delta : float
        A probability in [0, 1].
    memory_limit
        As `PrivacyCurve.epsilon` takes it.

    Returns
    -------
    Explanation
        Print it.

    Raises
    ------
    TypeError, ValueError
        `curve` is no curve or has too many mechanisms; what `PrivacyCurve.epsilon` raises.

    Notes
    -----
    Two more compositions for each distinct mechanism, and one for the other direction.

    """
    if not isinstance(curve, PrivacyCurve):
        raise TypeError(f"curve must be a PrivacyCurve, got {curve!r}")
    steps = tuple(zip(curve.mechanisms, curve.counts, strict=True))
    if len(steps) > _MOST_STEPS:
        raise ValueError(
            f"curve must have at most {_MOST_STEPS} distinct mechanisms, got {len(steps)}"
        )
    epsilon = curve.epsilon(delta, memory_limit=memory_limit)
    shares = []
    for step in steps if len(steps) > 1 else ():
        alone = curve._with([step]).epsilon(delta, memory_limit=memory_limit)
        without = curve._with([other for other in steps if other is not step]).epsilon(
            delta, memory_limit=memory_limit
        )
        shares.append(StepShare(*step, alone, without))
    shares.sort(key=lambda share: share.without.estimate)
    budget = curve.error_budget(delta=delta, memory_limit=memory_limit)
    other = None
    if curve.neighbors == "add-or-remove" and budget.direction in _OTHER:
        other = curve._with(steps, neighbors=_OTHER[budget.direction]).epsilon(
            delta, memory_limit=memory_limit
        )
    return Explanation(float(delta), epsilon, other, tuple(shares), budget)
