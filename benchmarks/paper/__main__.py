"""Draw figures: ``python -m benchmarks.paper --all --out figures/``."""

import argparse
import csv
import sys
import time
from pathlib import Path

from .. import measure


def main(arguments=None):
    """Draw, and say what was left out."""
    measure.use_one_thread()
    from ..peers import PEERS
    from . import latency, published, today
    from .plotting import save

    figures = {
        "fig1a_compositions_koskela": published.figure_1a,
        "fig1b_compositions_rdp_gdp": published.figure_1b,
        "fig2_validation": published.figure_2,
        "fig_discretisation_points": published.figure_points,
        "fig_curves_at_one_mesh": published.figure_mesh,
        "fig_runtime": published.figure_runtime,
        "fig_floating_point": published.figure_floating_point,
        "new_width_against_time": today.figure_pareto,
        "new_time_against_compositions": today.figure_steps,
        "new_smallest_delta": today.figure_smallest_delta,
        "new_latency": latency.figure_latency,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(figures))
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder (%(default)s)")
    options = parser.parse_args(arguments)
    unknown = set(options.figures) - set(figures)
    if unknown or not (options.all or options.figures):
        parser.error(f"name figures, or --all: {', '.join(figures)}")

    options.out.mkdir(parents=True, exist_ok=True)
    print(measure.machine())
    with (options.out / "implementations.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["implementation", "version", "left out because"])
        for name, peer in PEERS.items():
            table.writerow([name, "" if peer.missing else peer.version, peer.missing])
            if peer.missing:
                print(f"{name} is left out: {peer.missing}")
            else:
                print(f"{name}: {peer.distribution} {peer.version}")
        table.writerow(["machine", measure.machine(), ""])
    for name in figures if options.all else options.figures:
        start = time.perf_counter()
        figure, rows = figures[name]()
        save(figure, rows, options.out, name)
        taken = time.perf_counter() - start
        print(f"{options.out / name}.png, .pdf, .csv: {taken:.1f} s", flush=True)
        for failure in dict.fromkeys(
            f"  {row['implementation']}: {row['failure']}" for row in rows if row.get("failure")
        ):
            print(failure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
