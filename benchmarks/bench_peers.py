"""Every implementation asked for an interval of 0.02, or for its default where it takes none."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

from .measure import never_seen_before
from .peers import PEERS, Run, find

RUNS, DELTA = [Run(0.8, 1e-3, 1000)], 1e-7
TRUTH = 0.703708838718  # 'remove', the larger direction
SETTINGS = {
    "prvcore": {"eps_error": 0.02},
    "paper (numpy)": {"eps_error": 0.01},
    "Koskela et al. (numpy)": {"mesh": 0.02 / 1000},
    "prv-accountant": {"eps_error": 0.01},
    "opacus PRV": {"eps_error": 0.01},
}


class Epsilon:
    """Those that are not installed where asv measures are skipped."""

    params = tuple(name for name in PEERS if PEERS[name].promise != "none")
    param_names = ("implementation",)
    timeout = 300
    number, repeat, rounds, warmup_time = 1, (1, 10, 2.0), 1, 0

    def setup(self, implementation):
        self.peer, self.calls = find(implementation), 0
        self.answer = self.query(implementation)

    def query(self, implementation):
        self.calls += 1
        runs = never_seen_before(RUNS, self.calls)
        return self.peer.epsilon(runs, DELTA, **SETTINGS.get(implementation, {}))

    def time_epsilon(self, implementation):
        self.query(implementation)

    def track_width(self, implementation):
        """``upper - lower``; nan for one that has no lower bound."""
        return self.answer.upper - self.answer.lower

    def track_upper_bound_above_truth(self, implementation):
        """Negative where the bound is wrong."""
        return self.answer.upper - TRUTH

    track_width.unit = track_upper_bound_above_truth.unit = "nats"
