"""What queries return: bounds, and where their distance comes from."""

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prvcore._names import public

__all__ = ["ArrayBounds", "Bounds", "EitherBounds", "ErrorBudget", "ScalarBounds"]

Number = TypeVar("Number", covariant=True)


@public
class Bounds(NamedTuple, Generic[Number]):
    """What is known of a number: ``0 <= lower <= estimate <= upper``.

    To type checkers, ``Bounds[float]`` where a scalar was asked, else that of an array.

    Attributes
    ----------
    lower, upper : float or ndarray of float64
        The exact value lies between them: that of the worst of all neighbouring data sets, of the
        worst mechanism with what was stated.
    estimate : float or ndarray of float64
        A value between them that is usually much closer to the exact one; it promises nothing more.
        Where `PrivacyCurve.attained` is False it is close to the least upper bound that the
        accounting could give.

    """

    lower: Number
    estimate: Number
    upper: Number


ScalarBounds: TypeAlias = Bounds[float]
ArrayBounds: TypeAlias = Bounds[NDArray[np.float64]]
EitherBounds: TypeAlias = Bounds[float | NDArray[np.float64]]


@public
class ErrorBudget(NamedTuple):
    """Where the distance of the bounds comes from at one queried point.

    The first four are in epsilon (nats) and say how much each cause takes of the width in the last
    pass. They sum to `width` where that pass has both bounds of the answer; to more than it where a
    bound was clipped (epsilon at 0, delta at 0 or 1, rounding included) or an earlier pass, or the
    other direction, had a better one.

    Attributes
    ----------
    discretization : float
        Losses were moved onto a lattice.
    truncation : float
        Losses outside the cells were put to the ends.
    wrap_around : float
        The transform is periodic and folds the tails into its window.
    rounding : float
        Floating point.
    width : float
        ``upper - lower`` in epsilon; of a delta, by the slope of the curve there.
    direction : {"add", "remove", "add-or-remove", "replace-one"}
        The neighbouring relation that decided the upper bound.
    engine : {"convolution", "spectrum", "none"}
        How the last pass composed; none where nothing had to be: where an `eps_error` above epsilon
        was given, 0 and Chernoff's bound may be close enough, and the four parts are 0.
    mesh_size : float
        Step of the lattice, nats; of a spectrum, the step of the uniform lattice that is as good.
    tilt : float
        Exponential tilt under which the losses were composed.
    cells : int
        Cells of all distinct mechanisms together.
    transform_length : int
        Length of the FFT; 0 where none was needed.
    transforms : int
        How many were executed.
    frequencies : int
        At which the spectrum was summed; 0 for a convolution.
    accurate : bool
        Whether the width asked was reached, but for `unattained`.
    attained : bool
        Whether both bounds are of one pair, which two data sets have: `PrivacyCurve.attained`.
    unattained : float
        Else the part of `width`, beside the first four, between the best data sets that are known
        and what is known of all: no setting makes it smaller.
    limit : {"none", "rounding", "memory", "engine", "mesh_size", "passes"}
        What kept the bounds wider than asked: rounding in double precision, the memory limit, the
        `engine` or the `mesh_size` that was asked for, or the greatest number of passes.

    """

    discretization: float
    truncation: float
    wrap_around: float
    rounding: float
    width: float
    direction: str
    engine: str
    mesh_size: float
    tilt: float
    cells: int
    transform_length: int
    transforms: int
    frequencies: int
    accurate: bool
    attained: bool
    unattained: float
    limit: str

    @property
    def _of_the_answer(self) -> float:
        """The part of the width that settings change."""
        parts = self.discretization + self.truncation + self.wrap_around + self.rounding
        return self.width if self.attained else min(self.width, parts)


def shaped(bounds: NDArray[np.float64], points: NDArray[np.float64]) -> Bounds[Any]:
    """Return bounds of shape (n, 3) as the caller gave his n points."""
    if points.ndim == 0:
        return Bounds(*bounds[0].tolist())
    return Bounds(*(np.ascontiguousarray(part).reshape(points.shape) for part in bounds.T))
