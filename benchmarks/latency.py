"""How long single questions take: quantiles over random ones, in a unit of the machine.

The unit is eight of numpy's real transforms of 8,192 doubles, about what the paper's setting takes,
so that quantiles compare across machines and versions. Times are processor times, which are those
that pass on an idle machine. A question is the same for a seed and a number, whatever the number of
questions, so that --first i --questions 1 repeats one.
"""

import random
import time
import warnings
from typing import NamedTuple

from . import random_mechanisms
from .measure import within
from .random_mechanisms import log_uniform, rounded
from .random_questions import options_of, quantile

KINDS = {
    "dpsgd": "epsilon of one sampled Gaussian mechanism",
    "delta": "delta of lists of mechanisms",
    "mixed": "epsilon, now and then delta, of lists of mechanisms",
}
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
UNIT_EVERY = 100  # questions: the clock of the processor may change


class Answered(NamedTuple):
    """What a question cost, and what came of it."""

    units: float
    seconds: float
    question: str
    answer: str


def main(arguments=None):
    """Ask, and print the slowest questions and quantiles."""
    options = options_of("latency", __doc__, KINDS, 2000, arguments)

    numbers = range(options.first, options.first + options.questions)
    answered = sorted(ask(options.kind, options.seed, numbers, options.patience))
    for each in answered[-options.slowest :]:
        print(f"{each.units:9.1f} {each.seconds * 1e3:9.1f} ms  {each.question}  {each.answer}")
    told = " ".join(f"{name} {value:.2f}" for name, value in quantiles(answered).items())
    print(f"{options.kind}, seed {options.seed}: {len(answered)} questions; units: {told}")


def quantiles(answered):
    """Return the mean and quantiles of sorted answers, in units."""
    units = [each.units for each in answered]
    at = {name: quantile(units, share) for name, share in SHARES.items()}
    return {"mean": sum(units) / len(units), **at}


def ask(kind, seed, numbers, patience):
    """Ask the questions of these numbers; yield what each cost."""
    import prvcore

    warnings.simplefilter("ignore", prvcore.AccuracyWarning)
    # imports, of the provider of transforms too, and first pages are nobody's
    first = [(prvcore.PoissonSubsampledGaussian(1.0, 0.5), 300)]
    prvcore.PrivacyCurve(first, engine="convolution", mesh_size=1e-5).epsilon(1e-5)
    now = unit()
    for count, number in enumerate(numbers):
        if count % UNIT_EVERY == 0:
            now = unit()
        steps, options, asks, point = question(
            prvcore, kind, random.Random(f"{seed} {kind} {number}")
        )
        function = prvcore.eps_from_delta if asks == "epsilon" else prvcore.delta_from_eps
        begun = time.process_time()
        try:
            answer = within(patience, function, steps, point, **options)
        except TimeoutError:
            answer = "given up"
        except (ValueError, ArithmeticError) as error:  # refusals are answers
            answer = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - begun
        described = f"{number}: {asks} at {point!r} of {steps!r}, {options!r}"
        yield Answered(seconds / now, seconds, described, str(answer))


def question(prvcore, kind, draw):
    """Draw steps, options, what is asked, and the point at which."""
    if kind == "dpsgd":
        noise, probability = rounded(draw, 0.3, 10), rounded(draw, 1e-6, 0.2)
        step = prvcore.PoissonSubsampledGaussian(noise, probability)
        return [(step, int(log_uniform(draw, 1, 1e6)))], {}, "epsilon", rounded(draw, 1e-12, 1e-4)
    many = 1 if draw.random() < 0.6 else draw.choice([2, 3, 5, 10])
    most = 1e6 if many == 1 else 1e4
    steps = [
        (random_mechanisms.mechanism(prvcore, draw), int(log_uniform(draw, 1, most)))
        for _ in range(many)
    ]
    options = {"neighbors": draw.choice(["add-or-remove"] * 3 + ["add", "remove"])}
    if kind == "mixed" and draw.random() < 0.8:
        tiny = draw.random() < 0.1
        return (
            steps,
            options,
            "epsilon",
            rounded(draw, *((1e-100, 1e-12) if tiny else (1e-12, 1e-3))),
        )
    return steps, options, "delta", rounded(draw, 1e-3, 30)


def unit():
    """Return the seconds that the unit takes now."""
    import numpy as np

    data, times = np.random.default_rng(0).random(8192), []
    for _ in range(50):
        begun = time.perf_counter()
        np.fft.rfft(data)
        times.append(time.perf_counter() - begun)
    return 8 * min(times)


if __name__ == "__main__":
    from .measure import use_one_thread

    use_one_thread()
    main()
