"""Bayes risks and calibrations to risks: closed forms, other libraries' examples, invariants."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1, sampling_probability=0.01)


def gaussian_risk(prior, mu):
    """Return the Bayes risk of N(0, 1) against N(mu, 1), to 50 digits."""
    with mpmath.workdps(50):
        prior, mu = mpmath.mpf(prior), mpmath.mpf(mu)
        z = mpmath.log((1 - prior) / prior) / mu + mu / 2
        return prior * mpmath.ncdf(z - mu) + (1 - prior) * mpmath.ncdf(-z)


def laplace_risk(prior, size):
    """Return that of Laplace noise of scale 1 on 0 against `size`: the integral of the lesser."""
    with mpmath.workdps(50):
        prior, size = mpmath.mpf(prior), mpmath.mpf(size)
        cut = (size + mpmath.log((1 - prior) / prior)) / 2  # where both are equal
        if cut <= 0:
            return 1 - prior
        if cut >= size:
            return prior
        return (1 - prior) * mpmath.exp(-cut) / 2 + prior * mpmath.exp(cut - size) / 2


@pytest.mark.slow
@given(prior=st.floats(1e-12, 1 - 1e-12), mu=st.floats(1e-3, 6))
def test_a_gaussian_mechanism_has_its_closed_form(prior, mu):
    for neighbors in ("add", "remove", "add-or-remove"):
        curve = prv.compose(prv.Gaussian(1 / mu), neighbors=neighbors)
        lower, estimate, upper = curve.bayes_risk(prior)
        # 1 / mu is rounded, which moves the risk by a few units of rounding times mu
        truth = gaussian_risk(prior, 1 / mpmath.mpf(1 / mu))
        assert lower <= truth <= upper
        assert lower <= estimate <= upper <= min(prior, 1 - prior)


@pytest.mark.slow
@given(prior=st.floats(1e-6, 1 - 1e-6), size=st.floats(1e-3, 20))
def test_laplace_noise_has_its_closed_form(prior, size):
    curve = prv.compose(prv.Laplace(scale=1, sensitivity=size))
    lower, _, upper = curve.bayes_risk(prior)
    assert lower <= laplace_risk(prior, size) <= upper


def test_the_prior_is_of_the_data_set_that_neighbors_name():
    # Asymmetric: of the records that a sample leaves out, nothing can be told.
    removed = prv.compose(STEP, 100, neighbors="remove")
    added = prv.compose(STEP, 100, neighbors="add")
    either = prv.compose(STEP, 100)
    priors = np.array([0.3, 0.45, 0.5, 0.6, 0.9])
    with_record, without = removed.bayes_risk(priors), added.bayes_risk(1 - priors)
    # The hypotheses are the same: the record is in with this prior.
    assert (with_record.lower <= without.upper).all()
    assert (without.lower <= with_record.upper).all()
    one, other, worse = (curve.bayes_risk(priors) for curve in (removed, added, either))
    assert (worse.lower <= np.minimum(one.upper, other.upper)).all()
    assert (worse.upper >= np.minimum(one.lower, other.lower)).all()
    assert one.upper[0] < other.lower[0]
    assert one.lower[3] > other.upper[3]


def test_it_is_what_the_curve_says():
    curve = prv.compose(STEP, 1000)
    for prior in (0.01, 0.3, 0.5, 0.7):
        delta = curve.delta(math.log((1 - prior) / prior))
        risk = curve.bayes_risk(prior)
        assert risk.lower <= prior * (1 - delta.lower) * (1 + 1e-12)
        assert prior * (1 - delta.upper) * (1 - 1e-12) <= risk.upper
    half = curve.total_variation()
    assert curve.bayes_risk(0.5).lower <= (1 - half.lower) / 2
    assert (1 - half.upper) / 2 <= curve.bayes_risk(0.5).upper


def test_edges():
    curve = prv.compose(STEP, 1000)
    assert curve.bayes_risk([0.0, 1.0]).upper.tolist() == [0.0, 0.0]
    assert prv.compose([]).bayes_risk([0.25, 0.75]).lower.tolist() == [0.25, 0.25]
    assert prv.compose(prv.Gaussian(0)).bayes_risk(0.5) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"prior must be in \[0, 1\]"):
        curve.bayes_risk(1.5)


def test_examples_of_riskcal():
    """riskcal 1.5.1 with dp-accounting 0.6.0 prints these on the examples of its README.

    Its advantages and risks are bounds from its side, but for rounding. Its power of DP-SGD at 0.01
    is 0.1572, less than the truth: the convolution of both laws on a grid of 2e-5 has 0.16054.
    """
    gaussian = prv.compose(prv.Gaussian(1))
    assert gaussian.total_variation().lower <= 0.3829249225481049
    assert gaussian.power(0.01).lower <= 0.09236214091561878 + 1e-6
    assert gaussian.power(0.01).upper >= 0.09236214091561878 - 1e-6

    dpsgd = prv.compose(
        prv.PoissonSubsampledGaussian(noise_multiplier=0.5, sampling_probability=0.002), 10_000
    )
    power = dpsgd.power([0.01, 0.05, 0.1])
    theirs = np.array([0.15718659149464598, 0.34974423743201355, 0.4776591241802295])
    np.testing.assert_allclose(power.estimate, theirs, rtol=0.03)
    convolved = [0.16054447, 0.35102689, 0.47842840]
    assert (power.lower <= convolved).all()
    assert (power.upper >= np.array(convolved) * (1 - 1e-5)).all()
    assert dpsgd.total_variation().lower <= 0.44139562236482555
    assert dpsgd.total_variation().upper >= 0.44139562236482555 * (1 - 1e-4)
    risk = dpsgd.bayes_risk([0.1, 0.3, 0.5, 0.7])
    theirs = np.array(
        [0.09286391889273066, 0.22574829821934675, 0.2793021888175872, 0.2257483286433823]
    )
    assert (risk.upper >= theirs).all()
    assert (risk.lower <= theirs * (1 + 1e-3)).all()
    assert (risk.upper <= theirs * (1 + 1e-3)).all()

    laplace = prv.compose(prv.Laplace(scale=1)).bayes_risk([0.1, 0.5, 0.8])
    assert (laplace.lower <= [0.1, 0.3032653298562834 + 1e-12, 0.2]).all()
    assert (laplace.upper >= [0.09999999999978063, 0.3032653298562834, 0.19999999999999996]).all()


TARGETS = [
    {"advantage": 0.15},
    {"power": 0.05, "false_positive_rate": 0.01},
    {"bayes_risk": 0.45, "prior": 0.5},
    {"bayes_risk": 0.28, "prior": 0.3},
    {"bayes_risk": 0.18, "prior": 0.8},
    {"mu": 0.4, "delta": 1e-5},
]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("parameter", ["noise_multiplier", "sampling_probability"])
def test_calibrations_meet_the_target_and_the_next_value_misses(target, parameter):
    found = prv.calibrate(STEP, 500, parameter=parameter, tolerance=1e-3, **target)
    assert found.proven
    assert found._aim.is_met(found.bounds)
    again = found._aim.bounds(found.curve, 2**30)
    assert again == found.bounds
    # The methods of the curve say the same.
    asked = {
        "advantage": lambda: found.curve.total_variation(),
        "power": lambda: found.curve.power(found.at),
        "bayes_risk": lambda: found.curve.bayes_risk(found.at),
        "gaussian_mu": lambda: found.curve.gaussian_mu(found.at),
    }
    assert asked[found.quantity]() == found.bounds


@pytest.mark.slow
@settings(max_examples=25)
@given(
    advantage=st.floats(1e-4, 0.9),
    steps=st.sampled_from([1, 10]),
    prior=st.floats(0.3, 0.7),
    rate=st.floats(0.01, 0.9),
)
def test_gaussian_noise_is_that_of_the_closed_form(advantage, steps, prior, rate):
    """With mu = sqrt(steps) / noise: advantage 2 Phi(mu / 2) - 1, and the others from it."""
    with mpmath.workdps(30):
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(advantage))
        noise = float(mpmath.sqrt(steps) / mu)
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(rate))
        power = float(mpmath.ncdf(mu - z))
        risk = float(gaussian_risk(prior, mu))
    targets = [{"advantage": advantage}]
    if power < 0.9 and power - rate > 1e-3:  # near 1 its bounds are not so close
        targets.append({"power": power, "false_positive_rate": rate})
    if min(prior, 1 - prior) - risk > 1e-6:
        targets.append({"bayes_risk": risk, "prior": prior})
    for target in targets:
        found = prv.calibrate(prv.Gaussian(1), steps, tolerance=1e-3, **target)
        assert found.value == pytest.approx(noise, rel=2e-3)
        assert found.value >= noise * (1 - 1e-9)  # safe
        assert found.proven


def test_a_schedule_and_what_has_run_before():
    before = prv.compose(prv.Gaussian(10), 4)
    found = prv.calibrate(
        [(prv.Gaussian(2), 3), (prv.Laplace(5), 1)], advantage=0.3, after=before, tolerance=1e-3
    )
    assert found.curve.total_variation().upper <= 0.3
    assert found.proven
    with pytest.raises(prv.TargetError, match=r"an advantage of at least 0\.07"):
        prv.calibrate(prv.Gaussian(1), advantage=0.05, after=before)


def test_targets_that_anything_meets():
    assert prv.calibrate(prv.Gaussian(1), advantage=1).value == 0
    assert prv.calibrate(prv.Gaussian(1), bayes_risk=0, prior=0.5).value == 0
    found = prv.calibrate(STEP, power=1, false_positive_rate=0.5, parameter="sampling_probability")
    assert (found.value, found.next_value) == (1, None)
    assert found.proven


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ({}, TypeError, "exactly one target must be given"),
        ({"epsilon": 1}, TypeError, "epsilon needs delta"),
        ({"delta": 1e-5}, TypeError, "delta needs epsilon or mu"),
        ({"advantage": 0.1, "mu": 1, "delta": 0.1}, TypeError, "got advantage, delta, mu"),
        ({"power": 0.1}, TypeError, "power needs false_positive_rate"),
        ({"bayes_risk": 0.1}, TypeError, "bayes_risk needs prior"),
        ({"advantage": 1.5}, ValueError, r"advantage must be in \[0, 1\]"),
        ({"power": 0.5, "false_positive_rate": 0}, ValueError, r"in \(0, 1\)"),
        ({"bayes_risk": 0.5, "prior": 1}, ValueError, r"prior must be in \(0, 1\)"),
        ({"mu": 1, "delta": 0}, ValueError, r"delta must be in \(0, 1\]"),
        ({"mu": -1, "delta": 0.1}, ValueError, "mu must be finite and >= 0"),
        ({"power": 0.1, "false_positive_rate": 0.2}, prv.TargetError, "at least 0.2 is left"),
        ({"bayes_risk": 0.3, "prior": 0.2}, prv.TargetError, "at most 0.2 is left"),
    ],
    ids=str,
)
def test_bad_targets(target, error, message):
    with pytest.raises(error, match=message):
        prv.calibrate(STEP, 100, **target)


def test_epsilon_and_delta_of_a_calibration_are_the_targets():
    found = prv.calibrate(STEP, 100, epsilon=1, delta=1e-5)
    assert (found.quantity, found.target, found.at) == ("epsilon", 1.0, 1e-5)
    assert (found.epsilon, found.delta) == (1.0, 1e-5)
    found = prv.calibrate(STEP, 100, advantage=0.1)
    assert (found.quantity, found.target, found.at) == ("advantage", 0.1, None)
    assert (found.epsilon, found.delta) == (None, None)


@pytest.mark.slow
def test_sweeps_take_risks_as_targets():
    found = prv.dpsgd_noise_multiplier(0.01, 500, advantage=[0.1, 0.2], tolerance=1e-3)
    assert (found.upper <= [0.1, 0.2]).all()
    assert found.proven.all()
    assert list(found.settings) == ["sampling_probability", "steps", "advantage"]
    alone = prv.calibrate(STEP, 500, advantage=0.1, tolerance=1e-3)
    assert (found.value[0], found.lower[0]) == (alone.value, alone.bounds.lower)
    risk = prv.dpsgd_noise_multiplier(0.01, 500, bayes_risk=0.4, prior=[0.45, 0.5], tolerance=1e-3)
    assert (risk.lower >= 0.4).all()
    assert (risk.next_upper < 0.4).all()
    assert risk.proven.all()
    steps = prv.dpsgd_steps(1, 0.01, power=0.05, false_positive_rate=0.01)
    assert steps.upper <= 0.05 < steps.next_lower
    assert prv.dpsgd_steps(1, 0.01, mu=0.4, delta=1e-5).proven
    with pytest.raises(TypeError, match="exactly one target must be given"):
        prv.dpsgd_noise_multiplier(0.01, 500)


@pytest.mark.slow
def test_the_command_line_takes_risks_as_targets(capsys):
    from prvcore._cli import main

    run = ["--sampling-probability", "0.01", "--steps", "500"]
    assert main(["noise", *run, "--advantage", "0.1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("least noise_multiplier for advantage = 0.1: 1.0")
    assert "advantage with it" in out
    assert main(["noise", *run, "--bayes-risk", "0.4", "--prior", "0.5", "--json"]) == 0
    assert '"bayes_risk": 0.4, "prior": 0.5' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["noise", *run, "--power", "0.4"])
    assert "argument --power: power needs false_positive_rate" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("probability", [1e-12, 1e-17, 1e-60])
@pytest.mark.parametrize("relation", ["add", "remove", "add-or-remove"])
def test_deltas_that_rounding_hides_are_bounded_by_the_total_variation(probability, relation):
    # Of steps that hardly ever use the record, the total variation of 100 is that of the sum of
    # their losses to first order, probability * E|sum of (r - 1)| / 2, at most the sum of theirs.
    step = prv.PoissonSubsampledGaussian(1.0, probability)
    bounds = prv.compose(step, 100, neighbors=relation, eps_error=probability).delta([0.0, 1e-3])
    exact = 5.14164 * probability  # as at a probability of 1e-7, where bounds are close
    assert bounds.lower[0] <= exact <= bounds.upper[0] <= 1e-7
    assert 0.0 <= bounds.lower[1] <= bounds.upper[1] <= bounds.upper[0]
