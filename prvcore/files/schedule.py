"""Schedules: files that say which mechanisms run, and how often."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, get_origin

from prvcore import _arguments
from prvcore._names import did_you_mean, public
from prvcore.files.mechanisms import mechanism_from_dict, mechanism_kinds, needs_functions
from prvcore.files.plain import plain_values
from prvcore.mechanisms.base import Mechanism

__all__ = ["read_schedule", "schedule_from_dict", "schedule_schema"]

_MOST_BYTES = 2**24
_MOST_DOTS = 200
_DOT_OF_KEY = re.compile(
    r"(?<![0-9])\.|\.(?![0-9])|\.[0-9]+(?=\.)"
)  # numbers have digits around one

# What each field of a mechanism is in JSON, by its annotation.
_TYPES: dict[Any, dict[str, Any]] = {
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
}
_STEP = {
    "type": "array",
    "prefixItems": [
        {"$ref": "#/$defs/mechanism"},
        {"type": "integer", "minimum": 0, "maximum": 2**53},
    ],
    "items": False,
    "minItems": 2,
}
_STEPS = {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/mechanism"}, _STEP]}}
_TYPES[Mechanism] = {"oneOf": [{"$ref": "#/$defs/mechanism"}, _STEPS]}  # or several, on one sample
_NUMBERS = {"type": "array", "items": {"type": "number"}}


@public
def read_schedule(path: str | PathLike[str] | BinaryIO) -> tuple[tuple[Mechanism, int], ...]:
    """Read a schedule from a TOML or JSON file, as its name ends.

    Parameters
    ----------
    path : str, path-like or binary file
        A file of at most 16 MiB that ends in ``.toml`` or ``.json``; or an open file of JSON. JSON
        that the command ``prvcore`` has printed is read, too: the steps that it assumed. Text is in
        UTF-8, with or without a byte order mark; JSON may be in UTF-16, as PowerShell writes it.

    Returns
    -------
    tuple of (Mechanism, int)
        As `compose` takes it, in the order of the file.

    Raises
    ------
    OSError
        The file cannot be read.
    TypeError, ValueError
        It is no TOML or JSON, or no schedule: the message says at which step.

    See Also
    --------
    schedule_from_dict : what the file holds.

    """
    import tomllib

    if isinstance(path, str | PathLike):
        path = Path(path)
        name, suffix = path.name, path.suffix
        if suffix.lower() not in (".toml", ".json"):
            raise ValueError(
                f"a schedule must be a file that ends in .toml or .json, got {str(path)!r}"
            )
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)  # of devices and pipes no size is known before
    else:
        name, suffix = "the schedule", ".json"
        content = path.read(_MOST_BYTES + 1) if hasattr(path, "read") else b""
        if not hasattr(path, "read") or not isinstance(content, bytes):
            found = _arguments.short(path)
            raise TypeError(f"path must be that of a file, or an open binary file, got {found}")
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{name} must have at most {_MOST_BYTES} bytes")
    try:
        if suffix.lower() == ".toml":
            text = content.decode("utf-8-sig")
            _refuse_long_keys(text)
            values = tomllib.loads(text)
        else:
            values = plain_values(content)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    except ValueError as error:  # of the parsers, and of bytes that are no UTF-8
        raise ValueError(f"{name}: {error}") from None
    if isinstance(values, dict) and isinstance(values.get("assumed"), dict):
        values = {"steps": values["assumed"].get("steps")}  # an answer of the command line
    try:
        return schedule_from_dict(values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _refuse_long_keys(text: str) -> None:
    """Refuse lines of dotted keys for which tomllib takes time that grows with their square."""
    for place, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS and len(_DOT_OF_KEY.findall(line)) > _MOST_DOTS:
            raise ValueError(f"more than {_MOST_DOTS} dots that are in no number (at line {place})")


def schedule_from_dict(values: Mapping[str, Any]) -> tuple[tuple[Mechanism, int], ...]:
    """Return what a schedule says in plain values.

    Parameters
    ----------
    values : mapping
        ``{"steps": [...]}``; each step a mapping of ``"type"``, the name of a mechanism's class,
        its parameters by their names, and ``"count"``, an integer in [0, 2^53], 1 if left out. A
        mechanism within another is such a mapping without a count.

    Returns
    -------
    tuple of (Mechanism, int)
        As `compose` takes it.

    Raises
    ------
    TypeError, ValueError
        `values` is no schedule: the message says at which step.

    """
    if not isinstance(values, Mapping):
        raise TypeError(f"a schedule must be a mapping, got {_arguments.short(values)}")
    if set(values) != {"steps"}:
        saved = values.get("format") == "prvcore accountant"
        hint = ": Accountant.from_json reads what an accountant has saved" if saved else ""
        if "steps" not in values:
            hint = hint or "".join(did_you_mean(name, ["steps"], shown=repr) for name in values)
        raise ValueError(
            "a schedule must have steps and nothing else, "
            f"got {_arguments.short(list(values))}{hint}"
        )
    steps = values["steps"]
    if not isinstance(steps, list | tuple):
        raise TypeError(f"steps must be a list, got {_arguments.short(steps)}")
    found = []
    for place, step in enumerate(steps):
        try:
            found.append(_step(step))
        except (TypeError, ValueError) as error:
            raise type(error)(f"steps[{place}]: {error}") from None
        except RecursionError:
            raise ValueError(f"steps[{place}] is nested too deeply") from None
    return tuple(found)


def _step(step: Any) -> tuple[Mechanism, int]:
    if not isinstance(step, Mapping):
        raise TypeError(f"a step must be a mapping, got {_arguments.short(step)}")
    count = _arguments.count(step.get("count", 1), "count")
    return mechanism_from_dict({name: step[name] for name in step if name != "count"}), count


def schedule_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of schedules, which also lies beside this module."""
    kinds = [kind for kind in mechanism_kinds().values() if not needs_functions(kind)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A schedule of mechanisms for prvcore",
        "type": "object",
        "required": ["steps"],
        "additionalProperties": False,
        "properties": {"steps": {"type": "array", "items": {"$ref": "#/$defs/step"}}},
        "$defs": {
            "step": {
                "allOf": [{"$ref": "#/$defs/mechanism"}],
                "properties": {
                    "count": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 1}
                },
                "unevaluatedProperties": False,
            },
            "mechanism": {
                "type": "object",
                "required": ["type"],
                "oneOf": [_schema_of(kind) for kind in kinds],
            },
        },
    }


def _schema_of(kind: type[Mechanism]) -> dict[str, Any]:
    parameters = fields(kind)  # type: ignore[arg-type]
    described = {field.name: _type_of(field.type) for field in parameters}
    required = [field.name for field in parameters if field.default is MISSING]
    return {
        "properties": {"type": {"const": kind.__name__}, **described},
        "required": ["type", *required],
    }


def _type_of(annotation: Any) -> dict[str, Any]:
    if get_origin(annotation) is tuple:
        return _STEPS
    return _TYPES.get(annotation, _NUMBERS)


if __name__ == "__main__":
    import json

    print(json.dumps(schedule_schema(), indent=2))
