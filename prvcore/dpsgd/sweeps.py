"""Calls that broadcast: DP-SGD at many settings at once, on threads or on any executor."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import Any, Unpack, overload

from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments
from prvcore._arguments import FloatArray, Scalar
from prvcore._names import hinting, public
from prvcore._progress import ProgressOption
from prvcore._settings import (
    CalibrateOptions,
    ComposeOptions,
    How,
    QueryOptions,
    check_known,
)
from prvcore._targets import targets_of
from prvcore.dpsgd.samplers import Sampler, checked_sampler
from prvcore.dpsgd.sweep_results import SweepBounds, SweepCalibrations
from prvcore.dpsgd.sweeping import bounds_of, calibrations_of

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


@overload
def dpsgd_epsilon(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    steps: Scalar,
    delta: Scalar,
    *,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepOptions],
) -> SweepBounds[float]: ...
@overload
def dpsgd_epsilon(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    *,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepOptions],
) -> SweepBounds[FloatArray]: ...
@public
@partial(hinting, options=ComposeOptions)
def dpsgd_epsilon(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike,
    *,
    sampler: Sampler = "poisson",
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
    sampler : {"poisson", "fixed-size", "random-allocation", "balls-in-bins"}
        What the batches are. ``"poisson"``: each record enters each batch with the sampling
        probability (`PoissonSubsampledGaussian`). ``"fixed-size"``: batches of one size, each drawn
        anew (`SubsampledWithoutReplacement`, for ``neighbors="replace-one"`` only).
        ``"random-allocation"``: in each epoch every record is in one of the batches, drawn anew
        (`RandomAllocation`). ``"balls-in-bins"``: it is in the same one in all epochs
        (`BallsInBins`). These two are for ``neighbors="add-or-remove"``, "add" and "remove"; the
        sampling probability must be 1 over the number of batches of an epoch, and `steps` counts
        batches. With ``"random-allocation"`` the run may end within an epoch.
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
    Settings that repeat are computed once. If the sampler is ``"poisson"``, step counts within a
    factor of 2 share most of the work for their noise multiplier and probability: a grid of many
    step counts takes a fraction of the time of its settings one by one.

    Examples
    --------
    >>> import prvcore as prv
    >>> noise = [[0.8], [1.0], [1.2]]
    >>> upper = prv.dpsgd_epsilon(noise, 1e-3, [1000, 2000], delta=1e-7).upper
    >>> upper.shape
    (3, 2)

    """
    check_known("dpsgd_epsilon", options, ComposeOptions)
    settings = _dpsgd_settings(noise_multiplier, sampling_probability, steps)
    settings["delta"] = _arguments.probabilities(delta, "delta")
    return bounds_of(
        settings, checked_sampler(sampler), options, workers, executor, progress, memory_limit
    )


@overload
def dpsgd_delta(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    steps: Scalar,
    epsilon: Scalar,
    *,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepOptions],
) -> SweepBounds[float]: ...
@overload
def dpsgd_delta(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    *,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepOptions],
) -> SweepBounds[FloatArray]: ...
@public
@partial(hinting, options=ComposeOptions)
def dpsgd_delta(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike,
    *,
    sampler: Sampler = "poisson",
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
    sampler, workers, executor, progress, memory_limit, **options
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
    check_known("dpsgd_delta", options, ComposeOptions)
    settings = _dpsgd_settings(noise_multiplier, sampling_probability, steps)
    settings["epsilon"] = _arguments.extended_reals(epsilon, "epsilon")
    return bounds_of(
        settings, checked_sampler(sampler), options, workers, executor, progress, memory_limit
    )


@overload
def dpsgd_noise_multiplier(
    sampling_probability: Scalar,
    steps: Scalar,
    epsilon: Scalar | None = None,
    delta: Scalar | None = None,
    *,
    advantage: Scalar | None = None,
    power: Scalar | None = None,
    false_positive_rate: Scalar | None = None,
    bayes_risk: Scalar | None = None,
    prior: Scalar | None = None,
    mu: Scalar | None = None,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[float]: ...
@overload
def dpsgd_noise_multiplier(
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    *,
    advantage: ArrayLike | None = None,
    power: ArrayLike | None = None,
    false_positive_rate: ArrayLike | None = None,
    bayes_risk: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[FloatArray]: ...
@public
@partial(hinting, options=CalibrateOptions)
def dpsgd_noise_multiplier(
    sampling_probability: ArrayLike,
    steps: ArrayLike,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    *,
    advantage: ArrayLike | None = None,
    power: ArrayLike | None = None,
    false_positive_rate: ArrayLike | None = None,
    bayes_risk: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    sampler: Sampler = "poisson",
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
        As `dpsgd_epsilon` takes them, but with at least one step; all that is given is broadcast
        against each other.
    epsilon : float or array_like of float, optional
        Targets of the certified upper bound, nats, finite and >= 0.
    advantage, power, false_positive_rate, bayes_risk, prior, mu : float or array_like, optional
        Targets instead, as `calibrate` takes them: all of one kind.
    sampler, workers, executor, progress, memory_limit
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
    check_known("dpsgd_noise_multiplier", options, CalibrateOptions)
    settings = {
        "sampling_probability": _arguments.probabilities(
            sampling_probability, "sampling_probability"
        ),
        "steps": _arguments.integers(steps, "steps", 1, _MOST_STEPS),
        **targets_of(
            {
                "epsilon": epsilon,
                "delta": delta,
                "advantage": advantage,
                "power": power,
                "false_positive_rate": false_positive_rate,
                "bayes_risk": bayes_risk,
                "prior": prior,
                "mu": mu,
            }
        ),
    }
    return calibrations_of(
        "noise_multiplier",
        settings,
        checked_sampler(sampler),
        options,
        workers,
        executor,
        progress,
        memory_limit,
    )


@overload
def dpsgd_steps(
    noise_multiplier: Scalar,
    sampling_probability: Scalar,
    epsilon: Scalar | None = None,
    delta: Scalar | None = None,
    *,
    advantage: Scalar | None = None,
    power: Scalar | None = None,
    false_positive_rate: Scalar | None = None,
    bayes_risk: Scalar | None = None,
    prior: Scalar | None = None,
    mu: Scalar | None = None,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[float]: ...
@overload
def dpsgd_steps(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    *,
    advantage: ArrayLike | None = None,
    power: ArrayLike | None = None,
    false_positive_rate: ArrayLike | None = None,
    bayes_risk: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    sampler: Sampler = "poisson",
    **options: Unpack[SweepCalibrateOptions],
) -> SweepCalibrations[FloatArray]: ...
@public
@partial(hinting, options=CalibrateOptions)
def dpsgd_steps(
    noise_multiplier: ArrayLike,
    sampling_probability: ArrayLike,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    *,
    advantage: ArrayLike | None = None,
    power: ArrayLike | None = None,
    false_positive_rate: ArrayLike | None = None,
    bayes_risk: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    sampler: Sampler = "poisson",
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
    epsilon : float or array_like of float, optional
        Targets of the certified upper bound, nats, finite and >= 0.
    advantage, power, false_positive_rate, bayes_risk, prior, mu : float or array_like, optional
        Targets instead, as `calibrate` takes them: all of one kind.
    sampler : {"poisson", "fixed-size", "random-allocation"}
        As `dpsgd_epsilon` takes it. If each record is in one batch of an epoch, the steps are those
        of whole epochs. Of balls in bins each number of epochs is a mechanism of its own, and the
        most of them are not searched for.
    workers, executor, progress, memory_limit
        As `dpsgd_epsilon` takes them.
    **options
        The keyword arguments `tolerance`, `neighbors` and `engine` of `calibrate`.

    Returns
    -------
    SweepCalibrations
        Its values are integers: 0 where not even one step, or one epoch, meets the target.

    See Also
    --------
    dpsgd_noise_multiplier : raises the same.

    Examples
    --------
    >>> import prvcore as prv
    >>> found = prv.dpsgd_steps(0.8, 1e-3, epsilon=1.0, delta=1e-7)
    >>> found.next_value == found.value + 1
    True
    >>> prv.dpsgd_steps(0.8, 1 / 500, epsilon=2.0, delta=1e-6, sampler="random-allocation").value
    11500

    """
    check_known("dpsgd_steps", options, CalibrateOptions)
    if checked_sampler(sampler) == "balls-in-bins":
        raise ValueError(
            "sampler must be 'poisson', 'fixed-size' or 'random-allocation': of balls in bins each "
            "number of epochs is a mechanism of its own; ask dpsgd_epsilon about each"
        )
    settings = {
        "noise_multiplier": _arguments.non_negatives(noise_multiplier, "noise_multiplier"),
        "sampling_probability": _arguments.probabilities(
            sampling_probability, "sampling_probability"
        ),
        **targets_of(
            {
                "epsilon": epsilon,
                "delta": delta,
                "advantage": advantage,
                "power": power,
                "false_positive_rate": false_positive_rate,
                "bayes_risk": bayes_risk,
                "prior": prior,
                "mu": mu,
            }
        ),
    }
    return calibrations_of(
        "steps", settings, sampler, options, workers, executor, progress, memory_limit
    )


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
