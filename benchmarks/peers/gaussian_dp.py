"""The central limit of Gaussian differential privacy, as the paper draws it."""

import math

from .interface import Peer, estimate_only


class GaussianDP(Peer):
    """The limit's formula, which is no bound: mu = sqrt(sum k p^2 (e^(1/s^2) - 1)).

    References
    ----------
    .. [1] Bu, Dong, Long, Su, "Deep learning with Gaussian differential privacy", Harvard Data
       Science Review 2(3), 2020, arXiv:1911.11607 (Poisson subsampling).
    """

    name = "GDP (limit)"
    module = "scipy.special"
    distribution = "scipy"
    promise = "none"
    directions = "add-or-remove"

    @staticmethod
    def mu(runs):
        """Return the parameter of the Gaussian that the composition tends to."""
        return math.sqrt(sum(k * p * p * math.expm1(s**-2) for s, p, k in runs))

    def epsilon(self, runs, delta):
        """Ask for epsilon."""
        from ..closed_form import gaussian_epsilon

        return estimate_only(gaussian_epsilon(delta, self.mu(runs)))

    def delta(self, runs, epsilon):
        """Ask for delta."""
        from ..closed_form import gaussian_delta

        return estimate_only(gaussian_delta(epsilon, self.mu(runs)))
