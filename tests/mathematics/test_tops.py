"""Losses that decide alone: against integrals, and against lattices that keep no top."""

import itertools
import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from tests.support.quadrature import two_steps
from tests.support.strategies import log_uniform

pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")

Sampled = prv.PoissonSubsampledGaussian


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [
        ((0.8, 1e-4), (1.3, 1e-3), 2.0),
        ((1.1, 1e-5), (1.1, 1e-5), 0.05),
        ((2.0, 1e-3), (0.7, 1e-6), 3.0),
        ((1.5, 1e-5), (4.0, 1e-2), 0.2),
    ],
)
def test_two_steps_by_quadrature(first, second, epsilon):
    with mpmath.workdps(20):
        exact, error = two_steps(
            [mpmath.mpf(x) for x in first], [mpmath.mpf(x) for x in second], mpmath.mpf(epsilon)
        )
        assert error < 1e-3 * exact
        steps = [(Sampled(*first), 1), (Sampled(*second), 1)]
        b = prv.PrivacyCurve(steps, neighbors="remove", eps_error=1e-4 * epsilon).delta(epsilon)
        assert b.lower <= exact + error
        assert exact - error <= b.upper
        assert b.upper <= 1.1 * b.lower
        # the epsilons of deltas on either side of the exact one
        curve = prv.PrivacyCurve(steps, neighbors="remove")
        assert curve.epsilon(float(exact + 2 * error)).lower <= epsilon
        assert curve.epsilon(float(exact - 2 * error)).upper >= epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("pure", "epsilon"), [(0.3, 2.0), (0.01, 0.7)])
def test_steps_beside_one_that_keeps_no_top(pure, epsilon):
    # the last step loses `pure` or gains it, so that delta is a sum of two
    noise, p = 0.8, 1e-4
    steps = [(Sampled(noise, p), 2), (prv.PureDP(pure), 1)]
    b = prv.PrivacyCurve(steps, neighbors="remove", eps_error=1e-4 * epsilon).delta(epsilon)
    with mpmath.workdps(20):
        exact = off = mpmath.mpf(0)
        step = mpmath.mpf(noise), mpmath.mpf(p)
        for loss in (mpmath.mpf(pure), -mpmath.mpf(pure)):
            value, error = two_steps(step, step, mpmath.mpf(epsilon) - loss)
            exact += value / (1 + mpmath.exp(-loss))
            off += error
        assert off < 1e-3 * exact
        assert b.lower <= exact + off
        assert exact - off <= b.upper
        assert b.upper <= 1.1 * b.lower


def _of_one_sampled(noise, p, epsilon):
    """Return delta of Gaussian noise on a sample, at any real epsilon."""
    t = mpmath.exp(epsilon)
    if t <= 1 - p:
        return 1 - t
    place = noise**2 * mpmath.log((t - (1 - p)) / p) + mpmath.mpf(1) / 2
    with_record, without = mpmath.ncdf((1 - place) / noise), mpmath.ncdf(-place / noise)
    return p * with_record + (1 - p - t) * without


def _sampled_discrete(noise, p):
    """Return the losses and masses of discrete Gaussian noise on a sample."""
    reach = int(40 * noise) + 2
    density = {x: mpmath.exp(-((x / noise) ** 2) / 2) for x in range(-reach - 1, reach + 1)}
    whole = mpmath.fsum(density.values())
    atoms = []
    for x in range(-reach, reach + 1):
        mass = ((1 - p) * density[x] + p * density[x - 1]) / whole
        atoms.append((mpmath.log1p(p * mpmath.expm1((2 * x - 1) / (2 * noise**2))), mass))
    return atoms


@pytest.mark.parametrize(
    ("discrete", "sampled", "epsilon"),
    [
        ((0.7163, 1.8e-4), (17.34, 6e-4), 3e-3),
        ((0.5734, 4e-4), (1.3, 1e-5), 1.5),
        ((1.1, 2e-3), (0.8, 1e-3), 0.05),
        ((0.6, 1e-5), (2.0, 1e-2), 6.0),
    ],
)
def test_sampled_discrete_noise_in_a_list(discrete, sampled, epsilon):
    steps = [
        (prv.PoissonSubsampled(prv.DiscreteGaussian(discrete[0]), discrete[1]), 2),
        (Sampled(*sampled), 1),
    ]
    curve = prv.PrivacyCurve(steps, neighbors="remove", eps_error=1e-4 * epsilon)
    b = curve.delta(epsilon)
    with mpmath.workdps(40):
        atoms = _sampled_discrete(*(mpmath.mpf(x) for x in discrete))
        noise, p = (mpmath.mpf(x) for x in sampled)
        atoms = [(loss, mass) for loss, mass in atoms if mass > 1e-60]
        exact = mpmath.fsum(
            mass * other * _of_one_sampled(noise, p, epsilon - loss - beside)
            for loss, mass in atoms
            for beside, other in atoms
        )
        assert b.lower <= exact * (1 + mpmath.mpf(10) ** -30)
        assert exact * (1 - mpmath.mpf(10) ** -30) <= b.upper
    assert b.upper <= 1.01 * b.lower
    assert curve.epsilon(b.upper).lower <= epsilon <= curve.epsilon(b.lower).upper


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.02, 1.0, 5.0])
def test_a_truncated_batch_in_a_list(epsilon):
    # the pair chooses between Poisson samples and full batches, in which twice as much changes
    noise, p, size, most = 1.2, 1e-2, 500, 8
    beside = 0.9, 1e-3
    steps = [
        (prv.TruncatedPoissonSubsampledGaussian(noise, p, size, most), 1),
        (Sampled(*beside), 1),
    ]
    b = prv.PrivacyCurve(steps, neighbors="remove", eps_error=1e-4 * epsilon).delta(epsilon)
    with mpmath.workdps(20):
        q = mpmath.mpf(p)

        def binomial(n, least):
            return mpmath.fsum(
                mpmath.binomial(n, i) * q**i * (1 - q) ** (n - i) for i in range(least, n + 1)
            )

        full = binomial(size - 1, most)
        kept = mpmath.mpf(most) / size * binomial(size, most + 1) / full
        other = tuple(mpmath.mpf(x) for x in beside)
        parts = [
            (weight, two_steps(step, other, mpmath.mpf(epsilon)))
            for weight, step in [
                (1 - full, (mpmath.mpf(noise), q)),
                (full, (mpmath.mpf(noise) / 2, kept)),
            ]
        ]
        exact = mpmath.fsum(weight * value for weight, (value, _) in parts)
        error = mpmath.fsum(weight * off for weight, (_, off) in parts)
        assert error < 1e-3 * exact
        assert exact - error <= b.upper <= 1.01 * exact
        assert b.lower <= exact + error


@pytest.mark.slow
@settings(max_examples=12)
@given(
    steps=st.lists(
        st.tuples(log_uniform(0.3, 4.0), log_uniform(1e-6, 0.1), log_uniform(1.0, 600.0).map(int)),
        min_size=1,
        max_size=3,
    ),
    epsilon=log_uniform(1e-3, 15.0),
    neighbors=st.sampled_from(["remove", "add-or-remove"]),
)
def test_epsilons_agree_with_deltas(steps, epsilon, neighbors):
    # an epsilon is searched on lattices that end above a guess of it, or have places for all losses
    curve = prv.PrivacyCurve([(Sampled(noise, p), k) for noise, p, k in steps], neighbors=neighbors)
    b = curve.delta(epsilon)
    assert b.lower <= b.upper
    if b.upper < 1:
        assert curve.epsilon(b.upper).lower <= epsilon
    if b.lower > 1e-290:
        assert curve.epsilon(b.lower).upper >= epsilon


@pytest.mark.slow
@settings(max_examples=20)
@given(
    noise=log_uniform(0.3, 2.0),
    p=log_uniform(1e-6, 1e-3),
    count=log_uniform(2.0, 1e3).map(int),
    epsilon=log_uniform(1e-3, 8.0),
)
def test_a_single_large_output_is_no_better_than_the_upper_bound(noise, p, count, epsilon):
    # the attack that looks for one large output among those of the first mechanism
    upper = Sampled(noise, p), count
    b = prv.PrivacyCurve([upper, (Sampled(2 * noise, p), 1)], neighbors="remove").delta(epsilon)
    with mpmath.workdps(40):
        s, q = mpmath.mpf(noise), mpmath.mpf(p)
        for threshold in range(2, 40, 3):
            rare = mpmath.ncdf(-threshold)
            likely = (1 - q) * rare + q * mpmath.ncdf(1 / s - threshold)
            power, rate = (-mpmath.expm1(count * mpmath.log1p(-x)) for x in (likely, rare))
            assert power - mpmath.exp(epsilon) * rate <= b.upper


def test_rare_losses_of_a_list_take_no_long_transforms():
    # without tops: 196,608 points, taken the precise way
    steps = [(Sampled(0.378, 1.58e-6), 22), (Sampled(3.913, 0.001534), 75)]
    curve = prv.PrivacyCurve(steps, neighbors="remove")
    budget = curve.error_budget(epsilon=0.021)
    assert budget.accurate
    assert budget.transform_length <= 16384
    b = curve.delta(0.021)
    assert 2.02e-7 < b.lower < b.upper < 2.04e-7


def test_mass_that_rounding_leaves_below_an_edge_is_no_loss():
    # of a step whose losses lie below the caps; without tops: 8,388,608 points, taken precisely
    steps = [
        (Sampled(1.148, 2.254e-6), 1324),
        (Sampled(19.93, 8.086e-4), 9),
        (Sampled(0.9778, 1.372e-6), 6844),
        (prv.PoissonSubsampled(prv.Laplace(2.048), 3.158e-4), 58),
        (Sampled(0.3548, 2.072e-6), 242),
    ]
    curve = prv.PrivacyCurve(steps)
    budget = curve.error_budget(epsilon=0.010472645797693709)
    assert budget.accurate
    assert budget.transform_length <= 16384
    b = curve.delta(0.010472645797693709)
    assert 1.4964e-5 < b.lower < b.upper < 1.4972e-5


def test_an_epsilon_of_rare_losses_takes_no_long_transforms():
    # without tops: 6,291,456 points, taken the precise way
    steps = [(Sampled(14.83, 1.971e-6), 88), (Sampled(0.3163, 6.223e-6), 23)]
    curve = prv.PrivacyCurve(steps, neighbors="remove")
    budget = curve.error_budget(delta=6.236e-5)
    assert budget.accurate
    assert budget.transform_length <= 16384
    b = curve.epsilon(6.236e-5)
    assert curve.delta(b.lower).upper >= 6.236e-5
    assert curve.delta(b.upper).lower <= 6.236e-5


@pytest.mark.parametrize(
    "others", [[], [(prv.TruncatedPoissonSubsampledGaussian(4.561, 1.233e-9, 8369, 1), 1)]]
)
def test_lattices_are_fine_enough_for_tops_to_be_counted(others):
    # without tops: from 0.0153 to 70.5, or 2,097,152 points
    steps = [(prv.PoissonSubsampled(prv.DiscreteGaussian(0.6047), 1.544e-5), 140), *others]
    delta = 8.655457753438434e-9
    curve = prv.PrivacyCurve(steps, neighbors="remove")
    budget = curve.error_budget(delta=delta)
    assert budget.accurate
    assert budget.transform_length <= 65536
    b = curve.epsilon(delta)
    assert b.upper <= 1.001 * b.lower
    assert curve.delta(b.lower).upper >= delta
    assert curve.delta(b.upper).lower <= delta


def test_discrete_noise_and_truncated_batches_in_lists_take_no_long_transforms():
    # without tops: 12,582,912 points
    truncated = prv.TruncatedPoissonSubsampledGaussian(0.5073, 0.0002008, 7020, 1)
    curve = prv.PrivacyCurve([(truncated, 1), (Sampled(1.283, 2.25e-5), 8437)])
    assert curve.error_budget(epsilon=0.0010765).transform_length <= 65536
    # 196,608 points, taken the precise way
    steps = [
        (Sampled(17.34, 0.0005956), 1),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(0.7163), 0.0001809), 33),
        (prv.TruncatedPoissonSubsampledGaussian(5.824, 0.0003924, 3404, 1), 5),
    ]
    budget = prv.PrivacyCurve(steps).error_budget(delta=4.7e-4)
    assert budget.accurate
    assert budget.transform_length <= 65536


@pytest.mark.parametrize("engine", ["auto", "convolution"])
def test_spacings_that_are_wider_than_a_run_deviates_by(engine):
    # the bounds were a fifth apart, as were those of what lies below the window
    steps = [(Sampled(1.646, 1.642e-05), 606), (Sampled(0.8593, 0.008931), 1)]
    curve = prv.PrivacyCurve(steps, neighbors="remove", engine=engine)
    assert curve.error_budget(epsilon=0.0182).accurate
    b = curve.delta(0.0182)
    other = prv.PrivacyCurve(steps, neighbors="remove", engine="spectrum").delta(0.0182)
    assert max(b.lower, other.lower) <= min(b.upper, other.upper)
    assert b.upper <= 1.001 * b.lower


@pytest.mark.parametrize(
    ("noise", "p", "others", "epsilon"),
    [
        (2.432, 0.0771, (19.86, 2.25e-6, 13), 0.0037420169925940733),
        (1.051, 3.269e-5, (3.9, 1.226e-6, 14), 0.06533669670222066),
    ],
)
def test_a_single_run_beside_steps_that_hardly_lose(noise, p, others, epsilon):
    """Below its cap the single run would reach epsilon in a hair, which no tilt finds."""
    with mpmath.workdps(40):
        sigma, chance, growth = mpmath.mpf(noise), mpmath.mpf(p), mpmath.expm1(mpmath.mpf(epsilon))
        # from this outcome on the ratio of densities is above e^epsilon
        t = sigma**2 * mpmath.log((growth + chance) / chance) + mpmath.mpf(1) / 2
        without, with_record = mpmath.ncdf(-t / sigma), mpmath.ncdf((1 - t) / sigma)
        alone = chance * (with_record - without) - growth * without
    steps = [(Sampled(noise, p), 1), (Sampled(*others[:2]), others[2])]
    bounds = prv.PrivacyCurve(steps, neighbors="remove").delta(epsilon)
    # more steps lose no less, and these next to nothing
    assert bounds.upper >= alone
    assert bounds.lower >= 0.998 * alone
    assert bounds.upper - bounds.lower <= 2e-3 * bounds.upper


@pytest.mark.parametrize(
    ("rare", "narrow", "count", "delta"),
    [
        ((0.3452, 1.452e-5), (14.64, 1.128e-5), 2434, 1.2013927364428623e-5),
        ((0.2846, 3.971e-7), (5.676, 2.68e-6), 193, 1.202e-6),
        ((0.2198, 1.468e-7), (12.11, 1.254e-5), 300, 1.35e-7),
    ],
)
def test_a_sample_about_as_rare_as_delta_beside_narrow_losses(rare, narrow, count, delta):
    steps = [(Sampled(*rare), 1), (Sampled(*narrow), count)]
    lower, _, upper = prv.eps_from_delta(steps, delta, neighbors="remove")
    assert upper - lower <= max(1e-6, 1e-2 * lower)
    # given the loss x of the rare sample, delta is that of the others, which is convex in e^-x
    others, reverse = (
        prv.compose(*steps[1], neighbors=x, eps_error=1e-2 * upper) for x in ("remove", "add")
    )

    def delta_of_others(loss):
        # below 0 by that of the pair in reverse
        if loss >= 0:
            return others.delta(float(loss))
        factor = mpmath.exp(loss)
        return prv.Bounds(*(1 - factor + factor * x for x in reverse.delta(float(-loss))))

    noise, p = (mpmath.mpf(x) for x in rare)
    with mpmath.workdps(30):
        rises = [mpmath.mpf(10) ** (mpmath.mpf(i) / 10) for i in range(-100, 11)]
        places = [noise**2 * mpmath.log(x / p) + mpmath.mpf(1) / 2 for x in rises]
        without = [mpmath.ncdf(-x / noise) for x in places]
        above = [
            p * mpmath.ncdf((1 - x) / noise) + (1 - p) * y
            for x, y in zip(places, without, strict=True)
        ]
        masses = [x - y for x, y in itertools.pairwise([1, *above, 0])]
        parts = [x - y for x, y in itertools.pairwise([1, *without, 0])]
        odds = [1 / (1 - p + x) for x in [0, *rises]]  # e^-x at the ends of cells

        def least(epsilon):
            at = (epsilon + mpmath.log(y / x) for x, y in zip(masses, parts, strict=True))
            return sum(x * delta_of_others(y).lower for x, y in zip(masses, at, strict=True))

        def most(epsilon):
            ends = [delta_of_others(epsilon + mpmath.log(x)).upper for x in odds] + [1]
            total = mpmath.mpf(0)
            for i, (low, high) in enumerate(itertools.pairwise([*odds, 0])):
                first = (parts[i] - masses[i] * high) / (low - high)
                total += first * ends[i] + (masses[i] - first) * ends[i + 1]
            return total

        # losses are rounded to doubles by far less than a billionth
        assert least(upper) * (1 - mpmath.mpf(10) ** -9) <= delta
        assert delta <= most(lower) * (1 + mpmath.mpf(10) ** -9)
        assert most(lower) <= 1.05 * least(lower)


@pytest.mark.parametrize("p", [8e-13, 1e-10])
@pytest.mark.parametrize("delta", [5.295e-9, 4e-9])
def test_rare_runs_beside_a_single_run_that_hardly_loses(p, delta):
    rare, narrow = (Sampled(0.301, 2.9e-8), 13), (Sampled(19.27, p), 1)
    loss = 1e-7  # of the single run, but for what its delta tells
    b = prv.PrivacyCurve([rare, narrow]).epsilon(delta)
    alone = prv.PrivacyCurve([rare])
    beyond = prv.PrivacyCurve([narrow]).delta(loss).upper
    assert alone.epsilon(delta).lower <= b.upper
    assert b.lower <= alone.epsilon(delta - beyond).upper + loss
    assert b.upper - b.lower <= 1e-3 * b.upper


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.03])
def test_a_step_of_one_loss_beside_others(noise):
    # discrete noise this small adds 0, so that samples lose -log(1 - p)
    p = 3e-4
    step = prv.PoissonSubsampled(prv.DiscreteGaussian(noise), p)
    mixture = prv.MixtureOfGaussians(2.0 * noise, [0.1, 0.02, 0.6, 2.2], [0.3, 0.2, 0.4, 0.1])
    b = prv.PrivacyCurve([(mixture, 1), (step, 1)], neighbors="add").epsilon(1e-10)
    alone = prv.PrivacyCurve([(mixture, 1)], neighbors="add").epsilon(1e-10)
    loss = -math.log1p(-p)
    assert b.lower <= math.nextafter(alone.upper + loss, math.inf)
    assert math.nextafter(alone.lower + loss, 0.0) <= b.upper
    assert b.upper - b.lower <= 1e-3 * b.upper
