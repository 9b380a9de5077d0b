"""Sweeps over settings of DP-SGD: bits of single calls, executors, errors that name settings."""

import pickle
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import prvcore as prv

NOISES = np.array([0.7, 1.0, 2.5])
PROBABILITIES = np.array([[1e-3], [2e-2]])
STEPS = np.array([3, 900, 20_000])
DELTAS = np.array([1e-3, 1e-8])[:, None, None]
STEP = prv.PoissonSubsampledGaussian(5.0, 0.1)
GRID = (NOISES, PROBABILITIES, STEPS, DELTAS)


def single(noise, probability, steps, point, wanted="epsilon", **options):
    curve = prv.compose(prv.PoissonSubsampledGaussian(noise, probability), int(steps), **options)
    return getattr(curve, wanted)(point)


def same(bounds, expected):
    return all(np.array_equal(a, b) for a, b in zip(bounds, expected, strict=True))


@pytest.fixture(scope="module")
def grid():
    return prv.dpsgd_epsilon(*GRID, workers=1)


@pytest.mark.parametrize("options", [{}, {"neighbors": "add", "eps_error": 1e-2}])
def test_each_setting_has_the_bits_of_a_call_of_its_own(options):
    found = prv.dpsgd_epsilon(*GRID, **options)
    settings = np.broadcast_arrays(*GRID)
    assert found.upper.shape == (2, 2, 3)
    for i in np.ndindex(found.upper.shape):
        alone = single(*(float(part[i]) for part in settings), **options)
        assert tuple(part[i] for part in found) == alone


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_steps_that_share_a_plan_have_the_bits_of_calls_of_their_own(seed):
    rng = np.random.default_rng(seed)
    noise = np.exp(rng.uniform(np.log(0.5), np.log(6.0), (2, 1)))
    probability, deltas = 10.0 ** rng.uniform(-5, -1), 10.0 ** rng.uniform(-10, -5, 2)
    steps = np.unique((10.0 ** rng.uniform(0, 5, 12)).astype(int))
    delta = rng.choice(deltas, steps.size)
    found = prv.dpsgd_epsilon(noise, probability, steps, delta, workers=1 + seed % 2)
    for i, j in np.ndindex(found.upper.shape):
        alone = single(float(noise[i, 0]), probability, steps[j], float(delta[j]))
        assert tuple(part[i, j] for part in found) == alone


def test_delta_is_swept_as_epsilon_is():
    epsilons = np.array([-0.5, 0.0, 1.5, np.inf])
    found = prv.dpsgd_delta(0.8, 1e-3, 500, epsilons)
    alone = [single(0.8, 1e-3, 500, epsilon, "delta") for epsilon in epsilons]
    assert same(found, [np.array(part) for part in zip(*alone, strict=True)])


@pytest.mark.parametrize("workers", [None, 2, 5])
def test_the_number_of_threads_does_not_matter(grid, workers):
    assert same(prv.dpsgd_epsilon(*GRID, workers=workers), grid)


def test_the_order_of_settings_does_not_matter(grid):
    order = np.random.default_rng(0).permutation(grid.upper.size)
    flat = [part.reshape(-1)[order] for part in np.broadcast_arrays(*GRID)]
    found = prv.dpsgd_epsilon(*flat)
    assert same(found, [part.reshape(-1)[order] for part in grid])


@pytest.mark.slow
def test_least_noise_is_that_of_calibrate():
    probabilities, epsilons = np.array([[1e-3], [2e-2]]), np.array([0.5, 4.0, 40.0])
    found = prv.dpsgd_noise_multiplier(probabilities, 500, epsilons, 1e-6)
    assert found.value.shape == (2, 3)
    assert np.all(found.upper <= epsilons)
    assert np.all(found.next_lower > epsilons)
    for i in np.ndindex(2, 3):
        alone = prv.calibrate(
            prv.PoissonSubsampledGaussian(1.0, probabilities[i[0], 0]),
            500,
            epsilon=epsilons[i[1]],
            delta=1e-6,
        )
        assert tuple(part[i] for part in found[:6]) == (
            alone.value,
            alone.bounds.lower,
            alone.bounds.upper,
            alone.next_value,
            alone.next_bounds.lower,
            alone.next_bounds.upper,
        )
        assert {name: value[i] for name, value in found.settings.items()} == {
            "sampling_probability": probabilities[i[0], 0],
            "steps": 500,
            "epsilon": epsilons[i[1]],
            "delta": 1e-6,
        }


def test_most_steps_meet_the_target_and_one_more_does_not():
    found = prv.dpsgd_steps([0.8, 1.5], 1e-2, 3.0, 1e-6, neighbors="remove")
    assert found.value.dtype.kind == "i"
    assert np.array_equal(found.next_value, found.value + 1)
    for steps, follows in ((found.value, False), (found.value + 1, True)):
        lower, _, upper = prv.dpsgd_epsilon(
            [0.8, 1.5], 1e-2, steps, 1e-6, neighbors="remove", eps_error=1e-5
        )
        assert np.all(lower > 3.0 if follows else upper <= 3.0)


def test_there_may_be_no_next_value():
    found = prv.dpsgd_noise_multiplier(1e-8, 10, 1.0, 1e-6)  # hardly anyone is sampled
    assert found.value == 0.0
    assert np.isnan([found.next_value, found.next_lower, found.next_upper]).all()
    assert isinstance(prv.dpsgd_steps(0.8, 1e-3, 1.0, 1e-6).value, int)


def test_a_target_that_cannot_be_met_says_which():
    with pytest.raises(prv.TargetError) as caught:
        prv.dpsgd_noise_multiplier(1e-3, 10, 1.0, [1e-6, 0.0])
    assert any("steps = 10, epsilon = 1.0, delta = 0.0" in note for note in caught.value.__notes__)


class Recorder(Executor):
    """Runs what is submitted at once and keeps it."""

    def __init__(self):
        self.rows = []

    def submit(self, function, /, *arguments, **keywords):
        self.rows.append(arguments[0])
        future = Future()
        future.set_result(function(*arguments, **keywords))
        return future


def test_settings_that_repeat_are_computed_once():
    recorder = Recorder()
    found = prv.dpsgd_epsilon([0.8, 1.0, 0.8] * 50, 1e-3, 100, 1e-6, executor=recorder)
    assert sorted(np.concatenate(recorder.rows)[:, 0]) == [0.8, 1.0]
    assert len(set(found.upper)) == 2


def test_scalars_give_floats_and_settings_are_told():
    found = prv.dpsgd_epsilon(0.8, 1e-3, 100, 1e-6)
    assert found == single(0.8, 1e-3, 100, 1e-6)
    lower, estimate, upper = found
    assert isinstance(upper, float)
    assert lower <= estimate <= upper
    assert found.settings == {
        "noise_multiplier": 0.8,
        "sampling_probability": 1e-3,
        "steps": 100,
        "delta": 1e-6,
    }
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.settings) == (found, found.settings)
    assert repr(found).endswith(f"settings={found.settings!r})")


def test_settings_have_the_shape_of_the_bounds(grid):
    for value, given in zip(grid.settings.values(), GRID, strict=True):
        assert value.shape == grid.upper.shape
        assert np.array_equal(value, np.broadcast_to(given, value.shape))


@pytest.mark.parametrize("executor", [None, Recorder()])
def test_no_settings_have_no_bounds(executor):
    found = prv.dpsgd_epsilon(np.ones((3, 0)), 1e-3, 100, 1e-6, executor=executor)
    assert [part.shape for part in found] == [(3, 0)] * 3


def test_a_pool_of_threads_may_be_given(grid):
    with ThreadPoolExecutor(2) as pool:
        assert same(prv.dpsgd_epsilon(*GRID, executor=pool), grid)
        assert pool.submit(int).result() == 0  # it is not shut down


@pytest.mark.slow
def test_a_pool_of_processes_may_be_given(grid):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(prv.dpsgd_epsilon(*GRID, executor=pool), grid)


@pytest.mark.slow
def test_the_memory_limit_goes_to_other_processes(memory_limit):
    prv.set_memory_limit(20_000)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.warns(prv.AccuracyWarning) as there,
    ):
        far = prv.dpsgd_epsilon([0.5, 5.0], 0.1, 3, 1e-6, executor=pool)
    with pytest.warns(prv.AccuracyWarning) as here:
        near = prv.dpsgd_epsilon([0.5, 5.0], 0.1, 3, 1e-6)
    assert same(far, near)
    assert len(there) == len(here) == 1
    assert str(there[0].message) == str(here[0].message)
    assert " of 2 settings" in str(here[0].message)
    assert here[0].filename == __file__


NARROW = {"eps_error": 1e-9, "memory_limit": 2**16}


@pytest.mark.parametrize(
    "call",
    [
        lambda: prv.dpsgd_schedule(100, 10, 3).epsilon(1.0, 1e-6, **NARROW),
        lambda: prv.dpsgd_schedule(100, 10, 3).report(1.0, 1e-6, **NARROW),
        lambda: prv.dpsgd_delta(1.0, 0.1, 30, 0.3, delta_relative_error=0.0, **NARROW),
        lambda: prv.eps_from_delta(STEP, 1e-6, 30, **NARROW),
        lambda: prv.delta_from_eps(STEP, 0.3, 30, delta_relative_error=0.0, **NARROW),
        lambda: prv.compose(STEP, 30, eps_error=1e-9, mesh_size=0.5).power(0.01),
        lambda: prv.compose(STEP, 30, eps_error=1e-9, mesh_size=0.5).report(delta=1e-6),
    ],
)
def test_a_warning_is_of_the_line_that_called_prvcore(call):
    with pytest.warns(prv.AccuracyWarning) as caught:
        call()
    assert {each.filename for each in caught} == {__file__}


def test_progress_is_shown(capsys):
    prv.dpsgd_epsilon([0.8, 1.0, 0.8], 1e-3, 100, 1e-6, progress=True)
    assert "2/2" in capsys.readouterr().err


def test_without_tqdm_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'prvcore\[sweeps\]'"):
        prv.dpsgd_epsilon(0.8, 1e-3, 100, 1e-6, progress=True)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((-1.0, 0.1, 1, 0.1), {}, ValueError, "noise_multiplier must be finite and >= 0, got -1.0"),
        (
            (1.0, 0.1, [[1], [1, 2]], 0.1),
            {},
            ValueError,
            "steps must be an integer or a regular array",
        ),
        (([1.0, np.nan], 0.1, 1, 0.1), {}, ValueError, "noise_multiplier .* got nan at index 1"),
        ((1.0, 1.5, 1, 0.1), {}, ValueError, r"sampling_probability must be in \[0, 1\], got 1.5"),
        ((1.0, 0.1, 1.5, 0.1), {}, ValueError, "steps must be an integer .* got 1.5"),
        ((1.0, 0.1, True, 0.1), {}, TypeError, "steps must be an integer .* got True"),
        ((1.0, 0.1, [1, -1], 0.1), {}, ValueError, r"steps must be in \[0, \d+\], got -1"),
        ((1.0, 0.1, 10**30, 0.1), {}, ValueError, r"steps must be in \[0, \d+\], got 10+"),
        ((1.0, 0.1, 1, "x"), {}, TypeError, r"delta must be a real number, in \[0, 1\], got 'x'"),
        ((np.ones(2), 0.1, [1, 1, 1], 0.1), {}, ValueError, r"noise_multiplier \(2,\), .* \(3,\)"),
        ((1.0, 0.1, 1, 0.1), {"workers": 0}, ValueError, r"workers must be in \[1, \d+\], got 0"),
        ((1.0, 0.1, 1, 0.1), {"workers": 1, "executor": Recorder()}, TypeError, "workers must be"),
        ((1.0, 0.1, 1, 0.1), {"executor": 3}, TypeError, "executor must be a concurrent.futures"),
        ((1.0, 0.1, 1, 0.1), {"neighbors": "no"}, ValueError, "neighbors must be one of"),
        ((1.0, 0.1, 1, 0.1), {"neighbours": "add"}, TypeError, "neighbours"),
    ],
)
def test_bad_arguments_are_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        prv.dpsgd_epsilon(*arguments, **options)


def test_errors_of_a_query_say_at_which_setting():
    with pytest.raises(ValueError, match="memory limit") as caught:
        prv.dpsgd_epsilon([0.8, 1.0], 1e-3, 2, 1e-6, mesh_size=1e-12)
    assert any("steps = 2, delta = 1e-06" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "steps",
    [np.ma.masked_array([10, 20], mask=[False, True]), [True, 2], np.array([True, False]), True],
    ids=["masked", "boolean", "booleans", "one"],
)
def test_steps_are_integers_and_nothing_else(steps):
    with pytest.raises(TypeError, match=r"steps must be (an integer|integers) in"):
        prv.dpsgd_epsilon(1.0, 0.01, steps, 1e-5)


def test_bounds_of_a_sweep_stay_with_their_settings():
    bounds = prv.dpsgd_epsilon(1.0, 0.01, [10, 20], 1e-5)
    other = bounds._replace(lower=np.zeros(2))
    assert type(other) is type(bounds)
    assert other.settings is bounds.settings
    assert other.lower.tolist() == [0.0, 0.0]
    assert other.upper is bounds.upper
    assert repr(other).endswith(
        "settings=<2: noise_multiplier=1.0, sampling_probability=0.01, steps=10..20 (2 values), "
        "delta=1e-05>)"
    )
    again = type(bounds)._make([*bounds, bounds.settings])
    assert again.settings is bounds.settings
    with pytest.raises(AttributeError):
        bounds.settings = {}
    copied = pickle.loads(pickle.dumps(bounds))
    assert copied.settings["steps"].tolist() == [10, 20]


def test_a_schedule_of_a_training_is_read_only():
    plan = prv.dpsgd_schedule(1000, [10, 20], 2)
    for name in ("steps", "sampling_probability", "batch_size"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(plan, name)[0] = 1
    assert "batch_size" in plan.epsilon(1.0, 1e-5).settings


def of_sampler(sampler, noise, batches, epochs):
    base = prv.Gaussian(noise)
    if sampler == "fixed-size":
        return prv.SubsampledWithoutReplacement(base, 1 / batches), epochs * batches
    if sampler == "random-allocation":
        return prv.RandomAllocation(base, batches), epochs
    return prv.BallsInBins(base, batches, epochs), 1


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # what is attained by fixed sizes
@pytest.mark.parametrize("sampler", ["fixed-size", "random-allocation", "balls-in-bins"])
def test_samplers_are_the_mechanisms_they_name(sampler):
    neighbors = "replace-one" if sampler == "fixed-size" else "add-or-remove"
    options = {"neighbors": neighbors, "eps_error": 1e-2}
    mechanism, count = of_sampler(sampler, 2.0, 7, 3)
    curve = prv.compose(mechanism, count, **options)
    found = prv.dpsgd_epsilon(2.0, 1 / 7, 21, 1e-5, sampler=sampler, **options)
    assert tuple(found) == curve.epsilon(1e-5)
    assert tuple(prv.dpsgd_delta(2.0, 1 / 7, 21, 1.0, sampler=sampler, **options)) == curve.delta(
        1.0
    )
    noise = prv.dpsgd_noise_multiplier(
        1 / 7, 21, 2.0, 1e-5, sampler=sampler, neighbors=neighbors, tolerance=1e-2
    )
    again, count = of_sampler(sampler, noise.value, 7, 3)
    assert prv.eps_from_delta(again, 1e-5, counts=count, neighbors=neighbors).upper <= 2.0 + 1e-3


@pytest.mark.parametrize(("sampler", "unit"), [("fixed-size", 1), ("random-allocation", 8)])
def test_the_most_steps_of_a_sampler(sampler, unit):
    neighbors = "replace-one" if sampler == "fixed-size" else "add-or-remove"
    found = prv.dpsgd_steps(3.0, 1 / 8, 4.0, 1e-5, sampler=sampler, neighbors=neighbors)
    assert found.value % unit == 0
    assert found.next_value == found.value + unit
    both = prv.dpsgd_epsilon(
        3.0, 1 / 8, [found.value, found.next_value], 1e-5, sampler=sampler, neighbors=neighbors
    )
    assert both.lower[0] <= 4.0 <= both.upper[1]
    assert found.settings["sampler"] == sampler


def test_the_most_steps_of_balls_in_bins_are_not_searched_for():
    with pytest.raises(ValueError, match="each number of epochs is a mechanism of its own"):
        prv.dpsgd_steps(3.0, 1 / 8, 4.0, 1e-5, sampler="balls-in-bins")


def test_an_epoch_that_ends_early_lies_between_whole_ones():
    upper = prv.dpsgd_epsilon(2.0, 1 / 8, [8, 10, 14, 16], 1e-5, sampler="random-allocation").upper
    assert (np.diff(upper) > 0.0).all()


def delta_of_one_batch(noise, batches, epsilon):
    """Return delta, as a ball, of the first of so many batches, if a record is removed."""
    part, mu, e = fmpq(1, batches), 1 / arb(noise), arb(epsilon).exp()
    least = ((e - 1 + part) / part).log() / mu + mu / 2
    null, moved = ((x / arb(2).sqrt()).erfc() / 2 for x in (least, least - mu))
    return (1 - part) * null + part * moved - e * null


@pytest.mark.parametrize(("noise", "batches"), [(1.0, 333), (2.844615766198036, 7), (0.7, 3)])
@ctx.workprec(200)
def test_one_batch_of_many_has_a_probability_that_no_float_is(noise, batches):
    for epsilon in (0.0, 0.25):
        found = prv.dpsgd_delta(noise, 1 / batches, 1, epsilon, sampler="random-allocation")
        exact = delta_of_one_batch(noise, batches, epsilon)
        assert found.lower <= exact <= found.upper
        again = prv.dpsgd_epsilon(noise, 1 / batches, 1, found.lower, sampler="random-allocation")
        assert delta_of_one_batch(noise, batches, again.upper) <= found.lower
        assert delta_of_one_batch(noise, batches, again.lower) >= found.lower or not again.lower


@ctx.workprec(200)
def test_noise_for_one_batch_of_many_is_proven_for_its_own_probability():
    options = {"sampler": "random-allocation", "tolerance": 1e-2}
    found = prv.dpsgd_noise_multiplier(1 / 3, 1, 1.0, 1e-5, **options)
    assert found.proven
    assert delta_of_one_batch(found.value, 3, found.upper) <= 1e-5
    assert delta_of_one_batch(found.value, 3, found.lower) >= 1e-5
    assert delta_of_one_batch(found.next_value, 3, found.next_lower) >= 1e-5
    found = prv.dpsgd_noise_multiplier(1 / 3, 1, bayes_risk=0.4, prior=0.5, **options)
    assert found.proven
    # a half of what the total variation leaves
    assert found.lower <= (1 - delta_of_one_batch(found.value, 3, 0.0)) / 2 <= found.upper
    assert (1 - delta_of_one_batch(found.next_value, 3, 0.0)) / 2 <= found.next_upper


@pytest.mark.slow
def test_a_part_of_an_epoch_is_enumerated():
    """Two of three batches: each has the record with probability 1/3, and 1/3 none has it."""
    noise, epsilon = 1.0, 0.3
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    ratio = np.exp(nodes / noise - 0.5 / noise**2)
    density = np.add.outer(ratio, ratio) / 3 + 1 / 3
    exact = np.sum(np.outer(weights, weights) * np.maximum(density - np.exp(epsilon), 0)) / (
        2 * np.pi
    )
    found = prv.dpsgd_delta(
        noise, 1 / 3, 2, epsilon, sampler="random-allocation", neighbors="remove"
    )
    assert found.lower * (1 - 1e-3) <= exact <= found.upper * (1 + 1e-3)


@pytest.mark.parametrize(
    ("sampler", "probability", "steps", "message"),
    [
        ("random-allocation", 0.3, 10, "sampling_probability must be 1 / batches"),
        ("random-allocation", 0.0, 10, "sampling_probability must be 1 / batches"),
        ("balls-in-bins", 0.25, 10, "steps must be whole epochs"),
        ("fixed-size", 0.25, 10, "replace-one"),
        ("shuffled", 0.25, 10, "sampler must be one of .* shuffled_lower_bound"),
        ("shuffle", 0.25, 10, "sampler must be one of .* shuffled_lower_bound"),
        ("sorted", 0.25, 10, "sampler must be one of"),
    ],
)
def test_samplers_refuse_in_words(sampler, probability, steps, message):
    with pytest.raises(ValueError, match=message):
        prv.dpsgd_epsilon(1.0, probability, steps, 1e-5, sampler=sampler)


def test_schedules_have_samplers():
    plan = prv.dpsgd_schedule(1000, 300, 2, sampler="random-allocation")
    assert (plan.steps, plan.sampling_probability) == (8, 0.25)
    assert tuple(plan.epsilon(2.0, 1e-5)) == tuple(
        prv.dpsgd_epsilon(2.0, 0.25, 8, 1e-5, sampler="random-allocation")
    )
    with pytest.raises(ValueError, match="rounding must be 'up-each-epoch'"):
        prv.dpsgd_schedule(1000, 300, 2, sampler="balls-in-bins", rounding="up")
    with pytest.raises(ValueError, match="sampler must be 'poisson'"):
        prv.dpsgd_schedule(1000, 300, 2, sampler="balls-in-bins", loader="opacus")
