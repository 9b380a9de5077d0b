"""Mechanisms that are made of others, against exact enumeration and against integrals."""

import itertools
import math
import random
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.integrate import quad
from scipy.stats import norm

import prvcore as prv
from tests.oracle.balls import Precision
from tests.oracle.balls import exact as exactly
from tests.oracle.oracle import MOST_ATOMS, Oracle, composed, pairs_of


def holds(mechanism, count=1, epsilons=(0.0, 0.1, 0.4, 1.0)):
    """Compare with an enumeration of all outcomes, and yield the relative widths."""
    for direction in ("remove", "add"):
        curve = prv.compose(mechanism, count, neighbors=direction)
        with Precision(170):
            oracle = Oracle(pairs_of([(mechanism, count)], direction))
            outcomes = composed(oracle.discrete, MOST_ATOMS)
            for epsilon in epsilons:
                truth = outcomes.finite(exactly(epsilon)) + oracle.infinite
                found = curve.delta(epsilon)
                assert not exactly(found.lower) > truth, (direction, epsilon)
                assert not exactly(found.upper) < truth, (direction, epsilon)
                if truth > 1e-12:
                    yield (found.upper - found.lower) / float(truth)


TABLE = prv.FromTable([-0.9, -0.2, 0.3, 1.1], [0.05, 0.3, 0.35, 0.25], mass_at_infinity=0.05)
MECHANISMS = [
    prv.RandomAllocation(prv.PureDP(1.0), 2),
    prv.RandomAllocation(prv.PureDP(0.7), 7),
    prv.RandomAllocation(prv.ApproximateDP(1.0, 0.01), 3),
    prv.RandomAllocation(TABLE, 3),
    prv.RandomAllocation(prv.PoissonSubsampled(prv.PureDP(1.5), 0.3), 4),
    prv.RandomAllocation([prv.PureDP(0.5), TABLE], 2),
    prv.BallsInBins(prv.PureDP(0.5), bins=3, epochs=3),
    prv.PoissonSubsampled([prv.PureDP(0.5), (prv.PureDP(0.8), 2)], 0.2),
    prv.PoissonSubsampled([TABLE, prv.ApproximateDP(0.3, 1e-3)], 0.6),
    prv.PoissonSubsampled(prv.RandomAllocation(prv.PureDP(1.2), 3), 0.5),
    prv.Composed([prv.RandomAllocation(prv.PureDP(1.0), 2), prv.PureDP(0.3)]),
    prv.PoissonSubsampled([prv.PoissonSubsampled([prv.PureDP(0.9), TABLE], 0.4), TABLE], 0.7),
]


# Of these losses either measure's mass underflows, and the quotient of both overflows.
FAR = [
    prv.Composed([(prv.PureDP(700.0), 3), TABLE]),
    prv.PoissonSubsampled([(prv.PureDP(360.0), 2), TABLE], 0.6),
    prv.PoissonSubsampled([(prv.PureDP(1e4), 2), TABLE], 1e-3),
    prv.RandomAllocation([(prv.PureDP(709.5), 2), TABLE], 2),
]


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("mechanism", FAR, ids=range(len(FAR)))
def test_losses_beyond_the_range_of_densities(mechanism):
    assert list(holds(mechanism, epsilons=(0.0, 1.0, 300.0, 1000.0)))
    with_another = [(mechanism, 1), (prv.ApproximateDP(0.0, 0.5), 1)]
    for direction in ("remove", "add"):
        alone = prv.delta_from_eps(mechanism, 0.0, neighbors=direction)
        both = prv.delta_from_eps(with_another, 0.0, neighbors=direction)
        # the exact values are d and (1 + d) / 2
        assert both.lower <= (1.0 + alone.upper) / 2.0
        assert both.upper >= (1.0 + alone.lower) / 2.0


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=range(len(MECHANISMS)))
def test_small_cases_are_enumerated(mechanism):
    widths = list(holds(mechanism))
    assert max(widths) < 0.05


@pytest.mark.parametrize("mechanism", MECHANISMS[:4], ids=range(4))
def test_compositions_of_small_cases_are_enumerated(mechanism):
    assert max(holds(mechanism, count=2)) < 0.05


def random_mechanism(rng, depth):
    kind = rng.choice(["leaf", "product", "sample", "average"]) if depth else "leaf"
    if kind == "leaf":
        epsilon = rng.uniform(0.05, 1.0)
        low, high = 0.5 * math.exp(-epsilon), 0.45 * math.exp(epsilon / 2)
        return rng.choice(
            [
                prv.PureDP(2 * epsilon),
                prv.ApproximateDP(2 * epsilon, rng.choice([0.0, 1e-6, 0.05])),
                prv.FromTable([-epsilon, epsilon / 2], [low, high], 1.0 - low - high),
            ]
        )
    inner = random_mechanism(rng, depth - 1)
    if kind == "product":
        return prv.Composed([inner, random_mechanism(rng, depth - 1)])
    if kind == "sample":
        return prv.PoissonSubsampled(inner, rng.choice([0.01, 0.3, 0.9]))
    return prv.RandomAllocation(inner, rng.choice([2, 3]))


def size(mechanism):
    """Return about how many atoms an exact law has, at most."""
    if isinstance(mechanism, prv.Composed):
        return math.prod(size(part) ** count for part, count in mechanism.mechanisms)
    if isinstance(mechanism, prv.PoissonSubsampled):
        return size(mechanism.mechanism)
    if isinstance(mechanism, prv.RandomAllocation):
        return math.comb(size(mechanism.mechanism) + mechanism.batches - 1, mechanism.batches)
    return 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_nestings(seed):
    rng = random.Random(seed)
    mechanism = random_mechanism(rng, 3)
    while size(mechanism) > 2000:
        mechanism = random_mechanism(rng, 3)
    assert all(width < 1.0 for width in holds(mechanism, epsilons=(0.0, 0.3, 1.5)))


# delta of two batches, (remove, add), by quadrature: (noise, epsilon)
QUADRATURE = {
    (1.0, 1.0): (5.92065010859e-2, 5.01976623695e-2),
    (1.0, 3.0): (1.67702771412e-4, 1.59026508187e-5),
    (0.5, 4.0): (4.4825117911e-2, 1.66118602073e-2),
    (2.0, 0.5): (1.83265947609e-2, 1.73974858468e-2),
}


@pytest.mark.parametrize(("noise", "epsilon"), QUADRATURE)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_two_batches_by_quadrature(noise, epsilon, direction):
    value = QUADRATURE[noise, epsilon][direction == "add"]
    mechanism = prv.RandomAllocation(prv.Gaussian(noise), 2)
    found = prv.delta_from_eps(mechanism, epsilon, neighbors=direction, eps_error=1e-4)
    assert found.lower <= value * (1 + 1e-10)
    assert value * (1 - 1e-10) <= found.upper
    assert found.upper - found.lower <= 2e-3 * value


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_three_batches_by_integrals(direction):
    """Over two of the three outcomes, by Gauss and Legendre; the third one has a closed form."""
    noise, epsilon = 1.0, 0.8
    nodes, weights = np.polynomial.legendre.leggauss(80)
    ends = np.array([-7.0, -3.0, 0.0, 2.0, 4.0, 8.0])
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half + half * nodes).ravel()
    weight = (half * weights).ravel() * norm.pdf(x)
    ratio = np.exp(x / noise - 1 / (2 * noise**2))
    rest = ratio[:, None] + ratio
    a = math.exp(epsilon)
    edge = 3 * a - rest if direction == "remove" else 3 / a - rest
    z = noise * (np.log(np.where(edge > 0, edge, 1.0)) + 1 / (2 * noise**2))
    if direction == "remove":
        beyond = (rest + 1) / 3 - a  # the third outcome does not matter
        part = (norm.cdf(1 / noise - z) - edge * norm.cdf(-z)) / 3
    else:
        beyond = 0.0
        part = a / 3 * (edge * norm.cdf(z) - norm.cdf(z - 1 / noise))
    exact = weight @ np.where(edge > 0, part, beyond) @ weight
    mechanism = prv.RandomAllocation(prv.Gaussian(noise), 3)
    found = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
    assert found.lower <= exact * (1 + 1e-6)
    assert exact * (1 - 1e-6) <= found.upper


# epsilon of one epoch, a record removed, by transforms on a linear lattice of R: (noise, batches,
# delta)
TRANSFORMS = {
    (1.0, 8, 1e-8): 3.7185208,
    (1.0, 10, 1e-5): 2.1888480,
    (1.0, 64, 1e-8): 1.7986617,
    (2.0, 64, 1e-8): 0.3295370,
    (0.8, 100, 1e-5): 1.3739190,
    (1.0, 1000, 1e-5): 0.1388466,
    (0.5, 1000, 1e-6): 4.1060159,
}


@pytest.mark.parametrize(("noise", "batches", "delta"), TRANSFORMS)
def test_epochs_by_transforms(noise, batches, delta):
    epsilon = TRANSFORMS[noise, batches, delta]
    epoch = prv.RandomAllocation(prv.Gaussian(noise), batches)
    found = prv.eps_from_delta(epoch, delta, neighbors="remove", eps_error=3e-3 * epsilon)
    assert found.lower <= epsilon + 1e-7
    assert epsilon - 1e-7 <= found.upper
    assert found.upper - found.lower <= 3.1e-3 * epsilon


def average_below(noise, batches, level):
    """Return E (level - R)_+ of an average, by a Fourier integral of its Laplace transform."""
    x, step = np.linspace(-14.0, 14.0, 2801, retstep=True)
    ratio = np.exp(x / noise - 1 / (2 * noise**2))
    weight = step * norm.pdf(x)
    deviation = math.sqrt(math.expm1(noise**-2) / batches)
    y, gap = np.linspace(0.0, 12.0 / deviation, 200, retstep=True)
    z = 2.0 / deviation + 1j * y
    log_transform = batches * np.log([weight @ np.exp(-u * ratio) for u in z / batches])
    terms = (np.exp(log_transform + z * level) / z**2).real
    return gap / math.pi * (terms.sum() - terms[0] / 2)


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("batches", [2, 1000])
def test_what_functions_may_hide_in_many_batches(batches):
    # Both functions are within 2^-51 of those of a pair with the mass 2^-52 at infinite losses.
    base = prv.FromCDFs(norm(loc=0.5).cdf, norm(loc=-0.5).cdf)
    epoch = prv.RandomAllocation(base, batches)
    assert prv.eps_from_delta(epoch, 2.0**-53, neighbors="remove").upper == math.inf


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("noise", "batches"), [(1.0, 1023), (2.0, 999), (1.0, 1024), (2.0, 54321)])
def test_numbers_of_batches_of_many_bits_by_fourier_integrals(noise, batches, direction):
    epsilon = 3.0 * math.sqrt(math.expm1(noise**-2) / batches)
    a = math.exp(epsilon)
    if direction == "remove":
        exact = average_below(noise, batches, a) + 1 - a
    else:
        exact = a * average_below(noise, batches, 1 / a)
    epoch = prv.RandomAllocation(prv.Gaussian(noise), batches)
    found = prv.delta_from_eps(epoch, epsilon, neighbors=direction)
    assert found.lower <= exact + 1e-13
    assert exact - 1e-13 <= found.upper
    at = prv.eps_from_delta(epoch, exact, neighbors=direction, eps_error=1e-3 * epsilon)
    assert at.lower <= epsilon * (1 + 1e-9)
    assert epsilon * (1 - 1e-9) <= at.upper
    assert at.upper - at.lower <= 1.01e-3 * epsilon


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("scale", "epsilon"), [(4.0, 0.02), (4.0, 0.1), (4.0, 0.2), (1.0, 0.3)])
def test_two_batches_of_laplace_noise_by_integrals(scale, epsilon, direction):
    # half of the mass lies at the least ratio, and nearly as much at the greatest one
    low, high, a = math.exp(-1 / scale), math.exp(1 / scale), math.exp(epsilon)

    def mean(value, *edges):
        def inside(x):
            return math.exp(-x / scale) / (2 * scale) * value(math.exp((2 * x - 1) / scale))

        bends = [(scale * math.log(edge) + 1) / 2 for edge in edges if low < edge < high]
        parts = itertools.pairwise([0.0, *sorted(bends), 1.0])
        smooth = sum(quad(inside, *ends, epsabs=1e-13, epsrel=1e-9)[0] for ends in parts)
        return value(low) / 2 + low * value(high) / 2 + smooth

    if direction == "remove":
        edge = 2 * a

        def value(r, s):
            return max((r + s) / 2 - a, 0.0)
    else:
        edge = 2 / a

        def value(r, s):
            return max(1 - a * (r + s) / 2, 0.0)

    exact = mean(lambda r: mean(lambda s: value(r, s), edge - r), edge - low, edge - high)
    bins = prv.RandomAllocation(prv.Laplace(scale), 2)
    found = prv.delta_from_eps(bins, epsilon, neighbors=direction, eps_error=1e-4 * epsilon)
    assert found.lower <= exact * (1 + 1e-8)
    assert exact * (1 - 1e-8) <= found.upper
    assert found.upper - found.lower <= 1e-2 * exact


@pytest.mark.parametrize("neighbors", ["remove", "add"])
@pytest.mark.parametrize("batches", [2, 4, 5])
def test_epochs_of_laplace_noise_are_close(batches, neighbors):
    for mechanism in (
        prv.BallsInBins(prv.Laplace(4.0), batches, 2),
        prv.RandomAllocation(prv.Laplace(4.0), batches),
    ):
        found = prv.delta_from_eps(mechanism, 0.1, counts=10, neighbors=neighbors, eps_error=1e-3)
        assert found.upper <= found.lower * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("p", [0.02, 0.4])
def test_laplace_and_gaussian_on_one_sample(direction, p):
    noise, scale, epsilon = 1.3, 1.7, 0.5
    mechanism = prv.PoissonSubsampled([prv.Gaussian(noise), prv.Laplace(scale)], p)
    with mpmath.workdps(25):
        a, q, mu = mpmath.exp(mpf(epsilon)), mpf(p), 1 / mpf(scale)

        def laplace(t):
            """Delta of the Laplace mechanism at log t."""
            if t <= 0:
                return 1 - t
            if mpmath.log(t) >= mu:
                return mpf(0)
            return 1 - t if mpmath.log(t) <= -mu else 1 - mpmath.sqrt(t * mpmath.exp(-mu))

        def integrand(x):
            ratio = mpmath.exp(x / mpf(noise) - 1 / (2 * mpf(noise) ** 2))
            if direction == "remove":
                return mpmath.npdf(x) * q * ratio * laplace((a - 1 + q) / (q * ratio))
            c = (1 - a * (1 - q)) / (a * q * ratio)
            return mpmath.npdf(x) * a * q * ratio * (c - 1 + laplace(c)) if c > 0 else mpf(0)

        exact = mpmath.quad(integrand, [mpf(i) / 4 for i in range(-40, 45)])
        found = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
        assert found.lower <= exact * (1 + mpf(10) ** -12)
        assert exact * (1 - mpf(10) ** -12) <= found.upper
        assert found.upper - found.lower <= 0.2 * float(exact)


def delta_of_pure_and_laplace(epsilon, scale, t):
    """Delta at log t > 0 of `PureDP` and Laplace noise on the same records."""

    def laplace(t):
        mu = 1 / mpf(scale)
        if mpmath.log(t) >= mu:
            return mpf(0)
        return 1 - t if mpmath.log(t) <= -mu else 1 - mpmath.sqrt(t * mpmath.exp(-mu))

    e = mpmath.exp(mpf(epsilon))
    return (e * laplace(t / e) + laplace(t * e)) / (1 + e)


@pytest.mark.parametrize(
    "probabilities",
    [
        (0.03, 0.01),
        (1e-3, 1e-3),
        (1e-8, 6e-5),
        (2e-150, 3e-150),
        (0.1, 0.3, 0.7),
        (1e-307, 0.9, 0.7),
    ],
)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_a_sample_of_a_sample_of_a_list_is_one_sample(probabilities, direction):
    mechanism, p = [prv.PureDP(2.0), prv.Laplace(1.25)], mpf(1)
    with mpmath.workdps(700):
        for probability in probabilities:
            mechanism = prv.PoissonSubsampled(mechanism, probability)
            p *= mpf(probability)
        curve = prv.compose(mechanism, neighbors=direction)
        single = prv.PoissonSubsampled([prv.PureDP(2.0), prv.Laplace(1.25)], float(p))
        of_single = prv.compose(single, neighbors=direction)
        for part in (0.0, 0.25, 0.75):
            epsilon = part * float(p)
            a = mpmath.exp(mpf(epsilon))
            if direction == "remove":
                exact = p * delta_of_pure_and_laplace(2.0, 1.25, (a - 1 + p) / p)
            else:
                v = 1 - (1 - p) * a
                exact = v * delta_of_pure_and_laplace(2.0, 1.25, a * p / v)
            found, expected = curve.delta(epsilon), of_single.delta(epsilon)
            assert found.lower <= exact <= found.upper
            assert found.upper - found.lower <= 1.01 * (expected.upper - expected.lower)


def test_one_batch_is_the_mechanism():
    ours = prv.eps_from_delta(prv.RandomAllocation(prv.Gaussian(1.0), 1), 1e-5)
    assert ours == prv.eps_from_delta(prv.Gaussian(1.0), 1e-5)


def test_redrawn_bins_are_better_than_a_fixed_one():
    again = prv.compose(prv.RandomAllocation(prv.Gaussian(2.0), 20), 5).epsilon(1e-5)
    fixed = prv.compose(prv.BallsInBins(prv.Gaussian(2.0), 20, 5)).epsilon(1e-5)
    assert again.upper < fixed.lower
    merged_noise = prv.RandomAllocation(prv.Gaussian(2.0 / math.sqrt(5.0)), 20)
    other = prv.eps_from_delta(merged_noise, 1e-5)
    assert fixed.lower <= other.upper
    assert other.lower <= fixed.upper


def test_a_replaced_record_is_refused():
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.eps_from_delta(
            prv.RandomAllocation(prv.Gaussian(1.0), 10), 1e-5, neighbors="replace-one"
        )


@pytest.mark.parametrize(
    "part",
    [
        prv.BoundedRange(1.0),
        prv.TruncatedPoissonSubsampledGaussian(1.0, 0.1, 100, 20),
        prv.GroupPoissonSubsampledGaussian(1.0, 0.1, 3),
        prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.1),
    ],
)
def test_parts_without_a_pair_of_their_own_are_refused(part):
    for mechanism in (prv.RandomAllocation(part, 10), prv.Composed([part, prv.Laplace(1.0)])):
        with pytest.raises(ValueError, match=r"cannot be parts|groups|neighbors"):
            prv.eps_from_delta(mechanism, 1e-5)


def test_replaced_records_of_a_composed_mechanism():
    both = prv.Composed([prv.Gaussian(2.0), prv.Laplace(2.0)])
    apart = prv.compose([prv.Gaussian(2.0), prv.Laplace(2.0)], neighbors="replace-one")
    ours, theirs = prv.eps_from_delta(both, 1e-5, neighbors="replace-one"), apart.epsilon(1e-5)
    assert ours.lower <= theirs.upper
    assert theirs.lower <= ours.upper


@pytest.mark.parametrize("counts", [1, 10])
def test_an_unsampled_product_is_the_composition(counts):
    parts = [prv.Gaussian(2.0), (prv.Laplace(2.0), 3), prv.DiscreteLaplace(2.0)]
    ours = prv.compose(prv.Composed(parts), counts).epsilon(1e-6)
    theirs = (prv.compose(parts) * counts).epsilon(1e-6)
    assert ours.lower <= theirs.upper
    assert theirs.lower <= ours.upper


@pytest.mark.slow
def test_calibration_of_an_epoch():
    epoch = prv.RandomAllocation(prv.Gaussian(1.0), 100)
    found = prv.calibrate(epoch, 5, epsilon=1.0, delta=1e-5, tolerance=1e-2)
    assert found.bounds.upper <= 1.0 < found.next_bounds.upper
    again = prv.eps_from_delta(prv.RandomAllocation(prv.Gaussian(found.value), 100), 1e-5, counts=5)
    assert again.lower <= 1.0


@pytest.mark.slow
def test_what_is_not_known_of_them_is_refused_in_words():
    curve = prv.compose(prv.RandomAllocation(prv.Gaussian(1.0), 10), 3)
    with pytest.raises(ValueError, match="made of others"):
        curve.renyi_divergence(2.0)
    low, _, high = curve.power(0.1)
    assert 0.1 < low <= high < 1.0


@pytest.mark.slow
def test_an_accountant_knows_them():
    accountant = prv.Accountant()
    epochs = [prv.RandomAllocation(prv.Gaussian(noise), 50) for noise in (1.0, 1.1, 1.2, 1.3)]
    for epoch in itertools.chain(epochs, epochs):
        accountant.add(epoch)
    found = accountant.epsilon(1e-5)
    whole = prv.eps_from_delta([(epoch, 2) for epoch in epochs], 1e-5)
    assert found.lower <= whole.upper
    assert whole.lower <= found.upper
    assert prv.Accountant.from_json(accountant.to_json()).history == accountant.history


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # nothing finite is known from below
@pytest.mark.parametrize("loss", [480.0, 536.4, 536.7, 537.0, 1000.0])
def test_losses_beyond_the_farthest_harm_nothing(loss):
    # The half of the outputs that are at the greatest loss in the step that a record is in have
    # a mean ratio of at least e^loss / 2.
    allocated = prv.RandomAllocation(prv.Laplace(1.0 / loss), 2)
    bounds = prv.eps_from_delta(allocated, 1e-5, neighbors="remove")
    assert bounds.lower <= loss
    assert loss - math.log(2.0) - 1.0 <= bounds.upper <= loss * (1.0 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("noise", [3e3, 1e5])
def test_two_batches_of_much_noise(noise, direction):
    """Delta at 0, by an integral over one outcome; the other one has a closed form."""
    mu = 1 / mpf(noise)

    def over_other(z):
        edge = 2 - mpmath.exp(mu * z - mu**2 / 2)
        if edge <= 0:
            return mpmath.npdf(z) * (1 - edge) / 2
        at = mpmath.log(edge) / mu + mu / 2
        return mpmath.npdf(z) * (mpmath.ncdf(mu - at) - edge * mpmath.ncdf(-at)) / 2

    with mpmath.workdps(40):
        exact = float(mpmath.quad(over_other, range(-12, 13, 2)))
    mechanism = prv.RandomAllocation(prv.Gaussian(noise), 2)
    found = prv.delta_from_eps(mechanism, 0.0, neighbors=direction)
    assert found.lower <= exact * (1 + 1e-14)
    assert exact * (1 - 1e-14) <= found.upper
    assert found.upper - found.lower <= 0.1 * exact


def test_much_noise_in_many_batches():
    for noise in (1e4, 1e9, 1e15):
        epoch = prv.RandomAllocation(prv.Gaussian(noise), 100)
        assert prv.eps_from_delta(epoch, 1e-5, counts=10).upper <= 2 / noise
        assert prv.eps_from_delta(epoch, 1e-5).upper <= 2 / noise


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # no lattice of averages is so wide
@pytest.mark.parametrize("counts", [1, 3])
def test_little_noise_is_between_simpler_mechanisms(counts):
    base = prv.Gaussian(0.02)
    found = prv.eps_from_delta(prv.RandomAllocation(base, 100), 1e-5, counts=counts)
    sampled = prv.eps_from_delta(prv.PoissonSubsampled(base, 0.01), 1e-5, counts=counts)
    known = prv.eps_from_delta(base, 1e-5, counts=counts)
    assert found.upper <= known.upper * (1 + 1e-9)
    assert found.lower >= sampled.lower * (1 - 1e-3)
    # The spike of one batch: a loss less by log(batches), of the same delta, is reached.
    if counts == 1:
        assert found.lower <= known.upper - math.log(100) + 1e-6 <= found.upper


def test_very_many_epochs_in_one_bin_are_bounded():
    run = prv.BallsInBins(prv.Gaussian(3.0), bins=100, epochs=2**20)
    with pytest.warns(prv.AccuracyWarning, match="greatest number of passes"):
        found = prv.eps_from_delta(run, 1e-5)
    known = prv.eps_from_delta(prv.Gaussian(3.0), 1e-5, counts=2**20)
    assert found.lower <= known.upper - math.log(100) <= known.upper <= found.upper * (1 + 1e-9)
    assert found.upper <= known.upper * (1 + 1e-9)


@pytest.mark.slow
def test_answers_do_not_depend_on_other_questions():
    epoch = prv.RandomAllocation(prv.Gaussian(1.0), 50)
    curve = prv.compose(epoch, 5)
    deltas = [1e-9, 1e-3, 1e-5]
    together = curve.epsilon(deltas)
    for i, delta in enumerate(deltas):
        alone = prv.compose(epoch, 5).epsilon(delta)
        assert (alone.lower, alone.upper) == (together.lower[i], together.upper[i])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_memory_limits_hold_for_lattices_of_averages():
    epoch = prv.RandomAllocation(prv.Gaussian(1.0), 1000)
    narrow = prv.eps_from_delta(epoch, 1e-5, eps_error=1e-5)
    wide = prv.compose(epoch, eps_error=1e-5).epsilon(1e-5, memory_limit=20_000)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper < math.inf
    assert wide.upper - wide.lower > 2e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_lattices_finer_than_the_rounding_of_their_places(direction):
    # A sample whose curve is p times that of its mechanism at epsilon 0, and twice on one sample.
    p = 1e-18
    once = prv.PoissonSubsampled([prv.Gaussian(1.0), prv.Laplace(1.0)], p)
    whole = prv.PoissonSubsampled(prv.Composed([(once, 2)]), 0.5)
    delta = prv.compose(whole, neighbors=direction).delta(0.0)
    assert delta.lower <= p
    assert delta.upper >= 0.5 * p * math.erf(0.5 / math.sqrt(2.0))


def subsets_law(noise, batches, selected):
    """Return R of a random set of steps of a pure guarantee, and the null masses, exactly."""
    high = 1 / (1 + mpmath.exp(-mpf(noise)))
    sets = list(itertools.combinations(range(batches), selected))
    found = []
    for outcome in itertools.product((0, 1), repeat=batches):
        null = mpmath.fprod(1 - high if bit else high for bit in outcome)
        ratios = [mpmath.exp(mpf(noise) * (1 if bit else -1)) for bit in outcome]
        mean = mpmath.fsum(mpmath.fprod(ratios[i] for i in chosen) for chosen in sets) / len(sets)
        found.append((mean, null))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize(("batches", "selected"), [(4, 2), (5, 2), (7, 3), (6, 4), (6, 6)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_some_of_the_batches(batches, selected, direction):
    step = prv.RandomAllocation(prv.PureDP(0.7), batches, selected=selected)
    law = subsets_law(0.7, batches, selected)
    for epsilon in (0.0, 0.4, 1.2):
        a = mpmath.exp(mpf(epsilon))
        terms = [m * max(r - a if direction == "remove" else 1 - a * r, mpf(0)) for r, m in law]
        exact = float(mpmath.fsum(terms))
        found = prv.delta_from_eps(step, epsilon, neighbors=direction)
        assert found.lower <= exact * (1 + 1e-12)
        assert exact * (1 - 1e-12) <= found.upper
        whole = prv.delta_from_eps(prv.PureDP(0.7), epsilon, counts=batches, neighbors=direction)
        assert found.upper <= whole.upper * (1 + 1e-3) + 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_some_of_the_batches_with_gaussian_noise():
    base = prv.Gaussian(2.0)
    step = prv.RandomAllocation(base, 50, selected=10)
    curve = prv.compose(step, 3)
    assert not curve.attained
    found = curve.epsilon(1e-5)
    total = prv.eps_from_delta(prv.Gaussian(2.0 * math.sqrt(50) / 10), 1e-5, counts=3)
    blocks = prv.eps_from_delta(prv.RandomAllocation(base, 5), 1e-5, counts=30)
    assert found.lower == pytest.approx(total.lower, rel=1e-2)
    assert found.upper == pytest.approx(blocks.upper, rel=1e-2)
    noise = prv.calibrate(step, 3, epsilon=2.0, delta=1e-5, tolerance=1e-2)
    again = prv.RandomAllocation(prv.Gaussian(noise.value), 50, selected=10)
    assert prv.eps_from_delta(again, 1e-5, counts=3).upper <= 2.0 + 2e-3
    with pytest.raises(ValueError, match="selected must be at most batches"):
        prv.RandomAllocation(base, 3, selected=4)
    with pytest.raises(ValueError, match="selected=10"):
        prv.compose(prv.PoissonSubsampled(step, 0.5))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("noise", "epsilon"), [(1.0, 1.0), (1.0, 3.0), (0.6, 2.0), (3.0, 0.3)])
def test_two_of_three_batches_by_integrals(noise, epsilon, direction):
    # R = (W_1 W_2 + W_3 (W_1 + W_2)) / 3; the third outcome is integrated by hand
    x, step = np.linspace(-12.0, 12.0, 1601, retstep=True)
    weight, w = step * norm.pdf(x), np.exp(x / noise - 1 / (2 * noise**2))
    rest, slope = w[:, None] * w / 3, (w[:, None] + w) / 3
    a = math.exp(epsilon)
    edge = ((a if direction == "remove" else 1 / a) - rest) / slope
    z = noise * np.log(np.maximum(edge, 1e-300)) + 1 / (2 * noise)
    if direction == "remove":
        inside = slope * norm.sf(z - 1 / noise) - (a - rest) * norm.sf(z)
        part = np.where(edge > 0, inside, rest + slope - a)
    else:
        inside = (1 - a * rest) * norm.cdf(z) - a * slope * norm.cdf(z - 1 / noise)
        part = np.where(edge > 0, inside, 0.0)
    exact = weight @ part @ weight
    step = prv.RandomAllocation(prv.Gaussian(noise), 3, selected=2)
    found = prv.delta_from_eps(step, epsilon, neighbors=direction)
    assert 0.1 * exact < found.lower <= exact * (1 + 1e-4)
    assert exact * (1 - 1e-4) <= found.upper


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize(
    ("noise", "batches", "selected"), [(1.0, 100, 7), (0.5, 1000, 3), (2.0, 100, 7), (0.5, 100, 2)]
)
def test_what_is_seen_of_some_of_the_batches(noise, batches, selected):
    step = prv.RandomAllocation(prv.Gaussian(noise), batches, selected=selected)
    found = prv.eps_from_delta(step, 1e-5, neighbors="remove")
    total = prv.Gaussian(noise * math.sqrt(batches) / selected)
    first = prv.PoissonSubsampled(prv.Gaussian(noise), selected / batches)
    for seen in (total, first):
        assert found.lower >= prv.eps_from_delta(seen, 1e-5, neighbors="remove").lower * 0.999
    x = np.linspace(-5.0, 40.0, 20001)
    rest = (batches - selected) * norm.logcdf(x)
    with_record = -np.expm1(selected * norm.logcdf(x - 1 / noise) + rest)
    without = -np.expm1(batches * norm.logcdf(x))
    of_largest = np.max(with_record - math.exp(found.lower) * without)
    assert of_largest <= 1.01e-5  # epsilon of the largest outcome is hardly more
    if noise == 0.5:
        assert of_largest >= 0.99e-5


def encloses(bounds, exact):
    """Whether the bounds hold, as exact numbers."""
    return Fraction(bounds.lower) <= exact <= Fraction(bounds.upper)


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize(
    ("mass", "batches"),
    [
        (1e-9, 40),
        (1e-200, 2),
        pytest.param(0.1, 400, marks=pytest.mark.slow),
        (1e-160, 2),
        (0.3, 7),
        (1e-310, 2),
    ],
)
def test_powers_of_masses_at_infinity(mass, batches):
    curve = prv.compose(
        prv.RandomAllocation(prv.ApproximateDP(0.5, mass), batches), neighbors="add"
    )
    exact = Fraction(mass) ** batches
    assert encloses(curve.delta(6.0), exact)
    assert curve.delta(3.0).upper >= exact
    assert curve.epsilon(0.0).upper == math.inf
    assert encloses((curve * 3).delta(18.5), 1 - (1 - exact) ** 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # of masses that underflow
@pytest.mark.parametrize(
    ("mass", "p"), [(1e-300, 1e-100), (1e-12, 1e-300), (1e-310, 0.3), (0.25, 0.3), (1.0, 0.3)]
)
@pytest.mark.parametrize("nested", [False, True])
def test_masses_at_infinity_of_samples(mass, p, nested):
    base = prv.ApproximateDP(0.5, mass)
    parts = prv.Composed([base, prv.PureDP(0.25)]) if nested else base
    curve = prv.compose(prv.PoissonSubsampled(parts, p), neighbors="remove")
    exact = Fraction(p) * Fraction(mass)
    assert encloses(curve.delta(5.0), exact)
    assert curve.epsilon(0.0).upper == math.inf
    assert encloses((curve * 1000).delta(751.0), 1 - (1 - exact) ** 1000)
    if not nested:
        assert curve.renyi_divergence(2.0).upper == math.inf


@pytest.mark.parametrize("mass", [5e-324, 1e-320, 1e-310, 3e-308])
def test_compositions_of_subnormal_masses_at_infinity(mass):
    base, count = prv.ApproximateDP(0.125, mass), 10**6
    exact = 1 - (1 - Fraction(mass)) ** 3
    assert encloses(prv.compose(base, 3).delta(1.0), exact)
    many = prv.compose(base, count).delta(2e5)  # m k less a part m k / 2 of itself
    assert many.lower <= Fraction(mass) * count
    assert Fraction(mass) * count * (1 - Fraction(1, 10**290)) <= many.upper
    both = prv.Composed([(base, 2), (prv.PureDP(0.5), 1)])
    assert encloses(prv.compose(both).delta(1.0), 1 - (1 - Fraction(mass)) ** 2)


NO_LOSS_IS_FINITE = prv.ApproximateDP(0.0, 1.0)


def test_masses_at_infinity_near_one():
    noiseless = prv.PoissonSubsampled([prv.Gaussian(0.0), prv.Laplace(1.0)], 0.3)
    assert prv.delta_from_eps(noiseless, 0.5) == (0.3, 0.3, 0.3)
    assert prv.eps_from_delta(noiseless, 0.2).lower == math.inf
    assert prv.eps_from_delta(noiseless, 0.4).upper <= 1e-8
    half = prv.PoissonSubsampled([NO_LOSS_IS_FINITE, prv.Gaussian(1.0)], 0.5)
    assert prv.eps_from_delta(half, 0.6).upper <= 1e-8
    mass = 1.0 - 2.0**-53
    nearly = prv.RandomAllocation(prv.ApproximateDP(0.5, mass), 3)
    assert encloses(prv.delta_from_eps(nearly, 1.0, neighbors="remove"), Fraction(mass))
    assert prv.delta_from_eps(nearly, 1.0, neighbors="remove").lower >= 1.0 - 1e-14


@pytest.mark.parametrize("direction", ["add", "remove", "add-or-remove"])
def test_steps_without_finite_losses(direction):
    bins = prv.RandomAllocation(NO_LOSS_IS_FINITE, 3)
    for steps in (
        [(bins, 2), (prv.Gaussian(2.0), 3)],
        [(prv.Gaussian(2.0), 3), (bins, 2)],
        [NO_LOSS_IS_FINITE, prv.Gaussian(1.0)],
        prv.Composed([NO_LOSS_IS_FINITE, prv.Gaussian(1.0)]),
        [prv.Composed([NO_LOSS_IS_FINITE, prv.Gaussian(1.0)]), prv.Laplace(1.0)],
    ):
        curve = prv.compose(steps, neighbors=direction)
        assert curve.epsilon(1e-5).lower == math.inf
        assert curve.delta(1.0) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_samples_beside_noise_where_the_sample_hides_nothing(p):
    # The greatest loss of the noise is infinite, and that of the sample is log(1 - p) or less.
    sampled = prv.PoissonSubsampled([NO_LOSS_IS_FINITE, prv.PureDP(1.0)], p)
    both = prv.compose([sampled, prv.Gaussian(1.0)], neighbors="remove")
    exact = p + (1 - p) * (math.erf(0.5 / math.sqrt(2.0)))  # bounds delta(0) from above
    delta = both.delta(0.0)
    assert p <= delta.upper
    assert delta.lower <= exact
    assert both.epsilon(p * 0.99).lower == math.inf
    assert both.epsilon(p + 0.01).upper < math.inf


def test_a_folded_sample_that_hides_nothing():
    # Losses are infinite, or 0 beside which the guarantee has all of its curve.
    p, high = 0.5, mpmath.e / (1 + mpmath.e)
    sampled = prv.PoissonSubsampled([NO_LOSS_IS_FINITE, prv.PureDP(1.0)], p)
    curve = prv.compose([sampled, prv.PureDP(1.0)], neighbors="replace-one")
    exact = p + (1 - p) * float(high - mpmath.exp(0.5) * (1 - high))
    delta = curve.delta(0.5)
    assert delta.lower <= exact * (1 + 1e-14)
    assert exact * (1 - 1e-14) <= delta.upper <= exact + 1e-3


def test_a_curve_is_a_mechanism():
    steps = [prv.Laplace(2.0), (prv.Gaussian(3.0), 4)]
    curve = prv.compose(steps)
    ours = prv.eps_from_delta(curve.as_mechanism(), 1e-5)
    theirs = curve.epsilon(1e-5)
    assert ours.lower <= theirs.upper
    assert theirs.lower <= ours.upper
    sampled = prv.eps_from_delta(prv.PoissonSubsampled(curve.as_mechanism(), 0.1), 1e-5)
    assert sampled == prv.eps_from_delta(prv.PoissonSubsampled(steps, 0.1), 1e-5)
    nothing = prv.compose([]).as_mechanism()
    assert prv.eps_from_delta(nothing, 1e-5).upper == 0.0


def test_very_much_noise_in_two_batches_is_answered_closely():
    """R - 1 is Gaussian up to parts of 1e-7, of deviation 1 / (noise sqrt(2))."""
    step = prv.RandomAllocation(prv.Gaussian(1e7), batches=2)
    truth = 1 / (1e7 * math.sqrt(2)) / math.sqrt(2 * math.pi)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounds = prv.delta_from_eps(step, 0.0)
    assert bounds.lower <= truth * (1 + 1e-6)
    assert bounds.upper >= truth * (1 - 1e-6)
    assert bounds.upper - bounds.lower <= 0.01 * truth
