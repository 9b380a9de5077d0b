"""The paper's own implementation."""

from .interface import Answer, Peer
from .reference import ComposePRV


class PRVAccountant(Peer):
    """``eps_error`` is half of the interval; ``delta_error`` a thousandth of delta, as advised."""

    name = "prv-accountant"
    module = "prv_accountant"
    distribution = "prv-accountant"
    promise = "both"
    directions = "remove"
    ladder = ComposePRV.ladder

    @staticmethod
    def accountant(runs, eps_error, delta_error):
        """Prepare the discretized steps."""
        from prv_accountant import PoissonSubsampledGaussianMechanism
        from prv_accountant import PRVAccountant as Accountant

        mechanisms = [
            PoissonSubsampledGaussianMechanism(
                noise_multiplier=run.noise_multiplier, sampling_probability=run.sampling_probability
            )
            for run in runs
        ]
        return Accountant(
            prvs=mechanisms,
            max_self_compositions=[run.count for run in runs],
            eps_error=eps_error,
            delta_error=delta_error,
        )

    def epsilon(self, runs, delta, eps_error, delta_error=None):
        """Ask for epsilon."""
        accountant = self.accountant(runs, eps_error, delta_error or delta / 1000)
        return Answer(*accountant.compute_epsilon(delta, [run.count for run in runs]))

    def delta(self, runs, epsilon, eps_error, delta_error=1e-10):
        """Ask for delta."""
        accountant = self.accountant(runs, eps_error, delta_error)
        return Answer(*accountant.compute_delta(epsilon, [run.count for run in runs]))
