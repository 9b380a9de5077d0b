"""The work of a sweep: distinct settings in parts, on threads or on any executor, put together."""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments, _parallel
from prvcore._arguments import FloatArray
from prvcore._bounds import ErrorBudget, ScalarBounds
from prvcore._calibrate import calibrate
from prvcore._compose import compose
from prvcore._core.composition import Sweep
from prvcore._curve import PrivacyCurve
from prvcore._errors import AccuracyWarning
from prvcore._outward import RoundedUp
from prvcore._progress import ProgressOption, reported, share_of
from prvcore._scaled_steps import Parameter
from prvcore._settings import CalibrateOptions, ComposeOptions, memory_limit_of
from prvcore._targets import Targets, target_of
from prvcore._warnings import warn_caller
from prvcore.dpsgd.reports import report_of
from prvcore.dpsgd.samplers import least_steps_of_sampler, steps_of_sampler
from prvcore.dpsgd.sweep_results import SweepBounds, SweepCalibrations

__all__ = ["OfSweep", "bounds_of", "calibrations_of"]

_TARGET_NAMES = frozenset(Targets.__annotations__)


class OfSweep(NamedTuple):
    """What the bounds of a sweep are bounds of; `trainings` is a sentence for each setting."""

    settings: dict[str, Any]
    sampler: str
    options: ComposeOptions
    trainings: tuple[str, ...] = ()

    def report(self, lower: Any, upper: Any, digits: int = 4) -> str:
        """Return what the bounds at each setting say, each in a line of its own."""
        columns = [np.ravel(values).tolist() for values in self.settings.values()]
        wanted = "epsilon" if "delta" in self.settings else "delta"
        lines = []
        ends = zip(np.ravel(lower).tolist(), np.ravel(upper).tolist(), strict=True)
        trainings = self.trainings or ("",) * len(columns[0])
        rows = zip(ends, trainings, *columns, strict=True)
        for (low, high), training, noise, probability, steps, point in rows:
            setting = (self.sampler, noise, probability, steps)
            lines.append(
                report_of(wanted, point, (low, high), setting, self.options, digits, training)
            )
        return "\n".join(lines)


_DEFAULTS = {"sampler": "poisson", "neighbors": "add-or-remove"}


class _Rows(NamedTuple):
    """What a task returns: one row of results for each row of settings, and what was too wide."""

    results: FloatArray
    wide: list[tuple[int, float]]


def bounds_of(
    settings: dict[str, NDArray[Any]],
    sampler: str,
    options: ComposeOptions,
    workers: int | None,
    executor: Executor | None,
    progress: ProgressOption,
    memory_limit: int | None,
) -> SweepBounds[Any]:
    """Return bounds at settings, of which the last is the point: delta or epsilon."""
    asked = compose([], **options)  # so that a bad option is refused here, and once
    task = partial(_bounds_at, tuple(settings), sampler, options, memory_limit_of(memory_limit))
    used, parts, wide = _sweep(task, settings, workers, executor, progress)
    if wide:
        told = asked._settings
        width = told.width() if "delta" in settings else told.width_of_delta()
        _warn(wide, np.size(parts[0]), width)
    lower, estimate, upper = parts
    found = SweepBounds(lower, estimate, upper, {**used, **_chosen(sampler, options)})
    return found._of(OfSweep(used, sampler, options))


def _bounds_at(
    names: tuple[str, ...],
    sampler: str,
    options: ComposeOptions,
    memory_limit: int,
    rows: FloatArray,
) -> _Rows:
    """Return bounds at each row of noise multiplier, sampling probability, steps and a point."""
    at_each = partial(_each_bounds_at, names, sampler, options, memory_limit)
    if sampler != "poisson" or names[-1] != "delta":
        return at_each(rows)
    results = np.empty((len(rows), 3))
    wide = []
    changes = np.flatnonzero((rows[1:, :2] != rows[:-1, :2]).any(axis=1)) + 1
    for first, end in pairwise([0, *changes.tolist(), len(rows)]):
        try:
            found = _epsilons_at(options, memory_limit, rows[first:end])
        except Exception:
            found = at_each(rows[first:end])  # raises the same, and says at which setting
        results[first:end] = found.results
        wide += [(first + i, width) for i, width in found.wide]
    return _Rows(results, wide)


def _epsilons_at(options: ComposeOptions, memory_limit: int, rows: FloatArray) -> _Rows:
    """Return bounds at rows that differ in steps and delta alone, to the bits of each alone."""
    results = np.empty((len(rows), 3))
    if not len(rows):
        return _Rows(results, [])
    noise, probability = rows[0, :2].tolist()
    (mechanism,), _ = steps_of_sampler("poisson", noise, probability, 1)
    settings = compose(mechanism, **options)._settings
    wide = Sweep(mechanism._build(settings.neighbors)).epsilon(
        rows[:, 2].astype(np.uint64),
        np.ascontiguousarray(rows[:, 3]),
        results,
        memory_limit=memory_limit,
        **settings.of_core(),
    )
    return _Rows(results, wide)


def _each_bounds_at(
    names: tuple[str, ...],
    sampler: str,
    options: ComposeOptions,
    memory_limit: int,
    rows: FloatArray,
) -> _Rows:
    """Return the same, of each row by a query of its own."""
    for_epsilon = names[-1] == "delta"
    results = np.empty((len(rows), 3))
    wide = []
    last, curves = None, [compose([])]
    for i, (*setting, point) in enumerate(rows.tolist()):
        noise, probability, steps = setting
        try:
            if setting != last:
                curves, last = _curves(sampler, noise, probability, int(steps), options), setting
            # one point at a time: what several share would make bits depend on the others
            answers = [
                curve._ask(
                    for_epsilon, np.array([point]), progress=False, memory_limit=memory_limit
                )
                for curve in curves
            ]
        except Exception as error:
            error.add_note(_at(dict(zip(names, (*setting, point), strict=True))))
            raise
        (_, estimate, upper), lower = answers[0][0][0], answers[-1][0][0, 0]
        results[i] = lower, max(lower, estimate), upper
        budgets = [ErrorBudget(*report) for _, (report,) in answers]
        widths = [budget.width for budget in budgets if not budget.accurate]
        if widths:
            wide.append((i, max(widths)))
    return _Rows(results, wide)


def _curves(
    sampler: str, noise: float, probability: float, steps: int, options: ComposeOptions
) -> list[PrivacyCurve]:
    """Return the curve of a setting, or if a probability of it is no float one above and below."""
    whole, lower = (
        steps_of_sampler(sampler, noise, probability, steps, from_below=from_below)
        for from_below in (False, True)
    )
    return [compose(*found, **options) for found in ([whole] if lower == whole else [whole, lower])]


def calibrations_of(
    parameter: Parameter,
    settings: dict[str, NDArray[Any]],
    sampler: str,
    options: CalibrateOptions,
    workers: int | None,
    executor: Executor | None,
    progress: ProgressOption,
    memory_limit: int | None,
) -> SweepCalibrations[Any]:
    """Return calibrations of the parameter at settings, of which some state the target."""
    task = partial(
        _calibrations_at,
        parameter,
        tuple(settings),
        sampler,
        options,
        memory_limit_of(memory_limit),
    )
    used, (value, *proof), _ = _sweep(task, settings, workers, executor, progress)
    if parameter == "steps":
        value = _scalar_or_array(np.asarray(value).astype(np.int64))
    elif isinstance(value, float):
        value = RoundedUp(value)
    lower, upper, following, next_lower, next_upper = proof
    used |= _chosen(sampler, options)
    return SweepCalibrations(value, lower, upper, following, next_lower, next_upper, used)


def _chosen(sampler: str, options: ComposeOptions | CalibrateOptions) -> dict[str, str]:
    """Return what else the numbers depend on, where it is not the default."""
    found = {"sampler": sampler, "neighbors": options.get("neighbors", _DEFAULTS["neighbors"])}
    return {name: value for name, value in found.items() if value != _DEFAULTS[name]}


def _calibrations_at(
    parameter: Parameter,
    names: tuple[str, ...],
    sampler: str,
    options: CalibrateOptions,
    memory_limit: int,
    rows: FloatArray,
) -> _Rows:
    """Return the columns of SweepCalibrations at each row of the named settings."""
    results = np.empty((len(rows), 6))
    for i, row in enumerate(rows.tolist()):
        setting = dict(zip(names, row, strict=True))
        probability = setting["sampling_probability"]
        try:
            unit = least_steps_of_sampler(sampler, probability) if parameter == "steps" else 1
            mechanisms, counts = steps_of_sampler(
                sampler,
                setting.get("noise_multiplier", 1.0),
                probability,
                int(setting.get("steps", unit)),
            )
            found = calibrate(
                mechanisms[0] if len(mechanisms) == 1 else mechanisms,
                counts[0] if len(counts) == 1 else counts,
                parameter=parameter,
                memory_limit=memory_limit,
                **{name: value for name, value in setting.items() if name in _TARGET_NAMES},
                **options,
            )
        except Exception as error:
            error.add_note(_at(setting))
            raise
        both = partial(_both_bounds, sampler, setting, found.curve, memory_limit)
        bounds, next_bounds = found.bounds, found.next_bounds
        following: tuple[Any, ...] = (np.nan, np.nan, np.nan)
        if next_bounds is not None and found.next_value is not None:
            following = (found.next_value * unit, *both(found.next_value, next_bounds))
        results[i] = (found.value * unit, *both(found.value, bounds), *following)
    return _Rows(results, [])


def _both_bounds(
    sampler: str,
    setting: dict[str, float],
    curve: PrivacyCurve,
    memory_limit: int,
    value: float,
    bounds: ScalarBounds,
) -> tuple[float, float]:
    """Return bounds of a calibration's target at a value, of which `bounds` are those of `_curves`.

    The bound that tells how much is lost at least must be that of the curve below.
    """
    if "steps" not in setting:  # which are sought, and are those of whole epochs
        return bounds.lower, bounds.upper
    options: ComposeOptions = {
        "neighbors": curve.neighbors,
        "engine": curve.engine,
        "eps_error": curve.eps_error,
        "delta_relative_error": curve.delta_relative_error,
    }
    curves = _curves(
        sampler, value, setting["sampling_probability"], int(setting["steps"]), options
    )
    if len(curves) == 1:
        return bounds.lower, bounds.upper
    target = target_of({name: setting.get(name) for name in _TARGET_NAMES})
    below = target.bounds(curves[1], memory_limit)
    if target.quantity == "bayes_risk":
        return bounds.lower, below.upper
    return below.lower, bounds.upper


def _at(setting: dict[str, float]) -> str:
    values = (
        f"{name} = {int(value) if name == 'steps' else value!r}" for name, value in setting.items()
    )
    return f"at {', '.join(values)}"


def _warn(wide: list[tuple[int, float]], settings: int, width: str) -> None:
    widest = max(width for _, width in wide)
    warn_caller(
        AccuracyWarning(
            f"at {len(wide)} of {settings} settings the bounds are up to {widest:.3g} apart in "
            f"epsilon, wider than {width}; they hold all the same. A query "
            "of one such setting says why"
        )
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
    rows, places = _distinct(rows)
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
    results = np.concatenate([done[first].results for first in sorted(done)])[places]
    columns = np.ascontiguousarray(results.T).reshape(results.shape[1], *arrays[0].shape)
    used = {name: _scalar_or_array(part) for name, part in zip(settings, arrays, strict=True)}
    return used, [_scalar_or_array(column) for column in columns], wide


def _distinct(rows: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return what np.unique does of axis 0, which takes seconds of a million rows."""
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    places = np.empty(len(rows), dtype=np.intp)
    places[order] = np.cumsum(is_new) - 1
    return rows[is_new], places


def _scalar_or_array(values: NDArray[Any]) -> Any:
    return values.item() if values.ndim == 0 else values
