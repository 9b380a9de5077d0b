"""The names that users see: where public things say that they are from, and modules that moved."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

__all__ = ["FORMER_MODULES", "by_name", "find_former_modules", "loaded_when_asked", "public"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Thing = TypeVar("_Thing")

# Where the public names of modules are that were importable in an earlier version.
FORMER_MODULES = {
    "accountant": "budgets.accountant",
    "bounds": "_bounds",
    "calibration": "_calibrate",
    "cli": "_cli",
    "composition": "_compose",
    "curve": "_curve",
    "errors": "_errors",
    "explanation": "_explain",
    "mechanisms.own": "mechanisms.custom",
    "mechanisms.randomized_response": "mechanisms.guarantees",
    "memory_limit": "_settings",
    "plotting": "_plot",
    "progress": "_progress",
    "schedule": "files.schedule",
    "serialization": "files.mechanisms",
    "shuffling": "dpsgd.shuffled",
    "sweeps": "dpsgd.sweeps",
    "training": "dpsgd.plan",
}


def public(thing: _Thing) -> _Thing:
    """Let a class or function say that it is from the package: tracebacks, pickles and pages do."""
    thing.__module__ = "prvcore"
    return thing


def by_name(method: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let what takes arguments by name tell the names if it is given them without.

    Python's own message is about how many were given, and tells no names.
    """
    kinds = {name: p.kind for name, p in inspect.signature(method).parameters.items()}
    named = {name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY}
    most = len(kinds) - len(named)
    shown = [f"{name}=..." if name in named else name for name in kinds if name != "self"]
    which = "its arguments" if most == ("self" in kinds) else "its last arguments"
    message = f"{method.__qualname__} takes {which} by name: {method.__name__}({', '.join(shown)})"

    @wraps(method)
    def called(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        if len(arguments) > most:
            raise TypeError(message)
        return method(*arguments, **options)

    return called


class _FormerModules:
    """Finds modules by their former names; Python asks it only for names that nothing else has.

    Pickles and programs that were written for an earlier version have such names.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        package, _, module = name.partition(".")
        if package != "prvcore" or module not in FORMER_MODULES:
            return None
        return ModuleSpec(name, _FormerModules())  # type: ignore[arg-type]  # what it has is enough

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        present = import_module(f"prvcore.{FORMER_MODULES[spec.name.partition('.')[2]]}")
        module = ModuleType(spec.name, present.__doc__)
        module.__dict__["__getattr__"] = lambda name: getattr(present, name)
        # what a star imports, which asks for no attribute
        star = [name for name in vars(present) if not name.startswith("_")]
        module.__dict__["__all__"] = list(getattr(present, "__all__", star))
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: the module has all that it forwards to."""


def find_former_modules() -> None:
    """Let `import` find modules by their former names."""
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(_FormerModules())


def loaded_when_asked(
    package: str, homes: dict[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, as PEP 562 has them.

    `homes` has the public names by the modules of the package that they are in. A module is loaded
    when one of its names, or the module itself, is first asked for.
    """
    home = {name: module for module, names in homes.items() for name in names}
    modules = {module.partition(".")[0] for module in homes}
    inner = package.partition(".")[2]
    former = (name.rpartition(".") for name in FORMER_MODULES)
    modules |= {module for parent, _, module in former if parent == inner}

    def find(name: str) -> Any:
        if name in home:
            found = getattr(import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[package], name, found)  # asked for once only
            return found
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        # What the package says of itself, without what it imports: completion shows the rest.
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *sys.modules[package].__all__})

    return find, listed
