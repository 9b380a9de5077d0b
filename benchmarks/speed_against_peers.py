"""Time prvcore against its peers in one run, on one thread, and print a table.

Every call makes a new mechanism with a noise multiplier never used before, so no cache of answers
helps anyone; imports, plans and page faults are paid in a first call that is not counted.
"""

import math
import time
from typing import NamedTuple

from .measure import machine, measure, use_one_thread

STEP = {"noise_multiplier": 0.8, "sampling_probability": 1e-3}
DELTA = 1e-7
TRUTH = {1_000: 0.703708838718, 100_000: 3.2262289703152351}  # 'remove', the larger direction

WIDE = {"eps_error": 0.01, "delta_error": DELTA / 1000}  # an interval of 0.02
MEAN_MATCHING = {"discretization": "mean-matching", **WIDE}


class Comparison(NamedTuple):
    """A peer with its settings, and the settings of prvcore.compose that stand beside it."""

    title: str
    steps: int
    peer: str
    settings: dict
    prvcore: list


COMPARISONS = [
    Comparison(
        "a: interval 0.02 wide",
        1_000,
        "prv-accountant",
        WIDE,
        [{"eps_error": 0.02}, {"eps_error": 0.02, "neighbors": "remove"}],
    ),
    Comparison("a", 1_000, "opacus PRV", WIDE, [{"eps_error": 0.02, "neighbors": "remove"}]),
    Comparison(
        "b: within 1e-3 of the truth",
        1_000,
        "dp-accounting PLD",
        {"mesh": 1e-3},
        [{"eps_error": 1e-3}],
    ),
    Comparison("b", 1_000, "opake", {"mesh": 1e-3}, [{"eps_error": 1e-3}]),
    Comparison("b", 1_000, "pld-accounting", {"mesh": 3e-3}, [{"eps_error": 1e-3}]),
    Comparison("c: interval 0.02 wide", 100_000, "prv-accountant", WIDE, [{"eps_error": 0.02}]),
    Comparison("d: defaults", 100_000, "dp-accounting PLD", {}, [{}]),
    Comparison("d", 100_000, "opake", {}, [{}]),
    Comparison(
        "e: the paper's algorithm, one mesh",
        1_000,
        "prv-accountant",
        WIDE,
        [MEAN_MATCHING, MEAN_MATCHING | {"neighbors": "remove"}],
    ),
    Comparison("e", 1_000, "paper (numpy)", WIDE, [MEAN_MATCHING | {"neighbors": "remove"}]),
]

HEAD = ["compared", "steps", "implementation", "ms", "peer / prvcore", "x FFTs"]
HEAD += ["lower", "upper", "upper - lower", "upper - truth"]


def main():
    """Pin, measure, print a table."""
    use_one_thread()
    from .peers import PEERS, Run
    from .transforms import transforms_of

    wall, cpu = time.perf_counter(), time.process_time()
    print(f"{machine()}\nPoisson-subsampled Gaussian {STEP}, delta {DELTA:g}\n")
    print(line(HEAD))
    print(line(["---"] * len(HEAD)))
    for title, steps, name, settings, of_prvcore in COMPARISONS:
        runs = [Run(**STEP, count=steps)]
        peer_seconds = math.nan
        for who, options in [(name, settings), *(("prvcore", options) for options in of_prvcore)]:
            peer = PEERS[who]
            if peer.missing:
                print(line([title, f"{steps:,}", f"{who} is left out: {peer.missing}"]))
                continue
            found = measure(peer.epsilon, runs, DELTA, calls=100, enough=2.0, limit=60.0, **options)
            transforms = math.nan
            if who == "prvcore":
                budget = peer.curve(runs, **options).error_budget(delta=DELTA)
                transforms = transforms_of(budget)
            else:
                peer_seconds = found.seconds
            lower, _, upper = found.answer
            above = upper - TRUTH[steps]
            cells = [
                title,
                f"{steps:,}",
                describe(who, options),
                f"{1e3 * found.seconds:.2f}",
                number(peer_seconds / found.seconds, ".0f") if who == "prvcore" else "-",
                number(found.seconds / transforms, ".1f"),
                number(lower, ".6f"),
                number(upper, ".6f"),
                number(upper - lower, ".1e"),
                number(above, ".1e") + (" WRONG" if above < 0 or lower > TRUTH[steps] else ""),
            ]
            print(line(cells) + found.failure, flush=True)
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    others = " (others ran: repeat)" if share < 0.95 else ""
    print(f"\nshare of the core had: {share:.0%}{others}")


def number(value, form):
    """Write a number; '-' where there is none."""
    return "-" if math.isnan(value) else format(value, form)


def line(cells):
    """Write a line of a table."""
    return f"| {' | '.join(cells)} |"


def describe(implementation, settings):
    """Name an implementation and its settings; the paper's delta_error is the same for all."""
    words = [f"{name}={value}" for name, value in settings.items() if name != "delta_error"]
    return " ".join([implementation, *(words or ["defaults"])])


if __name__ == "__main__":
    main()
