"""Pictures of privacy curves, by matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from prvcore import _arguments
from prvcore._bounds import Bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot", "plot_sweep"]

# colours that colour-blind people can tell apart (Okabe and Ito)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_CURVE, _REFERENCE = _COLOURS[:2]

_MANY = 60  # points of a picture


class Curve(Protocol):
    """What a picture needs of a `PrivacyCurve`, whose module calls this one."""

    @property
    def counts(self) -> tuple[int, ...]: ...
    def delta(self, epsilon: Any, /) -> Bounds[Any]: ...
    def epsilon(self, delta: Any, /) -> Bounds[Any]: ...
    def trade_off(self, false_positive_rate: Any, /) -> Bounds[Any]: ...
    def __mul__(self, times: int, /) -> Curve: ...


class Sweep(Protocol):
    """What a picture needs of `SweepBounds`."""

    @property
    def settings(self) -> Mapping[str, Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


def new_axes() -> Axes:
    """Return the axes of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot needs matplotlib, which is not installed: pip install 'prvcore[plot]'"
        ) from error
    axes: Axes = pyplot.subplots(layout="constrained")[1]
    return axes


def _band(
    ax: Axes, x: ArrayLike, bounds: Bounds[Any], label: str = "certified bounds", **style: Any
) -> None:
    style = {"color": _CURVE, **style}
    ax.fill_between(x, bounds.lower, bounds.upper, color=style["color"], alpha=0.35, linewidth=0)
    ax.plot(x, bounds.upper, linewidth=1.5, label=label, **style)


def _delta(curve: Curve, ax: Axes, epsilons: ArrayLike | None = None) -> None:
    if epsilons is None:
        # from delta(0) down by ten decades, or as far as there is a finite epsilon
        levels = curve.delta(0.0).upper * np.array([1e-10, 1e-6, 1e-3, 0.5])
        reached = [e for e in curve.epsilon(levels).upper if 0.0 < e < np.inf]
        epsilons = np.linspace(0.0, reached[0] if reached else 1.0, _MANY)
    epsilons = _arguments.extended_reals(epsilons, "epsilons")
    _band(ax, epsilons, curve.delta(epsilons))
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
    ax.set_xlabel("type I error (false positive rate)")
    ax.set_ylabel("least type II error")


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
    _band(ax, [once * multiple for multiple in multiples], bounds)
    ax.set_xscale("log")
    ax.set_yscale("log")
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
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    return ax


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def plot_sweep(bounds: Sweep, ax: Axes | None = None) -> Axes:
    """Draw the bounds of a sweep against steps, a line for each combination of the others.

    Parameters
    ----------
    bounds : SweepBounds
        What `dpsgd_epsilon` or `dpsgd_delta` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        matplotlib is not installed.

    """
    ax = new_axes() if ax is None else ax
    lower, estimate, upper = bounds
    shape = np.shape(upper)
    settings = {
        name: np.ravel(np.broadcast_to(values, shape)) for name, values in bounds.settings.items()
    }
    steps = settings.pop("steps")
    parts = Bounds(*map(np.ravel, (lower, estimate, upper)))
    varied = [name for name, values in settings.items() if np.unique(values).size > 1]
    others = list(zip(*(values.tolist() for values in settings.values()), strict=True))
    for number, setting in enumerate(sorted(set(others))):
        chosen = np.array([i for i, other in enumerate(others) if other == setting])
        chosen = chosen[np.argsort(steps[chosen], kind="stable")]
        named = dict(zip(settings, setting, strict=True))
        label = ", ".join(f"{name.replace('_', ' ')} {_shown(named[name])}" for name in varied)
        _band(
            ax,
            steps[chosen],
            Bounds(*(part[chosen] for part in parts)),
            label or "certified bounds",
            color=_COLOURS[number % len(_COLOURS)],
            marker="o",
            markersize=3,
            linestyle=("-", "--", ":", "-.")[number // len(_COLOURS) % 4],
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("steps")
    ax.set_ylabel("delta" if "epsilon" in bounds.settings else "epsilon (nats)")
    ax.legend(frameon=False, fontsize="small")
    ax.grid(alpha=0.3)
    return ax
