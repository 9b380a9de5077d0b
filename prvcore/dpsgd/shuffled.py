"""What shuffled batches cost at least: for comparison with what is claimed of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack, get_args, overload

from numpy.typing import ArrayLike

from prvcore import _arguments
from prvcore._arguments import FloatArray, Scalar
from prvcore._core import mechanism as core
from prvcore._curve import PrivacyCurve
from prvcore._names import public
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
    ``1 / batches`` is common, and wrong where the result is below this bound. Of a shuffle no upper
    bound as good is known: `Gaussian`, composed `epochs` times, is a safe one. Where each record is
    put into a batch at random, independently of all others (balls in bins, which is no shuffle),
    there are upper bounds [3]_; they are not computed here.

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
        Whether a record is replaced by nothing (its batch then has one record less), or by another
        one.
    progress, memory_limit
        As `PrivacyCurve.epsilon` takes them.

    Returns
    -------
    float or ndarray of float64
        Epsilon at each `delta`, nats, or delta at each `epsilon`: the run has at least that.

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
    .. [3] Feldman, Shenfeld, "Privacy amplification by random allocation", 2025, arXiv:2502.08202.

    Examples
    --------
    >>> import prvcore as prv
    >>> poisson = prv.PoissonSubsampledGaussian(0.5, sampling_probability=1e-4)
    >>> claimed = prv.eps_from_delta(poisson, 1e-6, counts=10_000).upper
    >>> shuffled_lower_bound(0.5, batches=10_000, delta=1e-6) > 2 * claimed
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
    return curve._query(wanted, points, progress, memory_limit).lower
