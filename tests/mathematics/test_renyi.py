"""Renyi divergences against closed forms and integrals."""

import math
import pickle
import random
import warnings
from itertools import combinations_with_replacement

import numpy as np
import pytest
from mpmath import mp, mpf

import prvcore as prv

ORDERS = [1.25, 2.0, 8.0, 24.5]


def holds(bounds, truth, width=1e-4):
    """Floating point of the truth and its closed form aside."""
    truth = np.asarray(truth, dtype=float)
    sound = (bounds.lower <= truth * (1 + 1e-11)) & (truth * (1 - 1e-11) <= bounds.upper)
    return bool(np.all(sound & (bounds.upper - bounds.lower <= width * truth)))


def density(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def mixture(p, center):
    return lambda z: density(z) * (1 - p + p * mp.exp(center * (z - center / 2)))


def divergence(q, p, order, reach):
    with mp.workdps(17):
        far = float(order * reach)
        ends = sorted(
            {-60.0, -30.0, -12.0, -5.0, 0.0, 3.0, 8.0, 16.0, far / 2, far, far + 8, far + 40}
        )
        moment = mp.quad(lambda z: q(z) ** order * p(z) ** (1 - order), ends)
        return float(mp.log(moment) / (order - 1))


@pytest.mark.parametrize(("noise", "count"), [(1.0, 1), (1000.0, 7), (0.05, 3)])
def test_gaussian_noise(noise, count):
    """Alpha times mu squared over two."""
    bounds = prv.compose(prv.Gaussian(noise_multiplier=noise), count).renyi_divergence(ORDERS)
    assert holds(bounds, np.array(ORDERS) * count / noise**2 / 2, 1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_pure_mechanisms(epsilon):
    """Mironov 2017, Proposition 5: randomized response."""
    bounds = prv.compose(prv.PureDP(epsilon=epsilon), 5).renyi_divergence(ORDERS)
    with mp.workdps(40):
        own = mp.exp(epsilon) / (1 + mp.exp(epsilon))
        truth = [
            5 * mp.log(own**a * (1 - own) ** (1 - a) + (1 - own) ** a * own ** (1 - a)) / (a - 1)
            for a in map(mpf, ORDERS)
        ]
    assert holds(bounds, truth, 1e-10)


@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_laplace_noise(scale):
    """Mironov 2017, Proposition 6."""
    bounds = prv.compose(prv.Laplace(scale=scale), 3).renyi_divergence(ORDERS)
    with mp.workdps(40):
        truth = [
            3
            * mp.log(
                a / (2 * a - 1) * mp.exp((a - 1) / scale)
                + (a - 1) / (2 * a - 1) * mp.exp(-a / scale)
            )
            / (a - 1)
            for a in map(mpf, ORDERS)
        ]
    assert holds(bounds, truth)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "p"), [(0.8, 1e-3), (4.0, 0.2), (1.0, 1e-6)])
@pytest.mark.parametrize("order", ORDERS)
def test_gaussian_noise_on_poisson_samples(noise, p, order):
    step, reach = prv.PoissonSubsampledGaussian(noise, p), 1 / mpf(noise)
    sampled, plain = mixture(mpf(p), reach), density
    truths = {
        "remove": divergence(sampled, plain, mpf(order), reach),
        "add": divergence(plain, sampled, mpf(order), 0),
        "replace-one": divergence(sampled, mixture(mpf(p), -reach), mpf(order), reach),
    }
    truths["add-or-remove"] = max(truths["remove"], truths["add"])
    for neighbors, truth in truths.items():
        bounds = prv.compose(step, 1000, neighbors=neighbors).renyi_divergence(order)
        assert holds(bounds, 1000 * truth), neighbors


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_samples_of_fixed_size(order):
    """Both parts of the symmetric pair by integrals, f = r^a - 1 - a (r - 1)."""
    noise, p, a = 4.0, 0.01, mpf(order)
    center = 2 / mpf(noise)
    q, plain = mixture(mpf(p), center), density

    def f(r):
        return r**a - 1 - a * (r - 1)

    with mp.workdps(17):
        ends = [float(center / 2), 1.0, 3.0, 8.0, 16.0, 40.0, 80.0]
        moment = 1 + mp.quad(lambda z: plain(z) * f(q(z) / plain(z)), ends)
        moment += mp.quad(lambda z: q(z) * f(plain(z) / q(z)), ends)
        truth = mp.log(moment) / (a - 1)
    step = prv.SubsampledWithoutReplacement(prv.Gaussian(noise), p)
    bounds = prv.compose(step, neighbors="replace-one").renyi_divergence(order)
    assert truth <= bounds.upper <= truth * (1 + 1e-4)
    # no two data sets have all of that pair at once; those with one special record have the moments
    # of one of the orders
    one = prv.PoissonSubsampledGaussian(noise / 2, p)
    of_data = prv.compose(one).renyi_divergence(order)
    assert bounds.lower == pytest.approx(of_data.lower, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["remove", "add"])
@pytest.mark.parametrize("p", [0.01, 1.0])
def test_discrete_gaussian_noise(neighbors, p):
    scale, orders = mpf(2), [1.25, 2.0, 8.0, 40.0, 200.0]
    step = prv.PoissonSubsampled(prv.DiscreteGaussian(scale=2.0, sensitivity=1), p)
    with mp.workdps(40):
        masses = [mp.exp(-(mpf(x) ** 2) / (2 * scale**2)) for x in range(-700, 701)]
        total = sum(masses)
        plain = [m / total for m in masses[1:]]
        moved = [m / total for m in masses[:-1]]
        q = [(1 - mpf(p)) * a + mpf(p) * b for a, b in zip(plain, moved, strict=True)]
        if neighbors == "add":
            q, plain = plain, q
        truth = [
            mp.log(sum(b**a * c ** (1 - a) for b, c in zip(q, plain, strict=True))) / (a - 1)
            for a in map(mpf, orders)
        ]
    bounds = prv.compose(step, neighbors=neighbors).renyi_divergence(orders)
    assert holds(bounds, truth, 1.0)  # soundness alone, far out
    low = prv.Bounds(*(part[:4] for part in bounds))
    assert holds(low, truth[:4], 1e-9)


@pytest.mark.parametrize("loss", [1e-300, 1e-19, 1e-18, 3e-18, 1e-16, 1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("order", [1.0001, 2.0, 64.0, 1e6])
def test_what_p_lacks_beside_a_certain_loss(loss, order):
    """Nearly all of M - 1 is that of P's mass where Q has none, 1 - e^-loss; and D is the loss."""
    bounds = prv.compose(prv.FromTable([loss], [1.0])).renyi_divergence(order)
    assert bounds.lower <= loss <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-9 * loss + 1e-14 * (order + 1) / (order - 1)


@pytest.mark.parametrize("loss", [1e-18, 1e-16, 1e-12, 1e-6])
@pytest.mark.parametrize("p", [1e-17, 1e-3, 0.5, 0.9, 1 - 2**-53])
@pytest.mark.parametrize("order", [1.0001, 2.0, 64.0])
def test_what_p_lacks_on_a_sample(loss, p, order):
    """Both outcomes of a sample, with neither of the two directions allowed any tolerance."""
    step = prv.PoissonSubsampled(prv.FromTable([loss], [1.0]), p)
    with mp.workdps(120):
        both, rest, exact, a = mp.exp(-mpf(loss)), -mp.expm1(-mpf(loss)), mpf(p), mpf(order)
        removed = both ** (1 - a) * ((1 - exact) * both + exact) ** a + rest * (1 - exact) ** a
        added = ((1 - exact) + exact * both) ** (1 - a)
        for neighbors, moment in [("remove", removed), ("add", added)]:
            truth = mp.log(moment) / (a - 1)
            bounds = prv.compose(step, neighbors=neighbors).renyi_divergence(order)
            assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)


def test_divergences_add_up():
    a, b = prv.Laplace(scale=3), prv.PoissonSubsampledGaussian(2.0, 0.1)
    orders = [1.5, 30.0]
    parts = [
        np.array(prv.compose(m, k, neighbors="remove").renyi_divergence(orders))
        for m, k in ((a, 2), (b, 50))
    ]
    whole = prv.compose([(a, 2), (b, 50)], neighbors="remove").renyi_divergence(orders)
    np.testing.assert_allclose(np.array(whole), parts[0] + parts[1], rtol=1e-12)


def test_truncated_batches_are_near_poisson_ones_where_they_are_hardly_ever_cut():
    plain = prv.compose(prv.PoissonSubsampledGaussian(2.0, 0.01), neighbors="remove")
    cut = prv.compose(
        prv.TruncatedPoissonSubsampledGaussian(
            noise_multiplier=2.0, sampling_probability=0.01, dataset_size=1000,
            maximum_batch_size=60,
        ),
        neighbors="remove",
    )  # fmt: skip
    a, b = plain.renyi_divergence(4.0), cut.renyi_divergence(4.0)
    assert b.upper == pytest.approx(a.upper, rel=1e-3)


def log_moment_of_choice(noise, p, size, most, order):
    """Return the log moment of batches that are cut at `most`: of the pair that shows whether."""
    with mp.workdps(60):
        p, noise, odds = mp.mpf(p), mp.mpf(noise), mp.mpf(p) / (1 - mp.mpf(p))

        def tail(draws, k):
            term = mp.binomial(draws, k) * p**k * (1 - p) ** (draws - k)
            total = term
            while term > mp.mpf(10) ** -40 * total:
                term *= odds * (draws - k) / (k + 1)
                k += 1
                total += term
            return total

        def moment(p, noise):
            return sum(
                mp.binomial(order, j) * (1 - p) ** (order - j) * p**j
                * mp.exp(j * (j - 1) / (2 * noise**2))
                for j in range(order + 1)
            )  # fmt: skip

        full = tail(size - 1, most)
        kept = most * tail(size, most + 1) / (size * full)
        return mp.log((1 - full) * moment(p, noise) + full * moment(kept, noise / 2))


@pytest.mark.parametrize("most", [2400, 2600, 3000, 4000])
@pytest.mark.parametrize("order", [2, 20, 100])
def test_batches_that_are_cut_with_a_probability_below_all_doubles(most, order):
    sizes = {"dataset_size": 1_000_000, "maximum_batch_size": most}
    step = prv.TruncatedPoissonSubsampledGaussian(0.5, 0.001, **sizes)
    exact = log_moment_of_choice(0.5, 0.001, 1_000_000, most, order) / (order - 1)
    for same in (step, pickle.loads(pickle.dumps(step))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", prv.UnattainedWarning)
            bounds = prv.compose(same, neighbors="remove").renyi_divergence(order)
        assert bounds.upper >= exact
        assert bounds.upper <= exact * (1 + 1e-4) + 8 / (order - 1)  # Hoeffding's factor


def test_a_rare_cut_that_decides_a_moment_is_kept_by_what_is_made_of_it():
    sizes = {"dataset_size": 1_000_000, "maximum_batch_size": 3000}
    step = prv.TruncatedPoissonSubsampledGaussian(0.5, 0.001, **sizes)
    exact = log_moment_of_choice(0.5, 0.001, 1_000_000, 3000, 20) / 19
    found = {}
    for name, made, neighbors in (
        ("removed", step, "remove"),
        ("replaced", step, "replace-one"),
        ("half", prv.PoissonSubsampled(step, 0.5), "remove"),
    ):
        with pytest.warns(prv.UnattainedWarning):
            found[name] = prv.compose(made, neighbors=neighbors).renyi_divergence(20.0).upper
    assert found["replaced"] >= found["removed"] >= exact
    # a moment of half the probability is no less than 2^-20 of the whole one
    assert exact - math.log(2.0) * 20 / 19 <= found["half"] < found["removed"]


def test_mass_at_infinity():
    curve = prv.compose(prv.ApproximateDP(epsilon=1.0, delta=1e-9))
    assert curve.renyi_divergence(2.0) == (math.inf, math.inf, math.inf)


@pytest.mark.slow
def test_the_renyi_bound_of_epsilon_is_no_better_than_that_of_the_curve():
    """Mironov 2017, Proposition 3."""
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.0, 0.01), 1000)
    orders = np.linspace(1.5, 60.0, 100)
    converted = (curve.renyi_divergence(orders).upper + math.log(1e5) / (orders - 1)).min()
    assert curve.epsilon(1e-5).lower < converted


@pytest.mark.parametrize("order", [1.0, 0.5, math.nan, math.inf, 2e6])
def test_orders_have_a_range(order):
    with pytest.raises(ValueError, match=r"order must be in \(1, 1e6\]"):
        prv.compose(prv.Gaussian(1)).renyi_divergence(order)


def test_functions_have_no_known_tails():
    own = prv.FromPrivacyCurve(lambda epsilons: -np.expm1(np.minimum(epsilons, 0.0)))
    with pytest.raises(ValueError, match="nothing is known of its tails"):
        prv.compose(own).renyi_divergence(2.0)


# ---- Closed forms at 50 digits, and no tolerance -------------------------------------------


def of_mixture(noise, centers, weights, order):
    """log E[(dQ/dP)^order] / (order - 1) of a mixture Q against N(0, noise^2), an integer order.

    Multiplied out: a product of `order` densities has the expectation e^(sum of a b / noise^2),
    over the pairs of its centres.
    """
    moment = mpf(0)
    for chosen in combinations_with_replacement(range(len(centers)), order):
        term = mp.factorial(order)
        exponent = mpf(0)
        for i in set(chosen):
            times = chosen.count(i)
            term *= weights[i] ** times / mp.factorial(times)
            exponent += centers[i] ** 2 * times * (times - 1) / 2
        kinds = sorted(set(chosen))
        for n, i in enumerate(kinds):
            for j in kinds[n + 1 :]:
                exponent += centers[i] * centers[j] * chosen.count(i) * chosen.count(j)
        moment += term * mp.exp(exponent / noise**2)
    return mp.log(moment) / (order - 1)


def of_sample(noise, p, order):
    """The same of a sampled Gaussian, Mironov, Talwar, Zhang 2019, section 3.3."""
    terms = (
        mp.binomial(order, k)
        * (1 - p) ** (order - k)
        * p**k
        * mp.exp(mpf(k * (k - 1)) / 2 / noise**2)
        for k in range(order + 1)
    )
    return mp.log(mp.fsum(terms)) / (order - 1)


def drawn_mixture(draw):
    noise = 10 ** draw.uniform(-0.8, 1)
    n = draw.randint(1, 5)
    centers = sorted({round(draw.uniform(0, 8), 3) for _ in range(n)} | {1.0})
    if draw.random() < 0.6:
        centers = [0.0, *centers]
    # of powers of two, whose sum is 1 exactly
    parts = [2.0 ** -draw.randint(1, 40) for _ in centers[1:]]
    if sum(parts) >= 1.0:
        parts = [part / 64 for part in parts]
    weights = [1.0 - math.fsum(parts), *parts]
    mechanism = prv.MixtureOfGaussians(noise, centers, weights)
    order = draw.randint(2, 4)
    return mechanism, order, of_mixture(mpf(noise), *map(exact, (centers, weights)), order)


def drawn_group(draw):
    noise, p, size = 10 ** draw.uniform(-0.3, 1), 10 ** draw.uniform(-6, -0.2), draw.randint(1, 5)
    weights = [
        mp.binomial(size, k) * mpf(p) ** k * (1 - mpf(p)) ** (size - k) for k in range(size + 1)
    ]
    order = draw.randint(2, 4)
    mechanism = prv.GroupPoissonSubsampledGaussian(noise, p, size)
    return mechanism, order, of_mixture(mpf(noise), exact(range(size + 1)), weights, order)


def drawn_sample(draw):
    noise, p = 10 ** draw.uniform(-0.9, 1.5), 10 ** draw.uniform(-9, 0)
    order = draw.choice([2, 3, 4, 7, 20, 64])
    return prv.PoissonSubsampledGaussian(noise, p), order, of_sample(mpf(noise), mpf(p), order)


def drawn_gaussian(draw):
    noise, order = 10 ** draw.uniform(-150, 300), draw.choice([1 + 2.0**-40, 2.0, 31.5, 1e6])
    return prv.Gaussian(noise), order, mpf(order) / 2 / mpf(noise) ** 2


def drawn_pure(draw):
    epsilon = mpf(float(10 ** draw.uniform(-15, 2)))
    order = draw.choice([1 + 2.0**-50, 1 + 2.0**-20, 1.5, 2.0, 17.25, 1e4])
    with mp.workdps(120):
        own, a = mp.exp(epsilon) / (1 + mp.exp(epsilon)), mpf(order)
        moment = own**a * (1 - own) ** (1 - a) + (1 - own) ** a * own ** (1 - a)
        return prv.PureDP(float(epsilon)), order, mp.log(moment) / (a - 1)


def drawn_laplace(draw):
    scale = mpf(float(10 ** draw.uniform(-1, 5)))
    order = draw.choice([1 + 2.0**-20, 1.5, 2.0, 17.25, 1e4])
    with mp.workdps(120):
        a = mpf(order)
        near, far = mp.exp((a - 1) / scale), mp.exp(-a / scale)
        moment = (a * near + (a - 1) * far) / (2 * a - 1)
        return prv.Laplace(float(scale)), order, mp.log(moment) / (a - 1)


def exact(numbers):
    return [mpf(number) for number in numbers]


DRAWN = [drawn_mixture, drawn_group, drawn_sample, drawn_gaussian, drawn_pure, drawn_laplace]


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_the_closed_form(draw, seed):
    numbers = random.Random(f"{draw.__name__} {seed}")
    for _ in range(40):
        with mp.workdps(50):
            mechanism, order, truth = draw(numbers)
            count = numbers.choice([1, 1, 10, 10**6])
            bounds = prv.compose(mechanism, count, neighbors="remove").renyi_divergence(order)
            told = (mechanism, order, count, bounds, float(count * truth))
            assert mpf(bounds.lower) <= count * truth <= mpf(bounds.upper), told
            assert bounds.lower <= bounds.estimate <= bounds.upper, told
            # those of Laplace noise are as close as rounding of cells leaves them
            if truth * count > 1e-290 and draw is not drawn_laplace:
                assert bounds.upper <= bounds.lower * (1 + 2e-4), told


@pytest.mark.slow
def test_bounds_of_many_distinct_steps_hold_their_sum():
    steps = [prv.Gaussian(5.0 + i / 7) for i in range(3000)]
    with mp.workdps(50):
        truth = mp.fsum(mpf(3) / 2 / mpf(step.noise_multiplier) ** 2 for step in steps)
        bounds = prv.compose(steps).renyi_divergence(3.0)
        assert mpf(bounds.lower) <= truth <= mpf(bounds.upper)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["remove", "add", "replace-one"])
def test_bounds_are_in_order_wherever_they_are_asked(neighbors):
    draw = random.Random(neighbors)
    for _ in range(60):
        noise, p = 10 ** draw.uniform(-1, 1.5), 10 ** draw.uniform(-9, 0)
        order = draw.choice([1 + 2.0**-40, 1.1, 2.0, 8.5, 100.0])
        curve = prv.compose(prv.PoissonSubsampledGaussian(noise, p), neighbors=neighbors)
        bounds = curve.renyi_divergence(order)
        assert bounds.lower <= bounds.estimate <= bounds.upper < math.inf
