"""The least noise, the largest sampling probability and the most steps that meet a target."""

import math
import threading
import time

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from prvcore._steps import pairs

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1.0, sampling_probability=0.01)

# Noise multipliers from tilted transforms on two meshes, contour quadrature, or closed forms:
# epsilon, delta, sampling probability, steps, noise multiplier, its relative tolerance. Other
# accountants take minutes for some of these, give up on others, or answer 16 times too much.
REPORTED = [
    (50.0, 1e-5, 0.01, 1000, 0.33339, 1e-4),
    (1000.0, 1e-5, 0.01, 1000, 0.10848, 1e-3),
    (0.01, 1e-5, 1.0, 1, 243.7854, 1e-5),
    (0.1, 1e-6, 1.0, 1, 36.30469, 1e-5),
    (10.0, 1e-6, 1.0, 1, 0.54108683, 1e-5),
    (100.0, 1e-6, 1.0, 1, 0.09783722, 1e-5),
    (700.0, 1e-6, 1.0, 1, 0.03031347, 1e-5),
    (5000.0, 1e-6, 1.0, 1, 0.0104855618, 1e-5),
    (0.0, 1e-6, 1.0, 1, 398942.28, 1e-6),
    (4.0, 2e-5, 0.06950855281020907, 43, 0.90475, 1e-4),
    (0.01, 1e-5, 0.01, 1000, 77.13, 1e-3),
]


def check_promises(found):
    """Check what holds of every calibration."""
    assert found.bounds.upper <= found.epsilon
    assert found.curve.epsilon(found.delta) == found.bounds
    assert prv.compose(found.mechanisms).mechanisms == found.curve.mechanisms
    # Bounds that are 0 on one side of the target tell a search nothing of the distance.
    assert found.fine_compositions <= (15 if found.epsilon > 0.0 else 60)
    assert found.fine_compositions <= found.compositions
    if found.next_value is None:
        assert found.next_bounds is None
    else:
        assert found.next_bounds.upper > found.epsilon
        assert found.proven == (found.monotone and found.next_bounds.lower > found.epsilon)


@pytest.mark.parametrize("row", REPORTED, ids=lambda row: f"epsilon={row[0]:g}-steps={row[3]}")
def test_reported_settings(row):
    epsilon, delta, probability, steps, noise, tolerance = row
    step = prv.PoissonSubsampledGaussian(1.0, probability)
    found = prv.calibrate(step, steps, epsilon=epsilon, delta=delta, tolerance=tolerance / 2)
    check_promises(found)
    assert found.proven
    assert found.value == pytest.approx(noise, rel=tolerance)
    assert found.value * (1 - tolerance / 2) * (1 - 1e-12) <= found.next_value < found.value
    assert found.mechanisms == ((prv.PoissonSubsampledGaussian(found.value, probability), steps),)


def test_defaults():
    found = prv.calibrate(STEP, 1000, epsilon=8, delta=1e-5)
    check_promises(found)
    assert found.proven
    assert found.parameter == "noise_multiplier"
    assert found.next_value == pytest.approx(found.value, rel=1.01e-4)
    assert (found.epsilon, found.delta) == (8.0, 1e-5)


@pytest.mark.parametrize("start", [1e-3, 0.0, 40.0, 1e6])
def test_where_the_search_starts_does_not_matter(start):
    mechanism = prv.Gaussian(start)
    found = prv.calibrate(mechanism, 16, epsilon=2, delta=1e-5, tolerance=1e-5)
    check_promises(found)
    # sixteen are one of a quarter of the noise
    one = prv.calibrate(prv.Gaussian(1.0), epsilon=2, delta=1e-5, tolerance=1e-5)
    assert found.value == pytest.approx(4 * one.value, rel=1.1e-5)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 30.0])
def test_sampling_probability(epsilon):
    found = prv.calibrate(STEP, 1000, epsilon=epsilon, delta=1e-5, parameter="sampling_probability")
    check_promises(found)
    assert found.proven
    assert found.value < found.next_value <= 1.0
    assert found.mechanisms == ((prv.PoissonSubsampledGaussian(1.0, found.value), 1000),)


def test_every_record_may_be_sampled():
    found = prv.calibrate(STEP, 10, epsilon=99, delta=1e-5, parameter="sampling_probability")
    check_promises(found)
    assert found.value == 1.0
    assert found.next_value is None
    assert found.proven


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
def test_steps_are_exact(epsilon):
    found = prv.calibrate(STEP, epsilon=epsilon, delta=1e-5, parameter="steps")
    check_promises(found)
    assert found.proven
    assert isinstance(found.value, int)
    assert found.next_value == found.value + 1
    assert found.curve.counts == (found.value,)
    width = {"eps_error": found.curve.eps_error}
    assert prv.eps_from_delta(STEP, 1e-5, found.value, **width).upper <= epsilon
    assert prv.eps_from_delta(STEP, 1e-5, found.value + 1, **width).upper > epsilon


def test_steps_of_a_pure_mechanism():
    found = prv.calibrate(prv.PureDP(0.5), epsilon=4.6, delta=0, parameter="steps")
    check_promises(found)
    assert found.value == 9


def test_any_number_of_steps_of_nothing():
    nothing = prv.PoissonSubsampledGaussian(1.0, 0.0)
    found = prv.calibrate(nothing, epsilon=0, delta=0, parameter="steps")
    assert (found.value, found.next_value) == (2**53, None)


def test_no_step_at_all():
    found = prv.calibrate(prv.Gaussian(0.1), epsilon=0.1, delta=1e-6, parameter="steps")
    check_promises(found)
    assert (found.value, found.next_value) == (0, 1)


def test_no_noise_is_needed():
    """A record is in one of ten samples with a probability below delta."""
    step = prv.PoissonSubsampledGaussian(1.0, 1e-6)
    found = prv.calibrate(step, 10, epsilon=1, delta=1e-4)
    assert (found.value, found.next_value, found.bounds.upper) == (0.0, None, 0.0)
    assert found.curve.epsilon(1e-4).upper == 0.0


@pytest.mark.parametrize("parameter", ["noise_multiplier", "sampling_probability", "steps"])
@pytest.mark.parametrize("neighbors", ["add-or-remove", "add", "remove"])
def test_schedules(parameter, neighbors):
    """All is multiplied by one factor; what has no such parameter stays."""
    schedule = [(STEP, 100), (prv.PoissonSubsampled(prv.Laplace(3.0), 0.05), 5), prv.PureDP(0.1)]
    found = prv.calibrate(
        schedule, epsilon=3, delta=1e-6, parameter=parameter, neighbors=neighbors, tolerance=1e-3
    )
    check_promises(found)
    assert found.curve.neighbors == neighbors
    noise, probability, times = 1.0, 1.0, 1
    if parameter == "noise_multiplier":
        noise = found.value
    elif parameter == "sampling_probability":
        probability = found.value
    else:
        times = found.value
    assert found.mechanisms == (
        (prv.PoissonSubsampledGaussian(noise, 0.01 * probability), 100 * times),
        (prv.PoissonSubsampled(prv.Laplace(3.0 * noise), 0.05 * probability), 5 * times),
        (prv.PureDP(0.1), times),
    )


def test_one_mechanism_in_a_list_is_a_schedule():
    alone = prv.calibrate(prv.Gaussian(4.0), 10, epsilon=2, delta=1e-5)
    listed = prv.calibrate([(prv.Gaussian(4.0), 10)], epsilon=2, delta=1e-5)
    assert alone.value == 4.0 * listed.value
    assert alone.mechanisms == listed.mechanisms


@pytest.mark.parametrize(
    ("mechanisms", "parameter", "is_factor"),
    [
        (STEP, "noise_multiplier", False),
        (STEP, "sampling_probability", False),
        (STEP, "steps", False),
        ([STEP], "noise_multiplier", True),
        ([STEP], "sampling_probability", True),
        ([(STEP, 2)], "steps", False),
        ([(STEP, 500), (prv.Laplace(20.0), 1)], "noise_multiplier", True),
        (prv.Composed([prv.Gaussian(2.0), prv.Laplace(3.0)]), "noise_multiplier", True),
        (prv.PoissonSubsampled([prv.Gaussian(2.0), prv.Gaussian(3.0)], 0.01), "scale", True),
    ],
    ids=repr,
)
def test_a_value_says_whether_it_is_a_factor(mechanisms, parameter, is_factor):
    given = [mechanism for mechanism, _ in pairs(mechanisms, None)]
    found = prv.calibrate(mechanisms, epsilon=1.0, delta=1e-6, parameter=parameter, tolerance=1e-2)
    assert found.is_factor is is_factor
    if parameter == "steps":
        assert [count for _, count in found.mechanisms] in ([found.value], [2 * found.value])
        return
    assert f"is_factor={is_factor}" in repr(found)
    core = "sampling_probability" if parameter == "sampling_probability" else "noise"
    by = found.value if is_factor else found.value / given[0]._parameter(core)
    expected = [m if (p := m._parameter(core)) is None else m._with(core, p * by) for m in given]
    assert [mechanism for mechanism, _ in found.mechanisms] == expected


@pytest.mark.parametrize(
    "mechanism",
    [prv.Laplace(1.0, sensitivity=50.0), prv.DiscreteLaplace(2.0, 3), prv.DiscreteGaussian(7.0)],
    ids=repr,
)
def test_scales_of_all_noises(mechanism):
    found = prv.calibrate(mechanism, 4, epsilon=1.5, delta=1e-6, parameter="scale")
    check_promises(found)
    assert found.value == found.mechanisms[0][0].scale


def test_laplace_at_delta_zero():
    found = prv.calibrate(prv.Laplace(1.0), 10, epsilon=4, delta=0, parameter="scale")
    assert found.value == pytest.approx(2.5, rel=1e-4)


@pytest.mark.parametrize("engine", ["auto", "convolution", "spectrum"])
def test_engines_agree(engine):
    found = prv.calibrate(STEP, 500, epsilon=2, delta=1e-6, engine=engine, tolerance=1e-3)
    check_promises(found)
    truth = prv.calibrate(STEP, 500, epsilon=2, delta=1e-6, tolerance=1e-5)
    assert found.next_value <= truth.value
    assert truth.next_value <= found.value


@pytest.mark.slow
@settings(max_examples=25)
@given(
    epsilon=st.floats(1e-2, 1e3),
    log_delta=st.floats(-40.0, -1.0),
    steps=st.integers(1, 10**6),
)
def test_gaussians_follow_the_square_root_of_their_number(epsilon, log_delta, steps):
    delta = math.exp(log_delta)
    one = prv.calibrate(prv.Gaussian(1.0), epsilon=epsilon, delta=delta, tolerance=1e-3)
    many = prv.calibrate(prv.Gaussian(1.0), steps, epsilon=epsilon, delta=delta, tolerance=1e-3)
    check_promises(one)
    check_promises(many)
    root = math.sqrt(steps) * (1 + 1e-9)
    assert many.next_value <= root * one.value
    assert one.next_value * math.sqrt(steps) * (1 - 1e-9) <= many.value


@pytest.mark.parametrize(
    ("mechanisms", "epsilon", "delta", "says"),
    [
        (prv.Gaussian(1.0), 1.0, 0.0, "more noise"),
        ([prv.Gaussian(1.0), prv.ApproximateDP(0.5, 1e-4)], 9.0, 1e-5, "epsilon is infinite"),
        ([prv.Gaussian(1.0), prv.PureDP(0.5)], 0.4, 1e-5, r"at least 0\.49\d* is left"),
    ],
)
def test_impossible_targets(mechanisms, epsilon, delta, says):
    with pytest.raises(prv.TargetError, match=says):
        prv.calibrate(mechanisms, epsilon=epsilon, delta=delta)


def test_impossible_sampling():
    with pytest.raises(prv.TargetError, match="a smaller sampling_probability"):
        prv.calibrate(
            [STEP, prv.PureDP(0.5)], epsilon=0.4, delta=0, parameter="sampling_probability"
        )


@pytest.mark.parametrize(
    ("mechanisms", "options", "says"),
    [
        (prv.PureDP(1.0), {}, "no mechanism that runs has a noise_multiplier"),
        (prv.Gaussian(1.0), {"parameter": "sampling_probability"}, "has a sampling_probability"),
        ([(STEP, 0)], {}, "no mechanism that runs"),
        ([], {}, "no mechanism that runs"),
        ([(STEP, 0)], {"parameter": "steps"}, "counts must not be 0"),
        ([prv.Gaussian(0.0)], {}, "noise_multiplier must be > 0 in each mechanism"),
        (
            prv.PoissonSubsampled(STEP, 0.5),
            {"parameter": "sampling_probability"},
            "sampled more than once",
        ),
        (STEP, {"parameter": "noise"}, "parameter must be one of"),
        (STEP, {"epsilon": -1.0}, "epsilon must be finite and >= 0"),
        (STEP, {"epsilon": math.inf}, "epsilon must be finite and >= 0"),
        (STEP, {"epsilon": math.nan}, "epsilon must be finite and >= 0"),
        (STEP, {"delta": 1.5}, "delta must be in"),
        (STEP, {"delta": math.nan}, "delta must be in"),
        (STEP, {"tolerance": 0.0}, "tolerance must be in"),
        (STEP, {"tolerance": 0.5}, "tolerance must be in"),
        (STEP, {"neighbors": "replace"}, "neighbors must be one of"),
    ],
)
def test_refusals(mechanisms, options, says):
    with pytest.raises(ValueError, match=says):
        prv.calibrate(mechanisms, **{"epsilon": 1.0, "delta": 1e-5, **options})


def test_threads_get_the_same_bits():
    expected = prv.calibrate(STEP, 300, epsilon=2, delta=1e-6)
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(prv.calibrate(STEP, 300, epsilon=2, delta=1e-6))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.slow
@pytest.mark.parametrize("done", [1, 900, 3000])
def test_steps_after_others_are_what_is_left_of_all(done):
    step = prv.PoissonSubsampledGaussian(0.8, 1e-3)
    target = {"epsilon": 1.0, "delta": 1e-7, "parameter": "steps"}
    total = prv.calibrate(step, **target).value
    for after in ([(step, done)], prv.compose(step, done)):
        assert prv.calibrate(step, after=after, **target).value == total - done
    with pytest.raises(prv.TargetError, match="cannot be met by fewer steps"):
        prv.calibrate(step, after=[(step, total + 1)], **target)


def test_noise_after_others_is_that_of_the_rest():
    before = [(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000), prv.Laplace(20.0)]
    step = prv.PoissonSubsampledGaussian(1.0, 1e-2)
    found = prv.calibrate(step, 300, epsilon=2.0, delta=1e-6, after=before)
    assert found.proven
    assert found.mechanisms == ((prv.PoissonSubsampledGaussian(found.value, 1e-2), 300),)
    for value, bounds in ((found.value, found.bounds), (found.next_value, found.next_bounds)):
        together = [*before, (prv.PoissonSubsampledGaussian(value, 1e-2), 300)]
        lower, _, upper = prv.compose(together, eps_error=1e-5).epsilon(1e-6)
        assert max(lower, bounds.lower) <= min(upper, bounds.upper)
    assert set(found.curve.mechanisms) == {
        before[0][0],
        before[1],
        prv.PoissonSubsampledGaussian(found.value, 1e-2),
    }


def exact_discrete_gaussian_delta(scale, epsilon):
    """Sum the excess of a discrete Gaussian over e^epsilon times its shift by 1, to 40 digits."""
    with mp.workdps(50):
        weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2)) for x in range(101)]
        total = weights[0] + 2 * mp.fsum(weights[1:])
        a = mp.exp(epsilon)
        excess = (weights[abs(x - 1)] - a * weights[abs(x)] for x in range(-99, 100))
        return mp.fsum(part for part in excess if part > 0) / total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "better"), [(4.3e-4, 1.5), (3.96e-8, 2.5)], ids=["scale 1.5", "scale 2.5"]
)
def test_epsilon_may_rise_with_the_scale_of_a_discrete_gaussian(delta, better):
    """Above the sensitivity too: a scale well below the one that is found meets the target."""
    assert exact_discrete_gaussian_delta(better, 2) < delta
    assert exact_discrete_gaussian_delta(better + 0.02, 2) > delta
    found = [
        prv.calibrate(prv.DiscreteGaussian(s), epsilon=2, delta=delta, parameter="scale")
        for s in (0.3, better, 2.0, 20.0)
    ]
    assert len({(one.value, one.next_value, one.bounds) for one in found}) == 1
    for one in found:
        check_promises(one)
        assert exact_discrete_gaussian_delta(one.value, 2) <= delta
        assert exact_discrete_gaussian_delta(one.next_value, 2) > delta
        assert one.next_bounds.lower > 2
        assert not one.monotone
        assert not one.proven


@pytest.mark.slow
def test_what_is_known_to_be_monotone():
    discrete = prv.DiscreteGaussian(3.0)
    target = {"epsilon": 4.0, "delta": 1e-5}
    sampled = prv.PoissonSubsampled(discrete, 0.1)
    assert prv.calibrate(discrete, parameter="steps", **target).monotone
    assert prv.calibrate(sampled, 10, parameter="sampling_probability", **target).monotone
    assert not prv.calibrate(sampled, 10, parameter="scale", **target).monotone
    fixed = prv.SubsampledWithoutReplacement(discrete, 0.1)
    assert not prv.calibrate(fixed, neighbors="replace-one", **target).monotone
    mixed = [prv.Gaussian(2.0), discrete]
    assert not prv.calibrate(mixed, **target).monotone
    assert prv.calibrate([prv.Gaussian(2.0)], after=[discrete], **target).monotone
    for other in (prv.DiscreteLaplace(2.0), prv.Laplace(2.0), prv.Gaussian(2.0)):
        assert prv.calibrate(other, **target).monotone


MIXTURE = prv.MixtureOfGaussians(5.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize(
    "mechanisms",
    [
        MIXTURE,
        [(MIXTURE, 1), (MIXTURE, 10)],
        [(prv.DiscreteLaplace(8.0), 10), (MIXTURE, 10)],
        [(STEP, 10), (prv.Gaussian(1.7), 3), (prv.Gaussian(1.7), 1)],
        prv.GroupPoissonSubsampledGaussian(2.5, 0.01, 3),
        prv.TruncatedPoissonSubsampledGaussian(1.8, 0.01, 1000, 60),
        prv.PoissonSubsampled(prv.Laplace(3.0), 0.1),
    ],
    ids=lambda mechanisms: str(mechanisms)[:30],
)
def test_the_bounds_are_those_of_what_is_returned_to_the_bit(mechanisms, epsilon):
    found = prv.calibrate(mechanisms, epsilon=epsilon, delta=1e-5)
    assert found.curve.epsilon(1e-5) == found.bounds
    assert found.bounds.upper <= epsilon < found.next_bounds.upper


@pytest.mark.parametrize("parameter", ["noise_multiplier", "steps"])
@pytest.mark.parametrize(
    "after",
    [
        [prv.RandomizedResponse(1.0)],
        [prv.SubsampledWithoutReplacement(prv.Gaussian(2.0), 0.01)],
        prv.compose(prv.RandomizedResponse(1.0), neighbors="replace-one"),
    ],
)
def test_what_has_run_before_has_the_neighbours_that_are_asked_about(after, parameter):
    found = prv.calibrate(
        prv.Gaussian(5.0),
        epsilon=4.0,
        delta=1e-5,
        neighbors="replace-one",
        after=after,
        parameter=parameter,
    )
    before = after if isinstance(after, list) else [(after.mechanisms[0], 1)]
    curve = prv.compose([*before, *found.mechanisms], neighbors="replace-one", eps_error=1e-6)
    assert curve.epsilon(1e-5).lower <= 4.0
    assert found.curve.neighbors == "replace-one"


def test_a_curve_of_other_neighbours_cannot_have_run_before():
    with pytest.raises(ValueError, match=r"after .* got neighbors='add-or-remove' in it where 'r"):
        prv.calibrate(STEP, epsilon=8, delta=1e-5, neighbors="replace-one", after=prv.compose(STEP))


@pytest.mark.slow
def test_a_filter_of_mechanisms_that_only_have_replaced_records():
    """Two kinds, in both orders: each is asked about after the other has run."""
    fixed = prv.SubsampledWithoutReplacement(prv.Gaussian(2.0), 0.01)
    for order in ((fixed, prv.RandomizedResponse(0.1)), (prv.RandomizedResponse(0.1), fixed)):
        budget = prv.PrivacyFilter(prv.Accountant(neighbors="replace-one"), 8.0, 1e-5)
        for mechanism in order * 2:
            budget.add(mechanism)
        assert budget.accountant.steps == 4
        assert budget.spent().upper <= 8.0
        assert budget.remaining_steps(noise_multiplier=1.0, sampling_probability=0.01) > 10


@pytest.mark.parametrize(
    "mechanism",
    [prv.DiscreteLaplace(1.0), prv.DiscreteGaussian(3.0), prv.Laplace(1.0), prv.Gaussian(1.0)],
)
def test_where_no_noise_is_needed_any_will_do(mechanism):
    found = prv.calibrate(prv.PoissonSubsampled(mechanism, 1e-6), 3, epsilon=1.0, delta=1e-5)
    assert found.bounds.lower == 0.0
    assert found.bounds.upper <= 1.0
    assert found.value <= 1e-3
    assert found.next_value is None
    assert found.proven
    assert found.curve.epsilon(1e-5) == found.bounds


@pytest.mark.parametrize(
    ("mechanism", "parameter"),
    [
        (prv.Laplace(1.0), "scale"),
        (prv.Gaussian(1.0), "noise_multiplier"),
        (prv.PoissonSubsampled(prv.Laplace(1.0), 0.1), "sampling_probability"),
    ],
)
def test_nothing_at_all_is_spent_by_no_noise_and_no_sample(mechanism, parameter):
    with pytest.raises(prv.TargetError, match=r"epsilon = 0.0 at delta = 0.0 cannot be met"):
        prv.calibrate(mechanism, epsilon=0.0, delta=0.0, parameter=parameter)
    found = prv.calibrate(mechanism, epsilon=0.0, delta=0.0, parameter="steps")
    assert (found.value, found.next_value) == (0, 1)
    assert found.proven


SAMPLED = prv.PoissonSubsampledGaussian(1.0, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "bound"),
    [
        ({"advantage": 0.0}, r"of \d\S*e-\d+"),
        ({"advantage": 1e-300}, r"of \d\S*e-\d+"),
        ({"power": 0.01, "false_positive_rate": 0.01}, r"of 0\.01000000"),
        ({"bayes_risk": 0.5, "prior": 0.5}, r"of 0\.49999999"),
    ],
    ids=str,
)
@pytest.mark.parametrize("parameter", ["sampling_probability", "noise_multiplier"])
def test_a_risk_of_nothing_is_met_without_a_release_alone(target, bound, parameter):
    end = "a sampling_probability of 0" if parameter[0] == "s" else "infinite noise"
    pattern = f"is met by {end}.*but no other is shown to meet it.*rounding leaves a bound {bound}"
    started = time.process_time()
    with pytest.raises(prv.TargetError, match=pattern):
        prv.calibrate(SAMPLED, 100, parameter=parameter, **target)
    assert time.process_time() - started < 10.0  # widths far below the advantage took minutes


def test_what_is_left_of_others_is_told_as_before():
    leak = prv.ApproximateDP(0.0, 1e-3)
    with pytest.raises(prv.TargetError, match=r"cannot be met by a smaller .* at least 0\.00"):
        prv.calibrate(
            [SAMPLED], parameter="sampling_probability", advantage=1e-4, after=[(leak, 1)]
        )


@pytest.mark.parametrize("mechanism", [SAMPLED, prv.PoissonSubsampled(prv.Laplace(1.0), 0.01)])
def test_small_advantages_take_little_time(mechanism):
    started = time.process_time()
    found = prv.calibrate(mechanism, 100, parameter="sampling_probability", advantage=1e-9)
    assert 1e-11 < found.value < 1e-8
    assert found.bounds.upper <= 1e-9
    assert time.process_time() - started < 10.0


@pytest.mark.slow
def test_a_proof_takes_bounds_that_are_close_enough():
    step, before = prv.PoissonSubsampledGaussian(3.02, 0.01), [(prv.PureDP(0.07), 100)]
    found = prv.calibrate(step, epsilon=3, delta=1e-5, parameter="steps", after=before)
    assert (found.value, found.next_value) == (3409, 3410)
    assert found.proven
    closer = prv.compose([*before, (step, 3410)], eps_error=1e-7).epsilon(1e-5)
    assert closer.lower > 3.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "epsilon", "delta", "after", "least", "most_compositions"),
    [
        # rounding over 1e7 and 1e12 steps makes up what closer bounds would gain
        (prv.PoissonSubsampledGaussian(5, 0.0017), 5.0, 1e-7, (), 7_514_480, 40),
        (
            prv.PoissonSubsampledGaussian(2.98, 0.001),
            8.0,
            1e-7,
            [prv.DiscreteGaussian(3.0)],
            16_081_900,
            60,
        ),
        (prv.PoissonSubsampledGaussian(5, 1.2e-6), 10.0, 1e-10, (), 6_871_470_000_000, 200),
        # no data sets attain the pair of bounded ranges: closer bounds would not meet either
        (prv.PureDP(0.007501), 0.3042, 7.744e-9, [prv.BoundedRange(0.03266)], 67, 15),
    ],
)
def test_a_search_stops_where_closer_bounds_would_gain_nothing(
    step, epsilon, delta, after, least, most_compositions
):
    search = {"epsilon": epsilon, "delta": delta, "parameter": "steps", "after": after}
    found = prv.calibrate(step, **search)
    assert found.bounds.upper <= epsilon < found.next_bounds.upper
    assert found.value >= least
    assert found.compositions <= most_compositions
    # no pass takes more memory, or its bounds would be others
    frugal = prv.calibrate(step, **search, memory_limit=2**23)
    assert (frugal.value, frugal.bounds) == (found.value, found.bounds)
