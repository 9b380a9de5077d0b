"""Time a question, with a limit of time for each."""

import contextlib
import itertools
import os
import platform
import signal
import statistics
import threading
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from .peers import Answer


class Measured(NamedTuple):
    """An answer and its cost; `failure` says why there is none."""

    seconds: float
    answer: Answer
    failure: str = ""


LONG = 2.0  # seconds; imports and plans take less
NO_ANSWER = Answer(float("nan"), float("nan"), float("nan"))


def never_seen_before(runs, call):
    """Change the noise by 1e-12 relatively in each call, so that no cache can answer."""
    factor = 1 + 1e-12 * call
    return [run._replace(noise_multiplier=run.noise_multiplier * factor) for run in runs]


def measure(ask, runs, point, *, limit=30.0, calls=5, least=0.02, enough=0.5, **settings):
    """Time ``ask(runs, point, **settings)``, a method of a peer, of ever new runs.

    A first call pays for imports, plans and page faults. It is not counted, unless it takes so long
    that they do not matter, or `calls` is 0. Then the median is taken of `calls` calls, or those
    that fit in `enough` seconds; of more until `least` seconds are spent, since a few calls of some
    hundred microseconds say how cold the caches were.

    What is told is processor time, of all threads: with `use_one_thread`, the time that passes on
    an idle machine, and much the same on a busy one.

    Returns
    -------
    Measured
        With `failure` if the peer raised, or took more than `limit` seconds for a call.
    """
    seconds = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # widths are measured, whatever was asked
            for call in itertools.count():
                fresh = never_seen_before(runs, call)
                begun = time.process_time()
                answer = within(limit, ask, fresh, point, **settings)
                seconds.append(time.process_time() - begun)
                spent = sum(seconds[1:])
                if seconds[0] > LONG or spent > enough or calls == 0:
                    break
                if call >= calls and spent >= least:
                    break
    except TimeoutError:
        return Measured(float("nan"), NO_ANSWER, f"took more than {limit:g} s")
    except Exception as error:  # whatever a peer raises is its answer
        return Measured(float("nan"), NO_ANSWER, f"{type(error).__name__}: {error}")
    return Measured(statistics.median(seconds[1:] or seconds), answer)


def within(seconds, question, *arguments, **settings):
    """Ask; TimeoutError if that takes more seconds (where signals can tell: not on Windows)."""
    may_stop = threading.current_thread() is threading.main_thread()
    if not (hasattr(signal, "setitimer") and may_stop):
        return question(*arguments, **settings)
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return question(*arguments, **settings)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _give_up(_signal, _frame):
    """Stop a question, as Ctrl-C would."""
    raise TimeoutError


def use_one_thread():
    """Pin to one core where that can be done; to be called before numpy is imported."""
    for library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine():
    """Name the processor and the operating system."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line for line in lines if line.startswith("model name")).split(": ")[1]
    system = platform.system()
    with contextlib.suppress(OSError):
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    return f"{processor}, {system}, Python {platform.python_version()}"
