"""Filters, odometers and remaining steps: how much may still run, and what was spent."""

import copy
import inspect
import math
import pickle
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from tests.support import strategies

STEP = {"noise_multiplier": 0.8, "sampling_probability": 1e-2}
EPSILON, DELTA = 2.0, 1e-6


def certified(history, **options):
    """Bounds far closer than those of an accountant."""
    return prv.compose(history, eps_error=1e-6, **options).epsilon(DELTA)


@pytest.fixture
def budget():
    return prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA)


@pytest.mark.slow
def test_remaining_steps_are_the_most():
    accountant = prv.Accountant(neighbors="remove")
    accountant.add(prv.Laplace(10.0), 2)
    accountant.step(noise_multiplier=1.1, sampling_probability=2e-2, count=100)
    left = accountant.remaining_steps(epsilon=EPSILON, delta=DELTA, **STEP)
    for more, within in ((left, True), (left + 1, False)):
        other = accountant.copy()
        other.step(**STEP, count=more)
        bounds = certified(other.history, neighbors="remove")
        assert bounds.upper <= EPSILON if within else bounds.lower > EPSILON
    assert accountant.remaining_steps(epsilon=0.1, delta=DELTA, **STEP) == 0  # too much has run


def test_remaining_steps_after_many_mechanisms_are_the_most():
    accountant = prv.Accountant()
    for i in range(12):
        accountant.step(noise_multiplier=0.8 + 0.02 * i, sampling_probability=2e-3, count=5)
    left = accountant.remaining_steps(epsilon=1.0, delta=1e-6, **STEP)
    assert left == prv.PrivacyFilter(accountant, 1.0, 1e-6).remaining_steps(**STEP)
    # bounds may cost less than one step
    for more, within in ((left, True), (left + 2, False)):
        other = accountant.copy()
        other.step(**STEP, count=more)
        bounds = certified(other.history)
        assert bounds.lower <= 1.0 if within else bounds.lower > 1.0


def test_a_filter_lets_through_all_that_is_left_and_no_more(budget):
    left = budget.remaining_steps(**STEP)
    assert left == prv.dpsgd_steps(*STEP.values(), EPSILON, DELTA).value
    for _ in range(left - 3):
        budget.step(**STEP)
    assert budget.remaining_steps(**STEP) == 3
    assert budget.allows(**STEP, count=3)
    assert not budget.allows(**STEP, count=4)
    history = budget.accountant.history
    with pytest.raises(prv.BudgetExceededError, match=r"4 more .* would exceed .*: 3 are left"):
        budget.step(**STEP, count=4)
    assert budget.accountant.history == history
    budget.step(**STEP, count=3)
    assert not budget.allows(**STEP)
    assert budget.spent().lower <= budget.spent().upper <= EPSILON
    assert certified(budget.accountant.history).upper <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("beside", [prv.NoisyCount(1.6, centred=True), [prv.Laplace(5.0)]])
def test_what_runs_beside_a_step_counts_wherever_steps_do(budget, beside):
    both = {**STEP, "beside": beside}
    left = budget.remaining_steps(**both)
    assert 0 < left < budget.remaining_steps(**STEP)
    assert left == prv.Accountant().remaining_steps(epsilon=EPSILON, delta=DELTA, **both)
    assert budget.allows(**both, count=left)
    assert not budget.allows(**both, count=left + 1)
    with pytest.raises(prv.BudgetExceededError):
        budget.step(**both, count=left + 1)
    budget.step(**both, count=left)
    recorded = prv.Accountant()
    recorded.step(**both, count=left)
    assert budget.accountant.history == recorded.history
    assert certified(recorded.history).upper <= EPSILON
    recorded.step(**both)
    assert certified(recorded.history).lower > EPSILON


def test_what_cannot_run_beside_a_step_is_not_recorded():
    accountant = prv.Accountant()
    with pytest.raises(ValueError, match="BoundedRange"):
        accountant.step(**STEP, beside=prv.BoundedRange(1.0))
    assert accountant.steps == 0


@pytest.mark.parametrize("call", [prv.Accountant.step, prv.Accountant.remaining_steps])
def test_a_sample_beside_a_step_that_seems_to_be_its_own_is_warned_of(call):
    accountant = prv.Accountant()
    asked = {**STEP} if call is prv.Accountant.step else {**STEP, "epsilon": 1.0, "delta": 1e-5}
    count = prv.NoisyCount(0.8, centred=True)
    twice = prv.PoissonSubsampled(count, STEP["sampling_probability"])
    with pytest.warns(
        UserWarning, match=r"^beside has PoissonSubsampled.* a sample of the"
    ) as told:
        call(accountant, **asked, beside=twice)
    assert told[0].filename == __file__
    # a part of the batch, which may be meant
    call(accountant, **asked, beside=prv.PoissonSubsampled(count, 0.5))
    call(accountant, **asked, beside=count)
    accountant.step(noise_multiplier=1.0, beside=prv.PoissonSubsampled(count, 1.0))


def test_an_adaptive_filter_refuses_what_runs_beside():
    adaptive = prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA, adaptive=True)
    with pytest.raises(ValueError, match="must be Gaussian without sampling"):
        adaptive.step(noise_multiplier=20.0, beside=prv.Laplace(5.0))
    assert adaptive.accountant.steps == 0


CALLS = {  # by what they take, in this order
    "step": "noise_multiplier=..., sampling_probability=..., count=..., beside=...",
    "allows": "noise_multiplier=..., sampling_probability=..., count=..., beside=...",
    "remaining_steps": "noise_multiplier=..., sampling_probability=..., beside=...",
}


@pytest.mark.parametrize(("name", "named"), CALLS.items())
def test_arguments_without_names_are_told_their_names(budget, name, named):
    with pytest.raises(TypeError) as refused:
        getattr(budget, name)(0.8, 1e-2, 3)
    assert str(refused.value) == (
        f"PrivacyFilter.{name} takes its arguments by name: {name}({named})"
    )
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
        getattr(budget, name)(sampling_probability=1e-2)


def test_an_accountant_tells_the_names_too():
    accountant = prv.Accountant()
    with pytest.raises(
        TypeError, match=r"^Accountant.step takes .*: step\(noise_multiplier=\.\.\."
    ):
        accountant.step(1.1, 1e-2, 100)
    with pytest.raises(TypeError, match=r"remaining_steps\(epsilon=\.\.\., delta=\.\.\., noise"):
        accountant.remaining_steps(2.0, 1e-5)
    assert accountant.steps == 0
    with pytest.raises(
        TypeError, match=r"^calibrate takes its last .*: calibrate\(mechanisms, counts, "
    ):
        prv.calibrate(prv.Gaussian(1.0), 10, 8.0, 1e-5)
    with pytest.raises(
        TypeError, match=r"clipping_noise\(noise_multiplier, deviation, centred=\.\.\."
    ):
        prv.adaptive_clipping_noise(1.0, 0.8, True)
    assert inspect.signature(accountant.step).parameters["count"].default == 1


@pytest.fixture
def decisions(monkeypatch):
    """Record the curves of which a filter asked whether they are within its budget."""
    asked, is_within = [], prv.PrivacyCurve._is_within

    def recorded(curve, *arguments):
        asked.append(curve)
        return is_within(curve, *arguments)

    monkeypatch.setattr(prv.PrivacyCurve, "_is_within", recorded)
    return asked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # a table of one atom is wide
@settings(max_examples=30)
@given(
    st.lists(st.tuples(strategies.mechanisms, strategies.counts), min_size=1, max_size=4),
    strategies.log_uniform(0.1, 10.0),
    strategies.log_uniform(1e-12, 1e-3),
)
def test_mechanisms_of_all_kinds_fit_where_closer_bounds_say_so(steps, epsilon, delta):
    budget = prv.PrivacyFilter(prv.Accountant(), epsilon, delta)
    for mechanism, count in steps:
        before = budget.accountant.history
        try:
            budget.add(mechanism, count)
        except prv.BudgetExceededError:
            assert budget.accountant.history == before
            offered = prv.compose([*before, (mechanism, count)], eps_error=0.05 * epsilon)
            assert offered.epsilon(delta).upper > epsilon * (1.0 - 1e-5)
        else:
            recorded = prv.compose(budget.accountant.history, eps_error=0.05 * epsilon)
            assert recorded.epsilon(delta).lower <= epsilon
            assert budget.spent().upper <= epsilon


def test_whether_a_mechanism_fits_is_one_composition(decisions):
    budget = prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA)
    offered = [prv.Laplace(9.0), prv.Gaussian(7.0), prv.PureDP(0.01), prv.DiscreteGaussian(30.0)]
    for asked, mechanism in enumerate(offered, 1):
        budget.add(mechanism)
        assert len(decisions) == asked
    with pytest.raises(
        prv.BudgetExceededError, match=r"3 more of Laplace.* would exceed .* 1e-06$"
    ):
        budget.add(prv.Laplace(0.5), 3)
    assert len(decisions) == len(offered) + 1


def test_steps_one_by_one_take_few_decisions_and_all_that_fit(decisions):
    budget, steps = prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA), 0
    while budget.allows(**STEP):
        budget.step(**STEP)
        steps += 1
    assert steps == prv.dpsgd_steps(*STEP.values(), EPSILON, DELTA).value
    assert len(decisions) <= 4 * math.log2(steps)
    assert len({curve.counts for curve in decisions}) == len(decisions)  # nothing is asked twice


def test_other_mechanisms_count_too(budget):
    first = budget.remaining_steps(**STEP)
    budget.add(prv.Laplace(5.0), 2)
    second = budget.remaining_steps(**STEP)
    assert second < first
    budget.step(**STEP, count=second)
    assert certified(budget.accountant.history).upper <= EPSILON
    with pytest.raises(prv.BudgetExceededError):
        budget.add(prv.Laplace(5.0))
    budget.add(prv.Laplace(1e6), 0)


def test_steps_recorded_elsewhere_are_seen(budget):
    first = budget.remaining_steps(**STEP)
    budget.accountant.step(**STEP, count=10)
    assert budget.remaining_steps(**STEP) == first - 10
    budget.accountant.step(**STEP, count=first)
    assert budget.remaining_steps(**STEP) == 0
    assert budget.spent().lower > EPSILON
    assert not budget.allows(**STEP)
    assert budget.allows(**STEP, count=0)


def paths(mechanisms):
    """Yield, for each number of mechanisms that have run, the chances of its outcomes.

    Of randomized response each outcome is e^epsilon times as probable under one data set as under
    the other; an outcome is a tuple of bits.
    """
    found = {(): (1.0, 1.0)}
    yield found
    for mechanism in mechanisms:
        chance = 1.0 / (1.0 + math.exp(-mechanism.epsilon))
        found = {
            (*bits, bit): (
                q * (chance if bit else 1.0 - chance),
                p * (1.0 - chance if bit else chance),
            )
            for bits, (q, p) in found.items()
            for bit in (False, True)
        }
        yield found


def worst(levels, epsilons):
    """Return the greatest sum of (Q - e^epsilon P)_+ over where one stops, for all rules."""
    value = {}
    for level, epsilon in list(zip(levels, epsilons, strict=True))[::-1]:
        value = {
            bits: max(
                q - math.exp(epsilon) * p,
                value.get((*bits, False), 0.0) + value.get((*bits, True), 0.0),
            )
            for bits, (q, p) in level.items()
        }
    return sum(value.values())


def test_stopping_by_what_is_seen_stays_within_the_budget_of_a_filter():
    epsilon, delta = 1.0, 0.05
    budget = prv.PrivacyFilter(prv.Accountant(), epsilon, delta)
    run = []
    for offered in (0.3, 0.5, 0.2, 0.9, 0.3, 0.1, 0.4, 0.1, 0.05, 0.2):
        try:
            budget.add(prv.PureDP(offered))
        except prv.BudgetExceededError:
            continue
        run.append(prv.PureDP(offered))
    assert 3 < len(run) < 10
    levels = list(paths(run))
    found = worst(levels, [epsilon] * len(levels))
    assert 0.5 * delta < found <= delta  # and the budget is used


@pytest.mark.parametrize("readings", [None, 8])
def test_readings_hold_together_wherever_one_stops(readings):
    delta = 0.02
    run = [prv.PureDP(epsilon) for epsilon in (0.3, 0.2, 0.4, 0.1, 0.3, 0.3, 0.2, 0.5)]
    accountant = prv.Accountant()
    odometer = prv.PrivacyOdometer(accountant, delta, readings=readings)
    taken = []
    for mechanism in run:
        accountant.add(mechanism)
        taken.append(odometer.read())
    assert [reading.number for reading in taken] == list(range(1, 9))
    assert math.fsum(reading.delta for reading in taken) <= delta
    _, *levels = paths(run)  # nobody stops before the first reading
    assert worst(levels, [reading.epsilon.upper for reading in taken]) <= delta
    for mechanism_count, reading in enumerate(taken, start=1):
        alone = prv.compose(run[:mechanism_count]).epsilon(reading.delta)
        found = reading.epsilon  # of an accountant, whose bounds are as close, but not the same
        assert max(found.lower, alone.lower) <= min(found.upper, alone.upper)
        assert found.upper - found.lower <= 1.1e-3 * found.lower


def test_an_odometer_has_as_many_readings_as_were_said():
    odometer = prv.PrivacyOdometer(prv.Accountant(), 1e-5, readings=3, taken=2)
    assert odometer.read().number == 3
    with pytest.raises(ValueError, match="readings must be at most 3, and all have been taken"):
        odometer.read()
    assert prv.PrivacyOdometer(prv.Accountant(), 1e-5, readings=1).read().delta == 1e-5


def test_parameters_may_depend_on_outputs_for_gaussians_alone():
    budget = prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA, adaptive=True)
    budget.step(noise_multiplier=5.0)
    budget.add(prv.Gaussian(7.0), 2)
    for refused in (prv.Laplace(5.0), prv.PoissonSubsampledGaussian(5.0, 0.5)):
        with pytest.raises(ValueError, match="mechanism must be Gaussian without sampling"):
            budget.add(refused)
    # what is left is that of one Gaussian whose squared rate is the sum of theirs
    left = budget.remaining_steps(noise_multiplier=9.0)
    for more, within in ((left, True), (left + 1, False)):
        rate = math.sqrt(1 / 25 + 2 / 49 + more / 81)
        bounds = certified([prv.Gaussian(1.0 / rate)])
        assert bounds.lower <= EPSILON if within else bounds.upper > EPSILON
    accountant = prv.Accountant()
    accountant.add(prv.Laplace(5.0))
    with pytest.raises(ValueError, match="in an adaptive filter"):
        prv.PrivacyFilter(accountant, EPSILON, DELTA, adaptive=True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: prv.PrivacyFilter(3, 1.0, 0.1), TypeError, "accountant must be an Accountant"),
        (lambda: prv.PrivacyFilter(prv.Accountant(), -1.0, 0.1), ValueError, "epsilon must be fin"),
        (
            lambda: prv.PrivacyFilter(prv.Accountant(), 1.0, 2.0),
            ValueError,
            r"delta must be in \[0",
        ),
        (
            lambda: prv.PrivacyFilter(prv.Accountant(), 1.0, 0.1, adaptive=1),
            TypeError,
            "adaptive must be True or False, got 1",
        ),
        (
            lambda: prv.PrivacyFilter(prv.Accountant(mesh_size=1e-3), 1.0, 0.1),
            ValueError,
            "without mesh_size, got .*mesh_size=0.001",
        ),
        (lambda: prv.PrivacyOdometer(3, 0.1), TypeError, "accountant must be an Accountant"),
        (lambda: prv.PrivacyOdometer(prv.Accountant(), 1.1), ValueError, "delta must be in"),
        (
            lambda: prv.PrivacyOdometer(prv.Accountant(), 0.1, readings=0),
            ValueError,
            "readings must be in",
        ),
        (
            lambda: prv.PrivacyOdometer(prv.Accountant(), 0.1, taken=-1),
            ValueError,
            "taken must be in",
        ),
    ],
)
def test_bad_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_samples_of_all_records_are_no_samples_to_an_adaptive_filter():
    budget = prv.PrivacyFilter(prv.Accountant(), 1.0, 1e-5, adaptive=True)
    whole = prv.PoissonSubsampled(prv.PoissonSubsampled(prv.Gaussian(20.0), 1.0), 1.0)
    budget.add(whole, 3)
    for other in (
        prv.PoissonSubsampled(prv.Gaussian(20.0), 1 - 2.0**-53),
        prv.PoissonSubsampled(prv.Laplace(20.0), 1.0),
    ):
        with pytest.raises(ValueError, match="must be Gaussian without sampling"):
            budget.add(other)
    assert budget.accountant.history == ((whole, 3),)


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_restored_filter_counts_what_others_add_to_its_accountant(budget, copied):
    budget.step(**STEP, count=10)
    restored = copied(budget)
    restored.accountant.add(
        prv.Gaussian(0.5)
    )  # as many additions as the one had that was let through
    assert restored.spent().lower > EPSILON
    with pytest.raises(prv.BudgetExceededError):
        restored.step(**STEP)
    assert (budget.epsilon, budget.delta) == (restored.epsilon, restored.delta)
    budget.step(**STEP)


def test_a_restored_adaptive_filter_lets_nothing_through_after_other_mechanisms():
    budget = prv.PrivacyFilter(prv.Accountant(), EPSILON, DELTA, adaptive=True)
    budget.add(prv.Gaussian(50.0))
    restored = pickle.loads(pickle.dumps(budget))
    restored.accountant.add(prv.Laplace(1.0))
    with pytest.raises(ValueError, match="must be Gaussian"):
        restored.add(prv.Gaussian(50.0))


@pytest.mark.slow
def test_an_odometer_of_many_readings_is_pickled():
    odometer = prv.PrivacyOdometer(prv.Accountant(), DELTA)
    other = copy.copy(odometer)  # of the same accountant, whose readings count for both
    for _ in range(3000):
        other.read()
    assert pickle.loads(pickle.dumps(odometer)).taken == 3000
    assert copy.deepcopy(odometer).taken == odometer.taken == 3000


def test_a_filter_of_a_tiny_budget_lets_through_what_fits():
    budget = prv.PrivacyFilter(prv.Accountant(), 1e-12, 1e-20)
    budget.add(prv.Gaussian(1e14))  # an epsilon of 4.4e-14
    assert budget.spent().upper <= 1e-12


@pytest.mark.parametrize(
    ("parts", "fits"),
    [
        ((0.5, 0.25, 0.25), True),
        ((0.3, 0.7), True),
        ((0.375, 0.625), True),
        ((0.1, 0.9), False),  # as floats, by 2.8e-17
        ((0.5, 0.5, 2.0**-60), False),
    ],
)
def test_a_budget_can_be_used_up_by_exact_sums(parts, fits):
    assert (sum(map(Fraction, parts)) <= 1) == fits
    for order in (parts, parts[::-1]):
        budget = prv.PrivacyFilter(prv.Accountant(), 1.0, 0.0)
        for part in order[:-1]:
            budget.add(prv.PureDP(part))
        if fits:
            budget.add(prv.PureDP(order[-1]))
            assert budget.spent().upper == 1.0
        else:
            with pytest.raises(prv.BudgetExceededError):
                budget.add(prv.PureDP(order[-1]))
    room = prv.PrivacyFilter(prv.Accountant(), 1.0 + 1e-9, 0.0)
    for part in parts:
        room.add(prv.PureDP(part))


def test_decimal_numbers_that_do_not_fit_as_stored_are_told_what_to_do():
    budget = prv.PrivacyFilter(prv.Accountant(), epsilon=1.0, delta=0.0)
    budget.add(prv.PureDP(0.1))
    with pytest.raises(prv.BudgetExceededError) as caught:
        budget.add(prv.PureDP(0.9))
    text = str(caught.value)
    assert "The epsilons add up to 2.8e-17 more than the budget" in text
    (larger,) = re.findall(r"epsilon=(\S+)$", text)
    budget = prv.PrivacyFilter(prv.Accountant(), epsilon=float(larger), delta=0.0)
    budget.add(prv.PureDP(0.1))
    budget.add(prv.PureDP(0.9))
    deltas = prv.PrivacyFilter(prv.Accountant(), epsilon=2.0, delta=3e-18)
    deltas.add(prv.ApproximateDP(1.0, 1e-18))
    with pytest.raises(prv.BudgetExceededError, match=r"The deltas add up to .*e-34 more"):
        deltas.add(prv.ApproximateDP(1.0, 2e-18))
    for more in (prv.PureDP(0.95), prv.Gaussian(0.5)):  # these exceed it by more than rounding
        other = prv.PrivacyFilter(prv.Accountant(), epsilon=1.0, delta=1e-6)
        other.add(prv.PureDP(0.1))
        with pytest.raises(prv.BudgetExceededError) as caught:
            other.add(more)
        assert "add up" not in str(caught.value)


def test_a_budget_can_be_used_up_by_exact_sums_of_deltas():
    budget = prv.PrivacyFilter(prv.Accountant(), 0.625, 2.0**-20)
    budget.add(prv.ApproximateDP(0.25, 2.0**-21))
    budget.add(prv.ApproximateDP(0.375, 2.0**-21))
    with pytest.raises(prv.BudgetExceededError):
        budget.add(prv.ApproximateDP(0.0, 2.0**-21))


def test_how_often_gaussian_noise_fits():
    adaptive = prv.PrivacyFilter(prv.Accountant(), 10.0, 1e-5, adaptive=True)
    assert adaptive.remaining_steps(noise_multiplier=2.4) == 23
    for noise, rounds in ((10, 7), (5, 1), (3, 0)):
        budget = prv.PrivacyFilter(prv.Accountant(), 1.0, 1e-5)
        assert budget.remaining_steps(noise_multiplier=noise) == rounds


def test_values_that_people_look_for():
    """Of a schedule, of groups, and of the reference tests of Flower."""
    schedule = prv.compose(
        [
            (prv.PoissonSubsampledGaussian(1.0, 0.4), 20),
            (prv.PoissonSubsampledGaussian(1.0, 0.2), 10),
        ],
        eps_error=1e-5,
    )
    assert f"{schedule.epsilon(1e-5).estimate:.4f}" == "13.1966"
    assert f"{prv.compose(prv.Gaussian(1.2)).epsilon(1e-6).estimate:.5f}" == "3.97570"
    sampled = prv.compose(prv.PoissonSubsampledGaussian(1.2, 0.01), 100).epsilon(1e-6)
    assert f"{sampled.estimate:.4f}" == "0.5588"


def test_budgets_show_what_they_are():
    accountant = prv.Accountant()
    accountant.step(noise_multiplier=1.1, sampling_probability=0.01, count=3)
    names = {**vars(prv.mechanisms), "Accountant": rebuilt}
    for name in ("PoissonSubsampledGaussian", "PrivacyFilter", "PrivacyOdometer"):
        names[name] = getattr(prv, name)
    budget = prv.PrivacyFilter(accountant, epsilon=2.0, delta=1e-5)
    same = eval(repr(budget), names)
    assert same.accountant == accountant
    assert (same.epsilon, same.delta, same.adaptive) == (2.0, 1e-5, False)
    odometer = prv.PrivacyOdometer(accountant, delta=1e-5, readings=10)
    odometer.read()
    same = eval(repr(odometer), names)
    assert same.accountant == accountant
    assert (same.delta, same.readings, same.taken) == (1e-5, 10, 1)


def rebuilt(history):
    """Return an accountant by what its `repr` shows."""
    accountant = prv.Accountant()
    for mechanism, count in history:
        accountant.add(mechanism, count)
    return accountant
