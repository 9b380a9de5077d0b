"""The names that users see: where public things say that they are from, and modules that moved."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

__all__ = [
    "FORMER_MODULES",
    "by_name",
    "did_you_mean",
    "find_former_modules",
    "hinting",
    "known_elsewhere",
    "likeliest",
    "loaded_when_asked",
    "public",
    "question",
    "unknown_argument",
]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Thing = TypeVar("_Thing")
_Kind: TypeAlias = Literal["argument", "method", "global", "command"]

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

# What other libraries and other people call an argument.
_ARGUMENTS_ALSO_CALLED = {
    "noise_multiplier": "noise noise_scale noise_std scale sigma std stddev standard_deviation",
    "scale": "b",
    "sampling_probability": "p probability q rate sample_rate sampling_prob sampling_rate",
    "steps": "count counts iterations k n_steps num_compositions num_steps",
    "count": "counts iterations k n_steps num_compositions num_steps steps",
    "counts": "count iterations k n_steps num_compositions num_steps steps",
    "epsilon": "eps target_epsilon target_eps",
    "delta": "target_delta",
    "dataset_size": "n n_samples num_records num_samples sample_size",
    "batch_size": "expected_batch_size",
    "epochs": "n_epochs num_epochs",
    "neighbors": "adjacency neighboring_relation neighbouring_relation relation",
    "eps_error": "epsilon_error",
    # words that an argument may have
    "add-or-remove": "add-remove add-or-remove-one both unbounded",
    "replace-one": "bounded change-one replace replacement substitute substitution swap",
    "fixed-size": "fixed swor uniform without-replacement wor",
    "trade-off": "beta power roc",
    "random-allocation": "allocation redrawn-bins",
    "balls-in-bins": "bins fixed-bin",
}
_OF_TRAINING = ("batch_size", "dataset_size", "epochs")
# The words of errors that say nothing of the argument that is meant.
_OF_PYTHON = ("got an unexpected keyword argument", "missing ")
# The words of those about arguments without names, which are more than can be.
_TOO_MANY = re.compile(r"takes (from \d+ to )?\d+ positional arguments? but \d+ (was|were) given$")

# What other libraries call a method of an object that does the same here.
_METHODS_ALSO_CALLED = {
    # of a plan
    "sampling_probability": "q sample_rate sampling_rate",
    "steps": "n_steps num_steps total_steps",
    # of a filter, whose epsilon is the budget
    "spent": "compute_epsilon get_eps get_epsilon get_privacy_spent",
    "epsilon": "compute_epsilon get_eps get_epsilon get_epsilon_for_delta get_privacy_spent",
    "delta": "compute_delta get_delta get_delta_for_epsilon",
    "noise_multiplier": "find_noise_multiplier get_noise_multiplier",
    "add": "compose record",
    "gaussian_mu": "gdp get_mu mu",
    "power": "roc tpr true_positive_rate",
    "renyi_divergence": "get_rdp rdp renyi renyi_dp",
    "total_variation": "advantage membership_advantage total_variation_distance tv",
    "trade_off": "beta fnr tradeoff",
    # of an odometer
    "read": "epsilon eps get_epsilon spent",
    # of results
    "upper": "eps epsilon upper_bound value",
    "value": "noise noise_multiplier sigma",
    "to_json": "save state_dict",
    "from_json": "load load_state_dict",
}
# What they call a function or a class.
_GLOBALS_ALSO_CALLED = {
    "Accountant": "PLDAccountant PRVAccountant PrivacyAccountant RDPAccountant RdpAccountant",
    "ApproximateDP": "ApproximateDPMechanism",
    "BoundedRange": "ExponentialMechanism",
    "DiscreteGaussian": "DiscreteGaussianMechanism",
    "DiscreteLaplace": "DiscreteLaplaceDpEvent DiscreteLaplaceMechanism",
    "Gaussian": "GDP GaussianDP GaussianDpEvent GaussianMechanism",
    "Laplace": "LaplaceDpEvent LaplaceMechanism",
    "PoissonSubsampled": "PoissonSampledDpEvent",
    "PoissonSubsampledGaussian": "PoissonSubsampledGaussianMechanism SampledGaussian "
    "SubsampledGaussian SubsampledGaussianMechanism",
    "PrivacyCurve": "PrivacyLossDistribution",
    "PureDP": "PureDPMechanism",
    "RandomizedResponse": "RandomizedResponseDpEvent",
    "SubsampledWithoutReplacement": "SampledWithoutReplacementDpEvent",
    "calibrate": "calibrate_dp_mechanism",
    "compose": "ComposedDpEvent SelfComposedDpEvent",
    "dpsgd_epsilon": "compute_dp_sgd_privacy compute_dp_sgd_privacy_statement compute_epsilon "
    "get_epsilon get_privacy_spent",
    "dpsgd_noise_multiplier": "find_noise_multiplier get_noise_multiplier",
    "eps_from_delta": "eps epsilon",
    "delta_from_eps": "delta",
}
# What they call a command.
_COMMANDS_ALSO_CALLED = {
    "epsilon": "account compose compute eps get-epsilon spent",
    "noise": "calibrate find-noise-multiplier get-noise-multiplier noise-multiplier sigma",
    "risk": "advantage attack audit power",
    "check": "claim",
    "curve": "plot table",
    "sweep": "grid",
    "shuffled": "shuffle",
}
_ALSO_CALLED = {
    "argument": _ARGUMENTS_ALSO_CALLED,
    "method": _METHODS_ALSO_CALLED,
    "global": _GLOBALS_ALSO_CALLED,
    "command": _COMMANDS_ALSO_CALLED,
}


def public(thing: _Thing) -> _Thing:
    """Let a class or function say that it is from the package: tracebacks, pickles and pages do.

    The constructor of a dataclass tells what an argument that it does not have is called.
    """
    thing.__module__ = "prvcore"
    if isinstance(thing, type) and "__dataclass_fields__" in vars(thing):
        thing.__init__ = hinting(thing.__init__)  # type: ignore[misc]
    return thing


def likeliest(
    name: str, known: Iterable[str], kind: _Kind = "argument", *, near: bool = True
) -> str | None:
    """Return which of the names that are known is most likely meant by another one, if any is.

    Capitals, and whether words are joined by hyphens, make no difference. If not `near`, names that
    are spelt nearly so are left out: of an attribute, Python's own messages tell those.
    """
    spelt = {_spelt(each): each for each in known}
    name = _spelt(name)
    if name in spelt:
        return spelt[name]
    for here, others in _ALSO_CALLED[kind].items():
        if name in _spelt(others).split() and _spelt(here) in spelt:
            return spelt[_spelt(here)]
    if not near:
        return None
    from difflib import get_close_matches  # only errors need it

    return next((spelt[each] for each in get_close_matches(name, spelt, 1, 0.8)), None)


def _spelt(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(
    name: object,
    known: Iterable[str],
    kind: _Kind = "argument",
    *,
    near: bool = True,
    shown: Callable[[str], str] = str,
) -> str:
    """Return how an error about a name ends: with the `likeliest`, as `shown`, or with nothing."""
    meant = likeliest(name, known, kind, near=near) if isinstance(name, str) else None
    return "" if meant is None else f": {question(shown(meant))}"


def question(*meant: str) -> str:
    """Return the question whether these names are meant."""
    return f"did you mean {' and '.join(meant)}?"


def unknown_argument(function: str, name: str, known: Collection[str]) -> TypeError:
    """Return the error of an argument that a function does not have, with the one that is meant."""
    instead = f": it takes {', '.join(known)}"
    if not {"steps", "sampling_probability"}.isdisjoint(known) and likeliest(name, _OF_TRAINING):
        instead = ": dpsgd_schedule takes it"
    told = did_you_mean(name, known) or instead
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}{told}")


def hinting(
    function: Callable[_Arguments, _Result], options: type | None = None
) -> Callable[_Arguments, _Result]:
    """Let a function tell what an argument is called if it is given one that it does not have.

    Python's own message names the argument that was given, or one that is missing, and no other. If
    too many are given without names it names none, and counts the object as one.
    `options` is a `TypedDict` of what the function takes beside the arguments that it names.
    """

    @wraps(function)
    def called(*arguments: _Arguments.args, **given: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **given)
        except TypeError as error:
            known = _arguments_of(function, options)
            if _TOO_MANY.search(str(error)) and error.__traceback__.tb_next is None:  # type: ignore[union-attr]
                raise _too_many(function, len(arguments), known) from None
            first = next((name for name in given if name not in known), None)
            if first is None or not any(words in str(error) for words in _OF_PYTHON):
                raise
            raise unknown_argument(_called(function), first, known) from None

    return called


def _called(function: Callable[..., Any]) -> str:
    """Return what users call: the class, of a constructor."""
    return function.__qualname__.removesuffix(".__init__")


def _too_many(function: Callable[..., Any], given: int, known: Iterable[str]) -> TypeError:
    """Return the error of more arguments without names than a function takes, with all names."""
    kinds = {name: p.kind for name, p in inspect.signature(function).parameters.items()}
    given -= kinds.pop("self", None) is not None
    placed = {
        name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }
    shown = ", ".join(name if name in placed else f"{name}=..." for name in known)
    called = _called(function)
    number = "an argument without its name" if given == 1 else f"{given} arguments without names"
    return TypeError(f"{called}() got {number}: it is {called}({shown})")


def _arguments_of(function: Callable[..., Any], options: type | None) -> dict[str, None]:
    """Return the names of the arguments that a function takes by name, in their order."""
    *named, last = inspect.signature(function).parameters.values()
    if last.kind is not inspect.Parameter.VAR_KEYWORD:
        named.append(last)
    beside = {} if options is None else options.__annotations__
    return dict.fromkeys([*(each.name for each in named if each.name != "self"), *beside])


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
        if not options.keys() <= kinds.keys():
            first = next(name for name in options if name not in kinds)
            known = [name for name in kinds if name != "self"]
            raise unknown_argument(method.__qualname__, first, known)
        return method(*arguments, **options)

    return called


def known_elsewhere(kind: type[_Thing], **made: type) -> type[_Thing]:
    """Let objects tell what a method is called if asked for by a name that others give it.

    `made` are the kinds of what methods without arguments return, whose methods are told, too.
    """

    def find(self: _Thing, name: str) -> Any:
        told = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith("_"):
            known = {each: each for each in dir(type(self))}
            for method, returned in made.items():
                known = {each: f"{method}().{each}" for each in dir(returned)} | known
            told += did_you_mean(name, known, "method", near=False, shown=known.__getitem__)
        raise AttributeError(told)

    kind.__getattr__ = find  # type: ignore[attr-defined]  # which promises no attribute
    return kind


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
        told = f"module {package!r} has no attribute {name!r}"
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            raise AttributeError(f"{told}: import {package}.{name}")
        raise AttributeError(told + did_you_mean(name, home, "global", near=False))

    def listed() -> list[str]:
        # What the package says of itself, without what it imports: completion shows the rest.
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *sys.modules[package].__all__})

    return find, listed
