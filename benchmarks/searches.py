"""How long the slowest searches take: random calibrations and additions to filters.

A question is the same for a seed and a number, whatever the number of questions, so that --first i
--questions 1 repeats one. Times are processor times, which are those that pass on an idle machine.
Memory is by how much the resident pages of the process grew at most during a question (Linux; nan
elsewhere).
"""

import math
import random
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from . import random_mechanisms
from .measure import within
from .random_mechanisms import log_uniform, rounded
from .random_questions import options_of, quantile

KINDS = ("calibrate", "filter")
ADDITIONS = 10  # offered to one filter
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEGABYTE = 1e6


class Answered(NamedTuple):
    """What a question cost, and what came of it."""

    seconds: float
    megabytes: float
    question: str
    answer: str


def main(arguments=None):
    """Ask, and print the slowest questions and quantiles."""
    options = options_of("searches", __doc__, KINDS, 500, arguments)

    import prvcore

    warnings.simplefilter("ignore", prvcore.AccuracyWarning)
    numbers = range(options.first, options.first + options.questions)
    show(options, list(ask(prvcore, options.kind, options.seed, numbers, options.patience)))


def ask(prvcore, kind, seed, numbers, patience):
    """Ask the questions of these numbers; yield what each cost."""
    questions = calibrations if kind == "calibrate" else additions
    return questions(prvcore, seed, numbers, patience)


def show(options, answered):
    """Print the slowest, the most demanding, and quantiles."""
    for each in sorted(answered)[-options.slowest :]:
        print(f"{each.seconds:8.3f} s {each.megabytes:7.1f} MB  {each.question}  {each.answer}")
    greatest = max(answered, key=lambda each: each.megabytes)
    print(f"most memory: {greatest.megabytes:.1f} MB  {greatest.question}")
    seconds = sorted(each.seconds for each in answered)
    told = ", ".join(
        f"{name} {quantile(seconds, share) * 1e3:.1f} ms"
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    )
    print(
        f"{options.kind}, seed {options.seed}: {len(seconds)} questions; mean "
        f"{sum(seconds) / len(seconds) * 1e3:.1f} ms, {told}; {greatest.megabytes:.1f} MB at most"
    )


# ---- Calibrations --------------------------------------------------------------------------------


def calibrations(prvcore, seed, numbers, patience):
    """Ask for the cheapest value of a parameter, over random targets."""
    for number in numbers:
        arguments, described = calibration(prvcore, random.Random(f"{seed} calibrate {number}"))
        yield asked(f"{number}: {described}", patience, calibrated, prvcore, arguments)


def calibration(prvcore, random):
    """Draw the keyword arguments of `calibrate`, and say what they are."""
    many = random.choice([1, 1, 1, 1, 2, 3])
    steps = [random_mechanisms.mechanism(prvcore, random) for _ in range(many)]
    parameter = random.choice(parameters_of(steps))
    most = 1e5 if many == 1 and parameter != "steps" else 100
    counts = [int(log_uniform(random, 1, most)) for _ in steps]
    if parameter == "steps" and many == 1:
        counts = [1]
    arguments = {
        "mechanisms": steps[0] if many == 1 else steps,
        "counts": counts[0] if many == 1 else counts,
        "epsilon": rounded(random, 0.05, 20),
        "delta": rounded(random, 1e-12, 1e-3),
        "parameter": parameter,
        "neighbors": random.choice(["add-or-remove"] * 3 + ["add", "remove"]),
    }
    if random.random() < 0.05:
        arguments["delta"] = rounded(random, 1e-100, 1e-12)
    if random.random() < 0.3:
        before = random_mechanisms.mechanism(prvcore, random)
        arguments["after"] = [(before, int(log_uniform(random, 1, 30)))]
    return arguments, ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def parameters_of(steps):
    """Return the parameters that any of the steps has."""
    found = ["steps"]
    for name, attributes in (
        ("noise_multiplier", ("noise_multiplier", "scale")),
        ("sampling_probability", ("sampling_probability",)),
    ):
        bases = [getattr(step, "mechanism", step) for step in steps]
        if any(hasattr(each, attribute) for each in (*steps, *bases) for attribute in attributes):
            found.append(name)
    return found


def calibrated(prvcore, arguments):
    """Return the value found, or why there is none."""
    try:
        found = prvcore.calibrate(**arguments)
    except prvcore.TargetError:
        return "cannot be met"
    return f"{found.value!r} proven={found.proven} of {found.compositions}"


# ---- Filters -------------------------------------------------------------------------------------


def additions(prvcore, seed, numbers, patience):
    """Offer random mechanisms to filters, each a run of `ADDITIONS`."""
    for first in range(numbers.start - numbers.start % ADDITIONS, numbers.stop, ADDITIONS):
        draw = random.Random(f"{seed} filter {first}")
        epsilon, delta = rounded(draw, 0.3, 20), rounded(draw, 1e-12, 1e-3)
        budget = prvcore.PrivacyFilter(prvcore.Accountant(), epsilon, delta)
        for number in range(first, first + ADDITIONS):
            step = random_mechanisms.mechanism(prvcore, draw)
            count = int(log_uniform(draw, 1, 1000))
            described = f"{number}: ({epsilon!r}, {delta!r}), {step!r}, {count}"
            each = asked(described, patience, added, prvcore, budget, step, count)
            if number in numbers:
                yield each


def added(prvcore, budget, step, count):
    """Return what the filter said."""
    try:
        budget.add(step, count)
    except prvcore.BudgetExceededError:
        return "exceeds the budget"
    return "recorded"


# ---- Cost ----------------------------------------------------------------------------------------


def asked(described, patience, question, *arguments):
    """Ask a question; what takes too long is counted as that long."""
    before = forget_peak()
    begun = time.process_time()
    try:
        answer = within(patience, question, *arguments)
    except TimeoutError:
        answer = "given up"
    except (ValueError, ArithmeticError) as error:  # refusals are answers
        answer = f"{type(error).__name__}: {error}"
    seconds = time.process_time() - begun
    return Answered(seconds, (resident("VmHWM") - before) / MEGABYTE, described, answer)


def forget_peak():
    """Let the peak of resident memory begin anew; return what is resident, in bytes."""
    if CLEAR.exists():
        CLEAR.write_text("5", encoding="ascii")  # see proc(5)
    return resident("VmRSS")


def resident(field):
    """Return a field of the process's status in bytes, nan where there is none."""
    if not CLEAR.exists():
        return math.nan
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return 1024.0 * float(next(line for line in lines if line.startswith(field)).split()[1])


if __name__ == "__main__":
    from .measure import use_one_thread

    use_one_thread()
    main()
