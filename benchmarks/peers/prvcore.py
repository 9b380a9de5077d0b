"""The library of this repository."""

from .interface import Answer, Peer, settings


class Prvcore(Peer):
    """The settings are the options of ``prvcore.compose``."""

    name = "prvcore"
    module = distribution = "prvcore"
    promise = "both"
    directions = "add-or-remove"
    ladder = settings("eps_error", *(10 ** (-step / 2) for step in range(15)))

    def epsilon(self, runs, delta, **options):
        """Ask for epsilon."""
        return Answer(*self.curve(runs, **options).epsilon(delta))

    def delta(self, runs, epsilon, **options):
        """Ask for delta."""
        return Answer(*self.curve(runs, **options).delta(epsilon))

    @staticmethod
    def curve(runs, **options):
        """Compose anew."""
        import prvcore

        steps = [(prvcore.PoissonSubsampledGaussian(noise, p), count) for noise, p, count in runs]
        return prvcore.compose(steps, **options)
