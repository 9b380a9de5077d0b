"""Rows of work on threads or on any executor."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._core.composition import Stop

__all__ = ["checked_workers", "run"]

_Rows = NDArray[np.float64]
_Result = TypeVar("_Result")

# A task of a thread pool costs some 0.05 ms and a setting some 0.5 ms, or a part of that where its
# neighbours are in the same task; small tasks balance the load and are soon over where the sweep is
# stopped. A task of a cluster costs milliseconds.
_TASKS_OF_A_THREAD = 8
_FEWEST_SETTINGS_OF_A_THREAD = 8
_MOST_SETTINGS_OF_A_THREAD = 64
_TASKS_OF_AN_EXECUTOR = 128
_MOST_SETTINGS_OF_A_TASK = 128


def checked_workers(workers: object, executor: object) -> int:
    """Return how many threads compute: as many as this process may use cores, if left out."""
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    if workers is None:
        return _cores()
    if executor is not None:
        raise TypeError(f"workers must be None where executor is given, got {workers!r}")
    return _arguments.integer(workers, "workers", 1, 2**15)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    task: Callable[[_Rows], _Result],
    rows: _Rows,
    workers: int,
    executor: Executor | None,
    advance: Callable[[int], object],
) -> Iterator[tuple[int, _Result]]:
    """Yield the first row of each task and what it returned, in any order."""
    if executor is None:
        size = len(rows) // (_TASKS_OF_A_THREAD * workers)
        size = max(_FEWEST_SETTINGS_OF_A_THREAD, min(size, _MOST_SETTINGS_OF_A_THREAD))
        size = min(size, -(-len(rows) // workers))
    else:
        size = min(_MOST_SETTINGS_OF_A_TASK, -(-len(rows) // _TASKS_OF_AN_EXECUTOR))
    pieces = ((first, rows[first : first + size]) for first in range(0, len(rows), max(1, size)))
    if executor is not None:
        yield from _submit(executor, task, pieces, advance)
    elif min(workers, len(rows)) < 2:  # in this thread, which alone Ctrl-C reaches in a query
        for first, piece in pieces:
            yield first, task(piece)
            advance(len(piece))
    else:
        yield from _in_threads(workers, task, pieces, advance)


def _in_threads(
    workers: int,
    task: Callable[[_Rows], _Result],
    pieces: Iterable[tuple[int, _Rows]],
    advance: Callable[[int], object],
) -> Iterator[tuple[int, _Result]]:
    # Ctrl-C in a lock that is written in Python, as a future's is, may break it. So this thread
    # makes one future for each worker, and waits for results at a queue that is written in C.
    waiting = deque(pieces)
    stop = Stop()
    done: SimpleQueue[tuple[int, int, _Result] | BaseException] = SimpleQueue()

    def work() -> None:
        stop.end_this_thread()
        while True:
            try:
                first, piece = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((first, len(piece), task(piece)))
            except BaseException as error:
                done.put(error)

    with ThreadPoolExecutor(workers, thread_name_prefix="prvcore-sweep") as pool:
        try:
            left = len(waiting)
            for _ in range(min(workers, left)):
                pool.submit(work)
            for _ in range(left):
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                first, length, rows = result
                yield first, rows
                advance(length)
        finally:
            waiting.clear()
            stop.ask()


def _submit(
    executor: Executor,
    task: Callable[[_Rows], _Result],
    pieces: Iterable[tuple[int, _Rows]],
    advance: Callable[[int], object],
) -> Iterator[tuple[int, _Result]]:
    futures = {}
    try:
        for first, piece in pieces:
            futures[executor.submit(task, piece)] = first, len(piece)
        for future in as_completed(futures):
            first, length = futures[future]
            yield first, future.result()
            advance(length)
    finally:
        for future in futures:
            future.cancel()
