"""The PRV accountant of Opacus, which needs torch."""

from .interface import Peer, upper_only
from .reference import ComposePRV


class OpacusPRV(Peer):
    """Half of the interval is ``eps_error``; only its upper end is told."""

    name = "opacus PRV"
    module = "opacus.accountants"
    distribution = "opacus"
    promise = "upper"
    directions = "remove"
    ladder = ComposePRV.ladder

    def epsilon(self, runs, delta, eps_error, delta_error=None):
        """Ask for epsilon."""
        from opacus.accountants import PRVAccountant

        accountant = PRVAccountant()
        accountant.history = [tuple(run) for run in runs]
        return upper_only(
            accountant.get_epsilon(delta, eps_error=eps_error, delta_error=delta_error)
        )
