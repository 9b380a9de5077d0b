"""The events and relations of dp-accounting: each is a mechanism, or refused with a reason."""

import math
import re
from fractions import Fraction

import attr
import pytest

import prvcore as prv

dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
dp_event = dp_accounting.dp_event
pytestmark = pytest.mark.filterwarnings("ignore")  # of dp-accounting, which is not ours

DELTA = 1e-5
ADD_OR_REMOVE, REPLACE, SPECIAL = dp_accounting.NeighboringRelation

# Fields of events that newer versions of dp-accounting have than the one that is installed.
NEWER = {
    "EpsilonDeltaDpEvent": {"epsilon": attr.NOTHING, "delta": attr.NOTHING},
    "DiscreteGaussianDpEvent": {"sigma": attr.NOTHING, "sensitivity": 1.0, "dimension": None},
    "ExponentialMechanismDpEvent": {"epsilon": attr.NOTHING},
    "PermuteAndFlipDpEvent": {"epsilon": attr.NOTHING},
    "RandomAllocationDpEvent": {
        "event": attr.NOTHING,
        "num_selected": attr.NOTHING,
        "num_steps": attr.NOTHING,
    },
}


def kind(name):
    """Return an event's class: of the installed version, or one that has the same fields."""
    if hasattr(dp_event, name):
        return getattr(dp_event, name)
    fields = {field: attr.ib(default=default) for field, default in NEWER[name].items()}
    made = attr.make_class(name, fields, bases=(dp_event.DpEvent,), frozen=True)
    made.__module__ = dp_event.__name__
    return made


GAUSSIAN = dp_event.GaussianDpEvent(2.0)
TWICE = dp_event.SelfComposedDpEvent(GAUSSIAN, 2)
PAIR = dp_event.ComposedDpEvent([GAUSSIAN, dp_event.LaplaceDpEvent(3.0)])
EXAMPLES = {
    "DpEvent": dp_event.DpEvent(),
    "NoOpDpEvent": dp_event.NoOpDpEvent(),
    "NonPrivateDpEvent": dp_event.NonPrivateDpEvent(),
    "UnsupportedDpEvent": dp_event.UnsupportedDpEvent(),
    "RandomizedResponseDpEvent": dp_event.RandomizedResponseDpEvent(0.5, 4),
    "EpsilonDeltaDpEvent": kind("EpsilonDeltaDpEvent")(0.5, 1e-6),
    "GaussianDpEvent": GAUSSIAN,
    "LaplaceDpEvent": dp_event.LaplaceDpEvent(3.0),
    "DiscreteLaplaceDpEvent": dp_event.DiscreteLaplaceDpEvent(0.25, 2),
    "DiscreteGaussianDpEvent": kind("DiscreteGaussianDpEvent")(5.0, 2.5, 1),
    "SelfComposedDpEvent": TWICE,
    "ComposedDpEvent": PAIR,
    "PoissonSampledDpEvent": dp_event.PoissonSampledDpEvent(0.1, GAUSSIAN),
    "SampledWithReplacementDpEvent": dp_event.SampledWithReplacementDpEvent(100, 5, GAUSSIAN),
    "SampledWithoutReplacementDpEvent": dp_event.SampledWithoutReplacementDpEvent(100, 5, GAUSSIAN),
    "SingleEpochTreeAggregationDpEvent": dp_event.SingleEpochTreeAggregationDpEvent(3.0, [4, 7]),
    "RepeatAndSelectDpEvent": dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, 1.0),
    "MixtureOfGaussiansDpEvent": dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.9, 0.1]),
    "ZCDpEvent": dp_event.ZCDpEvent(0.1),
    "ExponentialMechanismDpEvent": kind("ExponentialMechanismDpEvent")(0.5),
    "PermuteAndFlipDpEvent": kind("PermuteAndFlipDpEvent")(0.5),
    "TruncatedSubsampledGaussianDpEvent": dp_event.TruncatedSubsampledGaussianDpEvent(
        100, 0.1, 15, 2.0
    ),
    "RandomAllocationDpEvent": kind("RandomAllocationDpEvent")(GAUSSIAN, 1, 10),
}
COMPOSITIONS = ("ComposedDpEvent", "SelfComposedDpEvent")


@pytest.fixture(scope="module")
def adapter():
    return pytest.importorskip("prvcore.adapters.dp_accounting")


def rows(adapter):
    return {row.event: row for row in adapter.table_of_events()}


def test_the_table_has_all_events_of_the_installed_version(adapter):
    installed = {
        name
        for name, value in vars(dp_event).items()
        if isinstance(value, type) and issubclass(value, dp_event.DpEvent)
    }
    assert set(rows(adapter)) == installed
    assert installed <= set(EXAMPLES)
    assert len(installed) >= 17


@pytest.mark.parametrize("relation", dp_accounting.NeighboringRelation)
def test_the_table_says_what_the_accountant_does(adapter, relation):
    for name, row in rows(adapter).items():
        accountant = adapter.PRVCoreAccountant(relation)
        taken = relation not in row.refused
        assert accountant.supports(EXAMPLES[name]) == taken, name
        if taken:
            assert row.mechanism != "refused"
            assert accountant.compose(EXAMPLES[name]).get_epsilon(DELTA) >= 0.0
        else:
            with pytest.raises(
                dp_accounting.UnsupportedEventError, match=re.escape(row.refused[relation])
            ):
                accountant.compose(EXAMPLES[name])
            assert accountant.accountant.history == ()


@pytest.mark.parametrize(
    ("event", "relation", "mechanism"),
    [
        ("GaussianDpEvent", REPLACE, prv.Gaussian(2.0)),
        ("GaussianDpEvent", SPECIAL, prv.Gaussian(2.0)),
        ("LaplaceDpEvent", REPLACE, prv.Laplace(3.0)),
        ("EpsilonDeltaDpEvent", REPLACE, prv.ApproximateDP(0.5, 1e-6)),
        ("ExponentialMechanismDpEvent", ADD_OR_REMOVE, prv.BoundedRange(0.5)),
        ("PermuteAndFlipDpEvent", ADD_OR_REMOVE, prv.PureDP(0.5)),
        ("DiscreteGaussianDpEvent", ADD_OR_REMOVE, prv.DiscreteGaussian(5.0, 2)),
        (
            "TruncatedSubsampledGaussianDpEvent",
            REPLACE,
            prv.TruncatedPoissonSubsampledGaussian(2.0, 0.1, 100, 15),
        ),
        (
            "SampledWithoutReplacementDpEvent",
            REPLACE,
            prv.SubsampledWithoutReplacement(prv.Gaussian(2.0), 0.05),
        ),
        ("RandomAllocationDpEvent", ADD_OR_REMOVE, prv.RandomAllocation(prv.Gaussian(2.0), 10)),
        ("RandomAllocationDpEvent", SPECIAL, prv.RandomAllocation(prv.Gaussian(2.0), 10)),
        ("SingleEpochTreeAggregationDpEvent", SPECIAL, prv.Composed([(prv.Gaussian(3.0), 3)])),
    ],
)
def test_events_are_these_mechanisms(adapter, event, relation, mechanism):
    assert adapter.mechanism_from_event(EXAMPLES[event], relation) == mechanism
    found = adapter.PRVCoreAccountant(relation).compose(EXAMPLES[event], 2).bounds(DELTA)
    neighbors = "replace-one" if relation is REPLACE else "add-or-remove"
    truth = prv.compose(mechanism, 2, neighbors=neighbors).epsilon(DELTA)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper


def test_samples_of_compositions_are_of_one_sample(adapter):
    sampled = dp_event.PoissonSampledDpEvent(0.1, dp_event.SelfComposedDpEvent(PAIR, 2))
    both = [(prv.Gaussian(2.0), 2), (prv.Laplace(3.0), 2)]
    assert adapter.mechanism_from_event(sampled) == prv.PoissonSubsampled(both, 0.1)
    for relation in (REPLACE, ADD_OR_REMOVE):
        sampled = dp_event.PoissonSampledDpEvent(0.1, TWICE)
        found = adapter.PRVCoreAccountant(relation)
        if found.supports(sampled):
            one = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0 / math.sqrt(2)))
            same = adapter.PRVCoreAccountant(relation).compose(one, 5).bounds(DELTA)
            bounds = found.compose(sampled, 5).bounds(DELTA)
            assert bounds.lower <= same.upper
            assert same.lower <= bounds.upper
    fixed = dp_event.SampledWithoutReplacementDpEvent(100, 5, TWICE)
    assert adapter.PRVCoreAccountant(REPLACE).compose(fixed).get_epsilon(DELTA) > 0.0


def test_the_noise_of_a_sum_is_over_the_bound_of_one_record(adapter):
    """A replaced record changes the sum by twice the bound: half the noise, added or removed."""
    whole = adapter.PRVCoreAccountant(REPLACE).compose(dp_event.GaussianDpEvent(2.0)).bounds(DELTA)
    half = adapter.PRVCoreAccountant().compose(dp_event.GaussianDpEvent(1.0)).bounds(DELTA)
    assert whole.lower <= half.upper
    assert half.lower <= whole.upper


@pytest.mark.slow
@pytest.mark.parametrize("relation", dp_accounting.NeighboringRelation)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_their_own_accountants_agree(adapter, name, relation):
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    event, ours = EXAMPLES[name], adapter.PRVCoreAccountant(relation)
    if not hasattr(dp_event, name) or not ours.supports(event):
        return
    lower, _, upper = ours.compose(event, 3).bounds(DELTA)
    pld, rdp = PLDAccountant(relation), RdpAccountant(neighboring_relation=relation)
    if name not in {"NoOpDpEvent", "NonPrivateDpEvent"} and pld.supports(event):
        if name == "RandomizedResponseDpEvent":  # they compose it once, whatever the count
            lower, _, upper = adapter.PRVCoreAccountant(relation).compose(event).bounds(DELTA)
            theirs = pld.compose(event).get_epsilon(DELTA)
        else:
            theirs = pld.compose(event, 3).get_epsilon(DELTA)
        assert lower <= theirs + 1e-9
        if name != "TruncatedSubsampledGaussianDpEvent":  # theirs is wider, as its source says
            assert theirs <= upper * 1.02 + 1e-4
    elif relation is not REPLACE and rdp.supports(event):
        assert lower <= rdp.compose(event, 3).get_epsilon(DELTA)


@pytest.mark.parametrize(("noise", "buckets"), [(0.5, 4), (1e-3, 2), (1 - 2**-53, 3), (1.0, 5)])
def test_the_epsilon_of_randomized_response_is_not_rounded_down(adapter, noise, buckets):
    mpmath = pytest.importorskip("mpmath")
    event = dp_event.RandomizedResponseDpEvent(noise, buckets)
    found = adapter.mechanism_from_event(event, REPLACE)
    p = Fraction(noise)
    odds = (1 - p + p / buckets) / (p / buckets)
    with mpmath.workdps(50):
        exact = mpmath.log(mpmath.mpf(odds.numerator) / odds.denominator)
        assert exact <= found.epsilon <= exact * (1 + mpmath.mpf(2) ** -50)
    assert found.categories == buckets


def test_no_noise_is_not_private_and_one_answer_is_nothing(adapter):
    response = dp_event.RandomizedResponseDpEvent
    assert adapter.PRVCoreAccountant(REPLACE).compose(response(0.0, 3)).get_epsilon(0.5) == math.inf
    assert adapter.mechanism_from_event(response(0.0, 1), REPLACE) is None
    discrete = kind("DiscreteGaussianDpEvent")
    assert adapter.PRVCoreAccountant().compose(discrete(0.0, 1.0, 1)).get_epsilon(0.5) == math.inf
    assert adapter.mechanism_from_event(discrete(3.0, 0.9, 1)) is None
    with pytest.raises(ValueError, match="must have dimension=1"):
        adapter.mechanism_from_event(discrete(3.0))


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 8, 1000])
def test_a_record_is_in_as_many_nodes_of_a_tree_as_it_says(adapter, steps):
    """Counted: node (a, b) is complete after b steps if b is a multiple of b - a, a power of 2."""
    nodes = [
        (end - 2**level, end) for level in range(12) for end in range(2**level, steps + 1, 2**level)
    ]
    most = max(sum(a <= leaf < b for a, b in nodes) for leaf in range(steps))
    event = dp_event.SingleEpochTreeAggregationDpEvent(3.0, steps)
    mechanism = adapter.mechanism_from_event(event, SPECIAL)
    expected = prv.Gaussian(3.0) if most == 1 else prv.Composed([(prv.Gaussian(3.0), most)])
    assert mechanism == expected


@pytest.mark.parametrize(
    ("event", "relation", "message"),
    [
        (
            dp_event.PoissonSampledDpEvent(0.1, EXAMPLES["EpsilonDeltaDpEvent"]),
            SPECIAL,
            "a sample of a EpsilonDeltaDpEvent is refused",
        ),
        (
            dp_event.PoissonSampledDpEvent(0.1, EXAMPLES["ExponentialMechanismDpEvent"]),
            REPLACE,
            "a sample of a ExponentialMechanismDpEvent is refused",
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(10, 2, EXAMPLES["EpsilonDeltaDpEvent"]),
            REPLACE,
            None,
        ),
        (
            dp_event.PoissonSampledDpEvent(0.1, dp_event.RandomizedResponseDpEvent(0.5, 3)),
            REPLACE,
            "answers with names tell who is in it",
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(
                10, 2, dp_event.RandomizedResponseDpEvent(0.5, 3)
            ),
            REPLACE,
            "answers with names tell who is in it",
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(10, 11, GAUSSIAN),
            REPLACE,
            "sample_size must be",
        ),
        (dp_event.SingleEpochTreeAggregationDpEvent(1.0, []), SPECIAL, "step_counts must have"),
        (dp_event.RandomizedResponseDpEvent(1e-300, 2), REPLACE, None),
        (dp_event.RandomizedResponseDpEvent(5e-324, 2), REPLACE, "noise_parameter must be above"),
    ],
)
def test_what_a_sample_cannot_be_of_is_refused_with_the_reason(adapter, event, relation, message):
    accountant = adapter.PRVCoreAccountant(relation)
    if message is None:
        assert accountant.supports(event)
        return
    with pytest.raises(dp_accounting.UnsupportedEventError, match=message):
        accountant.compose(event)


def test_all_steps_selected_are_a_composition(adapter):
    some = kind("RandomAllocationDpEvent")(GAUSSIAN, 3, 10)
    assert adapter.PRVCoreAccountant(ADD_OR_REMOVE).supports(some)
    event = kind("RandomAllocationDpEvent")(GAUSSIAN, 10, 10)
    found = adapter.PRVCoreAccountant().compose(event)
    assert found.accountant.history == ((prv.Gaussian(2.0), 10),)
    some = kind("RandomAllocationDpEvent")(GAUSSIAN, 3, 10)
    assert adapter.mechanism_from_event(some) == prv.RandomAllocation(prv.Gaussian(2.0), 10, 3)
    nothing = kind("RandomAllocationDpEvent")(GAUSSIAN, 0, 10)
    assert adapter.PRVCoreAccountant().compose(nothing).accountant.history == ()


def test_an_unknown_event_is_named(adapter):
    @attr.s(frozen=True)
    class StrangeDpEvent(dp_event.DpEvent):
        """Of nobody."""

    with pytest.raises(dp_accounting.UnsupportedEventError, match="a StrangeDpEvent: prvcore has"):
        adapter.PRVCoreAccountant().compose(StrangeDpEvent())


def test_an_event_that_derives_from_another_is_that_one(adapter):
    @attr.s(frozen=True)
    class NamedGaussian(dp_event.GaussianDpEvent):
        """Gaussian noise of a project's own."""

    assert adapter.mechanism_from_event(NamedGaussian(2.0)) == prv.Gaussian(2.0)
