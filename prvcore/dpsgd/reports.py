"""The sentences for a paper about settings of DP-SGD, and about their trainings."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from prvcore._compose import compose
from prvcore._report import OfCurve
from prvcore._settings import ComposeOptions
from prvcore.dpsgd.samplers import steps_of_sampler

__all__ = ["MEANINGLESS", "is_meaningless", "report_of", "trainings_in_words"]


# A random one of n records is published by a mechanism with epsilon 0 and delta 1 / n.
MEANINGLESS = (
    "delta is not below 1 over the number of records, so that publishing a record at random "
    "would be allowed"
)


def is_meaningless(delta: float, dataset_size: int) -> bool:
    """Return whether a delta is as large as that of publishing a record at random."""
    return delta * dataset_size >= 1.0


def report_of(
    quantity: str,
    point: float,
    ends: tuple[float, float],
    setting: tuple[str, float, float, float],
    options: ComposeOptions,
    digits: int,
    training: str,
) -> str:
    """Return what the bounds `ends` of a quantity say at a setting, in one line.

    A setting is a sampler, a noise multiplier, a sampling probability and a number of steps. What
    `trainings_in_words` says of it may be empty.
    """
    sampler, noise_multiplier, sampling_probability, steps = setting
    curve = compose(
        *steps_of_sampler(sampler, noise_multiplier, sampling_probability, int(steps)), **options
    )
    return OfCurve(quantity, point, curve).report(*ends, digits, training)


def trainings_in_words(settings: dict[str, Any], shape: tuple[int, ...]) -> Iterator[str]:
    """Return what to say of the data set, the batches and the epochs of each setting.

    `settings` are those of a `TrainingSchedule`, its sampling probabilities and perhaps deltas.
    """
    names = ("dataset_size", "batch_size", "accumulation_steps", "epochs", "sampling_probability")
    columns = [np.broadcast_to(settings[name], shape).ravel().tolist() for name in names]
    drawn = ""
    if settings["loader"] == "opacus":
        kept = " that leaves out the last, smaller batch" if settings["drop_last"] else ""
        drawn = f", drawn by the loader that Opacus makes of a PyTorch loader{kept}"
    deltas = np.broadcast_to(settings.get("delta", 0.0), shape).ravel().tolist()
    for size, batch, parts, epochs, probability, delta in zip(*columns, deltas, strict=True):
        times = int(epochs) if epochs.is_integer() else epochs
        batches = f"batches of {batch:,} records"
        mean = size * probability / parts
        if settings["sampler"] != "fixed-size":  # a loader may draw others than it is asked for
            same = math.isclose(mean, batch, rel_tol=1e-9)
            batches = f"{batches if same else f'batches of {mean:,.1f} records'} on average"
            batches += "" if same else f" (batch size {batch:,})"
        together = f", {parts:,} of which make a step" if parts > 1 else ""
        yield (
            f"The training: {size:,} records, {times!r} epoch{'s' * (times != 1)}, "
            f"{batches}{together}{drawn}."
            f"{f' This {MEANINGLESS}.' if is_meaningless(delta, size) else ''}"
        )
