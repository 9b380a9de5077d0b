"""Deltas far below what an untilted transform in double precision resolves."""

import math
import warnings

import numpy as np
import pytest
from flint import arb

import prvcore as prv
from tests.oracle.balls import Precision


def gaussian_epsilon(noise, count, delta):
    """Return the epsilon of so many Gaussian steps at a decimal delta, found in 460 digits."""
    with Precision(1530):
        mu, delta, root = arb(count).sqrt() / arb(noise), arb(delta), arb(2).sqrt()

        def is_above(epsilon):
            high = ((epsilon / mu - mu / 2) / root).erfc() / 2
            low = ((epsilon / mu + mu / 2) / root).erfc() / 2
            excess = high - epsilon.exp() * low - delta
            assert not excess.contains(0)
            return excess > 0

        low, high = arb(0), mu * mu / 2 + 60 * mu
        for _ in range(60):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if is_above(middle) else (low, middle)
        return float(low)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "count", "delta"),
    [(30.0, 1000, "1e-100"), (2.0, 10, "1e-300"), (1.0, 1, "1e-300"), (100.0, 10_000, "1e-200")],
)
def test_gaussians(noise, count, delta):
    truth = gaussian_epsilon(noise, count, delta)
    curve = prv.compose(prv.Gaussian(noise), count, eps_error=1e-2)
    bounds = curve.epsilon(float(delta))
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-2
    assert bounds.estimate == pytest.approx(truth, abs=5e-3)
    at = curve.delta(truth)
    assert at.lower <= float(delta) * (1 + 1e-9)
    assert at.upper >= float(delta) * (1 - 1e-9)
    assert at.lower > 0.0
    assert at.upper < 2.0 * float(delta)


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0.5", "1e-5", "1e-20"])
@pytest.mark.parametrize("noise", [0.02, 0.015, 0.005, 1e-3])
@pytest.mark.parametrize("count", [1, 2, 100])
def test_gaussians_of_losses_whose_exponentials_overflow(noise, count, delta):
    truth = gaussian_epsilon(noise, count, delta)
    bounds = prv.eps_from_delta(prv.Gaussian(noise), float(delta), counts=count)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-3 * truth


def test_subsampled_gaussian():
    step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-2)
    bounds = prv.compose(step, 1000, neighbors="remove", eps_error=1e-3).epsilon(1e-30)
    truth = 16.25003157553  # from high-precision arithmetic
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-3
    assert bounds.estimate == pytest.approx(truth, abs=1e-4)


@pytest.mark.parametrize("delta", [1e-15, 1e-50, 1e-300])
def test_pure_dp_reaches_the_sum_of_its_epsilons(delta):
    bounds = prv.compose(prv.PureDP(0.1), 20).epsilon(delta)
    assert bounds.upper <= 2.0 * (1 + 1e-12)
    assert bounds.lower >= 1.7


def test_the_smallest_deltas_give_ordered_bounds():
    # the last is less than masses that are no normal doubles are known to
    with pytest.warns(prv.AccuracyWarning, match="rounding in double precision"):
        bounds = prv.compose(prv.Gaussian(3.0), 50, engine="convolution").epsilon(
            [1e-290, 1e-305, 5e-324]
        )
    assert np.isfinite(bounds.upper[:2]).all()
    assert (bounds.lower <= bounds.estimate).all()
    assert (bounds.estimate <= bounds.upper).all()
    assert (bounds.lower[1:] <= bounds.upper[:-1] * 1.2).all()
    assert (bounds.upper[1:] >= bounds.lower[:-1]).all()


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # of convolutions
@pytest.mark.parametrize(
    ("mechanism", "steps", "epsilon"),
    [
        (prv.PoissonSubsampledGaussian(2.94, 0.0009925), 30450, 2.898),
        (prv.GroupPoissonSubsampledGaussian(1.645, 3.81e-5, 8), 139_658, 2.683),
        (prv.PoissonSubsampled(prv.DiscreteGaussian(3.206), 0.003663), 7710, 5.0),
    ],
)
def test_deltas_that_several_jumps_make_up(mechanism, steps, epsilon):
    """Their tilted laws have two modes, so that delta is a small part of them at any tilt."""
    b, other = (
        prv.PrivacyCurve([(mechanism, steps)], neighbors="remove", engine=engine).delta(epsilon)
        for engine in ("auto", "convolution")
    )
    assert 0.0 < 0.8 * b.upper < b.lower < 1e-40
    assert other.lower <= b.upper
    assert b.lower <= other.upper


def encloses(bounds, truth):
    return not arb(bounds.lower) > truth and not arb(bounds.upper) < truth


def delta_of_sampled_response(loss, probability, epsilon, direction):
    """Return the delta of `PureDP` on a sample at an epsilon >= 0: a ball."""
    e, a, p = arb(loss).exp(), arb(epsilon).exp(), arb(probability)
    removed = (
        1 - p + p * e,
        1 - p + p / e,
    )  # the sample's density where the base's is e^loss and e^-loss
    if direction == "remove":
        found = (removed[0] - a) / (1 + e)
    else:
        found = (e - a * (p + (1 - p) * e)) / (1 + e)
    assert not found.contains(0)
    return found if found > 0 else arb(0)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("loss", "probability"), [(1e-14, 2.5e-306), (1e-300, 1e-9), (3.0, 2.5e-308), (20.0, 1e-290)]
)
def test_samples_whose_losses_no_lattice_tells_apart(loss, probability, direction):
    curve = prv.compose(prv.PoissonSubsampled(prv.PureDP(loss), probability), neighbors=direction)
    for epsilon in (6e-265, 1e-310, 5e-324, 0.0, 1e-12):
        with Precision(9000):
            truth = delta_of_sampled_response(loss, probability, epsilon, direction)
            found = curve.delta(epsilon)
            assert encloses(found, truth)
        # whoever is not in the sample loses nothing
        assert found.upper <= probability * (1 + 1e-12)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [-7e-300, -1e-31, 0.0, 1e-31, 1e-9])
@pytest.mark.parametrize(
    "base",
    [
        [prv.Gaussian(0.56), prv.Gaussian(5.1)],
        [prv.PureDP(1e-90), prv.Laplace(6.0)],
        [prv.ApproximateDP(193.0, 3e-188), prv.Gaussian(8e-7)],
        prv.PoissonSubsampled(prv.Gaussian(0.56), 0.3),
    ],
)
def test_nothing_is_above_the_probability_of_a_sample(base, epsilon, direction):
    probability = 1e-30
    mechanism = prv.PoissonSubsampled(base, probability)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)
        found = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
    assert found.upper <= (probability - min(epsilon, 0.0)) * (1 + 1e-12)


def test_an_epsilon_at_the_probability_of_a_sample():
    # delta(0) is less than the probability, but by less than a part 1e-100000000 of it
    probability = 1.4287350651945434e-202
    mechanism = prv.PoissonSubsampled(prv.Gaussian(1.7425715308941975e-05), probability)
    assert prv.eps_from_delta(mechanism, probability, neighbors="remove") == (0.0, 0.0, 0.0)


def delta_of_sampled_allocation(loss, probability, epsilon):
    """Return the delta of `PureDP` in one of two batches, on a sample, if a record is removed."""
    e, a, p = arb(loss).exp(), arb(epsilon).exp(), arb(probability)
    # both batches have the likelier outcome, or one of them, or none
    parts = [(e, 1), ((e + 1 / e) / 2, 2 * e), (1 / e, e * e)]
    excess = [(1 - p + p * ratio - a) * mass / (1 + e) ** 2 for ratio, mass in parts]
    return sum((x for x in excess if x > 0), arb(0))


@pytest.mark.parametrize("distance", [1e-6, 1e-3, 0.03, 0.5])
@pytest.mark.parametrize("loss", [781.95, 20.0])
def test_upper_bounds_just_below_the_greatest_loss_are_close_or_a_warning_comes(loss, distance):
    probability = 0.2374
    mechanism = prv.PoissonSubsampled(prv.RandomAllocation(prv.PureDP(loss), 2), probability)
    curve = prv.compose(mechanism, neighbors="remove")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)
        epsilon = curve.epsilon(0.0).upper - distance
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = curve.delta(epsilon)
    with Precision(9000):
        assert encloses(found, delta_of_sampled_allocation(loss, probability, epsilon))
        if not told:
            before = delta_of_sampled_allocation(loss, probability, epsilon - 1e-3 * epsilon)
            assert arb(found.upper) <= before


def delta_of_rare_losses(loss, probability, count, epsilon):
    """Return the delta of so many losses, each 0 or, with this probability, `loss`."""
    rho, a = arb(probability), arb(epsilon).exp()
    masses = [math.comb(count, j) * rho**j * (1 - rho) ** (count - j) for j in range(count + 1)]
    excess = [mass * (1 - a * (-j * arb(loss)).exp()) for j, mass in enumerate(masses)]
    return sum((x for x in excess if x > 0), arb(0))


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-15, 1e-9, 1e-7, -5e-324, -1e-300, -1e-15])
@pytest.mark.parametrize(
    ("loss", "probability"), [(0.125, 0.03125), (2.5e-156, 2**-32), (2.5e-10, 2**-5), (1.0, 2**-10)]
)
def test_epsilons_next_to_0(loss, probability, epsilon):
    mechanism = prv.FromTable([0.0, loss], [1 - probability, probability])
    found = prv.delta_from_eps(mechanism, epsilon, counts=50, neighbors="remove")
    with Precision(3000):
        assert encloses(found, delta_of_rare_losses(loss, probability, 50, epsilon))
    assert found.upper - found.lower <= max(2e-6, 1e-3 * found.upper)


def test_wide_bounds_at_epsilons_below_0_come_with_a_warning():
    mechanism = prv.ApproximateDP(0.0, 5.2e-55)
    curve = prv.compose(mechanism, 2**53, neighbors="add", engine="convolution")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = curve.delta(-1e-120)
    assert found.lower <= 5.2e-55 * 2**53 <= found.upper
    assert told or found.upper <= 1e-5


def delta_of_two_losses(high_of_a, high_of_b, count, epsilon):
    """Return the delta of so many runs whose greater loss has these probabilities."""
    terms = (
        math.comb(count, j)
        * (
            high_of_a**j * (1 - high_of_a) ** (count - j)
            - arb(epsilon).exp() * high_of_b**j * (1 - high_of_b) ** (count - j)
        )
        for j in range(count + 1)
    )
    return sum((x for x in terms if x > 0), arb(0))


@pytest.mark.parametrize(
    ("own", "probability", "count", "mesh_size", "epsilon"),
    [  # in the first two an added record costs more, in the others a removed one
        (0.07299178573496844, 0.987403852949883, 1064, 0.01, 76.44599593914398),
        (0.8663568524132425, 0.9995387659031443, 1986, 0.03, 1718.4919342772323),
        (0.5244026136880163, 0.9997674068816949, 1499, 0.03, 785.7501282487817),
        (0.15772266774915308, 0.9990668897651267, 1124, 0.01, 177.04199808249288),
    ],
)
def test_the_worst_of_two_directions_on_a_mesh(own, probability, count, mesh_size, epsilon):
    mechanism = prv.PoissonSubsampled(prv.PureDP(own), probability)
    found = prv.compose(mechanism, count, mesh_size=mesh_size).delta(epsilon)
    with Precision(300):
        high = 1 / (1 + (-arb(own)).exp())
        seen = arb(probability) * high + (1 - arb(probability)) * (1 - high)
        removed = delta_of_two_losses(seen, 1 - high, count, epsilon)
        added = delta_of_two_losses(high, 1 - seen, count, epsilon)
        assert max(removed, added) < 1e-301
        assert encloses(found, removed.max(added))


@pytest.mark.parametrize(
    ("loss", "whole", "rare", "count", "epsilon"),
    [
        (3.0, 1.000000000465361, 3.375475064e-315, 10, 0.5),
        (1.0, 0.9999999992888832, 6.38847073e-316, 900, 0.001),
        (0.7, 1.0000000006093057, 1.001595743193e-311, 900, 0.5),
    ],
)
def test_probabilities_below_the_normal_doubles(loss, whole, rare, count, epsilon):
    # what makes their sum 1 takes digits from the smaller one
    mechanism = prv.FromTable([0.0, loss], [whole, rare])
    found = prv.delta_from_eps(mechanism, epsilon, counts=count)
    with Precision(3000):
        probability = arb(rare) / (arb(whole) + arb(rare))
        assert encloses(found, delta_of_rare_losses(loss, probability, count, epsilon))


@pytest.mark.parametrize("neighbors", ["add", "remove", "add-or-remove"])
@pytest.mark.parametrize("delta", [5e-324, 1.275e-321])
def test_losses_that_no_lattice_tells_apart(delta, neighbors):
    own, probability = 1.9312225918193488e-16, 3.0892253273312675e-305
    mechanism = prv.PoissonSubsampled(prv.PureDP(own), probability)
    found = prv.eps_from_delta(mechanism, delta, counts=2, neighbors=neighbors)
    assert found.lower == 0.0
    assert found.upper <= 1e-6
    with Precision(3000):
        high = 1 / (1 + (-arb(own)).exp())
        seen = arb(probability) * high + (1 - arb(probability)) * (1 - high)
        for a, b in [(seen, 1 - high), (high, 1 - seen)]:
            assert not delta_of_two_losses(a, b, 2, found.upper) > delta
