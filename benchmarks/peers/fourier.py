"""Koskela et al.'s own package, which samples the density of the loss."""

from .interface import Peer, estimate_only


class FourierAccountant(Peer):
    """One number without a promise; ``points`` on [-window, window]."""

    name = "fourier-accountant"
    module = "fourier_accountant"
    distribution = "fourier-accountant"
    promise = "none"
    directions = "remove"
    ladder = tuple({"points": 10**power, "window": 10.0} for power in (4, 5, 6, 7))

    @staticmethod
    def arguments(runs, points, window):
        """Give the runs as its functions take them."""
        import numpy as np

        sigma, q, counts = (np.array(column) for column in zip(*runs, strict=True))
        return {"sigma": sigma, "q": q, "ncomp": counts, "nx": points, "L": window}

    def epsilon(self, runs, delta, points=1_000_000, window=20.0):
        """Ask for epsilon."""
        from fourier_accountant import get_epsilon_R

        return estimate_only(get_epsilon_R(delta, **self.arguments(runs, points, window)))

    def delta(self, runs, epsilon, points=1_000_000, window=20.0):
        """Ask for delta."""
        from fourier_accountant import get_delta_R

        return estimate_only(get_delta_R(epsilon, **self.arguments(runs, points, window)))
