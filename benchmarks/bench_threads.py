"""Queries of prvcore from several threads at once."""

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor

from .measure import never_seen_before
from .peers import Run, find


class Threads:
    """Throughput; every query is of a mechanism never asked about before."""

    params = ([1, 2, 4], [1_000, 100_000])
    param_names = ("threads", "steps")

    def setup(self, threads, _steps):
        can_tell = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if can_tell else os.cpu_count()
        if cores < threads:
            raise NotImplementedError(f"{threads} threads need as many cores, there are {cores}")
        self.prvcore, self.calls = find("prvcore"), itertools.count()

    def track_queries_per_second(self, threads, steps, seconds=0.5):
        start, runs = time.perf_counter(), [Run(1.0, 1e-2, steps)]

        def ask_until_the_end():
            queries = 0
            while time.perf_counter() < start + seconds:
                fresh = never_seen_before(runs, next(self.calls))
                self.prvcore.epsilon(fresh, 1e-5, eps_error=1e-2)
                queries += 1
            return queries

        ask_until_the_end()
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(ask_until_the_end) for _ in range(threads)]
            return sum(future.result() for future in futures) / (time.perf_counter() - start)

    track_queries_per_second.unit = "queries per second"
