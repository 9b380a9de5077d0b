from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore._bounds import Bounds
from prvcore.mechanisms import Mechanism

__all__ = [
    "Cells",
    "Composed",
    "Convolution",
    "ErrorTerms",
    "Lattice",
    "Mesh",
    "Plan",
    "Rounding",
    "Spectrum",
    "Window",
    "cells",
    "convolve",
    "dominated",
    "dominating",
    "mean_matched",
    "plan",
    "sum_spectrum",
]

class Rounding(NamedTuple):
    relative: float
    shift: float

class ErrorTerms(NamedTuple):
    outside: float
    transforms: float
    relative: float
    shift: float
    absolute: float

@final
class Cells:
    @property
    def knots(self) -> NDArray[np.float64]: ...
    @property
    def mass(self) -> NDArray[np.float64]: ...
    @property
    def relative(self) -> NDArray[np.float64]: ...
    @property
    def infinite_mass(self) -> float: ...
    @property
    def infinite_error(self) -> float: ...
    @property
    def absolute_error(self) -> float: ...
    @property
    def rounding(self) -> Rounding: ...

@final
class Mesh:
    def __init__(
        self,
        index: ArrayLike,
        spacing: float | None = None,
        *,
        offset: float = 0.0,
        positions: ArrayLike | None = None,
        on_knots: bool = False,
        tilt: float = 0.0,
        step: float | None = None,
    ) -> None: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def positions(self) -> NDArray[np.int64]: ...
    @property
    def losses(self) -> NDArray[np.float64]: ...
    @property
    def spacing(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def offset(self) -> float: ...

@final
class Lattice:
    def __init__(
        self,
        index: ArrayLike,
        mass: ArrayLike,
        spacing: float | None = None,
        *,
        offset: float = 0.0,
        infinite_mass: float = 0.0,
        step: float | None = None,
    ) -> None: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def loss(self) -> NDArray[np.float64]: ...
    @property
    def mass(self) -> NDArray[np.float64]: ...
    @property
    def spacing(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def offset(self) -> float: ...
    @property
    def infinite_mass(self) -> float: ...
    @property
    def infinite_error(self) -> float: ...
    @property
    def rounding(self) -> Rounding: ...
    @property
    def absolute_error(self) -> float: ...

@final
class Window:
    def __init__(
        self,
        *,
        lowest: float = 0.0,
        length: int = 1,
        shift_down: float = 0.0,
        shift_up: float = 0.0,
        precise: bool = False,
        low_epsilon: float = 0.0,
        high_epsilon: float = 0.0,
        tolerance: float = 1e-20,
    ) -> None: ...
    @property
    def lowest(self) -> float: ...
    @property
    def length(self) -> int: ...
    @property
    def shift_down(self) -> float: ...
    @property
    def shift_up(self) -> float: ...
    @property
    def precise(self) -> bool: ...
    @property
    def low_epsilon(self) -> float: ...
    @property
    def high_epsilon(self) -> float: ...
    @property
    def tolerance(self) -> float: ...

class Composed:
    @property
    def tilt(self) -> float: ...
    @property
    def log_moment(self) -> float: ...
    @property
    def infinite_mass(self) -> Bounds[float]: ...
    @property
    def errors(self) -> ErrorTerms: ...
    def delta(self, epsilon: ArrayLike) -> Bounds[Any]: ...
    def epsilon(self, delta: ArrayLike, *, guess: float = 0.0) -> Bounds[Any]: ...

@final
class Convolution(Composed):
    @property
    def loss(self) -> NDArray[np.float64]: ...
    @property
    def mass(self) -> NDArray[np.float64]: ...
    @property
    def transforms(self) -> int: ...

@final
class Spectrum(Composed):
    @property
    def frequencies(self) -> int: ...
    @property
    def period(self) -> float: ...

@final
class Plan:
    @property
    def meshes(self) -> tuple[Mesh, ...]: ...
    @property
    def knots(self) -> tuple[NDArray[np.float64], ...]: ...
    @property
    def window(self) -> Window: ...
    @property
    def tilt(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def saddle(self) -> float: ...

def cells(
    mechanism: Mechanism,
    knots: ArrayLike,
    *,
    direction: Literal["remove", "add"] = "remove",
    side: Literal["dominating", "dominated"] = "dominating",
    memory_limit: int | None = None,
) -> Cells: ...
def dominating(cells: Cells, mesh: Mesh, *, memory_limit: int | None = None) -> Lattice: ...
def dominated(cells: Cells, mesh: Mesh, *, memory_limit: int | None = None) -> Lattice: ...
def mean_matched(
    mechanism: Mechanism,
    spacing: float | None = None,
    half_length: int | None = None,
    *,
    direction: Literal["remove", "add"] = "remove",
    memory_limit: int | None = None,
    step: float | None = None,
) -> Lattice: ...
def convolve(
    lattices: Lattice | Sequence[Lattice],
    counts: int | Sequence[int],
    window: Window,
    *,
    tilt: float = 0.0,
    transforms: bool = True,
    memory_limit: int | None = None,
) -> Convolution: ...
def sum_spectrum(
    lattices: Lattice | Sequence[Lattice],
    counts: int | Sequence[int],
    window: Window,
    *,
    tilt: float,
    most_work: float = 1e9,
    memory_limit: int | None = None,
) -> Spectrum: ...
def plan(
    mechanisms: Mechanism | Iterable[Mechanism | tuple[Mechanism, int]],
    counts: int | Sequence[int] | None = None,
    *,
    delta: float,
    tilt: float,
    mesh_size: float,
    eps_error: float,
    direction: Literal["remove", "add"] = "remove",
    engine: Literal["convolution", "spectrum"] = "convolution",
    exact_mesh: bool = False,
    memory_limit: int | None = None,
) -> Plan: ...
