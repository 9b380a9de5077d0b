import json
import math
import subprocess
import sys
from fractions import Fraction

import pytest

import prvcore as prv
from prvcore import cli

SETTING = ["--noise-multiplier", "0.8", "--sampling-probability", "0.001", "--steps", "1000"]
EPSILON = ["epsilon", *SETTING, "--delta", "1e-7"]
DELTA = ["delta", *SETTING, "--epsilon", "0.7"]


def printed(capsys, *arguments):
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def numbers(out):
    """Return what is printed after lower, estimate and upper."""
    lines = dict(line.split() for line in out.splitlines()[1:4])
    assert list(lines) == ["lower", "estimate", "upper"]
    return lines


def curve(**options):
    return prv.compose(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, **options)


@pytest.mark.parametrize(
    ("arguments", "bounds"),
    [(EPSILON, curve().epsilon(1e-7)), (DELTA, curve().delta(0.7))],
    ids=["epsilon", "delta"],
)
def test_numbers_are_those_of_the_library_rounded_outward(capsys, arguments, bounds):
    out = printed(capsys, *arguments)
    shown = {name: Fraction(number) for name, number in numbers(out).items()}
    assert shown["lower"] <= Fraction(bounds.lower)
    assert shown["upper"] >= Fraction(bounds.upper)
    assert shown["lower"] <= shown["estimate"] <= shown["upper"]
    for name, exact in bounds._asdict().items():
        assert float(shown[name]) == pytest.approx(exact, rel=2e-9)
    assert repr(curve()) in out


@pytest.mark.parametrize("arguments", [EPSILON, DELTA], ids=["epsilon", "delta"])
def test_json_has_the_exact_numbers(capsys, arguments):
    answer = json.loads(printed(capsys, *arguments, "--json", "--neighbors", "remove"))
    bounds = getattr(curve(neighbors="remove"), arguments[0])(
        1e-7 if "--delta" in arguments else 0.7
    )
    assert prv.Bounds(answer["lower"], answer["estimate"], answer["upper"]) == bounds
    assert answer["query"] == arguments[0]
    assert answer["assumed"] == {
        "mechanism": "PoissonSubsampledGaussian",
        "noise_multiplier": 0.8,
        "sampling_probability": 0.001,
        "steps": 1000,
        "neighbors": "remove",
        "discretization": "bracketing",
        "eps_error": None,
    }


def test_infinite_numbers(capsys):
    arguments = ["epsilon", "--noise-multiplier", "0", "--steps", "1", "--delta", "0.1"]
    assert set(numbers(printed(capsys, *arguments)).values()) == {"inf"}
    out = printed(capsys, *arguments, "--json")
    answer = json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} in JSON"))
    assert answer["upper"] == "inf"
    assert math.isinf(float(answer["upper"]))


def test_sampling_probability_defaults_to_one(capsys):
    arguments = ["epsilon", "--noise-multiplier", "30", "--steps", "100", "--delta", "1e-5"]
    default = json.loads(printed(capsys, *arguments, "--json"))
    one = json.loads(printed(capsys, *arguments, "--json", "--sampling-probability", "1"))
    assert default == one
    assert default["assumed"]["sampling_probability"] == 1.0


def test_eps_error_is_passed_on(capsys):
    answer = json.loads(printed(capsys, *EPSILON, "--json", "--eps-error", "0.05"))
    bounds = curve(eps_error=0.05).epsilon(1e-7)
    assert (answer["lower"], answer["upper"]) == (bounds.lower, bounds.upper)
    assert answer["assumed"]["eps_error"] == 0.05


@pytest.mark.parametrize(
    ("arguments", "option", "value"),
    [
        (["--noise-multiplier", "-1"], "--noise-multiplier", "got -1.0"),
        (["--noise-multiplier", "nan"], "--noise-multiplier", "got nan"),
        (["--noise-multiplier", "much"], "--noise-multiplier", "'much'"),
        (["--sampling-probability", "1.5"], "--sampling-probability", "got 1.5"),
        (["--steps", "-1"], "--steps", "got -1"),
        (["--steps", "1.5"], "--steps", "'1.5'"),
        (["--delta", "2"], "--delta", "got 2.0"),
        (["--delta", "nan"], "--delta", "got nan"),
        (["--eps-error", "0"], "--eps-error", "got 0.0"),
        (["--neighbors", "both"], "--neighbors", "'both'"),
        (["--stepz", "1"], "--stepz", ""),
    ],
)
def test_bad_options_are_told_in_one_line(capsys, arguments, option, value):
    with pytest.raises(SystemExit) as stop:
        cli.main([*EPSILON, *arguments])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("prvcore")
    assert option in err
    assert value in err


@pytest.mark.parametrize("missing", ["--noise-multiplier", "--steps", "--delta"])
def test_missing_options_are_told_in_one_line(capsys, missing):
    arguments = EPSILON.copy()
    position = arguments.index(missing)
    del arguments[position : position + 2]
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert missing in err


def test_wider_bounds_are_told_on_the_standard_error(capsys, memory_limit):
    prv.set_memory_limit(2**20)
    assert cli.main([*EPSILON, "--eps-error", "1e-7"]) == 0
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    assert "warning: the memory limit of 1048576 bytes" in err
    assert numbers(out)


def test_as_a_module_and_as_a_program(tmp_path):
    outputs = [
        subprocess.run(
            [*program, *EPSILON, "--json"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        ).stdout
        for program in (
            [sys.executable, "-m", "prvcore"],
            [sys.executable, "-c", "import sys, prvcore.cli; sys.exit(prvcore.cli.main())"],
        )
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["lower"] == curve().epsilon(1e-7).lower


def test_version_and_help(capsys):
    for arguments in (["--version"], ["--help"], ["epsilon", "--help"], ["delta", "--help"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 0
        assert "prvcore" in capsys.readouterr().out
