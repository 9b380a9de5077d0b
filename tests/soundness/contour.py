"""Delta by an integral of the moment generating function over a line in the complex plane.

    delta(eps) = 1/(2 pi i) * integral over Re z = c of M(z) e^(-z eps) / (z (z + 1)) dz,    c > 0,

M(z) = E[e^(zY); Y finite], Y the composed loss, since 1/(z (z + 1)) is the transform of the payoff
(1 - e^-s)_+. The trapezoid rule of spacing h has exactly the error sum over l != 0 of
e^(c l W) delta(eps + l W), W = 2 pi / h; where the line is cut, what is left out is bounded. The
value is computed on two lines with two spacings.

Where every step has some mass at loss 0, and what moves has a density that jumps there, M falls too
slowly. Then what no step or one step has moved is taken out of M, and added as it is: with w the
masses at 0, n the counts and r the rough moving parts, prod w_j^n_j (1 + sum n_j r_j / w_j).

Where all losses lie on one lattice x + g Z, M repeats itself along the line, up to a phase, and one
period is enough, with the sum over i >= 0 of e^(-z g i) (1 - e^(eps - x - g i)) for 1/(z (z + 1)),
x the first point of the lattice above eps.
"""

import math

import numpy as np

from .laws import LONG, TooSlowError

TINY = 38.0  # e^-38 is what may be left out, relatively
TINY_ROUGH = 27.0  # the same where M falls like a power
MOST_COST = 6e8  # complex products
MOST_POINTS = 3e6
BLOCK = 4096
RATIOS = (0.03, 0.06, *(i / 10 for i in range(1, 11)), 1.05, 1.2, 1.5, 2.0, 3.0, 6.0)


class Contour:
    """The finite part of delta for steps (law, count), near one epsilon."""

    def __init__(self, steps):
        self.steps = steps
        self.counts = [LONG(count) for _, count in steps]
        self.lattice = None if any(law.smooth for law, _ in steps) else common_lattice(steps)
        if self.lattice is None and not any(law.smooth for law, _ in steps):
            raise TooSlowError("the characteristic function does not fall")
        self.rough = all(law.still > 0 for law, _ in steps)
        self._start, self._step = 0.0, 2.0  # of the search for the saddle, in log c

    def log_moment(self, c):
        parts = [law.log_moment(LONG(c)) for law, _ in self.steps]
        value = sum(n * v for n, (v, _) in zip(self.counts, parts, strict=True))
        return value, [m for _, m in parts]

    def _known(self, epsilon):
        """Return the logarithms of the mass where nothing moves, and of what is taken out of M."""
        if not self.rough:
            return -LONG(np.inf), -LONG(np.inf)
        still = [law.still for law, _ in self.steps]
        nothing = sum(n * np.log(w) for n, w in zip(self.counts, still, strict=True))
        value = -np.expm1(min(LONG(epsilon), LONG(0)))
        for (law, _), n, w in zip(self.steps, self.counts, still, strict=True):
            value += n * law.moved_curve(LONG(epsilon)) / w
        with np.errstate(divide="ignore"):
            return nothing, nothing + np.log(value)

    def _height(self, c, epsilon):
        return float(self.log_moment(c)[0] - c * LONG(epsilon)) - math.log(c) - math.log1p(c)

    def saddle(self, epsilon):
        """Return c > 0 where the integrand on the real line is least."""
        values = {}

        def height(x):
            if x not in values:
                try:
                    values[x] = self._height(math.exp(x), epsilon)
                except TooSlowError:
                    values[x] = math.inf
            return values[x]

        at, step = self._start, self._step
        for direction in (step, -step):
            while height(at + direction) < height(at):
                at += direction
                if abs(at) > 60:
                    raise TooSlowError("no saddle")
        low, high = at - step, at + step
        golden = (math.sqrt(5) - 1) / 2
        while high - low > 0.01:
            a, b = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, b) if height(a) < height(b) else (a, high)
        # not the middle: M may explode just above, where rare large losses begin to weigh
        self._start, self._step = min(values, key=height), 0.1
        return math.exp(self._start)

    def value(self, epsilon):
        """Return the logarithm of delta's finite part, and a bound of the relative error."""
        saddle = self.saddle(epsilon)
        means = self.log_moment(saddle)[1]
        beside = self.log_moment(saddle * 0.99)[1]
        steps = zip(self.counts, beside, means, strict=True)
        variance = max(float(sum(n * (b - a) for n, a, b in steps)) / (0.01 * saddle), 0.0)
        curvature = variance + 1 / saddle**2 + 1 / (1 + saddle) ** 2
        heights = self._heights(saddle, epsilon)
        log_delta = self._height(saddle, epsilon) - 0.5 * math.log(2 * math.pi * curvature) - 1
        for _ in range(2):
            lines = self._lines(heights, saddle, log_delta)
            one, two = (
                self._integral(c, 1.1 * period, epsilon, fineness, curvature)
                for (c, period), fineness in zip(lines, (7.0, 8.6), strict=True)
            )
            apart = abs(float(two[0] - one[0]))
            error = (4 * math.expm1(apart) if apart < 1 else math.inf) + one[1] + two[1]
            lowest = float(min(one[0], two[0]))
            if error < 1e-9 and lowest > log_delta - 2:
                break
            log_delta = min(lowest, log_delta) - 2
        return one[0], error

    def _heights(self, saddle, epsilon):
        """Return the logarithm of Chernoff's bound of delta for some c, by c / saddle.

        It is M(c) e^(-c eps) max_s e^(-c s) (1 - e^-s).
        """
        heights = {}
        for part in RATIOS:
            c = part * saddle
            try:
                height = self._height(c, epsilon)
            except TooSlowError:
                break
            heights[part] = height + (1 + c) * math.log(c / (1 + c)) + math.log1p(c)
        return heights

    def _lines(self, heights, saddle, log_delta):
        """Choose two c and a period W for each at which the neighbouring images are negligible.

        e^(-cW) delta(eps - W) is at most e^(-cW), and e^(height(b) - (c - b) W) for b < c;
        e^(cW) delta(eps + W) is at most e^(height(b) - (b - c) W) for b > c. At the saddle rare
        large losses can weigh much, and W is huge; c may be smaller as long as what is integrated
        is not far larger than delta.
        """
        wanted = log_delta - TINY
        counts = float(sum(self.counts))
        loss = max(1.0, min(9.0, math.log(1e-10 / (4e-16 * counts + 1e-15)))) + 3
        found = []
        for c, height in heights.items():
            if c > 1 or (c < 1 and height > log_delta + loss):
                continue
            left, right = [-wanted / c], []
            for b, other in heights.items():
                if b != c:
                    (left if b < c else right).append((other - wanted) / abs(c - b))
            left, right = min(left), min(right, default=math.inf)
            found.append((max(left, right, 0.0) / saddle, c * saddle))
        found.sort()
        (period, c), (second, d) = found[0], found[min(1, len(found) - 1)]
        if not 0 < period < math.inf:
            raise TooSlowError("no period")
        if second > 2 * period:  # no other line is as good
            d, second = 0.97 * c, 1.1 * period
        return (c, period), (d, 1.15 * second)

    def _integral(self, c, period, epsilon, fineness, curvature):
        moment, means = self.log_moment(c)
        spectra = [
            law.spectrum(LONG(c), mean, fineness)
            for (law, _), mean in zip(self.steps, means, strict=True)
        ]
        if self.lattice is not None:  # an odd number of points, and no end
            step = float(self.lattice[1])
            period = step * (2 * math.ceil(period / step / 2) + 1)
        spacing = 2 * math.pi / period
        counts = [float(n) for n in self.counts]

        nothing, known = self._known(epsilon)
        share = float(np.exp(nothing - moment))  # of nothing moving, in the tilted law
        if share == 0.0:
            known = -LONG(np.inf)  # nothing is taken out

        def log_bound(t):
            if share > 0:
                log = _log_moved(share, counts, spectra, t)
            else:
                logs = [math.log(max(s.bound(t), 1e-300)) for s in spectra]
                log = sum(n * log for n, log in zip(counts, logs, strict=True))
            return log - math.log(t)  # integral of |1/z^2| beyond t

        width = 1 / math.sqrt(curvature)
        points = self._points(log_bound, width, c, spacing)
        if points * sum(s.cost + 200 for s in spectra) > MOST_COST:
            raise TooSlowError("points")
        reach = spacing * points
        mean = sum(n * m for n, m in zip(self.counts, means, strict=True))
        shift = mean - LONG(epsilon)
        total, absolute = LONG(0), 0.0
        for first in range(0, points, BLOCK):
            count = min(BLOCK, points - first)
            t = spacing * (first + np.arange(count))
            exponent = np.asarray(1j * t * float(shift))
            for n, s in zip(counts, spectra, strict=True):
                exponent += n * s.log_ratio(first, spacing, count)
            z = c + 1j * t
            values = np.exp(exponent)
            sizes = np.abs(values)
            if share > 0:
                moved = np.ones_like(z)
                for n, m, s in zip(counts, means, spectra, strict=True):
                    turn = np.exp(1j * t * float(m))
                    moved += n / s.still * turn * s.rough(first, spacing, count)
                taken = share * np.exp(-1j * t * epsilon) * moved
                values, sizes = values - taken, sizes + np.abs(taken)
            kernel = self._kernel(z, epsilon)
            terms = values * kernel
            if first == 0:
                terms[0] *= 0.5
            total += terms.real.sum()
            absolute += float((np.abs(kernel) * sizes).sum())
        factor = moment - c * LONG(epsilon) + np.log(LONG(spacing) / LONG(np.pi))
        total += np.exp(known - factor)
        whole = float(total)
        if not whole > 0:
            return LONG(0), math.inf
        left_out = 0.0
        if self.lattice is None:
            left_out = math.exp(min(log_bound(reach), 700.0)) / (spacing * whole)
        missed = sum(n * getattr(s, "error", 0.0) for n, s in zip(counts, spectra, strict=True))
        rounding = (4e-16 * sum(counts) + 2 * missed + 1e-14) * absolute / whole
        phase = 2e-16 * abs(float(shift)) * reach
        if share > 0:
            phase += 2e-16 * float(max(np.abs(means))) * reach
            phase *= absolute / whole
        return factor + np.log(total), left_out + rounding + phase + 1e-12

    def _points(self, log_bound, width, c, spacing):
        """Return how many t >= 0 are summed."""
        if self.lattice is not None:
            return round(math.pi / float(self.lattice[1]) / spacing - 0.5) + 1
        wanted = math.log(width / (c * (c + 1))) - (TINY_ROUGH if self.rough else TINY) + 6
        reach, most = width, spacing * MOST_POINTS
        while log_bound(reach) > wanted:
            reach *= 1.3
            if reach > most:
                raise TooSlowError("the characteristic function falls too slowly")
        return int(reach / spacing) + 2

    def _kernel(self, z, epsilon):
        if self.lattice is None:
            return 1 / (z * (z + 1))
        offset, step = self.lattice
        v = float((np.floor((LONG(epsilon) - offset) / step) + 1) * step + offset - LONG(epsilon))
        g = float(step)
        # g e^(-z v) (1/(1 - e^(-z g)) - e^(-v)/(1 - e^(-(z + 1) g)))
        return g * np.exp(-z * v) * (-1 / np.expm1(-z * g) + math.exp(-v) / np.expm1(-(z + 1) * g))


def _log_moved(share, counts, spectra, t):
    """Bound the logarithm of what is left of |M| at t and beyond, over M(c).

    All coefficients of prod (1 + r_j)^n_j are positive.
    """
    logs, calm, rough = 0.0, 0.0, 0.0
    for n, s in zip(counts, spectra, strict=True):
        moving = s.rough_bound(t) / s.still
        still = s.calm_bound(t) / s.still
        logs += n * math.log1p(moving + still)
        rough += n * moving
        calm += n * still
    if logs > 700:
        return math.log(share) + logs
    # e^(a + b) - 1 - a <= b + (a + b)^2 for a + b < 1, and the logarithms are below the sums
    both = rough + calm
    left = calm + both * both if both < 1e-2 else math.expm1(logs) - rough
    return math.log(share) + math.log(max(left, 1e-300))


def common_lattice(steps):
    """Return a point and the step of the lattice that has all sums, if long double knows one."""
    gaps = np.concatenate([np.diff(law.losses) for law, _ in steps])
    offset = sum((LONG(n) * law.losses[0] for law, n in steps), LONG(0))
    if len(gaps) == 0:
        return None
    step = gaps.min()
    if not step > 0:
        return None
    ratios = gaps / step
    size = max(float(np.abs(law.losses).max()) for law, _ in steps)
    if (np.abs(ratios - np.rint(ratios)) > 1e-16 * size / step).any():
        return None
    law = steps[0][0]
    span = law.losses[-1] - law.losses[0]
    return offset, span / np.rint(span / step) if span > 0 else step
