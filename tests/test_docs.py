"""The examples of the documentation, and whether it has everything."""

import doctest
import re
import shlex
import sys
import textwrap

import pytest
from conftest import ROOT

import prvcore as prv
from prvcore import cli

DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are part of the checkout", allow_module_level=True)

PAGES = [page for page in sorted(DOCS.rglob("*.rst")) if ">>> " in page.read_text("utf-8")]
PUBLIC = [name for name in prv.__all__ if name != "__version__"]
MODULES = sorted({getattr(prv, name).__module__ for name in PUBLIC})


@pytest.fixture
def options(request):
    """Return the flags that `pytest --doctest-glob` uses."""
    flags = request.config.getini("doctest_optionflags")
    return sum(doctest.OPTIONFLAGS_BY_NAME[flag] for flag in flags)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_a_page_shows_comes_out(page, options):
    result = doctest.testfile(str(page), False, optionflags=options, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def blocks(page, kind, option=""):
    """Find the code blocks of one kind: what stands after the option, if any, and the code."""
    pattern = rf"^\.\. code-block:: {kind}\n{option}\n((?:   .*\n|\n)+)"
    return re.findall(pattern, page.read_text("utf-8"), re.MULTILINE)


def test_what_a_command_shows_comes_out(options, tmp_path, monkeypatch, capsys):
    page = DOCS / "command_line.rst"
    monkeypatch.chdir(tmp_path)
    for name, text in blocks(page, "toml", r"   :caption: (\S+)\n"):
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
    sessions = "".join(textwrap.dedent(text) for text in blocks(page, "console"))
    commands = re.split(r"^\$ prvcore ", sessions, flags=re.MULTILINE)[1:]
    assert len(commands) > 5
    for command in commands:
        line, shown = command.split("\n", 1)
        assert cli.main(shlex.split(line)) == 0
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(shown, printed, options), (line, printed)


@pytest.mark.parametrize("module", MODULES)
def test_what_a_docstring_shows_comes_out(module, options):
    assert doctest.testmod(sys.modules[module], optionflags=options).failed == 0


def test_every_public_name_has_a_page():
    index = (DOCS / "api" / "index.rst").read_text("utf-8")
    assert sorted(re.findall(r"^   (\w+)$", index, re.MULTILINE)) == sorted(PUBLIC)


def test_every_page_is_in_a_table_of_contents():
    linked = {
        (page.parent / entry).resolve()
        for page in DOCS.rglob("index.rst")
        for entry in re.findall(r"^   ([\w/]+)$", page.read_text("utf-8"), re.MULTILINE)
    }
    pages = [*DOCS.rglob("*.rst"), *DOCS.rglob("*.md")]
    for page in pages:
        outside = {"_templates", "generated", "_build"} & set(page.relative_to(DOCS).parts)
        if not outside and page != DOCS / "index.rst":
            assert page.with_suffix("").resolve() in linked, page
