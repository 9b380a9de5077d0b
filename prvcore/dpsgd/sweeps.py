"""Calls that broadcast: DP-SGD at many settings at once, on threads or on any executor."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial
from typing import Any, Generic, NamedTuple, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments, _parallel
from prvcore._arguments import FloatArray, Scalar
from prvcore._bounds import Bounds, ErrorBudget, Number
from prvcore._calibrate import Parameter, calibrate
from prvcore._compose import compose
from prvcore._errors import AccuracyWarning
from prvcore._names import public
from prvcore._outward import UP, formatted, rounded
from prvcore._plot import plot_sweep
from prvcore._progress import ProgressOption, reported, share_of
from prvcore._settings import CalibrateOptions, ComposeOptions, How, QueryOptions, memory_limit_of
from prvcore.mechanisms.subsampled import PoissonSubsampledGaussian

__all__ = [
    "SweepBounds",
    "SweepCalibrations",
    "dpsgd_delta",
    "dpsgd_epsilon",
    "dpsgd_noise_multiplier",
    "dpsgd_steps",
]

_MOST_STEPS = 2**53


class SweepHow(How, total=False):
    """Where a sweep computes, and what else is an argument of each."""

    workers: int | None
    executor: Executor | None


class SweepOptions(QueryOptions, SweepHow, total=False):
    """The keyword arguments of `dpsgd_epsilon` and `dpsgd_delta`."""


class SweepCalibrateOptions(CalibrateOptions, SweepHow, total=False):
    """The keyword arguments of `dpsgd_noise_multiplier` and `dpsgd_steps`."""


@public
class SweepBounds(Bounds[Number]):
    """Bounds at every setting of a sweep, and the settings.

    Unpacks as `Bounds` do, into lower, estimate and upper.

    Attributes
    ----------
    lower, estimate, upper : float or ndarray of float64
        As in `Bounds`.
    settings : dict of str to number or ndarray
        The values that were used, by their names, each of the shape of the bounds.

    """

    _settings: dict[str, Any]

    def __new__(
        cls, lower: Number, estimate: Number, upper: Number, settings: dict[str, Any]
    ) -> Self:
        """Return the bounds at `settings`."""
        bounds: Self = super().__new__(cls, lower, estimate, upper)  # type: ignore[type-var]
        bounds._settings = settings
        return bounds

    @property
    def settings(self) -> dict[str, Any]:
        """The values that were used, by their names, each of the shape of the bounds."""
        return self._settings

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Any:  # type: ignore[override]  # of four, not three
        """Return the bounds of lower, estimate, upper and settings."""
        return cls(*iterable)

    def _replace(self, **changes: Any) -> Any:
        """Return these bounds with other parts, or of other settings."""
        settings = changes.pop("settings", self._settings)
        return type(self)(*Bounds(*self)._replace(**changes), settings)

    __replace__ = _replace

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.settings)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: a row for each setting, its bounds in the last columns.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        return _table_of({**self.settings, **self._asdict()}, np.asarray(self.upper).shape)

    def plot(self, x: str | None = None, ax: Any = None) -> Any:
        """Draw the upper bounds, with their distance to the lower ones as a band.

        Parameters
        ----------
        x : str, optional
            The setting on the x axis; left out, the first that varies of epochs, steps, noise
            multiplier, batch size, sampling probability, data set size, accumulation steps and
            the target. Of the others that vary one has colours, one dashes, one markers.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if left out.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            matplotlib is not installed.
        ValueError
            `x` is no setting, or more settings vary than a picture shows.

        """
        return plot_sweep(self, x, ax)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, settings={self.settings!r})"


@public
class SweepCalibrations(NamedTuple, Generic[Number]):
    """The cheapest value of a parameter at every setting of a sweep, with the proof.

    Numbers where all arguments are scalars, else arrays of the common shape.

    Attributes
    ----------
    value : float, int or ndarray
        The least noise multiplier, or the most steps: `Calibration.value` at each setting.
    lower, upper : float or ndarray of float64
        Bounds of epsilon with it, nats; `upper` is at most the target.
    next_value : float or ndarray of float64
        The next cheaper value; nan where there is none.
    next_lower, next_upper : float or ndarray of float64
        Bounds of epsilon with that one, nats; `next_upper` is above the target, and where
        `next_lower` is too, no cheaper value meets it. nan where there is none.
    settings : dict of str to number or ndarray
        The values that were used, by their names, each of the same shape.

    Notes
    -----
    ``f"{found:.3f}"`` and ``round(found, 3)`` are `value`, noise rounded up, so that the
    target is met.

    """

    value: Any
    lower: Number
    upper: Number
    next_value: Any
    next_lower: Number
    next_upper: Number
    settings: dict[str, Any]

    @property
    def proven(self) -> Any:
        """Whether no cheaper value meets the target: `Calibration.proven` at each setting."""
        lower = np.asarray(self.next_lower)
        found = np.isnan(lower) | (lower > np.asarray(self.settings["epsilon"]))
        return found if found.ndim else bool(found)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame: a row for each setting, what was found in the last columns.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        found = self._asdict()
        return _table_of({**found.pop("settings"), **found}, np.shape(self.value))

    def __format__(self, specification: str) -> str:
        """Return `value` formatted as floats are, noise rounded up; of arrays, one a line."""
        if not specification:
            return str(self)
        values = np.ravel(self.value)
        if values.dtype.kind == "i":
            return "\n".join(format(value, specification) for value in values.tolist())
        return "\n".join(formatted(value, specification, UP) for value in values.tolist())

    def __round__(self, decimals: int = 0) -> Any:
        """Return `value` with so many decimals, noise rounded up, of the same shape."""
        whole = np.asarray(self.value).dtype.kind == "i"
        return self.value if whole else rounded(self.value, decimals, UP)


def _table_of(columns: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """Return a pandas DataFrame of numbers and arrays of one shape, in C order."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from error
    return pd.DataFrame(
        {name: np.ravel(np.broadcast_to(values, shape)) for name, values in columns.items()}
    )


class _Rows(NamedTuple):
    """What a task returns: one row of results for each row of settings, and what was too wide."""

    results: FloatArray
    wide: list[tuple[int, float]]


@overload
def dpsgd_epsilon(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    steps: Scalar,
    delta: Scalar,
    **options: Unpack[SweepOptions],
) -> SweepBounds[float]: ...
@overload
def dpsgd_epsilon(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    **options: Unpack[SweepOptions],
) -> SweepBounds[FloatArray]: ...
@public
def dpsgd_epsilon(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[ComposeOptions],
) -> SweepBounds[Any]:
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
    progress : bool or callable, default False
        Whether to show a bar, or what to call; see `Progress`.
    memory_limit : int, optional
        As `set_memory_limit` takes it, of each thread or process; that of this process at the time
        of the call if left out.
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
    Settings that repeat are computed once.

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
    return _bounds(settings, options, workers, executor, progress, memory_limit)


@overload
def dpsgd_delta(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    steps: Scalar,
    epsilon: Scalar,
    **options: Unpack[SweepOptions],
) -> SweepBounds[float]: ...
@overload
def dpsgd_delta(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    **options: Unpack[SweepOptions],
) -> SweepBounds[FloatArray]: ...
@public
def dpsgd_delta(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[ComposeOptions],
) -> SweepBounds[Any]:
    """Bound delta at each of many settings of DP-SGD.

    Parameters
    ----------
    noise_multiplier, sampling_probability, steps
        As `dpsgd_epsilon` takes them; all four arguments are broadcast against each other.
    epsilon : float or array_like of float
        Nats, of either sign and infinite too, but not nan.
    workers, executor, progress, memory_limit, **options
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
    return _bounds(settings, options, workers, executor, progress, memory_limit)


@overload
def dpsgd_noise_multiplier(
    sampling_probability: Scalar,
    steps: Scalar,
    epsilon: Scalar,
    delta: Scalar,
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[float]: ...
@overload
def dpsgd_noise_multiplier(
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[FloatArray]: ...
@public
def dpsgd_noise_multiplier(
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[CalibrateOptions],
) -> SweepCalibrations[Any]:
    """Find the least noise with which DP-SGD meets each of many targets.

    Parameters
    ----------
    sampling_probability, steps, delta
        As `dpsgd_epsilon` takes them, but with at least one step; all four arguments are broadcast
        against each other.
    epsilon : float or array_like of float
        Targets of the certified upper bound, nats, finite and >= 0.
    workers, executor, progress, memory_limit
        As `dpsgd_epsilon` takes them.
    **options
        The keyword arguments `tolerance`, `neighbors` and `engine` of `calibrate`.

    Returns
    -------
    SweepCalibrations
        Its values are noise multipliers.

    Raises
    ------
    TargetError
        A target cannot be met; a note says at which setting.
    TypeError, ValueError
        An argument is of another kind or out of its range, or the shapes do not broadcast.

    See Also
    --------
    calibrate : one target, any mechanisms.

    Examples
    --------
    >>> import prvcore as prv
    >>> found = prv.dpsgd_noise_multiplier(1e-3, 1000, epsilon=[1.0, 2.0], delta=1e-7)
    >>> bool((found.upper <= [1.0, 2.0]).all())
    True

    """
    settings = {
        "sampling_probability": _arguments.probabilities(
            sampling_probability, "sampling_probability"
        ),
        "steps": _arguments.integers(steps, "steps", 1, _MOST_STEPS),
        "epsilon": _arguments.non_negatives(epsilon, "epsilon"),
        "delta": _arguments.probabilities(delta, "delta"),
    }
    return _calibrations(
        "noise_multiplier", settings, options, workers, executor, progress, memory_limit
    )


@overload
def dpsgd_steps(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    epsilon: Scalar,
    delta: Scalar,
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[float]: ...
@overload
def dpsgd_steps(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[FloatArray]: ...
@public
def dpsgd_steps(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[CalibrateOptions],
) -> SweepCalibrations[Any]:
    """Find the most steps of DP-SGD that meet each of many targets.

    Parameters
    ----------
    noise_multiplier, sampling_probability, delta
        As `dpsgd_epsilon` takes them; all four arguments are broadcast against each other.
    epsilon : float or array_like of float
        Targets of the certified upper bound, nats, finite and >= 0.
    workers, executor, progress, memory_limit
        As `dpsgd_epsilon` takes them.
    **options
        The keyword arguments `tolerance`, `neighbors` and `engine` of `calibrate`.

    Returns
    -------
    SweepCalibrations
        Its values are integers: 0 where not even one step meets the target.

    See Also
    --------
    dpsgd_noise_multiplier : raises the same.

    Examples
    --------
    >>> import prvcore as prv
    >>> found = prv.dpsgd_steps(0.8, 1e-3, epsilon=1.0, delta=1e-7)
    >>> found.next_value == found.value + 1
    True

    """
    settings = {
        "noise_multiplier": _arguments.non_negatives(noise_multiplier, "noise_multiplier"),
        "sampling_probability": _arguments.probabilities(
            sampling_probability, "sampling_probability"
        ),
        "epsilon": _arguments.non_negatives(epsilon, "epsilon"),
        "delta": _arguments.probabilities(delta, "delta"),
    }
    return _calibrations("steps", settings, options, workers, executor, progress, memory_limit)


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
    options: ComposeOptions,
    workers: int | None,
    executor: Executor | None,
    progress: ProgressOption,
    memory_limit: int | None,
) -> SweepBounds[Any]:
    asked = compose([], **options)  # so that a bad option is refused here, and once
    task = partial(_bounds_at, tuple(settings), options, memory_limit_of(memory_limit))
    used, parts, wide = _sweep(task, settings, workers, executor, progress)
    if wide:
        told = asked._settings
        width = told.width() if "delta" in settings else told.width_of_delta()
        _warn(wide, np.size(parts[0]), width)
    lower, estimate, upper = parts
    return SweepBounds(lower, estimate, upper, used)


def _bounds_at(
    names: tuple[str, ...], options: ComposeOptions, memory_limit: int, rows: FloatArray
) -> _Rows:
    """Return bounds at each row of noise multiplier, sampling probability, steps and a point."""
    for_epsilon = names[-1] == "delta"
    results = np.empty((len(rows), 3))
    wide = []
    last, curve = None, compose([])
    for i, (*setting, point) in enumerate(rows.tolist()):
        noise, probability, steps = setting
        try:
            if setting != last:
                mechanism = PoissonSubsampledGaussian(noise, probability)
                curve, last = compose(mechanism, int(steps), **options), setting
            # one point at a time: what several share would make bits depend on the others
            results[i], (report,) = curve._ask(
                for_epsilon, np.array([point]), progress=False, memory_limit=memory_limit
            )
        except Exception as error:
            error.add_note(_at(dict(zip(names, (*setting, point), strict=True))))
            raise
        budget = ErrorBudget(*report)
        if not budget.accurate:
            wide.append((i, budget.width))
    return _Rows(results, wide)


def _calibrations(
    parameter: Parameter,
    settings: dict[str, NDArray[Any]],
    options: CalibrateOptions,
    workers: int | None,
    executor: Executor | None,
    progress: ProgressOption,
    memory_limit: int | None,
) -> SweepCalibrations[Any]:
    task = partial(
        _calibrations_at, parameter, tuple(settings), options, memory_limit_of(memory_limit)
    )
    used, (value, *proof), _ = _sweep(task, settings, workers, executor, progress)
    if parameter == "steps":
        value = _scalar_or_array(np.asarray(value).astype(np.int64))
    lower, upper, following, next_lower, next_upper = proof
    return SweepCalibrations(value, lower, upper, following, next_lower, next_upper, used)


def _calibrations_at(
    parameter: Parameter,
    names: tuple[str, ...],
    options: CalibrateOptions,
    memory_limit: int,
    rows: FloatArray,
) -> _Rows:
    """Return the columns of SweepCalibrations at each row of the named settings."""
    results = np.empty((len(rows), 6))
    for i, row in enumerate(rows.tolist()):
        setting = dict(zip(names, row, strict=True))
        try:
            found = calibrate(
                PoissonSubsampledGaussian(
                    setting.get("noise_multiplier", 1.0), setting["sampling_probability"]
                ),
                int(setting.get("steps", 1)),
                epsilon=setting["epsilon"],
                delta=setting["delta"],
                parameter=parameter,
                memory_limit=memory_limit,
                **options,
            )
        except Exception as error:
            error.add_note(_at(setting))
            raise
        following: tuple[Any, ...] = (np.nan, np.nan, np.nan)
        if found.next_bounds is not None:
            following = (found.next_value, found.next_bounds.lower, found.next_bounds.upper)
        results[i] = (found.value, found.bounds.lower, found.bounds.upper, *following)
    return _Rows(results, [])


def _at(setting: dict[str, float]) -> str:
    values = (
        f"{name} = {int(value) if name == 'steps' else value!r}" for name, value in setting.items()
    )
    return f"at {', '.join(values)}"


def _warn(wide: list[tuple[int, float]], settings: int, width: str) -> None:
    widest = max(width for _, width in wide)
    warnings.warn(
        f"at {len(wide)} of {settings} settings the bounds are up to {widest:.3g} apart in "
        f"epsilon, wider than {width}; they hold all the same. A query "
        "of one such setting says why",
        AccuracyWarning,
        stacklevel=4,
    )


def _sweep(
    task: Callable[[FloatArray], _Rows],
    settings: dict[str, NDArray[Any]],
    workers: int | None,
    executor: Executor | None,
    progress: ProgressOption,
) -> tuple[dict[str, Any], list[Any], list[tuple[int, float]]]:
    """Return the settings in their common shape, each column of results, and what was too wide.

    `task` is given some rows of distinct settings, sorted, and returns as many rows of results.
    """
    workers = _parallel.checked_workers(workers, executor)
    arrays = _arguments.broadcast(**settings)
    # integers up to 2^53 are floats
    rows = np.stack([array.reshape(-1).astype(np.float64) for array in arrays], axis=1)
    rows, places = np.unique(rows, axis=0, return_inverse=True)
    with reported(progress, "setting") as tell:
        finished = 0

        def advance(settings: int) -> None:
            nonlocal finished
            finished += settings
            if tell is not None:
                tell(share_of(finished, len(rows)))

        done = dict(_parallel.run(task, rows, workers, executor, advance))
    wide = [(first + i, width) for first in done for i, width in done[first].wide]
    if not done:  # how many columns there are, is not known without a row
        done[0] = task(rows)
    results = np.concatenate([done[first].results for first in sorted(done)])[places.reshape(-1)]
    columns = np.ascontiguousarray(results.T).reshape(results.shape[1], *arrays[0].shape)
    used = {name: _scalar_or_array(part) for name, part in zip(settings, arrays, strict=True)}
    return used, [_scalar_or_array(column) for column in columns], wide


def _scalar_or_array(values: NDArray[Any]) -> Any:
    return values.item() if values.ndim == 0 else values
