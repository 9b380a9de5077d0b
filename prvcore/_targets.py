"""What a calibration is to meet: an epsilon at a delta, or a risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from prvcore import _arguments

if TYPE_CHECKING:
    from prvcore._bounds import ScalarBounds
    from prvcore._curve import PrivacyCurve

__all__ = ["Target", "Targets", "is_missed", "point_of", "target_of", "targets_of"]


class Targets(TypedDict, total=False):
    """The keyword arguments of `calibrate` that state a target: all of one kind, no others."""

    epsilon: float | None
    delta: float | None
    advantage: float | None
    power: float | None
    false_positive_rate: float | None
    bayes_risk: float | None
    prior: float | None
    mu: float | None


# The arguments of each kind of target: the target itself, and the point where it is taken.
_KINDS = {
    "epsilon": ("epsilon", "delta"),
    "advantage": ("advantage", None),
    "power": ("power", "false_positive_rate"),
    "bayes_risk": ("bayes_risk", "prior"),
    "gaussian_mu": ("mu", "delta"),
}
_WAYS = "; or ".join(
    name if point is None else f"{name} and {point}" for name, point in _KINDS.values()
)


def _least_delta(value: object, name: str) -> float:
    return _arguments.real(value, name, "in (0, 1]", lambda x: 0.0 < x <= 1.0)


_CHECKS = {
    "epsilon": (_arguments.non_negative, _arguments.probability),
    "advantage": (_arguments.probability, _arguments.probability),
    "power": (_arguments.probability, _arguments.open_probability),
    "bayes_risk": (_arguments.probability, _arguments.open_probability),
    "gaussian_mu": (_arguments.non_negative, _least_delta),
}


class Target(NamedTuple):
    """A quantity of a curve, where it is taken, and its greatest value (Bayes risk: its least)."""

    quantity: str
    at: float
    value: float

    def bounds(self, curve: PrivacyCurve, memory_limit: int) -> ScalarBounds:
        """Bound the quantity, without a warning."""
        if self.quantity in ("epsilon", "advantage"):
            wanted = "epsilon" if self.quantity == "epsilon" else "delta"
            return curve._answer(wanted, self.at, memory_limit=memory_limit)[0]
        return curve._bounded(self.quantity, self.at, memory_limit)

    def is_met(self, bounds: ScalarBounds) -> bool:
        """Return whether all values between these bounds meet the target."""
        if self.quantity == "bayes_risk":
            return bool(bounds.lower >= self.value)
        return bool(bounds.upper <= self.value)

    def is_missed(self, bounds: ScalarBounds) -> bool:
        """Return whether no value between these bounds meets the target."""
        if self.quantity == "bayes_risk":
            return bool(bounds.upper < self.value)
        return bool(bounds.lower > self.value)

    def named(self) -> dict[str, float]:
        """Return the arguments that state the target."""
        name, point = _KINDS[self.quantity]
        return {name: self.value} if point is None else {name: self.value, point: self.at}

    def __str__(self) -> str:
        return " at ".join(f"{name} = {value!r}" for name, value in self.named().items())


def target_of(targets: Targets | dict[str, Any]) -> Target:
    """Return the target that the arguments state, None where one is not given."""
    quantity = kind_of(targets)
    name, point = _KINDS[quantity]
    check_value, check_point = _CHECKS[quantity]
    value = check_value(dict(targets)[name], name)
    at = 0.0 if point is None else check_point(dict(targets)[point], point)
    return Target(quantity, at, value)


def targets_of(targets: dict[str, Any]) -> dict[str, Any]:
    """Return arrays of the targets that the arguments state, by their names, the target first."""
    quantity = kind_of(targets)
    name, point = _KINDS[quantity]
    check = (
        _arguments.non_negatives
        if quantity in ("epsilon", "gaussian_mu")
        else _arguments.probabilities
    )
    found = {name: check(targets[name], name)}
    if point is not None:
        found[point] = _arguments.probabilities(targets[point], point)
    return found


def point_of(settings: dict[str, Any]) -> tuple[str, Any]:
    """Return what the target that is among the settings is about, and where it is taken."""
    quantity = kind_of({name: settings.get(name) for name in Targets.__annotations__})
    point = _KINDS[quantity][1]
    return quantity, 0.0 if point is None else settings[point]


def is_missed(settings: dict[str, Any], lower: Any, upper: Any) -> Any:
    """Return where no value between the bounds meets the target that is among the settings."""
    if "bayes_risk" in settings:
        return np.asarray(upper) < np.asarray(settings["bayes_risk"])
    name = next(name for name, _ in _KINDS.values() if name in settings)
    return np.asarray(lower) > np.asarray(settings[name])


def kind_of(targets: Targets | dict[str, Any]) -> str:
    """Return the quantity of the one target that the arguments state."""
    given = {name for name, value in targets.items() if value is not None}
    for quantity, names in _KINDS.items():
        if given == {name for name in names if name is not None}:
            return quantity
    lacks = [
        next(iter(parts - given))
        for parts in ({name, point} for name, point in _KINDS.values() if point is not None)
        if len(given) == 1 and given < parts
    ]
    if lacks:
        raise TypeError(f"{min(given)} needs {' or '.join(lacks)}: both are one target")
    stated = f"got {', '.join(sorted(given))}" if given else "got none"
    raise TypeError(f"exactly one target must be given ({_WAYS}), {stated}")
