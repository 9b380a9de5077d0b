"""Calls that broadcast: DP-SGD at many settings at once, on threads or on any executor."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments
from prvcore.accounting import Bounds, ErrorBudget, PrivacyCurve, compose, get_memory_limit
from prvcore.errors import AccuracyWarning
from prvcore.mechanisms import PoissonSubsampledGaussian

__all__ = ["SweepBounds", "dpsgd_delta", "dpsgd_epsilon"]

_FloatArray = NDArray[np.float64]

# A task of a thread pool costs some 0.05 ms and a setting some 0.5 ms; small tasks balance the
# load and are soon over where the sweep is stopped. A task of a cluster costs milliseconds.
_SETTINGS_OF_A_THREAD = 8
_TASKS_OF_AN_EXECUTOR = 128
_MOST_SETTINGS_OF_A_TASK = 128


class SweepBounds(Bounds):
    """Bounds at every setting of a sweep, and the settings.

    Unpacks as `Bounds` do, into lower, estimate and upper.

    Attributes
    ----------
    lower, estimate, upper : float or ndarray of float64
        As in `Bounds`.
    settings : dict of str to number or ndarray
        The values that were used, by their names, each of the shape of the bounds.

    """

    settings: dict[str, Any]

    def __new__(cls, lower: Any, estimate: Any, upper: Any, settings: dict[str, Any]) -> Any:
        """Return the bounds at `settings`."""
        bounds = super().__new__(cls, lower, estimate, upper)
        bounds.settings = settings
        return bounds

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.settings)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, settings={self.settings!r})"


class _Rows(NamedTuple):
    """What a task returns: one row of results for each row of settings, and what was too wide."""

    results: _FloatArray
    wide: list[tuple[int, float]]


def dpsgd_epsilon(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **options: Any,
) -> SweepBounds:
    """Bound epsilon at each of many settings of DP-SGD.

    The four arguments are broadcast against each other.

    Parameters
    ----------
    noise_multiplier : float or array_like of float
        Standard deviation of the noise over the clipping norm, finite and >= 0.
    sampling_probability : float or array_like of float
        Probability in [0, 1] with which each record enters a batch.
    steps : int or array_like of int
        Number of batches, in [0, 2^53].
    delta : float or array_like of float
        Probabilities in [0, 1].
    workers : int, optional
        How many threads compute, >= 1; as many as this process may use cores if left out. Not with
        an executor.
    executor : concurrent.futures.Executor, optional
        Where to compute instead: a process pool, or that of a cluster, such as Dask's
        ``client.get_executor()``, whose workers have prvcore installed. It is not shut down.
    progress : bool, default False
        Whether to show a progress bar, which needs tqdm.
    **options
        The keyword arguments of `compose`.

    Returns
    -------
    SweepBounds
        Nats: floats where all arguments are scalars, else arrays of the common shape. Each number
        has the bits that `PrivacyCurve.epsilon` gives for its setting alone, whatever computes it.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, or the shapes do not broadcast; what a
        query raises, with a note that says at which setting.
    ImportError
        A progress bar is asked for without tqdm.

    Warns
    -----
    AccuracyWarning
        Some bounds hold but are wider than asked; once for the sweep.

    Notes
    -----
    Settings that repeat are computed once. The memory limit is that of this process at the time of
    the call, and holds for each thread or process.

    Examples
    --------
    >>> import prvcore as prv
    >>> noise = [[0.8], [1.0], [1.2]]
    >>> upper = prv.dpsgd_epsilon(noise, 1e-3, [1000, 2000], delta=1e-7).upper
    >>> upper.shape
    (3, 2)

    """
    settings = _dpsgd_settings(noise_multiplier, sampling_probability, steps)
    settings["delta"] = _arguments.probabilities(delta, "delta")
    return _bounds(settings, options, workers, executor, progress)


def dpsgd_delta(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **options: Any,
) -> SweepBounds:
    """Bound delta at each of many settings of DP-SGD.

    Parameters
    ----------
    noise_multiplier, sampling_probability, steps
        As `dpsgd_epsilon` takes them; all four arguments are broadcast against each other.
    epsilon : float or array_like of float
        Nats, of either sign and infinite too, but not nan.
    workers, executor, progress, **options
        As `dpsgd_epsilon` takes them.

    Returns
    -------
    SweepBounds
        Probabilities: floats where all arguments are scalars, else arrays of the common shape.

    See Also
    --------
    dpsgd_epsilon : raises and warns of the same.

    Examples
    --------
    >>> import prvcore as prv
    >>> prv.dpsgd_delta(0.8, 1e-3, [1000, 2000], epsilon=1.0).upper.shape
    (2,)

    """
    settings = _dpsgd_settings(noise_multiplier, sampling_probability, steps)
    settings["epsilon"] = _arguments.extended_reals(epsilon, "epsilon")
    return _bounds(settings, options, workers, executor, progress)


def _dpsgd_settings(
    noise_multiplier: ArrayLike, sampling_probability: ArrayLike, steps: ArrayLike
) -> dict[str, NDArray[Any]]:
    return {
        "noise_multiplier": _arguments.non_negatives(noise_multiplier, "noise_multiplier"),
        "sampling_probability": _arguments.probabilities(
            sampling_probability, "sampling_probability"
        ),
        "steps": _arguments.counts(steps, "steps"),
    }


def _bounds(
    settings: dict[str, NDArray[Any]],
    options: dict[str, Any],
    workers: int | None,
    executor: Executor | None,
    progress: bool,
) -> SweepBounds:
    wanted = "epsilon" if "delta" in settings else "delta"
    asked = compose([], **options)  # so that a bad option is refused here, and once
    task = partial(_bounds_at, wanted, options, get_memory_limit())
    settings, results, wide = _sweep(task, settings, workers, executor, progress)
    if wide:
        _warn(wide, results.shape[0], asked)
    shape = settings["steps"].shape
    parts = (_scalar_or_array(part.reshape(shape)) for part in np.ascontiguousarray(results.T))
    return SweepBounds(*parts, {name: _scalar_or_array(part) for name, part in settings.items()})


def _bounds_at(wanted: str, options: dict[str, Any], memory_limit: int, rows: _FloatArray) -> _Rows:
    """Return bounds at sorted rows (noise multiplier, sampling probability, steps, point)."""
    results = np.empty((len(rows), 3))
    wide = []
    last = curve = None
    for i, (*setting, point) in enumerate(rows.tolist()):
        noise, probability, steps = setting
        try:
            if setting != last:
                mechanism = PoissonSubsampledGaussian(noise, probability)
                curve, last = compose(mechanism, int(steps), **options), setting
            # one point at a time: what several share would make bits depend on the others
            results[i], (report,) = curve._ask(wanted == "epsilon", np.array([point]), memory_limit)
        except Exception as error:
            error.add_note(
                f"at noise_multiplier = {noise!r}, sampling_probability = {probability!r}, "
                f"steps = {int(steps)}, {'delta' if wanted == 'epsilon' else 'epsilon'} = {point!r}"
            )
            raise
        budget = ErrorBudget(*report)
        if not budget.accurate:
            wide.append((i, budget.width))
    return _Rows(results, wide)


def _warn(wide: list[tuple[int, float]], settings: int, asked: PrivacyCurve) -> None:
    warnings.warn(
        f"at {len(wide)} of {settings} settings the bounds are up to "
        f"{max(width for _, width in wide):.3g} apart in epsilon, wider than {asked._width()}; "
        "they hold all the same. A query of one such setting says why",
        AccuracyWarning,
        stacklevel=4,
    )


def _sweep(
    task: Callable[[_FloatArray], _Rows],
    settings: dict[str, NDArray[Any]],
    workers: int | None,
    executor: Executor | None,
    progress: bool,
) -> tuple[dict[str, NDArray[Any]], _FloatArray, list[tuple[int, float]]]:
    """Return the broadcast settings, a row of results for each, and what was too wide.

    `task` is given some rows of distinct settings, sorted, and returns as many rows of results.
    """
    if workers is None:
        workers = _cores()
    elif executor is not None:
        raise TypeError(f"workers must be None where executor is given, got {workers!r}")
    else:
        workers = _arguments.integer(workers, "workers", 1, 2**15)
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    bar = _progress_bar(progress)
    arrays = _arguments.broadcast(**settings)
    # integers up to 2^53 are floats
    rows = np.stack([array.reshape(-1).astype(np.float64) for array in arrays], axis=1)
    rows, places = np.unique(rows, axis=0, return_inverse=True)
    with bar(len(rows)) as advance:
        done = dict(_run(task, rows, workers, executor, advance))
    results = np.concatenate([done[first].results for first in sorted(done)] or [np.empty((0, 3))])
    wide = [(first + i, width) for first in done for i, width in done[first].wide]
    return dict(zip(settings, arrays, strict=True)), results[places.reshape(-1)], wide


def _run(
    task: Callable[[_FloatArray], _Rows],
    rows: _FloatArray,
    workers: int,
    executor: Executor | None,
    advance: Callable[[int], Any],
) -> Iterator[tuple[int, _Rows]]:
    """Yield the first row of each task and what it returned, in any order."""
    if executor is None:
        size = min(_SETTINGS_OF_A_THREAD, -(-len(rows) // workers))
    else:
        size = min(_MOST_SETTINGS_OF_A_TASK, -(-len(rows) // _TASKS_OF_AN_EXECUTOR))
    pieces = ((first, rows[first : first + size]) for first in range(0, len(rows), max(1, size)))
    if executor is not None:
        yield from _submit(executor, task, pieces, advance)
    elif min(workers, len(rows)) < 2:  # in this thread, which alone Ctrl-C reaches in a query
        for first, piece in pieces:
            yield first, task(piece)
            advance(len(piece))
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="prvcore-sweep") as pool:
            yield from _submit(pool, task, pieces, advance)


def _submit(
    executor: Executor,
    task: Callable[[_FloatArray], _Rows],
    pieces: Iterable[tuple[int, _FloatArray]],
    advance: Callable[[int], Any],
) -> Iterator[tuple[int, _Rows]]:
    futures = {executor.submit(task, piece): (first, len(piece)) for first, piece in pieces}
    try:
        for future in as_completed(futures):
            first, length = futures[future]
            yield first, future.result()
            advance(length)
    finally:
        for future in futures:
            future.cancel()


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _progress_bar(progress: bool) -> Callable[[int], Any]:
    """Return a context manager of the number of settings, which gives what advances the bar."""
    if not progress:
        return lambda _: nullcontext(lambda _: None)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs tqdm: pip install 'prvcore[sweeps]', or pip install tqdm"
        ) from None

    @contextmanager
    def bar(total: int) -> Iterator[Callable[[int], Any]]:
        with tqdm(total=total, unit="setting") as shown:
            yield shown.update

    return bar


def _scalar_or_array(values: NDArray[Any]) -> Any:
    return values.item() if values.ndim == 0 else values
