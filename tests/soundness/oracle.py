"""The true delta of a composition, by whichever way is exact enough and takes no minutes."""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from . import laplace, quadrature, sums
from .contour import Contour
from .laws import LONG, Atoms, GaussianLoss, LaplaceLoss, TooSlowError
from .pairs import law_of

MOST_SMOOTH = 3
MOST_ERROR = 1e-8  # relatively; above, the oracle has nothing to say


class Truth(NamedTuple):
    """A value of delta, its relative error, and how it was found."""

    value: LONG
    error: float
    way: str

    @property
    def low(self):
        return self.value * (1 - self.error)

    @property
    def high(self):
        return self.value * (1 + self.error)


class Oracle:
    """Delta of steps (mechanism, count) in the direction 'add' or 'remove'."""

    def __init__(self, steps, direction):
        discrete, smooth, variance = [], [], LONG(0)
        self.count = 0
        for mechanism, count in steps:
            if count == 0:
                continue
            law = law_of(mechanism, direction)
            if isinstance(law, GaussianLoss):
                variance += count * law.mu**2
                continue
            self.count += count
            (smooth if law.smooth else discrete).append((law, count))
        if variance > 0:
            smooth.append((GaussianLoss(np.sqrt(variance)), 1))
        self.discrete, self.smooth = discrete, smooth
        kept = sum((n * np.log1p(-law.infinite) for law, n in discrete), LONG(0))
        self.infinite, self.kept = -np.expm1(kept), np.exp(kept)
        self._atoms = self._contour = None

    def ways(self):
        """Return the names of the ways that may lead to a value, the cheapest first."""
        few = sum(count for _, count in self.smooth) <= MOST_SMOOTH
        few = few and all(law.curve is not None for law, _ in self.smooth)
        ways = ["contour"]
        if few:
            many = sum(count for _, count in self.smooth) > 2
            ways.insert(1 if many else 0, "nested integrals" if self.smooth else "sum")
        elif not self.discrete and [type(law) for law, _ in self.smooth] == [LaplaceLoss]:
            ways.append("uniform sums")
        return ways

    def delta(self, epsilon, way=None):
        """Return the truth at epsilon, or raise TooSlowError."""
        reasons = []
        for name in [way] if way else self.ways():
            try:
                value, error = self._finite(name, epsilon)
            except TooSlowError as reason:
                reasons.append(f"{name}: {reason}")
                continue
            whole = value + self.infinite
            error = error * float(value / whole) if whole > 0 and value > 0 else error
            if error <= (0.5 if name == "sum" else MOST_ERROR):  # a sum's error is a proof
                return Truth(whole, error + 1e-15, name)
            reasons.append(f"{name}: not exact enough")
        raise TooSlowError("; ".join(reasons))

    def _finite(self, way, epsilon):
        if way == "contour":
            if self._contour is None:
                self._contour = Contour(self.discrete + self.smooth)
            log_value, error = self._contour.value(epsilon)
            return np.exp(log_value), error
        if way == "uniform sums":
            ((law, count),) = self.smooth
            return laplace.delta(law.mu, count, epsilon)
        if self._atoms is None:
            self._atoms = self._all_atoms()
        atoms, size, other = self._atoms
        mass_error = 2e-18 * (self.count * math.log(self.count + 2) + 100)
        if self.smooth:
            laws = [law for law, count in self.smooth for _ in range(count)]
            value, error = quadrature.delta(laws, atoms, epsilon)
            return value, error + mass_error
        if other is None:
            value, error = sums.delta(atoms, epsilon, size, len(self.discrete))
            return value, error + mass_error
        value, error = sums.delta_of_two(atoms, other, epsilon, size)
        return value, error + mass_error

    def _all_atoms(self):
        """Return the discrete steps' law, and the law of one that is too long to be multiplied."""
        one = Atoms(np.zeros(1, LONG), np.ones(1, LONG))
        parts = [sums.power(law, count) for law, count in self.discrete]
        parts.sort(key=lambda part: len(part.losses))
        size = sum((np.abs(part.losses).max() for part in parts if len(part.losses)), LONG(0))
        for i, part in enumerate(parts):
            last = i == len(parts) - 1 and not self.smooth
            if last and len(one.losses) * len(part.losses) > 200_000:
                return one, size, part
            one = sums.together(one, part)
        return one, size, None


def delta(steps, neighbors, epsilon, cache=None):
    """Return the truth at epsilon for prvcore's `neighbors`; the larger of both directions."""
    cache = {} if cache is None else cache
    found = []
    for direction in ("add", "remove") if neighbors == "add-or-remove" else (neighbors,):
        if direction not in cache:
            cache[direction] = Oracle(steps, direction)
        found.append(cache[direction].delta(epsilon))
    return max(found, key=lambda truth: truth.value)


def kinds(steps):
    """Count the kinds of mechanisms."""

    def name(mechanism):
        base = getattr(mechanism, "mechanism", None)
        return type(mechanism).__name__ + (f" of {name(base)}" if base is not None else "")

    return Counter({name(mechanism) for mechanism, _ in steps})
