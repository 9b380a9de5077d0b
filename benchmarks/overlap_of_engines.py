"""Ask both engines the same random questions: bounds that do not overlap would prove one wrong.

Setting i of a seed is the same whatever the number of settings, so that --first i --settings 1
repeats it.
"""

import argparse
import heapq
import sys
import time
import warnings
from collections import Counter

import numpy as np

from .measure import within

MEMORY = 2**26
WIDTH = 1e-2
ENGINES = ("convolution", "spectrum")
REFUSAL = "spectrum falls too slowly"
REFUSED = "refused by the spectrum"
GIVEN_UP = {engine: f"given up: {engine} takes too long" for engine in ("auto", *ENGINES)}
MOST_SHOWN = 10


def main(arguments=None):
    """Ask, count, print; the exit status is 1 if any two bounds do not overlap."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overlap_of_engines", description=__doc__
    )
    parser.add_argument("--settings", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all of them (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="setting to begin with (%(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument(
        "--patience", type=float, default=2.0, help="seconds for an answer (%(default)s)"
    )
    options = parser.parse_args(arguments)

    import prvcore

    warnings.simplefilter("ignore", prvcore.AccuracyWarning)
    prvcore.set_memory_limit(MEMORY)
    kinds, asked, left, wrong, slowest = Counter(), 0, Counter(), 0, []
    taken = dict.fromkeys(ENGINES, 0.0)
    start = time.perf_counter()
    for number in range(options.first, options.first + options.settings):
        if time.perf_counter() - start > options.seconds:
            break
        steps, neighbors, delta = setting(prvcore, options.seed, number)
        described = f"setting {number}: {steps}, neighbors={neighbors!r}, delta={delta!r}"
        asked += 1
        kinds.update({kind(mechanism) for mechanism, _ in steps})
        answers, seconds = ask(prvcore, steps, neighbors, delta, options.patience)
        for engine in ENGINES:
            taken[engine] += seconds[engine]
            heapq.heappush(slowest, (seconds[engine], engine, described))
        slowest = heapq.nlargest(5, slowest)
        if isinstance(answers, str):
            left[answers] += 1
            if left[answers] <= MOST_SHOWN:
                print(f"{answers}, {described}", flush=True)
            continue
        for question, (a, b) in answers.items():
            if not (ordered(a) and ordered(b) and overlap(a, b)):
                wrong += 1
                print(f"DISAGREEMENT about {question}, {described}\n  {a}\n  {b}", flush=True)

    print(f"seed {options.seed}, settings {options.first} to {options.first + asked - 1}")
    print(f"{asked} settings, of which with:")
    for name, count in sorted(kinds.items()):
        print(f"  {name:42} {count:6}")
    print(", ".join(f"{engine}: {spent:.1f} s" for engine, spent in taken.items()))
    for reason in (REFUSED, *GIVEN_UP.values()):
        print(f"{reason}: {left[reason]}")
    print("slowest:")
    for spent, engine, described in slowest:
        print(f"  {spent:6.2f} s {engine}, {described}")
    print(f"disagreements: {wrong}")
    return 1 if wrong else 0


def ask(prvcore, steps, neighbors, delta, patience):
    """Ask both engines for epsilon at delta, and for delta near that epsilon.

    Returns
    -------
    answers : dict or str
        Both bounds by question, or why there are none.
    seconds : dict
        By engine.
    """
    answers, seconds = {"epsilon": [], "delta": []}, dict.fromkeys(ENGINES, 0.0)
    at, width = None, 1.0
    for engine in ("auto", *ENGINES):
        curve = prvcore.compose(steps, neighbors=neighbors, engine=engine, eps_error=width)
        start = time.perf_counter()
        try:
            epsilon = within(patience, curve.epsilon, delta)
            if at is None:  # a width for the size of epsilon, so that no setting takes long
                at = epsilon.lower if epsilon.lower < float("inf") else 1.0
                width = WIDTH * max(1.0, at)
                continue
            answers["epsilon"].append(epsilon)
            answers["delta"].append(within(patience, curve.delta, at))
        except TimeoutError:
            return GIVEN_UP[engine], seconds
        except ValueError as error:
            if REFUSAL not in str(error):
                raise
            return REFUSED, seconds
        finally:
            if engine in seconds:
                seconds[engine] = time.perf_counter() - start
    return answers, seconds


def overlap(a, b):
    """Tell whether both bounds leave a value possible."""
    return a.lower <= b.upper and b.lower <= a.upper


def ordered(bounds):
    """Tell whether bounds are in order, and numbers."""
    return 0.0 <= bounds.lower <= bounds.estimate <= bounds.upper


def kind(mechanism):
    """Name the type of a mechanism, and of what it samples for."""
    base = getattr(mechanism, "mechanism", None)
    return type(mechanism).__name__ + (f" of {type(base).__name__}" if base is not None else "")


# ---- Random settings -------------------------------------------------------------------------


def setting(prvcore, seed, number):
    """Draw steps, a neighbouring relation and a delta."""
    rng = np.random.default_rng([seed, number])
    distinct = 1 if rng.random() < 0.6 else int(rng.integers(2, 5))
    steps = [
        (random_mechanism(prvcore, rng), int(log_uniform(rng, 1.0, 1e5))) for _ in range(distinct)
    ]
    neighbors = ("add-or-remove", "add", "remove")[rng.integers(3)]
    # as likely small as common
    delta = log_uniform(rng, 1e-12, 0.5) if rng.random() < 0.7 else log_uniform(rng, 1e-100, 1e-12)
    return steps, neighbors, delta


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_mechanism(prvcore, rng):
    probability = log_uniform(rng, 1e-5, 1.0)
    choice = rng.random()
    if choice < 0.3:
        noise = log_uniform(rng, 0.4, 20.0)
        return prvcore.PoissonSubsampledGaussian(noise, probability)
    base = random_base(prvcore, rng)
    return prvcore.PoissonSubsampled(base, probability) if choice < 0.6 else base


def random_base(prvcore, rng):
    noise, sensitivity = log_uniform(rng, 0.5, 100.0), int(rng.integers(1, 4))
    makers = [
        lambda: prvcore.Gaussian(noise),
        lambda: prvcore.Laplace(noise, sensitivity),
        lambda: prvcore.DiscreteGaussian(noise, sensitivity),
        lambda: prvcore.DiscreteLaplace(noise, sensitivity),
        lambda: prvcore.PureDP(log_uniform(rng, 1e-3, 2.0)),
        lambda: prvcore.ApproximateDP(log_uniform(rng, 1e-3, 2.0), log_uniform(rng, 1e-15, 1e-4)),
        lambda: random_table(prvcore, rng),
        lambda: prvcore.FromCDFs(GaussianCDF(0.5 / noise), GaussianCDF(-0.5 / noise)),
        lambda: prvcore.FromPrivacyCurve(ResponseCurve(log_uniform(rng, 1e-2, 2.0))),
    ]
    # functions are certain to 2^-51 only: the widths asked are often out of reach, which takes long
    functions = 2 if rng.random() < 0.3 else 0
    return makers[rng.integers(len(makers) - 2 + functions)]()


def random_table(prvcore, rng):
    """Draw Q's masses, and losses moved up until P has no more mass than 1."""
    size = int(rng.integers(1, 6))
    masses = np.exp(rng.uniform(np.log(1e-4), 0.0, size))
    infinite = float(rng.choice([0.0, 1e-9]))
    masses *= (1.0 - infinite) / masses.sum()
    losses = np.cumsum(np.exp(rng.uniform(np.log(1e-3), np.log(2.0), size)))
    losses += np.log((masses * np.exp(-losses)).sum()) + float(rng.choice([1e-9, 0.1]))
    return prvcore.FromTable(losses, masses, infinite)


class GaussianCDF:
    """Of the loss of a Gaussian mechanism, N(+-mu^2 / 2, mu^2); `half` is +-mu / 2."""

    def __init__(self, half):
        self.half = half

    def __call__(self, losses):
        from scipy.special import ndtr

        return ndtr(losses / (2.0 * abs(self.half)) - self.half)

    def __repr__(self):
        return f"GaussianCDF({self.half!r})"


class ResponseCurve:
    """Of randomized response: piecewise linear in e^epsilon with corners at -+greatest."""

    def __init__(self, greatest):
        self.greatest = greatest

    def __call__(self, epsilons):
        top = np.exp(self.greatest)
        inside = (top - np.exp(np.minimum(epsilons, self.greatest))) / (1.0 + top)
        below = -np.expm1(np.minimum(epsilons, 0.0))
        return np.where(epsilons < -self.greatest, below, inside)

    def __repr__(self):
        return f"ResponseCurve({self.greatest!r})"


if __name__ == "__main__":
    sys.exit(main())
