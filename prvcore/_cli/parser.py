"""A parser whose options are given once, with errors of one line. __init__.py adds the commands."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from prvcore._cli.options import OPTIONS
from prvcore._names import did_you_mean, likeliest, question

BAD_OPTION = 2  # exit status


class Once(argparse.Action):
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


class Parser(argparse.ArgumentParser):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        # --delta would be short for --delta-relative-error where nothing else begins so
        super().__init__(*arguments, **{**options, "allow_abbrev": False})
        # -1e-3 is a number, too, which argparse would take for an option
        self._negative_number_matcher = re.compile(r"-(\.?[0-9]|inf$)")
        self.register("action", None, Once)
        self.register("action", "store", Once)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what no option takes, by the command that was given, with the option meant."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command: Parser = getattr(found, "parser", self)
            command.error(f"unrecognized arguments: {' '.join(unknown)} ({command._hint(unknown)})")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is no choice, with the one that is meant."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            kind: Any = "argument" if action.option_strings else "command"
            error.message += did_you_mean(value, action.choices or (), kind, shown=repr)
            raise

    def _hint(self, unknown: list[str]) -> str:
        known = {_as_name(option): option for option in self._option_string_actions}
        found: dict[str, None] = {}
        for name in (_as_name(text) for text in unknown if text.startswith("--")):
            # cut short, unless it is all of an option that this command lacks
            begun = [] if name in OPTIONS else [each for each in known if each.startswith(name)]
            meant = begun[0] if len(begun) == 1 else likeliest(name, known)
            if meant is not None:
                found[known[meant]] = None
        return question(*found) if found else f"{self.prog} --help lists what it takes"

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_OPTION, f"{self.prog}: error: {message}\n")


def _as_name(option: str) -> str:
    return option.partition("=")[0].lstrip("-").replace("-", "_")


def add_completion(parser: argparse.ArgumentParser) -> None:
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
