"""Pictures of sweeps: one setting is on the x axis, and each other one has a look of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._plot.axes import COLOURS, new_axes, plain_ticks, say_nothing_drawn, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_sweep"]

# What is on the x axis, if it varies: the first of these.
_ACROSS = (
    "epochs",
    "steps",
    "noise_multiplier",
    "batch_size",
    "sampling_probability",
    "dataset_size",
    "accumulation_steps",
    "epsilon",
    "delta",
)
_FOLLOW = ("steps", "sampling_probability")  # from the terms of training, where these are settings
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_WIDTH, _HEIGHT, _WIDTH_OF_LEGEND, _ROWS_OF_LEGEND = 6.0, 4.5, 1.5, 20  # inches; entries
_Y_LABELS = {
    "epsilon": "upper bound of epsilon (nats)",
    "delta": "upper bound of delta",
    "noise multiplier": "least noise multiplier",
    "steps": "most steps",
}
_MOST_DOTS = 50  # of a line; more of them hide it
_FAR_APART = 20.0  # the greatest over the least from which an axis is logarithmic


def plot_sweep(
    given: Mapping[str, Any],
    low: Any,
    high: Any,
    of: str,
    x: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a line of what was found at the settings given, with a band from `low` to `high`.

    The line is the edge of the band that is certain to hold; `of` is what it shows: "noise
    multiplier" and bounds are above what is found, and "steps" below it. See `SweepBounds.plot`.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    settings = _settings(given, high.shape)
    low, high = low.ravel(), high.ravel()
    line = low if of == "steps" else high
    varied = [name for name, values in settings.items() if np.unique(values).size > 1]
    if x is None:
        x = next((name for name in _ACROSS if name in varied), "steps")
    x = _arguments.choice(x, "x", tuple(name for name in _ACROSS if name in settings))
    looks = _looks({name: settings[name] for name in varied if name != x}, x)
    if ax is None:
        ax = new_axes((_WIDTH + _WIDTH_OF_LEGEND * _columns(looks), _HEIGHT))
    log_x, log_y = _far_apart(settings[x]), _far_apart(line)
    drawn = np.isfinite(line) & ((line > 0.0) | ~log_y) & ((settings[x] > 0) | ~log_x)
    for chosen in _lines([settings[name] for name in looks], drawn):
        order = chosen[np.argsort(settings[x][chosen], kind="stable")]
        dots = "o" if order.size <= _MOST_DOTS else ""
        style: dict[str, Any] = {"color": COLOURS[0], "linestyle": "-", "marker": dots}
        for name, look in looks.items():
            style.update(look[settings[name][order[0]]])
        across = settings[x][order]
        ax.fill_between(across, low[order], high[order], color=style["color"], alpha=0.3, lw=0)
        ax.plot(across, line[order], linewidth=1.2, markersize=3, **style)
    _finish(ax, log_x=log_x, log_y=log_y, whole=bool(drawn.all()))
    if not log_x and (np.mod(settings[x], 1.0) == 0.0).all():
        whole_ticks(ax.xaxis)
    ax.set_xlabel("epsilon (nats)" if x == "epsilon" else x.replace("_", " "))
    ax.set_ylabel(_Y_LABELS[of])
    fixed = {name: values[0] for name, values in settings.items() if name not in {*varied, x}}
    ax.set_title(_title(fixed, given), fontsize="small")
    _legends(ax, looks)
    if not drawn.any():
        say_nothing_drawn(ax, f"{of} is 0 or infinite at every setting")
    return ax


def _settings(given: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """Return the numbers among the settings, flat; not those that follow from others."""
    follow = _FOLLOW if "epochs" in given else ()
    return {
        name: np.ravel(np.broadcast_to(values, shape))
        for name, values in given.items()
        if name in _ACROSS and name not in follow
    }


def _far_apart(values: NDArray[Any]) -> bool:
    positive = values[(values > 0) & np.isfinite(values)]
    return bool(positive.size and positive.max() > _FAR_APART * positive.min())


def _looks(others: dict[str, NDArray[Any]], x: str) -> dict[str, dict[Any, dict[str, Any]]]:
    """Return how lines look, by the value of each parameter that is not on the x axis.

    The parameter with most values has the colours, the next ones dashes and markers.
    """
    names = sorted(others, key=lambda name: -np.unique(others[name]).size)
    sizes = [np.unique(others[name]).size for name in names]
    room = (np.inf, len(_DASHES), len(_MARKERS))
    if len(names) > len(room) or any(size > most for size, most in zip(sizes, room, strict=False)):
        shown = ", ".join(f"{name} ({size})" for name, size in zip(names, sizes, strict=True))
        raise ValueError(
            "a picture shows one parameter on its x axis, one by colours, one by "
            f"{len(_DASHES)} dashes and one by {len(_MARKERS)} markers at most: choose another x "
            f"or ask for fewer settings; beside {x} there are {shown}"
        )
    looks = {}
    for place, name in enumerate(names):
        values = np.unique(others[name]).tolist()
        styles: list[dict[str, Any]] = (
            [{"color": color} for color in _colours(len(values))]
            if place == 0
            else [{"linestyle": dash} for dash in _DASHES]
            if place == 1
            else [{"marker": marker} for marker in _MARKERS]
        )
        looks[name] = dict(zip(values, styles, strict=False))
    return looks


def _colours(count: int) -> list[Any]:
    """Return few colours that colour-blind people can tell apart, or many along a scale."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0.0, 0.9, count)))


def _lines(others: list[NDArray[Any]], drawn: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of each line's points: those that have all other parameters in common."""
    points = np.flatnonzero(drawn)
    if not others:
        if points.size:
            yield points
        return
    table = np.stack([values[points] for values in others], axis=1)
    _, line = np.unique(table, axis=0, return_inverse=True)
    for number in range(line.max() + 1 if line.size else 0):
        yield points[np.ravel(line) == number]


def _finish(ax: Axes, *, log_x: bool, log_y: bool, whole: bool) -> None:
    for far, axis, scale in ((log_x, ax.xaxis, ax.set_xscale), (log_y, ax.yaxis, ax.set_yscale)):
        if far:
            scale("log")
            plain_ticks(axis)
    if not whole:
        ax.annotate(
            "settings at which it is 0 or infinite are not drawn",
            (1, 0),
            xycoords="axes fraction",
            ha="right",
            va="bottom",
            fontsize="x-small",
        )
    ax.grid(alpha=0.3)


def _title(fixed: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Say what all points have in common, without what is the default."""
    numbers = [
        _said(name, value)
        for name, value in fixed.items()
        if not (name == "accumulation_steps" and value == 1)
    ]
    kinds = [
        settings[name]
        for name, default in (("sampler", "poisson"), ("neighbors", "add-or-remove"))
        if settings.get(name, default) != default
    ]
    if settings.get("loader") == "opacus":
        kinds.append("loader of Opacus" + (" with drop_last" if settings["drop_last"] else ""))
    return textwrap.fill(", ".join([*numbers, *kinds]), 80, break_on_hyphens=False)


def _said(name: str, value: Any) -> str:
    return f"{name.replace('_', ' ')} {value:g}"


def _columns(looks: dict[str, dict[Any, dict[str, Any]]]) -> int:
    """Return how many columns the legend has."""
    return -(-sum(1 + len(look) for look in looks.values()) // _ROWS_OF_LEGEND)


def _legends(ax: Axes, looks: dict[str, dict[Any, dict[str, Any]]]) -> None:
    """Name the looks of each parameter in one legend beside the axes."""
    from matplotlib.lines import Line2D

    handles = []
    for name, look in looks.items():
        handles.append(Line2D([], [], linestyle="", label=name.replace("_", " ")))
        for value, style in look.items():
            plain = {"color": "#808080", "linestyle": "-", **style}
            handles.append(Line2D([], [], label=f"{value:g}", markersize=4, **plain))
    if handles:
        ax.legend(
            handles=handles,
            frameon=False,
            fontsize="small",
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            ncols=_columns(looks),
        )
