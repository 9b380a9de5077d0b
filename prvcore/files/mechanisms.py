"""Mechanisms as plain values that JSON can hold, and back to the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from prvcore import mechanisms
from prvcore._arguments import short
from prvcore._names import did_you_mean
from prvcore.mechanisms.base import Mechanism, check_mechanism

__all__ = ["mechanism_from_dict", "mechanism_kinds", "mechanism_to_dict"]

_DEEPEST = 64  # mechanisms within mechanisms


def mechanism_to_dict(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as a dict of strings, numbers, lists and such dicts.

    Parameters
    ----------
    mechanism : Mechanism
        Of any kind but those given by functions.

    Returns
    -------
    dict
        ``"type"`` is the name of the mechanism's class, and the others are its parameters by their
        names. `json` writes and reads such numbers exactly.

    Raises
    ------
    TypeError
        No mechanism is given, or one of functions, which have no such values.

    """
    check_mechanism(mechanism)
    found = {"type": type(mechanism).__name__}
    for field in fields(mechanism):  # type: ignore[arg-type]  # each kind of them is a dataclass
        value = getattr(mechanism, field.name)
        if callable(value):
            raise TypeError(f"{mechanism!r} cannot be saved: its {field.name} is a function")
        if field.type is Any:
            raise TypeError(f"{mechanism!r} cannot be saved: its {field.name} is made of functions")
        found[field.name] = _plain(value)
    return found


def mechanism_from_dict(values: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that `mechanism_to_dict` was given.

    Parameters
    ----------
    values : mapping
        As `mechanism_to_dict` returns it; a parameter that has a default may be left out.

    Returns
    -------
    Mechanism
        Equal to that one.

    Raises
    ------
    TypeError, ValueError
        `values` is no mapping, names no kind of mechanism, lacks a parameter, has one too many, or
        one out of its range.

    """
    return _mechanism_from(values, 1)


def _mechanism_from(values: Mapping[str, Any], depth: int) -> Mechanism:
    if not isinstance(values, Mapping):
        raise TypeError(f"a mechanism must be a mapping, got {short(values)}")
    if depth > _DEEPEST:
        raise ValueError(f"mechanisms must be nested at most {_DEEPEST} deep")
    kinds = mechanism_kinds()
    name = values.get("type")
    if not isinstance(name, str) or name not in kinds:
        files = ", ".join(sorted(name for name in kinds if not needs_functions(kinds[name])))
        meant = did_you_mean(name, kinds, "global", shown=repr)
        found = f"got {short(name)}{meant}" if "type" in values else "but is missing"
        raise ValueError(f"type must be one of {files}, {found}")
    kind = kinds[name]
    if needs_functions(kind):
        raise ValueError(f"type must not be {name!r}, whose functions no file can hold")
    parameters = fields(kind)  # type: ignore[arg-type]
    names = {field.name for field in parameters}
    needed = {field.name for field in parameters if field.default is MISSING}
    given = {name: value for name, value in values.items() if name != "type"}
    if not needed <= set(given) <= names:
        listed = ", ".join(field.name for field in parameters)
        unknown = [name for name in given if name not in names]
        missing = [field.name for field in parameters if field.name in needed - set(given)]
        if unknown:
            meant = did_you_mean(unknown[0], names - set(given), shown=repr)
            fault = f"it has no {short(unknown[0])}{meant}"
        else:
            fault = f"{missing[0]!r} is missing"
        raise ValueError(f"{kind.__name__} must have {listed}, got {short(list(given))}: {fault}")
    return kind(**{name: _value_from(value, depth) for name, value in given.items()})


def _value_from(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _mechanism_from(value, depth + 1)
    if isinstance(value, list) and any(isinstance(part, Mapping | list) for part in value):
        return [_value_from(part, depth) for part in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return mechanism_to_dict(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def mechanism_kinds() -> dict[str, type[Mechanism]]:
    """Return all kinds of mechanism by their names."""
    kinds = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    del kinds["Mechanism"]
    return kinds


def needs_functions(kind: type[Mechanism]) -> bool:
    """Return whether a kind of mechanism is given by functions, which no file can hold."""
    types = [field.type for field in fields(kind)]  # type: ignore[arg-type]
    # a distribution of scipy.stats may be anything that has its functions
    return any(one is Any or "Callable" in str(one) for one in types)
