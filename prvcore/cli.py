"""The command `prvcore`: bounds of epsilon or delta of a (subsampled) Gaussian mechanism.

Numbers are printed rounded outward, the lower bound down and the upper bound up. With --json they
are printed exactly; infinite ones are the strings "inf" and "-inf", since JSON has no infinite
numbers. The exit status is 0, or 2 if an option is bad or no answer can be given, which one line on
the standard error explains.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import NoReturn

import prvcore

_DIGITS = 10
_OPTIONS = {  # how the library's messages name what the options set
    "noise_multiplier": "--noise-multiplier",
    "sampling_probability": "--sampling-probability",
    "counts": "--steps",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "eps_error": "--eps-error",
    "neighbors": "--neighbors",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="prvcore", description="Certified numerical privacy accounting.")
    parser.add_argument("--version", action="version", version=f"prvcore {prvcore.__version__}")
    commands = parser.add_subparsers(dest="wanted", required=True, metavar="{epsilon,delta}")
    for wanted, given, what in (
        ("epsilon", "delta", "a probability in [0, 1]"),
        ("delta", "epsilon", "in nats, of either sign"),
    ):
        command = commands.add_parser(
            wanted,
            help=f"bound {wanted} at a given {given}",
            description=f"Bound the {wanted} of a Gaussian mechanism, run --steps times, each time "
            f"on a Poisson sample, at a given {given}.",
        )
        command.add_argument(
            "--noise-multiplier",
            type=float,
            required=True,
            metavar="S",
            help="standard deviation of the noise over the sensitivity, >= 0",
        )
        command.add_argument(
            "--sampling-probability",
            type=float,
            default=1.0,
            metavar="P",
            help="of each record in each step, in [0, 1] (default: 1, no sampling)",
        )
        command.add_argument(
            "--steps", type=int, required=True, metavar="K", help="how often it runs, >= 0"
        )
        command.add_argument(
            f"--{given}", type=float, required=True, metavar=given[0].upper(), help=what
        )
        command.add_argument(
            "--neighbors",
            choices=("add-or-remove", "add", "remove"),
            default="add-or-remove",
            help="neighbouring relation (default: add-or-remove, the worse of both)",
        )
        command.add_argument(
            "--eps-error",
            type=float,
            metavar="W",
            help="greatest width of the bounds in epsilon (default: 1e-3 * max(epsilon, 1e-3))",
        )
        command.add_argument("--json", action="store_true", help="print one JSON object")
        command.set_defaults(given=given, parser=command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process if left out.

    Returns
    -------
    int
        0. A bad option exits by SystemExit with status 2.

    """
    options = _parser().parse_args(arguments)
    point = getattr(options, options.given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", prvcore.AccuracyWarning)
        try:
            curve = prvcore.compose(
                prvcore.PoissonSubsampledGaussian(
                    noise_multiplier=options.noise_multiplier,
                    sampling_probability=options.sampling_probability,
                ),
                options.steps,
                eps_error=options.eps_error,
                neighbors=options.neighbors,
            )
            bounds = getattr(curve, options.wanted)(point)
        except (ValueError, MemoryError, RuntimeError) as error:
            options.parser.error(_in_options(str(error)))
    for warning in caught:
        print(f"{options.parser.prog}: warning: {warning.message}", file=sys.stderr)
    if options.json:
        print(_json(options, point, bounds))
    else:
        print(_text(options, point, bounds, curve))
    return 0


def _in_options(message: str) -> str:
    name, space, rest = message.partition(" ")
    return f"argument {_OPTIONS[name]}: {name}{space}{rest}" if name in _OPTIONS else message


def _json(options: argparse.Namespace, point: float, bounds: prvcore.Bounds) -> str:
    return json.dumps(
        {
            "query": options.wanted,
            options.given: _json_number(point),
            **{name: _json_number(value) for name, value in bounds._asdict().items()},
            "assumed": {
                "mechanism": "PoissonSubsampledGaussian",
                "noise_multiplier": options.noise_multiplier,
                "sampling_probability": options.sampling_probability,
                "steps": options.steps,
                "neighbors": options.neighbors,
                "discretization": "bracketing",
                "eps_error": options.eps_error,
            },
        }
    )


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _text(
    options: argparse.Namespace, point: float, bounds: prvcore.Bounds, curve: prvcore.PrivacyCurve
) -> str:
    return "\n".join(
        [
            f"{options.wanted} at {options.given} = {point!r}",
            f"  lower     {_decimal(float(bounds.lower), ROUND_FLOOR)}",
            f"  estimate  {_decimal(float(bounds.estimate), ROUND_HALF_EVEN)}",
            f"  upper     {_decimal(float(bounds.upper), ROUND_CEILING)}",
            f"assumed: {curve!r}",
        ]
    )


def _decimal(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value))
    return f"{rounded.normalize():g}"
