"""Opacus with the bounds of prvcore: importing this registers the accountant "prvcore".

Needs opacus 1.5 or later. Then ``PrivacyEngine(accountant="prvcore")`` and
``get_noise_multiplier(..., accountant="prvcore")`` use it.
"""

from __future__ import annotations

from typing import Unpack

from opacus.accountants import IAccountant, register_accountant

from prvcore import _arguments
from prvcore._bounds import ScalarBounds
from prvcore._compose import compose
from prvcore._settings import ComposeOptions
from prvcore.mechanisms.subsampled import PoissonSubsampledGaussian

__all__ = ["OpacusAccountant"]


class OpacusAccountant(IAccountant):
    """An accountant for Opacus whose epsilon is the certified upper bound.

    Its history is that of Opacus: ``(noise_multiplier, sample_rate, steps)`` of every run of equal
    steps, so that its `state_dict` is one of Opacus. Neighbours have one record more or less, the
    worse of both; the PRV accountant of Opacus bounds the removal alone.

    Examples
    --------
    >>> from opacus import PrivacyEngine  # doctest: +SKIP
    >>> import prvcore.adapters.opacus  # doctest: +SKIP
    >>> engine = PrivacyEngine(accountant="prvcore")  # doctest: +SKIP
    >>> engine.get_epsilon(delta=1e-5)  # after some training  # doctest: +SKIP

    """

    def __init__(self) -> None:
        super().__init__()

    @classmethod
    def mechanism(cls) -> str:
        """Return the name under which Opacus knows this accountant: "prvcore"."""
        return "prvcore"

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step.

        Parameters
        ----------
        noise_multiplier : float
            Standard deviation of the noise over the clipping norm, finite and >= 0.
        sample_rate : float
            Probability in [0, 1] with which each record entered the batch.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range. A rate above 1 comes from batches
            that were added up: they are no one sample.

        """
        _arguments.non_negative(noise_multiplier, "noise_multiplier")
        _arguments.probability(sample_rate, "sample_rate")
        steps = 1
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            steps += self.history.pop()[2]
        self.history.append((noise_multiplier, sample_rate, steps))

    def get_epsilon(self, delta: float, **options: Unpack[ComposeOptions]) -> float:
        """Return the certified upper bound of the epsilon spent so far.

        Parameters
        ----------
        delta : float
            Probability in [0, 1].
        **options
            The keyword arguments of `prvcore.compose`. With `eps_error`, the greatest distance of
            the bound to the exact value, it asks for more or less than the default.

        Returns
        -------
        float
            Nats.

        See Also
        --------
        bounds : the lower bound, too.

        """
        return float(self.bounds(delta, **options).upper)

    def bounds(self, delta: float, **options: Unpack[ComposeOptions]) -> ScalarBounds:
        """Return both bounds of the epsilon spent so far.

        Parameters
        ----------
        delta, **options
            As `get_epsilon` takes them.

        Returns
        -------
        Bounds
            Nats.

        Raises
        ------
        TypeError, ValueError
            An argument, or what was recorded, is of another kind or out of its range.

        """
        steps = [
            (PoissonSubsampledGaussian(noise_multiplier, sample_rate), count)
            for noise_multiplier, sample_rate, count in self.history
        ]
        return compose(steps, **options).epsilon(delta)


register_accountant(OpacusAccountant.mechanism(), OpacusAccountant, force=True)
