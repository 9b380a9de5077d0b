"""How far a long call has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from prvcore._names import public

__all__ = ["Progress"]


@public
class Progress(NamedTuple):
    """How far a query or a calibration has come, as `progress` functions get it.

    Attributes
    ----------
    question, questions : int
        Which of the points asked is being answered, from 0, and how many there are.
    compositions : int
        That a calibration has bounded so far; 0 in a query.
    passes : int
        Finished on this point, all directions together.
    width : float
        Of its bounds so far, nats; infinite at first.
    width_asked : float
        Nats; 0 at first.
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


def listener(
    progress: Callable[[Progress], object] | None,
) -> Callable[[tuple[Any, ...]], object] | None:
    """Return what the C core's fields are given to."""
    if progress is None:
        return None
    if not callable(progress):
        raise TypeError(f"progress must be a function of a Progress, or None, got {progress!r}")
    return lambda fields: progress(Progress(*fields))
