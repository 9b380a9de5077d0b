"""What benchmarks of random questions share: which questions, and quantiles of their costs."""

import argparse


def options_of(name, description, kinds, questions, arguments=None):
    """Return the options of ``python -m benchmarks.NAME``; `questions` is how many by default."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--kind", choices=kinds, required=True)
    parser.add_argument("--questions", type=int, default=questions, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all of them (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="question to begin with (%(default)s)")
    parser.add_argument("--slowest", type=int, default=10, help="how many to show (%(default)s)")
    parser.add_argument(
        "--patience", type=float, default=20.0, help="seconds for an answer (%(default)s)"
    )
    return parser.parse_args(arguments)


def quantile(ascending, share):
    """Return the number at which this share of the sorted numbers ends."""
    return ascending[min(int(share * len(ascending)), len(ascending) - 1)]
