"""How far a long call has come: what `progress` functions are told, and a bar that shows it."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from prvcore._names import public

__all__ = ["Progress", "ProgressOption", "Tell", "reported", "share_of"]


@public
class Progress(NamedTuple):
    """How far a call has come: what the function that is given as `progress` is called with.

    Every call that may take long has the argument `progress`. If it is False, nothing is told; if
    True, a bar is shown, which needs tqdm. If it is a function, it is called with a `Progress`
    between stages, in the thread of the call; what it raises ends the call and comes out of it.

    Attributes
    ----------
    question, questions : int
        Which of the points asked is being answered, from 0, and how many there are. Of a sweep,
        how many of its distinct settings are done, and how many there are.
    compositions : int
        That a calibration has bounded so far; else 0.
    passes : int
        Finished on this point, all directions together; 0 in a sweep.
    width : float
        Of the point's bounds so far, nats; infinite at first, and in a sweep.
    width_asked : float
        Nats; 0 at first, and in a sweep.
    fraction : float
        Of the whole call, a guess in [0, 1] that never falls.

    """

    question: int
    questions: int
    compositions: int
    passes: int
    width: float
    width_asked: float
    fraction: float


ProgressOption: TypeAlias = bool | Callable[[Progress], object] | None
Tell: TypeAlias = Callable[[tuple[Any, ...]], object]  # of the fields of a Progress


@contextmanager
def reported(progress: ProgressOption, unit: str = "point") -> Iterator[Tell | None]:
    """Give what is to be called with the fields of each Progress, None where nothing is told."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar(unit) as show:
            yield show
    elif callable(progress):
        function = progress
        yield lambda fields: function(Progress(*fields))
    else:
        raise TypeError(
            f"progress must be True, False or a function of a Progress, got {progress!r}"
        )


@contextmanager
def _bar(unit: str) -> Iterator[Tell]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs tqdm: pip install 'prvcore[sweeps]', or pip install tqdm"
        ) from None

    with tqdm(total=1, unit=unit, bar_format="{l_bar}{bar}| {n:g}/{total_fmt} [{elapsed}]") as bar:

        def show(fields: tuple[Any, ...]) -> None:
            told = Progress(*fields)
            bar.total = told.questions
            bar.update(round(told.fraction * told.questions, 2) - bar.n)

        yield show
        bar.update((bar.total or 0) - bar.n)


def share_of(done: int, settings: int) -> tuple[Any, ...]:
    """Return the fields of the Progress of a sweep that has done so many of its settings."""
    return done, settings, 0, 0, math.inf, 0.0, done / settings if settings else 1.0
