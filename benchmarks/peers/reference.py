"""The algorithms of the papers, in plain numpy (benchmarks/reference)."""

from .interface import Answer, Peer, settings

DELTA_ERROR = 1e-10  # for a delta of 1e-7 the share that the paper takes


class ComposePRV(Peer):
    """Gopi, Lee, Wutschitz; ``eps_error`` is half of the interval."""

    name = "paper (numpy)"
    module = distribution = "numpy"
    promise = "both"
    directions = "remove"
    ladder = settings("eps_error", 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)

    def composed(self, runs, eps_error, delta_error):
        """Compose once, for many questions."""
        from ..reference import compose_prv
        from ..reference.subsampled_gaussian import SubsampledGaussian

        prvs = [SubsampledGaussian(run.noise_multiplier, run.sampling_probability) for run in runs]
        return compose_prv.compose_prvs(prvs, [run.count for run in runs], eps_error, delta_error)

    def epsilon(self, runs, delta, eps_error, delta_error=DELTA_ERROR):
        """Ask for epsilon."""
        from ..reference import compose_prv

        composed = self.composed(runs, eps_error, delta_error)
        return Answer(*compose_prv.epsilon_bounds(composed, delta, eps_error, delta_error))

    def delta(self, runs, epsilon, eps_error, delta_error=DELTA_ERROR):
        """Ask for delta."""
        from ..reference import compose_prv

        composed = self.composed(runs, eps_error, delta_error)
        return Answer(*compose_prv.delta_bounds(composed, epsilon, eps_error, delta_error))


class Koskela(Peer):
    """Koskela et al. of one mechanism; ``mesh`` times the number of steps is the interval."""

    name = "Koskela et al. (numpy)"
    module = distribution = "numpy"
    promise = "both"
    directions = "remove"
    ladder = settings("mesh", 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)

    def composed(self, runs, mesh, delta_error):
        """Compose once, for many questions."""
        from ..reference import fourier_accountant
        from ..reference.subsampled_gaussian import SubsampledGaussian

        [(noise_multiplier, sampling_probability, count)] = runs
        prv = SubsampledGaussian(noise_multiplier, sampling_probability)
        return fourier_accountant.compose_rounded(prv, count, mesh, delta_error)

    def epsilon(self, runs, delta, mesh, delta_error=DELTA_ERROR):
        """Ask for epsilon; there is no estimate."""
        from ..reference import fourier_accountant

        composed = self.composed(runs, mesh, delta_error)
        lower, upper = fourier_accountant.epsilon_bounds(composed, delta)
        return Answer(lower, float("nan"), upper)

    def delta(self, runs, epsilon, mesh, delta_error=DELTA_ERROR):
        """Ask for delta; there is no estimate."""
        from ..reference import fourier_accountant

        lower, upper = fourier_accountant.delta_bounds(
            self.composed(runs, mesh, delta_error), epsilon
        )
        return Answer(lower, float("nan"), upper)
