"""Hold RandomAllocation beside its peers in one run, on one thread, and print a table.

pld-accounting has bounds on both sides of a random allocation, opake an upper bound. A record is
removed, which is the larger direction. All are asked for their default accuracy (opake: the mesh
below). A first call pays for imports, and the second one is timed, with a noise multiplier never
used before, so that no cache answers; a first call of seconds is told itself.
"""

import time
from typing import NamedTuple

from .measure import LONG, machine, use_one_thread


class Question(NamedTuple):
    """An allocation of Gaussian noise to `selected` of `batches`, over `epochs`."""

    noise_multiplier: float
    batches: int
    epochs: int
    delta: float
    selected: int = 1


QUESTIONS = [
    Question(0.5, 1000, 1, 1e-6),  # 4.1060159 by transforms of the law of the ratio
    Question(1.0, 64, 1, 1e-8),  # 1.7986617
    Question(1.0, 1000, 1, 1e-5),  # 0.1388466
    Question(1.0, 100, 5, 1e-6),
    Question(
        1.0, 100, 1, 1e-5, selected=7
    ),  # bounds of peers are those of a partition in blocks, too
]
MESH = 1e-2  # of opake: its time grows with the square of 1 / mesh


def of_prvcore(q):
    """Ask prvcore."""
    import prvcore

    base = prvcore.Gaussian(q.noise_multiplier)
    step = prvcore.RandomAllocation(base, batches=q.batches, selected=q.selected)
    bounds = prvcore.eps_from_delta(step, q.delta, counts=q.epochs, neighbors="remove")
    return bounds.lower, bounds.upper


def of_pld_accounting(q):
    """Ask pld-accounting."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    upper, lower = gaussian_allocation_epsilon_range(
        delta=q.delta,
        sigma=q.noise_multiplier,
        num_steps=q.batches,
        num_selected=q.selected,
        num_epochs=q.epochs,
    )
    return lower, upper


def of_opake(q):
    """Ask opake, which has no lower bound."""
    from .peers.opake import native

    accounting = native()
    config = accounting.DiscretizationConfig(MESH)
    epoch = accounting.random_allocation_gaussian_pld(
        q.noise_multiplier, q.batches, q.selected, config
    )
    return None, epoch.self_compose(q.epochs).epsilon_at(q.delta)


PEERS = {"prvcore": of_prvcore, "pld-accounting": of_pld_accounting, "opake": of_opake}


def timed(ask, question):
    """Return an answer and its processor time."""
    for call in range(2):
        fresh = question._replace(noise_multiplier=question.noise_multiplier * (1 + 1e-12 * call))
        begun = time.process_time()
        answer = ask(fresh)
        seconds = time.process_time() - begun
        if seconds > LONG:
            break
    return answer, seconds


def main():
    """Print one row for each question and peer."""
    use_one_thread()
    print(machine())
    columns = ["noise", "batches", "epochs", "delta", "selected", "implementation"]
    print("|", " | ".join([*columns, "ms", "lower", "upper", "width"]), "|")
    print("| --- |" + " --- |" * 9)
    for question in QUESTIONS:
        told = " | ".join(f"{value:g}" for value in question)
        for name, ask in PEERS.items():
            try:
                (lower, upper), seconds = timed(ask, question)
            except Exception as error:  # whatever a peer raises is its answer
                print(f"| {told} | {name} | - | {type(error).__name__}: {error} | - | - |")
                continue
            below = "-" if lower is None else f"{lower:.7f}"
            width = "-" if lower is None else f"{upper - lower:.1e}"
            print(f"| {told} | {name} | {seconds * 1e3:.2f} | {below} | {upper:.7f} | {width} |")


if __name__ == "__main__":
    main()
