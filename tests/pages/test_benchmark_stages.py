"""The benchmarks of stages run, and what they time gives the answer of the query."""

import importlib
import sys

import pytest

import prvcore as prv
from tests.support.checkout import ROOT

if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are part of the checkout", allow_module_level=True)


@pytest.fixture(scope="module")
def benchmarks():
    sys.path.append(str(ROOT))
    try:
        return importlib.import_module("benchmarks.bench_stages")
    finally:
        sys.path.remove(str(ROOT))


@pytest.mark.parametrize("engine", ["convolution", "spectrum"])
def test_every_stage_runs_and_the_last_one_tells_the_upper_bound(benchmarks, engine):
    arguments = (1_000, engine, 1e-2)
    stage = benchmarks.Stage()
    stage.setup(*arguments)
    names = [name for name in dir(stage) if name.startswith(("time_", "track_"))]
    assert len(names) == 9
    values = {name: getattr(stage, name)(*arguments) for name in names}
    assert values["track_cells"] > 100
    assert values["track_points_or_frequencies"] > 10
    step = prv.PoissonSubsampledGaussian(0.8, 1e-3)
    curve = prv.compose(step, 1_000, neighbors="remove", eps_error=1e-2, engine=engine)
    upper = curve.epsilon(1e-7).upper
    assert stage.stages.evaluate().upper == pytest.approx(upper, abs=1e-3)


def test_transforms_run(benchmarks):
    transform = benchmarks.Transform()
    transform.setup(768)
    transform.time_forward(768)
    transform.time_inverse(768)
