"""Delta of many Laplace steps without sampling: sums of uniform numbers, all terms positive.

A step has the loss mu - 2 mu U, where U has the law e^(-mu u) / 2 times (an atom at 0, an atom at
1, and mu times the uniform density between). Of k steps j are uniform, of the others i have U = 1:

    delta(eps) = 2^-k sum_j C(k, j) mu^j sum_i C(k - j, i) e^(-mu i) G_j((k mu - eps) / 2 mu - i),
    G_j(r) = integral over s < r of f_j(s) e^(-mu s) (1 - e^(-2 mu (r - s))) ds,

f_j the density of the sum of j uniform numbers, which is a polynomial between integers.
"""

import math

import numpy as np

from .laws import LONG, TooSlowError
from .sums import log_factorials

NODES = 14
MOST_UNIFORM = 150


def delta(mu, count, epsilon):
    """Return the finite part of delta at epsilon, and a bound of the relative error."""
    x = (count * mu - LONG(epsilon)) / (2 * mu)
    if x <= 0:
        return LONG(0), 0.0
    # how many steps are uniform is binomial
    mean = float(count * mu / (2 + mu))
    most = min(count, int(mean + 14 * math.sqrt(mean) + 40))
    if most > MOST_UNIFORM:
        raise TooSlowError("uniform steps")
    whole = int(x)
    if whole * most > 3e7:
        raise TooSlowError("atoms")
    part = x - whole  # r = n + part, n = whole - i
    total, largest, last = LONG(0), LONG(0), LONG(0)
    logs = log_factorials(count)
    n = np.arange(whole + 1)
    i = whole - n
    densities = _Densities(part)
    for j in range(most + 1):
        kernel = densities.integrals(j, mu, whole) if j else -np.expm1(-2 * mu * (n + part))
        inside = i <= count - j
        at = i[inside]
        log_terms = logs[count] - logs[j] - logs[at] - logs[count - j - at]
        log_terms = log_terms + j * np.log(mu) - mu * at - count * np.log(LONG(2))
        last = (np.exp(log_terms) * kernel[inside]).sum()
        total += last
        largest = max(largest, last)
    left_out = 0.0 if most == count else float(last / total) * 10
    # sums S(r) - e^(-2 mu r) T(r) cancel where mu r is small
    return total, left_out + 1e-14 + 2e-18 / float(mu * max(part, 0.01))


class _Densities:
    """f_j at Gauss's nodes of [m, m + part] and [m + part, m + 1] for every integer m."""

    def __init__(self, part):
        x, w = np.polynomial.legendre.leggauss(NODES)
        x, w = x.astype(LONG), w.astype(LONG)
        self.points = np.concatenate([part * (1 + x) / 2, part + (1 - part) * (1 + x) / 2])
        self.weights = np.concatenate([part * w / 2, (1 - part) * w / 2])
        self.part = part
        self.values, self.order = np.ones((1, 2 * NODES), LONG), 1  # rows: m = 0 .. j - 1

    def _raise_to(self, order):
        while self.order < order:
            j = self.order + 1
            s = np.arange(j).astype(LONG)[:, None] + self.points
            up = np.zeros((j, 2 * NODES), LONG)
            up[:-1] += s[:-1] * self.values
            up[1:] += (j - s[1:]) * self.values
            self.values, self.order = up / (j - 1), j

    def integrals(self, j, mu, whole):
        """Return G_j(n + part) for n = 0 .. whole."""
        self._raise_to(j)
        s = np.arange(j).astype(LONG)[:, None] + self.points
        f = self.values * self.weights
        result = np.empty(whole + 1, LONG)
        cells = f * np.exp(-mu * s), f * np.exp(mu * s)
        # below n + part: cells m < n, and of cell n its first half
        sums = []
        for cell in cells:
            first, both = cell[:, :NODES].sum(1), cell.sum(1)
            before = np.concatenate([[LONG(0)], np.cumsum(both)])
            partial = before[:-1] + first
            size = min(j, whole + 1)
            sums.append(np.concatenate([partial[:size], np.full(whole + 1 - size, before[-1])]))
        n = np.arange(whole + 1)
        result = sums[0] - np.exp(-2 * mu * (n + self.part)) * sums[1]
        return np.maximum(result, 0)
