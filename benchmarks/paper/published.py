"""The paper's figures, with prvcore's bounds added.

Every function returns a figure and the rows of its table. Where the paper leaves a value open
(sigma of the two figures with p = 1, ranges of the axes), the one used is in the title.
"""

import math

from ..closed_form import gaussian_delta
from ..measure import measure
from ..peers import PEERS, Answer, Run, find
from ..peers.reference import DELTA_ERROR
from .plotting import BLACK, BLUE, LOOKS, PAGE, band, column, line, new

EPS_ERROR = 0.1
GAUSSIAN = Run(noise_multiplier=100.0, sampling_probability=1.0, count=10_000)  # mu = 1
COMPOSITIONS = (1, 30, 100, 200, *range(500, 5001, 500))
PRVCORE, PAPER, KOSKELA = "prvcore", "paper (numpy)", "Koskela et al. (numpy)"
THREE = {KOSKELA: "Koskela et al.", PAPER: "paper", PRVCORE: "prvcore"}


def figure_1a():
    """Epsilon against the number of compositions, all at mesh 4e-5."""
    from ..reference.compose_prv import eps_error_of

    mesh, delta, rows = 4e-5, 1e-7, []
    for steps in COMPOSITIONS:
        settings = {
            KOSKELA: {"mesh": mesh},
            PAPER: {"eps_error": eps_error_of([steps], mesh, DELTA_ERROR)},
            PRVCORE: {},
        }
        for who, options in settings.items():
            answer = find(who).epsilon([Run(0.8, 1e-3, steps)], delta, **options)
            rows.append(row(who, answer, steps=steps))
    figure, axes = new()
    draw_bands(axes, rows, "steps", THREE)
    axes.set(xlabel="number of compositions", ylabel=r"$\varepsilon$ (nats)", xlim=(0, None))
    axes.set_title(r"$p=10^{-3}$, $\sigma=0.8$, $\delta=10^{-7}$, mesh $4\cdot10^{-5}$")
    axes.legend(loc="lower right")
    return figure, rows


def figure_1b():
    """Epsilon against the number of compositions, with RDP and the central limit."""
    delta, rows = 1e-7, []
    settings = {
        PAPER: {"eps_error": EPS_ERROR, "delta_error": delta / 1000},
        PRVCORE: {},
        "RDP": {},
        "GDP (limit)": {},
    }
    for steps in COMPOSITIONS:
        for who, options in settings.items():
            if not PEERS[who].missing:
                answer = PEERS[who].epsilon([Run(0.8, 1e-3, steps)], delta, **options)
                rows.append(row(who, answer, steps=steps))
    figure, axes = new()
    draw_bands(axes, rows, "steps", {PAPER: r"paper, $\varepsilon_\mathrm{error}=0.1$"})
    for who, part in (("RDP", "upper"), ("GDP (limit)", "estimate")):
        found = {"implementation": who}
        line(axes, column(rows, "steps", **found), column(rows, part, **found), who)
    draw_bands(axes, rows, "steps", {PRVCORE: "prvcore"})
    axes.set(xlabel="number of compositions", ylabel=r"$\varepsilon$ (nats)")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_title(r"$p=10^{-3}$, $\sigma=0.8$, $\delta=10^{-7}$")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.7))
    return figure, rows


def figure_2():
    """Validate with p = 1, where delta has a closed form."""
    from ..reference import compose_prv

    epsilons, rows = [0.1 + 0.1 * step for step in range(50)], []
    for eps_error in (1.0, 0.5, 0.1):
        composed = PEERS[PAPER].composed([GAUSSIAN], eps_error, DELTA_ERROR)
        for epsilon in epsilons:
            answer = compose_prv.delta_bounds(composed, epsilon, eps_error, DELTA_ERROR)
            rows.append(row(PAPER, answer, eps_error=eps_error, epsilon=epsilon))
    curve = find(PRVCORE).curve([GAUSSIAN])
    for epsilon in epsilons:
        rows.append(row(PRVCORE, curve.delta(epsilon), epsilon=epsilon))
        rows.append(row("closed form", number(gaussian_delta(epsilon, mu=1.0)), epsilon=epsilon))
    figure, axes = new()
    for eps_error, style in ((1.0, ":"), (0.5, "--"), (0.1, "-")):
        label = rf"paper, $\varepsilon_\mathrm{{error}}={eps_error:g}$"
        these = [entry for entry in rows if entry.get("eps_error") == eps_error]
        draw_bands(axes, these, "epsilon", {PAPER: label}, alpha=0.08, linestyle=style)
    exact = column(rows, "estimate", implementation="closed form")
    axes.plot(epsilons, exact, color=BLACK, label="closed form")
    draw_dots(axes, rows, every=4)
    axes.set(xlabel=r"$\varepsilon$ (nats)", ylabel=r"$\delta$", yscale="log")
    axes.set(xlim=(0, 5.1), ylim=(1e-10, 1))
    axes.set_title(r"$p=1$, $\sigma=100$, 10,000 compositions")
    axes.legend(loc="lower left")
    return figure, rows


def figure_points():
    """Bounds of delta against the number of discretisation points."""
    from ..reference import compose_prv, fourier_accountant

    run, epsilon, rows = Run(0.8, 4e-3, 1000), 1.5, []
    for eps_error in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.003):
        composed = PEERS[PAPER].composed([run], eps_error, DELTA_ERROR)
        answer = compose_prv.delta_bounds(composed, epsilon, eps_error, DELTA_ERROR)
        rows.append(row(PAPER, answer, points=composed.masses.size, mesh=float(composed.h)))
    for mesh in (2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5):
        composed = PEERS[KOSKELA].composed([run], mesh, DELTA_ERROR)
        answer = fourier_accountant.delta_bounds(composed, epsilon)
        rows.append(row(KOSKELA, answer, points=composed.up.masses.size, mesh=mesh))
    for mesh in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4):
        curve = find(PRVCORE).curve([run], mesh_size=mesh, engine="convolution", neighbors="remove")
        points = curve.error_budget(epsilon=epsilon).transform_length
        rows.append(row(PRVCORE, curve.delta(epsilon), points=points, mesh=mesh))
    figure, axes = new()
    draw_bands(axes, rows, "points", THREE)
    axes.set(xlabel="number of discretisation points $n$", xscale="log")
    axes.set(ylabel=r"bounds of $\delta$ at $\varepsilon=1.5$", yscale="log")
    axes.set_title(r"$p=4\cdot10^{-3}$, $\sigma=0.8$, 1,000 compositions")
    axes.legend()
    return figure, rows


def figure_mesh():
    """Privacy curves at one mesh, for 10, 100 and 1000 compositions."""
    from ..reference import compose_prv, fourier_accountant

    mesh, least, rows = 8e-4, 1e-8, []
    figure, panels = new(width=PAGE, height=2.4, panels=3, sharey=True)
    for axes, steps in zip(panels, (10, 100, 1000), strict=True):
        run = Run(0.8, 1e-2, steps)
        eps_error = compose_prv.eps_error_of([steps], mesh, DELTA_ERROR)
        paper = PEERS[PAPER].composed([run], eps_error, DELTA_ERROR)
        koskela = PEERS[KOSKELA].composed([run], mesh, DELTA_ERROR)
        curve = find(PRVCORE).curve([run])
        top, here = curve.epsilon(least).upper, []
        for epsilon in [top * step / 40 for step in range(41)]:
            answers = {
                KOSKELA: fourier_accountant.delta_bounds(koskela, epsilon),
                PAPER: compose_prv.delta_bounds(paper, epsilon, eps_error, DELTA_ERROR),
                PRVCORE: curve.delta(epsilon),
            }
            here += [row(who, answers[who], steps=steps, epsilon=epsilon) for who in answers]
        draw_bands(axes, here, "epsilon", THREE)
        axes.set(xlabel=r"$\varepsilon$ (nats)", xlim=(0, top), yscale="log", ylim=(least, 1))
        axes.set_title(f"{steps:,} compositions")
        rows += here
    panels[0].set_ylabel(r"bounds of $\delta$")
    panels[0].legend(loc="upper right")
    figure.suptitle(r"$p=10^{-2}$, $\sigma=0.8$, mesh $8\cdot10^{-4}$", fontsize=8)
    return figure, rows


def figure_runtime():
    """Runtime against compositions, all with bounds of one width, and a look at those bounds.

    Koskela et al.'s bounds are ``steps * mesh`` apart in epsilon, the paper's ``2 eps_error``.
    """
    epsilon, rows = 1.5, []
    for steps in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000):
        settings = {
            KOSKELA: {"mesh": 2 * EPS_ERROR / steps},
            PAPER: {"eps_error": EPS_ERROR},
            PRVCORE: {"eps_error": 2 * EPS_ERROR},
        }
        for who, options in settings.items():
            runs = [Run(0.8, 4e-3, steps)]
            found = measure(find(who).delta, runs, epsilon, limit=90.0, **options)
            timed = {"seconds": found.seconds, "failure": found.failure}
            rows.append(row(who, found.answer, steps=steps, **timed))
    figure, (left, right) = new(width=PAGE, height=2.8, panels=2)
    left.set(xlabel="number of compositions", ylabel="runtime (s)", xscale="log", yscale="log")
    draw_speed_ups(left, rows)
    left.set_title(r"a: time for bounds 0.2 apart in $\varepsilon$")
    draw_bands(right, rows, "steps", {KOSKELA: THREE[KOSKELA]}, linewidth=3, alpha=0.3)
    draw_bands(right, rows, "steps", {who: THREE[who] for who in (PAPER, PRVCORE)})
    right.set(xlabel="number of compositions", xscale="log")
    right.set(ylabel=rf"bounds of $\delta$ at $\varepsilon={epsilon}$", yscale="log")
    right.set_title("b: the bounds that were timed")
    right.legend(loc="lower right")
    figure.suptitle(r"$p=4\cdot10^{-3}$, $\sigma=0.8$", fontsize=8)
    return figure, rows


def draw_speed_ups(axes, rows):
    """Draw times, and on a second axis their ratios."""
    steps = column(rows, "steps", implementation=PAPER)
    times = {who: column(rows, "seconds", implementation=who) for who in THREE}
    for who, label in THREE.items():
        line(axes, steps, times[who], who, label=label)
    ratios = axes.twinx()
    ratios.set(ylabel="speed-up (thin lines)", yscale="log")
    ratios.grid(visible=False)
    for slow, fast, style in (
        (KOSKELA, PAPER, ":"),
        (PAPER, PRVCORE, "--"),
        (KOSKELA, PRVCORE, "-."),
    ):
        quotients = [a / b for a, b in zip(times[slow], times[fast], strict=True)]
        label = f"{THREE[slow]} / {THREE[fast]}"
        ratios.plot(steps, quotients, color="#555555", linestyle=style, linewidth=0.9, label=label)
    handles = [artist for each in (axes, ratios) for artist in each.get_legend_handles_labels()[0]]
    axes.legend(handles=handles, loc="upper left", ncols=2)
    for each in (axes, ratios):  # room for the legend
        low, high = each.get_ylim()
        each.set_ylim(low, 100 * high)


def figure_floating_point():
    """Small deltas: where rounding takes over, and where tilting goes straight on (p = 1)."""
    rows, epsilons = [], [0.25 * step for step in range(53)]
    labels = {"double": "paper, double", "longdouble": "paper, long double"}
    for real, label in labels.items():
        deltas = published_deltas(real, epsilons)
        rows += [row(label, d, epsilon=e) for e, d in zip(epsilons, deltas, strict=True)]
    settings = {"prv-accountant": {"eps_error": EPS_ERROR}, "dp-accounting PLD": {"mesh": 1e-3}}
    for who, options in settings.items():
        for epsilon in epsilons if not PEERS[who].missing else ():
            found = measure(PEERS[who].delta, [GAUSSIAN], epsilon, calls=0, **options)
            rows.append(row(who, found.answer, epsilon=epsilon, failure=found.failure))
    curve = find(PRVCORE).curve([GAUSSIAN])
    for epsilon in epsilons:
        rows.append(row(PRVCORE, curve.delta(epsilon), epsilon=epsilon))
        rows.append(row("closed form", number(gaussian_delta(epsilon, mu=1.0)), epsilon=epsilon))
    figure, axes = new(height=3.0)
    exact = column(rows, "estimate", implementation="closed form")
    axes.plot(epsilons, exact, color=BLACK, linewidth=2.5, alpha=0.35, label="closed form")
    for label, style in zip(labels.values(), (":", "--"), strict=True):
        found = magnitudes(column(rows, "estimate", implementation=label))
        axes.plot(epsilons, found, color=BLUE, linestyle=style, label=label)
    for who, part, label in (
        ("prv-accountant", "estimate", "prv-accountant"),
        ("dp-accounting PLD", "upper", "dp-accounting (upper)"),
    ):
        found = magnitudes(column(rows, part, implementation=who))
        if found:
            line(axes, epsilons, found, who, label=label, markevery=4, linewidth=0.8)
    draw_dots(axes, rows, every=3)
    axes.set(xlabel=r"$\varepsilon$ (nats)", ylabel=r"$|\delta|$ as computed", yscale="log")
    axes.set(xlim=(0, 13), ylim=(1e-36, 10))
    axes.set_title(r"$p=1$, $\sigma=100$, 10,000 compositions")
    axes.legend(loc="lower left")
    return figure, rows


def published_deltas(real, epsilons):
    """Run the paper's algorithm on GAUSSIAN with transforms of this numpy type.

    The window is one for the smallest delta here, so that only rounding is left to see.
    """
    from ..reference import compose_prv
    from ..reference.subsampled_gaussian import SubsampledGaussian

    prv, counts = SubsampledGaussian(*GAUSSIAN[:2]), [GAUSSIAN.count]
    h = compose_prv.mesh_size(counts, EPS_ERROR, DELTA_ERROR)
    wide = compose_prv.truncation([prv], counts, EPS_ERROR, 1e-40)
    window = compose_prv.odd_smooth_number(2 * wide / h) * h / 2
    step = compose_prv.discretize(prv.cdf, prv.conditional_mean(window), window, h)
    composed = compose_prv.compose([step._replace(masses=step.masses.astype(real))], counts)
    return [number(compose_prv.delta(composed, epsilon)) for epsilon in epsilons]


# ---- Rows and lines ---------------------------------------------------------------------------


def row(who, answer, **more):
    """Make a row of a table; two bounds without an estimate are allowed."""
    lower, *estimate, upper = answer
    parts = {"lower": lower, "estimate": estimate[0] if estimate else math.nan, "upper": upper}
    return {"implementation": who, **more, **parts}


def number(value):
    """Give a number that has no bounds."""
    return Answer(math.nan, float(value), math.nan)


def draw_bands(axes, rows, x, labels, **options):
    """Draw the bounds of each implementation that is labelled."""
    for who, label in labels.items():
        places, lower, upper = (
            column(rows, name, implementation=who) for name in (x, "lower", "upper")
        )
        band(axes, places, lower, upper, LOOKS[who], label, **options)


def draw_dots(axes, rows, every):
    """Draw both bounds of prvcore as rings, which lines below are seen through."""
    epsilons = column(rows, "epsilon", implementation=PRVCORE)[::every]
    for part, label in (("lower", "_"), ("upper", "prvcore (both bounds)")):
        found = column(rows, part, implementation=PRVCORE)[::every]
        line(axes, epsilons, found, PRVCORE, label, linestyle="", markerfacecolor="none")


def magnitudes(values):
    """Prepare for a logarithmic axis: rounding can make deltas negative, or 0 (left out)."""
    return [abs(value) or math.nan for value in values]
