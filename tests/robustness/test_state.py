"""What accountants, filters and odometers say is of what they hold, whatever comes between."""

import sys
import threading
from pathlib import Path

import pytest

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(0.9, 0.01)
OTHER = prv.PoissonSubsampledGaussian(0.7, 0.02)
DELTA = 1e-5
PACKAGE = Path(prv.__file__).parent
WATCHED = {str(path) for path in (PACKAGE / "budgets").glob("*.py")}
WATCHED.add(str(PACKAGE / "adapters" / "dp_accounting.py"))


class Interrupt(BaseException):
    """Comes between any two instructions, as Ctrl-C does."""


def between(work, place, intrude):
    """Run `work`, and `intrude` before the instruction of this number of the watched modules.

    Returns what `work` did, and whether there were so many instructions.
    """
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename not in WATCHED:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            if seen == place:
                sys.settrace(None)
                seen += 1
                intrude()
                return None
            seen += 1
        return trace

    sys.settrace(trace)
    try:
        found = work()
    finally:
        sys.settrace(None)
    return found, seen > place


def places(make, intrude):
    """Yield an object, and what was found, for each place at which work on it was intruded upon.

    `make` returns the object and the work; `intrude` takes the object.
    """
    place = 0
    while True:
        thing, work = make()
        try:
            found, reached = between(work, place, lambda thing=thing: intrude(thing))
        except Interrupt:
            found, reached = None, True
        if not reached:
            break
        yield thing, found
        place += 1
    assert place > 10


def raise_interrupt(_):
    raise Interrupt


def filled(distinct):
    """Return an accountant of so many mechanisms: of 4 and more, what was computed is kept."""
    accountant = prv.Accountant(eps_error=0.1)
    for i in range(distinct):
        accountant.step(noise_multiplier=1.0 + i / 8, sampling_probability=0.01, count=100)
    return accountant


def truth(accountant):
    return prv.Accountant.from_json(accountant.to_json()).epsilon(DELTA)


QUESTIONS = {
    "epsilon": lambda accountant: accountant.epsilon(DELTA),
    "curve": lambda accountant: accountant.curve().epsilon(DELTA),
    "odometer": lambda accountant: (
        prv.PrivacyOdometer(accountant, DELTA, readings=1).read().epsilon
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("distinct", [2, 4])
def test_what_is_added_while_something_is_asked_is_not_forgotten(distinct, ask):
    before = ask(filled(distinct))
    after = filled(distinct)
    after.add(OTHER, 50)
    after_curve, after = ask(after), truth(after)

    def make():
        accountant = filled(distinct)
        return accountant, lambda: ask(accountant)

    for accountant, found in places(make, lambda accountant: accountant.add(OTHER, 50)):
        assert found in (before, after, after_curve)
        assert accountant.history[-1] == (OTHER, 50)
        assert accountant.steps == 100 * distinct + 50
        assert accountant.epsilon(DELTA) == after
        assert accountant.curve() == prv.compose(accountant.history, eps_error=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [2, 4])
def test_what_is_asked_while_something_is_added_is_not_kept_too_long(distinct):
    after = filled(distinct)
    after.add(OTHER, 50)
    after = truth(after)

    def make():
        accountant = filled(distinct)
        return accountant, lambda: accountant.add(OTHER, 50)

    for accountant, _ in places(make, lambda accountant: accountant.epsilon(DELTA)):
        assert accountant.epsilon(DELTA) == after


def test_of_two_that_add_at_once_both_are_recorded():
    def make():
        accountant = filled(1)
        return accountant, lambda: accountant.add(OTHER, 50)

    def add_more(accountant):
        for count in (5, 7):
            accountant.add(OTHER, count)

    for accountant, _ in places(make, add_more):
        assert accountant.history[1:] == ((OTHER, 62),)
        assert accountant.steps == 162


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("distinct", [2, 4])
def test_an_addition_that_is_interrupted_is_whole_or_not_there(distinct, asked):
    steps = {"noise_multiplier": 1.0, "sampling_probability": 0.01}
    expected = {}
    for count in (0, 9000):
        accountant = filled(distinct)
        accountant.step(**steps, count=count)
        expected[accountant.history] = truth(accountant)
    seen = set()

    def make():
        accountant = filled(distinct)
        if asked:
            accountant.epsilon(DELTA)
        return accountant, lambda: accountant.step(**steps, count=9000)

    for accountant, _ in places(make, raise_interrupt):
        assert accountant.epsilon(DELTA) == expected[accountant.history]
        assert accountant.steps == sum(count for _, count in accountant.history)
        seen.add(accountant.history)
    assert seen == set(expected)


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [2, 4])
def test_a_question_that_is_interrupted_changes_no_later_one(distinct):
    expected = filled(distinct).epsilon(DELTA)

    def make():
        accountant = filled(distinct)
        return accountant, lambda: accountant.epsilon(DELTA)

    for accountant, _ in places(make, raise_interrupt):
        assert accountant.epsilon(DELTA) == expected


def test_long_runs_of_additions_are_told_as_one_would():
    accountant, one = prv.Accountant(), prv.Accountant()
    for i in range(2000):
        accountant.step(noise_multiplier=1.0 + i % 7, sampling_probability=0.01, count=i)
    for j in range(7):
        one.step(
            noise_multiplier=1.0 + (j + 1) % 7,
            sampling_probability=0.01,
            count=sum(range((j + 1) % 7, 2000, 7)),
        )
    assert accountant.history[0] == one.history[0]
    assert accountant == one


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [2, 7])
def test_threads_that_ask_and_threads_that_add(distinct):
    accountant, done = filled(distinct), threading.Event()

    def ask():
        while not done.is_set():
            accountant.epsilon(DELTA)

    def add(number):
        for i in range(200):
            accountant.step(
                noise_multiplier=0.9, sampling_probability=0.01 + number / 64, count=1 + i
            )

    threads = [threading.Thread(target=ask) for _ in range(2)]
    adding = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads + adding:
        thread.start()
    for thread in adding:
        thread.join()
    done.set()
    for thread in threads:
        thread.join()
    assert {count for _, count in accountant.history[distinct:]} == {sum(range(1, 201))}
    assert accountant.steps == 100 * distinct + 4 * sum(range(1, 201))
    assert accountant.epsilon(DELTA) == truth(accountant)


# ---- Filters ----------------------------------------------------------------------------


def kept_budget(spent):
    budget = prv.PrivacyFilter(prv.Accountant(eps_error=0.1), 1.0, DELTA)
    budget.add(STEP, spent)
    return budget


MOST = prv.calibrate(STEP, epsilon=1.0, delta=DELTA, parameter="steps").value


@pytest.mark.slow
def test_two_that_ask_a_filter_at_once_do_not_both_get_the_rest():
    left, refused = MOST - 20, set()

    def make():
        budget = kept_budget(20)

        def work():
            try:
                budget.add(STEP, left - 1)
            except prv.BudgetExceededError:
                refused.add("first")

        return budget, work

    def take_the_rest(budget):
        try:
            budget.add(STEP, left)
        except prv.BudgetExceededError:
            refused.add("second")

    for budget, _ in places(make, take_the_rest):
        assert budget.accountant.steps in (MOST - 1, MOST)
        assert budget.remaining_steps(noise_multiplier=0.9, sampling_probability=0.01) == (
            MOST - budget.accountant.steps
        )
        assert budget.spent().upper <= 1.0
    assert refused == {"first", "second"}


@pytest.mark.slow
def test_a_filter_that_is_interrupted_keeps_its_budget():
    def make():
        budget = kept_budget(20)
        return budget, lambda: budget.add(STEP, 30)

    seen = set()
    for budget, _ in places(make, raise_interrupt):
        steps = budget.accountant.steps
        seen.add(steps)
        assert budget.remaining_steps(noise_multiplier=0.9, sampling_probability=0.01) == (
            MOST - steps
        )
    assert seen == {20, 50}


@pytest.mark.slow
def test_what_a_filter_says_was_spent_is_not_its_cap_once_others_have_added():
    def make():
        budget = kept_budget(20)
        return budget, budget.spent

    def add_much(budget):
        budget.accountant.add(STEP, 50_000)

    for budget, found in places(make, add_much):
        assert found.upper < 1.0 or found.lower > 1.0
        assert budget.spent().lower > 1.0
        assert budget.remaining_steps(noise_multiplier=0.9, sampling_probability=0.01) == 0


def test_an_adaptive_filter_looks_at_what_others_have_added():
    budget = prv.PrivacyFilter(prv.Accountant(), 1.0, DELTA, adaptive=True)
    budget.step(noise_multiplier=50.0)
    budget.accountant.add(prv.Gaussian(40.0))
    budget.step(noise_multiplier=50.0)
    budget.accountant.add(STEP)
    with pytest.raises(ValueError, match="must be Gaussian without sampling"):
        budget.step(noise_multiplier=50.0)


def test_a_filter_takes_one_mechanism_however_often():
    budget = kept_budget(0)
    for count in (0, 1):
        with pytest.raises(TypeError, match=r"mechanism must be a mechanism of prvcore, got \["):
            budget.add([STEP], count)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        *((prv.PrivacyFilter, name) for name in ("accountant", "epsilon", "delta", "adaptive")),
        *((prv.PrivacyOdometer, name) for name in ("accountant", "delta", "readings", "taken")),
        *((prv.Accountant, name) for name in ("history", "steps", "options")),
    ],
)
def test_what_answers_rest_on_is_read_only(thing, name):
    accountant = filled(1)
    made = {
        prv.PrivacyFilter: lambda: prv.PrivacyFilter(accountant, 1.0, DELTA),
        prv.PrivacyOdometer: lambda: prv.PrivacyOdometer(accountant, DELTA),
        prv.Accountant: lambda: accountant,
    }[thing]()
    value = getattr(made, name)
    with pytest.raises(AttributeError):
        setattr(made, name, value)
    with pytest.raises(AttributeError):
        delattr(made, name)


# ---- Odometers --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("readings", [None, 7])
def test_no_part_of_delta_is_read_twice(readings):
    class Odometer(prv.PrivacyOdometer):
        """One that takes notes."""

    def make():
        odometer = Odometer(filled(1), DELTA, readings=readings)
        odometer.others = []
        return odometer, odometer.read

    for odometer, found in places(make, lambda o: o.others.append(o.read())):
        taken = [found, *odometer.others]
        assert sorted(reading.number for reading in taken) == list(range(1, len(taken) + 1))
        assert sum(reading.delta for reading in taken) <= DELTA
        assert odometer.taken == len(taken)


@pytest.mark.slow
def test_a_reading_that_is_interrupted_was_taken_or_not():
    def make():
        odometer = prv.PrivacyOdometer(filled(1), DELTA, readings=2)
        return odometer, odometer.read

    for odometer, found in places(make, raise_interrupt):
        assert odometer.taken == 1 if found is not None else odometer.taken in (0, 1)


@pytest.mark.slow
def test_an_answer_that_was_too_wide_says_so_each_time_and_is_not_kept(memory_limit):
    accountant = prv.Accountant(eps_error=1e-7)
    accountant.add(STEP, 1000)
    limit = prv.get_memory_limit()
    prv.set_memory_limit(2**20)
    for _ in range(2):
        with pytest.warns(prv.AccuracyWarning, match=f"memory limit of {2**20} bytes"):
            wide = accountant.epsilon(DELTA)
    prv.set_memory_limit(limit)
    close = accountant.epsilon(DELTA)
    assert close.upper - close.lower <= 1e-7 < wide.upper - wide.lower


@pytest.mark.slow
def test_an_event_of_several_is_composed_as_a_whole_or_not_at_all():
    pytest.importorskip("dp_accounting")
    from dp_accounting import dp_event

    from prvcore.adapters.dp_accounting import PRVCoreAccountant

    parts = [dp_event.GaussianDpEvent(3.0), dp_event.LaplaceDpEvent(9.0)]

    def make():
        accountant = PRVCoreAccountant(eps_error=0.1)
        return accountant, lambda: accountant.compose(dp_event.ComposedDpEvent(parts), 3)

    seen = set()
    for accountant, _ in places(make, raise_interrupt):
        history = tuple(count for _, count in accountant.accountant.history)
        seen.add(history)
        accountant.get_epsilon(DELTA)
    assert seen == {(), (3, 3)}
    accountant, _ = make()
    before = accountant.accountant
    with pytest.raises(Exception, match="add up to at most"):
        accountant.compose(dp_event.ComposedDpEvent(parts), 2**53)
    assert before.history == ()
    with pytest.raises(AttributeError):
        accountant.accountant = before
