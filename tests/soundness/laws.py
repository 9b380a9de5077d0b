"""Privacy losses of single mechanisms, written down from their definitions.

A mechanism has outcomes w with densities P and Q. In the direction 'remove' the pair of a mechanism
on a Poisson sample is A = (1-p)P + pQ against B = P, in 'add' it is A = Q against B = (1-p)Q + pP.
The loss is log(A/B) with w drawn from A.
"""

import math
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, ndtr

LONG = np.longdouble
DEEP = 33  # standard deviations that the smallest delta asked, 1e-200, can see
FAR = 42.0  # and where all masses are cut off


def loss_of(base_loss, probability, direction):
    """Return log(A/B) where log(Q/P) is `base_loss`, long double; infinite where B has no mass."""
    p = LONG(probability)
    if direction == "add":
        return -loss_of(-base_loss, probability, "remove")
    if probability == 1.0:
        return base_loss
    if probability == 0.0:
        return np.zeros_like(base_loss)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        growth = p * np.expm1(base_loss)
        near, low = np.log1p(growth), np.log((1 - p) + p * np.exp(base_loss))
        high = base_loss + np.log(p) + np.log1p((1 - p) / p * np.exp(-base_loss))
    return np.where(growth < -0.5, low, np.where(base_loss > 11000, high, near))


def base_loss_of(loss, probability):
    """Return log(Q/P) where the loss of 'remove' is `loss`; nan below its least value."""
    p = LONG(probability)
    edge = np.log1p(-p)
    with np.errstate(all="ignore"):
        growth = np.expm1(loss) / p
        near = np.log1p(growth)
        low = edge + np.log(np.expm1(loss - edge)) - np.log(p)
        high = loss - np.log(p) + np.log1p((p - 1) * np.exp(-loss))
        base = np.where(growth < -0.5, low, np.where(loss > 11000, high, near))
        return np.where(loss < edge, LONG(np.nan), base)


def log_mean(weights, exponents):
    """Return the logarithm of sum weights e^exponents; weights sum to 1."""
    top = np.maximum.reduce(exponents)
    with np.errstate(all="ignore"):
        growth = sum(w * np.expm1(e) for w, e in zip(weights, exponents, strict=True))
        total = sum(w * np.exp(e - top) for w, e in zip(weights, exponents, strict=True))
        near, far = np.log1p(growth), top + np.log(total)
    return np.where((growth < -0.5) | (top > 30), far, near)


def complex_log_mean(weights, exponents, angles):
    """Return real and imaginary part of log(sum weights e^(exponents + i angles))."""
    top = np.maximum.reduce(exponents)
    growth, other, re, im = (np.zeros_like(top) for _ in range(4))
    for weight, exponent, angle in zip(weights, exponents, angles, strict=True):
        near = np.minimum(exponent, 30.0)
        growth += weight * (np.expm1(near) * np.cos(angle) - 2 * np.sin(angle / 2) ** 2)
        other += weight * np.exp(near) * np.sin(angle)
        re += weight * np.exp(exponent - top) * np.cos(angle)
        im += weight * np.exp(exponent - top) * np.sin(angle)
    with np.errstate(all="ignore"):
        small = 0.5 * np.log1p(2 * growth + growth * growth + other * other)
        large = top + 0.5 * np.log(re * re + im * im)
    far = (growth < -0.5) | (top > 30.0)
    return np.where(far, large, small), np.where(
        far, np.arctan2(im, re), np.arctan2(other, 1 + growth)
    )


# ---- Finitely many losses --------------------------------------------------------------------


class Atoms:
    """Losses with masses under A, long double, and A's mass at infinity."""

    smooth = False
    still = LONG(0)  # whatever is at loss 0: beside densities, only theirs is taken out of a moment

    def __init__(self, losses, masses, infinite=0.0):
        keep = (masses > 0) & np.isfinite(losses)
        order = np.argsort(losses[keep], kind="stable")
        self.losses, self.masses = losses[keep][order], masses[keep][order]
        self.infinite = LONG(infinite)

    def log_moment(self, c):
        """Return log of E[e^(cY)] and its derivative."""
        return weighted(np.log(self.masses) + c * self.losses, self.losses)

    def spectrum(self, c, mean, fineness):
        log_weights = np.log(self.masses) + c * self.losses
        return _normalised(log_weights, self.losses - mean)


class DiscreteBase:
    def __init__(self, log_q, log_p, losses=None):
        self.log_q, self.log_p = log_q, log_p
        with np.errstate(invalid="ignore"):
            self.losses = log_q - log_p if losses is None else losses

    def sampled(self, p, direction):
        q, other = np.exp(self.log_q), np.exp(self.log_p)
        losses = loss_of(self.losses, p, direction)
        masses = q if direction == "add" else (1 - LONG(p)) * other + LONG(p) * q
        return Atoms(losses, masses, masses[np.isposinf(losses)].sum())

    def folded(self, p):
        """Return the law of a sample of fixed size; the pair is its own reverse."""
        q, other, p = np.exp(self.log_q), np.exp(self.log_p), LONG(p)
        above = (self.losses > 0) & np.isfinite(self.losses)
        losses = loss_of(self.losses[above], p, "remove")
        apart = (-q[above] * np.expm1(-self.losses[above])).sum() + q[
            np.isposinf(self.losses)
        ].sum()
        still = q[self.losses == 0].sum() + (1 - p) * apart
        masses = np.array([*other[above], still, *((1 - p) * other[above] + p * q[above])])
        infinite = p * q[np.isposinf(self.losses)].sum()
        return Atoms(np.array([*-losses, LONG(0), *losses]), masses, infinite)


# ---- Smooth losses ---------------------------------------------------------------------------


class GaussianNoise:
    """N(0, s^2) against N(1, s^2)."""

    top, end = LONG(np.inf), LONG(0)  # the greatest loss, and P's mass there

    def __init__(self, noise):
        self.noise = LONG(noise)
        self.scale = 1 / self.noise  # the width of the loss

    def log_below(self, x):
        """Return the log-density of P at the loss x."""
        mu = self.scale
        return -(((x + mu * mu / 2) / mu) ** 2) / 2 - np.log(mu * np.sqrt(2 * LONG(np.pi)))

    def sampled(self, p, direction):
        return GaussianLoss(1 / self.noise) if p == 1.0 else SampledGaussian(self, p, direction)

    def curve(self, epsilon):
        """Delta at epsilon >= 0, by Mills ratios, which do not cancel where both tails are tiny."""
        s = self.noise
        a, gap = np.asarray(epsilon * s - 0.5 / s, float), float(1 / s)
        root = math.sqrt(0.5)
        mills, beyond = erfcx(np.maximum(a, -1.0) * root), erfcx((a + gap) * root)
        density = 0.5 * np.exp(-0.5 * np.asarray(epsilon * s - 0.5 / s) ** 2)
        return np.where(a > -1.0, density * (mills - beyond), ndtr(-a) - density * beyond)


class LaplaceNoise:
    """Laplace noise against its shift; all in units of the noise's scale."""

    def __init__(self, scale, sensitivity):
        self.mu = self.scale = self.top = LONG(sensitivity) / LONG(scale)
        self.end = np.exp(-self.mu) / 2  # P's mass at the greatest loss

    def log_below(self, x):
        """Return the log-density of P at the loss x, but for the ends."""
        return -(self.mu + x) / 2 - np.log(LONG(4))

    def sampled(self, p, direction):
        return LaplaceLoss(self) if p == 1.0 else SampledLaplace(self, p, direction)

    def curve(self, epsilon):
        """Delta at epsilon >= 0."""
        return -np.expm1(np.minimum(epsilon - self.mu, 0) / 2)


class Range:
    """Bounded range, by its pair."""

    end = LONG(0)

    def __init__(self, epsilon):
        self.mu = self.scale = self.top = LONG(epsilon)

    def sampled(self, p, direction):
        if p != 1.0:
            raise NotImplementedError(direction)
        return BoundedRangeLoss(self.mu)

    def log_below(self, x):
        """Return the log-density of P at the loss x."""
        return -(self.mu + x) / 2 - np.log(-2 * np.expm1(-self.mu))

    def curve(self, epsilon):
        """Delta at epsilon >= 0."""
        return np.expm1((np.minimum(epsilon, self.mu) - self.mu) / 2) ** 2 / -np.expm1(-self.mu)


def reflected(epsilon, there):
    """Return delta of a symmetric pair from that at |epsilon|.

    delta(-e) = 1 - e^-e + e^-e delta(e).
    """
    below = np.minimum(epsilon, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(epsilon >= 0, there, -np.expm1(below) + np.exp(below) * there)


class Smooth:
    """What smooth losses have in common: the privacy curve of one step."""

    smooth = True
    infinite = still = LONG(0)  # still: the mass at loss 0

    def __init__(self, base, p, direction):
        self.base, self.p, self.direction = base, LONG(p), direction

    def _base_curve(self, epsilon):
        return reflected(epsilon, self.base.curve(np.abs(epsilon)))

    def curve(self, epsilon):
        """Delta of one step at every real epsilon, long double."""
        p = self.p
        with np.errstate(all="ignore"):
            if self.direction == "remove":
                # A - g B = p (Q - g' P), g' = (g - (1 - p)) / p
                inner = base_loss_of(epsilon, p)
                inside = p * self._base_curve(inner)
                return np.where(np.isnan(inner) | np.isneginf(inner), -np.expm1(epsilon), inside)
            # A - g B = r (Q - (g p / r) P), r = 1 - g (1 - p)
            r = -np.expm1(epsilon + np.log1p(-p))
            inside = r * self._base_curve(epsilon + np.log(p) - np.log(r))
            return np.where(r > 0, inside, 0)


class GaussianLoss(Smooth):
    """Of any number of Gaussian steps without sampling: N(m^2/2, m^2)."""

    kinks = ()

    def __init__(self, mu):
        super().__init__(GaussianNoise(1 / mu), 1.0, "remove")
        self.mu = mu

    def curve(self, epsilon):
        return self._base_curve(epsilon)

    def log_moment(self, c):
        return self.mu**2 / 2 * (c + c * c), self.mu**2 / 2 * (1 + 2 * c)

    def spectrum(self, c, mean, fineness):
        return _GaussianSpectrum(float(self.mu))

    def points(self):
        """Range of the variable of integration and its scale."""
        return -LONG(10), LONG(DEEP), LONG(1)

    def density(self, x):
        return np.exp(-(x**2) / 2) / np.sqrt(2 * LONG(np.pi))

    def loss(self, x):
        return self.mu * x + self.mu**2 / 2

    def inverse(self, loss):
        return (loss - self.mu**2 / 2) / self.mu


class LaplaceLoss(Smooth):
    """Of one Laplace step without sampling."""

    def __init__(self, base):
        super().__init__(base, 1.0, "remove")
        mu = self.mu = base.mu
        self.atoms = Atoms(np.array([-mu, mu]), np.array([np.exp(-mu) / 2, LONG(0.5)]))
        self.kinks = (-mu, mu)

    def curve(self, epsilon):
        return self._base_curve(epsilon)

    def log_moment(self, c):
        mu = self.mu
        small = c * np.exp(-(2 * c + 1) * mu)
        above = (c + 1) + small
        value = c * mu + np.log(above) - np.log(2 * c + 1)
        slope = np.exp(-(2 * c + 1) * mu) - 2 * mu * small
        return value, mu + (1 + slope) / above - 2 / (2 * c + 1)

    def spectrum(self, c, mean, fineness):
        return _LaplaceSpectrum(float(c), float(self.mu), float(self.mu - mean))

    def points(self):
        return -self.mu, self.mu, self.mu

    def density(self, x):
        return np.exp(-(self.mu - x) / 2) / 4

    def loss(self, x):
        return x

    inverse = loss


class BoundedRangeLoss(Smooth):
    """Of one mechanism of bounded range: the curve's own density, d2/dx2 - d/dx of it."""

    atoms = None

    def __init__(self, epsilon):
        self.base = Range(epsilon)
        self.mu = self.base.mu
        self.kinks = (-self.mu, self.mu)

    def curve(self, epsilon):
        return np.where(epsilon < -self.mu, -np.expm1(epsilon), self.base.curve(epsilon))

    def log_moment(self, c):
        mu, a = self.mu, c + LONG(0.5)
        rest = np.exp(-2 * a * mu)
        value = c * mu + np.log1p(-rest) - np.log(2 * a) - np.log(-np.expm1(-mu))
        return value, mu + 2 * mu * rest / (1 - rest) - 1 / a

    def spectrum(self, c, mean, fineness):
        return _BoundedRangeSpectrum(float(c), float(self.mu), float(self.mu - mean))

    def points(self):
        return -self.mu, self.mu, self.mu

    def density(self, x):
        return np.exp((x - self.mu) / 2) / (2 * -np.expm1(-self.mu))

    def loss(self, x):
        return x

    inverse = loss


class GaussianMixtureLoss(Smooth):
    """Of N(0, s^2) against a mixture of N(c_i, s^2). The variable of integration is the noise.

    'replace-one' has the mixture against its mirror image. With R the loss of 'remove', all losses
    and log(A / N(0, s^2)) are a R(x) + b R(-x).
    """

    curve = None
    LOSS: ClassVar = {"remove": (1, 0), "add": (-1, 0), "replace-one": (1, -1)}
    DENSITY: ClassVar = {"remove": (1, 0), "add": (0, 0), "replace-one": (1, 0)}

    def __init__(self, noise, centers, weights, direction):
        self.noise, self.centers, self.weights = noise, centers, weights
        self.direction, self.widest = direction, centers.max()

    def density(self, x):
        s = self.noise
        there = np.exp(-(x**2) / (2 * s * s)) / (s * np.sqrt(2 * LONG(np.pi)))
        return there * np.exp(self._combined(self.DENSITY[self.direction], x))

    def _removed(self, x):
        """Return the loss of 'remove' at noise x."""
        s = self.noise
        return log_mean(self.weights, [c * (x - c / 2) / (s * s) for c in self.centers])

    def _combined(self, factors, x):
        a, b = factors
        there = a * self._removed(x) if a else np.zeros_like(x)
        return there + b * self._removed(-x) if b else there

    def loss(self, x):
        return self._combined(self.LOSS[self.direction], x)

    def _factors(self, c):
        """Return a and b of log(A / N(0, s^2)) + c Y."""
        loss, density = self.LOSS[self.direction], self.DENSITY[self.direction]
        return tuple(c * a + b for a, b in zip(loss, density, strict=True))

    def _grid(self, c, spacing, below=75.0):
        """Points n * spacing where the tilted density is within e^-below of its maximum."""
        s = self.noise
        factors = self._factors(c)
        low, high = -FAR * s, self.widest * (1 + max(factors[0], LONG(0))) + FAR * s
        count = min(4000, int((high - low) / spacing) + 2)
        coarse = np.linspace(low, high, count)
        height = self._combined(factors, coarse) - coarse**2 / (2 * s * s)
        inside = height > height.max() - below
        if not inside.any():
            raise TooSlowError("tilt")
        inside[1:] |= inside[:-1]
        inside[:-1] |= inside[1:]
        width = (high - low) / (count - 1)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(int), [0]))))
        parts = []
        total = 0
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            a = np.ceil((low + first * width) / spacing)
            b = np.ceil((low + last * width) / spacing)
            total += int(b - a)
            if total > 60_000:
                raise TooSlowError("nodes")
            parts.append(np.arange(int(b - a)) + a)
        return np.concatenate(parts) * spacing

    def _strip(self):
        """Return how far from the real line all terms of the mixture still have positive parts."""
        return min(self.noise**2 / self.widest, self.noise / 2)

    def log_moment(self, c):
        spacing = self._strip() / 4
        x = self._grid(c, spacing)
        s = self.noise
        height = self._combined(self._factors(c), x) - x**2 / (2 * s * s)
        value, mean = weighted(height, self.loss(x))
        return value + np.log(spacing / (s * np.sqrt(2 * LONG(np.pi)))), mean

    def spectrum(self, c, mean, fineness):
        # On a line beside the real one e^(itL) decays where it would oscillate.
        s, shift = float(self.noise), float(self._strip())
        side = -1.0 if self.direction == "add" else 1.0
        x = self._grid(c, self._strip() / LONG(fineness), 45.0).astype(float)
        factors = tuple(float(a) for a in self._factors(c))

        def on(shift):
            shift = side * shift
            real, imag = self._complex_combined(factors, x, shift)
            height = real - (x * x - shift * shift) / (2 * s * s)
            phase = imag - x * shift / (s * s)
            real, imag = self._complex_combined(self.LOSS[self.direction], x, shift)
            return height, phase, real - float(mean), imag

        height, phase, real, imag = on(shift)
        top = height.max()
        weights = np.exp(height - top) * np.exp(1j * phase)
        total = weights.sum()
        bounds = []
        for part in (0.25, 0.5, 1.0, 1.5):  # up to arguments below pi / 2
            height, _, _, other = on(part * shift)
            bounds.append((np.exp(np.minimum(height - top, 700.0)) / abs(total), other))
        return NodeSpectrum(weights / total, real + 1j * imag, bounds)

    def _complex_combined(self, factors, x, shift):
        """Return real and imaginary part at x + i shift."""
        s, centers, weights = float(self.noise), self.centers.astype(float), self.weights
        angles = [c * shift / (s * s) for c in centers]
        real, imag = np.zeros_like(x), np.zeros_like(x)
        for factor, sign in zip(factors, (1, -1), strict=True):
            if factor:
                exponents = [c * (sign * x - c / 2) / (s * s) for c in centers]
                turned = [sign * angle for angle in angles]
                parts = complex_log_mean(weights.astype(float), exponents, turned)
                real += factor * parts[0]
                imag += factor * parts[1]
        return real, imag


class SampledGaussian(GaussianMixtureLoss):
    """Of one Gaussian step on a Poisson sample: the mixture of one and no step."""

    curve = Smooth.curve

    def __init__(self, base, p, direction):
        Smooth.__init__(self, base, p, direction)
        centers, weights = np.array([LONG(0), LONG(1)]), np.array([1 - self.p, self.p])
        GaussianMixtureLoss.__init__(self, base.noise, centers, weights, direction)

    @cached_property
    def kinks(self):
        edge = np.log1p(-self.p)
        return (edge,) if self.direction == "remove" else (-edge,)

    def points(self):
        # the side of small losses ends where the mass beyond adds nothing to larger losses' deltas
        s = self.base.noise
        low, high = (10, DEEP) if self.direction == "remove" else (DEEP, 10)
        return -low * s, 1 + high * s, min(s, 5 * s * s)

    def inverse(self, loss):
        """Return the noise with this loss; infinite beyond the end of the losses."""
        sign, s = 1 if self.direction == "remove" else -1, self.base.noise
        base = base_loss_of(sign * loss, self.p)
        return np.where(np.isnan(base), -LONG(np.inf), base) * s * s + LONG(0.5)


class SampledLaplace(Smooth):
    """Of one Laplace step on a Poisson sample. The variable of integration is the base's loss."""

    def __init__(self, base, p, direction):
        super().__init__(base, p, direction)
        mu = base.mu
        self.ends = np.array([-mu, mu])
        masses = np.array([LONG(0.5), np.exp(-mu) / 2])  # of P
        losses = self.loss(self.ends)
        masses = masses * np.exp(losses) if direction == "remove" else masses[::-1]
        self.atoms = Atoms(losses, masses)
        self.kinks = tuple(losses)

    def points(self):
        return -self.base.mu, self.base.mu, self.base.mu

    def loss(self, x):
        return loss_of(x, self.p, self.direction)

    def inverse(self, loss):
        sign = 1 if self.direction == "remove" else -1
        base = base_loss_of(sign * loss, self.p)
        return sign * np.where(np.isnan(base), -LONG(np.inf), base)

    def density(self, x):
        if self.direction == "remove":
            return np.exp(-(self.base.mu + x) / 2) / 4 * np.exp(self.loss(x))
        return np.exp(-(self.base.mu - x) / 2) / 4

    def _nodes(self, c, panels):
        x, w = np.polynomial.legendre.leggauss(20)
        edges = np.linspace(-self.base.mu, self.base.mu, panels + 1)
        half = (edges[1] - edges[0]) / 2
        points = ((edges[:-1] + half)[:, None] + half * x.astype(LONG)).ravel()
        log_weights = np.log(self.density(points)) + np.log(half * np.tile(w, panels).astype(LONG))
        return points, log_weights + c * self.loss(points)

    def log_moment(self, c):
        panels = 4 + int(self.base.mu * (c + 1) / 10)
        if panels > 3000:
            raise TooSlowError("nodes")
        points, log_weights = self._nodes(c, panels)
        ends = np.log(self.atoms.masses) + c * self.atoms.losses
        losses = np.concatenate([self.loss(points), self.atoms.losses])
        return weighted(np.concatenate([log_weights, ends]), losses)

    def spectrum(self, c, mean, fineness):
        def make(reach):  # the density's nodes resolve e^(itL) for t up to reach
            width = float(abs(self.loss(self.ends)[1] - self.loss(self.ends)[0]))
            turns = reach * width / (2 * math.pi)
            panels = 4 + int((float(self.base.mu) * (float(c) + 1) / 10 + turns / 2) * fineness / 7)
            if panels > 3000:
                raise TooSlowError("nodes")
            points, log_weights = self._nodes(c, panels)
            ends = np.log(self.atoms.masses) + c * self.atoms.losses
            losses = np.concatenate([self.loss(points), self.atoms.losses])
            return np.concatenate([log_weights, ends]), losses - mean

        _, log_weights = self._nodes(c, 50)
        ends = np.log(self.atoms.masses) + c * self.atoms.losses
        top = max(log_weights.max(), ends.max())
        total = np.exp(log_weights - top).sum() + np.exp(ends - top).sum()
        floor = float(np.exp(ends - top).sum() / total)
        # The density's part falls like 1/t: by parts, at most its total variation over t.
        x = np.linspace(-self.base.mu, self.base.mu, 2001)
        loss = self.loss(x)
        slope = np.abs(np.gradient(loss, x))
        with np.errstate(all="ignore"):
            height = np.exp(np.log(self.density(x)) + c * loss - top) / total / slope
            variation = float(np.abs(np.diff(height)).sum() + height[0] + height[-1]) * 1.05
        if not math.isfinite(variation):
            raise TooSlowError("losses that long double does not tell apart")
        return _LazyNodes(make, floor, variation)


# ---- Characteristic functions on the line Re z = c, divided by the moment there ---------------


class TooSlowError(Exception):
    """The oracle gives up: the value would take too long."""


class _GaussianSpectrum:
    cost = 0.0

    def __init__(self, mu):
        self.mu = mu

    def log_ratio(self, first, spacing, count):
        t = spacing * (first + np.arange(count))
        return -0.5 * (self.mu * t) ** 2

    def bound(self, t):
        return math.exp(-0.5 * min((self.mu * t) ** 2, 1400.0))


class _LaplaceSpectrum:
    cost = 1.0

    def __init__(self, c, mu, centred):
        self.c, self.mu, self.centred = c, mu, centred
        self.scale = ((c + 1) + c * math.exp(-(2 * c + 1) * mu)) / (2 * c + 1)

    def log_ratio(self, first, spacing, count):
        t = spacing * (first + np.arange(count))
        z = self.c + 1j * t
        value = ((z + 1) + z * np.exp(-(2 * z + 1) * self.mu)) / (2 * z + 1) / self.scale
        return np.log(value) + 1j * t * self.centred

    def bound(self, t):
        c = self.c
        z = math.hypot(c, t), math.hypot(c + 1, t), math.hypot(2 * c + 1, 2 * t)
        # both quotients fall in t
        return (z[1] + z[0] * math.exp(-(2 * c + 1) * self.mu)) / z[2] / self.scale


class _BoundedRangeSpectrum:
    cost = 1.0

    def __init__(self, c, mu, centred):
        self.c, self.mu, self.centred = c, mu, centred
        self.scale = -math.expm1(-(2 * c + 1) * mu) / (c + 0.5)

    def log_ratio(self, first, spacing, count):
        t = spacing * (first + np.arange(count))
        a = self.c + 0.5 + 1j * t
        return np.log(-np.expm1(-2 * a * self.mu) / a / self.scale) + 1j * t * self.centred

    def bound(self, t):
        rest = math.exp(-(2 * self.c + 1) * self.mu)
        return (1 + rest) / math.hypot(self.c + 0.5, t) / self.scale


class NodeSpectrum:
    """Sum of w_n e^(i t l_n), Im l_n >= 0, on uniform t: products of two tables of powers."""

    WIDTH = 64

    def __init__(self, weights, positions, bounds=()):
        self.weights, self.positions, self.bounds = weights, positions, bounds
        self.cost = float(len(weights))
        self._powers = None

    def log_ratio(self, first, spacing, count):
        ratio = self.ratio(first, spacing, count)
        return np.log(np.where(ratio == 0, 1e-300, ratio))

    def ratio(self, first, spacing, count):
        if self._powers is None or self._powers[0] != spacing:
            turn = 1j * np.outer(spacing * np.arange(self.WIDTH), self.positions)
            self._powers = spacing, np.exp(turn).T.copy()
        starts = spacing * (first + self.WIDTH * np.arange(-(-count // self.WIDTH)))
        table = np.exp(1j * np.outer(starts, self.positions)) * self.weights
        return (table @ self._powers[1]).ravel()[:count]

    def bound(self, t):
        """Bound the modulus at t and beyond; every one of these sums falls in t."""
        return min([1.0, *(decayed(t, w, im) for w, im in self.bounds)])


def decayed(t, weights, heights):
    """Return the sum of weights e^(-t heights)."""
    return float((weights * np.exp(-np.minimum(t * heights, 700.0))).sum())


class _LazyNodes:
    """Nodes on the real line, made anew when t goes beyond what they resolve."""

    def __init__(self, make, floor, variation):
        self.make, self.floor, self.variation = make, floor, variation
        self.reach, self.inner = 0.0, None
        self.cost = 1000.0

    def log_ratio(self, first, spacing, count):
        t = spacing * (first + count)
        if t > self.reach:
            self.reach = 2.0 * t
            log_weights, positions = self.make(self.reach)
            self.inner = _normalised(log_weights, positions)
        return self.inner.log_ratio(first, spacing, count)

    def bound(self, t):
        return min(1.0, self.floor + self.variation / t if t > 0 else 1.0)


def _normalised(log_weights, positions):
    weights = np.exp(log_weights - log_weights.max())
    weights = np.asarray(weights / weights.sum(), float)
    return NodeSpectrum(weights.astype(complex), np.asarray(positions, float))


def weighted(log_weights, losses):
    """Return the logarithm of the weights' sum, and the mean of the losses."""
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    total = weights.sum()
    return top + np.log(total), (weights * losses).sum() / total
