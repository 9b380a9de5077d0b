"""The oracle of `soundness` is right where the truth is known, and refutes no bound of prvcore."""

import math
from fractions import Fraction

import numpy as np
import pytest
from soundness import oracle
from soundness.batches import truncation
from soundness.judge import judge
from soundness.laws import LONG, TooSlowError
from soundness.settings import ResponseCurve, Setting, draw
from test_truth import ROWS, mechanism

import prvcore as prv

pytestmark = [
    pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning"),
    pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="long double has no more than 53 bits"),
]


@pytest.fixture(autouse=True)
def little_memory(memory_limit):
    prv.set_memory_limit(2**25)


@pytest.mark.parametrize("direction", ["add", "remove", "replace-one"])
@pytest.mark.parametrize("count", [1, 2])
def test_ways_of_the_oracle_agree(direction, count):
    cut = prv.TruncatedPoissonSubsampledGaussian(2.0, 0.3, 10, 4)
    steps = [cut]
    if direction == "replace-one":
        bases = (prv.Gaussian(4.0), prv.BoundedRange(0.5))
        steps = [prv.SubsampledWithoutReplacement(base, 0.3) for base in bases]
    for step in steps:
        asked = oracle.Oracle([(step, count)], direction)
        for epsilon in (0.05, 0.15):
            a, b = (asked.delta(epsilon, way) for way in ("nested integrals", "contour"))
            assert abs(a.value / b.value - 1) <= a.error + b.error


def test_the_binomial_sums_of_truncation_are_exact():
    for n, p, most in ((1, 0.3, 1), (9, 0.25, 3), (40, 0.9, 38), (12, 0.5, 12), (7, 1.0, 3)):
        q, others = Fraction(p), n - 1
        masses = [math.comb(others, k) * q**k * (1 - q) ** (others - k) for k in range(others + 1)]
        above = sum(masses[most:])
        kept = sum(q * most / (k + 1) * masses[k] for k in range(most, others + 1))
        step = prv.TruncatedPoissonSubsampledGaussian(1.0, p, n, most)
        exact = 1 - above, above, kept / above if above else 0
        for found, truth in zip(truncation(step), exact, strict=True):
            assert abs(found - LONG(truth.numerator) / LONG(truth.denominator)) <= 1e-18


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0])
def test_replaced_records_of_a_poisson_sample_are_what_a_fine_sum_over_outcomes_says(epsilon):
    noise, p = 2.0, 0.25
    z, step = np.linspace(-20.0, 20.0, 2001, retstep=True)
    first, second = (
        (1 - p) * np.exp(-0.5 * (z / noise) ** 2) + p * np.exp(-0.5 * ((z - x) / noise) ** 2)
        for x in (1.0, -1.0)
    )
    first, loss = step * first / (noise * math.sqrt(2 * math.pi)), np.log(first / second)
    for masses, losses, count in (
        (first, loss, 1),
        (np.outer(first, first), np.add.outer(loss, loss), 2),
    ):
        found = -(masses * np.expm1(np.minimum(epsilon - losses, 0.0))).sum()
        truth = oracle.delta(
            [(prv.PoissonSubsampledGaussian(noise, p), count)], "replace-one", epsilon
        )
        assert float(truth.value) == pytest.approx(found, rel=2e-3)


def test_a_choice_is_the_mixture_of_its_parts():
    noise, p, n, most = 2.0, 0.3, 10, 4
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, n, most)
    never, cut, kept = truncation(step)
    parts = (
        (never, prv.PoissonSubsampledGaussian(noise, p)),
        (cut, prv.SubsampledWithoutReplacement(prv.Gaussian(noise), float(kept))),
    )
    for epsilon in (0.1, 0.8):
        one = oracle.delta([(step, 1)], "replace-one", epsilon)
        both = [(w, oracle.delta([(part, 1)], "replace-one", epsilon)) for w, part in parts]
        value = sum(w * truth.value for w, truth in both)
        error = one.error + max(truth.error for _, truth in both) + 1e-13  # kept is rounded
        assert abs(one.value / value - 1) <= error


def test_every_way_of_the_oracle_finds_the_truth():
    tried = dict.fromkeys(("contour", "nested integrals", "sum", "uniform sums"), 0)
    for row in ROWS:
        steps = [(mechanism(step["mechanism"]), step["count"]) for step in row["steps"]]
        direction = "remove" if row["direction"] == "both" else row["direction"]
        asked, truth = oracle.Oracle(steps, direction), float(row["delta"])
        slope = abs(float(row.get("dlogdelta_deps") or 0.0))
        for way in asked.ways():
            try:
                found = asked.delta(float(row["eps"]), way)
            except TooSlowError:
                continue
            tried[way] += 1
            # parameters and epsilon are decimals in the table, doubles here
            slack = found.error + 1e-12 + slope * 1e-15 * max(1.0, float(row["eps"]))
            assert abs(float(found.value) - truth) <= slack * truth, (row["id"], way)
    assert min(tried.values()) > 0


@pytest.mark.parametrize("number", range(30))
def test_random_questions(number):
    verdict = judge(draw(2024, number), patience=0.4)
    assert verdict.outcome != "violated", verdict.violations


# ---- What was wrong once ---------------------------------------------------------------------

NEARLY_ALL = [1.0 - 1e-12, 1.0 - 1e-9, 1.0 - 1e-5, 0.99]


@pytest.mark.parametrize("delta", [1e-3, 1e-30])
@pytest.mark.parametrize("p", NEARLY_ALL)
@pytest.mark.parametrize(
    "base",
    [prv.PureDP(20.0), prv.Laplace(0.05), prv.Gaussian(0.2), prv.DiscreteLaplace(0.05)],
    ids=str,
)
def test_samples_of_nearly_everything(base, p, delta):
    # log(1 - p + p e^-y) cancels where p is near 1 and y is large
    for direction in ("add", "remove"):
        setting = Setting(
            "", ((prv.PoissonSubsampled(base, p), 1),), delta, {"neighbors": direction}
        )
        verdict = judge(setting, patience=5.0)
        assert verdict.outcome == "held", verdict.violations


def test_the_greatest_loss_of_nearly_everything():
    # of 'add': -log(1 - p + p e^-20)
    p = 1.0 - 1e-12
    step = prv.PoissonSubsampled(prv.PureDP(20.0), p)
    exact = -np.log(1 - LONG(p) + LONG(p) * np.exp(LONG(-20.0)))
    lower, _, upper = prv.compose(step, 1, neighbors="add").epsilon(0.0)
    assert lower <= exact <= upper
    assert upper - lower <= 1e-12


@pytest.mark.parametrize("scale", [0.7538651346396048, 3.0, 7.1, 0.3])
def test_the_greatest_loss_is_not_rounded_down(scale):
    # 1 / scale is no double: epsilon(0) must contain it, and so must what follows for tiny deltas
    exact = 1 / LONG(scale)
    for step in (prv.Laplace(scale), prv.DiscreteLaplace(scale)):
        for delta in (0.0, 1e-300, 1e-90):
            lower, _, upper = prv.compose(step, 1).epsilon(delta)
            assert lower <= exact
            # delta(eps) of either is at least 1e-3 (1/scale - eps) there
            assert upper >= exact - LONG(delta) * 1000
            assert upper - lower <= 1e-10 * upper


def test_greatest_losses_that_are_doubles_are_exact():
    assert prv.compose(prv.PureDP(0.75), 1000).epsilon(0.0) == (750.0, 750.0, 750.0)
    assert prv.compose(prv.PureDP(0.1), 1).epsilon(0.0) == (0.1, 0.1, 0.1)
    lower, _, upper = prv.compose(prv.PureDP(0.1), 3).epsilon(0.0)
    assert lower <= 3 * LONG(0.1) <= upper
    assert lower < math.nextafter(upper, 0.0)


@pytest.mark.parametrize("epsilon", [50.1, 300.7, 1000.3])
@pytest.mark.parametrize("count", [10**15 + 1, 2**53 - 1])
@pytest.mark.parametrize("delta", [1e-20, 0.5])
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
def test_the_greatest_loss_of_so_many_steps_that_rounding_hides_the_answer(epsilon, count, delta):
    # all losses are the greatest but with probability below count e^-epsilon < 1e-5, so that
    # epsilon(delta) >= count epsilon + log(1 - delta / 0.99999) there
    upper = Fraction(prv.compose(prv.PureDP(epsilon), count).epsilon(delta).upper)
    assert upper >= count * Fraction(epsilon) - 1


RARE = prv.PoissonSubsampled(prv.ApproximateDP(0.45, 1e-3), 1.7179905673910752e-06)


@pytest.mark.parametrize("counts", [(1, 2), (2, 20), (1, 80)])
@pytest.mark.parametrize("mesh_size", [None, 1e-4, 2e-5])
@pytest.mark.parametrize("share", [0.3, 0.6, 1.1, 1.5])
def test_windows_for_steep_curves(counts, mesh_size, share):
    # delta falls by a factor e within 1e-6 below the greatest loss, far less than the width asked:
    # the budget for what a window leaves out came out above 1, and its shifts below 0
    noise = prv.DiscreteLaplace(12.225835074697583)
    steps = ((RARE, counts[0]), (noise, counts[1]))
    top = -math.log1p(-RARE.sampling_probability)
    at = counts[0] * top + counts[1] / noise.scale - share * top
    truth = oracle.delta(steps, "add", at)
    for engine in ("convolution", "spectrum"):
        curve = prv.compose(steps, neighbors="add", engine=engine, mesh_size=mesh_size)
        lower, _, upper = curve.delta(at)
        assert lower <= truth.high
        assert upper >= truth.low


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("eps_error", [1e-2, 4.3e-3, 1e-3])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_a_curve_of_values_is_not_extrapolated_by_their_rounding(count, eps_error, share):
    # where the width asked leads to knots some 1e-13 apart, slopes by the values are hardly known
    own = prv.FromPrivacyCurve(ResponseCurve(3.3057488124135754))
    at = share * count * own.delta.single
    truth = oracle.delta(((own, count),), "add", at)
    lower, _, upper = prv.compose(own, count, neighbors="add", eps_error=eps_error).delta(at)
    assert lower <= truth.high
    assert upper >= truth.low


@pytest.mark.parametrize("mesh_size", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-7, 1e-12, 1e-60])
def test_losses_far_smaller_than_the_mesh(mesh_size, delta):
    # a tilt for losses of 1e-6 put all weight on a rounding error one mesh above
    step = prv.PoissonSubsampled(prv.ApproximateDP(2.67, 1.2e-10), 1.5e-6)
    for count in (1, 3):
        for direction in ("add", "remove"):
            for engine in ("auto", "convolution"):
                options = {"neighbors": direction, "mesh_size": mesh_size, "engine": engine}
                verdict = judge(Setting("", ((step, count),), delta, options), patience=5.0)
                assert verdict.outcome != "violated", verdict.violations


def test_the_oracle_survives_a_moment_that_explodes_above_its_saddle():
    # rare large losses take over there
    step = prv.PoissonSubsampledGaussian(106.12568540840314, 0.006845862439728706)
    options = {"neighbors": "remove", "engine": "convolution"}
    verdict = judge(Setting("", ((step, 4),), 3.4e-191, options), patience=5.0)
    assert verdict.outcome != "violated", verdict.violations


@pytest.mark.parametrize("count", [10**12, 26826696547493, 2**50])
@pytest.mark.parametrize("share", [0.0, 0.3, 2.0, 6.0, 7.0, 60.0])
def test_rounding_greater_than_the_value(count, share):
    # a lower bound came from the product of two factors that were both negative, and was 1
    mu = 0.4
    step = prv.Gaussian(math.sqrt(count) / mu)
    truth = oracle.delta(((step, count),), "add", share) if share > 0 else None
    for engine in ("auto", "spectrum", "convolution"):
        curve = prv.compose(step, count, engine=engine, eps_error=2e-3)
        lower, _, upper = curve.delta(share)
        low, _, high = curve.epsilon(1e-9)
        if truth is not None:
            assert lower <= truth.high
            assert upper >= truth.low
        assert low <= 2.2936396491115493 <= high  # by the closed form
