"""Where public names say that they are from, and modules under the names that they had."""

import contextlib
import inspect
import pickle
import subprocess
import sys
import typing
from importlib import import_module

import pytest

import prvcore as prv
from prvcore._names import FORMER_MODULES

PUBLIC = sorted(set(prv.__all__) - {"__version__"})


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_of_the_package_and_pickle_by_it(name):
    thing = getattr(prv, name)
    assert (thing.__module__, thing.__qualname__) == ("prvcore", name)
    assert pickle.loads(pickle.dumps(thing)) is thing


@pytest.mark.parametrize("name", [n for n in PUBLIC if isinstance(getattr(prv, n), type)])
def test_the_annotations_of_public_classes_are_understood(name):
    # names in strings would be looked up in prvcore, which loads them only when they are asked for
    kind = getattr(prv, name)
    bases = [base for base in kind.__mro__ if base.__module__ == "prvcore"]
    found = [inspect.get_annotations(base) for base in bases]
    assert not [kinds for kinds in found if any(isinstance(k, str) for k in kinds.values())]
    assert set(typing.get_type_hints(kind)) >= set().union(*found)


def signatures():
    """Yield what can be called, by its name, and the first line that `help` has of it."""
    for name in PUBLIC:
        thing = getattr(prv, name)
        yield name, thing
        for method, function in vars(thing).items() if isinstance(thing, type) else ():
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and not method.startswith("_"):
                yield f"{name}.{method}", function


def test_help_opens_with_signatures_that_people_can_read():
    shown = {}
    for name, thing in signatures():
        with contextlib.suppress(ValueError):  # exceptions have none
            shown[name] = str(inspect.signature(thing))
    assert len(shown) > 80
    assert not [name for name, text in shown.items() if "Buffer" in text]  # ArrayLike, expanded
    assert not [name for name, text in shown.items() if len(text) > 750]
    targets = {"calibrate", "dpsgd_noise_multiplier", "dpsgd_steps"}  # of five kinds
    functions = [name for name in shown if name[0].islower() and name not in targets]
    assert max(len(shown[name]) for name in functions) < 500


# A public name of each module as pickles of earlier versions, and programs, may have it.
FORMER = {
    "accountant": "Accountant",
    "bounds": "Bounds",
    "budgets": "PrivacyFilter",
    "calibration": "Calibration",
    "cli": "main",
    "composition": "compose",
    "curve": "PrivacyCurve",
    "errors": "TargetError",
    "explanation": "Explanation",
    "mechanisms.base": "Mechanism",
    "mechanisms.guarantees": "PureDP",
    "mechanisms.noise": "Gaussian",
    "mechanisms.own": "FromTable",
    "mechanisms.randomized_response": "RandomizedResponse",
    "mechanisms.subsampled": "PoissonSubsampled",
    "memory_limit": "set_memory_limit",
    "plotting": "plot_sweep",
    "progress": "Progress",
    "schedule": "read_schedule",
    "serialization": "mechanism_to_dict",
    "shuffling": "shuffled_lower_bound",
    "sweeps": "SweepBounds",
    "training": "TrainingSchedule",
}


def test_every_module_that_moved_is_tried():
    assert set(FORMER) >= set(FORMER_MODULES)


@pytest.mark.parametrize(("module", "name"), FORMER.items())
def test_a_pickle_finds_a_name_in_the_module_where_it_was(module, name):
    found = pickle.loads(f"cprvcore.{module}\n{name}\n.".encode())
    assert found is getattr(prv, name, found)
    assert found.__name__ == name


@pytest.mark.slow
@pytest.mark.parametrize("module", FORMER)
def test_a_program_imports_a_module_as_it_was(module, tmp_path):
    name = FORMER[module]
    program = f"import prvcore.{module}\nfrom prvcore.{module} import {name}\n"
    program += f"assert prvcore.{module}.{name} is {name}"
    # In another folder, since the sources are no package before they are compiled.
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_no_other_module_is_found():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'prvcore\.nothing'"):
        import_module("prvcore.nothing")
    with pytest.raises(AttributeError, match="module 'prvcore' has no attribute 'nothing'"):
        prv.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        import_module("prvcore.curve").nothing  # noqa: B018


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'prvcore' has no attribute 'nonsense'"):
        prv.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="nonsense"):
        from prvcore.mechanisms import nonsense  # noqa: F401


def test_a_star_imports_what_a_former_module_had():
    names = {}
    exec("from prvcore.errors import *", names)
    assert names["PrecisionError"] is prv.PrecisionError
    assert "public" not in names
