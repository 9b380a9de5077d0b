"""Figures that the paper could not draw: today's implementations, and what they certify."""

import math

from ..measure import measure
from ..peers import PEERS, Run, find
from .plotting import BLACK, PAGE, VERMILLION, line, new

DELTA = 1e-7
STEP = Run(noise_multiplier=0.8, sampling_probability=1e-3, count=1000)
EPSILON = 0.703708838718  # of STEP at DELTA, by ball arithmetic; 'remove', the larger direction
PRVCORE = "prvcore"


def figure_pareto():
    """Certified width against time."""
    rows = []
    for who, peer in PEERS.items():
        for settings in peer.ladder if not peer.missing else ():
            found = measure(peer.epsilon, [STEP], DELTA, limit=10.0, **settings)
            answer = found.answer
            rows.append(
                {"implementation": who, "promise": peer.promise, "settings": describe(settings)}
                | answer._asdict()
                | {
                    "width": answer.upper - answer.lower,
                    "above truth": answer.upper - EPSILON,
                    "off truth": abs(answer.estimate - EPSILON),
                    "seconds": found.seconds,
                    "failure": found.failure or ("wrong" if answer.upper < EPSILON else ""),
                }
            )
            if found.failure.startswith("took more"):
                break
    figure, (left, right) = new(width=PAGE, height=3.1, panels=2, sharey=True, sharex=True)
    for axes, quantity, title in (
        (left, "width", "a: upper minus lower bound"),
        (right, "above truth", "b: upper bound minus truth"),
    ):
        for who in PEERS:
            points = [
                (row["seconds"], row[quantity])
                for row in rows
                if row["implementation"] == who and row[quantity] > 0
            ]
            if points:
                line(axes, *zip(*points, strict=True), who)
        axes.set(xlabel="time of a call (s)", xscale="log", yscale="log")
        axes.set_title(title)
    left.set_ylabel(r"distance in $\varepsilon$ (nats)")
    right.tick_params(labelleft=True)
    figure.suptitle(
        r"$p=10^{-3}$, $\sigma=0.8$, 1,000 compositions, $\delta=10^{-7}$, $\varepsilon=0.7037$",
        fontsize=8,
    )
    handles = {
        label: handle
        for axes in (left, right)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5)
    return figure, rows


def describe(settings):
    """Write settings in one cell of a table."""
    return " ".join(f"{name}={value:.3g}" for name, value in settings.items())


def figure_steps():
    """Time against the number of compositions, from 1 to a million, at fixed accuracy.

    Bounds of both sides are 0.02 apart; a peer with an upper bound alone is within 0.01 of the
    truth, which is known from bounds of prvcore 1e-5 apart. Of each peer the coarsest setting of
    its ladder that is as good is timed; coarser ones are no longer tried for more steps.
    """
    rows, first, given_up = [], dict.fromkeys(PEERS, 0), set()
    for steps in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        run = STEP._replace(count=steps)
        truth = find(PRVCORE).epsilon([run], DELTA, eps_error=1e-5).estimate
        for who, peer in PEERS.items():
            if peer.missing or peer.promise == "none" or who in given_up or len(peer.ladder) == 1:
                continue
            for at in range(first[who], len(peer.ladder)):
                settings = peer.ladder[at]
                found = measure(peer.epsilon, [run], DELTA, limit=15.0, **settings)
                width = found.answer.upper - found.answer.lower
                above = found.answer.upper - truth
                enough = width <= 0.0204 if peer.promise == "both" else above <= 0.0102
                if found.failure.startswith("took more"):
                    given_up.add(who)
                if enough or who in given_up:
                    break
            rows.append(
                {"implementation": who, "steps": steps, "settings": describe(settings)}
                | found.answer._asdict()
                | {"truth": truth, "seconds": found.seconds if enough else math.nan}
                | {"failure": found.failure or ("" if enough else "no setting is as good")}
            )
            if enough:
                first[who] = at
    figure, axes = new(height=3.3)
    for who in PEERS:
        points = [
            (row["steps"], row["seconds"])
            for row in rows
            if row["implementation"] == who and not math.isnan(row["seconds"])
        ]
        if points:
            line(axes, *zip(*points, strict=True), who)
    axes.set(
        xlabel="number of compositions", ylabel="time of a call (s)", xscale="log", yscale="log"
    )
    axes.set_title(r"bounds 0.02 wide: $p=10^{-3}$, $\sigma=0.8$, $\delta=10^{-7}$")
    figure.legend(loc="outside lower center", ncols=2)
    return figure, rows


DELTAS = [
    10.0**-power for power in (4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 30, 50, 100, 200, 300)
]
FAIR = {  # settings that take about a second at most
    "prv-accountant": {"eps_error": 0.1},
    "opacus PRV": {"eps_error": 0.1},
    "dp-accounting PLD": {"mesh": 1e-4},
    "opake": {"mesh": 1e-4},
    "pld-accounting": {"mesh": 3e-3},
}


def figure_smallest_delta():
    """How small a delta is answered with a bound, and with one that holds.

    The truth is known from prvcore's bounds, 1e-5 apart: an upper bound below prvcore's lower one
    is wrong. A bound 15 % above the upper one counts as loose. The two plain references are not
    asked: they say nothing about rounding.
    """
    rows = []
    for delta in DELTAS:
        truth = find(PRVCORE).epsilon([STEP], delta, eps_error=1e-5)
        for who, peer in PEERS.items():
            if peer.missing or peer.promise == "none" or peer.distribution == "numpy":
                continue
            settings = FAIR.get(who, {})
            found = measure(peer.epsilon, [STEP], delta, limit=10.0, calls=0, **settings)
            upper = found.answer.upper
            rows.append(
                {"implementation": who, "delta": delta, "settings": describe(settings)}
                | found.answer._asdict()
                | {"truth, at least": truth.lower, "truth, at most": truth.upper}
                | {"verdict": verdict(upper, truth), "failure": found.failure}
            )
    figure, axes = new(height=2.6)
    asked = list(dict.fromkeys(row["implementation"] for row in reversed(rows)))
    for kind, look in {
        "holds": {"marker": "o", "facecolors": BLACK, "edgecolors": BLACK},
        "holds, loose": {"marker": "o", "facecolors": "none", "edgecolors": BLACK},
        "below the truth": {"marker": "x", "color": VERMILLION},
    }.items():
        points = [
            (DELTAS.index(row["delta"]), asked.index(row["implementation"]))
            for row in rows
            if row["verdict"] == kind
        ]
        if points:
            axes.scatter(*zip(*points, strict=True), s=16, linewidths=1, label=kind, **look)
    axes.set_yticks(range(len(asked)), asked)
    powers = [round(math.log10(delta)) for delta in DELTAS]
    axes.set_xticks(range(len(DELTAS)), [f"$10^{{{p}}}$" for p in powers], rotation=90)
    axes.set(xlabel=r"$\delta$", ylim=(-0.6, len(asked) - 0.4))
    figure.suptitle(
        r"upper bounds of $\varepsilon$: $p=10^{-3}$, $\sigma=0.8$, $k=1000$", fontsize=8
    )
    figure.legend(loc="outside lower center", ncols=3)
    return figure, rows


def verdict(upper, truth):
    """Judge an upper bound of epsilon."""
    if not math.isfinite(upper):
        return "no answer"
    if upper < truth.lower:
        return "below the truth"
    return "holds" if upper <= 1.15 * truth.upper else "holds, loose"
