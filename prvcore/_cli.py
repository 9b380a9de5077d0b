"""The command `prvcore`: bounds of epsilon and delta, calibration, sweeps and explanations.

Numbers are printed rounded outward, the lower bound down and the upper bound up. With --json they
are printed exactly, and infinite ones are the strings "inf" and "-inf", since JSON has no infinite
numbers. Warnings go to the standard error.

The exit status is 0; 2 if an option is bad or no answer can be given, which one line on the
standard error explains; 3 if no noise or number of steps meets the target; 1 if the reader of the
output stopped reading; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

import prvcore
from prvcore import _plot
from prvcore._explain import explain
from prvcore._outward import DOWN, NEAREST, UP, formatted
from prvcore.files.schedule import read_schedule

_FORMAT = ".10g"  # of bounds, rounded outwards
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
        type=float,
        metavar="S",
        help="standard deviation of Gaussian noise over the sensitivity, >= 0"
        + ("" if noise else " (where the search starts; default: 1)"),
    )
    command.add_argument(
        "--sampling-probability",
        type=float,
        metavar="P",
        help="of each record in each step, in [0, 1] (default: 1, no sampling)",
    )
    if steps:
        command.add_argument("--steps", type=int, metavar="K", help="how often it runs, >= 0")
    command.add_argument(
        "--schedule",
        metavar="FILE",
        help="instead of these: a .toml or .json file of steps",
    )
    _add_relation(command)


def _add_relation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--neighbors",
        choices=("add-or-remove", "add", "remove", "replace-one"),
        default="add-or-remove",
        help="neighbouring relation (default: add-or-remove, the worse of both)",
    )
    command.add_argument(
        "--memory-limit",
        type=int,
        metavar="BYTES",
        help="of the largest buffers (default: 1 GiB)",
    )


def _add_width(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--eps-error",
        type=float,
        metavar="W",
        help="greatest width of the bounds in epsilon (default: 1e-3 * max(epsilon, 1e-3))",
    )


def _add_width_of_delta(command: argparse.ArgumentParser) -> None:
    _add_width(command)
    command.add_argument(
        "--delta-relative-error",
        type=float,
        default=1e-3,
        metavar="W",
        help="or of this part of delta, whichever is met first, in [0, 1); "
        "0: in epsilon alone (default: 1e-3)",
    )


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _add_delta(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--delta", type=float, required=True, metavar="D", help="a probability in [0, 1]"
    )


def _add_epsilon_query(command: argparse.ArgumentParser) -> None:
    _add_delta(command)
    _add_composition(command)
    _add_width(command)
    _add_json(command)


def _add_delta_query(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=float, required=True, metavar="E", help="in nats, of either sign"
    )
    _add_composition(command)
    _add_width_of_delta(command)
    _add_json(command)


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=float, required=True, metavar="E", help="the target, nats, >= 0"
    )
    _add_delta(command)
    command.add_argument(
        "--tolerance",
        type=float,
        default=1e-4,
        metavar="T",
        help="relative, of the answer, in [1e-9, 0.1] (default: 1e-4)",
    )
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
        type=float,
        nargs="+",
        metavar="E",
        help="nats (default: 50 from 0 to where delta is 1e-10 of its greatest)",
    )
    command.add_argument("--plot", metavar="FILE", help="draw it too, as .png, .pdf or .svg")
    _add_composition(command)
    _add_width_of_delta(command)
    _add_json(command)


def _add_sweep(command: argparse.ArgumentParser) -> None:
    for option, kind, what in (
        ("--noise-multiplier", float, "standard deviations of the noise, >= 0"),
        ("--sampling-probability", float, "probabilities in [0, 1]"),
        ("--steps", int, "counts, >= 0"),
        ("--delta", float, "probabilities in [0, 1]"),
    ):
        command.add_argument(option, type=kind, nargs="+", required=True, metavar="X", help=what)
    command.add_argument(
        "--plot", metavar="FILE", help="draw epsilon against steps, as .png, .pdf, .svg"
    )
    command.add_argument("--workers", type=int, metavar="N", help="threads (default: one a core)")
    command.add_argument("--progress", action="store_true", help="show a bar (needs tqdm)")
    _add_relation(command)
    _add_width(command)
    _add_json(command)


# ---- What is composed ----------------------------------------------------------------------------


def _steps_of(options: argparse.Namespace) -> Any:
    """Return what `compose` takes as mechanisms and counts."""
    single = ("noise_multiplier", "sampling_probability", "steps")
    given = [name for name in single if getattr(options, name, None) is not None]
    if options.schedule is not None:
        if given:
            options.parser.error(f"argument {_OPTIONS[given[0]]}: not allowed with --schedule")
        return read_schedule(options.schedule), None
    needed = [name for name in _NEEDED[options.command] if getattr(options, name) is None]
    if needed:
        options.parser.error(f"{_OPTIONS[needed[0]]} or --schedule is required")
    mechanism = prvcore.PoissonSubsampledGaussian(
        noise_multiplier=1.0 if options.noise_multiplier is None else options.noise_multiplier,
        sampling_probability=1.0
        if options.sampling_probability is None
        else options.sampling_probability,
    )
    return mechanism, getattr(options, "steps", None)


_NEEDED: dict[str, tuple[str, ...]] = {
    "epsilon": ("noise_multiplier", "steps"),
    "delta": ("noise_multiplier", "steps"),
    "curve": ("noise_multiplier", "steps"),
    "explain": ("noise_multiplier", "steps"),
    "noise": ("steps",),
    "steps": ("noise_multiplier",),
}


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


def _calibrate(options: argparse.Namespace) -> None:
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
        return
    print(f"{what} for epsilon = {options.epsilon!r} at delta = {options.delta!r}: {found.value!r}")
    print("epsilon with it")
    _print_bounds(found.bounds)
    if found.next_bounds is not None:
        print(f"epsilon with {found.next_value!r}, which does not meet the target")
        _print_bounds(found.next_bounds)
    print(f"assumed: {found.curve!r}")


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
    grid = np.meshgrid(*(getattr(options, name) for name in names), indexing="ij")
    bounds = prvcore.dpsgd_epsilon(
        *(part.ravel() for part in grid),
        workers=options.workers,
        progress=options.progress,
        eps_error=options.eps_error,
        neighbors=options.neighbors,
    )
    settings = [part.ravel().tolist() for part in grid]
    rows = list(zip(*settings, *(part.tolist() for part in bounds), strict=True))
    if options.plot is not None:
        _save(_plot.plot_sweep(bounds), options.plot)
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
                    "mechanism": repr(step.mechanism),
                    "count": step.count,
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
    tuple[Callable[[argparse.Namespace], None], Callable[[argparse.ArgumentParser], None], str],
] = {
    "epsilon": (_query, _add_epsilon_query, "bound epsilon at a given delta"),
    "delta": (_query, _add_delta_query, "bound delta at a given epsilon"),
    "noise": (_calibrate, _add_noise, "find the least noise that meets a target"),
    "steps": (_calibrate, _add_steps, "find how many steps a target allows"),
    "curve": (_curve, _add_curve, "tabulate or draw delta against epsilon"),
    "sweep": (_sweep, _add_sweep, "bound epsilon of DP-SGD at every combination of settings"),
    "explain": (_explain, _add_epsilon_query, "say what an epsilon and its error come from"),
}


# ---- Output --------------------------------------------------------------------------------------


def _assumed(curve: prvcore.PrivacyCurve) -> dict[str, Any]:
    return {
        "steps": [
            {"mechanism": repr(mechanism), "count": count}
            for mechanism, count in zip(curve.mechanisms, curve.counts, strict=True)
        ],
        "neighbors": curve.neighbors,
        "discretization": curve.discretization,
        "eps_error": curve.eps_error,
        "delta_relative_error": curve.delta_relative_error,
    }


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
            options.run(options)
        except prvcore.TargetError as error:
            options.parser.exit(_NO_VALUE, f"{options.parser.prog}: {error}\n")
        except BrokenPipeError:
            raise
        except (OSError, TypeError, ValueError, MemoryError, RuntimeError, ImportError) as error:
            options.parser.error(_in_options(str(error) or type(error).__name__))
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            prvcore.set_memory_limit(limit)
    for warning in caught:
        text = str(warning.message).replace("memory_limit", "--memory-limit")
        print(f"{options.parser.prog}: warning: {text}", file=sys.stderr)
    return 0


def _in_options(message: str) -> str:
    name, space, rest = message.replace("raise memory_limit", "raise --memory-limit").partition(" ")
    return f"argument {_OPTIONS[name]}: {name}{space}{rest}" if name in _OPTIONS else message
