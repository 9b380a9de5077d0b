"""The command `prvcore`: bounds of epsilon and delta, calibration, sweeps and explanations.

Numbers are printed rounded outward, the lower bound down and the upper bound up. With --json they
are printed exactly, and infinite ones are the strings "inf" and "-inf", since JSON has no infinite
numbers. Warnings go to the standard error.

The exit status is 0; 2 if an option is bad or no answer can be given, which one line on the
standard error explains; 3 if no noise or number of steps meets the target, or a claim does not
hold; 4 if a claim is not decided, or not proved; 1 if the reader of the output stopped reading; 130
after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence

import prvcore
from prvcore._cli.commands import (
    NO_VALUE,
    run_calibration,
    run_check,
    run_curve,
    run_explanation,
    run_query,
    run_report,
    run_risk,
    run_shuffled,
    run_sweep,
    run_verify,
    run_witness,
)
from prvcore._cli.composition import has_meaningless_delta
from prvcore._cli.options import (
    OPTIONS,
    add_check,
    add_curve,
    add_delta_query,
    add_epsilon_query,
    add_noise,
    add_report,
    add_risk,
    add_shuffled,
    add_steps,
    add_sweep,
    add_verify,
    add_witness,
)
from prvcore._cli.parser import BAD_OPTION, Parser, add_completion
from prvcore.dpsgd.reports import MEANINGLESS

_CUT_OFF, _INTERRUPTED = 1, 130

_COMMANDS: dict[
    str,
    tuple[
        Callable[[argparse.Namespace], int | None], Callable[[argparse.ArgumentParser], None], str
    ],
] = {
    "epsilon": (run_query, add_epsilon_query, "bound epsilon at a given delta"),
    "delta": (run_query, add_delta_query, "bound delta at a given epsilon"),
    "noise": (run_calibration, add_noise, "find the least noise that meets a target"),
    "steps": (run_calibration, add_steps, "find how many steps a target allows"),
    "risk": (run_risk, add_risk, "bound how well somebody can tell that a record was used"),
    "report": (run_report, add_report, "write the sentences for a paper"),
    "check": (run_check, add_check, "check a claimed epsilon and delta"),
    "curve": (run_curve, add_curve, "tabulate or draw delta against epsilon"),
    "sweep": (run_sweep, add_sweep, "bound epsilon of DP-SGD at every combination of settings"),
    "explain": (run_explanation, add_epsilon_query, "say what an epsilon and its error come from"),
    "shuffled": (run_shuffled, add_shuffled, "bound what batches cut from a shuffle cost"),
    "witness": (run_witness, add_witness, "print bounds with all that others need to prove them"),
    "verify": (run_verify, add_verify, "prove the claim of a witness"),
}


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="prvcore", description="Certified numerical privacy accounting.")
    parser.add_argument("--version", action="version", version=f"prvcore {prvcore.__version__}")
    add_completion(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (run, add_options, summary) in _COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        add_options(command)
        command.set_defaults(run=run, parser=command)
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
        0, 1 or 130. Anything else exits by SystemExit: see the module.

    """
    try:
        try:
            parser = _parser()
            if not (sys.argv[1:] if arguments is None else arguments):
                parser.print_help(sys.stderr)
                parser.exit(BAD_OPTION)
            return _run(parser.parse_args(arguments))
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
            options.parser.exit(NO_VALUE, f"{options.parser.prog}: {error}\n")
        except BrokenPipeError:
            raise
        except (OSError, TypeError, ValueError, MemoryError, RuntimeError, ImportError) as error:
            options.parser.error(_in_options(options, _said(error)))
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            prvcore.set_memory_limit(limit)
    for warning in caught:
        text = _advice(options, str(warning.message))
        print(f"{options.parser.prog}: warning: {text}", file=sys.stderr)
    if options.command not in ("report", "risk") and has_meaningless_delta(options):
        print(f"{options.parser.prog}: warning: {MEANINGLESS}", file=sys.stderr)
    return status


def _said(error: Exception) -> str:
    """Return the message of an error; that of the system without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _advice(options: argparse.Namespace, message: str) -> str:
    """Return a message of the library whose advice names options of the command, not arguments."""

    def named(found: re.Match[str]) -> str:
        return f"{found[1]} {OPTIONS[found[2]]}" if found[2] in options else found[0]

    return re.sub(r"(?i)\b(raise|use a larger|or) (eps_error|memory_limit)\b", named, message)


def _in_options(options: argparse.Namespace, message: str) -> str:
    """Return a message of the library with the option that set its argument, if one did."""
    name, space, rest = message.partition(" ")
    rest = _advice(options, rest)
    if name not in OPTIONS:
        return f"{name}{space}{rest}"
    option = OPTIONS[name]
    if name == "epsilon" and "epsilons" in options:
        option = "--epsilons"
    told = option[2:].replace("-", "_")  # the library counts steps, and has counts of them
    if name == "eps_error" and options.eps_error is None and options.memory_limit is not None:
        option, told = "--memory-limit", name  # which the default of the other does not fit into
    return f"argument {option}: {told}{space}{rest}"
