"""What a command prints: bounds rounded outward, JSON of exact numbers, rows of CSV."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import prvcore
from prvcore._outward import DOWN, NEAREST, UP, formatted
from prvcore.files.mechanisms import mechanism_to_dict

_FORMAT = ".10g"  # of bounds, rounded outwards


def assumed(curve: prvcore.PrivacyCurve) -> dict[str, Any]:
    return {
        "steps": [
            plain_step(mechanism, count)
            for mechanism, count in zip(curve.mechanisms, curve.counts, strict=True)
        ],
        "neighbors": curve.neighbors,
        "discretization": curve.discretization,
        "eps_error": curve.eps_error,
        "delta_relative_error": curve.delta_relative_error,
    }


def plain_step(mechanism: prvcore.Mechanism, count: int) -> dict[str, Any]:
    """Return a step as schedules have it."""
    return {**mechanism_to_dict(mechanism), "count": count}


def print_json(values: dict[str, Any]) -> None:
    print(json.dumps(_finite(values), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def print_csv(names: Sequence[str], rows: Iterable[Sequence[float]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def print_bounds(bounds: prvcore.Bounds[Any]) -> None:
    print(f"  lower     {formatted(bounds.lower, _FORMAT, DOWN)}")
    print(f"  estimate  {formatted(bounds.estimate, _FORMAT, NEAREST)}")
    print(f"  upper     {formatted(bounds.upper, _FORMAT, UP)}")


def print_ends(lower: float | None, upper: float) -> None:
    if lower is not None:
        print(f"  lower     {formatted(lower, _FORMAT, DOWN)}")
    print(f"  upper     {formatted(upper, _FORMAT, UP)}")


def check_picture(path: str | None) -> None:
    """Refuse a file in which no picture can be saved, before anything is computed for it."""
    if path is None or find_spec("matplotlib") is None:  # of which drawing tells
        return
    from matplotlib.backend_bases import FigureCanvasBase

    folder, ending = Path(path).parent, Path(path).suffix
    known = not ending or ending[1:].lower() in FigureCanvasBase.filetypes
    if not (known and Path(path).name):
        raise ValueError(f"plot must be a file such as curve.png, .pdf or .svg, got {path!r}")
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def save(axes: Any, path: str) -> None:
    axes.figure.savefig(path, dpi=150)
