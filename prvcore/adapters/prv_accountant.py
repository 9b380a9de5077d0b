"""The interface of prv-accountant, answered by prvcore; prv-accountant itself is not needed.

Change ``from prv_accountant import ...`` to ``from prvcore.adapters.prv_accountant import ...``,
and ``prv_accountant.dpsgd`` likewise. The names, the order of the arguments and the triples
(lower, estimate, upper) are those of prv-accountant 0.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from prvcore import _arguments
from prvcore._bounds import ScalarBounds
from prvcore._compose import compose
from prvcore._curve import PrivacyCurve
from prvcore._quotients import quotient_rounded_down
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.guarantees import ApproximateDP, PureDP
from prvcore.mechanisms.noise import Gaussian, Laplace
from prvcore.mechanisms.subsampled import PoissonSubsampledGaussian

__all__ = [
    "ApproximateDPMechanism",
    "DPSGDAccountant",
    "GaussianMechanism",
    "LaplaceMechanism",
    "PRVAccountant",
    "PoissonSubsampledGaussianMechanism",
    "PureDPMechanism",
]


def PoissonSubsampledGaussianMechanism(
    sampling_probability: float, noise_multiplier: float
) -> PoissonSubsampledGaussian:
    """Return the step of DP-SGD; note the order of the arguments, which is prv-accountant's."""
    return PoissonSubsampledGaussian(noise_multiplier, sampling_probability)


def GaussianMechanism(noise_multiplier: float, l2_sensitivity: float = 1.0) -> Gaussian:
    """Return Gaussian noise of standard deviation `noise_multiplier` on that sensitivity."""
    noise = _arguments.positive(noise_multiplier, "noise_multiplier")
    sensitivity = _arguments.positive(l2_sensitivity, "l2_sensitivity")
    return Gaussian(quotient_rounded_down(noise, sensitivity))


def LaplaceMechanism(mu: float) -> Laplace:
    """Return Laplace noise; `mu` is the sensitivity over the scale."""
    return Laplace(scale=1.0, sensitivity=_arguments.positive(mu, "mu"))


def PureDPMechanism(eps: float) -> PureDP:
    """Return what dominates all mechanisms that are `eps`-DP."""
    return PureDP(_arguments.non_negative(eps, "eps"))


def ApproximateDPMechanism(epsilon: float, delta: float) -> ApproximateDP:
    """Return what dominates all mechanisms that are (`epsilon`, `delta`)-DP."""
    return ApproximateDP(epsilon, delta)


class PRVAccountant:
    """Bounds of the composition of several mechanisms, each run up to so many times.

    Parameters
    ----------
    prvs : Mechanism or sequence of Mechanism
        Of prvcore, such as the functions of this module return.
    eps_error : float
        Greatest distance of a bound to the estimate in prv-accountant, nats, finite and > 0. Here
        bounds are at most twice that apart, and hardly ever so far.
    delta_error : float
        In (0, 1). Not needed: these bounds have no error in delta.
    max_self_compositions : int or sequence of int, optional
        How often each mechanism runs at most; once if left out.
    eps_max : float, optional
        Not needed: nothing is cut off at an epsilon.
    **options
        The keyword arguments of `prvcore.compose` other than `eps_error`. prv-accountant bounds the
        removal of a record alone, which is ``neighbors="remove"``; the default here is the worse of
        both directions.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range.

    Examples
    --------
    >>> from prvcore.adapters.prv_accountant import (
    ...     PoissonSubsampledGaussianMechanism,
    ...     PRVAccountant,
    ... )
    >>> step = PoissonSubsampledGaussianMechanism(noise_multiplier=0.8, sampling_probability=1e-3)
    >>> accountant = PRVAccountant(
    ...     prvs=[step], max_self_compositions=[1000], eps_error=0.1, delta_error=1e-10
    ... )
    >>> lower, estimate, upper = accountant.compute_epsilon(
    ...     delta=1e-7, num_self_compositions=[1000]
    ... )

    """

    def __init__(
        self,
        prvs: Mechanism | Sequence[Mechanism],
        eps_error: float,
        delta_error: float,
        max_self_compositions: int | Sequence[int] | None = None,
        eps_max: float | None = None,
        **options: Any,
    ) -> None:
        self.prvs = [prvs] if isinstance(prvs, Mechanism) else list(prvs)
        for i, mechanism in enumerate(self.prvs):
            if not isinstance(mechanism, Mechanism):
                raise TypeError(
                    f"prvs[{i}] must be a mechanism of prvcore, such as the functions of "
                    f"{__name__} return, got {mechanism!r}"
                )
        self.eps_error = _arguments.positive(eps_error, "eps_error")
        self.delta_error = _arguments.open_probability(delta_error, "delta_error")
        if eps_max is not None:
            warnings.warn("eps_max is not needed and not looked at", UserWarning, stacklevel=2)
        self.max_self_compositions = self._counts(max_self_compositions, "max_self_compositions")
        self._options = options
        self._curve(self.max_self_compositions)  # refuses what would be refused later

    def compute_delta(
        self, epsilon: float, num_self_compositions: int | Sequence[int] | None = None
    ) -> ScalarBounds:
        """Return (lower, estimate, upper) of delta at an epsilon.

        Parameters
        ----------
        epsilon : float
            Nats.
        num_self_compositions : int or sequence of int, optional
            How often each mechanism runs; once if left out.

        Returns
        -------
        Bounds
            Probabilities.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range, or more runs are asked for than
            `max_self_compositions`.

        """
        return self._asked(num_self_compositions).delta(epsilon)

    def compute_epsilon(
        self, delta: float, num_self_compositions: int | Sequence[int] | None = None
    ) -> ScalarBounds:
        """Return (lower, estimate, upper) of epsilon at a delta.

        Parameters
        ----------
        delta : float
            Probability in [0, 1].
        num_self_compositions : int or sequence of int, optional
            How often each mechanism runs; once if left out.

        Returns
        -------
        Bounds
            Nats.

        Raises
        ------
        TypeError, ValueError
            As `compute_delta`.

        """
        return self._asked(num_self_compositions).epsilon(delta)

    def _asked(self, num_self_compositions: int | Sequence[int] | None) -> PrivacyCurve:
        counts = self._counts(num_self_compositions, "num_self_compositions")
        if any(n > most for n, most in zip(counts, self.max_self_compositions, strict=True)):
            raise ValueError(
                "num_self_compositions must be at most max_self_compositions, "
                f"{self.max_self_compositions}, got {counts}"
            )
        return self._curve(counts)

    def _counts(self, given: int | Sequence[int] | None, name: str) -> list[int]:
        if given is None:
            return [1] * len(self.prvs)
        counts = _arguments.counts(given, name).reshape(-1).tolist()
        if len(counts) != len(self.prvs):
            raise ValueError(
                f"{name} must have one entry for each of {len(self.prvs)} prvs, got {given!r}"
            )
        return counts

    def _curve(self, counts: list[int]) -> PrivacyCurve:
        return compose(self.prvs, counts, eps_error=2.0 * self.eps_error, **self._options)


class DPSGDAccountant(PRVAccountant):
    """Bounds of DP-SGD, as `prv_accountant.dpsgd.DPSGDAccountant`.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the clipping norm, finite and >= 0.
    sampling_probability : float
        Probability in [0, 1] with which each record enters a batch.
    max_steps : int
        The most steps that will be asked for.
    eps_error, delta_error, **options
        As `PRVAccountant` takes them.

    """

    def __init__(
        self,
        noise_multiplier: float,
        sampling_probability: float,
        max_steps: int,
        eps_error: float = 0.1,
        delta_error: float = 1e-9,
        **options: Any,
    ) -> None:
        super().__init__(
            PoissonSubsampledGaussian(noise_multiplier, sampling_probability),
            eps_error,
            delta_error,
            max_steps,
            **options,
        )

    def compute_epsilon(  # type: ignore[override]  # by the names of prv-accountant
        self, delta: float, num_steps: int
    ) -> ScalarBounds:
        """Return (lower, estimate, upper) of epsilon at a delta after so many steps."""
        return super().compute_epsilon(delta, num_steps)
