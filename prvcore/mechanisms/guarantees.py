"""Mechanisms that are known by a guarantee alone: the pair that dominates all that have it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import Mechanism

__all__ = ["ApproximateDP", "BoundedRange", "PureDP", "RandomizedResponse"]


@public
@dataclass(frozen=True, slots=True)
class PureDP(Mechanism):
    """Any mechanism that is epsilon-DP, by the pair that dominates them all.

    That pair is randomized response: loss +epsilon or -epsilon, in the ratio e^epsilon to 1 [1]_.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a real number, or is out of its range.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015,
       arXiv:1311.0776.

    """

    epsilon: float

    def __post_init__(self) -> None:
        self._check(epsilon=_arguments.non_negative)

    def _key(self) -> tuple[Any, ...]:
        return ("ApproximateDP", self.epsilon, 0.0)

    def _handle(self) -> core.Handle:
        return core.approximate_dp(self.epsilon, 0.0)


@public
@dataclass(frozen=True, slots=True)
class ApproximateDP(Mechanism):
    """Any mechanism that is (epsilon, delta)-DP, by the pair that dominates them all.

    Its loss is infinite with probability delta, and else as that of `PureDP` [1]_.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.
    delta : float
        Probability in [0, 1].

    Raises
    ------
    TypeError, ValueError
        An argument is not a real number, or is out of its range.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015,
       arXiv:1311.0776.

    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        self._check(epsilon=_arguments.non_negative, delta=_arguments.probability)

    def _handle(self) -> core.Handle:
        return core.approximate_dp(self.epsilon, self.delta)


@public
@dataclass(frozen=True, slots=True)
class BoundedRange(Mechanism):
    """Any mechanism whose privacy losses lie in an interval of this length, wherever it lies.

    Such are the exponential mechanism and report-noisy-max with Gumbel noise, which is the same.
    Report-noisy-max with Laplace or exponential noise is not: it is `PureDP` of its epsilon. The
    pair dominates them all: delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1) for
    abs(x) <= epsilon, the greatest of the deltas of generalized randomized responses [2]_. It is
    much tighter than `PureDP` of the same epsilon, of which it has no atoms.

    Parameters
    ----------
    epsilon : float
        Length of the interval, nats, finite and >= 0. Probabilities proportional to
        exp(epsilon * u / (2 * s)), u a utility of sensitivity s, have it, and so have those
        proportional to exp(epsilon * u / s) where a record can only raise u, or only lower it [1]_.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a real number, or is out of its range.

    References
    ----------
    .. [1] Durfee, Rogers, "Practical differentially private top-k selection with pay-what-you-get
       composition", NeurIPS 2019, arXiv:1905.04273.
    .. [2] Dong, Durfee, Rogers, "Optimal differential privacy composition for exponential
       mechanisms", ICML 2020, arXiv:1909.13830.

    """

    epsilon: float

    def __post_init__(self) -> None:
        self._check(epsilon=_arguments.non_negative)

    def _handle(self) -> core.Handle:
        return core.bounded_range(self.epsilon)


@public
@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Randomized response, for ``neighbors="replace-one"``.

    Each answers a question truly with probability e^epsilon / (e^epsilon + categories - 1), and
    else with one of the other categories at random [1]_. Who answers is no secret: the neighbouring
    data sets have another answer in place of one. Other epsilon-DP local randomizers are `PureDP`.
    Where a sample of them answers, who is asked is a secret only if answers have no names: see
    `SubsampledWithoutReplacement`.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.
    categories : int, default 2
        Number of possible answers, in [2, 2^63 - 1].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for all
        other `neighbors`.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy", JMLR 2016,
       arXiv:1407.1338.

    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        self._check(
            epsilon=_arguments.non_negative,
            categories=partial(_arguments.integer, least=2, greatest=2**63 - 1),
        )

    def _handle(self) -> core.Handle:
        return core.randomized_response(self.epsilon, self.categories)
