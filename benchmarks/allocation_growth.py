"""Print how the time of a random allocation grows with its number of batches.

Gaussian noise, one epoch, epsilon at delta = 1e-6 in one direction, bounds as far apart as a part
of epsilon. Of each question the least processor time of some calls is taken, each with a noise
multiplier never used before.
"""

import math
import time

import prvcore as prv

from .measure import machine, use_one_thread

BATCHES = (8, 64, 512, 4096, 32768, 262144, 1_000_000)
NOISE = (0.5, 1.0, 2.0)
WIDTHS = (1e-2, 1e-3)
DELTA = 1e-6
CALLS = 3


def milliseconds(noise, batches, direction, width):
    """Return the least processor time of epsilon to a relative width."""

    def ask(call, eps_error):
        step = prv.RandomAllocation(prv.Gaussian(noise * (1 + 1e-9 * call)), batches)
        return prv.eps_from_delta(step, DELTA, neighbors=direction, eps_error=eps_error)

    epsilon = ask(0, 1e-3).estimate
    epsilon = ask(0, 1e-2 * epsilon).estimate
    least = math.inf
    for call in range(1, CALLS + 1):
        begun = time.process_time()
        ask(call, width * epsilon)
        least = min(least, time.process_time() - begun)
    return 1e3 * least


def main():
    """Print one row for each noise, direction and width, with the growth beside that of log t."""
    use_one_thread()
    print(machine())
    print("| noise | direction | width |", *(f"{t} |" for t in BATCHES), "growth |")
    print("| --- | --- | --- |", *("--- |" for _ in BATCHES), "--- |")
    for noise in NOISE:
        for direction in ("remove", "add"):
            for width in WIDTHS:
                row = [milliseconds(noise, t, direction, width) for t in BATCHES]
                growth = row[-1] / row[0]
                print(
                    f"| {noise:g} | {direction} | {width:g} |",
                    *(f"{x:.1f} |" for x in row),
                    f"{growth:.0f} |",
                    flush=True,
                )
    print(f"log t grows {math.log(BATCHES[-1]) / math.log(BATCHES[0]):.1f} times.")


if __name__ == "__main__":
    main()
