"""Both engines certify the same answers: what one proves, the other cannot refute."""

import copy
import math
import pickle
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from tests.support.examples import ALL, gaussian_delta, name
from tests.support.strategies import log_uniform, noises, probabilities, sensitivities, tables

# bounds must hold whatever their width: little memory keeps the hard settings short
pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")

ENGINES = ("convolution", "spectrum")
REFUSAL = "spectrum falls too slowly"


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    limit = prv.get_memory_limit()
    prv.set_memory_limit(2**24)
    yield
    prv.set_memory_limit(limit)


counts = log_uniform(1.0, 1e5).map(int)
# as likely small as common
deltas = st.one_of(log_uniform(1e-12, 0.5), log_uniform(1e-100, 1e-12))
neighbors = st.sampled_from(["add-or-remove", "add", "remove"])


@st.composite
def steps_of_one(draw):
    """Draw a mechanism and a count, with the noise that so many steps take."""
    if draw(st.integers(0, 7)) == 0:
        return draw(tables()), draw(log_uniform(1.0, 100.0).map(int))
    count = draw(counts)
    noise = draw(noises) * max(1.0, math.sqrt(count) / 10.0)
    sensitivity = draw(sensitivities)
    base = draw(
        st.sampled_from(
            [
                prv.Gaussian(noise),
                prv.Laplace(noise, sensitivity),
                prv.DiscreteGaussian(noise, sensitivity),
                prv.DiscreteLaplace(noise, sensitivity),
                prv.PureDP(1.0 / noise),
                prv.ApproximateDP(1.0 / noise, draw(log_uniform(1e-15, 1e-6))),
            ]
        )
    )
    p = draw(probabilities)
    sampled = [prv.PoissonSubsampled(base, p), prv.PoissonSubsampledGaussian(draw(noises), p)]
    return draw(st.sampled_from([base, *sampled])), count


alone = steps_of_one().map(lambda step: [step])
several = st.lists(steps_of_one(), min_size=2, max_size=3)

some = settings(max_examples=60, derandomize=True)
few = settings(max_examples=15, derandomize=True)


def answers_of(steps, delta, direction="add-or-remove"):
    """Return each engine's bounds of epsilon, and of delta near there; None where one is refused.

    The width is one for the size of epsilon, so that no setting takes long.
    """
    at = prv.compose(steps, eps_error=1.0).epsilon(delta).lower
    width = 0.03 * max(1.0, at) if at < math.inf else 1.0
    answers = []
    for engine in ENGINES:
        curve = prv.compose(steps, engine=engine, neighbors=direction, eps_error=width)
        try:
            answers.append((curve.epsilon(delta), curve.delta(at)))
        except ValueError as error:
            if engine == "spectrum" and REFUSAL in str(error):
                return None
            raise
    return answers


def overlap(a, b):
    return a.lower <= b.upper and b.lower <= a.upper


def ordered(bounds):
    return 0.0 <= bounds.lower <= bounds.estimate <= bounds.upper


# ---- Bounds ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("composition", [alone, several], ids=["alone", "several"])
def test_bounds_overlap(composition):
    asked, refused = 0, 0

    @some
    @given(composition, deltas, neighbors)
    def ask(steps, delta, direction):
        nonlocal asked, refused
        asked += 1
        answers = answers_of(steps, delta, direction)
        if answers is None:
            # a spectrum is for many steps: the law of a few may have a modulus that hardly falls
            refused += sum(count for _, count in steps) >= 100
            return
        for a, b in zip(*answers, strict=True):
            assert ordered(a)
            assert ordered(b)
            assert overlap(a, b)

    ask()
    assert refused <= 0.02 * asked


@pytest.mark.slow
@few
@given(noises, counts, deltas)
def test_bounds_contain_the_exact_gaussian_value(noise, count, delta):
    mu = math.sqrt(count) / noise
    answers = answers_of([(prv.Gaussian(noise), count)], delta)
    for (lower, _, upper), _ in answers or []:
        assert gaussian_delta(upper, mu) <= delta * (1.0 + 1e-12)
        assert lower == 0.0 or gaussian_delta(lower, mu) >= delta * (1.0 - 1e-12)


def response_delta(epsilon, single, count):
    """Return the exact delta of `count` times PureDP(single)."""
    import mpmath

    with mpmath.workdps(60):
        single, total = mpmath.mpf(single), mpmath.mpf(0)
        p = 1 / (1 + mpmath.exp(-single))
        for heads in range(count + 1):
            loss = (2 * heads - count) * single
            if loss > epsilon:
                mass = mpmath.binomial(count, heads) * p**heads * (1 - p) ** (count - heads)
                total += mass * -mpmath.expm1(epsilon - loss)
        return float(total)


@pytest.mark.slow
@few
@given(log_uniform(1e-3, 1.0), st.integers(1, 300), deltas)
def test_bounds_contain_the_exact_value_of_randomized_response(single, count, delta):
    answers = answers_of([(prv.PureDP(single), count)], delta)
    for (lower, _, upper), _ in answers or []:
        # epsilon itself is rounded, which matters next to an atom
        assert response_delta(upper * (1.0 + 1e-14), single, count) <= delta * (1.0 + 1e-12)
        below = response_delta(lower * (1.0 - 1e-14), single, count)
        assert lower == 0.0 or below >= delta * (1.0 - 1e-12)


@pytest.mark.parametrize(
    ("mechanism", "count", "delta"),
    [
        (prv.PoissonSubsampledGaussian(0.8, 1e-3), 100_000, 1e-7),
        (prv.PoissonSubsampledGaussian(0.8, 1e-2), 1000, 1e-30),
        (prv.PoissonSubsampledGaussian(0.6, 1e-6), 100_000, 1e-5),  # rare jumps alone decide
        (prv.PoissonSubsampled(prv.Laplace(1.0), 1e-4), 10_000, 1e-10),
        (prv.Gaussian(30.0), 1000, 1e-100),
        (prv.Gaussian(30.0), 100_000, 0.5),
        (prv.DiscreteLaplace(30.0, 2), 1000, 1e-12),
    ],
    ids=str,
)
def test_both_engines_are_as_narrow_as_asked(mechanism, count, delta):
    curves = [
        prv.compose(mechanism, count, engine=engine, neighbors="remove", eps_error=0.02)
        for engine in ENGINES
    ]
    a, b = (curve.epsilon(delta) for curve in curves)
    assert overlap(a, b)
    assert max(a.upper - a.lower, b.upper - b.lower) <= 0.02
    for curve, engine in zip(curves, ENGINES, strict=True):
        assert curve.error_budget(delta=delta).engine == engine


# ---- The argument ----------------------------------------------------------------------------


def test_a_budget_names_the_engine():
    step = prv.PoissonSubsampledGaussian(0.8, 1e-3)
    by_spectrum, by_convolution = (
        prv.compose(step, 1000, engine=engine).error_budget(delta=1e-7)
        for engine in ("spectrum", "convolution")
    )
    assert by_spectrum.engine == "spectrum"
    assert by_spectrum.frequencies > 0
    assert by_spectrum.transforms == by_spectrum.transform_length == 0
    assert by_convolution.engine == "convolution"
    assert by_convolution.frequencies == 0
    assert by_convolution.transforms > 0
    assert prv.compose(step, 1000).error_budget(epsilon=math.inf).engine == "none"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ALL, ids=name)
@pytest.mark.parametrize("count", [1, 100])
def test_auto_answers(mechanism, count):
    curve = prv.compose(mechanism, count, engine="auto", eps_error=0.05)
    assert curve == prv.compose(mechanism, count, eps_error=0.05)
    assert ordered(curve.epsilon(1e-3))
    assert curve.error_budget(delta=1e-3).engine in (*ENGINES, "closed_form", "jumps", "none")


@pytest.mark.parametrize("noise", [1.0, 1e5])
def test_very_many_steps(noise):
    count = 10**12
    mu = math.sqrt(count) / noise
    error = 3e-2  # rounding over so many steps leaves no less where epsilon is of order 100
    curve = prv.compose(prv.Gaussian(noise), count, eps_error=error * mu * mu)
    lower, _, upper = curve.epsilon(1e-5)
    assert upper - lower <= error * mu * mu
    assert gaussian_delta(lower, mu) >= 1e-5 >= gaussian_delta(upper, mu)


def test_dp_sgd_of_very_many_steps_has_the_width_of_the_defaults():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=1.1, sampling_probability=256 / 60000)
    lower, _, upper = prv.compose(step, 10**12).epsilon(1e-5)
    assert 0.0 < lower <= upper <= lower * 1.001


@pytest.mark.slow
def test_what_rounding_hides_is_said_to_be_rounding():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=1.1, sampling_probability=256 / 60000)
    curve = prv.compose(step, 2 * 10**14)
    with pytest.warns(prv.AccuracyWarning, match="rounding in double precision"):
        lower, _, upper = curve.epsilon(1e-5)
    assert 0.0 <= lower < upper < math.inf
    budget = curve.error_budget(delta=1e-5)
    assert not budget.accurate
    assert budget.rounding > 0.9 * budget.width


def test_a_spectrum_whose_lattice_would_be_too_fine_is_as_narrow_as_asked():
    steps = [
        (prv.PoissonSubsampled(prv.Laplace(0.068), 0.484), 348),
        (prv.PoissonSubsampled(prv.Laplace(0.463), 0.423), 595),
        (prv.PoissonSubsampled(prv.Laplace(0.211), 0.451), 211),
    ]
    curve = prv.compose(steps, eps_error=1e-4)
    narrow = curve.epsilon(9.4e-7)
    wide = prv.compose(steps, eps_error=1.0, engine="convolution").epsilon(9.4e-7)
    assert curve.error_budget(delta=9.4e-7).engine == "spectrum"
    assert narrow.upper - narrow.lower <= 1e-4
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


@pytest.mark.parametrize(
    ("steps", "delta"),
    [
        ([(prv.Laplace(0.239), 305), (prv.Laplace(13.2), 2620)], 9.25e-9),
        ([(prv.Laplace(1.13), 2440), (prv.Laplace(1.18), 2400)], 5.3e-7),
        ([(prv.PoissonSubsampledGaussian(0.794, 0.477), 5160)], 4.49e-9),
    ],
)
def test_large_epsilons_that_are_asked_closely_need_no_convolution(steps, delta):
    curve = prv.compose(steps, eps_error=1e-5)
    narrow = curve.epsilon(delta)
    wide = prv.compose(steps, eps_error=1.0, engine="convolution").epsilon(delta)
    assert curve.error_budget(delta=delta).engine == "spectrum"
    assert narrow.upper - narrow.lower <= 1e-5
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


def test_a_spectrum_that_rounds_by_half_of_the_width_keeps_its_jumps_together():
    # apart they hid the answer, and convolutions of millions of points followed
    step, delta = prv.GroupPoissonSubsampledGaussian(0.7182, 0.0005975, 32), 6.476790232730661e-83
    curve = prv.compose([(step, 321197)])
    found = curve.epsilon(delta)
    tilted = prv.compose([(step, 321197)], engine="convolution").epsilon(delta)
    assert curve.error_budget(delta=delta).engine == "spectrum"
    assert found.upper - found.lower <= 1e-3 * found.upper
    assert found.lower <= tilted.upper
    assert tilted.lower <= found.upper


def test_an_epsilon_beyond_the_period_is_not_hidden_by_rounding():
    # rare jumps decide, and the period was chosen for an epsilon that was guessed too small
    step, count, delta = prv.PoissonSubsampledGaussian(0.9225, 0.0001572), 1158, 8.0593e-4
    curve = prv.compose(step, count, neighbors="remove", engine="spectrum", mesh_size=1e-4)
    budget = curve.error_budget(delta=delta)
    assert budget.rounding < 1e-9
    assert budget.wrap_around > 0.9 * budget.width
    bounds = curve.epsilon(delta)
    close = prv.compose(step, count, neighbors="remove", engine="convolution")
    assert close.delta(bounds.lower).upper >= delta >= close.delta(bounds.upper).lower


def test_rounding_is_small_about_zeros_of_a_characteristic_function():
    # its relative error is large there, and the other steps' moduli are not
    steps = [
        (prv.PoissonSubsampledGaussian(3.385, 8.925e-05), 2),
        (prv.DiscreteGaussian(4.505, 1), 10),
        (prv.PoissonSubsampledGaussian(8.635, 0.3221), 12),
        (prv.DiscreteGaussian(50.88, 1), 24),
        (prv.PoissonSubsampledGaussian(5.496, 0.0001455), 1293),
    ]
    delta = 1.9713e-9
    curve = prv.PrivacyCurve(steps, neighbors="add", engine="spectrum")
    budget = curve.error_budget(delta=delta)
    assert budget.accurate
    assert budget.tilt < 5.0  # half of the saddle point: rounding leaves room for that
    by_convolution = prv.PrivacyCurve(steps, neighbors="add", engine="convolution", eps_error=0.1)
    assert overlap(curve.epsilon(delta), by_convolution.epsilon(delta))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 100.0, 250.0, 300.0, 350.0])
def test_a_delta_near_one(epsilon):
    exact = gaussian_delta(epsilon, math.sqrt(1000))
    lower, _, upper = prv.compose(prv.Gaussian(1.0), 1000, delta_relative_error=0).delta(epsilon)
    assert lower <= exact <= upper
    assert upper - lower <= 2e-9 + 1e-3 * max(epsilon, 1e-3) * (1.0 - exact)


def test_a_single_atom_needs_no_falling_spectrum():
    # the modulus of its characteristic function is 1 at every frequency
    for engine in ("auto", "convolution", "spectrum"):
        curve = prv.compose(prv.FromTable([0.0], [1.0]), 2, engine=engine, eps_error=1e-2)
        assert curve.epsilon(0.3).upper == 0.0


@pytest.mark.parametrize("value", ["fft", "", "Spectrum"])
def test_a_bad_engine_is_a_value_error(value):
    with pytest.raises(ValueError, match="engine") as caught:
        prv.compose(prv.Gaussian(1.0), engine=value)
    message = str(caught.value)
    assert repr(value) in message
    assert all(repr(allowed) in message for allowed in ("auto", "convolution", "spectrum"))


@pytest.mark.parametrize("value", [None, 1, b"spectrum", ["spectrum"]])
def test_an_engine_that_is_no_string_is_a_type_error(value):
    with pytest.raises(TypeError, match="engine"):
        prv.compose(prv.Gaussian(1.0), engine=value)


def test_mean_matching_has_no_spectrum():
    with pytest.raises(ValueError, match=r"engine.*mean-matching.*'spectrum'"):
        prv.compose(prv.Gaussian(1.0), discretization="mean-matching", engine="spectrum")
    assert prv.compose(prv.Gaussian(1.0), discretization="mean-matching", engine="convolution")


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_pickles_and_copies_keep_the_engine(engine):
    curve = prv.compose(prv.Gaussian(30.0), 100, engine=engine)
    for again in (pickle.loads(pickle.dumps(curve)), copy.copy(curve), copy.deepcopy(curve)):
        assert again.engine == engine
        assert again == curve
        assert hash(again) == hash(curve)
        assert repr(again) == repr(curve)


def test_the_engine_is_part_of_what_a_curve_is():
    curves = [prv.compose(prv.Gaussian(30.0), 100, engine=e) for e in ("auto", *ENGINES)]
    assert len(set(curves)) == 3
    assert "engine" not in repr(curves[0])
    assert "engine='convolution'" in repr(curves[1])
    assert "engine='spectrum'" in repr(curves[2])


def test_the_same_spectrum_has_the_same_bits():
    steps = [(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000), (prv.Laplace(20.0), 10)]
    one = prv.compose(steps, engine="spectrum").epsilon([1e-5, 1e-9])
    again = prv.compose(steps[::-1], engine="spectrum").epsilon([1e-5, 1e-9])
    assert all((a == b).all() for a, b in zip(one, again, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "probability", "count", "delta", "neighbors"),
    [
        (0.2, 1e-5, 10, 1e-5, "add"),  # much mass an ulp below the greatest loss
        (0.2, 1e-5, 100, 1e-5, "add"),
        (0.06, 0.02, 3, 1e-5, "add"),  # nearly all of it
        (0.3, 0.01, 100, 1e-10, "remove"),  # rounding at the first tilt is far above its guess
        (0.5, 1e-3, 100_000, 1e-5, "remove"),
        (0.21, 1.4e-5, 45_346, 1.2e-13, "add-or-remove"),  # a first guess far off
        (0.64, 1.9e-6, 455, 2.6e-11, "remove"),
        (0.91, 3.6e-5, 152, 1e-15, "remove"),  # only jumps fall
        (0.77, 4.1e-6, 110, 2.8e-14, "add-or-remove"),
    ],
)
def test_bounds_are_as_narrow_as_asked(noise, probability, count, delta, neighbors):
    step = prv.PoissonSubsampledGaussian(noise, probability)
    lower, _, upper = prv.eps_from_delta(step, delta, counts=count, neighbors=neighbors)
    assert upper - lower <= 1e-3 * max(upper, 1e-3)
    at = prv.delta_from_eps(step, [lower, upper], counts=count, neighbors=neighbors)
    assert at.lower[1] <= delta <= at.upper[0]


@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_no_delta_is_above_the_sum_of_the_total_variations(delta):
    # each step differs with probability p at most
    step = prv.PoissonSubsampledGaussian(0.3, 1e-6)
    assert prv.eps_from_delta(step, delta, counts=100_000) == (0.0, 0.0, 0.0)
    one = prv.PoissonSubsampledGaussian(1.0, 0.01)
    total_variation = 0.01 * math.erf(0.5 / math.sqrt(2.0))
    assert prv.eps_from_delta(one, total_variation * 1.05).upper == 0.0
    assert prv.eps_from_delta(one, total_variation * 0.95).lower > 0.0


@pytest.mark.parametrize("neighbors", ["add", "remove"])
@pytest.mark.parametrize("eps_error", [0.002, 0.0026, 0.01])
@pytest.mark.parametrize("p", [1e-290, 1.9e-303, 2.0**-1022])
def test_samples_whose_quotients_of_losses_overflow(p, eps_error, neighbors):
    step = prv.PoissonSubsampledGaussian(0.335, p)
    options = {"eps_error": eps_error, "neighbors": neighbors, "engine": "convolution"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)  # convolutions round absolutely
        bounds = prv.compose(step, **options).delta([0.0, -p, -1e-200, -1e-10])
    # p times the total variation of Gaussian noise; below log(1 - p), 1 - e^epsilon at least
    assert bounds.lower[0] <= 0.86445 * p
    assert bounds.upper[0] >= 0.86444 * p
    for i, epsilon in ((1, p), (2, 1e-200), (3, 1e-10)):
        assert bounds.upper[i] >= -math.expm1(-epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("eps_error", [0.1, 0.05, 0.04728, 0.03])
def test_what_transforms_would_drown_is_multiplied_out(eps_error):
    """1 - delta is some 2e-10 here, and known where the width asks for it."""
    steps = [(prv.Laplace(scale=0.5), 100), (prv.Gaussian(noise_multiplier=0.2), 3)]
    room = {"memory_limit": 2**27}  # atoms off the lattice have it finer than 2^24 bytes allow
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)  # rounding of long transforms
        bounds = prv.compose(steps, eps_error=eps_error, delta_relative_error=0).delta(
            47.28, **room
        )
    fine = prv.compose(steps, eps_error=1e-3, delta_relative_error=0).delta(47.28, **room)
    assert max(bounds.lower, fine.lower) <= min(bounds.upper, fine.upper)
    assert bounds.upper - bounds.lower < 1e-6
    assert fine.upper - fine.lower < 1e-9
