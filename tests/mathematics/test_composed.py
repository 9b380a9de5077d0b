"""Several mechanisms on one sample."""

import json
import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv


def exact_delta(epsilon, noises, p, direction):
    """Return delta of Gaussian mechanisms on one Poisson sample, by an integral over the plane.

    The outcome is a vector of all answers; nothing is merged.
    """
    with mpmath.workdps(20):
        a, p = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(p)
        first, second = (1 / mpmath.mpf(noise) for noise in noises)

        def inner(y):
            # The set where the first measure exceeds a times the second is a half line in x.
            def ratio(x):
                return mpmath.exp(first * x - first**2 / 2 + second * y - second**2 / 2)

            # 1 - p + p r > a, or 1 > a (1 - p + p r)
            edge = (a - 1 + p) / p if direction == "remove" else (1 / a - 1 + p) / p
            if edge <= 0:
                bound = -mpmath.inf
            else:
                bound = (mpmath.log(edge) + first**2 / 2 - second * y + second**2 / 2) / first
            base, moved = mpmath.npdf(y), mpmath.npdf(y - second)
            if direction == "remove":
                above_p, above_q = mpmath.ncdf(-bound), mpmath.ncdf(first - bound)
                return (1 - p - a) * base * above_p + p * moved * above_q
            below_p, below_q = mpmath.ncdf(bound), mpmath.ncdf(bound - first)
            return (1 - a * (1 - p)) * base * below_p - a * p * moved * below_q

        return mpmath.quad(inner, [-9, -4, -1, 0, 1, 2, 4, 6, 10, 14])


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("noises", "p", "epsilon"),
    [((1.0, 1.6), 0.3, 0.5), ((0.7, 2.0), 0.05, 1.5), ((2.0, 2.0), 0.9, 0.1)],
)
def test_two_on_one_sample_are_the_integral_over_both_answers(noises, p, epsilon, direction):
    mechanism = prv.PoissonSubsampled([prv.Gaussian(noise) for noise in noises], p)
    bounds = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
    exact = float(exact_delta(epsilon, noises, p, direction))
    assert bounds.lower <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= bounds.upper
    assert bounds.upper - bounds.lower <= 5e-3 * exact


def test_the_example_of_adaptive_clipping():
    both = [prv.Gaussian(1.281025), prv.NoisyCount(0.8, centred=True)]
    together = prv.PoissonSubsampled(both, sampling_probability=0.01)
    bounds = prv.eps_from_delta(together, 1e-5, counts=1000, eps_error=1e-4)
    assert bounds.lower <= 1.82825 <= bounds.upper + 5e-5
    assert f"{bounds.estimate:.4f}" == "1.8282"
    apart = [(prv.PoissonSubsampled(mechanism, 0.01), 1000) for mechanism in both]
    assert prv.eps_from_delta(apart, 1e-5).upper < 1.461


@pytest.mark.slow
@settings(max_examples=60)
@given(
    parts=st.lists(st.tuples(st.floats(0.3, 20.0), st.integers(1, 50)), min_size=1, max_size=5),
    delta=st.sampled_from([1e-3, 1e-8]),
)
def test_unsampled_it_is_the_composition(parts, delta):
    """The parts one by one have other code: a sum of losses, and no merged noise."""
    steps = [(prv.Gaussian(noise), count) for noise, count in parts]
    merged, apart = prv.compose(prv.Composed(steps)), prv.compose(steps)
    ours, theirs = merged.epsilon(delta), apart.epsilon(delta)
    assert ours.lower <= theirs.upper
    assert theirs.lower <= ours.upper


@pytest.mark.parametrize("noises", [(1.0, 2.0), (1e-3, 1e3), (3.7, 3.7), (0.1, 0.3)])
def test_the_rounding_of_the_noise_is_allowed_for(noises):
    """The exact curve, of noise that no double is, lies between the bounds."""
    with mpmath.workdps(60):
        mu = mpmath.sqrt(sum(1 / mpmath.mpf(noise) ** 2 for noise in noises))
        for z in (-1.0, 0.5, 3.0):
            epsilon = float(mu * mu / 2 + z * mu)
            x = mpmath.mpf(epsilon) / mu - mu / 2
            tail = mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-x - mu)
            exact = mpmath.ncdf(-x) - tail
            if epsilon < 0:
                continue
            bounds = prv.delta_from_eps(
                prv.Composed([prv.Gaussian(noise) for noise in noises]), epsilon
            )
            assert bounds.lower <= exact <= bounds.upper


@pytest.mark.parametrize(
    ("neighbors", "sampler"),
    [
        ("replace-one", prv.PoissonSubsampled),
        ("replace-one", prv.SubsampledWithoutReplacement),
        ("add-or-remove", prv.PoissonSubsampled),
    ],
)
def test_two_equal_ones_are_one_with_less_noise(neighbors, sampler):
    two = sampler([(prv.Gaussian(2.0), 4)], 0.1)
    one = sampler(prv.Gaussian(1.0), 0.1)
    ours, theirs = (
        prv.eps_from_delta(mechanism, 1e-5, counts=20, neighbors=neighbors)
        for mechanism in (two, one)
    )
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert ours.lower <= theirs.upper
    assert theirs.lower <= ours.upper


def test_a_count_that_is_not_centred_has_no_pair_for_replaced_records():
    count = prv.NoisyCount(1.0, centred=False)
    parts = [prv.Gaussian(1.0), count]
    for mechanism in (count, prv.Composed(parts), prv.PoissonSubsampled(parts, 0.1)):
        with pytest.raises(ValueError, match="no dominating pair"):
            prv.eps_from_delta(mechanism, 1e-5, neighbors="replace-one")
    with pytest.raises(ValueError, match="centred"):
        prv.eps_from_delta(
            prv.SubsampledWithoutReplacement(parts, 0.1), 1e-5, neighbors="replace-one"
        )
    centred = prv.NoisyCount(0.5, centred=True)
    ours = prv.eps_from_delta(centred, 1e-5, neighbors="replace-one")
    assert ours == prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, neighbors="replace-one")


def test_an_accountant_is_told_what_runs_beside():
    accountant, other = prv.Accountant(), prv.Accountant()
    count = prv.NoisyCount(0.8, centred=True)
    accountant.step(noise_multiplier=1.2, sampling_probability=0.01, count=100, beside=count)
    other.add(prv.PoissonSubsampled([prv.Gaussian(1.2), count], 0.01), 100)
    assert accountant.history == other.history
    assert accountant.epsilon(1e-5) == other.epsilon(1e-5)
    again = prv.Accountant.from_json(accountant.to_json())
    assert again.history == accountant.history
    assert "Composed" in json.dumps(json.loads(accountant.to_json()))


def test_calibration_multiplies_all_noise():
    parts = [prv.Gaussian(1.0), prv.NoisyCount(1.0, centred=True)]
    step = prv.PoissonSubsampled(parts, 0.01)
    found = prv.calibrate(step, 1000, epsilon=1.0, delta=1e-5)
    merged = prv.PoissonSubsampledGaussian(1.0 / math.sqrt(1.25), 0.01)
    plain = prv.calibrate(merged, 1000, epsilon=1.0, delta=1e-5)
    assert found.value == pytest.approx(plain.value * math.sqrt(1.25), rel=3e-4)
    assert found.bounds.upper <= 1.0 < found.next_bounds.upper
    (mechanism, count), *_ = found.mechanisms
    assert count == 1000
    assert mechanism == prv.PoissonSubsampled(
        [prv.Gaussian(found.value), prv.NoisyCount(found.value, centred=True)], 0.01
    )


def test_parts_in_any_order_are_equal():
    a, b = prv.Gaussian(1.0), prv.Gaussian(2.0)
    assert prv.Composed([a, b]) == prv.Composed([(b, 1), (a, 1)])
    assert prv.Composed([a, a]) == prv.Composed([(a, 2)])
    assert prv.Composed([prv.Composed([a, b]), a])._gaussian_noise() is not None
    assert prv.PoissonSubsampled([a], 0.1) == prv.PoissonSubsampled(a, 0.1)


def test_nothing_is_the_identity():
    assert prv.eps_from_delta(prv.Composed([]), 1e-5).upper == 0.0


@pytest.mark.parametrize("steps", [12, 40])
def test_runs_after_many_others_are_the_most_that_fit(steps):
    before = [(prv.PoissonSubsampledGaussian(3.0 * 0.99**i + 0.5, 1e-3), 10) for i in range(steps)]
    step = prv.PoissonSubsampledGaussian(1.0, 2e-3)
    found = prv.calibrate(step, epsilon=2.0, delta=1e-6, parameter="steps", after=before)
    assert found.next_value == found.value + 1
    assert found.proven
    curves = [
        prv.PrivacyCurve([*before, (step, runs)], eps_error=1e-6)
        for runs in (found.value, found.next_value)
    ]
    assert curves[0].epsilon(1e-6).lower <= 2.0 < curves[1].epsilon(1e-6).upper
