"""What all mechanisms have in common."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from prvcore import _pickling
from prvcore._arguments import short
from prvcore._core import mechanism as core
from prvcore._names import public

__all__ = ["Mechanism", "OfArrays", "check_mechanism", "taken_for_mechanism"]


@public
class Mechanism(_pickling.Pickled):
    """Base of all mechanisms, for annotations and `isinstance`; not to be derived from."""

    __slots__ = ()

    _FIELDS: ClassVar[dict[str, str]] = {}  # which of them calibration may change

    def _key(self) -> tuple[Any, ...]:
        """Return what orders mechanisms; equal keys are one mechanism to the C core."""
        return (type(self).__name__, *_pickling.values(self))

    def _handle(self) -> core.Handle:
        raise NotImplementedError

    def _parameter(self, name: str) -> float | None:
        """Return the "noise" or the "sampling_probability", None where there is none."""
        field = self._FIELDS.get(name)
        return None if field is None else getattr(self, field)

    def _with(self, name: str, value: float) -> "Mechanism":
        """Return this mechanism with another value of a parameter that it has."""
        return replace(self, **{self._FIELDS[name]: value})  # type: ignore[type-var]  # all kinds are

    def _scales_together(self) -> bool:
        """Return whether its noise is that of several mechanisms, changed by one factor."""
        return False

    def _build(self, neighbors: str) -> core.Handle:
        """Return the mechanism of the C core; its refusal is told with this mechanism's name."""
        try:
            handle = self._handle()
        except ValueError as error:
            raise ValueError(f"{self!r}: {error}") from None
        replaced = neighbors == "replace-one"
        if not core.has_neighbors(handle, replaced) or (replaced and not self._has_replaced()):
            known = "'add-or-remove', 'add' or 'remove'" if replaced else "'replace-one'"
            raise ValueError(
                f"neighbors must be {known}, got {neighbors!r}: no dominating pair of {self!r} is "
                "known for it"
            )
        return handle

    def _group_size(self) -> int:
        """Return by how many records neighbouring data sets differ."""
        return 1

    def _has_replaced(self) -> bool:
        """Return False where only records that are added or removed are what it is stated for."""
        return True

    def _gaussian_noise(self) -> tuple[tuple[float, int], ...] | None:
        """Return noise multipliers and counts of Gaussian noise on the records, else None."""
        return None

    def _missing_mass(self) -> str | None:
        """Say where a function of one's own is not near its limit, None where none is known to be.

        Only such functions can miss it.
        """
        return None

    def _check(self, **checks: Callable[[Any, str], object]) -> None:
        """Replace the fields by what their checks, functions of value and name, return."""
        for name, check in checks.items():
            object.__setattr__(self, name, check(getattr(self, name), name))


class OfArrays(Mechanism):
    """Base of mechanisms that have arrays; these cannot be compared or hashed as they are."""

    __slots__ = ()

    def _key(self) -> tuple[Any, ...]:
        values = _pickling.values(self)
        parts = (v.tobytes() if isinstance(v, np.ndarray) else v for v in values)
        return (type(self).__name__, *parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def check_mechanism(value: object) -> None:
    """Refuse what is no mechanism; who gives a list is told that one is taken at a time."""
    if not isinstance(value, Mechanism):
        told = taken_for_mechanism(value)
        if type(value) in (list, tuple):
            told = ": give each by itself, with its count after it"
        raise TypeError(f"mechanism must be a mechanism of prvcore, got {short(value)}{told}")


def taken_for_mechanism(value: object) -> str:
    """Return what to say of a value that is no mechanism, but easily taken for one."""
    if isinstance(value, type) and issubclass(value, Mechanism):
        return f": a class is none, give {value.__name__}(...)"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f": a number is none, Gaussian({value!r}) is"
    if callable(value):
        return ": a function is none; calibrate changes the noise of a mechanism with any noise"
    return ""
