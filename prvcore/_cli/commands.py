"""What each command does with its options. A command returns its exit status, or None for 0."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from typing import Any

import numpy as np

import prvcore
from prvcore import _arguments
from prvcore._cli.composition import (
    bounds_of,
    bounds_with,
    curve_of,
    steps_of,
    swept,
    trained,
)
from prvcore._cli.output import (
    assumed,
    check_picture,
    plain_step,
    print_bounds,
    print_csv,
    print_ends,
    print_json,
    save,
)
from prvcore._explain import explain_by
from prvcore._outward import DOWN, formatted
from prvcore._targets import Targets

NO_VALUE, UNDECIDED = 3, 4  # exit statuses


def run_query(options: argparse.Namespace) -> None:
    wanted = options.command
    given = "delta" if wanted == "epsilon" else "epsilon"
    point = getattr(options, given)
    curve = curve_of(options)
    bounds = bounds_of(options, curve, wanted, point)
    if options.json:
        budget = curve.error_budget(**{given: point})
        print_json(
            {
                "query": wanted,
                given: point,
                **bounds._asdict(),
                "accurate": budget.accurate,
                "attained": budget.attained,
                "assumed": assumed(curve),
            }
        )
    else:
        print(f"{wanted} at {given} = {point!r}")
        print_bounds(bounds)
        print(f"assumed: {curve!r}")


def run_witness(options: argparse.Namespace) -> None:
    print_json(curve_of(options).witness(delta=options.delta, epsilon=options.epsilon))


def run_verify(options: argparse.Namespace) -> int:
    """Say whether the claim of a witness is proved, by a program that shares no code with this."""
    try:
        verifier = import_module("prvcore_verify")
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'prvcore[verify]'") from error
    try:
        witness = verifier.read(options.file)
        verifier.prove(witness)
    except verifier.Refused as refusal:
        print(f"not proved: {refusal}")
        return UNDECIDED
    print("proved", *verifier.in_words(witness), sep="\n")
    return 0


def run_calibration(options: argparse.Namespace) -> int:
    if options.sampler == "random-allocation" and options.schedule is None:
        options.noise_multiplier = 1.0  # a factor of which, if there are two mechanisms, is a noise
    mechanisms, counts = steps_of(options)
    parameter: Any = "steps" if options.command == "steps" else "noise_multiplier"
    targets = {name: getattr(options, name) for name in Targets.__annotations__}
    found = prvcore.calibrate(
        mechanisms,
        counts,
        parameter=parameter,
        tolerance=options.tolerance,
        neighbors=options.neighbors,
        **targets,
    )
    what = {
        ("noise", False): "least noise_multiplier",
        ("noise", True): "least factor of all noise",
        ("steps", False): "most steps",
        ("steps", True): "most repetitions of the schedule",
    }[options.command, options.schedule is not None]
    bounds = bounds_with(options, found, found.value, found.bounds)
    next_bounds = bounds_with(options, found, found.next_value or 0.0, found.next_bounds)
    status = NO_VALUE if found.value == 0 and parameter == "steps" else 0
    stated = {name: value for name, value in targets.items() if value is not None}
    if options.json:
        print_json(
            {
                "query": options.command,
                **stated,
                "parameter": found.parameter,
                "is_factor": found.is_factor and options.schedule is not None,
                "value": found.value,
                "bounds": bounds._asdict(),
                "next_value": found.next_value,
                "next_bounds": None if next_bounds is None else next_bounds._asdict(),
                "proven": found.proven,
                "assumed": assumed(found.curve),
            }
        )
        return status
    any_number = parameter == "steps" and found.next_value is None
    value = f"any number, as {found.value!r} meet it" if any_number else repr(found.value)
    quantity = found.quantity.replace("_", " ")
    target = " at ".join(f"{name} = {given!r}" for name, given in stated.items())
    if parameter == "noise_multiplier":
        value = f"{value} (rounded up: {found:.4g})"
    print(f"{what} for {target}: {value}")
    print(f"{quantity} with it")
    print_bounds(bounds)
    if next_bounds is not None:
        print(f"{quantity} with {found.next_value!r}, which does not meet the target")
        print_bounds(next_bounds)
    print(f"assumed: {found.curve!r}")
    return status


def run_risk(options: argparse.Namespace) -> None:
    """Print the advantage of a membership test, and the other risks whose points are given."""
    curve = curve_of(options)
    asked: dict[str, tuple[str, float | None]] = {
        "power": ("false_positive_rate", options.false_positive_rate),
        "bayes_risk": ("prior", options.prior),
        "gaussian_mu": ("delta", options.delta),
    }
    advantage = bounds_of(options, curve, "total_variation")
    found: dict[str, Any] = {"advantage": ({}, advantage)}
    for name, (of, point) in asked.items():
        if point is not None:
            found[name] = ({of: point}, bounds_of(options, curve, name, point))
    if options.json:
        risks = {name: {**at, **bounds._asdict()} for name, (at, bounds) in found.items()}
        print_json({"query": "risk", **risks, "assumed": assumed(curve)})
        return
    for name, (at, bounds) in found.items():
        where = "".join(f" at {of.replace('_', ' ')} = {point!r}" for of, point in at.items())
        print(f"{name.replace('_', ' ')}{where}")
        print_bounds(bounds)
    print(f"assumed: {curve!r}")


def run_report(options: argparse.Namespace) -> None:
    wanted, point = _asked(options)
    plan = trained(options)
    if plan is None:
        bounds = bounds_of(options, curve_of(options), wanted, point)
    else:
        how = {"neighbors": options.neighbors, "eps_error": options.eps_error}
        bounds = getattr(plan, wanted)(options.noise_multiplier, point, **how)
    print(bounds.report(options.digits))


def run_shuffled(options: argparse.Namespace) -> None:
    """Print a lower bound, and the upper one of all records in a known order."""
    wanted, point = _asked(options)
    given: dict[str, Any] = {"delta" if wanted == "epsilon" else "epsilon": point}
    lower = prvcore.shuffled_lower_bound(
        options.noise_multiplier,
        options.batches,
        options.epochs,
        neighbors=options.neighbors,
        **given,
    )
    epoch = prvcore.Gaussian(options.noise_multiplier)
    known_order = prvcore.compose(epoch, options.epochs, neighbors=options.neighbors)
    upper = getattr(known_order, wanted)(point).upper
    moved = None
    if options.neighbors == "add-or-remove":
        # A sensitivity of sqrt(5), as PAIRS.md has it (section 7), is that of five runs.
        moved = getattr(prvcore.compose(epoch, 5 * options.epochs), wanted)(point).upper
    if options.json:
        print_json(
            {
                "query": "shuffled",
                "wanted": wanted,
                **given,
                "lower": lower,
                "upper": upper,
                "upper_if_others_move": moved,
                "neighbors": options.neighbors,
            }
        )
        return
    record = {
        "add-or-remove": "for a record whose place stays empty if it is removed",
        "replace-one": "for a record whose place another one takes",
    }[options.neighbors]
    at = " at ".join(f"{name} = {value!r}" for name, value in given.items())
    print(f"{wanted} of shuffled batches at {at}, {record}")
    print_ends(lower, upper)
    if moved is not None:
        print(
            f"{wanted} if a removed record moves the others, the order is secret, and there are "
            "as many batches without it"
        )
        print_ends(None, moved)


def _asked(options: argparse.Namespace) -> tuple[str, float]:
    """Return what is bounded and where."""
    return ("delta", options.epsilon) if options.delta is None else ("epsilon", options.delta)


def run_check(options: argparse.Namespace) -> int:
    """Say whether a claim of (epsilon, delta) is proven, disproved or neither."""
    _arguments.non_negative(options.epsilon, "epsilon")
    curve = curve_of(options)
    epsilon: Any = bounds_of(options, curve, "epsilon", options.delta)
    delta: Any = bounds_of(options, curve, "delta", options.epsilon)
    holds = epsilon.upper <= options.epsilon or delta.upper <= options.delta
    fails = epsilon.lower > options.epsilon or delta.lower > options.delta
    verdict = "holds" if holds else "does not hold" if fails else "is not decided"
    hint = None if holds or fails else _undecided(curve, epsilon)
    if options.json:
        print_json(
            {
                "query": "check",
                "claim": {"epsilon": options.epsilon, "delta": options.delta},
                "verdict": verdict,
                "hint": hint,
                "epsilon": epsilon._asdict(),
                "delta": delta._asdict(),
                "assumed": assumed(curve),
            }
        )
    else:
        print(f"claim: epsilon = {options.epsilon!r} at delta = {options.delta!r}: {verdict}")
        if hint is not None:
            print(f"hint: {hint}")
        print(f"epsilon at delta = {options.delta!r}")
        print_bounds(epsilon)
        print(f"delta at epsilon = {options.epsilon!r}")
        print_bounds(delta)
        print(f"assumed: {curve!r}")
    return 0 if holds else NO_VALUE if fails else UNDECIDED


def _undecided(curve: prvcore.PrivacyCurve, epsilon: prvcore.Bounds[float]) -> str:
    """Return what may decide a claim that lies between the bounds."""
    if not curve.attained:
        return (
            "the claim is not proven, and no --eps-error may disprove it, since no data sets are "
            "known that reach the upper bound; a smaller --eps-error may still prove it"
        )
    width = formatted(epsilon.upper - epsilon.lower, ".1g", DOWN)
    return f"the claim lies between the bounds; an --eps-error below {width} may decide it"


def run_curve(options: argparse.Namespace) -> None:
    check_picture(options.plot)
    curve = curve_of(options)
    epsilons = options.epsilons
    if epsilons is None:
        levels = curve.delta(0.0).upper * np.array([1e-10, 1e-6, 1e-3, 0.5])
        reached = [e for e in curve.epsilon(levels).upper if 0.0 < e < math.inf]
        epsilons = np.linspace(0.0, reached[0] if reached else 1.0, 50).tolist()
    bounds = bounds_of(options, curve, "delta", epsilons)
    rows = list(zip(epsilons, *(part.tolist() for part in bounds), strict=True))
    if options.plot is not None:
        save(curve.plot("delta", epsilons=epsilons), options.plot)
    if options.json:
        names = ("epsilon", *bounds._fields)
        print_json(
            {
                "query": "curve",
                "points": [dict(zip(names, row, strict=True)) for row in rows],
                "attained": curve.attained,
                "assumed": assumed(curve),
            }
        )
    else:
        print_csv(("epsilon", "delta_lower", "delta_estimate", "delta_upper"), rows)


def run_sweep(options: argparse.Namespace) -> None:
    check_picture(options.plot)
    names, bounds = swept(options)
    columns = [*(bounds.settings[name] for name in names), *bounds]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    if options.plot is not None:
        save(bounds.plot(), options.plot)
    if options.json:
        fields = (*names, *bounds._fields)
        print_json(
            {
                "query": "sweep",
                "points": [dict(zip(fields, row, strict=True)) for row in rows],
                "assumed": {
                    "neighbors": options.neighbors,
                    "eps_error": options.eps_error,
                    "sampler": options.sampler,
                },
            }
        )
    else:
        print_csv((*names, "epsilon_lower", "epsilon_estimate", "epsilon_upper"), rows)


def run_explanation(options: argparse.Namespace) -> None:
    curve = curve_of(options)
    found = explain_by(
        lambda part: bounds_of(options, part, "epsilon", options.delta), curve, options.delta
    )
    if not options.json:
        print(found)
        return
    print_json(
        {
            "query": "explain",
            "delta": options.delta,
            "epsilon": found.epsilon._asdict(),
            "other_direction": None
            if found.other_direction is None
            else found.other_direction._asdict(),
            "steps": [
                {
                    "step": plain_step(step.mechanism, step.count),
                    "alone": step.alone._asdict(),
                    "without": step.without._asdict(),
                }
                for step in found.steps
            ],
            "budget": found.budget._asdict(),
            "assumed": assumed(curve),
        }
    )
