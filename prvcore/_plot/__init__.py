"""Pictures, by matplotlib: of curves, and of sweeps over settings."""

from prvcore._plot.curve import plot
from prvcore._plot.sweep import plot_sweep

__all__ = ["plot", "plot_sweep"]
