"""Compositions of finitely many losses, summed term by term in long double.

All terms are positive, so that nothing cancels; where lists become too long the oracle gives up.
"""

import math

import numpy as np

from .laws import LONG, Atoms, TooSlowError

MOST_ATOMS = 1_000_000
MOST_PRODUCTS = 1e8
ROUNDING = float(np.finfo(LONG).eps)


def power(atoms, count):
    """Return the law of `count` independent losses."""
    if count == 0:
        return Atoms(np.zeros(1, LONG), np.ones(1, LONG))
    infinite = -np.expm1(count * np.log1p(-atoms.infinite))
    if count == 1:
        return Atoms(atoms.losses, atoms.masses, infinite)
    size = len(atoms.losses)
    if size < 2:
        return Atoms(count * atoms.losses, np.exp(count * np.log(atoms.masses)), infinite)
    step = _common_step(atoms.losses)
    if size > 2 and step is not None:
        return _lattice_power(atoms, count, step, infinite)
    log_terms = (size - 1) * math.log(count + size) - math.lgamma(size)
    if log_terms > math.log(MOST_ATOMS):
        raise TooSlowError("atoms")
    # One atom after another takes its share of the steps that are left: nested binomials.
    losses, logs, left = np.zeros(1, LONG), np.zeros(1, LONG), np.array([count])
    rest = atoms.masses.sum()
    logs = logs + count * np.log(rest)
    for i in range(size - 1):
        p = atoms.masses[i] / rest
        rest = atoms.masses[i + 1 :].sum()
        other = rest / (rest + atoms.masses[i])
        parts = [_log_binomial(n, p, other) for n in left]
        sizes = left + 1
        taken = np.concatenate([np.arange(n + 1) for n in left])
        logs = np.repeat(logs, sizes) + np.concatenate(parts)
        losses = np.repeat(losses, sizes) + taken * atoms.losses[i]
        left = np.repeat(left, sizes) - taken
    losses = losses + left * atoms.losses[-1]
    return Atoms(losses, np.exp(logs), infinite)


_factorials = np.zeros(1, LONG)


def log_factorials(n):
    """Return an array of log 0! .. log n! at least, to a few roundings: by Stirling's series."""
    global _factorials
    if len(_factorials) <= n:
        first = np.cumsum(np.log(np.arange(1, 40).astype(LONG)))
        x = np.arange(40, max(2 * n, 1000) + 1).astype(LONG)
        series = [1 / LONG(12), -1 / LONG(360), 1 / LONG(1260), -1 / LONG(1680), 1 / LONG(1188)]
        rest = sum(term / x ** (2 * i + 1) for i, term in enumerate(series))
        large = x * np.log(x) - x + np.log(2 * LONG(np.pi) * x) / 2 + rest
        _factorials = np.concatenate([np.zeros(1, LONG), first, large])
    return _factorials


def _log_binomial(n, p, other):
    f = log_factorials(n)
    i = np.arange(n + 1)
    return f[n] - f[i] - f[n - i] + i * np.log(p) + (n - i) * np.log(other)


def _common_step(losses):
    """Return the step of a lattice that has all losses, as far as long double tells, or None."""
    gaps = np.diff(losses)
    step = gaps.min()
    if not step > 0:  # losses that long double does not tell apart
        return None
    ratios = gaps / step
    good = np.abs(ratios - np.rint(ratios)) < 64 * ROUNDING * np.abs(losses).max() / step
    return step if good.all() and np.rint(ratios).sum() < 1e5 else None


def _lattice_power(atoms, count, step, infinite):
    index = np.rint((atoms.losses - atoms.losses[0]) / step).astype(int)
    masses = np.zeros(index[-1] + 1, LONG)
    masses[index] = atoms.masses
    if (index[-1] * count) ** 2 > MOST_PRODUCTS:
        raise TooSlowError("convolution")
    result, square, left = np.ones(1, LONG), masses, count
    while left:
        if left & 1:
            result = np.convolve(result, square)
        left >>= 1
        if left:
            square = np.convolve(square, square)
    # the lattice's own step, from its ends, is the exact one to within rounding
    exact = (atoms.losses[-1] - atoms.losses[0]) / index[-1] if index[-1] else step
    losses = count * atoms.losses[0] + exact * np.arange(len(result)).astype(LONG)
    return Atoms(losses, result, infinite)


def together(a, b):
    """Return the law of the sum of two independent losses, written out."""
    if len(a.losses) * len(b.losses) > MOST_ATOMS:
        raise TooSlowError("atoms")
    losses = np.add.outer(a.losses, b.losses).ravel()
    masses = np.multiply.outer(a.masses, b.masses).ravel()
    return Atoms(losses, masses, a.infinite + b.infinite - a.infinite * b.infinite)


def delta(atoms, epsilon, size, roundings):
    """Return the finite part of delta at epsilon, and a bound of the relative error.

    size bounds the moduli of all partial sums of losses, roundings is their number: losses may be
    off by their product times the rounding unit, which moves delta by at most that times
    P(Y > epsilon).
    """
    x = LONG(epsilon)
    off = ROUNDING * (roundings + 4) * (size + abs(x))
    gap = atoms.losses - x
    above = gap > -off
    value = -(atoms.masses[above] * np.expm1(-np.maximum(gap[above], 0))).sum()
    moved = off * atoms.masses[above].sum()
    if not value > 0:
        return LONG(0), 0.0 if not above.any() else math.inf
    # masses: logarithms of factorials are sums of `count` terms
    return value, float(moved / value)


def delta_of_two(a, b, epsilon, size):
    """As `delta`, of the sum of two laws whose atoms are too many to be written out.

    The curve of b at x is S(x) - e^x T(x), S and T the masses above x under both laws of its pair:
    two sums from the top, whose difference cancels by what its share of S says.
    """
    x = LONG(epsilon) - a.losses
    off = ROUNDING * 8 * (size + abs(LONG(epsilon)))
    mass = np.cumsum(b.masses[::-1])[::-1]
    log_other = np.log(b.masses) - b.losses
    # cumulative sums of e^(log_other) relative to the largest loss of each, in long double's range
    other = np.cumsum(np.exp(log_other[::-1] - log_other.max()))[::-1]
    first = np.searchsorted(b.losses, x, side="right")
    inside = first < len(b.losses)
    first, x, weights = first[inside], x[inside], a.masses[inside]
    above = mass[first]
    curve = above - np.exp(x + log_other.max()) * other[first]
    curve = np.maximum(curve, 0)
    value = (weights * curve).sum()
    wrong = ROUNDING * (len(b.losses) + 8) * (weights * above).sum() + off * (weights * above).sum()
    if not value > 0:
        return LONG(0), math.inf if inside.any() else 0.0
    return value, float(wrong / value)
