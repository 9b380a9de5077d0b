"""Which module of the package may import which: no circle, and no arrow that runs back."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

import prvcore as prv
from tests.support.checkout import ROOT

PACKAGE = ROOT / "prvcore"  # the sources: what is installed has none of the modules of Cython

# A room imports itself and rooms before it. A module that is in no folder is named.
ROOMS = {
    "tools": ("_names", "_errors", "_outward", "_quotients", "_tables", "_progress", "_arguments"),
    "core": ("_core",),
    "mechanisms": ("_pickling", "_steps", "mechanisms"),
    "files": ("files",),
    "composing": (
        "_settings",
        "_bounds",
        "_in_words",
        "_report",
        "_targets",
        "_plot",
        "_composed_steps",
        "_warnings",
        "_witness",
        "_curve",
        "_compose",
        "_calibration",
        "_scaled_steps",
        "_calibrate",
        "_explain",
    ),
    "stages": ("stages",),
    "budgets": ("budgets",),
    "dpsgd": ("_parallel", "dpsgd"),
    "sampling": ("sampling",),
    "adapters": ("adapters",),
    "front": ("", "_cli", "__main__"),
}
# What a function imports when it is called. All else of prvcore is imported at the top.
# The one that imports pyFFTW is not loaded before a transform is needed.
LATE = {"_core.composition": {"_core.fft_plans"}}


def modules():
    """Return the path of each module by its name in the package; that of the package is empty."""
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")]
    names = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in paths}
    return {re.sub(r"(^|\.)__init__$", "", name): path for name, path in names.items()}


MODULES = modules()


def imported(base, names):
    """Return the modules of prvcore that `from base import names` needs."""
    if base.split(".")[0] != "prvcore":
        return set()
    module = base.partition(".")[2]
    inner = {f"{module}.{name}".lstrip(".") for name in names}
    return {name if name in MODULES else module for name in inner}


def of_python(text):
    """Yield whether each import is within a function, and the modules that it needs."""

    def visit(node, late):
        for child in ast.iter_child_nodes(node):
            within = late or isinstance(child, ast.FunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                yield late, set().union(*(imported(name.name, [""]) for name in child.names))
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, "imports are absolute"
                yield late, imported(child.module, [name.name for name in child.names])
            yield from visit(child, within)

    return visit(ast.parse(text), False)


def of_cython(text):
    """Yield the same of a module of Cython, whose cimports count too."""
    pattern = r"^( *)from (prvcore[\w.]*) c?import (\([^)]*\)|[^\n]*)"
    for indent, base, names in re.findall(pattern, text, re.MULTILINE):
        yield bool(indent), imported(base, re.findall(r"\w+", names))


def arrows():
    """Return what each module imports at the top, what later, and what it loads when asked."""
    top, late = {}, {}
    for name, path in MODULES.items():
        text = path.read_text("utf-8")
        for within, needed in of_cython(text) if path.suffix == ".pyx" else of_python(text):
            if needed - {name}:
                (late if within else top).setdefault(name, set()).update(needed - {name})
    top[""] |= set(prv._HOMES)
    top["mechanisms"] |= {f"mechanisms.{module}" for module in prv.mechanisms.HOMES}
    return top, late


def room(module):
    """Return the number of the room that a module is in."""
    first = module.partition(".")[0]
    (number,) = (i for i, names in enumerate(ROOMS.values()) if first in names)
    return number


@pytest.mark.slow
def test_every_arrow_is_seen():
    top, _ = arrows()
    assert {"_plot", "_core.composition", "_composed_steps"} <= top["_curve"]
    assert "mechanisms.base" in top["_composed_steps"]
    assert {"_core.mechanism", "_core.status", "_errors"} <= top["_core.composition"]
    assert "_compose" in top["adapters.opacus"]
    assert "" in top["_cli"]


@pytest.mark.slow
def test_there_is_no_circle():
    top, late = arrows()
    graph = {name: top.get(name, set()) | late.get(name, set()) for name in MODULES}
    assert list(TopologicalSorter(graph).static_order())  # CycleError says which


@pytest.mark.slow
def test_no_arrow_runs_back_between_rooms():
    top, late = arrows()
    back = [
        (name, other)
        for found in (top, late)
        for name, others in found.items()
        for other in others
        if room(other) > room(name)
    ]
    assert not back


def test_every_module_is_in_a_room():
    assert [room(module) for module in MODULES]


@pytest.mark.slow
def test_only_what_is_heavy_is_imported_late():
    assert arrows()[1] == LATE


def stub_of(package):
    """Return the module of each name that a stub imports, by its name."""
    tree = ast.parse((PACKAGE / package / "__init__.pyi").read_text("utf-8"))
    return {
        name.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }, next(ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign))


def test_stubs_say_what_is_loaded_when_asked_for():
    for package, homes in (("", prv._HOMES), ("mechanisms", prv.mechanisms.HOMES)):
        prefix = ".".join(filter(None, ("prvcore", package)))
        names, public = stub_of(package)
        assert names == {n: f"{prefix}.{home}" for home, ns in homes.items() for n in ns}
        assert sorted(public) == sorted((prv.mechanisms if package else prv).__all__)


def test_dir_lists_what_is_not_loaded_yet():
    assert set(prv.__all__) <= set(dir(prv))
    assert set(prv.mechanisms.__all__) <= set(dir(prv.mechanisms))


THREADS = """
import threading
import prvcore as prv

failed, names = [], {names}
together = threading.Barrier(len(names))

def ask(name):
    together.wait()
    try:
        getattr(prv, name)
    except BaseException as error:
        failed.append(repr(error))

threads = [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""


@pytest.mark.slow
def test_threads_may_ask_for_names_at_once(tmp_path):
    names = ["Gaussian", "compose", "Accountant", "calibrate", "dpsgd_epsilon", "Bounds", "explain"]
    for _ in range(8):  # each of which failed every second time
        program = [sys.executable, "-c", THREADS.replace("{names}", repr(names))]
        subprocess.run(program, check=True, cwd=tmp_path)  # not where the sources are
