"""Errors that say what to do: other names, exchanged arguments, limits."""

import copy
import math
import operator
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import prvcore as prv
from prvcore import _cli as cli
from prvcore import _names, sampling

GAUSSIAN = prv.Gaussian(1.0)
CURVE = prv.compose(GAUSSIAN)


def test_a_point_of_the_error_budget_has_a_name():
    with pytest.raises(TypeError, match=r"by name, as error_budget\(delta=\.\.\.\).*got 1e-07"):
        prv.compose(prv.Gaussian(1)).error_budget(1e-7)


@pytest.mark.parametrize("second", [prv.Gaussian(1), prv.compose(prv.Gaussian(1))])
@pytest.mark.parametrize(
    ("function", "name"), [(prv.eps_from_delta, "delta"), (prv.delta_from_eps, "epsilon")]
)
def test_swapped_arguments_are_told(function, name, second):
    with pytest.raises(TypeError, match=f"mechanisms first and {name} second"):
        function(0.1, second)
    with pytest.raises(TypeError, match=f"mechanisms first and {name} second"):
        function(0.1, [second])


def test_both_lengths_are_told_but_not_all_counts():
    with pytest.raises(ValueError, match=r"of 3 integers.*got 50 of them$"):
        prv.compose([prv.Gaussian(1)] * 3, list(range(50)))


def test_a_table_of_too_much_of_p_is_refused_at_once():
    with pytest.raises(ValueError, match=r"P's mass, must be at most 1, got 1\.543080634815"):
        prv.FromTable([-1, 1], [0.5, 0.5])  # cosh(1)


def test_exchanged_cdfs_are_told():
    own = prv.FromCDFs(lambda x: ndtr(x + 0.5), lambda x: ndtr(x - 0.5))
    with pytest.raises(ValueError, match="Exchanged they would"):
        prv.compose(own).epsilon(1e-5)


@pytest.mark.slow
def test_a_limit_that_is_missed_is_told(memory_limit):
    prv.set_memory_limit(2**25)  # refinement cannot help, and ends where memory does

    def delta(epsilons):
        return 0.1 + 0.9 * -np.expm1(np.minimum(epsilons, 0.0))

    for own in (
        prv.FromPrivacyCurve(delta),
        prv.PoissonSubsampled(prv.FromPrivacyCurve(delta), 0.5),
    ):
        told = r"delta is 0\.1 at epsilon 8192\.0, where mass_at_infinity = 0\.0 leaves"
        with pytest.warns(prv.AccuracyWarning, match=told):
            bounds = prv.compose(own).epsilon(0.01)
        assert bounds.upper == math.inf
    with pytest.raises(ValueError, match=r"delta must return values of at least.*0\.2, got 0\.1"):
        prv.compose(prv.FromPrivacyCurve(delta, mass_at_infinity=0.2)).epsilon(0.3)
    own = prv.FromCDFs(lambda x: ndtr(x - 0.5), lambda x: ndtr(x + 0.5), mass_at_infinity=0.1)
    with pytest.raises(ValueError, match=r"at most 1 - mass_at_infinity, mass_at_infinity = 0\.1"):
        prv.compose(own).epsilon(0.3)


def test_a_relative_width_is_told_as_one():
    before = prv.get_memory_limit()
    prv.set_memory_limit(1000)
    try:
        with pytest.raises(ValueError, match=r"^eps_error = 0\.001 \* max.* needs"):
            prv.compose(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000).epsilon(1e-7)
    finally:
        prv.set_memory_limit(before)


@pytest.mark.parametrize(
    "call",
    [
        lambda **options: prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, **options),
        lambda **options: prv.delta_from_eps(prv.Gaussian(1.0), 1.0, **options),
        lambda **options: prv.dpsgd_epsilon(1.0, 0.1, 1, 1e-5, **options),
        lambda **options: prv.dpsgd_delta(1.0, 0.1, 1, 1.0, **options),
        lambda **options: prv.dpsgd_noise_multiplier(0.1, 1, 1.0, 1e-5, **options),
        lambda **options: prv.dpsgd_steps(1.0, 0.1, 1.0, 1e-5, **options),
        lambda **options: prv.Accountant(**options),
    ],
)
def test_an_unknown_option_is_refused_by_the_name_of_what_was_called(call):
    name = next(name for name in call.__code__.co_names if name not in ("prv", "Gaussian"))
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'width'"):
        call(width=1.0)


PLAN = prv.dpsgd_schedule(60_000, 256, 15)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prv.PoissonSubsampledGaussian(sigma=1.1, q=0.1), "'sigma': did you mean noise_m"),
        (lambda: prv.PoissonSubsampledGaussian(1.1, sample_rate=0.1), "mean sampling_probability"),
        (lambda: prv.Laplace(b=2.0), "^Laplace.* did you mean scale"),
        # the deviation of Laplace noise is another number than its scale
        (lambda: prv.Laplace(sigma=2.0), "it takes scale, sensitivity$"),
        (lambda: prv.Gaussian(1.1, sensitivity=2.0), "it takes noise_multiplier$"),
        (lambda: prv.Accountant().step(noise_multiplier=1.1, sample_rate=0.1), "mean sampling_pro"),
        (lambda: prv.Accountant().step(noise_multiplier=1.1, steps=3), "^Acc.*step.* mean count"),
        (lambda: prv.dpsgd_epsilon(noise_multiplier=1.1, sample_rate=0.1), "mean sampling_prob"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, num_steps=10, delta=1e-5), "did you mean steps"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, target_delta=1e-5), "did you mean delta"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, epochs=3), "dpsgd_schedule takes it"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, num_samples=3), "dpsgd_schedule takes it"),
        (lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, neighbours="add"), "mean neighbors"),
        (lambda: prv.dpsgd_delta(1.1, 0.1, 1, eps=1.0), "did you mean epsilon"),
        (lambda: prv.dpsgd_noise_multiplier(0.1, 1, target_epsilon=1.0), "did you mean epsilon"),
        (lambda: prv.dpsgd_steps(1.1, 0.1, 1.0, 1e-5, tolerence=1e-3), "did you mean tolerance"),
        (lambda: prv.dpsgd_schedule(num_samples=60_000), "did you mean dataset_size"),
        (lambda: prv.compose(prv.Gaussian(1.0), steps=3), "did you mean counts"),
        (lambda: prv.compose(prv.Gaussian(1.0), eps_eror=0.1), "did you mean eps_error"),
        (lambda: prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, count=3), "did you mean counts"),
        (lambda: prv.calibrate(prv.Gaussian(1.0), target_epsilon=1.0), "did you mean epsilon"),
        (lambda: prv.Accountant(neighbours="add"), "did you mean neighbors"),
        (lambda: prv.PrivacyFilter(target_epsilon=1.0), "^PrivacyFilter.* did you mean epsilon"),
        (lambda: prv.PrivacyOdometer(prv.Accountant(), 1e-5, reading=3), "did you mean readings"),
        (lambda: sampling.PoissonBatches(100, sample_rate=0.1, steps=3), "mean sampling_prob"),
        (lambda: sampling.BallsInBinsBatches(num_samples=100, bins=3), "did you mean dataset_si"),
        (lambda: PLAN.epsilon(sigma=1.1, delta=1e-5), "^TrainingSchedule.eps.* mean noise_mult"),
        (lambda: PLAN.delta(1.1, eps=1.0), "did you mean epsilon"),
        (lambda: PLAN.noise_multiplier(target_epsilon=1.0, delta=1e-5), "did you mean epsilon"),
        (lambda: prv.compose([]).epsilon(target_delta=1e-5), "^PrivacyCurve.eps.* mean delta"),
        (lambda: prv.Accountant().delta(eps=1.0), "^Accountant.delta.* did you mean epsilon"),
        (lambda: prv.Accountant().add(prv.Gaussian(1.0), steps=3), "did you mean count"),
        (lambda: prv.eps_from_delta(prv.Gaussian(1.0), target_delta=1e-5), "did you mean delta"),
        (lambda: prv.shuffled_lower_bound(1.1, 9, target_delta=1e-5), "did you mean delta"),
        (lambda: PLAN.report(1.1, 1e-5, digit=3), "^TrainingSchedule.report.* mean digits"),
        (lambda: prv.PoissonSubsampledGaussian(1.1, batch_size=256), "dpsgd_schedule takes it"),
    ],
)
def test_an_argument_under_another_name_is_told_its_own(call, told):
    with pytest.raises(TypeError, match="got an unexpected keyword argument") as refused:
        call()
    assert re.search(told, str(refused.value)), refused.value
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: prv.Gaussian(1.0, 2.0), "Gaussian() got 2 arguments without names: it is Gaussi"),
        (
            lambda: prv.SubsampledWithoutReplacement(prv.Gaussian(1.1), 256, 60_000),
            "got 3 arguments without names: it is SubsampledWithoutReplacement(mechanism, samp",
        ),
        (lambda: prv.Accountant("rdp"), "without its name: it is Accountant(eps_error=..., "),
        (
            lambda: prv.dpsgd_epsilon(1.1, 0.1, 1, 1e-5, "replace-one"),
            "it is dpsgd_epsilon(noise_multiplier, sampling_probability, steps, delta, sampler=...",
        ),
    ],
)
def test_arguments_that_need_a_name(call, told):
    with pytest.raises(TypeError) as refused:
        call()
    assert told in str(refused.value), refused.value


@pytest.mark.parametrize(
    ("thing", "name", "meant"),
    [
        (prv.Accountant(), "get_epsilon", "epsilon"),
        (prv.Accountant(), "compose", "add"),
        (prv.Accountant(), "state_dict", "to_json"),
        (prv.Accountant(), "load_state_dict", "from_json"),
        (prv.compose([]), "get_epsilon", "epsilon"),
        (prv.compose([]), "get_delta_for_epsilon", "delta"),
        (PLAN, "get_epsilon", "epsilon"),
        (prv.PrivacyFilter(prv.Accountant(), 1.0, 1e-5), "get_epsilon", "spent"),
        (PLAN, "get_noise_multiplier", "noise_multiplier"),
        (PLAN, "sample_rate", "sampling_probability"),
        (PLAN, "num_steps", "steps"),
        (CURVE.epsilon(1e-5), "value", "upper"),
        (CURVE.epsilon(1e-5), "epsilon", "upper"),
        (PLAN.epsilon(1.1, 1e-5), "epsilon", "upper"),
        (PLAN.noise_multiplier(1.0, 1e-5), "noise_multiplier", "value"),
        (prv.calibrate(GAUSSIAN, epsilon=1.0, delta=1e-5), "sigma", "value"),
        (prv.PrivacyOdometer(prv.Accountant(), 1e-5), "get_epsilon", "read"),
        (prv.compose([]), "advantage", "total_variation"),
        (prv.compose([]), "mu", "gaussian_mu"),
        (prv.compose([]), "tpr", "power"),
        (prv.compose([]), "rdp", "renyi_divergence"),
        (prv, "get_noise_multiplier", "dpsgd_noise_multiplier"),
        (prv, "gaussian", "Gaussian"),
        (prv, "epsilon", "eps_from_delta"),
        (prv, "RDPAccountant", "Accountant"),
        (prv, "GaussianDpEvent", "Gaussian"),
        (prv, "PoissonSampledDpEvent", "PoissonSubsampled"),
        (prv, "compute_dp_sgd_privacy", "dpsgd_epsilon"),
    ],
)
def test_a_name_of_another_library_tells_the_one_here(thing, name, meant):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': did you mean {meant}\?$"):
        getattr(thing, name)
    assert hasattr(thing, meant)


@pytest.mark.parametrize(
    ("name", "meant"), [("report", "report"), ("plot", "plot"), ("advantage", "total_variation")]
)
def test_what_the_curve_of_an_accountant_has_is_told(name, meant):
    with pytest.raises(AttributeError, match=rf"'{name}': did you mean curve\(\)\.{meant}\?$"):
        getattr(prv.Accountant(), name)
    assert hasattr(prv.Accountant().curve(), meant)


def test_a_module_that_nobody_has_imported(tmp_path):
    def run(code, *, check):  # in no checkout, whose package may not be compiled
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=check, cwd=tmp_path)

    code = "import prvcore; prvcore.sampling.PoissonBatches"
    ran = run(code, check=False)
    assert ran.stderr.strip().endswith("no attribute 'sampling': import prvcore.sampling")
    code = code.replace("import prvcore", "from prvcore import sampling; import prvcore")
    run(code, check=True)


def test_what_is_told_exists():
    kinds = (
        prv.Accountant,
        prv.Bounds,
        prv.Calibration,
        prv.PrivacyCurve,
        prv.PrivacyFilter,
        prv.PrivacyOdometer,
        prv.TrainingSchedule,
    )
    assert set(_names._METHODS_ALSO_CALLED) <= {name for kind in kinds for name in dir(kind)}
    assert set(_names._GLOBALS_ALSO_CALLED) <= set(prv.__all__)
    for others in _names._GLOBALS_ALSO_CALLED.values():
        assert not set(others.split()) & set(prv.__all__)
    assert set(_names._COMMANDS_ALSO_CALLED) <= set(cli._COMMANDS)
    for others in _names._COMMANDS_ALSO_CALLED.values():
        assert not set(others.split()) & set(cli._COMMANDS)


@pytest.mark.parametrize("thing", [prv, prv.Accountant(), prv.compose([]), PLAN])
def test_other_missing_names_are_missing(thing):
    with pytest.raises(AttributeError, match=r"no attribute 'nothing_of_the_kind'$"):
        thing.nothing_of_the_kind  # noqa: B018
    assert not hasattr(prv.compose([]), "state_dict")  # nothing there is saved as JSON
    assert copy.copy(prv.Accountant()) == prv.Accountant()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("replace", "replace-one"),
        ("replace_one", "replace-one"),
        ("Bounded", "replace-one"),
        ("unbounded", "add-or-remove"),
        ("ADD_OR_REMOVE_ONE", "add-or-remove"),
    ],
)
def test_neighbours_under_another_name(given, meant):
    with pytest.raises(ValueError, match=rf"got '{given}': did you mean '{meant}'\?$"):
        prv.compose(prv.Gaussian(1.0), neighbors=given)


def test_choices_that_are_like_no_other():
    with pytest.raises(ValueError, match=r"got 'zero-out'$"):
        prv.compose(prv.Gaussian(1.0), neighbors="zero-out")
    with pytest.raises(TypeError, match=r"got None$"):
        prv.compose(prv.Gaussian(1.0), neighbors=None)


@pytest.mark.parametrize(
    ("sampler", "told"),
    [
        ("random_allocation", "did you mean 'random-allocation'"),
        ("without_replacement", "did you mean 'fixed-size'"),
        ("truncated", "TruncatedPoissonSubsampledGaussian has batches that are cut"),
        ("Cyclic", "batches in a known order are not amplified"),
        ("shuffle", "for shuffled batches only a lower bound"),
    ],
)
def test_samplers_under_another_name(sampler, told):
    with pytest.raises(ValueError, match=rf"got '{sampler}': {told}"):
        prv.dpsgd_epsilon(1.1, 0.1, 10, 1e-5, sampler=sampler)


def test_a_fraction_is_a_real_number_in_all_places():
    one, probability, delta = Fraction(11, 10), Fraction(1, 250), Fraction(1, 10**5)
    assert prv.PoissonSubsampledGaussian(one, probability).noise_multiplier == 1.1
    swept = prv.dpsgd_epsilon(one, probability, 10, delta)
    assert swept == prv.dpsgd_epsilon(1.1, 0.004, 10, 1e-5)
    with pytest.raises(ValueError, match="noise_multiplier must be finite and >= 0, got Fraction"):
        prv.dpsgd_epsilon(Fraction(10**400), probability, 10, delta)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (prv.Gaussian, r"a class is none, give Gaussian\(\.\.\.\)"),
        (1.1, r"a number is none, Gaussian\(1\.1\) is"),
        (lambda noise: prv.Gaussian(noise), "a function is none; calibrate changes the noise"),
    ],
)
@pytest.mark.parametrize(
    "take",
    [
        prv.Accountant().add,
        prv.compose,
        lambda given: prv.compose([given]),
        lambda given: prv.compose([given], [3]),
        lambda given: prv.calibrate(given, epsilon=1.0, delta=1e-5),
        lambda given: prv.RandomAllocation(given, 10),
        lambda given: prv.PoissonSubsampled(given, 0.1),
        lambda given: sampling.PoissonBatches(100, 0.1, 10).accounted(given),
    ],
)
def test_what_is_taken_for_a_mechanism(take, given, told):
    with pytest.raises(TypeError, match=rf"must be a mechanism.*, got .*: {told}"):
        take(given)


def test_mechanisms_in_a_list_are_added_one_by_one():
    for given in ((GAUSSIAN, 10), [GAUSSIAN]):
        with pytest.raises(
            TypeError, match=r"got .*: give each by itself, with its count after it"
        ):
            prv.Accountant().add(given)


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_bounds_are_compared_by_their_ends(compare):
    one, two = CURVE.epsilon(1e-5), CURVE.epsilon([1e-5, 1e-6])
    for bounds, number in ((one, 3), (two, 3.0), (one, np.float64(3.0)), (one, Fraction(3))):
        with pytest.raises(TypeError, match=r"^bounds are no number: compare their .upper or "):
            compare(bounds, number)
    other = CURVE.epsilon(1e-6)
    assert compare(one, other) == compare(tuple(one), tuple(other))
    with pytest.raises(TypeError, match="not supported between"):
        compare(one, "3")


FOUND = prv.dpsgd_noise_multiplier(0.1, 10, epsilon=2.0, delta=1e-5)


@pytest.mark.parametrize(
    "count",
    [
        lambda it: it + it,
        lambda it: it + 1,
        lambda it: 1.0 + it,
        lambda it: 2 * it,
        lambda it: it * 2,
        lambda it: it * 1.5,
        lambda it: sum([it, it]),
    ],
)
def test_neither_bounds_nor_what_was_found_are_added_or_multiplied(count):
    for bounds in (CURVE.epsilon(1e-5), PLAN.epsilon([1.0, 1.1], 1e-5)):
        with pytest.raises(TypeError, match=r"^bounds are no number: take their \.upper or"):
            count(bounds)
    with pytest.raises(TypeError, match=r"^what a search has found is no number: take its \.value"):
        count(FOUND)


def test_bounds_are_parts_of_longer_tuples():
    bounds = CURVE.epsilon(1e-5)
    lower, estimate, upper = bounds
    assert bounds[0] == lower
    assert (1e-5, *bounds) == (1e-5,) + bounds == (1e-5, lower, estimate, upper)  # noqa: RUF005
    assert bounds + (1e-5,) == (lower, estimate, upper, 1e-5)  # noqa: RUF005


@pytest.mark.parametrize(
    ("given", "has"),
    [
        (FOUND, r"\.value"),
        (prv.calibrate(prv.Gaussian(1.0), epsilon=1.0, delta=1e-5), r"\.value"),
        (CURVE.epsilon(1e-5), r"\.upper or \.lower"),
        (np.array([1.1]), r"\.item\(\)"),
    ],
)
def test_a_number_within_what_was_given_is_told(given, has):
    with pytest.raises(TypeError, match=rf"^noise_multiplier must be a real .*: give its {has}$"):
        prv.Gaussian(given)
    with pytest.raises(TypeError, match=rf"^counts must be an integer .*: give its {has}$"):
        prv.compose(prv.Gaussian(1.0), given)
    for without in (np.array([1.0, 1.1]), "1.1", None, np.True_):
        with pytest.raises(TypeError, match=r"got [^:]*$"):
            prv.Gaussian(without)


def test_a_truth_value_is_no_number():
    with pytest.raises(TypeError, match="noise_multiplier must be a real number, finite and >= 0"):
        prv.dpsgd_epsilon(True, 0.1, 10, 1e-5)


def test_other_errors_of_type_are_as_they_were():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'delta'"):
        prv.dpsgd_epsilon(1.1, 0.1, steps=1)
    with pytest.raises(TypeError, match="multiple values for argument 'noise_multiplier'"):
        prv.Gaussian(1.1, noise_multiplier=1.1)
    with pytest.raises(TypeError, match=r"^steps must be left out: dpsgd_schedule has set it"):
        PLAN.epsilon(1.1, 1e-5, steps=3)
    with pytest.raises(TypeError, match=r"^PrivacyCurve.report takes its .*: report\(delta=\.\.\."):
        prv.compose(prv.Gaussian(1.0)).report(1e-5)
    with pytest.raises(TypeError, match=r"^noise_multiplier must be a real number"):
        prv.Gaussian(noise_multiplier="1.1")


@pytest.mark.parametrize(
    "call",
    [
        lambda: prv.PoissonSubsampledGaussian(1.1, 256),
        lambda: prv.PoissonSubsampledGaussian(0.01, 1.1),  # the wrong order
        lambda: prv.dpsgd_epsilon(1.1, [0.01, 256], 1000, 1e-5),
        lambda: prv.Accountant().step(noise_multiplier=1.1, sampling_probability=256),
    ],
)
def test_the_size_of_a_batch_is_no_probability(call):
    with pytest.raises(
        ValueError, match=r"got \S+( at .*)?: it is the expected size of a batch over"
    ):
        call()


def test_a_name_is_no_list_of_mechanisms():
    with pytest.raises(TypeError, match=r"^mechanisms must be a mechanism, .* got 'Gaussian'"):
        prv.compose("Gaussian", 5)


def test_a_mapping_does_not_lose_its_counts():
    steps = {prv.Gaussian(1.0): 5}
    with pytest.raises(TypeError, match=r"^mechanisms must be .* a mapping has them as its items"):
        prv.compose(steps)
    assert prv.compose(steps.items()) == prv.compose(prv.Gaussian(1.0), 5)


@pytest.mark.parametrize("loader", ["shuffle", "pytorch", "DataLoader"])
def test_a_loader_that_shuffles_is_told_what_is_known_of_it(loader):
    with pytest.raises(ValueError, match=r"loader must be .*shuffled_lower_bound"):
        prv.dpsgd_schedule(60_000, 256, 15, loader=loader)
    with pytest.raises(ValueError, match=r"'opacus', got 'jax'$"):
        prv.dpsgd_schedule(60_000, 256, 15, loader="jax")
