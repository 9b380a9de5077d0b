"""Randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from prvcore import _arguments, _mechanism
from prvcore.mechanisms.base import Mechanism

__all__ = ["RandomizedResponse"]


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

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.randomized_response(self.epsilon, self.categories)
