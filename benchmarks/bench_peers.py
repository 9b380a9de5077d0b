"""Every implementation asked for an interval of 0.02, or for its default where it takes none."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

from .measure import never_seen_before
from .peers import PEERS, Run, find

TRUTH = {1_000: 0.703708838718, 100_000: 3.2262289703152351}  # 'remove', the larger direction
SETTINGS = {
    "prvcore": {"eps_error": 0.02},
    "paper (numpy)": {"eps_error": 0.01},
    "prv-accountant": {"eps_error": 0.01},
    "opacus PRV": {"eps_error": 0.01},
}


class Epsilon:
    """Those that are not installed where asv measures are skipped."""

    params = ([name for name in PEERS if PEERS[name].promise != "none"], list(TRUTH))
    param_names = ("implementation", "steps")
    timeout = 300
    number, repeat, rounds, warmup_time = 1, (1, 10, 2.0), 1, 0

    def setup(self, implementation, steps):
        if implementation.startswith("Koskela"):
            raise NotImplementedError("its mesh would have to be 0.02 / steps: see paper/")
        self.peer, self.calls = find(implementation), 0
        self.answer = self.query(implementation, steps)

    def query(self, implementation, steps):
        self.calls += 1
        runs = never_seen_before([Run(0.8, 1e-3, steps)], self.calls)
        return self.peer.epsilon(runs, 1e-7, **SETTINGS.get(implementation, {}))

    def time_epsilon(self, implementation, steps):
        self.query(implementation, steps)

    def track_width(self, implementation, steps):
        """``upper - lower``; nan for one that has no lower bound."""
        return self.answer.upper - self.answer.lower

    def track_upper_bound_above_truth(self, implementation, steps):
        """Negative where the bound is wrong."""
        return self.answer.upper - TRUTH[steps]

    track_width.unit = track_upper_bound_above_truth.unit = "nats"
