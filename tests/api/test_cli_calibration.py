"""The command line's noise and steps: those of the library, and a status if there are none."""

import json
import re
from fractions import Fraction

import pytest

import prvcore as prv
from prvcore import _cli as cli
from tests.support.command_line import printed

TARGET = ["--epsilon", "2", "--delta", "1e-5"]


def test_noise_is_the_librarys_calibration(capsys):
    arguments = ["noise", *TARGET, "--sampling-probability", "0.01", "--steps", "1000", "--json"]
    answer = json.loads(printed(capsys, *arguments))
    assert answer["bounds"]["upper"] <= 2 < answer["next_bounds"]["upper"]
    assert (answer["parameter"], answer["is_factor"]) == ("noise_multiplier", False)
    step = prv.PoissonSubsampledGaussian(answer["value"], 0.01)
    assert prv.eps_from_delta(step, 1e-5, counts=1000).lower <= 2


def test_the_noise_is_also_told_with_few_digits_and_rounded_up(capsys):
    first = printed(capsys, "noise", *TARGET, "--sampling-probability", "0.01", "--steps", "1000")
    exact, short = re.search(r": (\S+) \(rounded up: (\S+)\)$", first.splitlines()[0]).groups()
    assert len(short) <= 6 < len(exact)
    assert Fraction(exact) <= Fraction(short) <= Fraction(exact) + Fraction(1, 1000)


def test_the_noise_of_a_schedule_is_a_factor_and_says_so(capsys, tmp_path):
    schedule = tmp_path / "one.json"
    step = {"type": "PoissonSubsampledGaussian", "noise_multiplier": 2.0}
    schedule.write_text(json.dumps({"steps": [{**step, "sampling_probability": 0.01}]}))
    answer = json.loads(printed(capsys, "noise", *TARGET, "--schedule", str(schedule), "--json"))
    assert (answer["parameter"], answer["is_factor"]) == ("noise_multiplier", True)
    assert answer["assumed"]["steps"][0]["noise_multiplier"] == answer["value"] * 2.0


@pytest.mark.slow
def test_no_step_and_any_number_of_them(capsys):
    target = ["steps", "--epsilon", "1", "--delta", "1e-5", "--noise-multiplier"]
    assert cli.main([*target, "0.1", "--sampling-probability", "0.5"]) == 3
    assert ": 0\n" in capsys.readouterr().out
    assert "any number" in printed(capsys, *target, "1", "--sampling-probability", "0")


@pytest.mark.slow
def test_steps_are_the_most(capsys):
    arguments = ["steps", *TARGET, "--noise-multiplier", "1", "--sampling-probability", "0.01"]
    answer = json.loads(printed(capsys, *arguments, "--json"))
    assert answer["next_value"] == answer["value"] + 1
    assert answer["bounds"]["upper"] <= 2 < answer["next_bounds"]["upper"]
    out = printed(capsys, *arguments)
    assert f": {answer['value']}" in out.splitlines()[0]


def test_a_target_that_nothing_meets_has_a_status_of_its_own(capsys, tmp_path):
    schedule = tmp_path / "leak.json"
    schedule.write_text(
        json.dumps(
            {
                "steps": [
                    {"type": "ApproximateDP", "epsilon": 1, "delta": 0.1},
                    {"type": "Gaussian", "noise_multiplier": 1},
                ]
            }
        )
    )
    with pytest.raises(SystemExit) as stop:
        cli.main(["noise", *TARGET, "--schedule", str(schedule)])
    assert stop.value.code == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "cannot be met" in err


@pytest.mark.parametrize("steps", [353, 470])  # 353: one epoch of 235, and part of another
@pytest.mark.parametrize("begin", [[], ["--noise-multiplier", "2"]])
def test_the_noise_of_redrawn_batches_is_that_of_the_library(capsys, steps, begin):
    run = ["--sampling-probability", "1/235", "--steps", str(steps)]
    run += ["--sampler", "random-allocation", "--epsilon", "1", "--delta", "1e-5", *begin]
    found = json.loads(printed(capsys, "noise", *run, "--json"))
    swept = prv.dpsgd_noise_multiplier(
        1 / 235, steps, epsilon=1.0, delta=1e-5, sampler="random-allocation"
    )
    assert found["is_factor"] is False
    assert (found["value"], found["next_value"]) == (swept.value, swept.next_value)
    for bounds, lower, upper in (
        (found["bounds"], swept.lower, swept.upper),
        (found["next_bounds"], swept.next_lower, swept.next_upper),
    ):
        assert (bounds["lower"], bounds["upper"]) == (lower, upper)
