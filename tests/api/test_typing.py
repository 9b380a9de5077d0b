"""What annotations say is what there is: options that are passed on, and stubs of Cython."""

import ast
import inspect
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import prvcore as prv
from prvcore import _scaled_steps, _settings, _targets
from prvcore._core import composition, fft_plans, mechanism, status
from prvcore.dpsgd import plan, shuffled, sweeps


def keywords(function):
    """Return the keyword arguments of a function that can be given by name alone."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def options(of):
    return set(get_type_hints(of))


def test_options_that_are_passed_on_are_those_of_the_function():
    assert options(_settings.ComposeOptions) == keywords(prv.compose)
    assert options(_settings.WidthOptions) == keywords(prv.compose) - {"neighbors"}
    assert options(_settings.How) == keywords(prv.PrivacyCurve.epsilon)
    assert options(_settings.QueryOptions) == keywords(prv.compose) | keywords(prv.eps_from_delta)
    chosen = options(_targets.Targets) | {"parameter", "after"}
    calibration = keywords(prv.calibrate) - chosen - options(_settings.How)
    assert options(_settings.CalibrateOptions) == calibration
    how = keywords(prv.dpsgd_epsilon) - {"sampler"}  # of DP-SGD alone
    assert options(sweeps.SweepOptions) == how | options(_settings.ComposeOptions)
    assert options(sweeps.SweepCalibrateOptions) == how | calibration


@pytest.mark.parametrize(
    "call",
    [
        *(
            getattr(prv.PrivacyCurve, name)
            for name in ("delta", "power", "bayes_risk", "total_variation", "gaussian_mu")
        ),
        prv.PrivacyCurve.renyi_divergence,
        prv.PrivacyCurve.error_budget,
        prv.Accountant.epsilon,
        prv.Accountant.delta,
        prv.Accountant.remaining_steps,
        prv.eps_from_delta,
        prv.delta_from_eps,
        prv.shuffled_lower_bound,
        prv.calibrate,
        prv.dpsgd_epsilon,
        prv.dpsgd_delta,
        prv.dpsgd_noise_multiplier,
        prv.dpsgd_steps,
    ],
    ids=lambda call: call.__qualname__,
)
def test_every_call_that_computes_has_the_same_arguments_for_how(call):
    of_call = get_type_hints(call)
    for name, kind in get_type_hints(_settings.How).items():
        parameter = inspect.signature(call).parameters[name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert of_call[name] == kind
        assert parameter.default is (False if name == "progress" else None)


@pytest.mark.parametrize(
    ("choices", "ask", "name"),
    [
        (_settings.Neighbors, lambda **o: prv.compose(prv.Gaussian(1.0), **o), "neighbors"),
        (_settings.Discretization, lambda **o: prv.compose([], **o), "discretization"),
        (_settings.Engine, lambda **o: prv.compose([], **o), "engine"),
        (
            _scaled_steps.Parameter,
            lambda **o: prv.calibrate(prv.Gaussian(1.0), epsilon=1.0, delta=0.1, **o),
            "parameter",
        ),
        (plan.Rounding, lambda **o: prv.dpsgd_schedule(10, 5, 1, **o), "rounding"),
        (
            shuffled.ShuffledNeighbors,
            lambda **o: prv.shuffled_lower_bound(1.0, 2, delta=0.1, **o),
            "neighbors",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_all_choices_that_are_annotated_are_taken_and_no_other(choices, ask, name):
    for choice in get_args(choices):
        if choice == "sampling_probability":
            continue  # which Gaussian noise has not
        ask(**{name: choice})
    told = ", ".join(map(repr, get_args(choices)))
    with pytest.raises(ValueError, match=f"{name} must be one of {told}, got 'other'"):
        ask(**{name: "other"})


def arguments(node):
    """Return the arguments that a stub says a function has: by place, and by name alone."""
    names = [argument.arg for argument in node.args.args]
    return names, {argument.arg for argument in node.args.kwonlyargs}


@pytest.mark.parametrize("module", [composition, fft_plans, mechanism, status])
def test_stubs_of_cython_say_what_there_is(module):
    path = Path(prv.__file__).parent / "_core" / f"{module.__name__.rpartition('.')[2]}.pyi"
    tree = ast.parse(path.read_text("utf-8"))
    found = [(module, node) for node in tree.body]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found += [(getattr(module, node.name), inner) for inner in node.body]
    functions = [(where, node) for where, node in found if isinstance(node, ast.FunctionDef)]
    assert functions
    for where, node in functions:
        if node.name == "__init__":  # Cython has it in __cinit__, of which nothing is known here
            continue
        signature = inspect.signature(getattr(where, node.name)).parameters.values()
        names, by_name = arguments(node)
        positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
        assert [p.name for p in signature if p.kind in positional] == names, node.name
        there = {p.name for p in signature if p.kind is inspect.Parameter.KEYWORD_ONLY}
        some = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature)
        assert there <= by_name if some else there == by_name, node.name
    listed = {node.name for where, node in functions if where is module}
    there = {name for name, value in vars(module).items() if inspect.isroutine(value)}
    imported = {"check_cdf", "check_cdf_pair", "check_curve"}
    assert {name for name in there - imported if name[0] != "_"} == listed
