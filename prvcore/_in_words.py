"""Mechanisms in the words of a paper, with every parameter to its last digit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from prvcore.mechanisms.base import Mechanism

__all__ = ["steps_in_words"]


def steps_in_words(steps: Iterable[tuple[Mechanism, int]]) -> str:
    """Return what runs, and how often each; a mechanism without words of its own by its repr."""
    return "; ".join(f"{_times(count)} {_words(mechanism)}" for mechanism, count in steps if count)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _words(mechanism: Any) -> str:
    found = _KINDS.get(type(mechanism).__name__)
    return repr(mechanism) if found is None else found(mechanism)


def _gaussian(it: Any) -> str:
    return f"Gaussian noise with noise multiplier {it.noise_multiplier!r}"


def _laplace(it: Any) -> str:
    return f"Laplace noise of scale {it.scale!r} on a query of sensitivity {it.sensitivity!r}"


def _discrete(noise: str) -> Callable[[Any], str]:
    return lambda it: (
        f"discrete {noise} noise of scale {it.scale!r} on a query of sensitivity {it.sensitivity!r}"
    )


def _count(it: Any) -> str:
    added = "1/2 or -1/2" if it.centred else "1 or 0"
    return f"a noisy count with deviation {it.deviation!r} (each record adds {added})"


def _composed(it: Any) -> str:
    parts = [
        _words(part) if count == 1 else f"{_times(count)} {_words(part)}"
        for part, count in it.mechanisms
    ]
    return " and ".join(parts)


def _on(it: Any, batches: str) -> str:
    several = type(it.mechanism).__name__ == "Composed"
    return f"{_words(it.mechanism)}{', all' if several else ''} on {batches}"


def _poisson(probability: float) -> str:
    return (
        f"a Poisson sample (each record with probability {probability!r}, independently of all "
        "others)"
    )


def _allocation(it: Any) -> str:
    if it.batches == 1:
        return "one batch of all records"
    drawn = "one" if it.selected == 1 else f"{it.selected:,}"
    return (
        f"each of {it.batches:,} batches (each record in {drawn} of them, drawn independently of "
        "all others)"
    )


def _bins(it: Any) -> str:
    return (
        f"each of {it.bins:,} batches in each of {it.epochs:,} epochs (each record in one of the "
        "batches, drawn once for all epochs, independently of all others)"
    )


_KINDS: dict[str, Callable[[Any], str]] = {
    "Gaussian": _gaussian,
    "Laplace": _laplace,
    "DiscreteGaussian": _discrete("Gaussian"),
    "DiscreteLaplace": _discrete("Laplace"),
    "PureDP": lambda it: f"any mechanism that is {it.epsilon!r}-DP",
    "ApproximateDP": lambda it: f"any mechanism that is ({it.epsilon!r}, {it.delta!r})-DP",
    "BoundedRange": lambda it: f"any mechanism whose privacy losses have a range of {it.epsilon!r}",
    "NoisyCount": _count,
    "Composed": _composed,
    "PoissonSubsampledGaussian": lambda it: (
        f"{_gaussian(it)} on {_poisson(it.sampling_probability)}"
    ),
    "GroupPoissonSubsampledGaussian": lambda it: (
        f"{_gaussian(it)} on {_poisson(it.sampling_probability)}"
    ),
    "GroupSubsampledWithoutReplacementGaussian": lambda it: (
        f"{_gaussian(it)} on a sample of fixed size ({it.batch_size:,} of {it.dataset_size:,} "
        "records, drawn without replacement)"
    ),
    "PoissonSubsampled": lambda it: _on(it, _poisson(it.sampling_probability)),
    "SubsampledWithoutReplacement": lambda it: _on(
        it,
        f"a sample of fixed size ({it.sampling_probability!r} of the records, drawn without "
        "replacement)",
    ),
    "RandomAllocation": lambda it: _on(it, _allocation(it)),
    "BallsInBins": lambda it: _on(it, _bins(it)),
}
