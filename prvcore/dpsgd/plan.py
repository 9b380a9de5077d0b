"""From the terms of training (epochs, batches) to those of accounting (probability, steps)."""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments
from prvcore._names import hinting, known_elsewhere, public
from prvcore.dpsgd.reports import trainings_in_words
from prvcore.dpsgd.samplers import Sampler, checked_sampler, unshuffled
from prvcore.dpsgd.sweep_results import SweepBounds, SweepCalibrations
from prvcore.dpsgd.sweeping import OfSweep
from prvcore.dpsgd.sweeps import (
    SweepCalibrateOptions,
    SweepOptions,
    dpsgd_delta,
    dpsgd_epsilon,
    dpsgd_noise_multiplier,
)

__all__ = ["TrainingSchedule", "dpsgd_schedule"]

# Names in quotes are what `help` shows: what they stand for is a thousand characters.
_Swept = TypeVar("_Swept", SweepBounds[Any], SweepCalibrations[Any])
Rounding: TypeAlias = Literal["up-each-epoch", "up", "down"]
Loader: TypeAlias = Literal["poisson", "opacus"]
_MOST = 2**53
_ALLOCATIONS = ("random-allocation", "balls-in-bins")


@public
@known_elsewhere
class TrainingSchedule(NamedTuple):
    """How often DP-SGD samples, and with which probability.

    Made by `dpsgd_schedule`. Numbers, or arrays of one shape.

    Attributes
    ----------
    sampling_probability : float or ndarray of float64
        With which each record enters each batch: ``batch_size * accumulation_steps /
        dataset_size``, rounded to the nearest float; that of Opacus's loader is 1 over the batches
        of an epoch, and so is that of allocations.
    steps : int or ndarray of int64
        How often the parameters are updated.
    dataset_size, batch_size, accumulation_steps, epochs, rounding, loader, drop_last, sampler
        As given to `dpsgd_schedule`.

    """

    sampling_probability: float | NDArray[np.float64]
    steps: int | NDArray[np.int64]
    dataset_size: int | NDArray[np.int64]
    batch_size: int | NDArray[np.int64]
    accumulation_steps: int | NDArray[np.int64]
    epochs: float | NDArray[np.float64]
    rounding: Rounding
    loader: Loader = "poisson"
    drop_last: bool = False
    sampler: Sampler = "poisson"

    @partial(hinting, options=SweepOptions)
    def epsilon(
        self, noise_multiplier: "ArrayLike", delta: "ArrayLike", **options: Unpack[SweepOptions]
    ) -> SweepBounds[Any]:
        """Bound the epsilon of the training.

        Parameters
        ----------
        noise_multiplier, delta : float or array_like of float
            As `dpsgd_epsilon` takes them; broadcast against this plan.
        **options
            The keyword arguments of `dpsgd_epsilon` but `sampler`, which the plan has.

        Returns
        -------
        SweepBounds
            Nats. Its settings are those of `dpsgd_epsilon` and all of this plan.

        See Also
        --------
        dpsgd_epsilon : raises and warns of the same.

        """
        _refuse_own(options)
        return self._told(
            dpsgd_epsilon(
                noise_multiplier,
                self.sampling_probability,
                self.steps,
                delta,
                sampler=self.sampler,
                **options,
            )
        )

    @partial(hinting, options=SweepOptions)
    def delta(
        self, noise_multiplier: "ArrayLike", epsilon: "ArrayLike", **options: Unpack[SweepOptions]
    ) -> SweepBounds[Any]:
        """Bound the delta of the training.

        Parameters
        ----------
        noise_multiplier, epsilon : float or array_like of float
            As `dpsgd_delta` takes them; broadcast against this plan.
        **options
            The keyword arguments of `dpsgd_delta` but `sampler`, which the plan has.

        Returns
        -------
        SweepBounds
            Probabilities. Its settings are those of `dpsgd_delta` and all of this plan.

        See Also
        --------
        dpsgd_epsilon : raises and warns of the same.

        """
        _refuse_own(options)
        return self._told(
            dpsgd_delta(
                noise_multiplier,
                self.sampling_probability,
                self.steps,
                epsilon,
                sampler=self.sampler,
                **options,
            )
        )

    @partial(hinting, options=SweepCalibrateOptions)
    def noise_multiplier(
        self, epsilon: "ArrayLike", delta: "ArrayLike", **options: Unpack[SweepCalibrateOptions]
    ) -> SweepCalibrations[Any]:
        """Find the least noise with which the training meets a target.

        Parameters
        ----------
        epsilon, delta : float or array_like of float
            As `dpsgd_noise_multiplier` takes them; broadcast against this plan.
        **options
            The keyword arguments of `dpsgd_noise_multiplier` but `sampler`, which the plan has.

        Returns
        -------
        SweepCalibrations
            Its values are noise multipliers. Its settings are those of `dpsgd_noise_multiplier` and
            all of this plan.

        See Also
        --------
        dpsgd_noise_multiplier : raises the same.

        """
        _refuse_own(options)
        return self._told(
            dpsgd_noise_multiplier(
                self.sampling_probability,
                self.steps,
                epsilon,
                delta,
                sampler=self.sampler,
                **options,
            )
        )

    @partial(hinting, options=SweepOptions)
    def report(
        self,
        noise_multiplier: float,
        delta: float,
        *,
        digits: int = 4,
        **options: Unpack[SweepOptions],
    ) -> str:
        """Return the sentences for a paper or a data sheet: `epsilon` and `Bounds.report` in one.

        Parameters
        ----------
        noise_multiplier, delta : float
            As in `epsilon`.
        digits : int, default 4
            How many significant digits the bounds have, in [1, 17].
        **options
            The keyword arguments of `dpsgd_epsilon` but `sampler`, which the plan has.

        Returns
        -------
        str
            The bounds, rounded outwards, the neighbours, the mechanism in words, the data set, the
            batches, the epochs, and the version. If there are several settings, a line for each.

        See Also
        --------
        Bounds.report : the same of bounds, also of a delta.

        Examples
        --------
        >>> import prvcore as prv
        >>> plan = prv.dpsgd_schedule(dataset_size=60_000, batch_size=256, epochs=15)
        >>> print(plan.report(noise_multiplier=1.1, delta=1e-5))  # doctest: +ELLIPSIS
        At delta = 1e-05, epsilon is at most 1.136 ... 60,000 records, 15 epochs, batches of 256 ...

        """
        return self.epsilon(noise_multiplier, delta, **options).report(digits)

    def _told(self, bounds: _Swept) -> _Swept:
        """Return what a sweep returned with the rest of this plan among its settings."""
        settings = dict(bounds.settings)
        shape = np.shape(settings["steps"])
        for name in ("dataset_size", "batch_size", "accumulation_steps", "epochs"):
            value = getattr(self, name)
            settings[name] = np.broadcast_to(value, shape) if shape else value
        for name in ("rounding", "loader", "drop_last", "sampler"):
            settings[name] = getattr(self, name)
        told: _Swept = bounds._replace(settings=settings)
        if isinstance(told, SweepBounds) and isinstance(told._origin, OfSweep):
            words = tuple(trainings_in_words(settings, shape))
            told._of(told._origin._replace(trainings=words))
        return told


def _refuse_own(options: Mapping[str, object]) -> None:
    """Refuse what the plan knows already, of the arguments of the functions that it calls."""
    for name in ("sampler", "sampling_probability", "steps"):
        if name in options:
            found = _arguments.short(options[name])
            raise TypeError(f"{name} must be left out: dpsgd_schedule has set it, got {found}")


@public
@hinting
def dpsgd_schedule(
    dataset_size: "ArrayLike",
    batch_size: "ArrayLike",
    epochs: "ArrayLike",
    *,
    accumulation_steps: "ArrayLike" = 1,
    rounding: Rounding = "up-each-epoch",
    loader: Loader = "poisson",
    drop_last: bool = False,
    sampler: Sampler = "poisson",
) -> TrainingSchedule:
    """Return sampling probability and steps of a training of so many epochs.

    All numbers are broadcast against each other.

    Parameters
    ----------
    dataset_size : int or array_like of int
        Number of records, in [1, 2^53].
    batch_size : int or array_like of int
        Expected number of records in a (physical) batch, >= 1.
    epochs : float or array_like of float
        How often the data set is gone through, finite and >= 0; need not be whole.
    accumulation_steps : int or array_like of int, default 1
        How many batches make one update of the parameters, >= 1. Together they hold at most
        `dataset_size` records.
    rounding : {"up-each-epoch", "up", "down"}
        An epoch has ``dataset_size / (batch_size * accumulation_steps)`` steps, seldom a whole
        number. ``"up-each-epoch"``: rounded up in each, as a loop over the batches does that
        keeps the last, smaller one; part of an epoch has that part of its steps, rounded up.
        ``"up"`` and ``"down"``: the steps of all epochs together, rounded once. Computed exactly,
        with the number of epochs that its shortest decimal says: 0.1 is a tenth.
    loader : {"poisson", "opacus"}
        What draws the samples. ``"poisson"``: with probability ``batch_size * accumulation_steps /
        dataset_size``. ``"opacus"``: the loader that Opacus makes of a PyTorch loader, with 1 over
        the number of batches that the PyTorch loader has in an epoch, and about as many steps:
        ``int(1 / (1 / batches))`` in floating point, which may be one less. It needs the default
        `rounding`, and `accumulation_steps` 1: Opacus does not add up gradients of several samples,
        in which a record may come twice. (A sample that is split for want of memory is one step.)
    drop_last : bool, default False
        With the loader ``"opacus"`` only: whether the PyTorch loader leaves out the last, smaller
        batch, so that batches are fewer and the sampling probability is *larger*.
    sampler : {"poisson", "fixed-size", "random-allocation", "balls-in-bins"}
        What the batches are, as `dpsgd_epsilon` takes it. With ``"poisson"``, each record enters
        each batch independently, with a probability that `loader` decides; all others need the
        loader ``"poisson"``. With the two allocations, which need the default `rounding`, an epoch
        has ``dataset_size / (batch_size * accumulation_steps)`` batches, rounded up: a number that
        must be the same for neighbouring data sets, so fix it by a public size.

    Returns
    -------
    TrainingSchedule
        To be asked for bounds, or for the numbers themselves.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, the shapes do not broadcast, or there
        would be more than 2^53 steps.

    Notes
    -----
    The accounting is that of Poisson sampling unless `sampler` says otherwise: each step draws one
    sample, in which every record is with the sampling probability, independently of all others, and
    which is then split into `accumulation_steps` parts if it is too large at once. Shuffled or
    fixed-size batches are other mechanisms, and so are parts that are drawn one by one, where a
    record may come twice.

    Examples
    --------
    >>> import prvcore as prv
    >>> plan = prv.dpsgd_schedule(dataset_size=60_000, batch_size=256, epochs=15)
    >>> plan.steps, plan.sampling_probability
    (3525, 0.004266666666666667)
    >>> epsilon = plan.epsilon(noise_multiplier=1.1, delta=1e-5).upper

    Opacus, of a loader with ``drop_last=True``:

    >>> plan = prv.dpsgd_schedule(1000, 256, 15, loader="opacus", drop_last=True)
    >>> plan.steps, plan.sampling_probability
    (45, 0.3333333333333333)

    """
    _arguments.choice(rounding, "rounding", get_args(Rounding))
    unshuffled(loader, "loader", get_args(Loader))
    if not isinstance(drop_last, bool | np.bool_):
        raise TypeError(f"drop_last must be True or False, got {drop_last!r}")
    if loader == "opacus" and rounding != "up-each-epoch":
        raise ValueError(
            f"rounding must be 'up-each-epoch' where loader is 'opacus', got {rounding!r}"
        )
    checked_sampler(sampler)
    if loader == "opacus" and sampler != "poisson":
        raise ValueError(f"sampler must be 'poisson' where loader is 'opacus', got {sampler!r}")
    if sampler in _ALLOCATIONS and rounding != "up-each-epoch":
        raise ValueError(
            f"rounding must be 'up-each-epoch' where sampler is {sampler!r}, got {rounding!r}"
        )
    if loader != "opacus" and drop_last:
        raise ValueError("drop_last must be False where loader is not 'opacus', got True")
    sizes, batches, parts, times = _arguments.broadcast(
        dataset_size=_arguments.integers(dataset_size, "dataset_size", 1, _MOST),
        batch_size=_arguments.integers(batch_size, "batch_size", 1, _MOST),
        accumulation_steps=_arguments.integers(accumulation_steps, "accumulation_steps", 1, _MOST),
        epochs=_arguments.non_negatives(epochs, "epochs"),
    )
    probabilities, steps = np.empty(sizes.shape), np.empty(sizes.shape, dtype=np.int64)
    for i in np.ndindex(sizes.shape):
        size, batch, part = int(sizes[i]), int(batches[i]), int(parts[i])
        epochs_exact = Fraction(repr(float(times[i])))
        if loader == "opacus":
            probabilities[i], total = _of_opacus(size, batch, part, epochs_exact, bool(drop_last))
        else:
            if batch * part > size:
                sample, drawn = "batch_size", f"{batch}"
                if part != 1:
                    sample, drawn = f"{sample} * accumulation_steps", f"{drawn} * {part}"
                raise ValueError(f"{sample} must be at most dataset_size, got {drawn} for {size}")
            probabilities[i] = batch * part / size  # integers: correctly rounded
            if sampler in _ALLOCATIONS:
                probabilities[i] = 1 / -(-size // (batch * part))
            total = _steps(Fraction(size, batch * part), epochs_exact, rounding)
        steps[i] = _arguments.integer(total, "the number of steps", 0, _MOST)
    for array in (probabilities, steps):
        array.setflags(write=False)
    arrays = (probabilities, steps, sizes, batches, parts, times)
    told: list[Any] = [array[()] if array.ndim else array.item() for array in arrays]
    return TrainingSchedule._make([*told, rounding, loader, bool(drop_last), sampler])


def _of_opacus(
    size: int, batch: int, part: int, epochs: Fraction, drop_last: bool
) -> tuple[float, int]:
    """Return the sampling probability and the steps of Opacus's loader, in its own arithmetic."""
    if part != 1:
        raise ValueError(f"accumulation_steps must be 1 where loader is 'opacus', got {part}")
    batches = size // batch if drop_last else -(-size // batch)
    if batches == 0:
        raise ValueError(
            "batch_size must be at most dataset_size where drop_last is True, "
            f"got {batch} for {size}: no batch is left"
        )
    probability = 1 / batches
    return probability, math.ceil(int(1 / probability) * epochs)


def _steps(steps_per_epoch: Fraction, epochs: Fraction, rounding: Rounding) -> int:
    if rounding == "up-each-epoch":
        return math.ceil(math.ceil(steps_per_epoch) * epochs)
    return (math.ceil if rounding == "up" else math.floor)(steps_per_epoch * epochs)
