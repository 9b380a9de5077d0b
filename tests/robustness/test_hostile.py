"""Random nonsense: an error of a known kind, or bounds in order; no crash, warning or traceback."""

import contextlib
import io
import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prvcore as prv
from prvcore import _cli as cli
from prvcore.files.schedule import read_schedule

pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")

PROFILE = settings(max_examples=150, derandomize=True)
CORNERS = [
    *(0, -0.0, 1, -1, 2, 10, 1e-3, 0.5, 0.99, 1 - 1e-16, 5e-324, 1e-310, 1e300, 1.7e308),
    *(math.inf, -math.inf, math.nan, 2**53, 2**53 + 1, 2**63, 10**400, True, None, "1", b"1", 1j),
]
NUMBERS = st.one_of(st.sampled_from(CORNERS), st.floats(), st.integers(), st.floats(0.01, 3.0))
VALUES = st.one_of(NUMBERS, st.lists(NUMBERS, max_size=4), st.floats(0.01, 3.0))
COUNTS = st.one_of(st.integers(0, 100), NUMBERS)
# functions of mechanisms are in test_own_mechanisms.py
KINDS = {
    prv.Gaussian: 1,
    prv.Laplace: 2,
    prv.PureDP: 1,
    prv.ApproximateDP: 2,
    prv.BoundedRange: 1,
    prv.RandomizedResponse: 2,
    prv.PoissonSubsampledGaussian: 2,
    prv.TruncatedPoissonSubsampledGaussian: 4,
    prv.GroupPoissonSubsampledGaussian: 3,
    prv.GroupSubsampledWithoutReplacementGaussian: 4,
    prv.MixtureOfGaussians: 3,
    prv.DiscreteGaussian: 2,
    prv.DiscreteLaplace: 2,
    prv.FromTable: 3,
    prv.NoisyCount: 2,
    prv.BallsInBins: 3,
    prv.RandomAllocation: 2,
}
QUESTIONS = ["epsilon", "delta", "power", "trade_off", "error_budget"]


@pytest.fixture(autouse=True)
def little_memory(memory_limit):
    prv.set_memory_limit(2**22)


def in_order(bounds):
    lower, estimate, upper = (np.asarray(part) for part in bounds)
    return np.all((lower >= 0) & (lower <= estimate) & (estimate <= upper))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@PROFILE
@given(data=st.data())
def test_mechanisms(kind, data):
    values = data.draw(st.tuples(*[VALUES] * KINDS[kind]))
    with contextlib.suppress(TypeError, ValueError):
        mechanism = kind(*values)
        if data.draw(st.booleans()):
            sampling = data.draw(
                st.sampled_from([prv.PoissonSubsampled, prv.SubsampledWithoutReplacement])
            )
            mechanism = sampling(mechanism, data.draw(NUMBERS))
        curve = prv.compose(mechanism, data.draw(COUNTS), neighbors=data.draw(NEIGHBORS))
        assert in_order(curve.epsilon(data.draw(VALUES)))
        assert in_order(curve.delta(data.draw(VALUES)))


NEIGHBORS = st.sampled_from(["add", "remove", "add-or-remove", "replace-one", "no", None])


@pytest.mark.slow
@PROFILE
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "neighbors": NEIGHBORS,
            "engine": st.sampled_from(["auto", "convolution", 3]),
            "discretization": st.sampled_from(["bracketing", "mean-matching", ""]),
            "eps_error": NUMBERS,
            "mesh_size": NUMBERS,
            "delta_error": NUMBERS,
        },
    ),
    st.sampled_from(QUESTIONS),
    VALUES,
)
def test_options_and_questions(options, question, point):
    steps = [(prv.PoissonSubsampledGaussian(1.0, 0.01), 20), (prv.Laplace(10.0), 2)]
    with contextlib.suppress(TypeError, ValueError):
        curve = prv.compose(steps, **options)
        if question == "error_budget":
            curve.error_budget(delta=point)
        else:
            assert in_order(getattr(curve, question)(point))


TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "count", "mechanism", "noise_multiplier", "steps", "x"]),
            st.one_of(inner, st.sampled_from(["Gaussian", "PoissonSubsampled", "FromTable"])),
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@PROFILE
@given(st.one_of(TREES, st.lists(TREES, max_size=3).map(lambda steps: {"steps": steps})))
def test_schedules(tree):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.json"
        path.write_text(json.dumps(tree))
        with contextlib.suppress(TypeError, ValueError):
            prv.compose(read_schedule(path))


LONG = "x" * 10**6
LISTS = '{"steps": [{"type": "Gaussian", "noise_multiplier": ' + "[" * 900 + "]" * 900 + "}]}"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"steps": [{"type": LONG}]}),
        json.dumps({"steps": [{"type": [[1]] * 10**5}]}),
        json.dumps({"steps": [{"type": "Gaussian", "noise_multiplier": LONG}]}),
        json.dumps({"steps": [{"type": "Gaussian", "noise_multiplier": [1] * 10**5}]}),
        json.dumps({"steps": [{"type": "Gaussian", "noise_multiplier": 1.0, LONG: 1}]}),
        json.dumps({"steps": [{"type": "Gaussian", "noise_multiplier": 1.0, "count": LONG}]}),
        f'{{"steps": [{{"type": "Gaussian", "noise_multiplier": {"9" * 4000}}}]}}',
        '{"steps": [{"type": "Gaussian", "noise_multiplier": 1.0, "count": 1e308}]}',
        "{" + "".join(f'"{i}": 1, ' for i in range(10**5)) + '"x": 1, "x": 2}',  # in linear time
        LISTS,
        "[" * 10**6,
    ],
    ids=range(11),
)
def test_schedules_are_refused_in_few_words(text):
    with pytest.raises((TypeError, ValueError)) as refusal:
        read_schedule(io.BytesIO(text.encode()))
    assert len(str(refusal.value)) < 700


WORDS = st.one_of(
    st.sampled_from(
        [
            *("epsilon", "delta", "noise", "steps", "curve", "sweep", "explain"),
            *("risk", "report", "shuffled", "--prior", "--digits", "--batches", "--epochs"),
            *("--noise-multiplier", "--sampling-probability", "--steps", "--delta", "--epsilon"),
            *("--eps-error", "--neighbors", "--memory-limit", "--schedule", "--json", "--help"),
            *("1", "0.5", "1e-5", "100", "nan", "inf", "-1", "1e400", "9" * 400, "", "--", "\x00"),
        ]
    ),
    st.text(max_size=5),
)


@pytest.mark.slow
@PROFILE
@given(st.lists(WORDS, max_size=9))
def test_the_command_line(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(words)
        except SystemExit as left:
            status = left.code
    assert status in (0, 1, 2, 3)
    assert "Traceback" not in err.getvalue()
