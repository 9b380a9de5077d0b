"""Google's Renyi accountant."""

from .interface import Peer, upper_only


class DPAccountingRDP(Peer):
    """An upper bound by Renyi divergences of fixed orders; it has no setting."""

    name = "RDP"
    module = "dp_accounting.rdp"
    distribution = "dp-accounting"
    promise = "upper"
    directions = "add-or-remove"

    @staticmethod
    def accountant(runs):
        """Compose anew."""
        from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
        from dp_accounting.rdp import RdpAccountant

        accountant = RdpAccountant()
        for noise_multiplier, sampling_probability, count in runs:
            step = PoissonSampledDpEvent(sampling_probability, GaussianDpEvent(noise_multiplier))
            accountant.compose(step, count)
        return accountant

    def epsilon(self, runs, delta):
        """Ask for epsilon."""
        return upper_only(self.accountant(runs).get_epsilon(delta))

    def delta(self, runs, epsilon):
        """Ask for delta."""
        return upper_only(self.accountant(runs).get_delta(epsilon))
