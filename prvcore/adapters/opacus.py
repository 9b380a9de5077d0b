"""Opacus with the bounds of prvcore: importing this registers the accountant "prvcore".

Needs opacus 1.5 or later. Then ``PrivacyEngine(accountant="prvcore")`` and
``get_noise_multiplier(..., accountant="prvcore")`` use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from opacus.accountants import IAccountant, register_accountant
from opacus.optimizers import AdaClipDPOptimizer, DPOptimizer

from prvcore import _arguments
from prvcore._bounds import ScalarBounds
from prvcore._compose import compose
from prvcore._outward import RoundedUp
from prvcore._settings import ComposeOptions
from prvcore.mechanisms.subsampled import PoissonSubsampledGaussian

__all__ = ["OpacusAccountant"]


class OpacusAccountant(IAccountant):
    """An accountant for Opacus whose epsilon is the certified upper bound.

    Its history is that of Opacus: ``(noise_multiplier, sample_rate, steps)`` of every run of equal
    steps, so that its `state_dict` is one of Opacus. Neighbours have one record more or less, the
    worse of both; the PRV accountant of Opacus bounds the removal alone.

    Notes
    -----
    What the history has no place for is not accounted for: with ``poisson_sampling=False`` batches
    are no Poisson samples, and the bound does not hold.

    With ``clipping="adaptive"`` each step also publishes, of the same batch, a noisy count of the
    gradients that were not clipped. Opacus chooses the noise as if a record added 1/2 or -1/2 to
    this count, where it adds 1 or 0, and it divides the count by the size of the batch, to which it
    adds no noise. So the noise multiplier that Opacus records is not that of the step, and an
    engine with this accountant refuses the first step. For counts that are programmed otherwise,
    see `adaptive_clipping_noise` and the argument `beside` of `Accountant.step`.

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

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[DPOptimizer], None]:
        """Return what an optimizer of Opacus calls in each step, before parameters change.

        Parameters
        ----------
        sample_rate : float
            Probability with which each record enters a batch.

        Returns
        -------
        callable
            It takes the optimizer and records its step. It raises ValueError if the optimizer
            adapts the clipping norm: see the notes of this class.

        """
        record: Callable[[DPOptimizer], None] = super().get_optimizer_hook_fn(sample_rate)

        def record_unless_adaptive(optimizer: DPOptimizer) -> None:
            if isinstance(optimizer, AdaClipDPOptimizer):
                raise ValueError(
                    'clipping must not be "adaptive": a step of this optimizer of Opacus costs '
                    "more than its noise_multiplier says. It publishes a noisy count as well, to "
                    "which each record adds 1 or 0, and takes the noise for a count to which each "
                    "adds 1/2 or -1/2"
                )
            record(optimizer)

        return record_unless_adaptive

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
            Nats. Formatted, and by ``round``, it is rounded up.

        See Also
        --------
        bounds : the lower bound, too.

        """
        return RoundedUp(self.bounds(delta, **options).upper)

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
