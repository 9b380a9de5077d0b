"""How a composition is computed: the options of `compose`, and the memory that a query may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._arguments import FloatArray
from prvcore._names import public, unknown_argument
from prvcore._progress import ProgressOption

__all__ = [
    "CalibrateOptions",
    "ComposeOptions",
    "Discretization",
    "Engine",
    "How",
    "Neighbors",
    "QueryOptions",
    "Settings",
    "WidthOptions",
    "check_known",
    "get_memory_limit",
    "memory_limit_of",
    "set_memory_limit",
]

Neighbors: TypeAlias = Literal["add-or-remove", "add", "remove", "replace-one"]
Discretization: TypeAlias = Literal["bracketing", "mean-matching"]
Engine: TypeAlias = Literal["auto", "convolution", "spectrum"]
_NEIGHBORS, _DISCRETIZATIONS, _ENGINES = map(get_args, (Neighbors, Discretization, Engine))


class WidthOptions(TypedDict, total=False):
    """The keyword arguments of `compose` but `neighbors`."""

    eps_error: float | None
    delta_error: float | None
    discretization: Discretization
    engine: Engine
    mesh_size: float | None
    delta_relative_error: float


class ComposeOptions(WidthOptions, total=False):
    """The keyword arguments of `compose`, for those that pass them on."""

    neighbors: Neighbors


class How(TypedDict, total=False):
    """The keyword arguments of every call that computes."""

    progress: ProgressOption
    memory_limit: int | None


class QueryOptions(ComposeOptions, How, total=False):
    """The keyword arguments of calls that compose and ask at once."""


class CalibrateOptions(TypedDict, total=False):
    """The keyword arguments of `calibrate` that say how, for those that pass them on."""

    tolerance: float
    neighbors: Neighbors
    engine: Engine


def check_known(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raise TypeError, by the name of the function that was called, if it has no such option."""
    for name in options:
        if name not in known.__annotations__:
            raise unknown_argument(function, name, known.__annotations__)


_EPS_RELATIVE_ERROR = 1e-3
_EPS_FLOOR = 1e-3
_DELTA_RELATIVE_ERROR = 1e-3
_MEAN_MATCHING_EPS_ERROR = 0.1
_MEAN_MATCHING_DELTA_ERROR = 1e-10

# nats: the core's PRV_WIDEST_CELL
_WIDEST_MESH = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of `compose`, checked; None is a default that depends on others."""

    eps_error: float | None = None
    delta_error: float | None = None
    neighbors: Neighbors = "add-or-remove"
    discretization: Discretization = "bracketing"
    engine: Engine = "auto"
    mesh_size: float | None = None
    delta_relative_error: float = _DELTA_RELATIVE_ERROR

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("neighbors", _arguments.choice(self.neighbors, "neighbors", _NEIGHBORS))
        set_(
            "discretization",
            _arguments.choice(self.discretization, "discretization", _DISCRETIZATIONS),
        )
        set_("engine", _arguments.choice(self.engine, "engine", _ENGINES))
        if self.engine == "spectrum" and self.discretization == "mean-matching":
            raise ValueError(
                "engine must be 'auto' or 'convolution' with discretization 'mean-matching', got "
                "'spectrum'"
            )
        if self.eps_error is not None:
            set_("eps_error", _arguments.positive(self.eps_error, "eps_error"))
        set_(
            "delta_relative_error",
            _arguments.part(self.delta_relative_error, "delta_relative_error"),
        )
        if self.mesh_size is not None:
            mesh_size = _arguments.positive(self.mesh_size, "mesh_size")
            if mesh_size > _WIDEST_MESH:
                raise ValueError(f"mesh_size must be in (0, {_WIDEST_MESH:g}], got {mesh_size!r}")
            set_("mesh_size", mesh_size)
        if self.delta_error is not None:
            delta_error = _arguments.open_probability(self.delta_error, "delta_error")
            if self.discretization != "mean-matching":
                raise ValueError(
                    "delta_error must be None unless discretization is 'mean-matching', got "
                    f"{delta_error!r}: bracketing has no error in delta that is not in its bounds"
                )
            set_("delta_error", delta_error)

    def as_dict(self) -> dict[str, Any]:
        """Return the options by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def of_core(self) -> dict[str, Any]:
        """Return what the C core is told, whose defaults are numbers."""
        eps_error, delta_error = self.eps_error, self.delta_error
        if self.discretization == "mean-matching":
            eps_error = _MEAN_MATCHING_EPS_ERROR if eps_error is None else eps_error
        return {
            "discretization": self.discretization,
            "neighbors": self.neighbors,
            "engine": self.engine,
            "eps_error": 0.0 if eps_error is None else eps_error,
            "eps_relative_error": _EPS_RELATIVE_ERROR,
            "eps_floor": _EPS_FLOOR,
            "delta_relative_error": self.delta_relative_error,
            "delta_error": _MEAN_MATCHING_DELTA_ERROR if delta_error is None else delta_error,
            "mesh_size": 0.0 if self.mesh_size is None else self.mesh_size,
        }

    def are_wide(self, wanted: str, bounds: FloatArray) -> NDArray[np.bool_]:
        """Return whether each [lower, estimate, upper] is wider than asked."""
        lower, _, upper = bounds.T
        if wanted == "delta":
            asked = self.delta_relative_error * upper
        elif self.eps_error is not None:
            asked = np.full_like(upper, self.eps_error)
        else:
            asked = _EPS_RELATIVE_ERROR * np.maximum(upper, _EPS_FLOOR)
        with np.errstate(invalid="ignore"):  # infinite bounds
            return np.asarray(upper - lower > asked)

    def least_width(self) -> float:
        """Return the width that is asked for in epsilon, in nats, where epsilon is 1 or less."""
        return _EPS_RELATIVE_ERROR if self.eps_error is None else self.eps_error

    def width(self) -> str:
        """Say which width of the bounds is asked for."""
        if self.eps_error is not None:
            return f"eps_error = {self.eps_error!r}"
        if self.discretization == "mean-matching":
            return f"eps_error = {_MEAN_MATCHING_EPS_ERROR!r}"
        return f"eps_error = {_EPS_RELATIVE_ERROR:g} * max(epsilon, {_EPS_FLOOR:g})"

    def width_of_delta(self) -> str:
        """Say which widths of the bounds of a delta are asked for, of which one is enough."""
        part = self.delta_relative_error
        if part == 0.0 or self.discretization == "mean-matching":
            return self.width()
        return f"{self.width()}, and than delta_relative_error = {part!r} of delta"

    def assumed(self) -> str:
        """Say what is assumed, as keyword arguments of `compose`."""
        parts = [f"neighbors={self.neighbors!r}", f"discretization={self.discretization!r}"]
        if self.engine != "auto":
            parts.append(f"engine={self.engine!r}")
        if self.mesh_size is not None:
            parts.append(f"mesh_size={self.mesh_size!r}")
        parts.append(self.width().replace(" = ", "="))
        if self.delta_relative_error != _DELTA_RELATIVE_ERROR:
            parts.append(f"delta_relative_error={self.delta_relative_error!r}")
        if self.discretization == "mean-matching":
            parts.append(f"delta_error={self.delta_error or _MEAN_MATCHING_DELTA_ERROR!r}")
        return ", ".join(parts)


_memory_limit = 2**30


@public
def get_memory_limit() -> int:
    """Return the memory limit in bytes; 2^30 (1 GiB) unless it was set.

    Returns
    -------
    int
        Bytes that the largest buffers of one query may take together.

    """
    return _memory_limit


@public
def set_memory_limit(limit: int) -> None:
    """Set how much memory one query may take, for all later queries of the process.

    Calls that compute have the argument `memory_limit`, which is this limit unless it is given. It
    does not count what is kept of each distinct mechanism, some 30 kB: of 3,000, 90 MB.

    Parameters
    ----------
    limit : int
        Bytes that the largest buffers of one query may take together, in [1, 2^63 - 1]. Queries
        that run at the same time have the limit each.

    Raises
    ------
    TypeError, ValueError
        `limit` is not an integer, or is out of its range.

    """
    global _memory_limit
    _memory_limit = _arguments.integer(limit, "limit", 1, 2**63 - 1)


def memory_limit_of(memory_limit: int | None) -> int:
    """Return the limit that a call was given, or else that of the process."""
    if memory_limit is None:
        return _memory_limit
    return _arguments.integer(memory_limit, "memory_limit", 1, 2**63 - 1)
