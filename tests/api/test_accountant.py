"""Accountants: what they merge, answer, keep as JSON and pickle, and refuse."""

import copy
import json
import math
import pickle
import random
import types
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import prvcore as prv
from prvcore.files.mechanisms import mechanism_from_dict, mechanism_to_dict
from tests.support.examples import ALL, BUILT_IN, gaussian_delta, name

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-2)
DELTA = 1e-6


def filled(**options):
    accountant = prv.Accountant(**options)
    accountant.step(noise_multiplier=0.8, sampling_probability=1e-2, count=100)
    accountant.add(prv.Laplace(20.0))
    accountant.step(noise_multiplier=1.1, sampling_probability=0.1 + 0.2, count=20)
    accountant.step(noise_multiplier=0.8, sampling_probability=1e-2, count=50)
    return accountant


def test_equal_mechanisms_are_merged_in_the_order_in_which_they_first_ran():
    accountant = filled()
    assert accountant.history == (
        (STEP, 150),
        (prv.Laplace(20.0), 1),
        (prv.PoissonSubsampledGaussian(1.1, 0.1 + 0.2), 20),
    )
    assert accountant.steps == 171


def test_a_step_that_is_not_sampled_is_gaussian():
    accountant = prv.Accountant()
    accountant.step(noise_multiplier=5.0, count=3)
    assert accountant.epsilon(DELTA) == prv.compose(
        prv.PoissonSubsampledGaussian(5.0, 1.0), 3
    ).epsilon(DELTA)


def test_answers_are_those_of_one_composition():
    accountant = filled(neighbors="add", eps_error=1e-2)
    curve = prv.compose(accountant.history, neighbors="add", eps_error=1e-2)
    assert accountant.curve() == curve
    assert accountant.epsilon(DELTA) == curve.epsilon(DELTA)
    assert accountant.delta(0.5) == curve.delta(0.5)
    deltas = np.array([[1e-3, 1e-9]])
    for found, expected in zip(accountant.epsilon(deltas), curve.epsilon(deltas), strict=True):
        assert np.array_equal(found, expected)


def test_queries_on_the_way_change_nothing():
    asked, silent = prv.Accountant(), prv.Accountant()
    spent = []
    for _ in range(5):
        for _ in range(20):
            asked.step(noise_multiplier=0.8, sampling_probability=1e-2)
            silent.step(noise_multiplier=0.8, sampling_probability=1e-2)
        spent.append(asked.epsilon(DELTA))
        assert spent[-1] == prv.dpsgd_epsilon(0.8, 1e-2, asked.steps, DELTA)
        assert asked.epsilon(DELTA) is spent[-1]  # nothing has run: nothing is computed
    assert asked.epsilon(DELTA) == silent.epsilon(DELTA)
    assert all(before.lower < after.lower for before, after in pairwise(spent))


def test_the_order_of_steps_does_not_matter():
    runs = [(STEP, 30), (prv.Laplace(20.0), 2), (prv.Gaussian(9.0), 5), (STEP, 7)]
    answers = set()
    for seed in range(4):
        random.Random(seed).shuffle(runs)
        accountant = prv.Accountant()
        for mechanism, count in runs:
            accountant.add(mechanism, count)
        answers.add(accountant.epsilon(DELTA))
    assert len(answers) == 1


def own_noise(epochs, *, noise_multiplier=1.5, decay=0.99, **options):
    """Run epochs, each with noise of its own, and a query after each."""
    accountant = prv.Accountant(**options)
    for epoch in range(epochs):
        accountant.step(
            noise_multiplier=noise_multiplier * decay**epoch, sampling_probability=0.01, count=100
        )
        yield accountant


@pytest.mark.slow
@pytest.mark.parametrize("decay", [1.01, 0.99, 0.95], ids=["more", "less", "much less"])
def test_a_history_that_is_kept_and_one_composition_hold_the_same_truth(decay):
    for accountant in own_noise(30, decay=decay):
        kept, whole = accountant.epsilon(DELTA), accountant.curve().epsilon(DELTA)
        assert max(kept.lower, whole.lower) <= min(kept.upper, whole.upper)
        assert kept.upper - kept.lower <= 1e-3 * max(kept.lower, 1e-3) * (1 + 1e-9)
        kept, whole = accountant.delta(1.0), accountant.curve().delta(1.0)
        assert max(kept.lower, whole.lower) <= min(kept.upper, whole.upper)


@pytest.mark.slow
def test_a_history_of_gaussians_has_the_closed_form():
    accountant, square = prv.Accountant(eps_error=1e-4), 0.0
    for i in range(40):
        accountant.step(noise_multiplier=20.0 + i, count=3)
        square += 3 / (20.0 + i) ** 2
        epsilon = 0.5
        lower, _, upper = accountant.epsilon(gaussian_delta(epsilon, math.sqrt(square)))
        assert lower <= epsilon <= upper
        assert upper - lower <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"neighbors": "replace-one"}, {"engine": "convolution"}])
def test_what_was_asked_on_the_way_changes_no_bits(options):
    *_, asked = (a for a in own_noise(12, **options) if a.epsilon(DELTA) and a.delta([0.5, 2.0]))
    asked.step(noise_multiplier=1.5, sampling_probability=0.01, count=7)  # the first one runs again
    asked.epsilon([1e-3, *np.logspace(-4, -12, 9)])  # more than are kept
    for other in (asked.copy(), prv.Accountant.from_json(asked.to_json()), copy.copy(asked)):
        assert other.epsilon(DELTA) == asked.epsilon(DELTA)
        assert other.delta(0.5) == asked.delta(0.5)


@pytest.mark.slow
def test_threads_may_ask_one_history():
    *_, accountant = own_noise(20)
    deltas = [10.0**-n for n in range(3, 11)]
    expected = [accountant.copy().epsilon(np.array(delta)) for delta in deltas]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            # arrays are not answered from memory
            found = pool.map(lambda delta: accountant.epsilon(np.array(delta)), deltas)
            assert list(found) == expected


def test_nothing_has_been_spent_at_first():
    assert prv.Accountant().epsilon(0.0) == (0.0, 0.0, 0.0)
    accountant = prv.Accountant()
    accountant.add(STEP, 0)
    assert accountant.history == ()


@pytest.mark.parametrize("options", [{}, {"neighbors": "remove", "eps_error": 0.1 + 0.2}])
def test_json_restores_the_bits(options):
    accountant = filled(**options)
    text = accountant.to_json()
    again = prv.Accountant.from_json(text)
    assert again == accountant
    assert again.history == accountant.history
    assert again.steps == accountant.steps
    assert again.options == options
    assert again.epsilon(DELTA) == accountant.epsilon(DELTA)
    assert again.to_json() == text
    again.add(STEP)
    assert again != accountant


@pytest.mark.parametrize("mechanism", [*BUILT_IN, ALL[-2]], ids=name)
def test_each_mechanism_is_restored(mechanism):
    values = json.loads(json.dumps(mechanism_to_dict(mechanism), allow_nan=False))
    again = mechanism_from_dict(values)
    assert type(again) is type(mechanism)
    assert again == mechanism
    assert again._key() == mechanism._key()


@pytest.mark.parametrize("mechanism", [ALL[-3], ALL[-1]], ids=name)
def test_functions_cannot_be_saved(mechanism):
    accountant = prv.Accountant()
    accountant.add(mechanism)
    with pytest.raises(TypeError, match=r"cannot be saved: its .* is a function"):
        accountant.to_json()


def changed(**changes):
    values = json.loads(filled().to_json())
    values.update(changes)
    return json.dumps(values)


def nested(depth):
    noise = '{"type": "Gaussian", "noise_multiplier": 1.0}'
    around = '{"type": "PoissonSubsampled", "sampling_probability": 0.9, "mechanism": '
    mechanism = around * (depth - 1) + noise + "}" * (depth - 1)
    return (
        filled()
        .to_json()
        .replace('"history": [', f'"history": [{{"mechanism": {mechanism}, "count": 1}}, ')
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{}", ValueError, "text must be what Accountant.to_json returned"),
        ("[1]", ValueError, "text must be what Accountant.to_json returned"),
        ("{", ValueError, "Expecting property name"),
        ("[" * 100_000, ValueError, "text must be what Accountant.to_json returned"),
        (3, TypeError, "text must be a str or bytes"),
        ('{"options": ' + '{"a": ' * 100_000, ValueError, "it is nested too deeply"),
        (filled().to_json().replace('"version"', '"version": 1, "version"'), ValueError, "twice"),
        (
            filled().to_json().replace('"count"', '"count": 1, "count"'),
            ValueError,
            "'count' is given",
        ),
        (filled().to_json().replace("150", "NaN"), ValueError, "numbers must be finite, got NaN"),
        (nested(65), ValueError, "nested at most 64 deep"),
        (nested(5000), ValueError, "nested"),
        (changed(options=None), ValueError, "it must have options and a history"),
        (changed(history={"a": 1}), ValueError, "it must have options and a history"),
        (changed(history=[3]), ValueError, r"history\[0\] must have a mechanism and a count"),
        (changed(history=[{"count": 1}]), ValueError, r"history\[0\] must have a mechanism"),
        (changed(version=99), ValueError, "version must be 1, got 99"),
        (changed(options={"neighbors": "no"}), ValueError, "neighbors must be one of"),
        (changed(history=[{"mechanism": 3, "count": 1}]), TypeError, "a mechanism must be a map"),
        (
            changed(history=[{"mechanism": {"type": "Mechanism"}, "count": 1}]),
            ValueError,
            "type must be one of .*Gaussian.*, got 'Mechanism'",
        ),
        (
            changed(history=[{"mechanism": {"type": "Gaussian"}, "count": 1}]),
            ValueError,
            "Gaussian must have noise_multiplier, got ",
        ),
        (
            changed(
                history=[{"mechanism": {"type": "Gaussian", "noise_multiplier": -1}, "count": 1}]
            ),
            ValueError,
            "noise_multiplier must be finite",
        ),
        (
            changed(
                history=[{"mechanism": {"type": "Gaussian", "noise_multiplier": 1}, "count": 0.5}]
            ),
            ValueError,
            "count must be an integer",
        ),
    ],
)
def test_what_was_not_saved_is_refused(text, error, message):
    with pytest.raises(error, match=message):
        prv.Accountant.from_json(text)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a)), prv.Accountant.copy],
)
def test_a_copy_goes_on_by_itself(duplicate):
    accountant = filled(neighbors="remove")
    before, history = accountant.epsilon(DELTA), accountant.history
    other = duplicate(accountant)
    assert other == accountant
    other.step(noise_multiplier=0.8, sampling_probability=1e-2, count=1000)
    assert accountant.history == history
    assert accountant.epsilon(DELTA) == before
    assert other.epsilon(DELTA).lower > before.upper
    assert other.steps == accountant.steps + 1000


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"noise_multiplier": -1.0}, ValueError, "noise_multiplier must be finite"),
        ({"noise_multiplier": 1.0, "sampling_probability": 2}, ValueError, "sampling_probability"),
        ({"noise_multiplier": 1.0, "count": 1.5}, ValueError, "count must be an integer"),
        ({"noise_multiplier": 1.0, "count": 2**53 - 3}, ValueError, "counts must add up to"),
    ],
)
def test_what_is_refused_is_not_recorded(arguments, error, message):
    accountant = prv.Accountant()
    accountant.add(STEP, 4)
    with pytest.raises(error, match=message):
        accountant.step(**arguments)
    assert accountant.history == ((STEP, 4),)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="neighbors must be one of"):
        prv.Accountant(neighbors="both")
    with pytest.raises(TypeError, match="mechanism must be a mechanism of prvcore, got 3"):
        prv.Accountant().add(3)
    with pytest.raises(TypeError, match=r"beside must be a mechanism, or an iterable .* got 3"):
        prv.Accountant().step(noise_multiplier=1, beside=3)
    with pytest.raises(TypeError, match=r"beside\[1\] must be a mechanism or a pair .* got 3"):
        prv.Accountant().step(noise_multiplier=1, beside=[prv.Gaussian(1), 3])
    with pytest.raises(ValueError, match=r"delta must be in \[0, 1\], got 2.0"):
        prv.Accountant().epsilon(2.0)


def test_a_warning_points_to_who_asks(memory_limit):
    accountant = prv.Accountant(eps_error=1e-7)
    accountant.add(STEP, 1000)
    prv.set_memory_limit(2**20)
    with pytest.warns(prv.AccuracyWarning) as caught:
        accountant.epsilon(DELTA)
    assert caught[0].filename == __file__


def test_repr_tells_the_history_and_the_options():
    accountant = prv.Accountant(eps_error=0.25)
    accountant.add(prv.Gaussian(2.0), 3)
    told = "Accountant(history=[(Gaussian(noise_multiplier=2.0), 3)], eps_error=0.25)"
    assert repr(accountant) == told
    assert accountant != told


OPACUS = [(1.1, 0.01, 400), (0.9, 0.01, 300), (1.1, 0.01, 100)]


@pytest.mark.parametrize(
    "given",
    [
        OPACUS,
        {"history": OPACUS, "mechanism": "rdp"},
        types.SimpleNamespace(history=OPACUS),
        [list(run) for run in OPACUS],
    ],
    ids=["history", "state", "accountant", "lists"],
)
def test_a_run_that_opacus_recorded_is_read(given):
    accountant = prv.Accountant.from_opacus(given, neighbors="remove")
    steps = [(prv.PoissonSubsampledGaussian(noise, rate), n) for noise, rate, n in OPACUS]
    assert accountant.curve() == prv.compose(steps, neighbors="remove")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([(1.0, 1.2, 1)], ValueError, r"the sample rate of history\[0\] must be in \[0, 1\]"),
        ([(1.0, 0.1, 1), (-1, 0.1, 1)], ValueError, r"the noise multiplier of history\[1\]"),
        ([(1.0, 0.1, 0.5)], ValueError, r"the steps of history\[0\] must be an integer"),
        ([(1.0, 0.1)], TypeError, "history must be an accountant of Opacus"),
        ({"alphas": [2]}, TypeError, "history must be an accountant of Opacus"),
        (None, TypeError, "history must be an accountant of Opacus"),
    ],
)
def test_what_opacus_did_not_record_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        prv.Accountant.from_opacus(given)
