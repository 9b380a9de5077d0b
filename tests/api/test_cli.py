"""The command line: the library's numbers rounded outwards, as text, JSON, tables and pictures."""

import csv
import io
import json
import math
import re
from fractions import Fraction

import matplotlib
import pytest

import prvcore as prv
from prvcore import _cli as cli
from prvcore._cli import commands
from prvcore.dpsgd.samplers import steps_of_sampler
from tests.support.command_line import (
    DELTA,
    EPSILON,
    OF_TRAINING,
    SETTING,
    TRAINING,
    curve,
    numbers,
    printed,
)


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


def test_wider_bounds_are_told_on_the_standard_error(capsys, memory_limit):
    prv.set_memory_limit(2**20)
    assert cli.main([*EPSILON, "--eps-error", "1e-7"]) == 0
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    assert "warning: the memory limit of 1048576 bytes" in err
    assert err.endswith("Raise --eps-error or --memory-limit\n")
    assert numbers(out)


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


SWEEP = [
    *("sweep", "--noise-multiplier", "1", "2", "--sampling-probability", "0.1"),
    *("--steps", "1", "10", "--delta", "1e-5"),
]


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
        ("", "argument --plot: plot must be a file such as curve.png, .pdf or .svg, got ''"),
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
    explained = of("explain", "--delta", str(delta))
    assert ends(explained["epsilon"]) == around(lambda c: c.epsilon(delta))
    better = "remove" if explained["budget"]["direction"] == "add" else "add"
    assert ends(explained["other_direction"]) == around(
        lambda c: prv.compose(c.mechanisms, c.counts, neighbors=better).epsilon(delta)
    )
    assert explained["steps"] == []  # there is one only
    (point,) = of("curve", "--epsilons", str(epsilon))["points"]
    assert ends(point) == around(lambda c: [float(part[0]) for part in c.delta([epsilon])])


def test_parts_of_an_epoch_are_explained_by_the_floats_around_its_probability(capsys):
    run = ["--noise-multiplier", "0.8", "--sampling-probability", "1/235", "--steps", "236"]
    run += ["--sampler", "random-allocation", "--delta", "1e-5", "--json"]
    steps = json.loads(printed(capsys, "explain", *run))["steps"]
    (last,) = (step for step in steps if step["step"]["type"] == "PoissonSubsampled")
    (whole,) = (step for step in steps if step is not last)
    below, above = (
        prv.compose(*steps_of_sampler("random-allocation", 0.8, 1 / 235, 1, from_below=low))
        for low in (True, False)
    )
    assert above.mechanisms[0].sampling_probability == last["step"]["sampling_probability"]
    epoch = prv.compose(prv.RandomAllocation(prv.Gaussian(0.8), 235)).epsilon(1e-5)._asdict()
    assert last["without"] == whole["alone"] == epoch
    for part in (last["alone"], whole["without"]):
        assert (part["lower"], part["upper"]) == (
            below.epsilon(1e-5).lower, above.epsilon(1e-5).upper
        )  # fmt: skip


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
