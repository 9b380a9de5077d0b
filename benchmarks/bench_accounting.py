"""The whole call, from the mechanism's parameters to epsilon; the implementation is a parameter."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

import itertools
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from .accountants import ACCOUNTANTS, accountant

SETTING = {"sampling_probability": 1e-3, "delta": 1e-7, "width": 0.02}
NOISE_MULTIPLIER = 0.8
TRUTH = {1_000: 0.703708838718, 100_000: 3.2262289703152351}  # 'remove', the larger direction


class Epsilon:
    """Epsilon of the Poisson-subsampled Gaussian, to a width of 0.02."""

    params = (list(ACCOUNTANTS), list(TRUTH))
    param_names = ("implementation", "steps")
    timeout = 300
    number, repeat, rounds, warmup_time = 1, (1, 20, 5.0), 1, 0

    def setup(self, implementation, steps):
        """Make one call beforehand: first plans and page faults are not what is timed here."""
        self.epsilon = accountant(implementation)
        self.calls = 0
        self.bounds = self.query(steps)

    def query(self, steps):
        """Ask about a mechanism never asked about before, so that no cache can answer."""
        noise_multiplier = NOISE_MULTIPLIER * (1 + 1e-12 * self.calls)
        self.calls += 1
        return self.epsilon(noise_multiplier, steps=steps, **SETTING)

    def time_epsilon(self, implementation, steps):
        self.query(steps)

    def track_width(self, implementation, steps):
        """``upper - lower``; nan for an accountant that has no lower bound."""
        lower, _, upper = self.bounds
        return upper - lower

    track_width.unit = "nats"

    def track_distance_to_truth(self, implementation, steps):
        _, estimate, _ = self.bounds
        return abs(estimate - TRUTH[steps])

    track_distance_to_truth.unit = "nats"


class Threads:
    """Queries of prvcore from two threads at once, each of a mechanism never asked about before."""

    params = ([1_000, 100_000],)
    param_names = ("steps",)
    timeout = 300

    def setup(self, steps):
        may_choose = hasattr(os, "sched_getaffinity")
        if (len(os.sched_getaffinity(0)) if may_choose else os.cpu_count()) < 2:
            raise NotImplementedError("two threads need two cores")
        self.epsilon = accountant("prvcore")
        self.calls = itertools.count()
        self.queries_per_second(1, steps, seconds=0.1)

    def queries_per_second(self, threads, steps, seconds=0.5):
        start = time.perf_counter()

        def ask_until_the_end():
            queries = 0
            while time.perf_counter() < start + seconds:
                noise_multiplier = 1 + 1e-12 * next(self.calls)
                self.epsilon(noise_multiplier, 1e-2, steps, delta=1e-5, width=1e-2)
                queries += 1
            return queries

        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(ask_until_the_end) for _ in range(threads)]
            return sum(future.result() for future in futures) / (time.perf_counter() - start)

    def track_two_threads(self, steps):
        """Throughput of two threads over that of one; the median of five turns."""
        return statistics.median(
            self.queries_per_second(2, steps) / self.queries_per_second(1, steps) for _ in range(5)
        )

    track_two_threads.unit = "times one thread"
