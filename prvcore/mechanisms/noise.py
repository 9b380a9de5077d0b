"""Noise that is added to a query."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import Mechanism, OfArrays

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "MixtureOfGaussians",
    "NoisyCount",
]


@public
@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Gaussian noise on a query of L2 sensitivity 1.

    The dominating pair is N(0, s^2) and N(1, s^2) with s the noise multiplier.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in (1e-150, 4e307), or 0: no noise at
        all (epsilon is infinite). The sensitivity is the greatest change of the query in L2 if one
        record is added or removed. If records are replaced, `compose` takes twice as much, which is
        more than a histogram changes by, sqrt(2).

    Raises
    ------
    TypeError, ValueError
        `noise_multiplier` is not a real number, or is out of its range.

    """

    noise_multiplier: float

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._check(noise_multiplier=_arguments.non_negative)

    def _gaussian_noise(self) -> tuple[tuple[float, int], ...]:
        return ((self.noise_multiplier, 1),)

    def _handle(self) -> core.Handle:
        return core.gaussian(self.noise_multiplier)


@public
@dataclass(frozen=True, slots=True)
class NoisyCount(Mechanism):
    """Gaussian noise on how many records have a property.

    Adaptive clipping releases such a count in each step: of the records whose gradient was clipped
    [1]_. The count runs on the sample of the gradients, so that both belong in one list of
    `PoissonSubsampled`.

    Parameters
    ----------
    deviation : float
        Standard deviation of the noise, in records, finite and >= 0.
    centred : bool
        What a record adds to the count. If True, a record adds 1/2 if it has the property and -1/2
        if not, so that the sensitivity is 1/2, and a replaced record changes the count by 1 at
        most. If False, a record adds 1 or 0, so that the sensitivity is 1. Both differ by a factor
        of 2 in the noise, and some programs that add 1 or 0 account for a centred count.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for
        ``neighbors="replace-one"`` if `centred` is False, since a replaced record then changes a
        count by no more than a removed one, and no pair of such noise with that of gradients is
        known here.

    References
    ----------
    .. [1] Andrew, Thakkar, McMahan, Ramaswamy, "Differentially private learning with adaptive
       clipping", NeurIPS 2021, arXiv:1905.03871.

    Examples
    --------
    >>> import prvcore as prv
    >>> both = [prv.Gaussian(1.281026), prv.NoisyCount(0.8, centred=True)]
    >>> step = prv.PoissonSubsampled(both, sampling_probability=0.01)
    >>> f"{prv.eps_from_delta(step, 1e-5, counts=1000):.2f}"
    '[1.82, 1.83]'

    """

    deviation: float
    centred: bool

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "deviation"}

    def __post_init__(self) -> None:
        self._check(deviation=_arguments.non_negative, centred=_arguments.flag)

    def _multiplier(self) -> float:
        return 2.0 * self.deviation if self.centred else self.deviation

    def _has_replaced(self) -> bool:
        return self.centred

    def _gaussian_noise(self) -> tuple[tuple[float, int], ...]:
        return ((self._multiplier(), 1),)

    def _handle(self) -> core.Handle:
        return core.gaussian(self._multiplier())


@public
@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Laplace noise on a real query.

    Parameters
    ----------
    scale : float
        Scale of the noise, in units of the query, in (1e-150, 4e307) sensitivities, or 0: no noise
        at all. The standard deviation of the noise is sqrt(2) times as large.
    sensitivity : float, default 1
        Greatest change of the query if one record is added or removed, finite and > 0; of a vector,
        in L1, so that a histogram has 1. If records are replaced, `compose` takes twice as much.

    Raises
    ------
    TypeError, ValueError
        An argument is not a real number, or is out of its range.

    """

    scale: float
    sensitivity: float = 1.0

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "scale"}

    def __post_init__(self) -> None:
        self._check(scale=_arguments.non_negative, sensitivity=_arguments.positive)

    def _handle(self) -> core.Handle:
        return core.laplace(self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True)
class _DiscreteNoise(Mechanism):
    """Noise on an integer query: what its kinds have in common."""

    scale: float
    sensitivity: int = 1

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "scale"}

    def __post_init__(self) -> None:
        self._check(
            scale=_arguments.positive,
            sensitivity=partial(_arguments.integer, least=1, greatest=2**63 - 1),
        )


@public
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(_DiscreteNoise):
    """Discrete Gaussian noise on an integer query.

    The noise has probabilities proportional to exp(-x^2 / (2 scale^2)) on the integers [1]_.

    Parameters
    ----------
    scale : float
        In units of the query, in (1e-150, 4e307) sensitivities; nearly the standard deviation.
    sensitivity : int, default 1
        Greatest change of the query if one record is added or removed, >= 1. If records are
        replaced, `compose` takes twice as much, as for one number; a histogram is two of these.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for a
        scale so large that the noise has more than 2^24 values.

    References
    ----------
    .. [1] Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
       arXiv:2004.00010.

    """

    def _handle(self) -> core.Handle:
        return core.discrete_gaussian(self.scale, self.sensitivity)


@public
@dataclass(frozen=True, slots=True)
class DiscreteLaplace(_DiscreteNoise):
    """Discrete Laplace (two-sided geometric) noise on an integer query.

    The noise has probabilities proportional to exp(-abs(x) / scale) on the integers.

    Parameters
    ----------
    scale : float
        In units of the query, in (1e-150, 4e307) sensitivities.
    sensitivity : int, default 1
        Greatest change of the query if one record is added or removed, >= 1; of a vector, in L1,
        so that a histogram has 1. If records are replaced, `compose` takes twice as much.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for a
        sensitivity that gives the loss more than 2^24 values.

    """

    def _handle(self) -> core.Handle:
        return core.discrete_laplace(self.scale, self.sensitivity)


@public
@dataclass(frozen=True, slots=True, eq=False)
class MixtureOfGaussians(OfArrays):
    """Gaussian noise on a query whose greatest change is random.

    The dominating pair is N(0, s^2) and sum_i p_i N(c_i, s^2), with s the noise multiplier, c the
    sensitivities and p their probabilities [1]_; removing a record has the mixture first. It is
    what matrix mechanisms (DP-FTRL) with random participation compose, once their correlated
    outputs have been reduced to independent ones, which is for the caller to do.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise, in units of the sensitivities, finite and >= 0.
    sensitivities : array_like of float, shape (n,)
        Norms of the changes, finite and >= 0, 1 <= n <= 4096, in any order.
    probabilities : array_like of float, shape (n,)
        Of each, >= 0, with a sum of 1 within 1e-9; then normalised.

    Attributes
    ----------
    sensitivities, probabilities : ndarray of float64, shape (n,)
        Copies, read-only.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError where
        sensitivities above 0 are not from 2^-1022 to 1e150 times the noise.

    References
    ----------
    .. [1] Choquette-Choo, Ganesh, Steinke, Thakurta, "Privacy amplification for matrix mechanisms",
       ICLR 2024, arXiv:2310.15526, Corollary 4.7.

    Examples
    --------
    >>> sampled_twice = MixtureOfGaussians(2.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])

    """

    noise_multiplier: float
    sensitivities: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._check(
            noise_multiplier=_arguments.non_negative,
            sensitivities=_arguments.frozen_vector,
            probabilities=_arguments.frozen_vector,
        )
        _arguments.components(self.sensitivities, self.probabilities)

    def _handle(self) -> core.Handle:
        return core.gaussian_mixture(self.noise_multiplier, self.sensitivities, self.probabilities)
