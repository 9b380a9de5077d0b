"""The options of each command."""

from __future__ import annotations

import argparse
from typing import Any

from prvcore._cli.values import number, number_of_bytes, unshuffled, whole_number

OPTIONS = {  # how the library's messages name what the options set
    "noise_multiplier": "--noise-multiplier",
    "sampling_probability": "--sampling-probability",
    "counts": "--steps",
    "steps": "--steps",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "advantage": "--advantage",
    "power": "--power",
    "false_positive_rate": "--false-positive-rate",
    "bayes_risk": "--bayes-risk",
    "prior": "--prior",
    "mu": "--mu",
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
    "sampler": "--sampler",
    "batches": "--batches",
    "digits": "--digits",
    "plot": "--plot",
    "workers": "--workers",
}


def add_composition(
    command: argparse.ArgumentParser, *, noise: bool = True, steps: bool = True
) -> None:
    """Add what says which mechanisms run: a Gaussian on samples, or a file."""
    command.add_argument(
        "--noise-multiplier",
        type=number,
        metavar="S",
        help="standard deviation of Gaussian noise over the sensitivity, >= 0"
        + ("" if noise else " (where the search starts; default: 1)"),
    )
    command.add_argument(
        "--sampling-probability",
        type=number,
        metavar="P",
        help="of each record in each step, in [0, 1], such as 256/60000; 1: no sampling",
    )
    if steps:
        command.add_argument(
            "--steps", type=whole_number, metavar="K", help="how often it runs, >= 0, such as 1e6"
        )
    add_training(command, epochs=steps)
    command.add_argument(
        "--schedule",
        metavar="FILE",
        help="instead of these: a .toml or .json file of steps, or JSON that this command has "
        "printed; - is the standard input",
    )
    add_relation(command)


def add_training(command: argparse.ArgumentParser, *, epochs: bool, many: bool = False) -> None:
    """Add the terms of training, which stand for a sampling probability and steps."""
    more: dict[str, Any] = {"nargs": "+"} if many else {}
    command.add_argument(
        "--dataset-size",
        type=whole_number,
        metavar="N",
        help="instead of --sampling-probability"
        + (" and --steps" if epochs else "")
        + ": number of records",
        **more,
    )
    command.add_argument(
        "--batch-size", type=whole_number, metavar="B", help="expected records in a batch", **more
    )
    if epochs:
        command.add_argument(
            "--epochs", type=number, metavar="E", help="how often over the data set", **more
        )
    command.add_argument(
        "--loader",
        type=unshuffled,
        choices=("poisson", "opacus"),
        default="poisson",
        help="whose Poisson samples, which decides their probability and number: batch size over "
        "data set size (poisson, the default), or as Opacus computes them (opacus)",
    )
    command.add_argument(
        "--sampler",
        type=unshuffled,
        choices=("poisson", "fixed-size", "random-allocation", "balls-in-bins"),
        default="poisson",
        help="how batches are drawn (default: poisson): each record enters each one independently "
        "(poisson); batches have one size (fixed-size); each record is in one batch of an epoch, "
        "drawn anew for each epoch (random-allocation) or once (balls-in-bins), and the sampling "
        "probability is 1 / batches",
    )
    command.add_argument(
        "--drop-last",
        action="store_true",
        help="with --loader opacus: its PyTorch loader drops the last, smaller batch",
    )


def add_relation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--neighbors",
        choices=("add-or-remove", "add", "remove", "replace-one"),
        default="add-or-remove",
        help="neighbouring relation (default: add-or-remove, the worse of both)",
    )
    _add_memory_limit(command)


def _add_memory_limit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--memory-limit",
        type=number_of_bytes,
        metavar="BYTES",
        help="of the largest buffers, such as 500MB or 2GiB (default: 1GiB)",
    )


def add_width(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--eps-error",
        type=number,
        metavar="W",
        help="greatest width of the bounds in epsilon (default: 1e-3 * max(epsilon, 1e-3))",
    )


def add_width_of_delta(command: argparse.ArgumentParser) -> None:
    add_width(command)
    command.add_argument(
        "--delta-relative-error",
        type=number,
        default=1e-3,
        metavar="W",
        help="or of this part of delta, whichever is met first, in [0, 1); "
        "0: in epsilon alone (default: 1e-3)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object")


def add_delta(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--delta", type=number, required=True, metavar="D", help="a probability in [0, 1]"
    )


def add_epsilon_query(command: argparse.ArgumentParser) -> None:
    add_delta(command)
    add_composition(command)
    add_width(command)
    add_json(command)


def add_delta_query(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=number, required=True, metavar="E", help="in nats, of either sign"
    )
    add_composition(command)
    add_width_of_delta(command)
    add_json(command)


def add_witness(command: argparse.ArgumentParser) -> None:
    command.add_argument("--delta", type=number, metavar="D", help="where epsilon is bounded")
    command.add_argument("--epsilon", type=number, metavar="E", help="where delta is, instead")
    add_composition(command)
    add_width_of_delta(command)


def add_verify(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="that `prvcore witness` has printed")
    command.set_defaults(memory_limit=None, eps_error=None)


def add_target(command: argparse.ArgumentParser) -> None:
    for option, metavar, what in (
        ("--epsilon", "E", "the target with --delta, nats, >= 0"),
        ("--delta", "D", "a probability in [0, 1]"),
        ("--advantage", "A", "target instead: greatest TPR - FPR of a membership test, in [0, 1]"),
        ("--power", "B", "target instead, with --false-positive-rate: greatest TPR there"),
        ("--false-positive-rate", "A", "in (0, 1)"),
        ("--bayes-risk", "R", "target instead, with --prior: least chance of a wrong guess"),
        ("--prior", "P", "of one of both data sets, in (0, 1)"),
        ("--mu", "M", "target instead, with --delta: Gaussian DP for all larger deltas"),
    ):
        command.add_argument(option, type=number, metavar=metavar, help=what)
    command.add_argument(
        "--tolerance",
        type=number,
        default=1e-4,
        metavar="T",
        help="relative, of the answer, in [1e-9, 0.1] (default: 1e-4)",
    )
    add_json(command)


def add_risk(command: argparse.ArgumentParser) -> None:
    for option, metavar, what in (
        ("--false-positive-rate", "A", "also the greatest TPR of a membership test at this FPR"),
        ("--prior", "P", "also the least chance of a wrong guess, with this prior probability"),
        ("--delta", "D", "also the mu of Gaussian DP, for all larger deltas"),
    ):
        command.add_argument(option, type=number, metavar=metavar, help=what)
    add_composition(command)
    add_width(command)
    add_json(command)


def add_report(command: argparse.ArgumentParser) -> None:
    _add_either_point(command)
    command.add_argument(
        "--digits",
        type=whole_number,
        default=4,
        metavar="N",
        help="significant digits of the bounds, in [1, 17] (default: 4)",
    )
    add_composition(command)
    add_width(command)


def add_shuffled(command: argparse.ArgumentParser) -> None:
    for option, kind, metavar, what in (
        ("--noise-multiplier", number, "S", "standard deviation of the noise over the sensitivity"),
        ("--batches", whole_number, "T", "of an epoch"),
        ("--epochs", whole_number, "E", "how often over the data set"),
    ):
        command.add_argument(option, type=kind, required=True, metavar=metavar, help=what)
    _add_either_point(command)
    command.add_argument(
        "--neighbors",
        choices=("add-or-remove", "replace-one"),
        default="add-or-remove",
        help="whether the place of a removed record stays empty, or another record takes it "
        "(default: add-or-remove)",
    )
    _add_memory_limit(command)
    add_json(command)


def _add_either_point(command: argparse.ArgumentParser) -> None:
    point = command.add_mutually_exclusive_group(required=True)
    point.add_argument("--delta", type=number, metavar="D", help="where epsilon is bounded")
    point.add_argument("--epsilon", type=number, metavar="E", help="where delta is bounded, nats")


def add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilon", type=number, required=True, metavar="E", help="the claim, nats, >= 0"
    )
    add_delta(command)
    add_composition(command)
    add_width_of_delta(command)
    add_json(command)


def add_noise(command: argparse.ArgumentParser) -> None:
    add_target(command)
    add_composition(command, noise=False)


def add_steps(command: argparse.ArgumentParser) -> None:
    add_target(command)
    add_composition(command, steps=False)


def add_curve(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--epsilons",
        type=number,
        nargs="+",
        metavar="E",
        help="nats (default: 50 from 0 to where delta is 1e-10 of its greatest)",
    )
    command.add_argument("--plot", metavar="FILE", help="draw it too, as .png, .pdf or .svg")
    add_composition(command)
    add_width_of_delta(command)
    add_json(command)


def add_sweep(command: argparse.ArgumentParser) -> None:
    for option, kind, required, what in (
        ("--noise-multiplier", number, True, "standard deviations of the noise, >= 0"),
        ("--sampling-probability", number, False, "probabilities in [0, 1]"),
        ("--steps", whole_number, False, "counts, >= 0"),
        ("--delta", number, True, "probabilities in [0, 1]"),
    ):
        command.add_argument(
            option, type=kind, nargs="+", required=required, metavar="X", help=what
        )
    add_training(command, epochs=True, many=True)
    command.add_argument(
        "--plot", metavar="FILE", help="draw epsilon against epochs or steps, as .png, .pdf, .svg"
    )
    command.add_argument(
        "--workers", type=whole_number, metavar="N", help="threads (default: one a core)"
    )
    command.add_argument("--progress", action="store_true", help="show a bar (needs tqdm)")
    add_relation(command)
    add_width(command)
    add_json(command)
