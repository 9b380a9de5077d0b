"""Pickles say which version wrote them, and no other version reads them.

Fields may change their meaning between versions, and an object that is made of another's fields
would give wrong answers, or fail far from here. What is to be kept is written as JSON
(`Accountant.to_json`, schedules), which has a format of its own.
"""

from __future__ import annotations

from dataclasses import fields
from pickle import UnpicklingError
from typing import Any

from prvcore._core.status import VERSION

__all__ = ["VERSION", "Pickled", "check", "restored", "values"]


def check(kind: type, version: object) -> None:
    """Raise UnpicklingError unless this version of prvcore has pickled an object of `kind`."""
    if version != VERSION:
        raise UnpicklingError(
            f"a {kind.__name__} pickled by prvcore {version!s:.40} cannot be read by {VERSION}: "
            "pickles are for processes that run the same version"
        )


def restored(version: str, kind: type, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return an object that was pickled; its constructor looks at what it is made of."""
    check(kind, version)
    return kind(*arguments, **options)


def values(of: Any) -> tuple[Any, ...]:
    """Return the fields of a dataclass."""
    return tuple(getattr(of, field.name) for field in fields(of))


class Pickled:
    """Base of dataclasses that are pickled as their fields."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (VERSION, type(self), values(self), {})
