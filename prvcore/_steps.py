"""The steps of a composition: mechanisms, and how often each runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from prvcore import _arguments
from prvcore.mechanisms.base import Mechanism, taken_for_mechanism

__all__ = ["Counts", "Mechanisms", "Steps", "merged", "pairs", "refuse_mixed_groups"]

Steps: TypeAlias = tuple[tuple[Mechanism, int], ...]
# what `compose` takes
Mechanisms: TypeAlias = Mechanism | Iterable[Mechanism | tuple[Mechanism, int]]
Counts: TypeAlias = int | Iterable[int] | None


def pairs(mechanisms: Any, counts: Any, name: str = "mechanisms") -> list[tuple[Mechanism, int]]:
    """Return mechanisms and counts, as `compose` takes them, as (mechanism, count) pairs.

    `name` is that of the argument that has the mechanisms.
    """
    if isinstance(mechanisms, Mechanism):
        return [(mechanisms, 1 if counts is None else _arguments.count(counts, "counts"))]
    try:
        # those of a mapping would be its keys, without their counts; abstract types are slow to ask
        is_list = type(mechanisms) in (list, tuple)
        items = list(mechanisms) if is_list or not isinstance(mechanisms, str | Mapping) else None
    except TypeError:
        items = None
    if items is None:
        hint = taken_for_mechanism(mechanisms)
        if isinstance(mechanisms, Mapping):
            hint = ": a mapping has them as its items()"
        raise TypeError(
            f"{name} must be a mechanism, or an iterable of mechanisms and (mechanism, count) "
            f"pairs, got {mechanisms!r}{hint}"
        )
    if counts is None:
        return [_pair(item, i, name) for i, item in enumerate(items)]
    for i, item in enumerate(items):
        if not isinstance(item, Mechanism):
            raise TypeError(
                f"{name}[{i}] must be a mechanism where counts is given, "
                f"got {item!r}{taken_for_mechanism(item)}"
            )
    try:
        numbers = list(counts)
    except TypeError:
        numbers = None
    if numbers is None or len(numbers) != len(items):
        found = repr(counts) if numbers is None else f"{len(numbers)} of them"
        raise ValueError(
            f"counts must be a sequence of {len(items)} integers, one for each of "
            f"{name}, got {found}"
        )
    checked = [_arguments.count(number, f"counts[{i}]") for i, number in enumerate(numbers)]
    return list(zip(items, checked, strict=True))


def _pair(item: Any, i: int, name: str) -> tuple[Mechanism, int]:
    if isinstance(item, Mechanism):
        return item, 1
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], Mechanism):
        return item[0], _arguments.count(item[1], f"the count of {name}[{i}]")
    message = f"{name}[{i}] must be a mechanism or a pair (mechanism, count), got {item!r}"
    if i == 1 and isinstance(item, int):
        message += ": a single pair stands in a list, [(mechanism, count)]"
    else:
        message += taken_for_mechanism(item)
    raise TypeError(message)


def refuse_mixed_groups(mechanisms: Iterable[Mechanism]) -> None:
    """Refuse to compose guarantees for groups of different sizes; a single record is one of 1."""
    first = None
    for mechanism in mechanisms:
        first = mechanism if first is None else first
        if mechanism._group_size() != first._group_size():
            raise ValueError(
                "mechanisms must all be for neighbours that differ by one record, or by groups of "
                f"one size, got {first!r}, for {_unit(first)}, and {mechanism!r}, for "
                f"{_unit(mechanism)}"
            )


def _unit(mechanism: Mechanism) -> str:
    size = mechanism._group_size()
    return "one record" if size == 1 else f"groups of {size}"


def merged(steps: Iterable[tuple[Mechanism, int]]) -> Steps:
    """Return one step for each distinct mechanism, in an order that is theirs alone.

    Each count is looked at here, whoever has made the pairs.
    """
    steps = pairs(steps, None)
    _arguments.total_count([count for _, count in steps])
    if len(steps) < 2:
        return tuple(steps)
    steps = _equal_ones(steps)
    keyed = [(mechanism._key(), type(mechanism).__name__, mechanism, n) for mechanism, n in steps]
    keyed.sort(key=lambda entry: entry[:2])
    merged = []
    for _, group in groupby(keyed, key=lambda entry: entry[0]):
        (_, _, mechanism, first), *others = group
        merged.append((mechanism, first + sum(entry[3] for entry in others)))
    return tuple(merged)


def _equal_ones(steps: list[tuple[Mechanism, int]]) -> list[tuple[Mechanism, int]]:
    """Merge mechanisms that are equal: of functions, which have no order, keys tell too little."""
    counts: dict[Mechanism, int] = {}
    others: list[tuple[Mechanism, int]] = []  # of functions that have no hash
    for mechanism, count in steps:
        try:
            counts[mechanism] = counts.get(mechanism, 0) + count
        except TypeError:
            same = next((i for i, other in enumerate(others) if other[0] == mechanism), None)
            if same is None:
                others.append((mechanism, count))
            else:
                others[same] = (others[same][0], others[same][1] + count)
    return [*counts.items(), *others]
