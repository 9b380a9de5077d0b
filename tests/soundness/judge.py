"""Compare prvcore's answers with the truth."""

import math
import signal
import time
from typing import NamedTuple

import prvcore as prv

from . import oracle
from .laws import TooSlowError

# what prvcore may refuse, saying so
REFUSALS = ("spectrum falls too slowly", "above the memory limit", "use the bracketing")
ORACLE_PATIENCE = 2.0  # seconds for one value


class Verdict(NamedTuple):
    """outcome is 'held', 'violated', or why nothing was compared; compared counts bounds."""

    outcome: str
    compared: int = 0
    way: str = ""
    violations: tuple = ()
    seconds: float = 0.0


def judge(setting, patience):
    """Ask for epsilon, and for delta near there, and hold both against the truth.

    Of several mechanisms the same is asked of an accountant that was asked while they ran.
    """
    start = time.perf_counter()
    try:
        curve = prv.compose(setting.steps, **setting.options)
        answers = [("", *_ask(curve, setting, patience))]
        if len(curve.mechanisms) > 1:
            running = _running(setting, patience)
            answers.append((" by an Accountant", *_ask(running, setting, patience)))
    except TimeoutError:
        return Verdict("prvcore takes too long")
    except prv.PrecisionError:
        return Verdict("refused")
    except ValueError as error:
        if any(text in str(error) for text in REFUSALS):
            return Verdict("refused")
        raise
    seconds = time.perf_counter() - start
    found = []
    for _, epsilon, deltas in answers:
        found += _disorder(epsilon, setting.delta)
        for x, bounds in deltas:
            found += _disorder(bounds, x)
    compared, ways, reason, cache = 0, set(), "", {}

    def truth(x):
        nonlocal compared, reason
        try:
            value = _within(ORACLE_PATIENCE, oracle.delta, setting.steps, curve.neighbors, x, cache)
        except TimeoutError:
            reason = "time"
            return None
        except TooSlowError as error:
            reason = reason or str(error)
            return None
        compared += 1
        ways.add(value.way)
        return value

    for who, epsilon, deltas in answers:
        for x, bounds in deltas:
            value = truth(x)
            if value is None:
                break
            if bounds.lower > value.high + 5e-324 or bounds.upper < value.low - 5e-324:
                found.append(f"{who}.delta({x!r}) is {bounds}, truth {_said(value)}")
        if not compared:
            break
        asked = f"{who}.epsilon({setting.delta!r}) is {epsilon}"
        lower = truth(epsilon.lower) if 0 < epsilon.lower < math.inf else None
        if lower and lower.high < setting.delta:
            found.append(f"{asked}, delta(lower) {_said(lower)}")
        upper = truth(epsilon.upper) if epsilon.upper < math.inf else None
        if upper and upper.low > setting.delta:
            found.append(f"{asked}, delta(upper) {_said(upper)}")
    way = " and ".join(sorted(ways))
    if found:
        lines = tuple(f"{setting!r}{what}" for what in found)
        return Verdict("violated", compared, way, lines, seconds)
    if not compared:
        return Verdict("the oracle gives up", violations=(reason,), seconds=seconds)
    return Verdict("held", compared, way, (), seconds)


def _ask(who, setting, patience):
    """Return the bounds of epsilon, and of delta near there: pairs (epsilon, bounds)."""
    epsilon = _within(patience, who.epsilon, setting.delta)
    points = [p for p in (epsilon.lower, epsilon.upper) if 0 < p < math.inf]
    middle = epsilon.estimate if epsilon.estimate < math.inf else max([1.0, *points])
    asked = [middle, *([] if middle == 0 else [setting.share * middle])]
    return epsilon, [(x, _within(patience, who.delta, x)) for x in asked]


def _running(setting, patience):
    """Return an accountant that was asked before all had run."""
    accountant = prv.Accountant(**setting.options)
    for number, (mechanism, count) in enumerate(setting.steps):
        accountant.add(mechanism, count)
        if number % 3 == 2:
            _within(patience, accountant.epsilon, setting.delta)
    return accountant


def _disorder(bounds, at):
    good = 0.0 <= bounds.lower <= bounds.estimate <= bounds.upper
    return [] if good else [f" at {at!r}: {bounds} is not in order"]


def _said(truth):
    return f"{float(truth.value)!r} ({truth.way}, relative error {truth.error:.1e})"


def _within(patience, question, *arguments):
    """Ask; TimeoutError if that takes more seconds of the processor, where a clock can ring."""
    if not hasattr(signal, "setitimer"):
        return question(*arguments)
    before = signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        return question(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _give_up(_signal, _frame):
    raise TimeoutError
