from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from prvcore._core.mechanism import Handle

_Progress: TypeAlias = Callable[[tuple[int, int, int, int, float, float, float]], object]
_Bounds: TypeAlias = tuple[float, float, float]
_Report: TypeAlias = tuple[Any, ...]  # the fields of an ErrorBudget

def default_options() -> dict[str, float]: ...

@final
class History: ...

@final
class Stop:
    def ask(self) -> None: ...
    def end_this_thread(self) -> None: ...

@final
class Sweep:
    def __init__(self, handle: Handle) -> None: ...
    def epsilon(
        self,
        counts: NDArray[np.uint64],
        deltas: NDArray[np.float64],
        bounds: NDArray[np.float64],
        *,
        discretization: str,
        neighbors: str,
        engine: str,
        eps_error: float,
        eps_relative_error: float,
        eps_floor: float,
        delta_error: float,
        delta_relative_error: float,
        mesh_size: float,
        memory_limit: int,
    ) -> list[tuple[int, float]]: ...

@final
class Composition:
    def __init__(self, handles: tuple[Handle, ...], counts: tuple[int, ...]) -> None: ...
    def attained(self, neighbors: str) -> bool: ...
    def query(
        self,
        for_epsilon: bool,
        points: NDArray[np.float64],
        bounds: NDArray[np.float64],
        *,
        discretization: str,
        neighbors: str,
        engine: str,
        eps_error: float,
        eps_relative_error: float,
        eps_floor: float,
        delta_error: float,
        delta_relative_error: float,
        mesh_size: float,
        memory_limit: int,
        progress: _Progress | None = None,
        history: History | None = None,
        threshold: float = 0.0,
    ) -> list[_Report]: ...
    def witness(
        self,
        of_epsilon: bool,
        value: float,
        see: Callable[[dict[str, Any]], object],
        *,
        discretization: str,
        neighbors: str,
        engine: str,
        eps_error: float,
        eps_relative_error: float,
        eps_floor: float,
        delta_error: float,
        delta_relative_error: float,
        mesh_size: float,
        memory_limit: int,
        progress: _Progress | None = None,
    ) -> _Bounds: ...
    def bound(
        self,
        quantity: str,
        points: NDArray[np.float64],
        bounds: NDArray[np.float64],
        *,
        discretization: str,
        neighbors: str,
        engine: str,
        eps_error: float,
        eps_relative_error: float,
        eps_floor: float,
        delta_error: float,
        delta_relative_error: float,
        mesh_size: float,
        memory_limit: int,
        progress: _Progress | None = None,
    ) -> list[_Report]: ...
    def calibrate(
        self,
        parameter: str,
        fixed_count: int,
        *,
        quantity: str,
        at: float,
        target: float,
        tolerance: float,
        neighbors: str,
        engine: str,
        memory_limit: int,
        all_changed: bool,
        progress: _Progress | None = None,
    ) -> tuple[float, float, _Bounds, float, float, _Bounds, bool, int, int]: ...
    def steps_left(
        self,
        handle: Handle,
        *,
        epsilon: float,
        delta: float,
        tolerance: float,
        neighbors: str,
        engine: str,
        memory_limit: int,
        progress: _Progress | None = None,
    ) -> int | None: ...
