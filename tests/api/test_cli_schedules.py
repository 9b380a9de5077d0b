"""Schedules on the command line: files of steps, whole and nested."""

import json

import pytest

import prvcore as prv
from prvcore import _cli as cli
from tests.support.command_line import printed

TOML = """
[[steps]]
type = "PoissonSubsampledGaussian"
noise_multiplier = 0.8
sampling_probability = 0.001
count = 1000

[[steps]]
type = "PoissonSubsampled"
sampling_probability = 0.5
mechanism = {type = "Laplace", scale = 20}
"""


def test_a_schedule_is_composed(capsys, tmp_path):
    path = tmp_path / "schedule.toml"
    path.write_text(TOML)
    answer = json.loads(
        printed(capsys, "epsilon", "--schedule", str(path), "--delta", "1e-7", "--json")
    )
    steps = [
        (prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000),
        prv.PoissonSubsampled(prv.Laplace(scale=20), 0.5),
    ]
    assert answer["upper"] == prv.compose(steps).epsilon(1e-7).upper


@pytest.mark.slow
def test_explain_says_what_dominates(capsys, tmp_path):
    path = tmp_path / "schedule.toml"
    path.write_text(TOML)
    arguments = ["explain", "--schedule", str(path), "--delta", "1e-7"]
    assert "Most of the loss is that of PoissonSubsampledGaussian" in printed(capsys, *arguments)
    answer = json.loads(printed(capsys, *arguments, "--json"))
    first, second = answer["steps"]
    assert first["without"]["estimate"] < second["without"]["estimate"]
    alone = prv.eps_from_delta(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1e-7, counts=1000)
    assert first["alone"]["upper"] == second["without"]["upper"] == alone.upper


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--schedule", "no-such-file.toml"], "no-such-file.toml"),
        (["--schedule", "schedule.yaml"], "ends in .toml or .json"),
        (["--schedule", "schedule.toml", "--steps", "3"], "--steps: not allowed with --schedule"),
        (["--schedule", "s.toml", "--loader", "opacus"], "--loader: not allowed with --schedule"),
        (["--schedule", "s.toml", "--drop-last"], "--drop-last: not allowed with --schedule"),
    ],
)
def test_bad_schedules_are_told_in_one_line(capsys, arguments, told):
    with pytest.raises(SystemExit) as stop:
        cli.main(["epsilon", "--delta", "1e-7", *arguments])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert told in err


@pytest.mark.parametrize("depth", [65, 400, 20_000])
def test_a_schedule_that_is_nested_too_deeply_prints_no_answer(capsys, tmp_path, depth):
    noise = '{"type": "Gaussian", "noise_multiplier": 1.0}'
    around = '{"type": "PoissonSubsampled", "sampling_probability": 0.9, "mechanism": '
    path = tmp_path / "deep.json"
    path.write_text('{"steps": [' + around * (depth - 1) + noise + "}" * (depth - 1) + "]}")
    with pytest.raises(SystemExit) as stop:
        cli.main(["epsilon", "--schedule", str(path), "--delta", "1e-5"])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "nested" in err
    assert len(err.splitlines()) == 1


def test_a_schedule_may_be_nested(capsys, tmp_path):
    noise = '{"type": "Gaussian", "noise_multiplier": 1.0}'
    around = '{"type": "PoissonSubsampled", "sampling_probability": 0.99, "mechanism": '
    path = tmp_path / "deep.json"
    path.write_text('{"steps": [' + around * 63 + noise + "}" * 63 + "]}")
    answer = json.loads(
        printed(capsys, "epsilon", "--schedule", str(path), "--delta", "1e-5", "--json")
    )
    whole = prv.eps_from_delta(prv.PoissonSubsampledGaussian(1.0, 0.99**63), 1e-5)
    assert max(answer["lower"], whole.lower) <= min(answer["upper"], whole.upper)
