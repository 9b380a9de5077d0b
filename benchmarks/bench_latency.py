"""Quantiles of what random questions cost, in the unit of `latency`: slow corners show."""

from . import latency


class Latency:
    """Answers to random questions; the same ones for every commit."""

    params = (list(latency.KINDS), list(latency.SHARES))
    param_names = ("kind", "quantile")
    unit = "units"
    timeout = 1800.0

    def setup_cache(self, questions=500, patience=5.0):
        """Ask once for all quantiles."""
        return {
            kind: latency.quantiles(sorted(latency.ask(kind, 1, range(questions), patience)))
            for kind in latency.KINDS
        }

    def track_units(self, found, kind, quantile):
        return found[kind][quantile]
