"""Closed forms against the definition of a privacy curve, in balls of 400 bits, without tolerance.

A law is a list of outcomes, each with its masses under Q and P, or a pair of tails of a noise:
delta is the sum of (q - e^epsilon p)_+, or Q(S) - e^epsilon P(S) for the set S where the loss
exceeds epsilon.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

import prvcore as prv
from tests.oracle.balls import ONE, ZERO, Precision, exact, normal_tail, positive_part, total

BITS = 400
IS_WIDE = np.finfo(np.longdouble).nmant >= 63
# Relative, of both deltas and epsilons: what rounding leaves.
NARROW = 2e-12 if IS_WIDE else 1e-7


# ---- Laws ------------------------------------------------------------------------------------


def responses(epsilon, count, infinite=0.0):
    """Return outcomes (q, p) of a sum of losses +-epsilon, and their mass at infinity."""
    odds, kept = exact(epsilon).exp(), (ONE - exact(infinite)) ** count
    q, outcomes = odds / (ONE + odds), []
    rest = ONE / (ONE + odds)
    binomial = 1
    for i in range(count + 1):
        mass = arb(binomial) * kept
        outcomes.append((mass * q**i * rest ** (count - i), mass * rest**i * q ** (count - i)))
        binomial = binomial * (count - i) // (i + 1)
    return outcomes, ONE - kept


def product(laws):
    """Return the outcomes of independent laws together, and their mass at infinity."""
    outcomes, kept = [(ONE, ONE)], ONE
    for more, infinite in laws:
        outcomes = [(q * s, p * t) for (q, p), (s, t) in itertools.product(outcomes, more)]
        kept *= ONE - infinite
    return outcomes, ONE - kept


def delta_of_outcomes(law, epsilon):
    outcomes, infinite = law
    t = exact(epsilon).exp()
    return infinite + total(positive_part(q - t * p) for q, p in outcomes)


def gaussian_tails(mu, epsilon):
    """Return Q(Y > epsilon) and P(Y > epsilon)."""
    x = epsilon / mu - mu / 2
    return normal_tail(x), normal_tail(x + mu)


def delta_of_gaussians(steps, epsilon):
    mu = total(exact(count) / exact(noise) ** 2 for noise, count in steps).sqrt()
    q, p = gaussian_tails(mu, exact(epsilon))
    return q - exact(epsilon).exp() * p


def delta_of_gaussians_and_outcomes(steps, law, epsilon):
    """Sum over outcomes: given one of them, the rest of the loss is that of the Gaussian."""
    outcomes, infinite = law
    mu = total(exact(count) / exact(noise) ** 2 for noise, count in steps).sqrt()
    t, terms = exact(epsilon).exp(), []
    for q, p in outcomes:
        above_q, above_p = gaussian_tails(mu, exact(epsilon) - (q / p).log())
        terms.append(q * above_q - t * p * above_p)
    return infinite + total(terms)


def laplace_tail(x):
    """Return the mass above x of Laplace noise of scale 1."""
    return (-x).exp() / 2 if x >= 0 else ONE - x.exp() / 2


def delta_of_sample(tail, loss_inverse, mu, probability, add, epsilon):
    """Of a Poisson sample of noise with this tail: the base's loss grows with the outcome z."""
    p, t = exact(probability), exact(epsilon).exp()
    # The sample's loss is log(1 - p + p e^base); of 'add' it is the negative of that.
    base = (t - (ONE - p)) / p if not add else (ONE / t - (ONE - p)) / p
    if not base > 0:
        return positive_part(ONE - t) if not add else ZERO
    z = loss_inverse(base.log())
    sampled, plain = p * tail(z - mu) + (ONE - p) * tail(z), tail(z)
    if add:  # the set is z below
        return (ONE - plain) - t * (ONE - sampled)
    return sampled - t * plain


# ---- What is checked -------------------------------------------------------------------------


def check(steps, truth, epsilons=(), deltas=(), narrow=NARROW, **options):
    curve = prv.compose(steps, **options)
    with warnings.catch_warnings(), Precision(BITS):
        warnings.simplefilter("error")
        for epsilon in epsilons:
            lower, estimate, upper = curve.delta(epsilon)
            exact_delta = truth(epsilon)
            assert not exact_delta < exact(lower), (epsilon, lower)
            assert not exact_delta > exact(upper), (epsilon, upper)
            assert lower <= estimate <= upper
            width = curve.error_budget(epsilon=epsilon).width
            # Next to the greatest loss, an ulp of epsilon is much of delta.
            assert (
                upper - lower <= narrow * upper
                or width <= narrow * max(abs(epsilon), 1.0)
                or upper < 1e-290
            )
        for delta in deltas:
            lower, estimate, upper = curve.epsilon(delta)
            assert not truth(upper) > exact(delta), (delta, upper)
            assert lower == 0.0 or not truth(lower) < exact(delta), (delta, lower)
            assert lower <= estimate <= upper
            assert upper - lower <= narrow * max(upper, 1.0), delta
            if lower > 0.0:
                budget = curve.error_budget(delta=delta)
                assert budget.engine == "closed_form"
                assert budget.accurate
                assert budget.width == budget.rounding == upper - lower


GAUSSIANS = [
    [(1.0, 1)],
    [(3.0, 5), (7.0, 11), (0.9, 1)],
    [(1000.0, 3)],
    [(0.05, 2)],
    [(20.0, 10**9)],
]


@pytest.mark.parametrize("steps", GAUSSIANS)
@pytest.mark.parametrize("neighbors", ["add-or-remove", "replace-one"])
def test_gaussians_of_any_counts_are_one_gaussian(steps, neighbors):
    noises = [(noise / 2 if neighbors == "replace-one" else noise, count) for noise, count in steps]

    def truth(epsilon):
        return delta_of_gaussians(noises, epsilon)

    typical = float(sum(count / noise**2 for noise, count in noises)) ** 0.5
    epsilons = [0.0, 1e-9, typical**2 / 2 + typical, typical**2 / 2 + 8 * typical]
    # The pair of a replaced record has a mu that is rounded to a double.
    narrow = NARROW if neighbors == "add-or-remove" else 1e-10
    check(
        [(prv.Gaussian(noise), count) for noise, count in steps],
        truth,
        epsilons if typical < 1e3 else [],
        [0.5, 1e-5, 1e-20, 1e-100],
        narrow,
        neighbors=neighbors,
    )


@pytest.mark.parametrize(
    ("epsilon", "count", "infinite"),
    [
        (1.0, 1, 0.0),
        (0.125, 300, 0.0),
        (0.1, 100, 1e-9),
        (3.0, 7, 1e-3),
        (1e-6, 50, 0.0),
        (800.0, 3, 0.0),
        (0.003, 2000, 1e-12),
    ],
)
def test_a_pure_mechanism_many_times_is_a_binomial_sum(epsilon, count, infinite):
    with Precision(BITS):
        law = responses(epsilon, count, infinite)
    top = epsilon * count

    def truth(at):
        return delta_of_outcomes(law, at)

    at_infinity = float(law[1].mid())
    deltas = [delta for delta in (0.3, 1e-3, 1e-7, 1e-30) if delta > 1.01 * at_infinity]
    for neighbors in ("add-or-remove", "replace-one", "add"):
        check(
            [(prv.ApproximateDP(epsilon, infinite), count)],
            truth,
            [-0.3 * top, 0.0, 0.1 * top, 0.51 * top, 0.97 * top],
            deltas,
            neighbors=neighbors,
        )


def test_discrete_laplace_noise_and_randomized_response_are_binomial_too():
    with Precision(BITS):
        law = responses(0.25, 60)

    def truth(at):
        return delta_of_outcomes(law, at)

    check([(prv.DiscreteLaplace(4.0), 60)], truth, [0.0, 3.0, 9.0], [1e-6])
    response = prv.RandomizedResponse(0.25, categories=2)
    check([(response, 60)], truth, [0.0, 3.0, 9.0], [1e-6], neighbors="replace-one")


@pytest.mark.slow
@settings(max_examples=40)
@given(
    loss=st.floats(0.0, 50.0),
    count=st.one_of(st.integers(1, 40), st.integers(41, 10**7)),
    infinite=st.sampled_from([0.0, 0.0, 1e-300, 1e-18, 5e-17, 1e-9, 0.25]),
    part=st.floats(-0.1, 1.1),
    pure=st.sampled_from([None, (0.5, 7)]),
)
@example(loss=0.3, count=10, infinite=0.0, part=0.1, pure=None)
@example(loss=800.0, count=10**6, infinite=0.0, part=0.999999, pure=None)
@example(loss=0.3, count=2, infinite=0.001, part=0.1, pure=None)
@example(loss=1.0, count=10, infinite=5e-17, part=0.99, pure=None)  # beside it the atom has mass 1
@example(loss=1e-12, count=10**12, infinite=5e-17, part=0.5, pure=None)
def test_a_loss_that_is_certain_many_times(loss, count, infinite, part, pure):
    """One atom is the law of so many losses, beside which others are shifted."""
    table = prv.FromTable([loss], [1.0 - infinite], mass_at_infinity=infinite)
    with Precision(BITS):
        whole = exact(1.0 - infinite) + exact(infinite)  # the table is divided by its sum
        kept = (exact(1.0 - infinite) / whole) ** count
        certain = (kept, kept / (exact(loss) * count).exp())
        others = responses(*pure)[0] if pure else [(ONE, ONE)]
        law = [(certain[0] * q, certain[1] * p) for q, p in others], ONE - kept
        at_infinity = float((ONE - kept).mid())
    top = loss * count + (pure[0] * pure[1] if pure else 0.0)
    deltas = [delta for delta in (0.3, 1e-5) if delta > 1.01 * at_infinity]
    check(
        [(table, count), *([(prv.PureDP(pure[0]), pure[1])] if pure else [])],
        lambda at: delta_of_outcomes(law, at),
        [part * top],
        deltas,
        NARROW * max(count * (1.0 + loss), 1e3),
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.floats(1e-3, 5.0), st.integers(1, 12), st.sampled_from([0.0, 1e-12, 1e-6, 0.01])
        ),
        min_size=1,
        max_size=3,
    ),
    st.floats(0.0, 1.0),
    st.floats(1e-12, 0.9),
)
def test_pure_mechanisms_together(steps, part, delta):
    with Precision(BITS):
        law = product([responses(*step) for step in steps])
    top = sum(epsilon * count for epsilon, count, _ in steps)
    at_infinity = float(law[1].mid())
    check(
        [(prv.ApproximateDP(epsilon, infinite), count) for epsilon, count, infinite in steps],
        lambda at: delta_of_outcomes(law, at),
        [part * top],
        [delta] if delta > 1.01 * at_infinity else [],
        # Beside the mass at infinity the finite part, which rounds by 1e-18, has few digits.
        10 * NARROW if not at_infinity else max(1e-9, 4e-18 / at_infinity),
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.3, 100.0), st.integers(1, 10**6)), min_size=1, max_size=3),
    st.tuples(st.floats(1e-3, 3.0), st.integers(1, 25), st.sampled_from([0.0, 1e-9])),
    st.floats(-3.0, 9.0),
)
def test_gaussians_with_a_pure_mechanism(gaussians, pure, deviations):
    with Precision(BITS):
        law = responses(*pure)
    mu = math.sqrt(sum(count / noise**2 for noise, count in gaussians))
    if mu > 1e3:
        return
    epsilon = max(mu * mu / 2 + mu * deviations, 0.0)
    steps = [(prv.Gaussian(noise), count) for noise, count in gaussians]
    check(
        [*steps, (prv.ApproximateDP(pure[0], pure[2]), pure[1])],
        lambda at: delta_of_gaussians_and_outcomes(gaussians, law, at),
        [epsilon],
        [1e-5],
        1e-10,
    )


@pytest.mark.parametrize("noise", [30.0, 1e4, 1e6])
@pytest.mark.parametrize("epsilon", [-0.5, 0.5, 0.99, 2.0])
def test_little_gaussian_noise_counts_beside_a_table(noise, epsilon):
    """The Gaussian's density is far out at every atom of the table, and is a factor of nothing."""
    with Precision(BITS):
        law = responses(1.0, 3)
    check(
        [(prv.Gaussian(noise), 1), (prv.PureDP(1.0), 3)],
        lambda at: delta_of_gaussians_and_outcomes([(noise, 1)], law, at),
        [epsilon],
        [],
        1e-10,
    )


# ---- Once ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.5, 2.0, 300.0])
def test_laplace_noise_once(scale):
    mu = 1 / scale

    def truth(epsilon):
        with Precision(BITS):
            size, e = ONE / exact(scale), exact(epsilon)
            if not e < size:
                return ZERO
            z = (e + size) / 2 if e > -size else -exact(1e6)
            return laplace_tail(z - size) - e.exp() * laplace_tail(z)

    check([(prv.Laplace(scale), 1)], truth, [-0.9 * mu, 0.0, 0.3 * mu, 0.999 * mu], [1e-4 * mu])


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("noise", "probability"), [(1.0, 0.01), (0.5, 0.9), (5.0, 1e-6)])
def test_a_sample_with_gaussian_noise_once(noise, probability, add):
    def truth(epsilon):
        mu = ONE / exact(noise)
        return delta_of_sample(
            normal_tail, lambda y: y / mu + mu / 2, mu, probability, add, epsilon
        )

    check(
        [(prv.PoissonSubsampledGaussian(noise, probability), 1)],
        truth,
        [0.0, 1e-3 * probability, 0.5 * probability, 0.9 * probability],
        [1e-3 * probability],
        1e-9,
        neighbors="add" if add else "remove",
    )


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("p", "again"), [(0.3, 0.01), (0.7, 0.7), (1e-20, 3e-15), (0.1, 1e-5)])
def test_a_sample_of_a_sample_with_gaussian_noise_once(p, again, add):
    def truth(epsilon):
        both = exact(p) * exact(again)
        return delta_of_sample(normal_tail, lambda y: y + ONE / 2, ONE, both, add, epsilon)

    product = p * again  # which no double is
    check(
        [(prv.PoissonSubsampled(prv.PoissonSubsampledGaussian(1.0, p), again), 1)],
        truth,
        [0.0, 1e-3 * product, 0.5 * product, 0.9 * product],
        [1e-3 * product],
        1e-9,
        neighbors="add" if add else "remove",
    )


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("scale", "probability"), [(1.0, 0.01), (0.5, 0.9)])
def test_a_sample_with_laplace_noise_once(scale, probability, add):
    def truth(epsilon):
        mu = ONE / exact(scale)
        edge = exact(1e6)

        def inverse(y):  # the outcome at which the loss of Laplace noise passes y
            return (y + mu) / 2 if abs(y) < mu else (edge if y > 0 else -edge)

        return delta_of_sample(laplace_tail, inverse, mu, probability, add, epsilon)

    greatest = math.log1p(probability * math.expm1(1 / scale))
    check(
        [(prv.PoissonSubsampled(prv.Laplace(scale), probability), 1)],
        truth,
        [0.0, 0.3 * greatest * (1 - 0.9 * add), 0.6 * greatest * (1 - 0.9 * add)],
        [1e-4 * probability],
        1e-9,
        neighbors="add" if add else "remove",
    )


@pytest.mark.parametrize("length", [0.01, 1.0, 20.0])
def test_a_bounded_range_once(length):
    """The formula of PAIRS.md, section 5; at other epsilons no loss, or all of them, exceed it."""

    def truth(epsilon):
        with Precision(BITS):
            r, e = exact(length), exact(epsilon)
            return ((r / 2).exp() - (e / 2).exp()) ** 2 / (r.exp() - 1) if e < r else ZERO

    check(
        [(prv.BoundedRange(length), 1)],
        truth,
        [-0.5 * length, 0.0, 0.5 * length, 0.999 * length],
        [1e-3 * min(length, 1.0)],
        1e-11,
    )


@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1), (0.7, 3), (30.0, 2)])
def test_discrete_gaussian_noise_once(scale, sensitivity):
    with Precision(BITS):
        reach = int(45 * scale) + sensitivity
        weights = {
            x: (-((exact(x) / exact(scale)) ** 2) / 2).exp() for x in range(-2 * reach, 2 * reach)
        }
        whole = total(weights.values())
        law = (
            [(weights[x - sensitivity] / whole, weights[x] / whole) for x in range(-reach, reach)],
            ZERO,
        )
    epsilons = [0.0, 0.4 * sensitivity / scale, 3.0 * sensitivity / scale]
    check(
        [(prv.DiscreteGaussian(scale, sensitivity), 1)],
        lambda at: delta_of_outcomes(law, at),
        epsilons,
        [1e-3, 1e-9],
        5e-12,
    )


def sampled_law(scale, probability, add):
    """Return the outcomes of discrete Gaussian noise on a Poisson sample."""
    reach, p = int(40 * scale) + 2, exact(probability)
    weights = {x: (-((exact(x) / exact(scale)) ** 2) / 2).exp() for x in range(-reach - 1, reach)}
    whole = total(weights.values())
    law = []
    for x in range(-reach, reach):
        without = weights[x] / whole
        mixed = (ONE - p) * without + p * weights[x - 1] / whole
        law.append((without, mixed) if add else (mixed, without))
    return law, ZERO


@pytest.mark.parametrize("neighbors", ["add", "remove"])
@pytest.mark.parametrize(
    "steps",
    [
        [(0.9, 0.02, 2)],
        pytest.param([(0.5, 3e-4, 3)], marks=pytest.mark.slow),
        pytest.param([(0.6, 0.25, 1), (0.45, 1e-3, 2)], marks=pytest.mark.slow),
    ],
)
def test_discrete_noise_on_samples_a_few_times(steps, neighbors):
    with Precision(BITS):
        add = neighbors == "add"
        laws = [sampled_law(s, p, add) for s, p, count in steps for _ in range(count)]
        law = product(laws)
    check(
        [
            (prv.PoissonSubsampled(prv.DiscreteGaussian(scale), probability), count)
            for scale, probability, count in steps
        ],
        lambda at: delta_of_outcomes(law, at),
        [0.0, 3e-4, 0.7],
        [1e-6],
        2e-9,
        neighbors=neighbors,
    )


def test_a_table_with_gaussians():
    losses, masses = [-0.5, 0.25, 2.0], [0.25, 0.5, 0.125]
    with Precision(BITS):
        outcomes = [
            (exact(q), exact(q) * (-exact(y)).exp()) for y, q in zip(losses, masses, strict=True)
        ]
        law = (outcomes, ZERO)
    table = prv.FromTable(losses, masses, mass_at_infinity=0.125)
    check(
        [(table, 1), (prv.Gaussian(3.0), 4)],
        lambda at: delta_of_gaussians_and_outcomes([(3.0, 4)], law, at) + exact(0.125),
        [0.0, 1.0, 4.0],
        [0.2],
        1e-12,
    )


# ---- Which questions ask a closed form ---------------------------------------------------------


def test_engines_and_meshes_that_are_asked_for_are_taken():
    for options in ({"engine": "convolution"}, {"engine": "spectrum"}, {"mesh_size": 1e-3}):
        curve = prv.compose(prv.Gaussian(2.0), 300, **options)
        assert curve.error_budget(delta=1e-5).engine != "closed_form"


def test_lattices_and_closed_forms_agree():
    steps = [(prv.PureDP(0.3), 20), (prv.DiscreteLaplace(11.0), 30), (prv.Gaussian(4.0), 3)]
    closed = prv.compose(steps)
    lattice = prv.compose(steps, engine="convolution")
    for delta in (0.1, 1e-5, 1e-30):
        a, b = closed.epsilon(delta), lattice.epsilon(delta)
        assert closed.error_budget(delta=delta).engine == "closed_form"
        assert b.lower <= a.lower <= a.upper <= b.upper


def test_too_many_atoms_are_left_to_lattices():
    steps = [(prv.PureDP(0.01 * i), 5000 + i) for i in range(1, 5)]
    curve = prv.compose(steps)
    assert curve.error_budget(delta=1e-5).engine in {"convolution", "spectrum"}
    bounds = curve.epsilon(1e-5)
    assert bounds.lower < bounds.upper


@pytest.mark.parametrize(
    ("steps", "neighbors", "epsilon"),
    [
        (
            [(prv.PoissonSubsampledGaussian(1.0, 0.01), 1), (prv.PureDP(1.0), 2)],
            "remove",
            2 + math.log1p(-0.01),
        ),
        ([(prv.Gaussian(1e6), 3), (prv.PureDP(5.0), 1)], "replace-one", 1.0),
        (
            [(prv.PoissonSubsampledGaussian(2.012101232831856, 0.4622175177354326), 1)],
            "remove",
            -0.6203011086333097,
        ),
        ([(prv.DiscreteLaplace(0.01, 3), 1), (prv.Gaussian(1e4), 1)], "add-or-remove", 5.0),
        ([(prv.RandomizedResponse(750.0, 3), 1), (prv.Gaussian(1e5), 1)], "replace-one", -800.0),
    ],
)
def test_where_a_form_knows_nothing_another_way_answers(steps, neighbors, epsilon):
    curve = prv.compose(steps, neighbors=neighbors)
    bounds, budget = curve.delta(epsilon), curve.error_budget(epsilon=epsilon)
    other = prv.compose(steps, neighbors=neighbors, engine="convolution").delta(epsilon)
    assert max(bounds.lower, other.lower) <= min(bounds.upper, other.upper)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    assert math.isfinite(budget.width)


@pytest.mark.parametrize(
    ("noise", "count", "options", "delta"),
    [
        (10.0, 1000, {"eps_error": 1e-16}, 1e-5),
        (0.0776, 1, {"eps_error": 2e-14}, 0.999),
        (7.76, 10**4, {}, 0.9999999998830958),
        (776.0, 10**8, {}, 0.9999999998830958),
        (818.72, 262722117, {}, 1 - 2**-53),
    ],
)
def test_what_rounding_leaves_open_is_not_left_to_lattices(noise, count, options, delta):
    # Lattices round more: they took 25 s and a gigabyte, for bounds millions of times as wide.
    with pytest.warns(prv.AccuracyWarning, match="rounding"):
        lower, estimate, upper = prv.compose(prv.Gaussian(noise), count, **options).epsilon(delta)
    with Precision(BITS):
        assert not delta_of_gaussians([(noise, count)], upper) > exact(delta)
        assert lower == 0.0 or not delta_of_gaussians([(noise, count)], lower) < exact(delta)
    assert lower <= estimate <= upper
    budget = prv.compose(prv.Gaussian(noise), count, **options).error_budget(delta=delta)
    assert budget.engine == "closed_form"
    assert budget.limit == "rounding"
    assert not budget.accurate
    assert budget.width == upper - lower


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("roundings", range(1, 6))
@pytest.mark.parametrize(("probability", "count"), [(1e-4, 3), (1e-5, 2)])
def test_a_delta_some_roundings_above_the_mass_at_infinity(probability, count, roundings):
    # The greatest loss is rare, so that epsilon lies below it by much more than a rounding.
    infinite = 0.1
    delta = 1 - (1 - infinite) ** 2
    for _ in range(roundings):
        delta = math.nextafter(delta, 1.0)
    sample = prv.PoissonSubsampled(prv.PureDP(1.0), probability)
    steps = [(prv.ApproximateDP(0.0, infinite), 2), (sample, count)]
    bounds = prv.eps_from_delta(steps, delta, neighbors="remove")
    with Precision(BITS):
        p, pure = exact(probability), responses(1.0, 1)[0]
        law = product(
            [
                ([(ONE, ONE)], exact(infinite)),
                ([(ONE, ONE)], exact(infinite)),
                *[([((ONE - p) * r + p * q, r) for q, r in pure], ZERO)] * count,
            ]
        )
        law = ([(q * (ONE - law[1]), r * (ONE - law[1])) for q, r in law[0]], law[1])
        assert not delta_of_outcomes(law, bounds.lower) < exact(delta)
        if exact(delta) < law[1]:
            assert bounds.upper == math.inf
        else:
            assert not delta_of_outcomes(law, min(bounds.upper, 10.0)) > exact(delta)


def test_a_delta_that_is_nearly_nothing_is_bounded_so():
    assert prv.compose(prv.Gaussian(1e4)).delta(1e4).upper < 1e-300
    sampled = prv.PoissonSubsampledGaussian(20.261900172699644, 0.8947161150275331)
    curve = prv.compose(sampled, neighbors="add")
    assert curve.delta(2.251094910751706).upper < 1e-300


def test_counts_of_composed_mechanisms_are_refused_as_others_are():
    inner = prv.Composed([(prv.Gaussian(1e9), 2**40)])
    with pytest.raises(ValueError, match="counts must add up to"):
        prv.compose(prv.Composed([(inner, 2**40)])).epsilon(1e-5)


@pytest.mark.parametrize("part", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("loss", [2.6656456e-17, 1e-12, 1e-6])
def test_a_table_whose_losses_are_raised_by_rounding(loss, part):
    """P has the mass cosh(loss): its masses are divided by it, and all losses are raised."""
    epsilon = loss * (1 - part)
    with Precision(300):
        y = exact(loss)
        truth = (1 - (exact(epsilon) - y).exp() / y.cosh()) / 2
        bounds = prv.delta_from_eps(prv.FromTable([-loss, loss], [0.5, 0.5]), epsilon)
        assert exact(bounds.lower) <= truth <= exact(bounds.upper)
