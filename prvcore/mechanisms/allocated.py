"""Mechanisms on batches that each record is put into at random."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore._steps import Mechanisms
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import Composed, on_same_records

__all__ = ["BallsInBins", "RandomAllocation"]

_number = partial(_arguments.integer, least=1, greatest=2**32)
_epochs = partial(_arguments.integer, least=1, greatest=2**53)


@dataclass(frozen=True, slots=True)
class _Allocated(Mechanism):
    """A mechanism on one of several batches: what both kinds have in common."""

    mechanism: Mechanism

    def _parameter(self, name: str) -> float | None:
        return self.mechanism._parameter("noise") if name == "noise" else None

    def _with(self, name: str, value: float) -> Mechanism:
        return replace(self, mechanism=self.mechanism._with(name, value))

    def _scales_together(self) -> bool:
        return self.mechanism._scales_together()

    def _has_replaced(self) -> bool:
        return False

    def _missing_mass(self) -> str | None:
        return self.mechanism._missing_mass()


@public
@dataclass(frozen=True, slots=True)
class RandomAllocation(_Allocated):
    """One epoch in which each record is in one batch, or some, drawn at random for each record.

    The mechanism runs once on each batch. Each record draws its batch *independently of all other
    records*, so that batches vary in size. A run of several epochs, whose batches are drawn anew in
    each epoch, is this mechanism with a count.

    Parameters
    ----------
    mechanism : Mechanism or iterable
        What runs on each batch: a mechanism, or several on the same batch, as `compose` takes them.
    batches : int
        Number of batches of the epoch, in [1, 2^32], which must not depend on the data.
    selected : int, default 1
        In how many of the batches each record is, in [1, `batches`]: any so many of
        them with the same probability.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for a
        mechanism that has no pair of its own here (`BoundedRange`, samples of fixed size, truncated
        samples, groups), and for ``neighbors="replace-one"``: no pair is known of a replaced
        record, and the pair of a removed one is unsafe for it.

    Notes
    -----
    An epoch that is shuffled and cut into batches of one size is *not* this mechanism: there the
    batches of other records tell about the batch of one, and epsilon may be larger. See
    `shuffled_lower_bound` and the pitfalls. Batch sizes must not be released, an empty batch gets
    its noise, and the divisor of a mean must not depend on the data.

    With (P, Q) the pair of the mechanism and R = dQ/dP, the density of this pair is the mean of as
    many independent R as there are batches [1]_ [2]_ [3]_. Later batches may use the results of
    earlier ones. The cost grows like the logarithm of the number of batches.

    If a record is in more than one of the batches, upper bounds are those of a draw that is known
    in part: one batch from each of `selected` blocks. Lower bounds are those of an observer who
    sees only the sum of all outcomes, or only one batch; no data sets are known to reach the upper
    bound. Such a mechanism cannot be part of another.

    References
    ----------
    .. [1] Chua, Ghazi, Harrison, Leeman, Kamath, Kumar, Manurangsi, Sinha, Zhang, "Balls-and-bins
       sampling for DP-SGD", 2024, arXiv:2412.16802.
    .. [2] Feldman, Shenfeld, "Privacy amplification by random allocation", 2025, arXiv:2502.08202.
    .. [3] Feldman, Shenfeld, 2026, arXiv:2602.17284.

    Examples
    --------
    >>> import prvcore as prv
    >>> epoch = prv.RandomAllocation(prv.Gaussian(1.0), batches=100)
    >>> f"{prv.eps_from_delta(epoch, 1e-5, counts=10):.1f}"
    '[1.7, 1.8]'

    """

    batches: int
    selected: int = 1

    if TYPE_CHECKING:

        def __init__(self, mechanism: Mechanisms, batches: int, selected: int = 1) -> None: ...

    def __post_init__(self) -> None:
        self._check(mechanism=on_same_records, batches=_number, selected=_number)
        if self.selected > self.batches:
            raise ValueError(
                f"selected must be at most batches, got {self.selected} of {self.batches}"
            )

    def _key(self) -> tuple[Any, ...]:
        return ("RandomAllocation", self.mechanism._key(), self.batches, self.selected)

    def _handle(self) -> core.Handle:
        return core.random_allocation(self.mechanism._handle(), self.batches, self.selected)


@public
@dataclass(frozen=True, slots=True)
class BallsInBins(_Allocated):
    """A run of several epochs in which each record stays in one bin, drawn once.

    The mechanism runs on each bin, in turn, in each epoch. Each record draws its bin independently
    of all other records, before the first epoch, and is in the same batch of every epoch. If the
    bins are drawn anew in each epoch, the run is a `RandomAllocation` with a count, whose epsilon
    is smaller.

    Parameters
    ----------
    mechanism : Mechanism or iterable
        What runs on each batch: a mechanism, or several on the same batch, as `compose` takes them.
    bins : int
        Number of batches of an epoch, in [1, 2^32], which must not depend on the data.
    epochs : int
        How often the mechanism runs on each bin, in [1, 2^53].

    Raises
    ------
    TypeError, ValueError
        As for `RandomAllocation`.

    Notes
    -----
    The pair is that of `RandomAllocation` of the mechanism composed `epochs` times.

    Examples
    --------
    >>> import prvcore as prv
    >>> run = prv.BallsInBins(prv.Gaussian(3.0), bins=100, epochs=10)
    >>> epoch = prv.RandomAllocation(prv.Gaussian(3.0), batches=100)
    >>> again = prv.eps_from_delta(epoch, 1e-5, counts=10)
    >>> prv.eps_from_delta(run, 1e-5).lower > again.upper
    True

    """

    bins: int
    epochs: int

    if TYPE_CHECKING:

        def __init__(self, mechanism: Mechanisms, bins: int, epochs: int) -> None: ...

    def __post_init__(self) -> None:
        self._check(mechanism=on_same_records, bins=_number, epochs=_epochs)

    def _key(self) -> tuple[Any, ...]:
        return ("BallsInBins", self.mechanism._key(), self.bins, self.epochs)

    def _handle(self) -> core.Handle:
        base = Composed(((self.mechanism, self.epochs),))
        return core.random_allocation(base._handle(), self.bins)
