"""What the batches of DP-SGD are, by the name of their sampler."""

import math
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from prvcore import _arguments
from prvcore.mechanisms.allocated import BallsInBins, RandomAllocation
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.noise import Gaussian
from prvcore.mechanisms.subsampled import (
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
)

__all__ = [
    "Sampler",
    "batches_of_epoch",
    "checked_sampler",
    "least_steps_of_sampler",
    "other_batches",
    "steps_of_sampler",
    "unshuffled",
]

Sampler: TypeAlias = Literal["poisson", "fixed-size", "random-allocation", "balls-in-bins"]

# 1 / batches, however it was computed, is so close to the float next to it.
_ROUNDING = 2.0**-50

# How people begin to name batches that no sampler here has, and what to say of these.
_OTHER_BATCHES = {
    ("shuffl", "pytorch", "torch", "dataloader"): (
        "for shuffled batches only a lower bound is known, and upper ones without amplification by "
        "sampling: {shuffled}"
    ),
    ("truncat", "capped", "max"): (
        "TruncatedPoissonSubsampledGaussian has batches that are cut to a greatest size"
    ),
    ("cycl", "sequen", "order", "determin"): (
        "batches in a known order are not amplified: if the place of a removed record stays empty, "
        "an epoch costs as much as one Gaussian without sampling"
    ),
}


def other_batches(text: str, shuffled: str) -> str | None:
    """Return what to say of batches of this name, if anything; `shuffled` has shuffles' bounds."""
    kinds = _OTHER_BATCHES.items()
    told = next((told for names, told in kinds if text.lower().startswith(names)), None)
    return told.format(shuffled=shuffled) if told is not None else None


def checked_sampler(sampler: object) -> str:
    """Return the name of a sampler."""
    return unshuffled(sampler, "sampler", get_args(Sampler))


def unshuffled(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return `value`, one of `choices`, none of which is a shuffle; the error tells what is."""
    try:
        return _arguments.choice(value, name, choices)
    except ValueError as error:
        told = other_batches(str(value), "shuffled_lower_bound")
        if told is None:
            raise
        raise ValueError(f"{error}: {told}") from None


def batches_of_epoch(sampling_probability: float) -> int:
    """Return the number of batches of an epoch, of which this probability is one part."""
    batches = round(1.0 / sampling_probability) if sampling_probability > 0.0 else 0
    if not 1 <= batches <= 2**32 or abs(sampling_probability * batches - 1.0) > _ROUNDING:
        raise ValueError(
            "sampling_probability must be 1 / batches where each record is in one batch of an "
            f"epoch, with a whole number of batches up to 2^32, got {sampling_probability!r}"
        )
    return batches


def least_steps_of_sampler(sampler: str, sampling_probability: float) -> int:
    """Return of how many steps all numbers of steps are multiples, in a search for the most."""
    return batches_of_epoch(sampling_probability) if sampler == "random-allocation" else 1


def steps_of_sampler(
    sampler: str,
    noise_multiplier: float,
    sampling_probability: float,
    steps: int,
    *,
    from_below: bool = False,
) -> tuple[list[Mechanism], list[int]]:
    """Return mechanisms and counts of so many steps, as `compose` takes them.

    A probability that no float is, that of a record to be in a part of an epoch, is the next one
    above, so that upper bounds hold; or if `from_below` the next one below, so that lower ones do.
    """
    base = Gaussian(noise_multiplier)
    if sampler == "poisson":
        return [PoissonSubsampledGaussian(noise_multiplier, sampling_probability)], [steps]
    if sampler == "fixed-size":
        return [SubsampledWithoutReplacement(base, sampling_probability)], [steps]
    batches = batches_of_epoch(sampling_probability)
    epochs, rest = divmod(steps, batches)
    if sampler == "balls-in-bins":
        if rest:
            raise ValueError(
                f"steps must be whole epochs of {batches} batches where bins are drawn once, "
                f"got {steps}"
            )
        return ([BallsInBins(base, batches, epochs)], [1]) if epochs else ([], [])
    whole: list[Mechanism] = [RandomAllocation(base, batches)]
    if not rest:
        return whole, [epochs]
    # A record is in one of the first batches of the last epoch, each as likely, or in none of them.
    seen, exact = rest / batches, Fraction(rest, batches)
    if from_below and Fraction(seen) > exact:
        seen = math.nextafter(seen, 0.0)
    elif not from_below and Fraction(seen) < exact:
        seen = math.nextafter(seen, 1.0)
    last = PoissonSubsampled(RandomAllocation(base, rest), seen)
    return [*whole, last], [epochs, 1]
