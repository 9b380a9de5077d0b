"""How pictures look, and how they are saved: PNG, PDF, and their numbers as CSV."""

import csv
from typing import NamedTuple

COLUMN, PAGE = 3.4, 7.0  # inches: widths of a column and of a page of two

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#7F7F7F",
)  # Okabe and Ito's, safe for the colour-blind; everything differs by marker or line as well


class Look(NamedTuple):
    """Of everything that one implementation answers, in all pictures."""

    color: str
    marker: str
    linestyle: str = "-"


LOOKS = {
    "prvcore": Look(VERMILLION, "o"),
    "paper (numpy)": Look(BLUE, "s"),
    "Koskela et al. (numpy)": Look(GREEN, "^"),
    "prv-accountant": Look(SKY, "D"),
    "opacus PRV": Look(BLUE, "x", "--"),
    "dp-accounting PLD": Look(ORANGE, "v"),
    "opake": Look(BLACK, "P"),
    "pld-accounting": Look(PURPLE, "*"),
    "fourier-accountant": Look(GREY, "<", ":"),
    "RDP": Look(PURPLE, "X", "-."),
    "GDP (limit)": Look(GREY, "d", "--"),
}


def new(width=COLUMN, height=2.6, panels=1, **options):
    """Make a figure and its axes, for print at this width (inches)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 8,
            "axes.labelsize": 8,
            "axes.titlesize": 8,
            "legend.fontsize": 6.5,
            "legend.framealpha": 0.9,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "lines.linewidth": 1.2,
            "lines.markersize": 3.5,
            "axes.grid": True,
            "grid.linewidth": 0.3,
            "grid.alpha": 0.6,
            "axes.axisbelow": True,
            "pdf.fonttype": 42,
            "svg.hashsalt": "prvcore",
        }
    )
    return plt.subplots(1, panels, figsize=(width, height), layout="constrained", **options)


def column(rows, name, **conditions):
    """Take one column of the rows that fulfil all conditions."""
    chosen = conditions.items()
    return [row[name] for row in rows if all(row[key] == value for key, value in chosen)]


def band(axes, x, lower, upper, look, label, *, alpha=0.15, **options):
    """Draw both bounds as lines, filled between."""
    options = {"color": look.color, "linestyle": look.linestyle, **options}
    axes.plot(x, lower, **options)
    axes.plot(x, upper, label=label, **options)
    axes.fill_between(x, lower, upper, color=options["color"], alpha=alpha, linewidth=0)


def line(axes, x, y, name, label=None, **options):
    """Draw what one implementation answers."""
    look = LOOKS[name]._asdict()
    axes.plot(x, y, label=name if label is None else label, **{**look, **options})


def save(figure, rows, folder, name):
    """Write ``name.png``, ``name.pdf`` and ``name.csv``."""
    import matplotlib.pyplot as plt

    figure.savefig(folder / f"{name}.png", dpi=220)
    figure.savefig(folder / f"{name}.pdf")
    plt.close(figure)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=names)
        writer.writeheader()
        writer.writerows(rows)
