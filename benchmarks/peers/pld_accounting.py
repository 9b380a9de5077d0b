"""Feldman and Shenfeld's accountant, on top of dp-accounting."""

from .interface import Peer, settings, upper_only


class PLDAccounting(Peer):
    """One mechanism at a time; ``mesh`` is that of the Gaussian before it is sampled."""

    name = "pld-accounting"
    module = "PLD_accounting"
    distribution = "pld-accounting"
    promise = "upper"
    directions = "add-or-remove"
    ladder = settings("mesh", 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)

    @staticmethod
    def composed(runs, mesh):
        """Compose anew."""
        from dp_accounting.pld import privacy_loss_distribution
        from PLD_accounting import subsample_pld

        [(noise_multiplier, sampling_probability, count)] = runs
        step = privacy_loss_distribution.from_gaussian_mechanism(
            noise_multiplier, value_discretization_interval=mesh
        )
        return subsample_pld(pld=step, sampling_probability=sampling_probability).self_compose(
            count
        )

    def epsilon(self, runs, delta, mesh=1e-2):
        """Ask for epsilon."""
        return upper_only(self.composed(runs, mesh).get_epsilon_for_delta(delta))

    def delta(self, runs, epsilon, mesh=1e-2):
        """Ask for delta."""
        return upper_only(self.composed(runs, mesh).get_delta_for_epsilon(epsilon))
