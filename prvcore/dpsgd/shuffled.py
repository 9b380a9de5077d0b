"""What shuffled batches cost at least: for comparison with what is claimed of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from prvcore import _arguments
from prvcore._arguments import FloatArray, Scalar
from prvcore._core import mechanism as core
from prvcore._curve import PrivacyCurve
from prvcore._names import by_name, public
from prvcore._outward import RoundedDown
from prvcore._progress import ProgressOption
from prvcore._settings import How
from prvcore.mechanisms.base import Mechanism

__all__ = ["shuffled_lower_bound"]

ShuffledNeighbors: TypeAlias = Literal["add-or-remove", "replace-one"]


@dataclass(frozen=True, slots=True)
class _ShuffledFromBelow(Mechanism):
    """A pair that one epoch of shuffled batches dominates; its upper bounds mean nothing."""

    noise_multiplier: float
    batches: int
    replaced: bool

    def _key(self) -> tuple[Any, ...]:
        return (type(self).__name__, self.noise_multiplier, self.batches, self.replaced)

    def _handle(self) -> core.Handle:
        return core.shuffled_from_below(self.noise_multiplier, self.batches, self.replaced)


class _Options(How, total=False):
    neighbors: ShuffledNeighbors


@overload
def shuffled_lower_bound(
    noise_multiplier: float,
    batches: int,
    epochs: int = 1,
    *,
    delta: Scalar,
    **options: Unpack[_Options],
) -> float: ...
@overload
def shuffled_lower_bound(
    noise_multiplier: float,
    batches: int,
    epochs: int = 1,
    *,
    epsilon: Scalar,
    **options: Unpack[_Options],
) -> float: ...
@overload
def shuffled_lower_bound(
    noise_multiplier: float,
    batches: int,
    epochs: int = 1,
    *,
    delta: ArrayLike | None = None,
    epsilon: ArrayLike | None = None,
    **options: Unpack[_Options],
) -> float | FloatArray: ...
@public
@by_name
def shuffled_lower_bound(
    noise_multiplier: float,
    batches: int,
    epochs: int = 1,
    *,
    delta: ArrayLike | None = None,
    epsilon: ArrayLike | None = None,
    neighbors: ShuffledNeighbors = "add-or-remove",
    progress: ProgressOption = False,
    memory_limit: int | None = None,
) -> Any:
    """Bound from below what DP-SGD on shuffled batches costs.

    Each epoch cuts a fresh shuffle of the records into batches, and the sum of each batch is
    released with Gaussian noise. Accounting such a run as Poisson sampling with probability
    ``1 / batches`` is common, and wrong where the result is below this bound. prvcore knows no
    upper bound of a shuffle as good. Those that it knows are of a Gaussian mechanism in each epoch:
    ``Gaussian(noise_multiplier)`` if the record is replaced by nothing and its place stays empty,
    and ``Gaussian(noise_multiplier / 2)`` if it is replaced by another. If a removed record moves
    the others, neither holds, but ``Gaussian(noise_multiplier / sqrt(5))`` does, if nobody knows
    the shuffle and as many batches are made without the record [3]_. If each record draws its
    batch by itself, which is no shuffle, `RandomAllocation` and `BallsInBins` have both bounds.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, finite and >= 0.
    batches : int
        Of an epoch, in [1, 2^32].
    epochs : int, default 1
        In [0, 2^53].
    delta : float or array_like of float, any shape, optional
        Where epsilon is bounded, probabilities in [0, 1].
    epsilon : float or array_like of float, any shape, optional
        Where delta is bounded, not nan. Exactly one of the two is given.
    neighbors : {"add-or-remove", "replace-one"}
        Whether a record is replaced by nothing and its place stays empty (its batch then has one
        record less, and no other record moves), or by another one.
    progress, memory_limit
        As `PrivacyCurve.epsilon` takes them.

    Returns
    -------
    float or ndarray of float64
        Epsilon at each `delta`, nats, or delta at each `epsilon`: the run has at least that.
        Formatted, and by ``round``, the float is rounded down.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, or both or none of `delta` and
        `epsilon` are given.

    Warns
    -----
    AccuracyWarning
        The memory limit kept the bound further below what the sums tell than it would be else.

    Notes
    -----
    Of each epoch only the largest of the noisy sums is looked at, for data in which one record's
    gradient points against all others [1]_, [2]_. The bound is certified as all others are.

    References
    ----------
    .. [1] Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang, "How private are DP-SGD
       implementations?", ICML 2024, arXiv:2403.17673.
    .. [2] The same, "Scalable DP-SGD: shuffling vs. Poisson subsampling", NeurIPS 2024,
       arXiv:2411.04205.
    .. [3] ``src_c/mechanisms/PAIRS.md``, section 7.

    Examples
    --------
    >>> import prvcore as prv
    >>> poisson = prv.PoissonSubsampledGaussian(0.5, sampling_probability=1e-4)
    >>> claimed = prv.eps_from_delta(poisson, 1e-6, counts=10_000).upper
    >>> at_least = shuffled_lower_bound(0.5, batches=10_000, delta=1e-6)
    >>> at_least > 2 * claimed
    True
    >>> at_least <= prv.eps_from_delta(prv.Gaussian(0.5), 1e-6).upper
    True

    """
    if (delta is None) == (epsilon is None):
        raise TypeError(
            "shuffled_lower_bound takes exactly one of delta and epsilon, "
            f"got delta={delta!r} and epsilon={epsilon!r}"
        )
    epoch = _ShuffledFromBelow(
        _arguments.non_negative(noise_multiplier, "noise_multiplier"),
        _arguments.integer(batches, "batches", 1, 2**32),
        _arguments.choice(neighbors, "neighbors", get_args(ShuffledNeighbors)) == "replace-one",
    )
    curve = PrivacyCurve([(epoch, _arguments.count(epochs, "epochs"))])
    wanted, points = ("delta", epsilon) if delta is None else ("epsilon", delta)
    assert points is not None
    found = curve._query(wanted, points, progress, memory_limit).lower
    return found if isinstance(found, np.ndarray) else RoundedDown(found)
