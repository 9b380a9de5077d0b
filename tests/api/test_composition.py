"""compose and its short forms: closed forms, edges, shapes of arrays, warnings, options."""

import _thread
import inspect
import itertools
import math
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import prvcore as prv
from prvcore._core.composition import Composition, default_options
from prvcore._settings import Settings
from tests.support.examples import BUILT_IN, gaussian_cdf_p, gaussian_cdf_q, gaussian_delta, name

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
TRUE_EPSILON = 0.703708838718  # of 1000 such steps at delta 1e-7, from high-precision arithmetic


# ---- Answers ---------------------------------------------------------------------------------


def test_the_bounds_of_the_papers_setting_contain_the_truth():
    lower, estimate, upper = prv.compose(STEP, 1000, neighbors="remove").epsilon(1e-7)
    assert lower <= TRUE_EPSILON <= upper
    assert upper - lower <= 1e-3 * upper
    assert estimate == pytest.approx(TRUE_EPSILON, abs=2e-5)


@pytest.mark.parametrize("steps", [1, 999, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_bounds_contain_the_exact_gaussian_values(steps, epsilon):
    curve = prv.compose(prv.Gaussian(noise_multiplier=math.sqrt(steps)), steps, eps_error=1e-3)
    delta = gaussian_delta(epsilon, mu=1.0)
    slack = 1e-11  # of `delta`, which erfc and the difference round
    lower, estimate, upper = curve.epsilon(delta)
    assert lower <= estimate <= upper
    assert lower - slack <= epsilon <= upper + slack
    assert upper - lower <= 1e-3 * (1.0 + 1e-9)
    lower, estimate, upper = curve.delta(epsilon)
    assert lower <= estimate <= upper
    assert lower <= delta * (1.0 + slack)
    assert delta * (1.0 - slack) <= upper


@pytest.mark.parametrize("mechanism", BUILT_IN, ids=name)
@pytest.mark.parametrize("neighbors", ["add-or-remove", "add", "remove"])
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # order holds at any width
def test_bounds_are_ordered(mechanism, neighbors):
    curve = prv.compose(mechanism, 10, neighbors=neighbors)
    for bounds in (curve.epsilon([0.0, 1e-12, 1e-3, 1.0]), curve.delta([-np.inf, -0.1, 0.0, 0.5])):
        assert (bounds.lower >= 0.0).all()
        assert (bounds.lower <= bounds.estimate).all()
        assert (bounds.estimate <= bounds.upper).all()


@pytest.mark.parametrize("mechanism", BUILT_IN, ids=name)
def test_nothing_done_is_the_identity(mechanism):
    curve = prv.compose(mechanism, 0)
    assert curve.epsilon(1e-9) == (0.0, 0.0, 0.0)
    assert curve.delta(0.0) == (0.0, 0.0, 0.0)


def test_no_mechanism_and_no_sampling_are_the_identity():
    for curve in (prv.compose([]), prv.compose(prv.PoissonSubsampledGaussian(1.0, 0.0), 1000)):
        assert curve.epsilon(1e-9) == (0.0, 0.0, 0.0)
        assert curve.delta(0.0) == (0.0, 0.0, 0.0)


def test_no_noise_has_no_privacy():
    for mechanism in (prv.Gaussian(0.0), prv.Laplace(0.0)):
        curve = prv.compose(mechanism)
        assert curve.epsilon(0.5) == (math.inf, math.inf, math.inf)
        lower, estimate, upper = curve.delta(10.0)
        assert 1.0 - 1e-13 <= lower <= estimate <= upper == 1.0


def test_delta_zero_gives_the_greatest_loss():
    lower, estimate, upper = prv.compose(prv.PureDP(0.5), 2).epsilon(0.0)
    assert lower <= estimate <= upper
    assert upper == pytest.approx(1.0, abs=1e-3)
    assert upper >= 1.0
    assert prv.compose(prv.Gaussian(1.0)).epsilon(0.0).upper == math.inf


def test_delta_one_needs_no_epsilon():
    assert prv.compose(STEP, 1000).epsilon(1.0) == (0.0, 0.0, 0.0)


def test_a_delta_at_or_below_the_mass_at_infinity_gives_infinity():
    curve = prv.compose(prv.ApproximateDP(0.1, 1e-3))
    assert curve.epsilon(9e-4) == (math.inf, math.inf, math.inf)
    assert curve.delta(math.inf).lower <= 1e-3 <= curve.delta(math.inf).upper


def test_both_directions_are_the_worse_of_each():
    both, add, remove = (
        prv.compose(STEP, 100, neighbors=neighbors).epsilon(1e-6)
        for neighbors in ("add-or-remove", "add", "remove")
    )
    assert both.lower <= max(add.upper, remove.upper)
    assert max(add.lower, remove.lower) <= both.upper


# ---- Shapes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-3, np.float64(1e-3), np.array(1e-3)])
def test_scalars_give_floats(delta):
    bounds = prv.compose(prv.Gaussian(3.0)).epsilon(delta)
    assert type(bounds) is prv.Bounds
    assert bounds._fields == ("lower", "estimate", "upper")
    assert all(isinstance(part, float) for part in bounds)


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 3), (2, 0, 3), (1, 2, 1)])
def test_arrays_give_arrays_of_their_shape(shape):
    curve = prv.compose(prv.Gaussian(3.0))
    for bounds in (curve.epsilon(np.full(shape, 1e-3)), curve.delta(np.full(shape, 0.5))):
        for part in bounds:
            assert isinstance(part, np.ndarray)
            assert part.shape == shape
            assert part.dtype == np.float64
            assert part.flags.writeable


def test_arrays_are_answered_element_by_element():
    curve = prv.compose(prv.Gaussian(3.0))
    deltas = np.array([[1e-2, 1e-8], [1e-4, 1e-30]])
    bounds = curve.epsilon(deltas.T)  # not contiguous
    for index in np.ndindex(2, 2):
        alone = curve.epsilon(deltas.T[index])
        assert tuple(part[index] for part in bounds) == alone


def test_lists_integers_and_read_only_arrays_are_taken():
    curve = prv.compose(prv.Gaussian(3.0))
    epsilons = np.array([0.0, 1.0])
    epsilons.flags.writeable = False
    wanted = curve.delta(epsilons)
    for given in ([0, 1], (0.0, 1.0), np.array([0, 1], dtype=np.int8)):
        for got, part in zip(curve.delta(given), wanted, strict=True):
            assert got.tolist() == part.tolist()


# ---- Composing -------------------------------------------------------------------------------


def test_ways_to_say_the_same_composition():
    a, b, c = prv.Gaussian(30.0), prv.Laplace(20.0), prv.PureDP(0.01)
    wanted = prv.compose([(a, 10), (b, 2), (c, 1)])
    assert wanted == prv.compose([(a, 10), (b, 2), c])
    assert wanted == prv.compose([a, b, c], [10, 2, 1])
    assert wanted == prv.compose((a, b, c), counts=np.array([10, 2, 1]))
    assert wanted == prv.compose(iter([c, [b, 1], (a, np.int64(10)), b]))
    assert wanted != prv.compose([(a, 10), (b, 2)])
    assert prv.compose(a) == prv.compose(a, 1) == prv.compose([a]) == prv.compose([(a, 1)])
    assert sum(wanted.counts) == 13
    assert set(zip(wanted.mechanisms, wanted.counts, strict=True)) == {(a, 10), (b, 2), (c, 1)}


@pytest.mark.slow
def test_order_does_not_change_a_bit():
    steps = [
        (prv.Gaussian(30.0), 10),
        (prv.Gaussian(25.0), 3),
        (prv.PoissonSubsampledGaussian(0.8, 1e-2), 20),
        (prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p), 1),
        (prv.FromTable([-0.5, 0.1], [0.1, 0.9]), 2),
    ]
    wanted = prv.compose(steps)
    for order in itertools.islice(itertools.permutations(steps), 0, 120, 17):
        curve = prv.compose(order)
        assert curve == wanted
        assert repr(curve) == repr(wanted)
        assert curve.epsilon(1e-6) == wanted.epsilon(1e-6)


def test_one_mechanism_under_two_names_is_merged():
    sampled = prv.PoissonSubsampled(prv.Gaussian(0.8), 1e-3)
    assert len(prv.compose([STEP, sampled]).mechanisms) == 1
    assert prv.compose([STEP, sampled]).counts == (2,)
    assert prv.compose([STEP, sampled]) == prv.compose([sampled, STEP])
    assert prv.compose([prv.PureDP(1.0), prv.ApproximateDP(1.0, 0.0)]).counts == (2,)


def test_functions_of_a_curve_and_of_mechanisms_agree():
    curve = prv.compose(STEP, 100, eps_error=0.01)
    assert prv.eps_from_delta(curve, 1e-6) == curve.epsilon(1e-6)
    assert prv.delta_from_eps(curve, 0.5) == curve.delta(0.5)
    assert prv.eps_from_delta(STEP, 1e-6, counts=100, eps_error=0.01) == curve.epsilon(1e-6)
    assert prv.eps_from_delta([(STEP, 100)], 1e-6, eps_error=0.01) == curve.epsilon(1e-6)
    assert prv.delta_from_eps(STEP, 0.5, counts=100, eps_error=0.01) == curve.delta(0.5)


def test_the_options_have_the_published_names_and_defaults():
    parameters = inspect.signature(prv.compose).parameters
    assert {name: p.default for name, p in parameters.items() if name != "mechanisms"} == {
        "counts": None,
        "eps_error": None,
        "delta_error": None,
        "neighbors": "add-or-remove",
        "discretization": "bracketing",
        "engine": "auto",
        "mesh_size": None,
        "delta_relative_error": 1e-3,
    }
    for name_ in set(parameters) - {"mechanisms", "counts"}:
        assert parameters[name_].kind is inspect.Parameter.KEYWORD_ONLY


# ---- Curves as objects -----------------------------------------------------------------------


def test_curves_are_immutable_and_hashable():
    curve = prv.compose(STEP, 1000)
    for attribute in ("eps_error", "neighbors", "_steps", "another"):
        with pytest.raises(AttributeError, match=f"immutable: {attribute} cannot be set"):
            setattr(curve, attribute, 1)
    with pytest.raises(AttributeError, match="immutable"):
        del curve.neighbors
    assert {curve: 1}[prv.compose(STEP, 1000)] == 1
    assert curve != prv.compose(STEP, 1000, neighbors="add")
    assert curve != prv.compose(STEP, 1000, eps_error=1e-3)
    assert curve != 1


def test_repr_says_what_was_assumed():
    assert repr(prv.compose(STEP, 1000)) == (
        "PrivacyCurve([(PoissonSubsampledGaussian(noise_multiplier=0.8, "
        "sampling_probability=0.001), 1000)], neighbors='add-or-remove', "
        "discretization='bracketing', eps_error=0.001 * max(epsilon, 0.001))"
    )
    curve = prv.compose(STEP, 7, neighbors="add", discretization="mean-matching", mesh_size=0.01)
    assert repr(curve).endswith(
        "7)], neighbors='add', discretization='mean-matching', mesh_size=0.01, "
        "eps_error=0.1, delta_error=1e-10)"
    )


def test_error_budget_explains_the_width():
    curve = prv.compose(STEP, 1000)
    bounds = curve.epsilon(1e-7)
    budget = curve.error_budget(delta=1e-7)
    assert type(budget) is prv.ErrorBudget
    parts = (budget.discretization, budget.truncation, budget.wrap_around, budget.rounding)
    assert all(part >= 0.0 for part in parts)
    assert budget.width == pytest.approx(bounds.upper - bounds.lower, rel=1e-6)
    assert budget.direction in ("add", "remove")
    assert budget.mesh_size > 0.0
    assert budget.accurate is True
    assert all(type(n) is int for n in (budget.cells, budget.transform_length, budget.transforms))
    assert curve.error_budget(epsilon=0.5).accurate is True


# ---- Memory, warnings, interrupts ------------------------------------------------------------


def test_the_memory_limit_has_a_default_and_can_be_set(memory_limit):
    assert memory_limit == 2**30
    prv.set_memory_limit(np.int64(123456789))
    assert prv.get_memory_limit() == 123456789


ATOMS = [(prv.PureDP(0.1), 3), (prv.Laplace(1.3), 3)]  # whose spectrum falls slowly


@pytest.mark.parametrize(
    ("steps", "delta", "options", "how", "limit"),
    [
        ([(STEP, 1000)], 1e-7, {}, {}, "none"),
        ([(STEP, 1000)], 1e-7, {"eps_error": 1e-7}, {"memory_limit": 2**20}, "memory"),
        ([(STEP, 1000)], 1e-7, {"eps_error": 1e-12}, {"memory_limit": 2**26}, "rounding"),
        ([(STEP, 1000)], 1e-7, {"mesh_size": 0.05}, {}, "mesh_size"),
        pytest.param(
            *(ATOMS, 1e-3, {"eps_error": 1e-10, "engine": "spectrum"}, {}, "engine"),
            marks=pytest.mark.slow,
        ),
        (ATOMS, 1e-3, {"eps_error": 1e-9}, {}, "none"),
        ([(STEP, 1000)], 1e-3, {"discretization": "mean-matching"}, {}, "none"),
    ],
)
def test_what_kept_bounds_wide_is_told(steps, delta, options, how, limit):
    budget = prv.compose(steps, **options).error_budget(delta=delta, **how)
    assert budget.limit == limit
    assert budget.accurate is (limit in ("none", "mesh_size"))
    asked = options.get("eps_error", 1e-3)
    if limit == "rounding":
        assert budget.rounding > asked
    elif limit != "none":
        assert budget.width > asked
        assert budget.rounding < 0.3 * budget.width


@pytest.mark.slow
def test_a_call_may_have_a_limit_of_its_own(memory_limit):
    curve = prv.compose(STEP, 1000, eps_error=1e-6)
    accountant = prv.Accountant(eps_error=1e-6)
    accountant.add(STEP, 1000)
    asked = [
        curve.epsilon,
        curve.power,
        lambda point, **how: curve.error_budget(delta=point, **how),
        lambda point, **how: prv.eps_from_delta(curve, point, **how),
        lambda point, **how: prv.explain(curve, point, **how).epsilon,
        accountant.epsilon,
        lambda point, **how: prv.dpsgd_epsilon(0.8, 1e-3, 1000, point, eps_error=1e-6, **how),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)
        of_calls = [ask(1e-7, memory_limit=2**17) for ask in asked]
        assert prv.get_memory_limit() == memory_limit
        of_the_process = [ask(1e-7) for ask in asked]
        prv.set_memory_limit(2**17)
        assert [ask(1e-7) for ask in asked] == of_calls
        # what a call is given counts, whatever the limit of the process is
        assert [ask(1e-7, memory_limit=memory_limit) for ask in asked] == of_the_process
    assert of_calls[0] != of_the_process[0]
    for ask in asked:
        with pytest.raises(ValueError, match=r"memory_limit must be in \[1, \d+\], got 0"):
            ask(1e-7, memory_limit=0)


@pytest.mark.slow
def test_losses_close_together_do_not_make_a_mesh_that_no_memory_holds():
    # The heaviest atoms lie 1e-11 apart, and the curve is flat where epsilon is looked for.
    step = prv.PoissonSubsampled(prv.DiscreteGaussian(0.2927784966048771), 1.4835220702065526e-11)
    lower, _, upper = prv.compose(step, 10, neighbors="remove").epsilon(1e-20)
    exact = 1.8630606355705057  # of all outcomes, summed in 120 digits
    assert lower <= exact <= upper <= lower + 1e-3 * exact


def test_too_little_memory_widens_the_bounds_with_a_warning(memory_limit):
    curve = prv.compose(STEP, 1000, eps_error=1e-7, neighbors="remove")
    prv.set_memory_limit(2**20)
    for ask in (curve.epsilon, lambda delta: prv.eps_from_delta(curve, delta)):
        with pytest.warns(prv.AccuracyWarning, match="memory limit of 1048576 bytes") as caught:
            lower, _, upper = ask(1e-7)
        assert len(caught) == 1
        assert caught[0].filename == __file__  # the stack level is that of the caller
        assert "eps_error = 1e-07" in str(caught[0].message)
        assert lower <= TRUE_EPSILON <= upper
        assert upper - lower > 1e-7
    assert curve.error_budget(delta=1e-7).accurate is False


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("eps_error", [1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
def test_what_needs_too_much_memory_is_about_as_close_as_what_has_enough(eps_error):
    # A pass of the finest mesh alone saw no digit of delta, and bounds were 0.37 apart.
    step = prv.PoissonSubsampledGaussian(0.8, 0.1)
    options = {"counts": 100, "neighbors": "remove", "memory_limit": 2**26}
    enough = prv.eps_from_delta(step, 1e-7, eps_error=1e-6, **options)
    lower, _, upper = prv.eps_from_delta(step, 1e-7, eps_error=eps_error, **options)
    assert enough.lower <= upper
    assert lower <= enough.upper
    assert upper - lower <= 1e-6


def test_a_coarse_mesh_widens_the_bounds_with_a_warning():
    curve = prv.compose(STEP, 1000, eps_error=1e-9, mesh_size=1e-3, neighbors="remove")
    with pytest.warns(prv.AccuracyWarning, match="mesh_size = 0.001"):
        lower, _, upper = curve.epsilon(1e-7)
    assert lower <= TRUE_EPSILON <= upper
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = prv.compose(STEP, 1000, mesh_size=1e-3, neighbors="remove")
        lower, _, upper = curve.epsilon(1e-7)
    assert lower <= TRUE_EPSILON <= upper


@pytest.mark.slow
def test_a_long_query_can_be_interrupted():
    curve = prv.compose(STEP, 1000)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        curve.epsilon(np.linspace(1e-12, 1e-3, 300_000))
    timer.join()
    assert curve.epsilon(1e-7).lower <= TRUE_EPSILON


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_what_a_function_raises_comes_out_unchanged(error):
    def fail(values):
        raise error

    for mechanism in (prv.FromCDFs(fail, fail), prv.FromPrivacyCurve(fail)):
        with pytest.raises(type(error)) as caught:
            prv.compose([STEP, mechanism]).epsilon(1e-3)
        assert caught.value is error


def test_functions_get_arrays_of_their_own():
    def careless(losses):
        assert type(losses) is np.ndarray
        assert losses.dtype == np.float64
        assert losses.ndim == 1
        values = gaussian_cdf_q(losses)
        losses[:] = np.nan
        return values

    curve = prv.compose(prv.FromCDFs(careless, gaussian_cdf_p))
    wanted = prv.compose(prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p))
    assert curve.epsilon(1e-3) == wanted.epsilon(1e-3)


# ---- Import ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_importing_brings_nothing_heavy(tmp_path):
    code = (
        "import sys, prvcore\n"
        "heavy = {'pyfftw', 'scipy', 'argparse', 'matplotlib', 'tqdm', 'prvcore._cli'}\n"
        "before = heavy & set(sys.modules)\n"
        "import numpy\n"
        "print(sorted(before))"
    )
    # what numpy itself imports is no weight of ours
    numpy_alone = (
        "import sys, numpy\n"
        "print(sorted({'pyfftw', 'scipy', 'argparse', 'matplotlib', 'tqdm'} & set(sys.modules)))"
    )
    ours, numpys = (
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        ).stdout
        for program in (code, numpy_alone)
    )
    assert ours == numpys


def test_all_public_names_exist_and_are_documented():
    for public in prv.__all__:
        assert getattr(prv, public).__doc__, public


def test_get_include_finds_the_headers():
    assert (Path(prv.get_include()) / "prvcore.h").is_file()
    assert (Path(prv.get_include()) / "prvcore.hpp").is_file()


def test_programs_in_c_begin_with_the_same_options():
    in_c = default_options()
    assert in_c.pop("memory_limit") == prv.get_memory_limit()
    assert in_c == {option: Settings().of_core()[option] for option in in_c}


@pytest.mark.parametrize(
    ("option", "value"),
    [("eps_error", -1.0), ("mesh_size", 1e6), ("memory_limit", 0), ("delta_relative_error", 1.0)],
)
def test_the_core_names_an_option_that_is_out_of_its_range(option, value):
    settings = {**Settings().of_core(), "memory_limit": 2**30}
    steps, bounds = Composition((STEP._handle(),), (10,)), np.empty((1, 3))
    steps.query(True, np.array([1e-5]), bounds, **settings)
    with pytest.raises(ValueError, match=f"^{option} is out of its range$"):
        steps.query(True, np.array([1e-5]), bounds, **{**settings, option: value})


@pytest.mark.slow
def test_a_choice_may_be_a_subclass_of_str():
    class Name(str):
        __slots__ = ()

    curve = prv.compose(STEP, 2, engine=Name("spectrum"), neighbors=Name("add-or-remove"))
    assert type(curve.engine) is str
    assert curve.epsilon(1e-5) == prv.compose(STEP, 2, engine="spectrum").epsilon(1e-5)


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ([(prv.Gaussian(1.0), 2.7)], ValueError, "must be an integer .* got 2.7"),
        ([(prv.Gaussian(1.0), 5), (prv.Gaussian(1.0), -3)], ValueError, "got -3"),
        ([(prv.Gaussian(1.0), True)], TypeError, "must be an integer .* got True"),
        ([(3, 1)], TypeError, r"mechanisms\[0\] must be a mechanism"),
    ],
)
def test_a_curve_looks_at_its_counts_however_it_is_made(steps, error, message):
    for make in (prv.PrivacyCurve, prv.compose):
        with pytest.raises(error, match=message):
            make(steps)


class Noise:
    """Normal noise whose methods are its functions; equal to itself alone."""

    def __init__(self, mean):
        self.law = norm(loc=mean)

    def cdf(self, losses):
        return self.law.cdf(losses)


def test_equal_functions_are_merged():
    q, p = Noise(0.5), Noise(-0.5)
    a, b = prv.FromCDFs(q.cdf, p.cdf), prv.FromCDFs(q.cdf, p.cdf)
    assert a == b
    assert a.cdf_q is not b.cdf_q
    curve = prv.compose([a, (b, 2)])
    assert curve.counts == (3,)
    assert curve == prv.compose(b, 3)
    assert hash(curve) == hash(prv.compose(b, 3))
    sampled = prv.compose([prv.PoissonSubsampled(a, 0.1), prv.PoissonSubsampled(b, 0.1)])
    assert sampled.counts == (2,)
