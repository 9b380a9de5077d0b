"""The figure of latencies: which share of random questions takes longer than a time."""

import warnings

from .. import latency, searches
from .plotting import BLACK, BLUE, GREEN, ORANGE, PAGE, VERMILLION, new

QUESTIONS, PATIENCE = 500, 20.0  # of each kind; seconds for an answer
LOOKS = {
    "dpsgd": (VERMILLION, "-"),
    "mixed": (BLUE, "-"),
    "delta": (GREEN, "--"),
    "calibrate": (BLACK, "-."),
    "filter": (ORANGE, ":"),
}


def figure_latency(questions=QUESTIONS, seed=1):
    """Which share of the questions of a kind takes longer than a time."""
    rows = [row for kind in LOOKS for row in costs(kind, seed, questions)]
    figure, axes = new(width=PAGE, height=3.0)
    for kind, (color, linestyle) in LOOKS.items():
        seconds = [row["seconds"] for row in rows if row["kind"] == kind]
        shares = [row["share that takes as long"] for row in rows if row["kind"] == kind]
        axes.step(seconds, shares, where="pre", color=color, linestyle=linestyle, label=kind)
    axes.set(xlabel="processor time (s)", ylabel="share that takes as long", xscale="log")
    axes.set_yscale("log")
    figure.suptitle(f"{questions} random questions of each kind", fontsize=8)
    figure.legend(loc="outside lower center", ncols=len(LOOKS))
    return figure, rows


def costs(kind, seed, questions):
    """Ask questions of a kind; list what each cost, the quickest first."""
    import prvcore

    warnings.simplefilter("ignore", prvcore.AccuracyWarning)
    numbers = range(questions)
    if kind in latency.KINDS:
        answered = latency.ask(kind, seed, numbers, PATIENCE)
    else:
        answered = searches.ask(prvcore, kind, seed, numbers, PATIENCE)
    ascending = sorted(answered, key=lambda each: each.seconds)
    return [
        {
            "kind": kind,
            "seconds": each.seconds,
            "share that takes as long": 1.0 - place / len(ascending),
            "question": each.question,
            "failure": each.answer if each.answer == "given up" else "",
            "implementation": "prvcore",
        }
        for place, each in enumerate(ascending)
    ]
