"""The command `prvcore`: bounds of epsilon and delta, calibration, sweeps and explanations.

Numbers are printed rounded outward, the lower bound down and the upper bound up. With --json they
are printed exactly, and infinite ones are the strings "inf" and "-inf", since JSON has no infinite
numbers. Warnings go to the standard error.

The exit status is 0; 2 if an option is bad or no answer can be given, which one line on the
standard error explains; 3 if no noise or number of steps meets the target, or a claim is not
proven; 1 if the reader of the output stopped reading; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import product
from typing import Any, NoReturn

import numpy as np

import prvcore
from prvcore._explain import explain
from prvcore._outward import DOWN, NEAREST, UP, formatted
from prvcore.files.mechanisms import mechanism_to_dict
from prvcore.files.schedule import read_schedule

_FORMAT = ".10g"  # of bounds, rounded outwards
_MOST_WHOLE_DIGITS = 30  # 1e999999 is no number to write out
_CUT_OFF, _BAD_OPTION, _NO_VALUE, _INTERRUPTED = 1, 2, 3, 130
_OPTIONS = {  # how the library's messages name what the options set
    "noise_multiplier": "--noise-multiplier",
    "sampling_probability": "--sampling-probability",
    "counts": "--steps",
    "steps": "--steps",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "eps_error": "--eps-error",
    "delta_relative_error": "--delta-relative-error",
    "neighbors": "--neighbors",
    "tolerance": "--tolerance",
    "limit": "--memory-limit",
    "memory_limit": "--memory-limit",
    "dataset_size": "--dataset-size",
    "batch_size": "--batch-size",
    "epochs": "--epochs",
    "loader": "--loader",
    "drop_last": "--drop-last",
    "workers": "--workers",
}


class _Once(argparse.Action):
    """Keeps the value of an option, which must not be given again."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        given = namespace.__dict__.setdefault("given", set())
        if self.dest in given:
            raise argparse.ArgumentError(self, "given more than once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def error(self, message: str) -> NoReturn:
        self.exit(_BAD_OPTION, f"{self.prog}: error: {message}\n")


# ---- Values of options ---------------------------------------------------------------------------


def _number(text: str) -> float:
    """Return a number, or the quotient of two: 256/60000."""
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be a number, or a quotient such as 256/60000, got {text!r}"
        ) from None


def _whole(text: str) -> int:
    """Return a whole number: 1000000, or 1e6."""
    try:
        number = Decimal(text)
        if number.adjusted() < _MOST_WHOLE_DIGITS and number == number.to_integral_value():
            return int(number)
    except InvalidOperation:
        pass
    raise argparse.ArgumentTypeError(f"must be a whole number such as 1000 or 1e6, got {text!r}")


def _bytes(text: str) -> int:
    """Return a number of bytes, of which there may be 1GB (1e9) or 1GiB (2^30)."""
    found = re.fullmatch(r"([0-9.eE+]+?)\s*(?:([kKMGT])(i?)B)?", text)
    if found is not None:
        number, prefix, binary = found.groups()
        power = "KMGT".index(prefix.upper()) + 1 if prefix else 0
        try:
            return int(Decimal(number) * (1024 if binary else 1000) ** power)
        except (InvalidOperation, ValueError, OverflowError):
            pass
    raise argparse.ArgumentTypeError(
        f"must be a number of bytes such as 500000000, 500MB or 2GiB, got {text!r}"
    )


# ---- Options -----------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="prvcore", description="Certified numerical privacy accounting.")
    parser.add_argument("--version", action="version", version=f"prvcore {prvcore.__version__}")
    _add_completion(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (run, add_options, summary) in _COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        add_options(command)
        command.set_defaults(run=run, parser=command)
    return parser


def _add_completion(parser: argparse.ArgumentParser) -> None:
    try:
        import shtab
    except ImportError:
        parser.add_argument(
            "--print-completion",
            metavar="SHELL",
            type=_no_completion,
            help="print a completion script (needs shtab: pip install 'prvcore[completion]')",
        )
    else:
        shtab.add_argument_to(parser, "--print-completion", help="print a completion script")


def _no_completion(shell: str) -> NoReturn:
    raise argparse.ArgumentTypeError(
        f"a script for {shell} needs shtab, which is not installed: "
        "pip install 'prvcore[completion]'"
    )


def _add_composition(
    command: argparse.ArgumentParser, *, noise: bool = True, steps: bool = True
) -> None:
    """Add what says which mechanisms run: a Gaussian on samples, or a file."""
    command.add_argument(
        "--noise-multiplier",
        type=_number,
        metavar="S",
        help="standard deviation of Gaussian noise over the sensitivity, >= 0"
        + ("" if noise else " (where the search starts; default: 1)"),
    )
    command.add_argument(
        "--sampling-probability",
        type=_number,
        metavar="P",
        help="of each record in each step, in [0, 1], such as 256/60000; 1: no sampling",
    )
    if steps:
        command.add_argument(
            "--steps", type=_whole, metavar="K", help="how often it runs, >= 0, such as 1e6"
        )
    _add_training(command, epochs=steps)
    command.add_argument(
        "--schedule",
        metavar="FILE",
        help="instead of these: a .toml or .json file of steps, or JSON that this command has "
        "printed; - is the standard input",
    )
    _add_relation(command)


def _add_training(command: argparse.ArgumentParser, *, epochs: bool, many: bool = False) -> None:
    """Add the terms of training, which stand for a sampling probability and steps."""
    more: dict[str, Any] = {"nargs": "+"} if many else {}
    command.add_argument(
        "--dataset-size",
        type=_whole,
        metavar="N",
        help="instead of --sampling-probability"
        + (" and --steps" if epochs else "")
        + ": number of records",
        **more,
    )
    command.add_argument(
        "--batch-size", type=_whole, metavar="B", help="expected records in a batch", **more
    )
    if epochs:
        command.add_argument(
            "--epochs", type=_number, metavar="E", help="how often over the data set", **more
        )
    command.add_argument(
        "--loader",
        choices=("poisson", "opacus"),
        default="poisson",
        help="what draws the batches (default: poisson)",
    )
    command.add_argument(
        "--drop-last", action="store_true", help="of --loader opacus: as its PyTorch loader has it"
    )


def _add_relation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--neighbors",
        choices=("add-or-remove", "add", "remove", "replace-one"),
        default="add-or-remove",
        help="neighbouring relation (default: add-or-remove, the worse of both)",
    )
    command.add_argument(
        "--memory-limit",
        type=_bytes,
        metavar="BYTES",
        help="of the largest buffers, such as 500MB or 2GiB (default: 1GiB)",
    )


def _add_width(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--eps-error",
        type=_number,
        metavar="W",
        help="greatest width of the bounds in epsilon (default: 1e-3 * max(epsilon, 1e-3))",
    )


def _add_width_of_delta(command: argparse.ArgumentParser) -> None:
    _add_width(command)
    command.add_argument(
        "--delta-relative-error",
        type=_number,
        default=1e-3,
        metavar="W",
        help="or of this part of delta, whichever is met first, in [0, 1); "
        "0: in epsilon alone (default: 1e-3)",
    )


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _add_delta(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--delta", type=_number, required=True, metavar="D", help="a probability in [0, 1]"
    )


def _add_epsilon_query(command: argparse.ArgumentParser) -> None:
    _add_delta(command)
    _add_composition(command)
    _add_width(command)
    _add_json(command)


def _add_delta_query(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=_number, required=True, metavar="E", help="in nats, of either sign"
    )
    _add_composition(command)
    _add_width_of_delta(command)
    _add_json(command)


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=_number, required=True, metavar="E", help="the target, nats, >= 0"
    )
    _add_delta(command)
    command.add_argument(
        "--tolerance",
        type=_number,
        default=1e-4,
        metavar="T",
        help="relative, of the answer, in [1e-9, 0.1] (default: 1e-4)",
    )
    _add_json(command)


def _add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=_number, required=True, metavar="E", help="the claim, nats, >= 0"
    )
    _add_delta(command)
    _add_composition(command)
    _add_width_of_delta(command)
    _add_json(command)


def _add_noise(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    _add_composition(command, noise=False)


def _add_steps(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    _add_composition(command, steps=False)


def _add_curve(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilons",
        type=_number,
        nargs="+",
        metavar="E",
        help="nats (default: 50 from 0 to where delta is 1e-10 of its greatest)",
    )
    command.add_argument("--plot", metavar="FILE", help="draw it too, as .png, .pdf or .svg")
    _add_composition(command)
    _add_width_of_delta(command)
    _add_json(command)


def _add_sweep(command: argparse.ArgumentParser) -> None:
    for option, kind, required, what in (
        ("--noise-multiplier", _number, True, "standard deviations of the noise, >= 0"),
        ("--sampling-probability", _number, False, "probabilities in [0, 1]"),
        ("--steps", _whole, False, "counts, >= 0"),
        ("--delta", _number, True, "probabilities in [0, 1]"),
    ):
        command.add_argument(
            option, type=kind, nargs="+", required=required, metavar="X", help=what
        )
    _add_training(command, epochs=True, many=True)
    command.add_argument(
        "--plot", metavar="FILE", help="draw epsilon against steps, as .png, .pdf, .svg"
    )
    command.add_argument(
        "--workers", type=_whole, metavar="N", help="threads (default: one a core)"
    )
    command.add_argument("--progress", action="store_true", help="show a bar (needs tqdm)")
    _add_relation(command)
    _add_width(command)
    _add_json(command)


# ---- What is composed ----------------------------------------------------------------------------


_SINGLE = ("noise_multiplier", "sampling_probability", "steps")
_TRAINING = ("dataset_size", "batch_size", "epochs")


def _steps_of(options: argparse.Namespace) -> Any:
    """Return what `compose` takes as mechanisms and counts."""
    given = [name for name in (*_SINGLE, *_TRAINING) if _given(options, name)]
    if options.schedule is not None:
        if given:
            options.parser.error(f"argument {_OPTIONS[given[0]]}: not allowed with --schedule")
        return _schedule(options.schedule), None
    ((probability, steps),) = _sampling(options)
    noise = options.noise_multiplier
    if noise is None:
        if options.command != "noise":
            options.parser.error("--noise-multiplier or --schedule is required")
        noise = 1.0  # where the search starts
    return prvcore.PoissonSubsampledGaussian(noise, probability), steps


def _given(options: argparse.Namespace, name: str) -> bool:
    return getattr(options, name, None) is not None


def _sampling(options: argparse.Namespace) -> list[Any]:
    """Return pairs of a sampling probability and steps; no steps if they are what is asked."""
    wanted = [name for name in _SINGLE[1:] if name in options]
    epochs = "epochs" in options
    training = [name for name in _TRAINING if name in options]
    given = [name for name in training if _given(options, name)]
    own = [name for name in wanted if _given(options, name)]
    if own and given:
        options.parser.error(f"argument {_OPTIONS[own[0]]}: not allowed with {_OPTIONS[given[0]]}")
    needed = training if given else wanted
    missing = [name for name in needed if not _given(options, name)]
    if missing:
        other = [] if given else [f"{_OPTIONS[name]}" for name in training]
        instead = f" (or {', '.join(other)}, or --schedule)" if other and not own else ""
        hint = ": 1 if nothing is sampled" if missing[0] == "sampling_probability" and own else ""
        options.parser.error(f"{_OPTIONS[missing[0]]} is required{hint}{instead}")
    if not given:
        if options.loader != "poisson" or options.drop_last:
            options.parser.error("--loader and --drop-last need --dataset-size and --batch-size")
        return list(product(*(_listed(getattr(options, name, None)) for name in _SINGLE[1:])))
    plans = [
        prvcore.dpsgd_schedule(*setting, loader=options.loader, drop_last=options.drop_last)
        for setting in product(*(_listed(getattr(options, name, 1)) for name in _TRAINING))
    ]
    return [(plan.sampling_probability, plan.steps if epochs else None) for plan in plans]


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _schedule(name: str) -> Any:
    return read_schedule(sys.stdin.buffer if name == "-" else name)


def _curve_of(options: argparse.Namespace) -> prvcore.PrivacyCurve:
    mechanisms, counts = _steps_of(options)
    widths = {"eps_error": options.eps_error}
    if "delta_relative_error" in options:  # of the commands that ask for a delta
        widths["delta_relative_error"] = options.delta_relative_error
    return prvcore.compose(mechanisms, counts, neighbors=options.neighbors, **widths)


# ---- Commands ------------------------------------------------------------------------------------


def _query(options: argparse.Namespace) -> None:
    wanted = options.command
    given = "delta" if wanted == "epsilon" else "epsilon"
    point = getattr(options, given)
    curve = _curve_of(options)
    bounds = getattr(curve, wanted)(point)
    if options.json:
        budget = curve.error_budget(**{given: point})
        _print_json(
            {
                "query": wanted,
                given: point,
                **bounds._asdict(),
                "accurate": budget.accurate,
                "attained": budget.attained,
                "assumed": _assumed(curve),
            }
        )
    else:
        print(f"{wanted} at {given} = {point!r}")
        _print_bounds(bounds)
        print(f"assumed: {curve!r}")


def _calibrate(options: argparse.Namespace) -> int:
    mechanisms, counts = _steps_of(options)
    parameter: Any = "steps" if options.command == "steps" else "noise_multiplier"
    found = prvcore.calibrate(
        mechanisms,
        counts,
        epsilon=options.epsilon,
        delta=options.delta,
        parameter=parameter,
        tolerance=options.tolerance,
        neighbors=options.neighbors,
    )
    what = {
        ("noise", False): "least noise_multiplier",
        ("noise", True): "least factor of all noise",
        ("steps", False): "most steps",
        ("steps", True): "most repetitions of the schedule",
    }[options.command, options.schedule is not None]
    status = _NO_VALUE if found.value == 0 and parameter == "steps" else 0
    if options.json:
        _print_json(
            {
                "query": options.command,
                "epsilon": options.epsilon,
                "delta": options.delta,
                "value": found.value,
                "bounds": found.bounds._asdict(),
                "next_value": found.next_value,
                "next_bounds": None if found.next_bounds is None else found.next_bounds._asdict(),
                "proven": found.proven,
                "assumed": _assumed(found.curve),
            }
        )
        return status
    any_number = parameter == "steps" and found.next_value is None
    value = f"any number, as {found.value!r} meet it" if any_number else repr(found.value)
    print(f"{what} for epsilon = {options.epsilon!r} at delta = {options.delta!r}: {value}")
    print("epsilon with it")
    _print_bounds(found.bounds)
    if found.next_bounds is not None:
        print(f"epsilon with {found.next_value!r}, which does not meet the target")
        _print_bounds(found.next_bounds)
    print(f"assumed: {found.curve!r}")
    return status


def _check(options: argparse.Namespace) -> int:
    """Say whether a claim of (epsilon, delta) is proven, disproved or neither."""
    curve = _curve_of(options)
    epsilon: Any = curve.epsilon(options.delta)
    delta: Any = curve.delta(options.epsilon)
    holds = epsilon.upper <= options.epsilon or delta.upper <= options.delta
    fails = epsilon.lower > options.epsilon or delta.lower > options.delta
    verdict = "holds" if holds else "does not hold" if fails else "is not decided"
    if options.json:
        _print_json(
            {
                "query": "check",
                "claim": {"epsilon": options.epsilon, "delta": options.delta},
                "verdict": verdict,
                "epsilon": epsilon._asdict(),
                "delta": delta._asdict(),
                "assumed": _assumed(curve),
            }
        )
    else:
        print(f"claim: epsilon = {options.epsilon!r} at delta = {options.delta!r}: {verdict}")
        print(f"epsilon at delta = {options.delta!r}")
        _print_bounds(epsilon)
        print(f"delta at epsilon = {options.epsilon!r}")
        _print_bounds(delta)
        print(f"assumed: {curve!r}")
    return 0 if holds else _NO_VALUE


def _curve(options: argparse.Namespace) -> None:
    curve = _curve_of(options)
    epsilons = options.epsilons
    if epsilons is None:
        levels = curve.delta(0.0).upper * np.array([1e-10, 1e-6, 1e-3, 0.5])
        reached = [e for e in curve.epsilon(levels).upper if 0.0 < e < math.inf]
        epsilons = np.linspace(0.0, reached[0] if reached else 1.0, 50).tolist()
    bounds = curve.delta(epsilons)
    rows = list(zip(epsilons, *(part.tolist() for part in bounds), strict=True))
    if options.plot is not None:
        _save(curve.plot("delta", epsilons=epsilons), options.plot)
    if options.json:
        names = ("epsilon", *bounds._fields)
        _print_json(
            {
                "query": "curve",
                "points": [dict(zip(names, row, strict=True)) for row in rows],
                "attained": curve.attained,
                "assumed": _assumed(curve),
            }
        )
    else:
        _print_csv(("epsilon", "delta_lower", "delta_estimate", "delta_upper"), rows)


def _sweep(options: argparse.Namespace) -> None:
    names = ("noise_multiplier", "sampling_probability", "steps", "delta")
    settings = [
        (noise, probability, steps, delta)
        for noise, (probability, steps), delta in product(
            options.noise_multiplier, _sampling(options), options.delta
        )
    ]
    bounds = prvcore.dpsgd_epsilon(
        *map(list, zip(*settings, strict=True)),
        workers=options.workers,
        progress=options.progress,
        eps_error=options.eps_error,
        neighbors=options.neighbors,
    )
    found = zip(*(part.tolist() for part in bounds), strict=True)
    rows = [(*setting, *at) for setting, at in zip(settings, found, strict=True)]
    if options.plot is not None:
        _save(bounds.plot(), options.plot)
    if options.json:
        fields = (*names, *bounds._fields)
        _print_json(
            {
                "query": "sweep",
                "points": [dict(zip(fields, row, strict=True)) for row in rows],
                "assumed": {"neighbors": options.neighbors, "eps_error": options.eps_error},
            }
        )
    else:
        _print_csv((*names, "epsilon_lower", "epsilon_estimate", "epsilon_upper"), rows)


def _explain(options: argparse.Namespace) -> None:
    curve = _curve_of(options)
    found = explain(curve, options.delta)
    if not options.json:
        print(found)
        return
    _print_json(
        {
            "query": "explain",
            "delta": options.delta,
            "epsilon": found.epsilon._asdict(),
            "other_direction": None
            if found.other_direction is None
            else found.other_direction._asdict(),
            "steps": [
                {
                    "step": _plain_step(step.mechanism, step.count),
                    "alone": step.alone._asdict(),
                    "without": step.without._asdict(),
                }
                for step in found.steps
            ],
            "budget": found.budget._asdict(),
            "assumed": _assumed(curve),
        }
    )


_COMMANDS: dict[
    str,
    tuple[
        Callable[[argparse.Namespace], int | None], Callable[[argparse.ArgumentParser], None], str
    ],
] = {
    "epsilon": (_query, _add_epsilon_query, "bound epsilon at a given delta"),
    "delta": (_query, _add_delta_query, "bound delta at a given epsilon"),
    "noise": (_calibrate, _add_noise, "find the least noise that meets a target"),
    "steps": (_calibrate, _add_steps, "find how many steps a target allows"),
    "check": (_check, _add_check, "check a claimed epsilon and delta"),
    "curve": (_curve, _add_curve, "tabulate or draw delta against epsilon"),
    "sweep": (_sweep, _add_sweep, "bound epsilon of DP-SGD at every combination of settings"),
    "explain": (_explain, _add_epsilon_query, "say what an epsilon and its error come from"),
}


# ---- Output --------------------------------------------------------------------------------------


def _assumed(curve: prvcore.PrivacyCurve) -> dict[str, Any]:
    return {
        "steps": [
            _plain_step(mechanism, count)
            for mechanism, count in zip(curve.mechanisms, curve.counts, strict=True)
        ],
        "neighbors": curve.neighbors,
        "discretization": curve.discretization,
        "eps_error": curve.eps_error,
        "delta_relative_error": curve.delta_relative_error,
    }


def _plain_step(mechanism: prvcore.Mechanism, count: int) -> dict[str, Any]:
    """Return a step as schedules have it."""
    return {**mechanism_to_dict(mechanism), "count": count}


def _print_json(values: dict[str, Any]) -> None:
    print(json.dumps(_finite(values), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _print_csv(names: Sequence[str], rows: Iterable[Sequence[float]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def _print_bounds(bounds: prvcore.Bounds[Any]) -> None:
    print(f"  lower     {formatted(bounds.lower, _FORMAT, DOWN)}")
    print(f"  estimate  {formatted(bounds.estimate, _FORMAT, NEAREST)}")
    print(f"  upper     {formatted(bounds.upper, _FORMAT, UP)}")


def _save(axes: Any, path: str) -> None:
    axes.figure.savefig(path, dpi=150)


# ---- The process ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process if left out.

    Returns
    -------
    int
        0, 1 or 130. Anything else exits by SystemExit: see the module.

    """
    try:
        try:
            return _run(_parser().parse_args(arguments))
        finally:  # of help and completion, too, which exit
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CUT_OFF


def _run(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", prvcore.AccuracyWarning)
        limit = prvcore.get_memory_limit()
        try:
            if options.memory_limit is not None:
                prvcore.set_memory_limit(options.memory_limit)
            status: int = options.run(options) or 0
        except prvcore.TargetError as error:
            options.parser.exit(_NO_VALUE, f"{options.parser.prog}: {error}\n")
        except BrokenPipeError:
            raise
        except (OSError, TypeError, ValueError, MemoryError, RuntimeError, ImportError) as error:
            options.parser.error(_in_options(options, str(error) or type(error).__name__))
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            prvcore.set_memory_limit(limit)
    for warning in caught:
        text = str(warning.message).replace("memory_limit", "--memory-limit")
        print(f"{options.parser.prog}: warning: {text}", file=sys.stderr)
    return status


def _in_options(options: argparse.Namespace, message: str) -> str:
    """Return a message of the library with the option that set its argument, if one did."""
    name, space, rest = message.replace("raise memory_limit", "raise --memory-limit").partition(" ")
    if name not in _OPTIONS:
        return message
    option = _OPTIONS[name]
    if name == "eps_error" and options.eps_error is None and options.memory_limit is not None:
        option = "--memory-limit"  # which the default of the other does not fit into
    return f"argument {option}: {name}{space}{rest}"
