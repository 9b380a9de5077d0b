"""The Poisson-subsampled Gaussian, 'remove' direction, as a PRV in long double."""

# ruff: noqa: N803 (L is the paper's name)

from typing import NamedTuple

import numpy as np

PI = np.longdouble("3.14159265358979323846264338327950288")


class SubsampledGaussian(NamedTuple):
    """``Q = (1-p) N(0, s^2) + p N(1, s^2)`` against ``P = N(0, s^2)``.

    Parameters
    ----------
    noise_multiplier : float
        s, positive.
    sampling_probability : float
        p, in (0, 1].
    """

    noise_multiplier: float
    sampling_probability: float

    infinity = 0.0

    def loss(self, w):
        """Loss at the noise variable w, ``log(1 - p + p e^((2w - 1) / (2 s^2)))``."""
        s, p = np.longdouble(self.noise_multiplier), np.longdouble(self.sampling_probability)
        return np.log1p(p * np.expm1((2 * w - 1) / (2 * s * s)))

    def noise(self, y):
        """Noise variable at which the loss is y; -inf where no loss is so small."""
        s, p = np.longdouble(self.noise_multiplier), np.longdouble(self.sampling_probability)
        with np.errstate(divide="ignore"):
            ratio = np.maximum(np.expm1(np.asarray(y, np.longdouble)) + p, 0) / p
            return s * s * np.log(ratio) + np.longdouble(0.5)

    def cdf(self, y):
        """Probability under Q of a loss at most y."""
        s, p = np.longdouble(self.noise_multiplier), np.longdouble(self.sampling_probability)
        w = self.noise(y)
        return (1 - p) * normal_cdf(w / s) + p * normal_cdf((w - 1) / s)

    def density(self, w):
        """Density of Q at w."""
        s, p = np.longdouble(self.noise_multiplier), np.longdouble(self.sampling_probability)
        bells = (1 - p) * np.exp(-((w / s) ** 2) / 2) + p * np.exp(-(((w - 1) / s) ** 2) / 2)
        return bells / (s * np.sqrt(2 * PI))

    def conditional_mean(self, L):
        """``E[Y | |Y| <= L]`` by Gauss-Legendre panels in the noise variable."""
        s = np.longdouble(self.noise_multiplier)
        low, high = np.clip(self.noise([-L, L]), -14 * s, 1 + 14 * s)
        panels = int(np.ceil((high - low) / min(s, s * s)))  # the loss has poles pi s^2 away
        edges = low + (high - low) * np.arange(panels + 1) / panels
        nodes, weights = gauss_legendre(32)
        half = np.diff(edges)[:, np.newaxis] / 2
        w = edges[:-1, np.newaxis] + half * (1 + nodes)
        total = (half * weights * self.loss(w) * self.density(w)).sum()
        return total / np.diff(self.cdf(np.array([-L, L], np.longdouble)))[0]

    def log_moment(self, tilts):
        """``log E[exp(tilt * Y)]`` by the trapezoidal rule, exact to rounding for such densities.

        Of the positive tilts the 'add' direction has the smaller moments (Mironov, Talwar, Zhang,
        arXiv:1908.10530).
        """
        s, tilts = self.noise_multiplier, np.asarray(tilts)
        low, high = (
            min(0.0, 1 + tilts.min()),
            max(0.0, 1 + tilts.max()),
        )  # means of the tilted noise
        w = np.arange(low - 14 * s, high + 14 * s, min(s, s * s) / 4)
        p = self.sampling_probability
        with np.errstate(divide="ignore"):
            stay = np.log1p(-p)
            loss = np.logaddexp(stay, np.log(p) + (2 * w - 1) / (2 * s * s))
        bell = -((w / s) ** 2) / 2 - np.log(s * np.sqrt(2 * np.pi))
        # E_Q[e^(tilt Y)] = E_P[e^((tilt + 1) Y)]
        exponents = (tilts[:, np.newaxis] + 1) * loss + bell
        return np.logaddexp.reduce(exponents, axis=1) + np.log(w[1] - w[0])


def normal_cdf(z):
    """Evaluate the standard normal distribution function, to about 1e-19 absolutely."""
    z = np.asarray(z, np.longdouble)
    x = np.minimum(np.abs(z) / np.sqrt(np.longdouble(2)), 1000)
    tail = np.piecewise(x, [x < 2], [_erfc_of_small, _erfc_of_large]) / 2
    return np.where(z > 0, 1 - tail, tail)


def _erfc_of_small(x):
    """Sum the series of positive terms of erf."""
    term = erf = 2 * x * np.exp(-x * x) / np.sqrt(PI)
    for n in range(1, 60):
        term = term * 2 * x * x / (2 * n + 1)
        erf = erf + term
    return 1 - erf


def _erfc_of_large(x):
    """Apply the trapezoidal rule with its pole term (Chiarella, Reichel, Math. Comp. 22, 1968)."""
    h = np.longdouble(0.45)  # relative error about exp(-(pi/h)^2) = 7e-22
    rule = 1 / (2 * x * x)
    for n in range(1, 17):
        rule = rule + np.exp(-((n * h) ** 2)) / ((n * h) ** 2 + x * x)
    pole = np.where(x < PI / h, 2 / np.expm1(2 * PI * np.minimum(x / h, 1000)), 0)
    return 2 * h * x / PI * np.exp(-x * x) * rule - pole


def gauss_legendre(count):
    """Gauss-Legendre nodes and weights on [-1, 1], numpy's polished by Newton in long double."""
    x = np.polynomial.legendre.leggauss(count)[0].astype(np.longdouble)
    for _ in range(2):
        below, value = np.ones_like(x), x
        for n in range(2, count + 1):
            below, value = value, ((2 * n - 1) * x * value - (n - 1) * below) / n
        slope = count * (x * value - below) / (x * x - 1)
        x = x - value / slope
    return x, 2 / ((1 - x * x) * slope * slope)
