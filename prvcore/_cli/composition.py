"""What is composed: mechanisms and counts, as options or a schedule give them."""

from __future__ import annotations

import argparse
import sys
from itertools import product
from typing import Any

import numpy as np

import prvcore
from prvcore._cli.options import OPTIONS
from prvcore.dpsgd.reports import is_meaningless
from prvcore.dpsgd.samplers import steps_of_sampler
from prvcore.files.schedule import read_schedule

_SINGLE = ("noise_multiplier", "sampling_probability", "steps")
_TRAINING = ("dataset_size", "batch_size", "epochs")


def steps_of(options: argparse.Namespace, *, from_below: bool = False) -> Any:
    """Return what `compose` takes as mechanisms and counts; `from_below`, for lower bounds."""
    given = [name for name in (*_SINGLE, *_TRAINING) if _given(options, name)]
    if options.schedule is not None:
        # defaults, which may be given, change nothing
        given += [name for name in ("sampler", "loader") if getattr(options, name) != "poisson"]
        given += ["drop_last"] if options.drop_last else []
        if given:
            options.parser.error(f"argument {OPTIONS[given[0]]}: not allowed with --schedule")
        return _schedule(options.schedule), None
    ((probability, steps),) = sampling(options)
    # a search for the noise, which alone goes without one, starts at 1
    noise = 1.0 if options.noise_multiplier is None else options.noise_multiplier
    if options.sampler == "poisson":
        return prvcore.PoissonSubsampledGaussian(noise, probability), steps
    if steps is None:
        options.parser.error("argument --sampler: must be poisson where steps are asked for")
    mechanisms, counts = steps_of_sampler(
        options.sampler, noise, probability, steps, from_below=from_below
    )
    return (mechanisms[0], counts[0]) if len(mechanisms) == 1 else (mechanisms, counts)


def _given(options: argparse.Namespace, name: str) -> bool:
    return getattr(options, name, None) is not None


def sampling(options: argparse.Namespace) -> list[Any]:
    """Return pairs of a sampling probability and steps; no steps if they are what is asked."""
    wanted = [name for name in _SINGLE[1:] if name in options]
    epochs = "epochs" in options
    training = [name for name in _TRAINING if name in options]
    given = [name for name in training if _given(options, name)]
    own = [name for name in wanted if _given(options, name)]
    if own and given:
        options.parser.error(f"argument {OPTIONS[own[0]]}: not allowed with {OPTIONS[given[0]]}")
    needed = training if given else wanted
    if options.command != "noise":  # whose search starts anywhere
        needed = ["noise_multiplier", *needed]
    missing = [name for name in needed if not _given(options, name)]
    if missing:
        instead = "" if given or own else _instead(options, wanted, training)
        hint = " (1 if nothing is sampled)" if "sampling_probability" in missing and own else ""
        options.parser.error(f"{_required(missing)}{hint}{instead}")
    if not given:
        if options.loader != "poisson" or options.drop_last:
            options.parser.error("--loader and --drop-last need --dataset-size and --batch-size")
        return list(product(*(_listed(getattr(options, name, None)) for name in _SINGLE[1:])))
    plans = [
        _plan(options, *setting)
        for setting in product(*(_listed(getattr(options, name, 1)) for name in _TRAINING))
    ]
    return [(plan.sampling_probability, plan.steps if epochs else None) for plan in plans]


def _required(names: list[str]) -> str:
    """Say that all these options are missing."""
    return f"{_listed_names(names)} {'are' if len(names) > 1 else 'is'} required"


def _listed_names(names: list[str]) -> str:
    *others, last = (OPTIONS[name] for name in names)
    return f"{', '.join(others)} and {last}" if others else last


def _instead(options: argparse.Namespace, wanted: list[str], training: list[str]) -> str:
    """Say what may be given in the place of a sampling probability and steps."""
    ways = f"or {_listed_names(training)} in place of {_listed_names(wanted)}"
    alone = "schedule" in options and not _given(options, "noise_multiplier")
    return f" ({ways}{', or --schedule alone' if alone else ''})"


def _plan(options: argparse.Namespace, *of: Any) -> prvcore.TrainingSchedule:
    """Return the plan of data set sizes, batch sizes and epochs."""
    return prvcore.dpsgd_schedule(
        *of, loader=options.loader, drop_last=options.drop_last, sampler=options.sampler
    )


def trained(options: argparse.Namespace) -> prvcore.TrainingSchedule | None:
    """Return the plan of a single training, or None if it was not told in terms of one."""
    steps_of(options)  # which says what is missing
    training = [getattr(options, name) for name in _TRAINING]
    return None if None in training else _plan(options, *training)


def has_meaningless_delta(options: argparse.Namespace) -> bool:
    """Return whether a delta that is given is too large for a number of records that is given."""
    if not (_given(options, "delta") and _given(options, "dataset_size")):
        return False
    return is_meaningless(max(_listed(options.delta)), max(_listed(options.dataset_size)))


def swept(options: argparse.Namespace) -> tuple[tuple[str, ...], prvcore.SweepBounds[Any]]:
    """Return the names of the settings of a sweep, in their order, and epsilon at each."""
    how = {
        "workers": options.workers,
        "progress": options.progress,
        "eps_error": options.eps_error,
        "neighbors": options.neighbors,
    }
    pairs = sampling(options)
    if options.epochs is None:
        every = product(options.noise_multiplier, pairs, options.delta)
        noise, both, delta = map(list, zip(*every, strict=True))
        chances, steps = map(list, zip(*both, strict=True))
        bounds = prvcore.dpsgd_epsilon(noise, chances, steps, delta, sampler=options.sampler, **how)
        return ("noise_multiplier", *_SINGLE[1:], "delta"), bounds
    training = [getattr(options, name) for name in _TRAINING]
    every = product(options.noise_multiplier, *training, options.delta)
    noise, *of, delta = map(list, zip(*every, strict=True))
    bounds = _plan(options, *of).epsilon(noise, delta, **how)
    return ("noise_multiplier", *_TRAINING, *_SINGLE[1:], "delta"), bounds


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _schedule(name: str) -> Any:
    return read_schedule(sys.stdin.buffer if name == "-" else name)


def bounds_of(
    options: argparse.Namespace, curve: prvcore.PrivacyCurve, quantity: str, *at: Any
) -> prvcore.Bounds[Any]:
    """Return bounds of what runs, whose curve is that of `curve_of`, or of some of its steps.

    `quantity` is the name of the method that is asked. If a part of an epoch runs with a
    probability that is no float, the curve has the float above, and what is lost at least is told
    by the one below.
    """
    bounds: prvcore.Bounds[Any] = getattr(curve, quantity)(*at)
    if options.sampler == "random-allocation":
        both = (curve_of(options, from_below=low).mechanisms for low in (False, True))
        less = dict(zip(*both, strict=True))
        steps = zip(curve.mechanisms, curve.counts, strict=True)
        below = curve._with([(less[mechanism], count) for mechanism, count in steps])
        if below.mechanisms != curve.mechanisms:
            return _enclosing(bounds, getattr(below, quantity)(*at), quantity)
    return bounds


def bounds_with(
    options: argparse.Namespace, found: prvcore.Calibration, noise: float, bounds: Any
) -> Any:
    """Return the `bounds` that a search has found with a noise, as `bounds_of` does."""
    if options.sampler != "random-allocation" or bounds is None:
        return bounds
    setting = argparse.Namespace(**{**vars(options), "noise_multiplier": noise})
    mechanisms, counts = steps_of(setting, from_below=True)
    if (mechanisms, counts) == steps_of(setting):
        return bounds
    below = prvcore.compose(
        mechanisms, counts, neighbors=options.neighbors, eps_error=found.curve.eps_error
    )
    quantity = "total_variation" if found.quantity == "advantage" else found.quantity
    at = () if found.at is None else (found.at,)
    return _enclosing(bounds, getattr(below, quantity)(*at), quantity)


def _enclosing(
    above: prvcore.Bounds[Any], below: prvcore.Bounds[Any], quantity: str
) -> prvcore.Bounds[Any]:
    """Return bounds of what is between two runs; of the one above, more is lost."""
    if quantity == "bayes_risk":  # which is less where more is lost
        enclosing = above._replace(upper=below.upper)
    else:
        enclosing = above._replace(lower=below.lower)
    most = np.maximum if isinstance(above.upper, np.ndarray) else max
    enclosing = enclosing._replace(estimate=most(enclosing.lower, enclosing.estimate))
    return enclosing._of(above._origin)


def curve_of(options: argparse.Namespace, *, from_below: bool = False) -> prvcore.PrivacyCurve:
    mechanisms, counts = steps_of(options, from_below=from_below)
    widths = {"eps_error": options.eps_error}
    if "delta_relative_error" in options:  # of the commands that ask for a delta
        widths["delta_relative_error"] = options.delta_relative_error
    return prvcore.compose(mechanisms, counts, neighbors=options.neighbors, **widths)
