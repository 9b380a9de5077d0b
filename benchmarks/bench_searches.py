"""Quantiles of what random searches take, and their memory: slow corners show."""

from . import searches
from .random_questions import quantile

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


class Searches:
    """Random calibrations and additions to filters; the same ones for every commit."""

    params = (list(searches.KINDS), list(SHARES))
    param_names = ("kind", "quantile")
    timeout = 1800.0

    def setup_cache(self, questions=500, patience=10.0):
        """Search once for all quantiles."""
        import prvcore

        return {
            kind: list(searches.ask(prvcore, kind, 1, range(questions), patience))
            for kind in searches.KINDS
        }

    def track_seconds(self, found, kind, share):
        return quantile(sorted(each.seconds for each in found[kind]), SHARES[share])

    def track_megabytes(self, found, kind, share):
        return quantile(sorted(each.megabytes for each in found[kind]), SHARES[share])

    track_seconds.unit, track_megabytes.unit = "s", "MB"
