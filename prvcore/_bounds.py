"""The results of queries: bounds, and the parts of their width."""

import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prvcore._names import known_elsewhere, public
from prvcore._outward import DOWN, NEAREST, UP, RoundedDown, RoundedUp, formatted, laid_out, rounded
from prvcore._tables import table_of

__all__ = ["ArrayBounds", "Bounds", "EitherBounds", "ErrorBudget", "ScalarBounds", "no_arithmetic"]

Number = TypeVar("Number", covariant=True)


class Origin(Protocol):
    """What bounds are bounds of."""

    def report(self, lower: Any, upper: Any, digits: int = 4) -> str:
        """Return the sentences that these bounds say."""


class _Three(NamedTuple, Generic[Number]):
    """The three numbers; a tuple that can have no other attribute."""

    lower: Number
    estimate: Number
    upper: Number


def _no_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of bounds that tells what to compare with a number."""

    def compared(self: Any, other: Any) -> bool:
        if isinstance(other, numbers.Real):
            raise TypeError(f"bounds are no number: compare their .upper or .lower with {other!r}")
        return compare(self, other)

    return compared


def no_arithmetic(instead: str) -> tuple[Callable[[Any, Any], Any], ...]:
    """Return ``__add__``, ``__radd__``, ``__mul__`` and ``__rmul__`` of a tuple that is no number.

    Twice a tuple of three numbers is one of six, and so is the sum of two: both are refused with
    `instead`. Longer tuples are still made of such tuples.
    """

    def add(self: Any, other: Any) -> Any:
        if isinstance(other, numbers.Real | type(self)):
            raise TypeError(instead)
        return tuple.__add__(self, other)

    def add_to(_: Any, other: Any) -> Any:
        if isinstance(other, numbers.Real):  # `sum` begins with 0
            raise TypeError(instead)
        return NotImplemented

    def multiply(_: Any, __: Any) -> Any:
        raise TypeError(instead)

    return add, add_to, multiply, multiply


@public
@known_elsewhere
class Bounds(_Three[Number]):
    """Bounds of a number: ``0 <= lower <= estimate <= upper``.

    A tuple whose first number, ``bounds[0]``, is the *lower* bound; report `upper`. For type
    checkers it is ``Bounds[float]`` if a scalar was asked, else ``Bounds`` of an array.

    Attributes
    ----------
    lower, upper : float or ndarray of float64
        The exact value lies between the two: the worst case over all neighbouring data sets, and
        over all mechanisms that fit the statement if a mechanism is known by a statement only.
    estimate : float or ndarray of float64
        A value between the bounds, usually much closer to the exact value than either, without a
        promise. If `PrivacyCurve.attained` is False, it is close to the least upper bound that the
        accounting could give.

    Notes
    -----
    ``f"{bounds:.3f}"`` and ``round(bounds, 3)`` never narrow the bounds: `lower` is rounded down
    and `upper` up. So are ``f"{bounds.upper:.3f}"`` and ``round(bounds.upper, 3)`` of scalar
    bounds. Elements of arrays are numpy's, which rounds to the nearest, maybe below the bound.

    Examples
    --------
    >>> import prvcore as prv
    >>> bounds = prv.Bounds(0.703638, 0.7037089, 0.703779)
    >>> f"{bounds:.3f}"
    '[0.703, 0.704]'
    >>> round(bounds, 3)
    Bounds(lower=0.703, estimate=0.704, upper=0.704)

    """

    _origin: Origin | None = None

    def __new__(cls, lower: Number, estimate: Number, upper: Number) -> Self:
        """Return the bounds; those that are floats are rounded outwards where they are shown."""
        parts: list[Any] = [lower, estimate, upper]
        for place, rounded_outwards in ((0, RoundedDown), (2, RoundedUp)):
            if type(parts[place]) is float:
                parts[place] = rounded_outwards(parts[place])
        return super().__new__(cls, *parts)  # type: ignore[type-var]

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Any:  # type: ignore[override]
        """Return the bounds of lower, estimate and upper."""
        return cls(*iterable)

    if not TYPE_CHECKING:  # checkers know that a tuple is compared with tuples alone
        __lt__, __le__ = _no_number(tuple.__lt__), _no_number(tuple.__le__)
        __gt__, __ge__ = _no_number(tuple.__gt__), _no_number(tuple.__ge__)
        __add__, __radd__, __mul__, __rmul__ = no_arithmetic(
            "bounds are no number: take their .upper or .lower"
        )

    def __format__(self, specification: str) -> str:
        """Return ``[lower, upper]``, each in the format that floats take.

        Of arrays of one axis it is one a line; of more axes, each line is a row.
        """
        if not specification:
            return str(self)
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        texts = [
            f"[{formatted(low, specification, DOWN)}, {formatted(high, specification, UP)}]"
            for low, high in zip(lower.ravel().tolist(), upper.ravel().tolist(), strict=True)
        ]
        return laid_out(texts, lower.shape)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame of lower, estimate and upper: a row for each point.

        Raises
        ------
        ImportError
            pandas is not installed.

        """
        return table_of(
            {"lower": self.lower, "estimate": self.estimate, "upper": self.upper},
            np.asarray(self.upper).shape,
        )

    def report(self, digits: int = 4) -> str:
        """Return the sentences for a paper or a data sheet.

        Parameters
        ----------
        digits : int, default 4
            How many significant digits the bounds have, in [1, 17].

        Returns
        -------
        str
            What is bounded at which point, the bounds, rounded outwards, the neighbours, the
            mechanisms in words, with their parameters, and the version; also data set, batches and
            epochs if a plan of `dpsgd_schedule` was asked. Of an array, a sentence in a line of its
            own for each point, and then what all of them rest on.

        Raises
        ------
        TypeError
            `digits` is no integer.
        ValueError
            `digits` is out of its range; or these bounds do not know what they are of, since they
            were made by hand or by ``_replace``, or an accountant with 64 or more distinct
            mechanisms gave them.

        See Also
        --------
        PrivacyCurve.report : the same of a curve, at a delta or an epsilon.

        Examples
        --------
        >>> import prvcore as prv
        >>> print(prv.compose(prv.Gaussian(2.0)).epsilon(1e-6).report())  # doctest: +ELLIPSIS
        At delta = 1e-06, epsilon is at most 2.2... (exact value in [2.2..., 2.2...]...) ...

        """
        if self._origin is None:
            raise ValueError(
                "these bounds do not know what they are of: ask the PrivacyCurve, by "
                "curve.report(delta=...) or curve.report(epsilon=...)"
            )
        return self._origin.report(self.lower, self.upper, digits)

    def __round__(self, decimals: int = 0) -> Self:
        """Return the bounds with so many decimals, none narrower; of the same shape."""
        wider = self._replace(
            lower=rounded(self.lower, decimals, DOWN),
            estimate=rounded(self.estimate, decimals, NEAREST),
            upper=rounded(self.upper, decimals, UP),
        )
        return wider._of(self._origin)

    def _of(self, origin: Origin | None) -> Self:
        """Return these bounds, which now know what they are of."""
        self._origin = origin
        return self


ScalarBounds: TypeAlias = Bounds[float]
ArrayBounds: TypeAlias = Bounds[NDArray[np.float64]]
EitherBounds: TypeAlias = Bounds[float | NDArray[np.float64]]


@public
class ErrorBudget(NamedTuple):
    """The parts of the width of the bounds at one queried point, by cause.

    The first four are in epsilon (nats): the part of the width that each cause has in the narrowest
    pass. They sum to `width` if that pass gave both bounds of the answer. They sum to more if a
    bound was clipped (epsilon at 0, delta at 0 or 1, rounding included), or if an earlier pass or
    the other direction gave a better bound.

    Attributes
    ----------
    discretization : float
        The part due to moving losses onto a lattice.
    truncation : float
        The part due to moving losses outside the cells to their ends.
    wrap_around : float
        The part due to transforms being periodic, so that tails come back inside the window.
    rounding : float
        The part due to floating point.
    width : float
        ``upper - lower`` in epsilon; of a delta, by the slope of its logarithm there, or by 1e-9
        over the width asked where the slope is less (deltas near 1).
    direction : {"add", "remove", "add-or-remove", "replace-one"}
        The direction that decides the upper bound.
    engine : {"convolution", "spectrum", "jumps", "closed_form", "none"}
        The engine of the narrowest pass; a closed form has no pass. It is none if no composition
        was needed: if `eps_error` is above epsilon, 0 and Chernoff's bound may be close enough,
        and the four parts are 0.
    mesh_size : float
        Spacing of the lattice, nats; of a spectrum, that of the uniform lattice that is as good.
    tilt : float
        The exponential tilt under which the losses were composed.
    cells : int
        Cells of all distinct mechanisms together.
    transform_length : int
        Length of the FFT; 0 if none was needed.
    transforms : int
        Number of transforms that were executed.
    frequencies : int
        Number of frequencies of the spectrum; 0 for a convolution.
    accurate : bool
        Whether the width asked was reached, but for `unattained`.
    attained : bool
        Whether both bounds belong to one pair, which two data sets have: `PrivacyCurve.attained`.
    unattained : float
        If not, the part of `width`, beside the first four, between the worst known data sets and
        the bound for all data sets. No setting makes it smaller.
    limit : {"none", "rounding", "memory", "engine", "mesh_size", "passes"}
        The reason why the bounds are wider than asked: rounding in double precision, the memory
        limit, the `engine` or the `mesh_size` that was asked for, or the greatest number of passes.

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
    """Return bounds of shape (n, 3) in the shape of the caller's n points."""
    if points.ndim == 0:
        return scalar(bounds)
    return Bounds(*(np.ascontiguousarray(part).reshape(points.shape) for part in bounds.T))


def scalar(bounds: NDArray[np.float64]) -> ScalarBounds:
    """Return bounds of shape (1, 3) as floats."""
    lower, estimate, upper = bounds[0].tolist()
    return Bounds(lower, estimate, upper)
