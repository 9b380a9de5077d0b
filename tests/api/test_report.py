"""The sentences for a paper: every number in them is on the safe side, and nothing is left out."""

import re

import pytest

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(1.1, 256 / 60_000)
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
    for part in (repr(STEP), "3,525 times", "once", "one record removed", prv.__version__):
        assert part in text
    assert text.startswith(f"At {given} = {value!r}, {wanted} is at most")


def test_what_no_data_sets_reach_is_not_called_exact():
    truncated = prv.TruncatedPoissonSubsampledGaussian(1.0, 0.1, 100, 12)
    assert "value for the worst data sets" in prv.compose(truncated, 10).report(delta=1e-5)


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
