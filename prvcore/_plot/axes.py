"""What all pictures have in common: new axes, colours, ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["COLOURS", "new_axes", "plain_ticks", "say_nothing_drawn", "whole_ticks"]

# colours that colour-blind people can tell apart (Okabe and Ito), and that are seen on black and on
# white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")


_MANY_DECADES = 300.0  # the greatest over the least from which powers of ten are enough


def new_axes(size: tuple[float, float] | None = None) -> Axes:
    """Return the axes of a new figure, of this width and height in inches or the usual ones."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot needs matplotlib, which is not installed: pip install 'prvcore[plot]'"
        ) from error
    axes: Axes = pyplot.subplots(layout="constrained", figsize=size)[1]
    return axes


def plain_ticks(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis as plain numbers where they are not far from 1."""
    from matplotlib import ticker

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < _MANY_DECADES * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _plain(value)))


def whole_ticks(axis: Axis) -> None:
    """Have no ticks between whole numbers."""
    from matplotlib import ticker

    axis.set_major_locator(ticker.MaxNLocator(integer=True))


def _plain(value: float) -> str:
    """Return a number as people write it: 1,000,000 and 0.05."""
    return f"{value:,.0f}" if value >= 1.0 and value.is_integer() else f"{value:g}"


def say_nothing_drawn(ax: Axes, said: str) -> None:
    """Say in the middle of empty axes why nothing is drawn."""
    ax.text(0.5, 0.5, said, ha="center", va="center", transform=ax.transAxes)
