"""Google's privacy loss distributions, by connect-the-dots."""

from .interface import Peer, settings, upper_only


class DPAccountingPLD(Peer):
    """The setting ``mesh`` is value_discretization_interval, 1e-4 by default."""

    name = "dp-accounting PLD"
    module = "dp_accounting.pld.privacy_loss_distribution"
    distribution = "dp-accounting"
    promise = "upper"
    directions = "add-or-remove"
    ladder = settings("mesh", 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)

    @staticmethod
    def composed(runs, mesh):
        """Compose anew."""
        from dp_accounting.pld import privacy_loss_distribution

        composed = None
        for noise_multiplier, sampling_probability, count in runs:
            step = privacy_loss_distribution.from_gaussian_mechanism(
                noise_multiplier,
                sampling_prob=sampling_probability,
                value_discretization_interval=mesh,
            ).self_compose(count)
            composed = step if composed is None else composed.compose(step)
        return composed

    def epsilon(self, runs, delta, mesh=1e-4):
        """Ask for epsilon."""
        return upper_only(self.composed(runs, mesh).get_epsilon_for_delta(delta))

    def delta(self, runs, epsilon, mesh=1e-4):
        """Ask for delta."""
        return upper_only(self.composed(runs, mesh).get_delta_for_epsilon(epsilon))
