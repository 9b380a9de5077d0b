"""The whole call, from the mechanism's parameters to epsilon; the implementation is a parameter."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

from .accountants import ACCOUNTANTS, accountant

SETTING = {"sampling_probability": 1e-3, "delta": 1e-7, "width": 0.02}
NOISE_MULTIPLIER = 0.8
TRUTH = {1_000: 0.703708838718, 100_000: 3.2262289703152351}  # 'remove', the larger direction


class Epsilon:
    """Epsilon of the Poisson-subsampled Gaussian, to a width of 0.02."""

    params = (list(ACCOUNTANTS), list(TRUTH))
    param_names = ("implementation", "steps")
    timeout = 300
    number, repeat, rounds, warmup_time = 1, (1, 20, 5.0), 1, 0

    def setup(self, implementation, steps):
        """Make one call beforehand: first plans and page faults are not what is timed here."""
        self.epsilon = accountant(implementation)
        self.calls = 0
        self.bounds = self.query(steps)

    def query(self, steps):
        """Ask about a mechanism never asked about before, so that no cache can answer."""
        noise_multiplier = NOISE_MULTIPLIER * (1 + 1e-12 * self.calls)
        self.calls += 1
        return self.epsilon(noise_multiplier, steps=steps, **SETTING)

    def time_epsilon(self, implementation, steps):
        self.query(steps)

    def track_width(self, implementation, steps):
        """``upper - lower``; nan for an accountant that has no lower bound."""
        lower, _, upper = self.bounds
        return upper - lower

    track_width.unit = "nats"

    def track_distance_to_truth(self, implementation, steps):
        _, estimate, _ = self.bounds
        return abs(estimate - TRUTH[steps])

    track_distance_to_truth.unit = "nats"
