"""The names that users see: where public things say that they are from, and modules that moved."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypeVar

__all__ = ["FORMER_MODULES", "public"]

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
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: the module has all that it forwards to."""


def find_former_modules() -> None:
    """Let `import` find modules by their former names."""
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(_FormerModules())
