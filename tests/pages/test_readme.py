"""The README's examples, links and commands, and the contributor's map."""

import contextlib
import io
import re
import tomllib

import pytest

import prvcore as prv
from prvcore import _cli as cli
from tests.support.checkout import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHELL = re.search(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1].splitlines()


@pytest.mark.slow
def test_the_examples_run_and_print_what_is_shown():
    names = {}
    for block in PYTHON:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        shown = re.findall(r"^# (.*)$", block, re.MULTILINE)
        assert printed.getvalue().splitlines() == shown
    assert "# epsilon lies in" in PYTHON[0]
    assert 0.0 <= names["lower"] <= names["estimate"] <= names["upper"]


def test_the_bounds_that_are_shown_are_rounded_outwards():
    step = prv.PoissonSubsampledGaussian(1.1, 256 / 60_000)
    exact = prv.compose(step, 3525, eps_error=1e-6).epsilon(1e-5)
    shown = re.search(r"^# epsilon lies in \[(\S+), (\S+)\]$", PYTHON[0], re.MULTILINE)
    assert float(shown[1]) <= exact.lower <= exact.upper <= float(shown[2])
    noise = float(re.search(r"^# noise multiplier (\S+) is enough", PYTHON[0], re.MULTILINE)[1])
    enough = prv.PoissonSubsampledGaussian(noise, 256 / 60_000)
    assert prv.eps_from_delta(enough, 1e-5, counts=3525).upper <= 2.0


def test_the_run_has_the_epsilon_of_the_loader_of_opacus():
    call = re.search(r"`prv\.dpsgd_schedule\((.*?)\)\.report\((.*?)\)`", README)
    assert (call[1], call[2]) == (
        '60_000, 256, 15, loader="opacus"',
        "noise_multiplier=1.1, delta=1e-5",
    )
    kept, dropped = (
        prv.dpsgd_schedule(60_000, 256, 15, loader="opacus", drop_last=drop)
        for drop in (False, True)
    )
    assert (kept.sampling_probability, dropped.sampling_probability) == (1 / 235, 1 / 234)
    assert "here 1/235 instead of 256/60,000" in README
    most, most_dropped = (plan.epsilon(1.1, 1e-5).upper for plan in (kept, dropped))
    said = f"epsilon is at most {most:.4f} for this run ({most_dropped:.4f} with `drop_last`)."
    assert said in README


def test_intervals_are_as_narrow_as_is_said():
    step = prv.PoissonSubsampledGaussian(0.8, 0.001)
    said = re.search(
        r"an interval (\S+) wide was asked for, that of prvcore is at most (\S+) wide at (\S+) "
        r"steps and (\S+) at (\S+)\.",
        README,
    )
    for width, steps in (said.group(2, 3), said.group(4, 5)):
        curve = prv.compose(step, int(steps.replace(",", "")), eps_error=float(said[1]))
        lower, _, upper = curve.epsilon(1e-7)
        assert upper - lower <= float(width)


def test_it_opens_with_two_commands(capsys):
    assert len(SHELL) == 2
    assert cli.main(SHELL[0].partition(" prvcore ")[2].split()) == 0
    upper = re.search(r"^  upper +(\S+)$", capsys.readouterr().out, re.MULTILINE)[1]
    assert upper.startswith(re.search(r"an upper bound that begins with ([\d.]+\d)", README)[1])
    assert SHELL[1] == 'pip install ".[test]" && python -m pytest'


def plain(text):
    """Return the words of a page in reStructuredText or Markdown, without where links lead to."""
    text = re.sub(r":\w+:`([^`<]+?)\s*<[^`>]+>`|\[([^\]]+)\]\([^)]+\)", r"\1\2", text)
    return " ".join(text.replace("`", "").split())


def opening(text):
    """Return the first sentence of a page, its first program and what its list promises."""
    sentence = re.search(r"^\*\*(.*?)\*\*$", text, re.MULTILINE | re.DOTALL)[1]
    promises = re.findall(r"^\* (\*\*.*?)(?=\n\* \*\*|\n\n)", text, re.MULTILINE | re.DOTALL)
    return plain(sentence), [plain(promise) for promise in promises]


def test_the_site_opens_as_the_readme_does():
    index = (ROOT / "docs" / "index.rst").read_text("utf-8")
    sentence, promises = opening(README.partition("\n## ")[0])
    same, site = opening(index)
    assert same == sentence
    assert len(site) == len(promises) == 6
    for ours, theirs in zip(site, promises, strict=True):
        # the calculator is a part of the site, and has to be built from a checkout
        assert ours == theirs or ours.startswith("**In a browser.**")
        assert ours.split("**")[1] == theirs.split("**")[1]
    typed = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", index, re.MULTILINE)
    lines = [line for line in PYTHON[0].splitlines() if line and not line.startswith("# ")]
    assert typed[: len(lines)] == lines
    assert 'loader="opacus"' in typed[len(lines)]  # what the README says in a sentence
    printed = [
        line for line in index.splitlines() if line.startswith(("epsilon lies", "noise mul"))
    ]
    assert [f"# {line}" for line in printed] == re.findall(r"^# .*$", PYTHON[0], re.MULTILINE)
    assert ":doc:`glossary`" in index


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_what_a_page_of_the_checkout_links_to_is_there(page):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text("utf-8"))
    assert links
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_the_map_is_of_the_tree_as_it_is():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`((?:\.ci|benchmarks|docs|prvcore|src_c|tests)/[^`]*)`", text)
    assert len(named) > 10
    for path in named:
        assert list(ROOT.glob(path)), path
    for room in re.search(r"what planning chooses \((.*?)\)", text)[1].split(", "):
        assert (ROOT / room.strip("`")).is_dir(), room


def test_the_citation_is_of_this_version_and_of_what_the_readme_names():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'version: "{prv.__version__}"' in citation
    licence = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license"]
    assert f"license: {licence}" in citation
    cited = README.partition("Please cite the method")[2]
    numbers = re.findall(r"arXiv:(\d+\.\d+)", cited)
    assert len(numbers) == 2
    assert re.findall(r"arxiv.org/abs/(\d+\.\d+)", citation) == numbers
