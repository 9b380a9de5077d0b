import re
import shlex
from importlib.util import find_spec

import pytest
from conftest import ROOT

import prvcore as prv
from prvcore import cli

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHELL = re.search(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1].splitlines()


def test_the_examples_run():
    names = {}
    for block in PYTHON:
        exec(block, names)
    assert 0.0 <= names["lower"] <= names["estimate"] <= names["upper"]
    for own in ("gaussian", "response", "perfect"):
        assert prv.compose(names[own]).epsilon(1e-3).upper < 10.0
    assert prv.compose(names["perfect"], 10).delta(0.0).upper == pytest.approx(0.0, abs=1e-9)


def test_its_commands_run(tmp_path, monkeypatch, capsys):
    section = README.partition("\n## On the command line\n")[2].partition("\n## ")[0]
    commands = re.search(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1].splitlines()
    schedule = re.search(r"^```toml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schedule.toml").write_text(schedule, encoding="utf-8")
    if find_spec("matplotlib") is None:
        commands = [command for command in commands if "--plot" not in command]
    assert len(commands) >= 4
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "prvcore"
        assert cli.main(arguments) == 0
        assert capsys.readouterr().out


def test_it_opens_with_two_commands(capsys):
    assert len(SHELL) == 2
    assert cli.main(SHELL[0].partition(" prvcore ")[2].split()) == 0
    assert "lower" in capsys.readouterr().out
    assert SHELL[1] == 'pip install ".[test]" && python -m pytest'


def test_the_snippets_of_embedding_are_those_that_ctest_and_the_example_package_run():
    examples = ROOT / "src_c" / "examples"
    tested = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("consumers", "cython")
        for path in sorted((examples / folder).rglob("*"))
        if path.suffix in (".txt", ".sh", ".py", ".pyx")
    )
    embedding = README.partition("## Embedding the C core")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```cmake\n(.*?)^```$", embedding, re.MULTILINE | re.DOTALL)
    blocks += [
        text
        for text in re.findall(r"^```sh\n(.*?)^```$", embedding, re.MULTILINE | re.DOTALL)
        if "cc " in text
    ]
    assert len(blocks) == 3
    for block in blocks:
        assert block in tested
    for line in re.search(r"Extension\(\n(.*?)^\)$", embedding, re.MULTILINE | re.DOTALL)[
        1
    ].splitlines():
        assert line.strip().rstrip(",") in tested
