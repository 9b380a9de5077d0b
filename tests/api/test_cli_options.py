"""Options of the command line: errors of one line, and what is told of another name."""

import pytest

import prvcore as prv
from prvcore import _cli as cli
from tests.support.command_line import EPSILON, OF_TRAINING, TRAINING, printed


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


@pytest.mark.parametrize("name", ["pytorch", "shuffled"])
@pytest.mark.parametrize("option", ["--sampler", "--loader"])
def test_a_shuffle_has_a_command_of_its_own(capsys, option, name):
    with pytest.raises(SystemExit) as stop:
        cli.main([*EPSILON, option, name])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    told = f"argument {option}: must not be {name!r}: for shuffled batches only a lower bound"
    assert told in err
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


@pytest.mark.parametrize("again", [["--steps", "0"], ["--delta", "1e-7"], ["--neighbors", "add"]])
def test_an_option_is_given_once(capsys, again):
    arguments = [*EPSILON, "--neighbors", "remove", *again]
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert f"argument {again[0]}: given more than once" in capsys.readouterr().err


def test_the_memory_limit_is_an_option(capsys):
    before = prv.get_memory_limit()
    assert cli.main([*EPSILON, "--eps-error", "1e-7", "--memory-limit", "1048576"]) == 0
    err = capsys.readouterr().err
    assert "the memory limit of 1048576 bytes" in err
    assert "--memory-limit" in err
    assert prv.get_memory_limit() == before
