"""The examples of the documentation, and whether it has everything."""

import ast
import doctest
import re
import shlex
import textwrap
from importlib.util import find_spec

import pytest

import prvcore as prv
from prvcore import _cli as cli
from prvcore import sampling
from tests.support.checkout import ROOT

DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are part of the checkout", allow_module_level=True)

PAGES = [page for page in sorted(DOCS.rglob("*.rst")) if ">>> " in page.read_text("utf-8")]
PUBLIC = [name for name in prv.__all__ if name != "__version__"]
NAMES = {name: getattr(prv, name) for name in PUBLIC}
EXAMPLES = [
    example
    for name in PUBLIC
    for example in doctest.DocTestFinder().find(NAMES[name], name, False, globs=NAMES)
    if example.examples
] + [example for example in doctest.DocTestFinder().find(sampling) if example.examples]


@pytest.fixture
def options(request):
    """Return the flags that `pytest --doctest-glob` uses."""
    flags = request.config.getini("doctest_optionflags")
    return sum(doctest.OPTIONFLAGS_BY_NAME[flag] for flag in flags)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_a_page_shows_comes_out(page, options, tmp_path, monkeypatch):
    import matplotlib

    monkeypatch.chdir(tmp_path)  # where a page saves its pictures
    with matplotlib.rc_context():
        result = doctest.testfile(str(page), False, optionflags=options, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0
    shown = re.findall(r"^\.\. image:: figures/(\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(shown)
    assert all((page.parent / "figures" / name).is_file() for name in shown)


def blocks(page, kind, option=""):
    """Find the code blocks of one kind: what stands after the option, if any, and the code."""
    pattern = rf"^\.\. code-block:: {kind}\n{option}\n((?:   .*\n|\n)+)"
    return re.findall(pattern, page.read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_what_a_command_shows_comes_out(options, tmp_path, monkeypatch, capsys):
    page = DOCS / "command_line.rst"
    monkeypatch.chdir(tmp_path)
    for name, text in blocks(page, "toml", r"   :caption: (\S+)\n"):
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
    sessions = "".join(textwrap.dedent(text) for text in blocks(page, "console"))
    sessions = re.sub(r" \\\n +", " ", sessions)  # lines that go on
    commands = re.split(r"^\$ prvcore ", sessions, flags=re.MULTILINE)[1:]
    if find_spec("matplotlib") is None:
        commands = [command for command in commands if " --plot " not in command]
    assert len(commands) > 5
    for command in commands:
        line, shown = command.split("\n", 1)
        assert cli.main(shlex.split(line)) == 0
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(shown, printed, options), (line, printed)
    pictures = re.findall(r"^\.\. image:: figures/(\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert len(pictures) >= 1
    for name in pictures:
        assert (DOCS / "figures" / name).is_file()
        assert find_spec("matplotlib") is None or (tmp_path / name).is_file()


def test_the_snippets_of_embedding_are_those_that_ctest_and_the_example_package_run():
    page = DOCS / "tutorials" / "embedding.rst"
    consumers = sorted((ROOT / "src_c" / "examples" / "consumers").rglob("*"))
    tested = "\n".join(path.read_text("utf-8") for path in consumers if path.is_file())
    snippets = [textwrap.dedent(text).strip() for text in blocks(page, "cmake")]
    shell = "".join(textwrap.dedent(text) for text in blocks(page, "sh"))
    snippets += re.findall(r"^cc .* -o my_program$", shell, re.MULTILINE)
    assert len(snippets) == 3
    for snippet in snippets:
        assert snippet in tested
    # the Cython package is shown by its own files, which test_embedding builds
    included = re.findall(r"^\.\. literalinclude:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert len(included) >= 4
    assert all((page.parent / name).resolve().is_file() for name in included)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_what_a_docstring_shows_comes_out(example, options):
    assert doctest.DocTestRunner(optionflags=options).run(example).failed == 0


def programs():
    """Return the programs of pages and docstrings, each with the file that has it."""
    pages = [
        *DOCS.rglob("*.rst"),
        *DOCS.rglob("*.md"),
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
    ]
    found = []
    for page in pages:
        if {"generated", "_build"} & set(page.parts):
            continue
        text = page.read_text("utf-8")
        found += [(page, doctest.script_from_examples(text))] if ">>> " in text else []
        found += [(page, textwrap.dedent(block)) for block in blocks(page, "python")]
        fenced = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found += [(page, block) for block in fenced]
    for module in sorted((ROOT / "prvcore").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                found += [(module, doctest.script_from_examples(text))] if ">>> " in text else []
    return found


class RoundedToNearest(ast.NodeVisitor):
    """Finds where a program shows one end of bounds with fewer digits than it has."""

    def __init__(self, program):
        self.ends, self.found = {"lower", "upper"}, []
        self.visit(ast.parse(program))

    def is_end(self, node):
        match node:
            case ast.Attribute(ast.Call(ast.Name(id="round"))):  # of bounds, to the safe side
                return False
            case ast.Attribute(attr="lower" | "upper"):
                return True
            case ast.Name(id=name) | ast.Call(ast.Name(id=name)) if name in self.ends:
                return True
            case ast.Subscript(inner) | ast.Call(ast.Name(id="float"), [inner]):
                return self.is_end(inner)
        return False

    def learn(self, name, value):
        (self.ends.add if self.is_end(value) else self.ends.discard)(name)

    def visit_Assign(self, node):
        self.generic_visit(node)
        match node.targets:
            case [ast.Name(id=name)]:
                self.learn(name, node.value)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        match node.body[-1]:
            case ast.Return(value):
                self.learn(node.name, value)

    def visit_FormattedValue(self, node):
        self.generic_visit(node)
        if node.format_spec is not None and self.is_end(node.value):
            self.found.append(ast.unparse(node))

    def visit_Call(self, node):
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(id="round") | ast.Attribute(attr="format"), values):
                self.found += [ast.unparse(node)] if any(map(self.is_end, values)) else []


@pytest.mark.slow
def test_no_end_of_bounds_is_rounded_to_the_nearest():
    shown = programs()
    assert len(shown) > 50
    for where, program in shown:
        assert not RoundedToNearest(program).found, where
    for wrong in (
        'f"{bounds.upper:.2f}"',
        "round(bounds.lower, 2)",
        'spent = curve.epsilon(1e-5).upper\nprint(f"{spent:.3f}")',
        'lower, _, upper = curve.epsilon(1e-5)\nprint("{:.3f}".format(upper))',
        'def of(n):\n    return curve(n).epsilon(1e-5).upper\nf"{of(3):.2f}"',
    ):
        assert RoundedToNearest(wrong).found, wrong


def test_what_may_be_claimed_of_batches_is_what_the_page_computes():
    text = (DOCS / "pitfalls.rst").read_text("utf-8")
    wanted = [example.want for example in doctest.DocTestParser().get_examples(text)]
    computed = set(re.findall(r"\d+\.\d+", " ".join(wanted)))
    table = text.partition(".. list-table:: Batches of 15")[2].partition("\n\nIf a record is in k")[
        0
    ]
    claimed = set(re.findall(r"\d+\.\d+", table.partition("header-rows")[2]))
    assert len(claimed) >= 8
    assert claimed <= computed


def test_every_public_name_has_a_page():
    index = (DOCS / "api" / "index.rst").read_text("utf-8")
    assert sorted(re.findall(r"^   (\w+)$", index, re.MULTILINE)) == sorted(PUBLIC)


def test_every_mechanism_is_in_the_table_of_what_runs():
    index = (DOCS / "api" / "index.rst").read_text("utf-8")
    start = index.index("What runs, and its class\n---")
    table = index[start : index.index("\nMechanisms\n---", start)]
    linked = set(re.findall(r"`(\w+)`", table))
    kinds = {name for name, thing in NAMES.items() if issubclass(type(thing), type)}
    mechanisms = {name for name in kinds if issubclass(NAMES[name], prv.Mechanism)}
    assert mechanisms - linked == {"Mechanism", "Composed"}  # the base, and a list
    assert {name for name in linked if name[0].isupper()} <= kinds


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


def test_names_on_every_page_are_links():
    # `name` is looked up in the module that a page says it is about; else it is emphasis, no more
    links = {}
    for page in DOCS.rglob("*.rst"):
        if {"generated", "_build"} & set(page.relative_to(DOCS).parts):
            continue
        text = page.read_text("utf-8")
        if ".. default-role:: math" in text:
            continue
        names = re.findall(r"(?<![:`\w])`([A-Za-z_]\w*)(?:\.\w+)?`(?![`_])", text)
        links[page] = sum(name in PUBLIC for name in names)
        about = re.search(r"^\.\. (?:currentmodule|automodule):: prvcore", text, re.MULTILINE)
        assert about or not links[page], page
    assert links[DOCS / "pitfalls.rst"] > 10
    assert sum(links.values()) > 80


TYPEWRITER = {".md": r"(?<!`)`([^`\n]+)`(?!`)", ".rst": r"``([^`\n]+)``"}
PRIVATE = r"^(?:PRV_VECTOR )?static [^;={]*?(\w+)\("


def quoted(page):
    """Find the names in typewriter, without what stands behind: `prv_turns(r)` names prv_turns."""
    quotes = re.findall(TYPEWRITER[page.suffix], page.read_text("utf-8"))
    return {name for text in quotes for name in re.findall(r"^[A-Za-z_]\w*(?:\.[ch]\b)?", text)}


def core():
    """Return each file of the C core without its comments."""
    folder = ROOT / "src_c"
    files = [path for path in folder.rglob("*.[ch]") if folder / "tests" not in path.parents]
    texts = {path: path.read_text("utf-8") for path in files}
    return {path: re.sub(r"/\*.*?\*/", " ", texts[path], flags=re.DOTALL) for path in files}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "src_c/composition/SPECTRUM.md",
        "src_c/composition/JUMPS.md",
        "src_c/mechanisms/PAIRS.md",
        "docs/bounds.rst",
    ],
)
def test_every_name_in_a_proof_is_one_of_the_code(page):
    texts = core()
    known = {path.name for path in texts}.union(*(re.findall(r"\w+", c) for c in texts.values()))
    if page == "docs/bounds.rst":  # it names what Python has, too, and says so in typewriter
        python = [*(ROOT / "prvcore").rglob("*.py"), *(ROOT / "prvcore").rglob("*.pyx")]
        known.update({"typewriter"}, *(re.findall(r"\w+", p.read_text("utf-8")) for p in python))
    names = quoted(ROOT / page)
    assert len(names) >= 3
    assert not names - known


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    ["src_c/composition/SPECTRUM.md", "src_c/composition/JUMPS.md", "src_c/mechanisms/PAIRS.md"],
)
def test_a_proof_that_names_a_function_of_one_file_names_the_file(page):
    names = quoted(ROOT / page)
    homes = {}
    for path, text in core().items():
        if path.suffix == ".c":
            for name in re.findall(PRIVATE, text, re.MULTILINE):
                homes.setdefault(name, set()).add(path.name)
    assert not {name: homes[name] for name in names & homes.keys() if not homes[name] & names}


ROOMS = (ROOT / "src_c" / "rooms.txt").read_text("utf-8").split()


def test_the_map_of_the_core_has_its_rooms_in_their_order():
    text = (ROOT / "src_c" / "README.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE) == ROOMS


def test_links_of_the_map_of_the_core_lead_somewhere():
    folder = ROOT / "src_c"
    text = (folder / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 5
    for link in links:
        assert (folder / link).exists(), link


def test_the_way_of_a_query_is_through_rooms_that_exist():
    text = (DOCS / "developing.rst").read_text("utf-8")
    stages = text.partition(".. list-table::")[2].partition("Building")[0]
    rooms = re.findall(r"``(\w+)/``", stages.partition(":doc:")[0])
    assert len(rooms) > 8
    assert set(rooms) <= set(ROOMS)
