"""dp-accounting's events, accountants and calibration with prvcore behind them."""

import math

import numpy as np
import pytest

import prvcore as prv

dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
dp_event = dp_accounting.dp_event
pytestmark = pytest.mark.filterwarnings("ignore")  # of dp-accounting, which is not ours

DELTA = 1e-6


@pytest.fixture(scope="module")
def adapter():
    return pytest.importorskip("prvcore.adapters.dp_accounting")


@pytest.fixture(scope="module")
def pld():
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def events():
    gaussian = dp_event.GaussianDpEvent(3.0)
    laplace = dp_event.LaplaceDpEvent(5.0)
    sampled = dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(0.9))
    return [
        (dp_event.NoOpDpEvent(), []),
        (gaussian, [(prv.Gaussian(3.0), 1)]),
        (laplace, [(prv.Laplace(5.0), 1)]),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 2), [(prv.DiscreteLaplace(4.0, 2), 1)]),
        (sampled, [(prv.PoissonSubsampledGaussian(0.9, 0.02), 1)]),
        (
            dp_event.PoissonSampledDpEvent(0.1, laplace),
            [(prv.PoissonSubsampled(prv.Laplace(5.0), 0.1), 1)],
        ),
        (
            dp_event.ComposedDpEvent(
                [
                    dp_event.SelfComposedDpEvent(sampled, 50),
                    gaussian,
                    dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent([sampled, laplace]), 2),
                ]
            ),
            [
                (prv.PoissonSubsampledGaussian(0.9, 0.02), 52),
                (prv.Gaussian(3.0), 1),
                (prv.Laplace(5.0), 2),
            ],
        ),
    ]


@pytest.mark.parametrize(("event", "steps"), events())
def test_events_are_the_mechanisms_that_they_name(adapter, event, steps):
    accountant = adapter.PRVCoreAccountant()
    assert accountant.supports(event)
    accountant.compose(event, 3)
    curve = prv.compose([(mechanism, 3 * count) for mechanism, count in steps])
    assert accountant.bounds(DELTA) == curve.epsilon(DELTA)
    assert accountant.get_epsilon(DELTA) == curve.epsilon(DELTA).upper
    assert float(f"{accountant.get_epsilon(DELTA):.2f}") >= curve.epsilon(DELTA).upper
    assert accountant.get_delta(0.5) == curve.delta(0.5).upper


@pytest.mark.slow
@pytest.mark.parametrize(("event", "steps"), events())
def test_answers_agree_with_the_accountant_of_dp_accounting(adapter, event, steps):
    from dp_accounting.pld import PLDAccountant

    theirs = PLDAccountant().compose(event, 3).get_epsilon(DELTA)
    lower, _, upper = adapter.PRVCoreAccountant().compose(event, 3).bounds(DELTA)
    assert lower <= theirs + 1e-9
    assert theirs <= upper + 0.02 * upper  # their lattice is fixed


def test_dp_accounting_calibrates_with_it(adapter):
    def event(noise):
        sampled = dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(noise))
        return dp_event.SelfComposedDpEvent(sampled, 200)

    noise = dp_accounting.calibrate_dp_mechanism(
        adapter.PRVCoreAccountant,
        event,
        2.0,
        DELTA,
        dp_accounting.ExplicitBracketInterval(0.5, 3.0),
        tol=1e-3,
    )
    lower, _, upper = prv.dpsgd_epsilon(noise, 0.02, 200, DELTA)
    assert upper <= 2.0
    assert lower >= 1.98


def test_an_event_without_privacy_has_none(adapter):
    accountant = adapter.PRVCoreAccountant().compose(dp_event.NonPrivateDpEvent())
    assert accountant.get_epsilon(0.5) == math.inf
    assert accountant.get_delta(7.0) == 1.0


@pytest.mark.parametrize(
    "event",
    [
        dp_event.UnsupportedDpEvent(),
        dp_event.ZCDpEvent(0.1),
        dp_event.GaussianDpEvent(-1.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.ZCDpEvent(0.1)),
    ],
)
def test_other_events_are_refused_and_nothing_is_recorded(adapter, event):
    accountant = adapter.PRVCoreAccountant()
    both = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), event])
    assert not accountant.supports(both)
    with pytest.raises(dp_accounting.UnsupportedEventError):
        accountant.compose(both)
    assert accountant.accountant.history == ()


def test_what_is_no_neighbouring_relation_is_refused(adapter):
    with pytest.raises(ValueError, match="neighboring_relation must be a NeighboringRelation"):
        adapter.PRVCoreAccountant("replace-one")


@pytest.mark.parametrize("neighbors", ["add", "remove", "replace-one", "add-or-remove"])
def test_neighbors_are_those_of_the_relation(adapter, neighbors):
    """One direction is not ADD_OR_REMOVE_ONE: of a sampled Gaussian it would say 0.75 for 2.86."""
    with pytest.raises(TypeError, match="takes no neighbors"):
        adapter.PRVCoreAccountant(neighbors=neighbors)
    sampled = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0))
    found = adapter.PRVCoreAccountant().compose(sampled, 10)
    truth = prv.eps_from_delta(prv.PoissonSubsampledGaussian(1.0, 0.1), 1e-5, 10)
    assert found.get_epsilon(1e-5) == truth.upper > 2.85


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.DiscreteLaplaceDpEvent(0, 1),
        dp_event.DiscreteLaplaceDpEvent(0.0, 3),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.999, 1.0])
def test_nothing_bounds_an_event_without_privacy(adapter, event, delta):
    """As in every accountant of dp-accounting, whose interface says infinite at any delta."""
    from dp_accounting.pld import pld_privacy_accountant

    accountant = adapter.PRVCoreAccountant()
    accountant.compose(dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), event]))
    theirs = pld_privacy_accountant.PLDAccountant().compose(event)
    assert accountant.get_epsilon(delta) == theirs.get_epsilon(delta) == math.inf
    assert accountant.get_delta(3.0) == theirs.get_delta(3.0) == 1.0


def nested(event, depth):
    for _ in range(depth):
        event = dp_event.SelfComposedDpEvent(event, 1)
    return event


def sampled(event, depth):
    for _ in range(depth):
        event = dp_event.PoissonSampledDpEvent(0.999, event)
    return event


GAUSSIAN, LAPLACE = dp_event.GaussianDpEvent(1.0), dp_event.LaplaceDpEvent(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        dp_event.DiscreteLaplaceDpEvent(1e-310, 1),
        dp_event.DiscreteLaplaceDpEvent(math.nan, 1),
        dp_event.DiscreteLaplaceDpEvent(1.0, 2**40),
        dp_event.DiscreteLaplaceDpEvent(1.0, 10**400),
        dp_event.DiscreteLaplaceDpEvent(1.0, 1.5),
        dp_event.GaussianDpEvent(math.inf),
        dp_event.GaussianDpEvent(10**400),
        dp_event.GaussianDpEvent("1"),
        dp_event.GaussianDpEvent(None),
        dp_event.LaplaceDpEvent(-1.0),
        dp_event.PoissonSampledDpEvent(1.5, GAUSSIAN),
        dp_event.PoissonSampledDpEvent(math.nan, GAUSSIAN),
        dp_event.PoissonSampledDpEvent("half", LAPLACE),
        dp_event.PoissonSampledDpEvent(0.5, None),
        dp_event.PoissonSampledDpEvent(1e-200, dp_event.PoissonSampledDpEvent(1e-200, LAPLACE)),
        dp_event.SelfComposedDpEvent(GAUSSIAN, -1),
        dp_event.SelfComposedDpEvent(GAUSSIAN, 1.5),
        dp_event.SelfComposedDpEvent(GAUSSIAN, math.nan),
        dp_event.SelfComposedDpEvent(GAUSSIAN, 2**53 + 1),
        dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(GAUSSIAN, 2**40), 2**40),
        dp_event.SelfComposedDpEvent(None, 1),
        dp_event.ComposedDpEvent([GAUSSIAN, None]),
        dp_event.ComposedDpEvent(5),
        dp_event.ComposedDpEvent(event for event in [GAUSSIAN, GAUSSIAN]),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.6]),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [], []),
        dp_event.MixtureOfGaussiansDpEvent(1.0, "ab", None),
        sampled(LAPLACE, 3000),
        nested(GAUSSIAN, 200),
    ],
    ids=lambda event: type(event).__name__,
)
def test_whatever_is_asked_is_supported_or_refused(adapter, event):
    """`supports` says which, and never raises; a refusal leaves no trace."""
    accountant = adapter.PRVCoreAccountant()
    supported = accountant.supports(event)
    if supported:
        accountant.compose(event, 2)
        assert accountant.accountant.steps == 2 or isinstance(
            event, dp_event.DiscreteLaplaceDpEvent
        )
        assert accountant.get_epsilon(1e-3) >= 0.0
        return
    details = accountant._maybe_compose(event, 1, False)
    assert details.error_message
    assert accountant._maybe_compose(dp_event.ComposedDpEvent([GAUSSIAN, event]), 1, True)
    assert accountant.accountant.history == ()


def test_counts_beyond_all_are_refused_as_a_whole(adapter):
    accountant = adapter.PRVCoreAccountant().compose(GAUSSIAN, 2**53 - 3)
    both = dp_event.ComposedDpEvent([GAUSSIAN, LAPLACE])
    accountant.compose(both)
    for count in (1, 2**53, 2**60):
        with pytest.raises(dp_accounting.UnsupportedEventError, match="9007199254740992"):
            accountant.compose(both, count)
    assert accountant.accountant.steps == 2**53 - 1


@pytest.mark.slow
def test_a_mixture_of_gaussians_is_one(adapter):
    event = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])
    found = adapter.PRVCoreAccountant().compose(event, 5)
    mixture = prv.MixtureOfGaussians(2.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])
    assert found.accountant.history == ((mixture, 5),)
    from dp_accounting.pld import pld_privacy_accountant

    theirs = pld_privacy_accountant.PLDAccountant(value_discretization_interval=0.01)
    coarse = theirs.compose(event, 5).get_epsilon(1e-5)
    assert found.bounds(1e-5).lower <= coarse <= found.get_epsilon(1e-5) + 0.01


@pytest.mark.slow
def test_a_truncated_sample_is_one(adapter):
    from dp_accounting.pld import pld_privacy_accountant

    event = dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 12, 1.0)
    found = adapter.PRVCoreAccountant().compose(event, 20)
    truncated = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.01, 1000, 12)
    assert found.accountant.history == ((truncated, 20),)
    theirs = pld_privacy_accountant.PLDAccountant(value_discretization_interval=0.01)
    assert found.bounds(1e-5).lower <= theirs.compose(event, 20).get_epsilon(1e-5)  # looser
    for nothing in ((0, 0.01, 12), (1000, 0.01, 0), (1000, 0.0, 12)):
        event = dp_event.TruncatedSubsampledGaussianDpEvent(*nothing, 1.0)
        assert adapter.PRVCoreAccountant().compose(event).get_epsilon(1e-5) == 0.0
    for size in (-1, 1.5, 2**33, None):
        event = dp_event.TruncatedSubsampledGaussianDpEvent(size, 0.01, 12, 1.0)
        assert not adapter.PRVCoreAccountant().supports(event)


PLDS = {
    "gaussian": lambda pld, interval: pld.from_gaussian_mechanism(
        2.0, value_discretization_interval=interval
    ),
    "subsampled": lambda pld, interval: pld.from_gaussian_mechanism(
        0.8, sampling_prob=0.05, value_discretization_interval=interval
    ),
    "randomized response": lambda pld, interval: pld.from_privacy_parameters(
        dp_accounting.pld.common.DifferentialPrivacyParameters(0.5, 1e-4),
        value_discretization_interval=interval,
    ),
}
MECHANISMS = {
    "gaussian": prv.Gaussian(2.0),
    "subsampled": prv.PoissonSubsampledGaussian(0.8, 0.05),
    "randomized response": prv.ApproximateDP(0.5, 1e-4),
}


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("name", PLDS)
def test_tables_dominate_the_distribution_and_so_the_mechanism(adapter, pld, name, count):
    theirs = PLDS[name](pld, 1e-2).self_compose(count)
    tables = adapter.mechanisms_from_pld(theirs)
    epsilons = np.linspace(-1.0, 4.0, 11)
    pmfs = {"remove": theirs._pmf_remove, "add": theirs._pmf_add}
    for direction, table in tables._asdict().items():
        found = prv.compose(table, neighbors=direction).delta(epsilons)
        said = pmfs[direction].get_delta_for_epsilon(epsilons)
        exact = prv.compose(MECHANISMS[name], count, neighbors=direction).delta(epsilons)
        assert np.all(found.upper >= said - 1e-14)
        assert np.all(found.upper >= exact.lower - 1e-14)
        assert np.allclose(found.estimate, said, rtol=2e-3, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLDS)
def test_tables_may_be_composed_further(adapter, pld, name):
    found = adapter.mechanisms_from_pld(PLDS[name](pld, 1e-3)).epsilon(1e-3, 10)
    lower, _, upper = prv.compose(MECHANISMS[name], 10).epsilon(1e-3)
    assert lower <= found <= 1.02 * upper


def test_an_optimistic_distribution_is_refused(adapter, pld):
    optimistic = pld.from_gaussian_mechanism(
        1.0,
        pessimistic_estimate=False,
        value_discretization_interval=1e-2,
        use_connect_dots=False,
    )
    with pytest.raises(ValueError, match="pld must be pessimistic"):
        adapter.mechanisms_from_pld(optimistic)
    with pytest.raises(TypeError, match="pld must be a PrivacyLossDistribution"):
        adapter.mechanisms_from_pld(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "count", "slack"),
    [
        (prv.Gaussian(2.0), 3, 1e-12),
        (prv.PoissonSubsampledGaussian(0.8, 0.05), 10, 1e-12),
        (prv.Laplace(2.0), 2, 1e-3),  # whose curve ends in a corner, which a line cuts
    ],
)
def test_a_distribution_made_of_a_curve_dominates_it(adapter, mechanism, count, slack):
    curve = prv.compose(mechanism, count)
    made = adapter.pld_from_curve(curve, value_discretization_interval=1e-3, points=400)
    epsilons = np.linspace(-2.0, 5.0, 15)
    for direction, pmf in (("remove", made._pmf_remove), ("add", made._pmf_add)):
        exact = prv.compose(mechanism, count, neighbors=direction).delta(epsilons)
        found = pmf.get_delta_for_epsilon(epsilons)
        assert np.all(found >= exact.lower - 1e-14)
        assert np.all(found <= exact.upper * 1.05 + slack)


@pytest.mark.slow
def test_far_losses_cost_little_more_than_the_lines_between_them(adapter):
    """A curve e^(-s epsilon) rises by (s + 1) h^2 / 8 in epsilon on the line over e^epsilon."""
    curve = prv.compose(prv.PoissonSubsampledGaussian(0.3, 0.5), 100)
    made = adapter.pld_from_curve(curve, points=200)
    apart = np.diff(np.flatnonzero(made._pmf_remove.to_dense_pmf()._probs)).max() * 1e-4
    assert apart > 2.0
    deltas = np.array([1e-1, 1e-4, 1e-8])
    exact = curve.epsilon(deltas)
    slopes = np.log(curve.delta(exact.upper + 1.0).upper / deltas) / -1.0
    lines = (slopes + 1.0) * apart**2 / 8.0
    found = np.array([made.get_epsilon_for_delta(delta) for delta in deltas])
    assert np.all(exact.lower <= found)
    assert np.all(found <= exact.upper * (1 + 2.5e-4) + 1.3 * lines)


@pytest.mark.slow
def test_there_and_back_is_still_an_upper_bound_after_composition(adapter):
    mechanism = prv.PoissonSubsampledGaussian(0.8, 0.05)
    made = adapter.pld_from_curve(
        prv.compose(mechanism), value_discretization_interval=1e-3, points=2000
    )
    lower, _, upper = prv.compose(mechanism, 30).epsilon(1e-4)
    assert lower <= made.self_compose(30).get_epsilon_for_delta(1e-4) <= 1.02 * upper
    assert lower <= adapter.mechanisms_from_pld(made).epsilon(1e-4, 30) <= 1.02 * upper


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tail": 1e-7}, ValueError, "tail must be above the mass at infinite loss"),
        ({"points": 1}, ValueError, r"points must be in \[2, \d+\], got 1"),
        ({"value_discretization_interval": 0.0}, ValueError, "value_discretization_interval must"),
        ({"tail": 1.0}, ValueError, r"tail must be in \(0, 1\), got 1.0"),
    ],
)
def test_bad_arguments_of_a_conversion_are_named(adapter, arguments, error, message):
    with pytest.raises(error, match=message):
        adapter.pld_from_curve(prv.compose(prv.ApproximateDP(0.1, 1e-6)), **arguments)
    with pytest.raises(TypeError, match="curve must be a PrivacyCurve"):
        adapter.pld_from_curve(prv.Gaussian(1.0), **arguments)
