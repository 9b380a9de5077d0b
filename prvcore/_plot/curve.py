"""Pictures of privacy curves."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from prvcore import _arguments
from prvcore._bounds import Bounds
from prvcore._plot.axes import COLOURS, new_axes, plain_ticks, say_nothing_drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_CURVE, _REFERENCE = COLOURS[:2]

_MANY = 60  # points of a picture


class Curve(Protocol):
    """What a picture needs of a `PrivacyCurve`, whose module calls this one."""

    @property
    def mechanisms(self) -> tuple[Any, ...]: ...
    @property
    def counts(self) -> tuple[int, ...]: ...
    @property
    def neighbors(self) -> str: ...
    def delta(self, epsilon: Any, /) -> Bounds[Any]: ...
    def epsilon(self, delta: Any, /) -> Bounds[Any]: ...
    def trade_off(self, false_positive_rate: Any, /) -> Bounds[Any]: ...
    def __mul__(self, times: int, /) -> Curve: ...


def _settings(curve: Curve) -> str:
    """Return what a curve is of, for the title of its picture."""
    if len(curve.mechanisms) != 1:
        return f"{len(curve.mechanisms)} mechanisms, {sum(curve.counts):,} steps, {curve.neighbors}"
    mechanism, count = curve.mechanisms[0], curve.counts[0]
    digits = re.sub(
        r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", f"{mechanism!r}"
    )
    named = textwrap.shorten(digits, 110, placeholder=" ...")
    text = f"{named}, {count:,} times, {curve.neighbors}"
    return textwrap.fill(text, 60, break_on_hyphens=False, break_long_words=False)


def _band(ax: Axes, x: ArrayLike, bounds: Bounds[Any], empty: str = "") -> bool:
    """Draw the band between the bounds, with a line along the upper ones.

    If nothing can be drawn on a logarithmic axis, say why, which is `empty`, and return False.
    """
    upper = np.asarray(bounds.upper)
    if empty and not (np.isfinite(upper) & (upper > 0.0)).any():
        say_nothing_drawn(ax, empty)
        return False
    ax.fill_between(x, bounds.lower, bounds.upper, color=_CURVE, alpha=0.35, linewidth=0)
    ax.plot(x, bounds.upper, linewidth=1.5, label="certified bounds", color=_CURVE)
    return True


def _delta(curve: Curve, ax: Axes, epsilons: ArrayLike | None = None) -> None:
    if epsilons is None:
        # from delta(0) down by ten decades, or as far as there is a finite epsilon
        levels = curve.delta(0.0).upper * np.array([1e-10, 1e-6, 1e-3, 0.5])
        reached = [e for e in curve.epsilon(levels).upper if 0.0 < e < np.inf]
        epsilons = np.linspace(0.0, reached[0] if reached else 1.0, _MANY)
    epsilons = _arguments.extended_reals(epsilons, "epsilons")
    if _band(ax, epsilons, curve.delta(epsilons), "delta is 0 at every epsilon here"):
        ax.set_yscale("log")
    ax.set_xlabel("epsilon (nats)")
    ax.set_ylabel("delta")


def _trade_off(curve: Curve, ax: Axes, false_positive_rates: ArrayLike | None = None) -> None:
    if false_positive_rates is None:
        # close together at both ends, where trade-off functions bend
        angles = np.linspace(0.0, np.pi, _MANY)
        false_positive_rates = 0.5 - 0.5 * np.cos(angles)
    rates = _arguments.probabilities(false_positive_rates, "false_positive_rates")
    _band(ax, rates, curve.trade_off(rates))
    ax.plot([0, 1], [1, 0], color=_REFERENCE, linewidth=1, linestyle="--", label="blind guessing")
    ax.set_aspect("equal")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("least false negative rate")


def _steps(
    curve: Curve, ax: Axes, delta: float | None = None, multiples: Iterable[int] | None = None
) -> None:
    if delta is None:
        raise TypeError("delta must be given to plot epsilon against steps")
    delta = _arguments.probability(delta, "delta")
    once = sum(curve.counts)
    if once == 0:
        raise ValueError("a curve must have steps to plot epsilon against them, got none")
    if multiples is None:
        multiples = np.unique(np.geomspace(1, 1000, _MANY // 2).astype(int))
    multiples = [_arguments.integer(multiple, "multiples", 1, 2**53) for multiple in multiples]
    points = [(curve * multiple).epsilon(delta) for multiple in multiples]
    bounds = Bounds(*np.transpose(points))
    steps = [once * multiple for multiple in multiples]
    if _band(ax, steps, bounds, "epsilon is 0 or infinite at all of these steps"):
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain_ticks(ax.xaxis)
        plain_ticks(ax.yaxis)
    ax.set_xlabel("steps")
    ax.set_ylabel(f"epsilon (nats) at delta = {delta:g}")


_KINDS: dict[str, Callable[..., None]] = {
    "delta": _delta,
    "trade-off": _trade_off,
    "steps": _steps,
}


def plot(curve: Curve, kind: str = "delta", ax: Axes | None = None, **options: Any) -> Axes:
    """Draw `curve`: see `PrivacyCurve.plot`."""
    kind = _arguments.choice(kind, "kind", tuple(_KINDS))
    ax = new_axes() if ax is None else ax
    _KINDS[kind](curve, ax, **options)
    ax.set_title(_settings(curve), fontsize="small")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    return ax
