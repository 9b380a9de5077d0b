"""Steps of which one parameter, or the number of times they run, is multiplied by a factor."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from prvcore._steps import Counts, Mechanisms, pairs
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from prvcore.mechanisms.subsampled import (
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
)

__all__ = ["PARAMETERS", "Parameter", "ScaledSteps", "scaled_steps"]

Parameter: TypeAlias = Literal["noise_multiplier", "scale", "sampling_probability", "steps"]
# What the C core calls each.
PARAMETERS = {
    "noise_multiplier": "noise",
    "scale": "noise",
    "sampling_probability": "sampling_probability",
    "steps": "steps",
}
_MOST_START = 2**17  # as a scale: discrete Gaussian noise of some more has too many values
_LEAST_SCALE = 2.0**-10  # of noise on integers: e^-1024, what falls on others, is no double


@dataclass(frozen=True, slots=True)
class ScaledSteps:
    """Mechanisms with their counts, whose parameter is to be multiplied.

    Attributes
    ----------
    steps : list of (Mechanism, int)
        What the factor 1 leaves.
    name : {"noise", "sampling_probability", "steps"}
        The parameter, as the C core calls it.
    alone : bool
        Whether a single mechanism was given, and not a list.

    """

    steps: list[tuple[Mechanism, int]]
    name: str
    alone: bool

    @property
    def is_factor(self) -> bool:
        """Whether the factor is the value that the search is for, as no one parameter is."""
        together = not self.alone or (self.name == "noise" and self.steps[0][0]._scales_together())
        return together and self.name != "steps"

    @property
    def changes_all(self) -> bool:
        """Whether the factor changes every mechanism that runs, or how often it runs."""
        return self.name == "steps" or all(
            mechanism._parameter(self.name) is not None for mechanism, count in self.steps if count
        )

    @property
    def same_in_core(self) -> bool:
        """Whether what the core makes of a factor has the bits of what is made here.

        A number of steps changes no mechanism; one mechanism with one number of noise is made of
        the product in either place. Several may come in another order, or become equal.
        """
        if self.name == "steps":
            return True
        if len(self.steps) > 1:
            return False
        return isinstance(
            _base(self.steps[0][0]),
            Gaussian | PoissonSubsampledGaussian | Laplace | DiscreteGaussian | DiscreteLaplace,
        )

    def at(self, factor: float) -> tuple[tuple[Mechanism, int], ...]:
        """Return the mechanisms and counts that the factor makes."""
        return tuple(
            _scaled(mechanism, count, self.name, factor) for mechanism, count in self.steps
        )

    def value(self, factor: float) -> float | int:
        """Return the parameter that the factor makes, or the factor itself if it `is_factor`."""
        if self.name == "steps":
            return int(factor)
        if self.is_factor:
            return factor
        value = _scaled(*self.steps[0], self.name, factor)[0]._parameter(self.name)
        assert value is not None  # scaled_steps refuses it
        return value

    def least_noise(self) -> float:
        """Return a factor that leaves no noise, or hardly any where a mechanism must have some."""
        scales = []
        for mechanism, _ in self.steps:
            scale = mechanism._parameter("noise")
            if scale is not None:
                try:
                    mechanism._with("noise", 0.0)
                except ValueError:
                    scales.append(scale)
        return _LEAST_SCALE / max(scales) if scales else 0.0


def scaled_steps(mechanisms: Mechanisms, counts: Counts, parameter: Parameter) -> ScaledSteps:
    """Return the steps from which a search for a parameter starts; refuse those that lack it."""
    name = PARAMETERS[parameter]
    alone = isinstance(mechanisms, Mechanism)
    steps = pairs(mechanisms, counts)
    if name == "steps":
        if not any(count for _, count in steps):
            raise ValueError("counts must not be 0 throughout where parameter is 'steps'")
        return ScaledSteps(steps, name, alone)
    steps = [(_started(mechanism, name, parameter, alone), n) for mechanism, n in steps]
    if alone and name == "noise":
        steps = [(_restarted(mechanism), n) for mechanism, n in steps]
    if all(mechanism._parameter(name) is None or not count for mechanism, count in steps):
        raise ValueError(f"no mechanism that runs has a {parameter}, got {mechanisms!r}")
    return ScaledSteps(steps, name, alone)


def _base(mechanism: Mechanism) -> Mechanism:
    """Return what runs on the sample, or the mechanism itself if it takes none."""
    while isinstance(mechanism, PoissonSubsampled | SubsampledWithoutReplacement):
        mechanism = mechanism.mechanism
    return mechanism


def _started(mechanism: Mechanism, name: str, parameter: str, alone: bool) -> Mechanism:
    """Return the mechanism with a parameter that can be multiplied, if it has it."""
    base = mechanism.mechanism if isinstance(mechanism, PoissonSubsampled) else None
    if name == "sampling_probability" and base is not None and base._parameter(name) is not None:
        raise ValueError(
            f"{mechanism!r} is sampled more than once: no one sampling_probability is meant"
        )
    if mechanism._parameter(name) != 0.0:
        return mechanism
    if not alone:
        raise ValueError(
            f"{parameter} must be > 0 in each mechanism of a schedule, got {mechanism!r}: "
            "no factor changes it"
        )
    return mechanism._with(name, 1.0)


def _restarted(mechanism: Mechanism) -> Mechanism:
    """Return discrete Gaussian noise, sampled or not, of a scale that its own has no part in."""
    base = _base(mechanism)
    if not isinstance(base, DiscreteGaussian):
        return mechanism
    return mechanism._with("noise", float(min(base.sensitivity, _MOST_START)))


def _scaled(mechanism: Mechanism, count: int, name: str, factor: float) -> tuple[Mechanism, int]:
    if name == "steps":
        return mechanism, count * int(factor)
    value = mechanism._parameter(name)
    if value is None:
        return mechanism, count
    value *= factor
    if name == "sampling_probability":
        value = min(value, 1.0)  # 1 / probability times probability is 1
    return mechanism._with(name, value), count
