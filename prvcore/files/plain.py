"""JSON read strictly: names that repeat and numbers that are not finite are errors."""

from __future__ import annotations

import json
from typing import Any

from prvcore._arguments import short

__all__ = ["plain_values"]


def plain_values(text: str | bytes) -> Any:
    """Return what JSON says: ValueError for what is none, for repeated names and for nan."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"numbers must be finite, got {name}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"{short(name)} is given twice")
            seen.add(name)
    return found
