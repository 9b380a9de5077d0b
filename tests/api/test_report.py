"""The sentences for a paper: every number in them is on the safe side, and nothing is left out."""

import copy
import math
import pickle
import re

import numpy as np
import pytest

import prvcore as prv
from prvcore._in_words import steps_in_words

STEP = prv.PoissonSubsampledGaussian(1.1, 256 / 60_000)
WORDS = (
    "3,525 times Gaussian noise with noise multiplier 1.1 on a Poisson sample (each record with "
    "probability 0.004266666666666667, independently of all others)"
)
CURVE = prv.compose([(STEP, 3525), prv.Laplace(20.0)], neighbors="remove")


@pytest.mark.parametrize("point", [{"delta": 1e-5}, {"epsilon": 1.0}])
def test_what_is_reported_is_no_less_than_the_bounds(point):
    text = CURVE.report(**point)
    ((given, value),) = point.items()
    wanted = "epsilon" if given == "delta" else "delta"
    bounds = getattr(CURVE, wanted)(value)
    upper = float(re.search(r"is at most (\S+) ", text)[1])
    low, high = (float(end) for end in re.search(r"in \[(\S+), (\S+)\]", text).groups())
    assert low <= bounds.lower <= bounds.upper <= high == upper
    assert upper - low <= 1e-2 * upper
    for part in (WORDS, "3,525 times", "once", "one record removed", prv.__version__):
        assert part in text
    assert text.startswith(f"At {given} = {value!r}, {wanted} is at most")


def test_what_no_data_sets_reach_is_not_called_exact():
    truncated = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.1, 100, 12)
    assert "value for the worst data sets" in prv.compose(truncated, 10).report(delta=1e-5)


def test_what_is_infinite_is_not_called_a_bound():
    text = prv.compose(prv.Gaussian(1.0)).report(delta=0.0)
    assert text.startswith("At delta = 0.0, epsilon has no finite bound (exact value in [inf, inf]")
    alone = prv.dpsgd_epsilon([0.0, 1.0], 0.1, 10, 1e-5).report().splitlines()
    assert "epsilon has no finite bound (" in alone[0]
    assert "epsilon is at most " in alone[1]


def test_one_point_has_to_be_given():
    with pytest.raises(TypeError, match="exactly one of delta and epsilon"):
        CURVE.report()
    with pytest.raises(TypeError, match="exactly one of delta and epsilon"):
        CURVE.report(delta=0.1, epsilon=1.0)
    with pytest.raises(ValueError, match=r"delta must be in \[0, 1\], got 2"):
        CURVE.report(delta=2)
    with pytest.raises(ValueError, match="epsilon must be finite"):
        CURVE.report(epsilon=float("inf"))


@pytest.mark.parametrize(
    ("target", "start"),
    [
        ({"epsilon": 2, "delta": 1e-5}, "At delta = 1e-05, epsilon is at most "),
        ({"advantage": 0.2}, "The advantage of a membership test is at most 0.2"),
        (
            {"power": 0.05, "false_positive_rate": 0.01},
            "At a false positive rate of 0.01, the power of a membership test is at most 0.05",
        ),
        (
            {"bayes_risk": 0.4, "prior": 0.5},
            "At a prior of 0.5, the chance of a wrong guess which data set was used is at least",
        ),
        ({"mu": 0.5, "delta": 1e-5}, "For deltas from 1e-05 on, the mu of a Gaussian mechanism"),
    ],
    ids=str,
)
def test_calibrations_report_their_target(target, start):
    text = prv.calibrate(STEP, 3525, **target).report()
    assert text.startswith(start)
    assert "3,525 times" in text
    assert prv.__version__ in text


QUANTITIES = {
    "epsilon": (1e-5, "At delta = 1e-05, epsilon is at most"),
    "delta": (1.0, "At epsilon = 1.0, delta is at most"),
    "power": (0.01, "At a false positive rate of 0.01, the power of a membership test is at most"),
    "trade_off": (
        0.01,
        "At a false positive rate of 0.01, the type II error of a membership test is at least",
    ),
    "bayes_risk": (0.3, "At a prior of 0.3, the chance of a wrong guess which data set was used"),
    "gaussian_mu": (1e-5, "For deltas from 1e-05 on, the mu of a Gaussian mechanism"),
    "renyi_divergence": (8.0, "The Renyi divergence of order 8.0 is at most"),
}
LOWER_IS_CLAIMED = ("trade_off", "bayes_risk")


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_bounds_report_what_they_are_of(quantity):
    point, start = QUANTITIES[quantity]
    bounds = getattr(CURVE, quantity)(point)
    text = bounds.report()
    assert text.startswith(start)
    claimed = float(re.search(r"is at (?:most|least) (\S+) ", text)[1])
    low, high = (float(end) for end in re.search(r"in \[(\S+), (\S+)\]", text).groups())
    assert low <= bounds.lower <= bounds.upper <= high
    assert claimed == (low if quantity in LOWER_IS_CLAIMED else high)
    for part in (WORDS, "3,525 times", "one record removed", "certified", prv.__version__):
        assert part in text
    assert round(bounds, 4).report().startswith(start)
    copied = pickle.loads(pickle.dumps(bounds))
    assert copied == bounds
    assert copied.report() == copy.copy(bounds).report() == text


def test_bounds_of_many_points_report_a_line_for_each():
    points = np.array([[1e-6, 1e-5]])
    bounds = CURVE.epsilon(points)
    points[:] = 0.5  # what the caller does later changes nothing
    *lines, last = bounds.report().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["At delta = 1e-06", "At delta = 1e-05"]
    assert all(line.endswith("]).") for line in lines)
    assert last.startswith("Certified for neighbouring data sets with one record removed. ")
    assert pickle.loads(pickle.dumps(bounds)).report() == bounds.report()


def test_bounds_that_know_nothing_say_so():
    for bounds in (prv.Bounds(1.0, 2.0, 3.0), CURVE.epsilon(1e-5)._replace(lower=0.0)):
        with pytest.raises(ValueError, match="do not know what they are of: ask the PrivacyCurve"):
            bounds.report()


def test_bounds_of_others_report_the_same():
    accountant = prv.Accountant()
    accountant.step(noise_multiplier=1.1, sampling_probability=256 / 60_000, count=3525)
    text = prv.compose(STEP, 3525).epsilon(1e-5).report()
    assert accountant.epsilon(1e-5).report() == text
    assert prv.PrivacyFilter(accountant, 2.0, 1e-5).spent().report() == text
    found = prv.calibrate(STEP, 3525, epsilon=2, delta=1e-5)
    assert found.bounds.report() == found.report()
    for noise in (1.1, 1.2, 1.3, 1.4):  # enough for the accountant to keep its handles
        accountant.step(noise_multiplier=noise, sampling_probability=0.01)
    assert accountant.epsilon(1e-5).report() == accountant.curve().report(delta=1e-5)


def test_sweeps_report_a_line_for_each_setting():
    plan = prv.dpsgd_schedule(dataset_size=60_000, batch_size=256, epochs=[10, 15])
    found = plan.epsilon(noise_multiplier=1.1, delta=1e-5)
    first, second = found.report().splitlines()
    steps = prv.PoissonSubsampledGaussian(1.1, 256 / 60_000)
    alone = prv.compose(steps, 3525).report(delta=1e-5)
    training = "The training: 60,000 records, 15 epochs, batches of 256 records on average. "
    assert second == alone.replace("Computed", f"{training}Computed")
    assert plan.report(1.1, 1e-5) == found.report()
    assert "2,350 times" in first
    assert pickle.loads(pickle.dumps(found)).report() == found.report()
    scalar = prv.dpsgd_delta(1.1, 0.01, 100, 1.0, neighbors="remove")
    assert scalar.report().startswith("At epsilon = 1.0, delta is at most ")
    assert "one record removed" in scalar.report()


def test_calibrations_of_sweeps_report_a_line_for_each_setting():
    found = prv.dpsgd_noise_multiplier(0.01, 50, [1.0, 2.0], delta=1e-5, neighbors="remove")
    lines = found.report().splitlines()
    for line, target, noise, upper in zip(lines, (1, 2), found.value, found.upper, strict=True):
        claimed = re.match("At delta = 1e-05, epsilon is at most ([0-9.]+) ", line)
        assert upper <= float(claimed[1]) <= target
        assert f"50 times Gaussian noise with noise multiplier {noise.item()!r}" in line
        assert "one record removed" in line
    plan = prv.dpsgd_schedule(1000, 100, 2)
    assert "1,000 records, 2 epochs" in plan.noise_multiplier(1.0, 1e-5).report()
    most = prv.dpsgd_steps(2.0, 0.01, advantage=0.2)
    assert most.report().startswith("The advantage of a membership test is at most 0.")
    assert f"{most.value:,} times" in most.report()


def test_trainings_are_told_as_they_were_drawn():
    opacus = prv.dpsgd_schedule(60_000, 256, 0.5, loader="opacus", drop_last=True)
    text = opacus.report(1.1, 1e-5)
    assert (
        "60,000 records, 0.5 epochs, batches of 256.4 records on average (batch size 256), drawn"
        in text
    )
    assert "Opacus makes of a PyTorch loader that leaves out the last, smaller batch." in text
    few = prv.dpsgd_schedule(1000, 256, 15, loader="opacus", drop_last=True)  # three batches
    assert "batches of 333.3 records on average (batch size 256)" in few.report(1.1, 1e-5)
    allocated = prv.dpsgd_schedule(1000, 300, 2, sampler="random-allocation")  # four of them
    text = allocated.report(5.0, 1e-5)
    assert "batches of 250.0 records on average (batch size 300)." in text
    fixed = prv.dpsgd_schedule(1000, 50, 1, accumulation_steps=2, sampler="fixed-size")
    text = fixed.report(3.0, 1e-5, neighbors="replace-one")
    assert "1,000 records, 1 epoch, batches of 50 records, 2 of which make a step." in text
    assert "on a sample of fixed size (0.1 of the records, drawn without replacement)" in text


def test_a_delta_that_allows_publishing_a_record_is_told():
    plan = prv.dpsgd_schedule(1024, 64, 1)
    told = "batches of 64 records on average. This delta is not below 1 over the number of records"
    assert told in plan.report(1.1, 1 / 1024)
    assert "not below" not in plan.report(1.1, math.nextafter(1 / 1024, 0.0))
    first, second = plan.epsilon(1.1, [1e-5, 0.1]).report().splitlines()
    assert "not below" not in first
    assert told in second
    assert told in plan.noise_multiplier(1.0, 1e-3).report()
    assert "not below" not in plan.delta(1.1, 1.0).report()  # which is not chosen


def test_mechanisms_are_told_in_words():
    gradient, count = prv.Gaussian(1.5), prv.NoisyCount(10.0, centred=False)
    told = {
        prv.PoissonSubsampled([gradient, (count, 3)], 0.25): "Gaussian noise with noise multiplier "
        "1.5 and 3 times a noisy count with deviation 10.0 (each record adds 1 or 0), all on a "
        "Poisson sample (each record with probability 0.25, independently of all others)",
        prv.RandomAllocation(gradient, 1000): "Gaussian noise with noise multiplier 1.5 on each of "
        "1,000 batches (each record in one of them, drawn independently of all others)",
        prv.RandomAllocation(gradient, 10, 2): "(each record in 2 of them,",
        prv.BallsInBins(gradient, 10, 2): "each of 10 batches in each of 2 epochs (each record in "
        "one of the batches, drawn once for all epochs, independently of all others)",
        prv.Laplace(2.0): "Laplace noise of scale 2.0 on a query of sensitivity 1.0",
        prv.DiscreteGaussian(2.0, 3): "discrete Gaussian noise of scale 2.0 on a query of sensi",
        prv.PureDP(0.5): "any mechanism that is 0.5-DP",
        prv.RandomizedResponse(0.75): repr(prv.RandomizedResponse(0.75)),
    }
    for mechanism, words in told.items():
        assert words in steps_in_words([(mechanism, 7)])
        assert steps_in_words([(mechanism, 7)]).startswith("7 times ")


def test_what_never_runs_is_not_told():
    run = {"noise_multiplier": 2.0, "sampling_probability": 1 / 235, "delta": 1e-5}
    (first, rest) = (
        prv.dpsgd_epsilon(**run, steps=steps, sampler="random-allocation").report()
        for steps in (1, 236)
    )
    one = "Gaussian noise with noise multiplier 2.0 on one batch of all records on a Poisson sample"
    assert f"Accounted for: once {one} (each record with probability 0.0042" in first
    assert "235" not in first
    assert "once Gaussian noise with noise multiplier 2.0 on each of 235 batches" in rest
    nothing = prv.compose(prv.Gaussian(1.0), 0).epsilon(1e-5).report()
    assert "Accounted for: no mechanism." in nothing


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            prv.GroupPoissonSubsampledGaussian(4.0, 0.5, 3),
            "once Gaussian noise with noise multiplier 4.0 on a Poisson sample",
        ),
        (
            prv.GroupSubsampledWithoutReplacementGaussian(4.0, 5000, 7, 3),
            "once Gaussian noise with noise multiplier 4.0 on a sample of fixed size (7 of 5,000 ",
        ),
    ],
)
def test_groups_are_not_one_record(step, words):
    told = prv.compose(step).report(delta=1e-5)
    assert "data sets with a group of 3 records added or removed" in told
    assert words in told


def test_as_many_digits_as_asked():
    bounds = prv.compose(STEP, 3525).epsilon(1e-5)
    for digits in (1, 3, 7, 17):
        low, high = re.search(r"in \[(\S+), (\S+)\]", bounds.report(digits)).groups()
        assert float(low) <= bounds.lower <= bounds.upper <= float(high)
        assert len(high.replace(".", "")) <= digits
        assert bounds.report(digits) == prv.compose(STEP, 3525).report(delta=1e-5, digits=digits)
    with pytest.raises(ValueError, match=r"digits must be in \[1, 17\], got 0"):
        bounds.report(0)
    with pytest.raises(ValueError, match="digits must be an integer"):
        bounds.report(2.5)


def test_what_is_not_certified_is_not_called_so():
    curve = prv.compose(STEP, 100, discretization="mean-matching")
    text = curve.report(delta=1e-5)
    assert "certified" not in text
    assert "Theorem 5.5" in text


def test_tables():
    pd = pytest.importorskip("pandas")
    frame = prv.compose(STEP, 100).epsilon([1e-6, 1e-5]).to_dataframe()
    assert list(frame) == ["lower", "estimate", "upper"]
    assert len(frame) == 2
    assert len(prv.compose(STEP, 100).epsilon(1e-5).to_dataframe()) == 1
    explained = prv.explain(CURVE, 1e-5)
    frame = explained.to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert frame["alone_upper"].tolist() == [step.alone.upper for step in explained.steps]
    assert frame["count"].tolist() == [step.count for step in explained.steps]
