"""Samples of fixed size: the loss of one step, of a mechanism with a symmetric, smooth pair (P, Q).

Above 0 it is y(x) = log(1 - p + p e^x) with x the loss of (P, Q), under A = (1-p) P + p Q, against
B = P; below 0 the mirror image of that, A and B exchanged; what is left has the loss 0. With f the
density of P at x, the moment generating function is

    M(z) = integral over x > 0 of f(x) (e^((z + 1) y(x)) + e^(-z y(x))) dx + the mass at 0,

whose two parts fall like 1/z, as their densities do not vanish at 0. The integrands are analytic:
the path goes up from 0 into the complex plane, along a line beside the real one and, where the
losses end, down again. There e^(ity) decays, so that few nodes serve all t.
"""

import numpy as np

from .laws import (
    DEEP,
    FAR,
    LONG,
    Atoms,
    NodeSpectrum,
    Smooth,
    TooSlowError,
    base_loss_of,
    complex_log_mean,
    decayed,
    loss_of,
    reflected,
    weighted,
)

MOST_PANELS = 400
PHASE = 8.0  # of a tilted density in one panel


class FoldedLoss(Smooth):
    """Of one step. The variable of integration is the base's loss, with the sign of the loss."""

    def __init__(self, base, probability):
        super().__init__(base, probability, "replace-one")
        self.still = (1 - self.p) * base.curve(LONG(0))
        losses, masses, self.kinks = [LONG(0)], [self.still], (LONG(0),)
        if np.isfinite(base.top):
            top = loss_of(base.top, self.p, "remove")
            losses, masses = [-top, *losses, top], [base.end, *masses, base.end * np.exp(top)]
            self.kinks = tuple(losses)
        self.atoms = Atoms(np.array(losses), np.array(masses))
        self.breaks = np.array([LONG(0)])

    def curve(self, epsilon):
        """Delta of one step at every real epsilon: A - g B = p (Q - g' P), g' = 1 + (g - 1) / p."""
        there = self.p * self.base.curve(base_loss_of(np.abs(epsilon), self.p))
        return reflected(epsilon, there)

    def moved_curve(self, epsilon):
        """Return delta without the mass at 0."""
        return self.curve(epsilon) + self.still * np.expm1(min(LONG(epsilon), LONG(0)))

    def points(self):
        scale, top = self.base.scale, self.base.top
        low = min(10 * scale, top)
        return -low, min(scale * scale / 2 + DEEP * scale, top), min(scale, LONG(5))

    def loss(self, x):
        return np.sign(x) * loss_of(np.abs(x), self.p, "remove")

    def inverse(self, loss):
        return np.sign(loss) * base_loss_of(np.abs(loss), self.p)

    def density(self, x):
        return np.exp(self.base.log_below(np.abs(x)) + np.where(x > 0, self.loss(x), 0))

    # ---- Of the tilted law: sign 1 has e^((c+1) y), sign -1 has e^(-c y) ------------------------

    def _height(self, x, loss, c, sign):
        return self.base.log_below(x) + ((c + 1) * loss if sign > 0 else -c * loss)

    def _range(self, c, sign):
        """Return an interval outside of which the tilted density is below e^-75 of its maximum."""
        mu, top = self.base.scale, self.base.top
        if np.isfinite(top):
            fine = top * LONG(2.0) ** -np.arange(100)
            x = np.sort(np.concatenate([[LONG(0)], fine, top - fine[1:]]))
        else:
            center = np.log(max(1 / self.p - 1, LONG(1)))  # where losses begin to grow like x
            far = (c + 1) * mu * mu
            near = [peak + mu * np.linspace(LONG(-10), LONG(10), 41) for peak in (center, far)]
            near.append(center + np.linspace(LONG(-10), LONG(10), 41))
            spread = (far + FAR * mu) * LONG(2.0) ** -np.linspace(LONG(0), LONG(100), 200)
            x = np.concatenate([[LONG(0)], spread, mu * np.linspace(LONG(0), FAR, 120), *near])
            x = np.unique(np.maximum(x, 0))
        height = self._height(x, loss_of(x, self.p, "remove"), c, sign)
        inside = np.flatnonzero(height >= height.max() - 75)
        low, high = x[max(inside[0] - 1, 0)], x[min(inside[-1] + 1, len(x) - 1)]
        if not low < high:
            raise TooSlowError("tilt")
        return low, high

    def log_moment(self, c):
        nodes, weights = (a.astype(LONG) for a in np.polynomial.legendre.leggauss(20))
        heights = [np.log(self.atoms.masses) + c * self.atoms.losses]
        losses = [self.atoms.losses]
        for sign in (1, -1):
            low, high = self._range(c, sign)
            panels = max(8, int((high - low) / min(self.base.scale, LONG(2))) + 1)
            if panels > MOST_PANELS:
                raise TooSlowError("nodes")
            fine = (high - low) * LONG(2.0) ** -np.arange(4, 12)
            edges = [np.linspace(low, high, panels + 1), low + fine, high - fine]
            edges = np.unique(np.concatenate(edges))
            half = np.diff(edges)[:, None] / 2
            x = (edges[:-1, None] + half * (1 + nodes)).ravel()
            loss = loss_of(x, self.p, "remove")
            heights.append(self._height(x, loss, c, sign) + np.log((half * weights).ravel()))
            losses.append(sign * loss)
        return weighted(np.concatenate(heights), np.concatenate(losses))

    def spectrum(self, c, mean, fineness):
        moment = self.log_moment(c)[0]
        parts = [self._path(c, moment, sign, fineness) for sign in (1, -1)]
        ends = self.atoms.losses != 0
        masses = self.atoms.masses[ends] * np.exp(c * self.atoms.losses[ends] - moment)
        weights = np.concatenate([*(w for w, _ in parts), masses.astype(complex)])
        losses = np.concatenate([*(y for _, y in parts), self.atoms.losses[ends].astype(complex)])
        still = float(self.still * np.exp(-moment))
        missing = abs(weights.sum() - (1 - still))
        if not missing < 1e-11:
            raise TooSlowError(f"a path that misses {missing:.1e}")
        return _FoldedSpectrum(weights, losses, still, float(mean), missing)

    def _path(self, c, moment, sign, fineness):
        """Return nodes' weights over M(c), and complex losses."""
        low, high = (float(x) for x in self._range(c, sign))
        top, mu, p = float(self.base.top), float(self.base.scale), float(self.p)
        order = float(c + 1 if sign > 0 else -c)

        def height(x, up):
            """Return real and imaginary part of the logarithm of the integrand, and of y."""
            ones, other = np.zeros_like(x), np.zeros_like(up)
            real, imag = complex_log_mean((1 - p, p), (ones, x), (other, up))
            if np.isfinite(top):
                density = float(self.base.log_below(LONG(0))) - x / 2, -up / 2
            else:
                gap = (x + mu * mu / 2) / mu
                level = float(self.base.log_below(LONG(0))) + mu * mu / 8
                density = level - (gap * gap - (up / mu) ** 2) / 2, -gap * up / mu
            return density[0] + order * real, density[1] + order * imag, real, imag

        x = np.linspace(low, high, 200)
        straight = height(x, np.zeros_like(x))[0]
        x, straight = x[straight > straight.max() - 20], straight[straight > straight.max() - 20]
        up = min(2.5 * mu if np.isinf(top) else 1.4, 1.4, high - low)
        while np.ptp([*(height(x, np.full_like(x, up))[0] - straight), 0.0]) > 6.0:
            up /= 1.3
        panels = int(fineness / 7 * (high - low) / min(up, (high - low) / 8)) + 1
        if panels > MOST_PANELS:
            raise TooSlowError("nodes")
        turns = abs(order) * p * up * (1 if np.isinf(top) else 1 / p)
        rise = np.union1d(up * 3.0 ** -np.arange(0, 22), np.linspace(0, up, int(turns / PHASE) + 2))
        if len(rise) > 2 * MOST_PANELS:
            raise TooSlowError("nodes")
        across = np.linspace(low, high, panels + 1)
        pieces = [_panels(across, 20, lambda x: (x, np.full_like(x, up), 1.0))]
        if low == 0:
            pieces.append(_panels(rise, 14, lambda s: (np.zeros_like(s), s, 1j)))
        if high == top:
            pieces.append(_panels(rise, 14, lambda s: (np.full_like(s, top), s, -1j)))
        x, up, steps = (np.concatenate(part) for part in zip(*pieces, strict=True))
        log_real, log_imag, real, imag = height(x, up)
        weights = steps * np.exp(log_real - float(moment)) * np.exp(1j * log_imag)
        losses = real + 1j * imag
        return (weights, losses) if sign > 0 else (weights.conj(), -losses.conj())


def _panels(edges, order, place):
    """Return real parts, imaginary parts and complex weights of Gauss's nodes between edges."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    real, imag, turn = place((edges[:-1, None] + half * (1 + nodes)).ravel())
    return real, imag, turn * (half * weights).ravel()


class _FoldedSpectrum:
    """The mass at 0, and what moves: complex nodes, of losses that are not 0."""

    def __init__(self, weights, losses, still, mean, error):
        self.still, self.mean, self.error = still, mean, error
        self.moving = NodeSpectrum(weights, losses - mean)
        self._sizes = np.abs(weights), losses.imag
        self.cost = float(len(weights))
        self._last = None

    def rough(self, first, spacing, count):
        if self._last is None or self._last[0] != (first, spacing, count):
            asked = (first, spacing, count)
            self._last = asked, self.moving.ratio(*asked)
        return self._last[1]

    def log_ratio(self, first, spacing, count):
        t = spacing * (first + np.arange(count))
        ratio = self.rough(first, spacing, count) + self.still * np.exp(-1j * t * self.mean)
        return np.log(np.where(ratio == 0, 1e-300, ratio))

    def rough_bound(self, t):
        """Bound the modulus of what moves, at t and beyond."""
        return decayed(t, *self._sizes)

    def calm_bound(self, t):
        return 0.0

    def bound(self, t):
        return min(1.0, self.still + self.rough_bound(t))
