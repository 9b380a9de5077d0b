"""Truncated Poisson batches: what a choice between two mechanisms that is known loses."""

from decimal import Decimal, localcontext
from math import comb

import numpy as np

from .laws import LONG, TooSlowError

MOST_TERMS = 200_000


def truncation(mechanism):
    """Return the probabilities of fewer than B others, of B or more, and then of being kept.

    With K, binomial, the number of the n - 1 other records in the sample, a record that is sampled
    with B or more others is one of the K + 1 of which B are kept.
    """
    p, most = mechanism.sampling_probability, mechanism.maximum_batch_size
    others = mechanism.dataset_size - 1
    if others < most or p == 0.0:
        return LONG(1), LONG(0), LONG(0)
    with localcontext() as context:
        context.prec, context.Emin = 50, -(10**9)
        below, above, kept = _sums(others, Decimal(p), most)
        return LONG(str(below)), LONG(str(above)), LONG(str(kept / above)) if above else LONG(0)


def _sums(n, p, most):
    """Return sums of P(K = k) over k < B and over k >= B, and of p B / (k + 1) P(K = k) there."""
    if p == 1:
        return Decimal(0), Decimal(1), Decimal(most) / (n + 1)
    odds = p / (1 - p)
    first = comb(n, most) * p**most * (1 - p) ** (n - most)
    above = kept = Decimal(0)
    term, k = first, most
    for k in range(most, n + 1):
        above += term
        kept += term * p * most / (k + 1)
        term *= odds * (n - k) / (k + 1)
        # terms fall at least geometrically once they are past the mode
        if term < above * Decimal("1e-30") and k > n * p + 1:
            break
        if k - most > MOST_TERMS:
            raise TooSlowError("terms of the binomial law")
    below, term = Decimal(0), first
    for k in range(most - 1, -1, -1):
        term *= (k + 1) / (odds * (n - k))
        below += term
        if term < below * Decimal("1e-30") and k < n * p - 1:
            break
        if most - k > MOST_TERMS:
            raise TooSlowError("terms of the binomial law")
    return below, above, kept


def choice(*parts):
    """Return the law of a choice that is known, of (probability, how to make the law)."""
    laws = [(weight, make()) for weight, make in parts if weight > 0]
    return laws[0][1] if len(laws) == 1 else ChoiceLoss(laws)


class ChoiceLoss:
    """The mixture of the losses of its parts (weight, law)."""

    smooth = True
    infinite = LONG(0)

    def __init__(self, parts):
        self.parts = parts
        self.still = sum(weight * law.still for weight, law in parts)
        self.kinks = tuple(kink for _, law in parts for kink in getattr(law, "kinks", ()))

    @property
    def curve(self):
        return None if any(law.curve is None for _, law in self.parts) else self._curve

    def _curve(self, epsilon):
        return sum(weight * law.curve(epsilon) for weight, law in self.parts)

    def moved_curve(self, epsilon):
        return sum(w * law.moved_curve(epsilon) for w, law in self.parts if law.still > 0)

    def _moments(self, c):
        moments = [law.log_moment(c) for _, law in self.parts]
        logs = np.array([np.log(weight) for weight, _ in self.parts])
        logs += np.array([value for value, _ in moments])
        whole = logs.max() + np.log(np.exp(logs - logs.max()).sum())
        return whole, np.exp(logs - whole), moments

    def log_moment(self, c):
        whole, shares, moments = self._moments(c)
        means = np.array([mean for _, mean in moments])
        return whole, (shares * means).sum()

    def spectrum(self, c, mean, fineness):
        _, shares, _ = self._moments(c)
        spectra = [law.spectrum(c, mean, fineness) for _, law in self.parts]
        return _ChoiceSpectrum([float(share) for share in shares], spectra)


class _ChoiceSpectrum:
    def __init__(self, shares, spectra):
        self.parts = list(zip(shares, spectra, strict=True))
        self.cost = sum(spectrum.cost for spectrum in spectra)
        self.still = sum(share * getattr(s, "still", 0.0) for share, s in self.parts)
        self.error = sum(share * getattr(s, "error", 0.0) for share, s in self.parts)

    def log_ratio(self, first, spacing, count):
        logs = [(share, s.log_ratio(first, spacing, count)) for share, s in self.parts]
        ratio = sum(share * np.exp(log) for share, log in logs)
        return np.log(np.where(ratio == 0, 1e-300, ratio))

    def bound(self, t):
        return min(1.0, sum(share * s.bound(t) for share, s in self.parts))

    def rough(self, first, spacing, count):
        parts = [(share, s) for share, s in self.parts if hasattr(s, "rough")]
        return sum(share * s.rough(first, spacing, count) for share, s in parts)

    def rough_bound(self, t):
        return sum(share * s.rough_bound(t) for share, s in self.parts if hasattr(s, "rough"))

    def calm_bound(self, t):
        return sum(share * s.bound(t) for share, s in self.parts if not hasattr(s, "rough"))
