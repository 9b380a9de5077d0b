"""The mechanisms of dp-accounting's events, under each of its neighbouring relations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dp_accounting import NeighboringRelation, dp_event

from prvcore import _arguments
from prvcore._quotients import quotient_rounded_down, quotient_rounded_up
from prvcore._settings import Neighbors
from prvcore.mechanisms.allocated import RandomAllocation
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import Composed
from prvcore.mechanisms.guarantees import ApproximateDP, BoundedRange, PureDP, RandomizedResponse
from prvcore.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
)
from prvcore.mechanisms.subsampled import (
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
    TruncatedPoissonSubsampledGaussian,
)

__all__ = ["ALONE", "NEIGHBORS", "NON_PRIVATE", "RULES", "as_one", "kind_of", "refusal", "steps_of"]

NON_PRIVATE = ApproximateDP(0.0, 1.0)

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL

# The relation of prvcore. A special record adds nothing to a sum, as if it were not there, so that
# the pairs of noise, and of noise on samples, are those of a record that is added or removed.
NEIGHBORS: dict[NeighboringRelation, Neighbors] = {
    ADD_OR_REMOVE: "add-or-remove",
    REPLACE: "replace-one",
    SPECIAL: "add-or-remove",
}

Steps = list[tuple[Mechanism, int]]
Rule = Callable[[Any, NeighboringRelation], Steps]


def _nothing(_event: Any, _relation: NeighboringRelation) -> Steps:
    return []


def _non_private(_event: Any, _relation: NeighboringRelation) -> Steps:
    return [(NON_PRIVATE, 1)]


def _gaussian(event: Any, _relation: NeighboringRelation) -> Steps:
    return [(Gaussian(event.noise_multiplier), 1)]


def _laplace(event: Any, _relation: NeighboringRelation) -> Steps:
    return [(Laplace(event.noise_multiplier), 1)]


def _discrete_laplace(event: Any, _relation: NeighboringRelation) -> Steps:
    parameter = _arguments.non_negative(event.noise_parameter, "noise_parameter")
    if parameter == 0.0:  # no distribution, which dp-accounting takes for no noise
        return [(NON_PRIVATE, 1)]
    return [(DiscreteLaplace(quotient_rounded_down(1.0, parameter), event.sensitivity), 1)]


def _discrete_gaussian(event: Any, _relation: NeighboringRelation) -> Steps:
    if event.dimension != 1:
        raise ValueError(
            "a discrete Gaussian must have dimension=1: its pair in several dimensions is another, "
            f"got {event.dimension!r}"
        )
    scale = _arguments.non_negative(event.sigma, "sigma")
    # The values are integers, and so is their greatest change.
    sensitivity = math.floor(_arguments.non_negative(event.sensitivity, "sensitivity"))
    if sensitivity == 0:
        return []
    return [(DiscreteGaussian(scale, sensitivity) if scale else NON_PRIVATE, 1)]


def _mixture(event: Any, _relation: NeighboringRelation) -> Steps:
    noise = event.standard_deviation
    return [(MixtureOfGaussians(noise, event.sensitivities, event.sampling_probs), 1)]


def _epsilon_delta(event: Any, _relation: NeighboringRelation) -> Steps:
    return [(ApproximateDP(event.epsilon, event.delta), 1)]


def _exponential(event: Any, _relation: NeighboringRelation) -> Steps:
    return [(BoundedRange(event.epsilon), 1)]


def _permute_and_flip(event: Any, _relation: NeighboringRelation) -> Steps:
    return [(PureDP(event.epsilon), 1)]


def _randomized_response(event: Any, _relation: NeighboringRelation) -> Steps:
    noise = _arguments.probability(event.noise_parameter, "noise_parameter")
    buckets = _arguments.integer(event.num_buckets, "num_buckets", 1, 2**63 - 1)
    if buckets == 1:
        return []
    if noise == 0.0:
        return [(NON_PRIVATE, 1)]
    # The true answer has probability 1 - p + p / k, each other one p / k: their quotient is
    # e^epsilon = 1 + k (1 - p) / p. A larger epsilon is less private. `log1p` of a C library is
    # within 2 ulps of the exact value, and a third is for the rounding of its argument.
    odds = buckets * (1 - Fraction(noise)) / Fraction(noise)
    if odds > 2**1000:
        raise ValueError(f"noise_parameter must be above 2^-900, got {noise!r}")
    epsilon = math.log1p(float(odds))
    for _ in range(3 if odds else 0):
        epsilon = math.nextafter(epsilon, math.inf)
    return [(RandomizedResponse(epsilon, buckets), 1)]


def _tree(event: Any, _relation: NeighboringRelation) -> Steps:
    noise = Gaussian(event.noise_multiplier)
    counts = (
        event.step_counts if isinstance(event.step_counts, list | tuple) else [event.step_counts]
    )
    if not counts:
        raise ValueError("step_counts must have an entry")
    # A record is in one leaf, and in the nodes above it: n.bit_length() of the nodes that are
    # complete after n steps. Each has noise of its own.
    height = max(_arguments.integer(n, "step_counts", 0, 2**53).bit_length() for n in counts)
    return [(noise, height)] if height else []


def _truncated(event: Any, _relation: NeighboringRelation) -> Steps:
    sizes = event.dataset_size, event.truncated_batch_size
    if any(_arguments.integer(size, "a size", 0, 2**32) == 0 for size in sizes):
        return []
    step = TruncatedPoissonSubsampledGaussian(
        event.noise_multiplier, event.sampling_probability, *sizes
    )
    return [(step, 1)]


def _poisson(event: Any, relation: NeighboringRelation) -> Steps:
    steps = _on_a_sample(event.event, relation)
    if not steps:
        return []
    probability = event.sampling_probability
    sampled = as_one(steps)
    if isinstance(sampled, Gaussian):
        return [(PoissonSubsampledGaussian(sampled.noise_multiplier, probability), 1)]
    return [(PoissonSubsampled(sampled, probability), 1)]


def _without_replacement(event: Any, relation: NeighboringRelation) -> Steps:
    size = _arguments.integer(event.source_dataset_size, "source_dataset_size", 1, 2**53)
    sample = _arguments.integer(event.sample_size, "sample_size", 0, size)
    steps = _on_a_sample(event.event, relation, fixed_size=True)
    if not steps or sample == 0:
        return []
    share = quotient_rounded_up(sample, size)
    return [(SubsampledWithoutReplacement(as_one(steps), share), 1)]


def _random_allocation(event: Any, relation: NeighboringRelation) -> Steps:
    batches = _arguments.integer(event.num_steps, "num_steps", 1, 2**32)
    selected = _arguments.integer(event.num_selected, "num_selected", 0, batches)
    steps = _on_a_sample(event.event, relation)
    if selected == 0 or not steps:
        return []
    if selected == batches:
        return [(mechanism, count * batches) for mechanism, count in steps]
    return [(RandomAllocation(as_one(steps), batches, selected), 1)]


def _on_a_sample(event: Any, relation: NeighboringRelation, fixed_size: bool = False) -> Steps:
    """Return what runs on a sample, which a bare guarantee may not be enough for.

    A record is in a Poisson sample or not, so that there are three batches: with the record, with
    the one in its place, and with neither. Noise on sums is known for each two of them. A guarantee
    for records that are replaced says nothing of the third, unless the sample has a fixed size:
    then another record is in the place, which is one more replacement.
    """
    steps: Steps = []
    for part, times in _parts(event, 1):
        kind = kind_of(part)
        found = steps_of(part, relation)
        if kind == "RandomizedResponseDpEvent" and found:
            raise ValueError(
                "a sample that answers by randomized response is refused: answers with names tell "
                "who is in it"
            )
        if kind in _GUARANTEES and relation is not ADD_OR_REMOVE and not fixed_size:
            raise ValueError(f"a sample of a {kind} is refused for {relation.name}")
        steps.extend(
            (mechanism, _arguments.count(count * times, "count")) for mechanism, count in found
        )
    return [(mechanism, count) for mechanism, count in steps if count]


def _parts(event: Any, count: int) -> Iterator[tuple[Any, int]]:
    """Yield the events that are no compositions, and how often each runs."""
    kind = kind_of(event)
    if kind == "SelfComposedDpEvent":
        yield from _parts(event.event, _arguments.count(event.count, "count") * count)
    elif kind == "ComposedDpEvent":
        if not isinstance(event.events, list | tuple):
            raise TypeError(f"events must be a list, got {event.events!r}")
        for part in event.events:
            yield from _parts(part, count)
    else:
        yield event, count


def as_one(steps: Steps) -> Mechanism:
    """Return the mechanisms of one event, of which there are some, as one."""
    return steps[0][0] if len(steps) == 1 and steps[0][1] == 1 else Composed(tuple(steps))


# Of each event: its mechanism in words, how it is made, and why a relation has none.
RULES: dict[str, tuple[str, Rule, dict[NeighboringRelation, str]]] = {
    "NoOpDpEvent": ("nothing", _nothing, {}),
    "NonPrivateDpEvent": ("ApproximateDP(0, 1)", _non_private, {}),
    "RandomizedResponseDpEvent": (
        "RandomizedResponse",
        _randomized_response,
        {
            ADD_OR_REMOVE: "who answers is no secret: an answer is replaced, not removed",
            SPECIAL: "no pair is here of an answer and one that is uniformly random",
        },
    ),
    "EpsilonDeltaDpEvent": ("ApproximateDP", _epsilon_delta, {}),
    "GaussianDpEvent": ("Gaussian", _gaussian, {}),
    "LaplaceDpEvent": ("Laplace", _laplace, {}),
    "DiscreteLaplaceDpEvent": ("DiscreteLaplace", _discrete_laplace, {}),
    "DiscreteGaussianDpEvent": (
        "DiscreteGaussian (dimension 1)",
        _discrete_gaussian,
        {REPLACE: "the event does not say whether its sensitivity is that of a replaced record"},
    ),
    "PoissonSampledDpEvent": ("PoissonSubsampled", _poisson, {}),
    "SampledWithoutReplacementDpEvent": (
        "SubsampledWithoutReplacement",
        _without_replacement,
        dict.fromkeys(
            (ADD_OR_REMOVE, SPECIAL), "samples of fixed size have a pair of replaced records alone"
        ),
    ),
    "SingleEpochTreeAggregationDpEvent": (
        "Gaussian, once for each level",
        _tree,
        {
            ADD_OR_REMOVE: "a record that is removed would move others to other leaves",
            REPLACE: "the event does not say whether its sensitivity is that of a replaced record",
        },
    ),
    "MixtureOfGaussiansDpEvent": (
        "MixtureOfGaussians",
        _mixture,
        {REPLACE: "its pair is that of a record that is added or removed"},
    ),
    "ExponentialMechanismDpEvent": ("BoundedRange", _exponential, {}),
    "PermuteAndFlipDpEvent": ("PureDP", _permute_and_flip, {}),
    "TruncatedSubsampledGaussianDpEvent": (
        "TruncatedPoissonSubsampledGaussian",
        _truncated,
        {SPECIAL: "no pair is here of a special record that takes a place in a batch"},
    ),
    "RandomAllocationDpEvent": (
        "RandomAllocation",
        _random_allocation,
        {REPLACE: "no pair of a replaced record is known"},
    ),
}
# What composes, and what is refused whatever the relation.
ALONE = {
    "SelfComposedDpEvent": "a composition",
    "ComposedDpEvent": "a composition",
    "DpEvent": "refused: it says nothing of itself",
    "UnsupportedDpEvent": "refused: it says nothing of itself",
    "SampledWithReplacementDpEvent": "refused: no pair is here of a record drawn repeatedly",
    "RepeatAndSelectDpEvent": "refused: it is known by Renyi divergences alone, which are no pair",
    "ZCDpEvent": "refused: it is known by Renyi divergences alone, which are no pair",
}
_GUARANTEES = {"EpsilonDeltaDpEvent", "ExponentialMechanismDpEvent", "PermuteAndFlipDpEvent"}


def kind_of(event: Any) -> str:
    """Return the name of the event of dp-accounting that this one is, or derives from."""
    known = (RULES.keys() | ALONE.keys()) - {"DpEvent"}  # from which all derive
    for kind in type(event).__mro__:
        if kind.__module__ == dp_event.__name__ and kind.__name__ in known:
            return kind.__name__
    return type(event).__name__


def refusal(kind: str, relation: NeighboringRelation) -> str | None:
    """Return why all events of a kind are refused under a relation, None if they are not."""
    if kind in RULES:
        return RULES[kind][2].get(relation)
    reason = ALONE.get(kind, "refused: prvcore has no mechanism for it")
    return reason.partition("refused: ")[2] or None


def steps_of(event: Any, relation: NeighboringRelation) -> Steps:
    """Return the mechanisms of an event that is no composition, and how often each runs.

    Raises
    ------
    TypeError, ValueError
        The event is refused, or has parameters out of their range.

    """
    kind = kind_of(event)
    if kind not in RULES:
        why = refusal(kind, relation) or "it is a composition"
        raise TypeError(f"prvcore has no mechanism for a {kind}: {why}")
    if reason := RULES[kind][2].get(relation):
        raise ValueError(f"a {kind} is refused for {relation.name}: {reason}")
    return RULES[kind][1](event, relation)
