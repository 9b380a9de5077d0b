"""Several mechanisms on the same records, as one mechanism."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prvcore import _arguments, _steps
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import Mechanism

__all__ = ["Composed", "on_same_records"]


@public
@dataclass(frozen=True, slots=True)
class Composed(Mechanism):
    """Several mechanisms on the same records, one after another, as one mechanism.

    Such a mechanism says what runs on one sample: `PoissonSubsampled` and
    `SubsampledWithoutReplacement` take a list of mechanisms, and make this one of the list. Without
    a sample, a `Composed` in a list of `compose` is the same as its parts in that list.

    Parameters
    ----------
    mechanisms : Mechanism or iterable
        Mechanisms or pairs (mechanism, count), as `compose` takes them. Later ones may use the
        results of earlier ones.

    Attributes
    ----------
    mechanisms : tuple of (Mechanism, int)
        The distinct mechanisms and their counts, in an order of their own.

    Raises
    ------
    TypeError, ValueError
        `mechanisms` has something else, or the counts add up to more than 2^53. `compose` raises
        ValueError for parts that have no pair of their own here: `BoundedRange`, truncated samples,
        samples of fixed size, and groups.

    Notes
    -----
    Gaussian mechanisms on the same records are one Gaussian mechanism of noise multiplier s,
    1 / s^2 = sum of count / s_j^2. The bounds allow for the rounding of s.

    Other parts have no such formula. The pair of all is enclosed between two discrete ones, which
    are made as fine as a question needs. The parts may be made of others in turn.

    Calibration of the noise multiplies the noise of all parts by one factor.

    Examples
    --------
    Two queries of one sample, a thousand times:

    >>> import prvcore as prv
    >>> both = prv.Composed([prv.Gaussian(1.281026), prv.Gaussian(1.6)])
    >>> step = prv.PoissonSubsampled(both, sampling_probability=0.01)
    >>> f"{prv.eps_from_delta(step, 1e-5, counts=1000):.2f}"
    '[1.82, 1.83]'

    """

    mechanisms: tuple[tuple[Mechanism, int], ...]

    if TYPE_CHECKING:

        def __init__(self, mechanisms: _steps.Mechanisms) -> None: ...

    def __post_init__(self) -> None:
        steps = tuple(
            (mechanism, count)
            for mechanism, count in _steps.merged(_steps.pairs(self.mechanisms, None))
            if count
        )
        object.__setattr__(self, "mechanisms", steps)

    def _key(self) -> tuple[Any, ...]:
        return ("Composed", *((mechanism._key(), count) for mechanism, count in self.mechanisms))

    def _parameter(self, name: str) -> float | None:
        # A factor of all noises.
        has_noise = any(mechanism._parameter("noise") for mechanism, _ in self.mechanisms)
        return 1.0 if name == "noise" and has_noise else None

    def _with(self, name: str, value: float) -> Mechanism:
        return replace(self, mechanisms=tuple(self._scaled(name, value)))

    def _scaled(self, name: str, factor: float) -> Iterator[tuple[Mechanism, int]]:
        for mechanism, count in self.mechanisms:
            noise = mechanism._parameter(name)
            yield mechanism if noise is None else mechanism._with(name, noise * factor), count

    def _scales_together(self) -> bool:
        return True

    def _has_replaced(self) -> bool:
        return all(mechanism._has_replaced() for mechanism, _ in self.mechanisms)

    def _gaussian_noise(self) -> tuple[tuple[float, int], ...] | None:
        found: list[tuple[float, int]] = []
        for mechanism, count in self.mechanisms:
            noise = mechanism._gaussian_noise()
            if noise is None:
                return None
            found.extend((each, number * count) for each, number in noise)
        return tuple(found)

    def _handle(self) -> core.Handle:
        noise: list[tuple[float, int]] = []
        others: list[tuple[Mechanism, int]] = []
        for mechanism, count in self.mechanisms:
            found = mechanism._gaussian_noise()
            if found is None:
                others.append((mechanism, count))
            else:
                noise.extend((each, number * count) for each, number in found)
        handles, counts = [mechanism._handle() for mechanism, _ in others], [n for _, n in others]
        _arguments.total_count([*counts, *(number for _, number in noise)])
        if noise:
            values = np.array([each for each, _ in noise])
            handles.append(core.gaussians(values, np.array([n for _, n in noise], np.uint64)))
            counts.append(1)
        return core.composed(handles, counts)


def on_same_records(mechanisms: Any, name: str) -> Mechanism:
    """Return what a sampler is given, a mechanism or several, as one mechanism."""
    if isinstance(mechanisms, Mechanism):
        return mechanisms
    steps = _steps.pairs(mechanisms, None, name)
    if len(steps) == 1 and steps[0][1] == 1:
        return steps[0][0]
    return Composed(tuple(steps))
