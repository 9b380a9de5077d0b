"""The command line: the library's numbers rounded outwards, errors of one line, completions."""

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction

import matplotlib
import pytest
import shtab

import prvcore as prv
from prvcore import _cli as cli
from prvcore._cli import commands
from prvcore.dpsgd.samplers import steps_of_sampler

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
    assert answer["accurate"] is True
    assert answer["attained"] is True
    step = {
        "type": "PoissonSubsampledGaussian",
        "noise_multiplier": 0.8,
        "sampling_probability": 1e-3,
        "count": 1000,
    }
    assert answer["assumed"] == {
        "steps": [step],
        "neighbors": "remove",
        "discretization": "bracketing",
        "eps_error": None,
        "delta_relative_error": 1e-3,
    }


def test_infinite_numbers(capsys):
    arguments = ["epsilon", "--noise-multiplier", "0", "--sampling-probability", "1"]
    arguments += ["--steps", "1", "--delta", "0.1"]
    assert set(numbers(printed(capsys, *arguments)).values()) == {"inf"}
    out = printed(capsys, *arguments, "--json")
    answer = json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} in JSON"))
    assert answer["upper"] == "inf"
    assert math.isinf(float(answer["upper"]))


TRAINING = ["--dataset-size", "6e4", "--batch-size", "256", "--epochs", "15"]
OF_TRAINING = ["--sampling-probability", "256/60000", "--steps", "3.525e3"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["epsilon", "--noise-multiplier", "1.1", "--delta", "1e-5"],
        ["delta", "--noise-multiplier", "1.1", "--epsilon", "1.2"],
        ["noise", "--epsilon", "2", "--delta", "1e-5"],
        ["curve", "--noise-multiplier", "1.1", "--epsilons", "1", "2"],
        ["explain", "--noise-multiplier", "1.1", "--delta", "1e-5"],
        ["check", "--noise-multiplier", "1.1", "--epsilon", "1.2", "--delta", "1e-5"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_terms_of_training_are_those_of_accounting(capsys, arguments):
    assert printed(capsys, *arguments, *TRAINING) == printed(capsys, *arguments, *OF_TRAINING)


@pytest.mark.slow
def test_a_sweep_has_the_columns_and_the_picture_of_what_was_given(capsys, tmp_path, monkeypatch):
    arguments = ["sweep", "--noise-multiplier", "1.1", "1.2", "--delta", "1e-5"]
    figures = pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr(figures.Figure, "savefig", lambda figure, *_, **__: axes(figure))
    shown = []

    def axes(figure):
        shown.append((figure.axes[0].get_xlabel(), figure.axes[0].get_title()))

    tables = {}
    for of in (OF_TRAINING, [*TRAINING, "7"]):
        out = printed(capsys, *arguments, *of, "--plot", str(tmp_path / "sweep.png"))
        tables[of[0]] = list(csv.DictReader(io.StringIO(out)))
    (plain, trained) = tables.values()
    assert list(trained[0])[1:6] == [
        "dataset_size", "batch_size", "epochs", "sampling_probability", "steps"
    ]  # fmt: skip
    assert [row["epochs"] for row in trained] == ["15.0", "7.0"] * 2
    same = [{name: row[name] for name in plain[0]} for row in trained if row["epochs"] == "15.0"]
    assert same == plain
    assert [x for x, _ in shown] == ["noise multiplier", "epochs"]
    assert shown[1][1] == "delta 1e-05, dataset size 60000, batch size 256"


def test_steps_take_the_probability_of_a_training(capsys):
    arguments = ["steps", "--noise-multiplier", "1.1", "--epsilon", "2", "--delta", "1e-5"]
    training = printed(capsys, *arguments, *TRAINING[:4])
    assert training == printed(capsys, *arguments, *OF_TRAINING[:2])
    assert ": 10207\n" in training


def test_a_sweep_goes_over_terms_of_training_and_over_loaders(capsys):
    arguments = ["sweep", "--noise-multiplier", "1", "--delta", "1e-5", "--dataset-size", "1000"]
    arguments += ["--batch-size", "256", "--epochs", "5", "15", "--loader", "opacus", "--drop-last"]
    rows = json.loads(printed(capsys, *arguments, "--json"))["points"]
    assert [(row["sampling_probability"], row["steps"]) for row in rows] == [
        (1 / 3, 15),
        (1 / 3, 45),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "1"], "error: --sampling-probability is required (1 if nothing is sampled)"),
        ([], "error: --sampling-probability and --steps are required (or --dataset-size, --batch"),
        (["--dataset-size", "10"], "error: --batch-size and --epochs are required\n"),
        (["--epochs", "1", "--steps", "1"], "--steps: not allowed with --epochs"),
        (["--sampling-probability", "1/0"], "must be a number, or a quotient"),
        (["--sampling-probability", "0.1%"], "got '0.1%': write 0.001\n"),
        (["--sampling-probability", "%"], "got '%'\n"),
        (["--dataset-size", "9", "--batch-size", "10", "--epochs", "1"], "got 10 for 9\n"),
        (["--steps", "1.5"], "must be a whole number such as 1000 or 1e6, got '1.5'"),
        (["--steps", "inf"], "must be a whole number such as 1000 or 1e6, got 'inf'"),
        (["--steps", "1e999999999"], "must be a whole number"),
        (["--memory-limit", "1XB"], "must be a number of bytes"),
        ([*OF_TRAINING, "--memory-limit", "1kB"], "argument --memory-limit: eps_error = "),
        ([*OF_TRAINING, "--memory-limit", "1kB"], "larger --eps-error or raise --memory-limit\n"),
        ([*OF_TRAINING, "--drop-last"], "--loader and --drop-last need --dataset-size"),
    ],
)
def test_what_is_missing_or_misread_is_named(capsys, arguments, message):
    with pytest.raises(SystemExit) as raised:
        cli.main(["epsilon", "--noise-multiplier", "1.1", "--delta", "1e-5", *arguments])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["epsilon", "--delta", "1e-5"],
            (
                "--noise-multiplier, --sampling-probability and --steps are required "
                "(or --dataset-size, --batch-size and --epochs in place of "
                "--sampling-probability and --steps, or --schedule alone)"
            ),
        ),
        (
            ["epsilon", "--delta", "1e-5", *TRAINING[:2]],
            "--noise-multiplier, --batch-size and --epochs are required",
        ),
        (
            ["noise", "--delta", "1e-5", "--epsilon", "1", "--steps", "9"],
            "--sampling-probability is required (1 if nothing is sampled)",
        ),
        (
            ["sweep", "--delta", "1e-5", "--noise-multiplier", "1"],
            (
                "--sampling-probability and --steps are required (or --dataset-size, --batch-size "
                "and --epochs in place of --sampling-probability and --steps)"
            ),
        ),
    ],
)
def test_all_that_is_missing_is_named(capsys, arguments, message):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


@pytest.mark.slow
def test_memory_may_have_units(capsys):
    answers = {
        printed(capsys, *EPSILON, "--memory-limit", size) for size in ("1e9", "1GB", "1000MB")
    }
    assert len(answers) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "verdict", "status"), [("1.14", "holds", 0), ("1.13", "does not hold", 3)]
)
def test_claims_are_checked(capsys, epsilon, verdict, status):
    claim = [
        "check",
        "--epsilon",
        epsilon,
        "--delta",
        "1e-5",
        "--noise-multiplier",
        "1.1",
        *TRAINING,
    ]
    assert cli.main(claim) == status
    assert capsys.readouterr().out.startswith(
        f"claim: epsilon = {epsilon} at delta = 1e-05: {verdict}\n"
    )
    assert cli.main([*claim, "--json"]) == status
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict


@pytest.mark.slow
def test_a_claim_within_the_bounds_is_not_decided(capsys):
    claim = ["check", "--epsilon", "1.1354", "--delta", "1e-5", "--noise-multiplier", "1.1"]
    claim += [*TRAINING, "--delta-relative-error", "0.1"]
    assert cli.main([*claim, "--eps-error", "0.01"]) == 4
    first, hint, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(": is not decided")
    said = re.fullmatch(r"hint: the claim .* an --eps-error below (\S+) may decide it", hint)
    assert float(said[1]) <= 0.01
    assert cli.main([*claim, "--eps-error", "0.01", "--json"]) == 4
    assert hint == f"hint: {json.loads(capsys.readouterr().out)['hint']}"
    assert cli.main([*claim, "--eps-error", "1e-6", "--json"]) in {0, 3}
    assert json.loads(capsys.readouterr().out)["hint"] is None


def test_a_claim_that_no_data_sets_refute_is_told_apart(capsys, tmp_path):
    schedule = tmp_path / "choices.json"
    schedule.write_text('{"steps": [{"type": "BoundedRange", "epsilon": 0.5, "count": 20}]}')
    curve = prv.compose(prv.BoundedRange(0.5), 20)
    lower, _, upper = curve.epsilon(1e-5)
    assert not curve.attained
    claim = ["check", "--epsilon", str((lower + upper) / 2), "--delta", "1e-5"]
    assert cli.main([*claim, "--schedule", str(schedule)]) == 4
    assert "no data sets are known that reach the upper bound" in capsys.readouterr().out


@pytest.mark.slow
def test_no_step_and_any_number_of_them(capsys):
    target = ["steps", "--epsilon", "1", "--delta", "1e-5", "--noise-multiplier"]
    assert cli.main([*target, "0.1", "--sampling-probability", "0.5"]) == 3
    assert ": 0\n" in capsys.readouterr().out
    assert "any number" in printed(capsys, *target, "1", "--sampling-probability", "0")


@pytest.mark.slow
def test_what_is_printed_can_be_read_again(capsys, tmp_path, monkeypatch):
    answer = printed(capsys, *EPSILON, "--json")
    file = tmp_path / "answer.json"
    file.write_text(answer, "utf-8")
    assert (
        printed(capsys, "epsilon", "--schedule", str(file), "--delta", "1e-7", "--json") == answer
    )
    with file.open("rb") as opened:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(opened))
        assert printed(capsys, "epsilon", "--schedule", "-", "--delta", "1e-7", "--json") == answer


def test_eps_error_is_passed_on(capsys):
    answer = json.loads(printed(capsys, *EPSILON, "--json", "--eps-error", "0.05"))
    bounds = curve(eps_error=0.05).epsilon(1e-7)
    assert (answer["lower"], answer["upper"]) == (bounds.lower, bounds.upper)
    assert answer["assumed"]["eps_error"] == 0.05


@pytest.mark.parametrize(
    ("arguments", "option", "value"),
    [
        (["--noise-multiplier", "-1"], "--noise-multiplier", "got -1.0"),
        (["--noise-multiplier", "-.5"], "--noise-multiplier", "got -0.5"),
        (["--noise-multiplier", "-inf"], "--noise-multiplier", "got -inf"),
        (["--delta", "-1e-5"], "--delta", "must be in [0, 1], got -1e-05"),
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
    good = EPSILON.copy()
    if option in good:
        position = good.index(option)
        del good[position : position + 2]
    with pytest.raises(SystemExit) as stop:
        cli.main([*good, *arguments])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("prvcore")
    assert option in err
    assert value in err


@pytest.mark.parametrize(
    ("command", "unknown", "hint"),
    [
        ("epsilon", ["--sample-rate", "0.1"], "did you mean --sampling-probability?"),
        ("epsilon", ["--sigma=1.1"], "did you mean --noise-multiplier?"),
        ("epsilon", ["--neighbours", "add"], "did you mean --neighbors?"),
        ("epsilon", ["more", "--num-steps", "3"], "did you mean --steps?"),
        (
            "epsilon",
            ["--sigma=1.1", "--q", "0.1"],
            "did you mean --noise-multiplier and --sampling-probability?",
        ),
        ("steps", ["--epochs", "20"], "prvcore steps --help lists what it takes"),
        ("epsilon", ["--batch", "256"], "did you mean --batch-size?"),
        ("epsilon", ["--eps", "1"], "did you mean --eps-error?"),
        ("epsilon", ["-n", "1"], "prvcore epsilon --help lists what it takes"),
    ],
)
def test_an_option_under_another_name_is_told_its_own(capsys, command, unknown, hint):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--delta", "1e-5", *unknown])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    told = f"unrecognized arguments: {' '.join(unknown)} ({hint})"
    assert err == f"prvcore {command}: error: {told}\n"


@pytest.mark.parametrize(
    ("command", "wrong"),
    [("curve", ["--delta", "1e-5"]), ("curve", ["--epsilon", "1"]), ("delta", ["--delta", "1e-5"])],
)
def test_an_option_is_not_taken_for_the_beginning_of_another(capsys, command, wrong):
    point = ["--epsilon", "1"] if command == "delta" else []
    run = ["--noise-multiplier", "1", "--sampling-probability", "0.1", "--steps", "10"]
    with pytest.raises(SystemExit) as stop:
        cli.main([command, *point, *run, *wrong])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"prvcore {command}: error: unrecognized arguments: {' '.join(wrong)}")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["calibrate"], "did you mean 'noise'?"),
        (["Epsilon"], "did you mean 'epsilon'?"),
        (["audit"], "did you mean 'risk'?"),
        (["swep"], "did you mean 'sweep'?"),
        ([*EPSILON, "--neighbors", "replace"], "did you mean 'replace-one'?"),
        ([*EPSILON, "--sampler", "random_allocation"], "did you mean 'random-allocation'?"),
        ([*EPSILON, "--sampler", "cyclic"], "costs as much as one Gaussian without sampling"),
    ],
)
def test_a_choice_under_another_name_is_told_its_own(capsys, arguments, told):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(f": {told}\n" if told.startswith("did") else f"{told}\n")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("option", ["--sampler", "--loader"])
def test_a_shuffle_has_a_command_of_its_own(capsys, option):
    with pytest.raises(SystemExit) as stop:
        cli.main([*EPSILON, option, "pytorch"])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert f"argument {option}: must not be 'pytorch': for shuffled batches" in err
    assert err.endswith(": prvcore shuffled\n")


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
    assert err.endswith("Raise --eps-error or --memory-limit\n")
    assert numbers(out)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["curve", *SETTING], ["--print-completion", "bash"]])
def test_a_reader_that_stops_is_no_error(arguments, tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        found = subprocess.run(
            [sys.executable, "-m", "prvcore", *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    finally:
        os.close(write)
    assert (found.returncode, found.stderr) == (1, "")


# ---- Calibration -------------------------------------------------------------------------------

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


@pytest.mark.slow
def test_risks_are_those_of_the_library(capsys):
    curve = prv.compose(prv.PoissonSubsampledGaussian(1.1, 256 / 60_000), 3525)
    points = ["--prior", "0.5", "--false-positive-rate", "0.01", "--delta", "1e-5"]
    arguments = ["risk", "--noise-multiplier", "1.1", *TRAINING]
    answer = json.loads(printed(capsys, *arguments, *points, "--json"))
    asked = {
        "advantage": ({}, curve.total_variation()),
        "power": ({"false_positive_rate": 0.01}, curve.power(0.01)),
        "bayes_risk": ({"prior": 0.5}, curve.bayes_risk(0.5)),
        "gaussian_mu": ({"delta": 1e-5}, curve.gaussian_mu(1e-5)),
    }
    for name, (at, bounds) in asked.items():
        assert answer[name] == {**at, **bounds._asdict()}
    out = printed(capsys, *arguments, *points)
    assert [line for line in out.splitlines() if line[0] not in " a"] == [
        "power at false positive rate = 0.01",
        "bayes risk at prior = 0.5",
        "gaussian mu at delta = 1e-05",
    ]
    assert numbers(out)["upper"].startswith("0.1135")
    assert out.count("upper") == 4
    assert printed(capsys, *arguments).count("upper") == 1


@pytest.mark.slow
def test_reports_are_those_of_the_library(capsys):
    plan = prv.dpsgd_schedule(60_000, 256, 15, loader="opacus")
    arguments = ["report", "--noise-multiplier", "1.1", *TRAINING, "--loader", "opacus"]
    out = printed(capsys, *arguments, "--delta", "1e-5", "--digits", "6")
    assert out == plan.report(1.1, 1e-5, digits=6) + "\n"
    assert printed(capsys, *arguments, "--epsilon", "1") == plan.delta(1.1, 1).report() + "\n"
    curve = prv.compose(prv.PoissonSubsampledGaussian(0.8, 1e-3), 1000, neighbors="add")
    out = printed(capsys, "report", *SETTING, "--delta", "1e-7", "--neighbors", "add")
    assert out == curve.report(delta=1e-7) + "\n"
    for bad, told in (
        (["--delta", "1e-5", "--epsilon", "1"], "not allowed with argument --delta"),
        (["--delta", "1e-5", "--digits", "0"], "argument --digits: digits must be in [1, 17]"),
        ([], "one of the arguments --delta --epsilon is required"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main([*arguments, *bad])
        assert stop.value.code == 2
        assert told in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["add-or-remove", "replace-one"])
def test_shuffles_lie_between_the_bound_from_below_and_a_known_order(capsys, neighbors):
    run = ["--noise-multiplier", "1.1", "--batches", "235", "--epochs", "15"]
    arguments = ["shuffled", *run, "--neighbors", neighbors]
    for given, wanted in (({"delta": 1e-5}, "epsilon"), ({"epsilon": 9.0}, "delta")):
        ((name, point),) = given.items()
        lower = prv.shuffled_lower_bound(1.1, 235, 15, neighbors=neighbors, **given)
        known = prv.compose(prv.Gaussian(1.1), 15, neighbors=neighbors)
        upper = getattr(known, wanted)(point).upper
        out = printed(capsys, *arguments, f"--{name}", str(point))
        title, low, high, *others = out.splitlines()
        assert title.startswith(f"{wanted} of shuffled batches at {name} = {point!r}, for a record")
        assert Fraction(low.split()[1]) <= Fraction(lower) < Fraction(upper)
        assert Fraction(upper) <= Fraction(high.split()[1])
        answer = json.loads(printed(capsys, *arguments, f"--{name}", str(point), "--json"))
        assert (answer["wanted"], answer["lower"], answer["upper"]) == (wanted, lower, upper)
        moved = answer["upper_if_others_move"]
        if neighbors == "replace-one":
            assert (moved, others) == (None, [])
            continue
        of_two_sums = prv.compose(prv.Gaussian(1.1 / math.hypot(2, 1)), 15)
        exact = getattr(of_two_sums, wanted)(point)
        assert upper < exact.lower <= moved
        assert moved <= exact.upper * (1 + 1e-9)
        assert others[0].startswith(f"{wanted} if a removed record moves the others")
        assert Fraction(moved) <= Fraction(others[1].split()[1])


def test_a_shuffle_is_refused_as_a_sampler(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([*EPSILON, "--sampler", "shuffled"])
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert "argument --sampler: must not be 'shuffled': for shuffled batches only a lower" in told
    assert "prvcore shuffled" in told


def test_the_noise_of_a_schedule_is_a_factor_and_says_so(capsys, tmp_path):
    schedule = tmp_path / "one.json"
    step = {"type": "PoissonSubsampledGaussian", "noise_multiplier": 2.0}
    schedule.write_text(json.dumps({"steps": [{**step, "sampling_probability": 0.01}]}))
    answer = json.loads(printed(capsys, "noise", *TARGET, "--schedule", str(schedule), "--json"))
    assert (answer["parameter"], answer["is_factor"]) == ("noise_multiplier", True)
    assert answer["assumed"]["steps"][0]["noise_multiplier"] == answer["value"] * 2.0


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


SWEEP = [
    *("sweep", "--noise-multiplier", "1", "2", "--sampling-probability", "0.1"),
    *("--steps", "1", "10", "--delta", "1e-5"),
]

# ---- Tables and pictures -----------------------------------------------------------------------


def test_numbers_below_zero_may_have_exponents(capsys):
    rows = list(
        csv.reader(io.StringIO(printed(capsys, "curve", *SETTING, "--epsilons", "-1e-1", "0")))
    )
    exact = curve().delta([-0.1, 0.0])
    assert [row[0] for row in rows[1:]] == ["-0.1", "0.0"]
    assert [float(row[3]) for row in rows[1:]] == exact.upper.tolist()
    with pytest.raises(SystemExit):
        cli.main(["curve", *SETTING, "--epsilons", "1", "nan"])
    assert "argument --epsilons: epsilons must be in" in capsys.readouterr().err


def test_a_curve_is_a_table_of_deltas(capsys):
    out = printed(capsys, "curve", *SETTING, "--epsilons", "0", "0.5", "0.7")
    header, *rows = [line.split(",") for line in out.splitlines()]
    assert header == ["epsilon", "delta_lower", "delta_estimate", "delta_upper"]
    bounds = curve().delta([0.0, 0.5, 0.7])
    shown = [[float(number) for number in row] for row in rows]
    assert shown == [list(row) for row in zip([0.0, 0.5, 0.7], *bounds, strict=True)]


def test_a_sweep_is_every_combination(capsys):
    out = printed(
        capsys,
        *("sweep", "--noise-multiplier", "0.8", "1", "--sampling-probability", "0.001"),
        *("--steps", "10", "1000", "--delta", "1e-7", "--json"),
    )
    points = json.loads(out)["points"]
    assert [(p["noise_multiplier"], p["steps"]) for p in points] == [
        (0.8, 10), (0.8, 1000), (1.0, 10), (1.0, 1000)
    ]  # fmt: skip
    assert points[1]["upper"] == curve().epsilon(1e-7).upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["curve", *SETTING],
        SWEEP,
    ],
    ids=["curve", "sweep"],
)
def test_plots_are_files(capsys, tmp_path, arguments):
    matplotlib.use("Agg")
    path = tmp_path / "picture.png"
    printed(capsys, *arguments, "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("picture.xyz", "argument --plot: plot must be a file such as curve.png, .pdf or .svg"),
        ("nowhere/picture.png", "nowhere: No such file or directory"),
    ],
)
@pytest.mark.parametrize("arguments", [["curve", *SETTING], SWEEP], ids=["curve", "sweep"])
def test_pictures_that_cannot_be_saved_are_refused_before_anything_is_computed(
    capsys, monkeypatch, arguments, path, told
):
    def compute(*_, **__):
        raise AssertionError("nothing was to be computed")

    monkeypatch.setattr(commands, "curve_of", compute)
    monkeypatch.setattr(commands, "swept", compute)
    with pytest.raises(SystemExit) as stop:
        cli.main([*arguments, "--plot", path])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


# ---- Part of an epoch --------------------------------------------------------------------------


@pytest.mark.parametrize("rest", [1, 118])  # of 235: floats above and below the quotients
def test_bounds_of_part_of_an_epoch_are_those_of_the_floats_around_its_probability(capsys, rest):
    noise, batches, delta, epsilon = 0.8, 235, 1e-5, 0.5
    below, above = (
        prv.compose(
            *steps_of_sampler("random-allocation", noise, 1 / batches, rest, from_below=low)
        )
        for low in (True, False)
    )
    least, greatest = (
        next(
            m.sampling_probability for m in each.mechanisms if isinstance(m, prv.PoissonSubsampled)
        )
        for each in (below, above)
    )
    assert Fraction(least) < Fraction(rest, batches) < Fraction(greatest)
    run = ["--noise-multiplier", str(noise), "--sampling-probability", f"1/{batches}"]
    run += ["--steps", str(rest), "--sampler", "random-allocation", "--json"]

    def around(ask):
        return {"lower": ask(below)[0], "upper": ask(above)[2]}

    def ends(found):
        return {"lower": found["lower"], "upper": found["upper"]}

    def of(*arguments):
        return json.loads(printed(capsys, *arguments, *run))

    assert ends(of("epsilon", "--delta", str(delta))) == around(lambda c: c.epsilon(delta))
    assert ends(of("delta", "--epsilon", str(epsilon))) == around(lambda c: c.delta(epsilon))
    risk = of("risk", "--prior", "0.5", "--false-positive-rate", "0.01")
    assert ends(risk["advantage"]) == around(lambda c: c.total_variation())
    less = {"lower": above.bayes_risk(0.5).lower, "upper": below.bayes_risk(0.5).upper}
    assert ends(risk["bayes_risk"]) == less  # the more is lost, the less is the risk
    assert ends(risk["power"]) == around(lambda c: c.power(0.01))
    (point,) = of("curve", "--epsilons", str(epsilon))["points"]
    assert ends(point) == around(lambda c: [float(part[0]) for part in c.delta([epsilon])])


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


@pytest.mark.parametrize(
    ("delta", "too_large"), [(1 / 1024, True), (math.nextafter(1 / 1024, 0.0), False)]
)
@pytest.mark.parametrize(
    "command",
    [
        ["epsilon", "--noise-multiplier", "1.1"],
        ["epsilon", "--noise-multiplier", "1.1", "--json"],
        ["noise", "--epsilon", "1"],
        ["sweep", "--noise-multiplier", "1.1"],
    ],
    ids=" ".join,
)
def test_a_delta_that_allows_publishing_a_record_is_warned_of(capsys, command, delta, too_large):
    training = ["--dataset-size", "1024", "--batch-size", "64", "--epochs", "1"]
    assert cli.main([*command, *training, "--delta", str(delta)]) == 0
    told = f"prvcore {command[0]}: warning: delta is not below 1 over the number of records, so "
    err = capsys.readouterr().err
    assert err.startswith(told) if too_large else err == ""


# ---- Schedules ---------------------------------------------------------------------------------


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


# ---- The process -------------------------------------------------------------------------------


def test_the_memory_limit_is_an_option(capsys):
    before = prv.get_memory_limit()
    assert cli.main([*EPSILON, "--eps-error", "1e-7", "--memory-limit", "1048576"]) == 0
    err = capsys.readouterr().err
    assert "the memory limit of 1048576 bytes" in err
    assert "--memory-limit" in err
    assert prv.get_memory_limit() == before


def test_an_interrupt_is_quiet(capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(prv, "compose", interrupted)
    assert cli.main(EPSILON) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes of other processes")
def test_a_reader_that_stops_reading(tmp_path):
    program = [sys.executable, "-m", "prvcore", *EPSILON]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.slow
def test_completion(capsys):
    shells = shtab.SUPPORTED_SHELLS
    for shell in shells:
        with pytest.raises(SystemExit) as stop:
            cli.main(["--print-completion", shell])
        assert stop.value.code == 0
        assert "noise-multiplier" in capsys.readouterr().out


COMMANDS = tuple(cli._COMMANDS)


@pytest.mark.slow
def test_version_and_help(capsys):
    helps = [[command, "--help"] for command in COMMANDS]
    for arguments in (["--version"], ["--help"], *helps):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 0
        assert "prvcore" in capsys.readouterr().out


@pytest.mark.parametrize("again", [["--steps", "0"], ["--delta", "1e-7"], ["--neighbors", "add"]])
def test_an_option_is_given_once(capsys, again):
    arguments = [*EPSILON, "--neighbors", "remove", *again]
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert f"argument {again[0]}: given more than once" in capsys.readouterr().err


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


def test_without_shtab_the_error_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit):
        cli.main(["--print-completion", "bash"])
    assert "pip install 'prvcore[completion]'" in capsys.readouterr().err
