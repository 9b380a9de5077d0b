"""Delta by an integral of the moment generating function over a line in the complex plane.

    delta(eps) = 1/(2 pi i) * integral over Re z = c of M(z) e^(-z eps) / (z (z + 1)) dz,    c > 0,

M(z) = E[e^(zY); Y finite], Y the composed loss, since 1/(z (z + 1)) is the transform of the payoff
(1 - e^-s)_+. All that is left out is bounded:

Spacing. The trapezoid rule of spacing h is exactly the sum over all integers l of
e^(c l W) delta(eps + l W), W = 2 pi / h (Poisson's summation formula): all terms are positive, so
that it is an upper bound of delta. Those of l < 0 are at most e^(-c |l| W). By Chernoff's bound,
delta(y) <= M(b) e^(-b y) b^b / (1 + b)^(1 + b) for every b > 0, those of l > 0 are bounded by
b > c, and those of l < 0 by b < c, too.

Cut. |M(c + it)| is bounded for all t beyond the last one by `decay` of each law.

Moments of mixtures. M(z) is the integral over x of N(x; 0, s^2) A(x)^alpha A(-x)^beta with A the
mixture's density over that of N(0, s^2); alpha is z + 1 for 'remove' and 'replace-one', -z for
'add', and beta is -z for 'replace-one'. On the line x + i sigma, |A^(it)| is e^(-t arg A), and
0 <= arg A <= sigma max(c_i) / s^2 =: theta. The trapezoid rule of spacing eta on that line has at
most the error (N(0) + N(2 sigma)) / (e^(2 pi sigma / eta) - 1), N(y) the integral of the modulus of
the integrand on the line x + iy (Trefethen, Weideman, "The exponentially convergent trapezoidal
rule", SIAM Review 56, 2014, Theorem 5.1). For t >= 0 and lines within 0 <= y <= 2 sigma, N(y) is at
most e^(y^2 / 2 s^2) cos(theta / 2)^(-c) M(c), since |A(x + iy)| <= A(x), and >= cos(theta / 2) A(x)
as all its terms point into one sector of the angle theta. ('add' takes y < 0, its mirror image.)
"""

import math
from itertools import combinations, combinations_with_replacement

import numpy as np
from flint import acb, acb_mat, arb

from .balls import ONE, ZERO, TooSlowError, exact, normal_tail, total
from .laws import Atoms, MixtureLaw

TOLERANCE = 30.0  # e^-30 of delta is what may be left out
DEPTH = 78.0  # e^-78 of M(c) is what the nodes of a mixture may leave out
MOST_POINTS = 15_000
MOST_WORK = 5e6  # nodes times points
MOST_NODES = 9_000
MOST_NODES_ALONE = 25_000  # of a moment on the real line
GIANT = 32
PARTS = [2.0 ** (-0.7 * i) for i in range(18)]
RATIOS = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04)
PI = arb.pi()


class Contour:
    """The finite part of delta for steps (law, count)."""

    def __init__(self, steps):
        for law, _ in steps:
            if not hasattr(law, "moment") and not isinstance(law, MixtureLaw):
                raise TooSlowError("a moment that is not known")
            if isinstance(law, Atoms) and law.missing > 0:
                raise TooSlowError("losses that are not written down")
        if all(isinstance(law, Atoms) for law, _ in steps):
            raise TooSlowError("the characteristic function does not fall")
        self.steps = [(_Nodes(law) if isinstance(law, MixtureLaw) else law, n) for law, n in steps]
        self._lines = []
        self._start = 0.0
        self._moments = {}

    # ---- Where to integrate: nothing here is part of the proof --------------------------------

    def _log_moment(self, c):
        if c not in self._moments:
            value = 0.0
            for law, count in self.steps:
                if isinstance(law, _Nodes):
                    value += count * law.log_moment(c)
                else:
                    value += count * float(law.moment(exact(c)).real.mid().log())
            self._moments[c] = value
        return self._moments[c]

    def _height(self, c, epsilon):
        return self._log_moment(c) - c * epsilon - math.log(c) - math.log1p(c)

    def _saddle(self, epsilon):
        at, step = self._start, 1.0
        height = lambda x: self._height(math.exp(x), epsilon)  # noqa: E731
        while step > 0.02:
            here = height(at)
            if height(at + step) < here:
                at += step
            elif height(at - step) < here:
                at -= step
            else:
                step /= 2
            if abs(at) > 25:
                raise TooSlowError("no saddle")
        self._start = at
        return math.exp(at)

    def _line(self, epsilon):
        """Choose c and the period W."""
        saddle = self._saddle(epsilon)
        a, b = 0.98 * saddle, 1.02 * saddle
        heights = [self._log_moment(c) for c in (a, saddle, b)]
        curvature = (heights[0] - 2 * heights[1] + heights[2]) / (0.02 * saddle) ** 2
        curvature = max(curvature, 0.0) + 1 / saddle**2 + 1 / (1 + saddle) ** 2
        log_delta = self._height(saddle, epsilon) - 0.5 * math.log(2 * math.pi * curvature) - 2
        chernoff = lambda c: (  # noqa: E731
            self._log_moment(c) - c * epsilon + c * math.log(c / (1 + c)) - math.log1p(c)
        )
        wanted, best = log_delta - TOLERANCE, None
        for ratio in RATIOS:
            c = ratio * saddle
            if self._height(c, epsilon) > log_delta + 18:
                break
            left = min(-wanted / c, (chernoff(0.6 * c) - wanted) / (0.4 * c))
            right, above = min(
                ((chernoff(r * c) - wanted) / (r * c - c), r * c) for r in (1.2, 1.5, 2.0, 3.0, 5.0)
            )
            found = max(left, right, 1e-9 / c), c, above
            best = found if best is None or found < best else best
        if best is None:
            raise TooSlowError("no line")
        return best[1], best[0] * 1.02, best[2], log_delta

    # ---- The value -----------------------------------------------------------------------------

    def value(self, epsilon):
        """Return a ball that has delta but for the mass at infinity."""
        x = exact(epsilon)
        for line in self._lines[-3:]:
            found = line.value(x)
            if _close(found):
                return found
        c, period, above, log_delta = self._line(float(epsilon))
        line = _Line(self.steps, c, period, above, log_delta + c * float(epsilon))
        self._lines.append(line)
        return line.value(x)


def _close(ball):
    return ball > 0 and ball.rad() < ball.mid() * 1e-9


class _Line:
    """The values of M on one line, for all epsilons near that for which it was chosen."""

    def __init__(self, steps, c, period, above, log_size):
        self.c, self.period, self.above = exact(c), exact(period), exact(above)
        self.below = exact(0.6 * c)
        self.spacing = 2 * PI / self.period
        spacing = 2 * math.pi / period
        for law, _ in steps:
            if isinstance(law, _Nodes):
                law.prepare(c)
        points = _points(steps, c, spacing, log_size)
        nodes = sum(law.size for law, _ in steps if isinstance(law, _Nodes))
        if points * max(nodes, 1) > MOST_WORK:
            raise TooSlowError("points")
        values = [acb(1)] * points
        decay = ONE
        self.moments = [ONE, ONE]  # at `above` and `below`
        last = self.spacing * points
        for law, count in steps:
            if isinstance(law, _Nodes):
                column = law.values(self.spacing, points)
                fall = law.decay_to(last)
            else:
                column = [law.moment(acb(self.c, self.spacing * n)) for n in range(points)]
                top = law.moment(self.c)
                fall = top if isinstance(law, Atoms) else top * law.decay(self.c, last)
            values = [v * m**count for v, m in zip(values, column, strict=True)]
            decay = decay * fall**count
            for i, b in enumerate((self.above, self.below)):
                here = law.moment_above(b) if isinstance(law, _Nodes) else law.moment(b)
                self.moments[i] = self.moments[i] * here**count
        self.values, self.points = values, points
        # |sum of what is cut| <= h / pi * decay * sum over n >= points of 1 / (n h)^2
        self.cut = decay / PI / (self.spacing * (points - 1))
        z = [acb(self.c, self.spacing * n) for n in range(points)]
        self.weights = [v / (w * (w + 1)) for v, w in zip(values, z, strict=True)]

    def value(self, x):
        c = self.c
        turn = acb(0, -self.spacing * x).exp()
        whole, power = self.weights[0].real / 2, acb(1)
        for weight in self.weights[1:]:
            power = power * turn
            whole += (weight * power).real
        scale = (-c * x).exp()
        whole = whole * scale * self.spacing / PI
        cut = (self.cut * scale).abs_upper()
        images = self._images(x)
        low = whole - cut - images
        return low.union(whole + cut).max(ZERO).min(ONE)

    def _images(self, x):
        c, period = self.c, self.period

        def chernoff(b, moment):
            return moment * (-b * x).exp() * (b / (1 + b)) ** b / (1 + b)

        step = (-c * period).exp()
        left = (step / (1 - step)).abs_upper()
        step = (-(c - self.below) * period).exp()
        other = chernoff(self.below, self.moments[1]) * step / (1 - step)
        left = left.min(other.abs_upper())
        step = (-(self.above - c) * period).exp()
        right = chernoff(self.above, self.moments[0]) * step / (1 - step)
        return left + right.abs_upper()


def _points(steps, c, spacing, log_size):
    """Return how many points are enough: by doubles, the bound is made of balls afterwards."""

    def log_bound(t):
        value = -math.log(t * math.pi)
        for law, count in steps:
            if isinstance(law, _Nodes):
                value += count * law.log_decay(t)
            elif isinstance(law, Atoms):
                value += count * float(law.moment(exact(c)).mid().log())
            else:
                top = law.moment(exact(c)) * law.decay(exact(c), exact(t))
                value += count * float(top.mid().log())
        return value

    points = 16
    while log_bound(spacing * points) > log_size - TOLERANCE:
        points = int(points * 1.25) + 1
        if points > MOST_POINTS:
            raise TooSlowError("the characteristic function falls too slowly")
    return points + 2


class _Nodes:
    """The moment of a mixture by nodes on a line beside the real one, see above."""

    def __init__(self, law):
        if float(law.widest) == 0.0:
            raise TooSlowError("no loss")
        self.law, self.direction = law, law.direction
        self.noise = float(law.noise)
        self.centers = np.array([float(c) for c in law.centers])
        self.weights = np.array([float(w) for w in law.weights])
        self.c = None
        if law.direction == "replace-one" and not law.still > 0:
            raise TooSlowError("no mass at rest")

    # by doubles
    def _log_ratio(self, x):
        s2 = self.noise**2
        with np.errstate(divide="ignore"):
            logs = (
                np.log(self.weights)[:, None]
                + self.centers[:, None] * (x - self.centers[:, None] / 2) / s2
            )
        top = logs.max(0)
        return top + np.log(np.exp(logs - top).sum(0))

    def _log_integrand(self, c, x):
        s = self.noise
        there = -(x**2) / (2 * s * s) - math.log(s * math.sqrt(2 * math.pi))
        if self.direction == "add":
            return there - c * self._log_ratio(x)
        there = there + (c + 1) * self._log_ratio(x)
        return there - c * self._log_ratio(-x) if self.direction == "replace-one" else there

    def _window(self, c):
        s, widest = self.noise, self.centers.max()
        if self.direction == "add":
            return -c * widest - 14 * s, 14 * s + widest
        if self.direction == "remove":
            return -14 * s, (c + 1) * widest + 14 * s
        return -14 * s - c * widest, (2 * c + 1) * widest + 14 * s

    def log_moment(self, c):
        low, high = self._window(c)
        strip = min(self.noise**2 / self.centers.max(), self.noise) / 3
        count = int((high - low) / strip) + 50
        if count > 200_000:
            raise TooSlowError("nodes")
        x, step = np.linspace(low, high, count, retstep=True)
        logs = self._log_integrand(c, x)
        return float(logs.max() + np.log(np.exp(logs - logs.max()).sum() * step))

    def _setup(self, c):
        """Return spacing and ends of the nodes, and how far the line is from the real one."""
        s, widest = self.noise, self.centers.max()
        # Of a large c the integrand grows as cos(sigma widest / s^2)^-c beside the line.
        steep = math.acos(math.exp(-0.5 * DEPTH / max(abs(c), 1.0)))
        sigma = min(min(0.5, steep) * s * s / widest, 1.6 * s)
        spacing = 2 * math.pi * sigma / DEPTH
        low, high = self._window(c)
        x = np.linspace(low, high, 4000)
        logs = self._bound(c, x)
        top = self.log_moment(c)
        inside = np.flatnonzero(logs > top - DEPTH)
        if len(inside) == 0:
            raise TooSlowError("tilt")
        pad = (high - low) / 2000
        low, high = x[inside[0]] - pad - 0.5 * s, x[inside[-1]] + pad + 0.5 * s
        return sigma, spacing, math.floor(low / spacing), math.ceil(high / spacing)

    def _bound(self, c, x):
        """Return the logarithm of the bound of the integrand that `_tail` integrates."""
        s, w = self.noise, self.weights[:, None]
        still = self.weights[self.centers == 0].sum()
        with np.errstate(divide="ignore"):
            logw = np.log(w)
        q = -c if self.direction == "add" else c + 1
        shift = q * self.centers[:, None]
        logs = logw + (c * c + c) * self.centers[:, None] ** 2 / (2 * s * s)
        logs = logs - (x - shift) ** 2 / (2 * s * s) - math.log(s * math.sqrt(2 * math.pi))
        top = logs.max(0)
        bound = top + np.log(np.exp(logs - top).sum(0))
        if still > 0 and self.direction == "add":
            alone = -c * math.log(still) - x**2 / (2 * s * s)
            bound = np.minimum(bound, alone - math.log(s * math.sqrt(2 * math.pi)))
        if self.direction == "replace-one":
            bound = bound - c * math.log(still)
        return bound

    # by balls
    def prepare(self, c, most=MOST_NODES):
        """Write down the nodes for a line Re z = c, at most so many."""
        if self.c == c:
            return
        self.c = None
        sigma, spacing, first, last = self._setup(c)
        self.sigma, self.eta, self.first, self.last, self._fast = sigma, spacing, first, last, {}
        self.size = last - first + 1
        if self.size > most:
            raise TooSlowError("nodes")
        sigma, eta, line, c = exact(sigma), exact(spacing), c, exact(c)
        law, s2 = self.law, self.law.noise**2
        side = -1 if self.direction == "add" else 1
        norm = eta / (2 * PI * s2).sqrt()
        self.nodes, self.losses = [], []
        whole = ZERO
        for n in range(first, last + 1):
            x = acb(eta * n, side * sigma)
            there = -(x * x) / (2 * s2)
            removed = law.log_ratio(x)
            if self.direction == "add":
                loss = -removed
                log = there + c * loss
            elif self.direction == "remove":
                loss = removed
                log = there + (c + 1) * removed
            else:
                loss = removed - law.log_ratio(-x)
                log = there + removed + c * loss
            weight = log.exp() * norm
            self.nodes.append(weight)
            self.losses.append(loss)
            whole += weight.real
        # bounds: on lines up to 2 sigma, and beyond the nodes on the line sigma
        theta = law.widest * 2 * sigma / s2
        turned = ONE if self.direction == "remove" else (theta / 2).cos() ** -c
        far = (2 * sigma) ** 2 / (2 * s2)
        share = 2 * far.exp() * turned / ((2 * PI * sigma / eta).exp() - 1)
        if not 2 * share < 1:  # the bounds below divide by 1 - share
            raise TooSlowError("nodes are too far apart")
        theta = law.widest * sigma / s2
        turned = ONE if self.direction == "remove" else (theta / 2).cos() ** -c
        tail = (sigma**2 / (2 * s2)).exp() * turned * self._tail(c, eta, first, last)
        real = whole + tail  # M(c) at most, but for `share` of M(c)
        self.error = (real / (1 - share) * share + tail).abs_upper()
        self.moment = whole + (-self.error).union(self.error)
        self.top = (real / (1 - share)).abs_upper()
        self.c = line  # now that all is there, whatever may have interrupted it before

    def _tail(self, c, eta, first, last):
        """Bound the integrand's sums beyond the nodes, on the real line.

        By Jensen's inequality A^q <= sum w_i e^(q c_i (x - c_i / 2) / s^2) for q = c + 1 and -c:
        weights times normal densities with the centres q c_i. Also A^-c <= still^-c.
        """
        law = self.law
        s = law.noise
        left, right = eta * (first - 1), eta * (last + 1)
        q = -c if self.direction == "add" else c + 1

        def of(center):
            """Bound the sum of eta * density at both ends and beyond, if they are beyond it."""
            if not (left < center and center < right):
                return arb.pos_inf()
            result = ZERO
            for gap in (center - left, right - center):
                density = (-(gap**2) / (2 * s**2)).exp() / (s * (2 * PI).sqrt())
                result += eta * density + normal_tail(gap / s)
            return result

        terms = zip(law.centers, law.weights, strict=True)
        jensen = total(w * ((c * c + c) * a**2 / (2 * s**2)).exp() * of(q * a) for a, w in terms)
        if self.direction == "add" and law.still > 0:
            alone = law.still**-c * of(ZERO)
            return jensen.min(alone) if jensen.is_finite() else alone
        return jensen * law.still**-c if self.direction == "replace-one" else jensen

    def moment_above(self, b):
        """Return an upper bound of the moment at b, a double."""
        other = _Nodes(self.law)
        other.prepare(float(b))
        return other.top

    def values(self, spacing, points):
        """Return M(c + i n spacing) for n = 0 .. points - 1."""
        babies, giants = GIANT, -(-points // GIANT)
        small = acb_mat(self.size, babies, self._powers(spacing, babies))
        large = []
        steps = [(acb(0, spacing * babies) * loss).exp() for loss in self.losses]
        row = list(self.nodes)
        for _ in range(giants):
            large += row
            row = [a * b for a, b in zip(row, steps, strict=True)]
        product = acb_mat(giants, self.size, large) * small
        either = (-self.error).union(self.error)
        blur = acb(either, either)
        flat = [product[i, j] + blur for i in range(giants) for j in range(babies)]
        return flat[:points]

    def _powers(self, spacing, babies):
        rows = []
        for loss in self.losses:
            turn, power = (acb(0, spacing) * loss).exp(), acb(1)
            for _ in range(babies):
                rows.append(power)
                power = power * turn
        return rows

    # ---- How it falls: below the integral of the modulus on any line x + iy, y <= sigma --------

    def _line_of(self, part):
        """Return sizes and angles of the integrand on the line part * sigma, as doubles."""
        if part not in self._fast:
            s, sigma = self.noise, self.sigma * part
            x = self.eta * np.arange(self.first, self.last + 1)
            log, arg = self._polar(x, sigma)
            size = -(x * x - sigma * sigma) / (2 * s * s)
            if self.direction == "add":
                size, angle = size - self.c * log, arg
            elif self.direction == "remove":
                size, angle = size + (self.c + 1) * log, arg
            else:
                other, back = self._polar(-x, -sigma)
                size, angle = size + (self.c + 1) * log - self.c * other, arg - back
            size += math.log(self.eta / (s * math.sqrt(2 * math.pi)))
            self._fast[part] = size, angle
        return self._fast[part]

    def _polar(self, x, y):
        s2 = self.noise**2
        exponents = self.centers[:, None] * (x - self.centers[:, None] / 2) / s2
        top = exponents.max(0)
        parts = self.weights[:, None] * np.exp(exponents - top)
        whole = (parts * np.exp(1j * self.centers[:, None] * y / s2)).sum(0)
        return top + np.log(np.abs(whole)), np.angle(whole)

    def log_decay(self, t):
        """Return about the logarithm of what `decay_to` returns."""
        return min(self._decays(t))[0]

    def _decays(self, t):
        for part in PARTS:
            sizes, angles = self._line_of(part)
            logs = sizes - t * angles
            yield float(logs.max() + np.log(np.exp(logs - logs.max()).sum())), part

    def decay_to(self, t):
        """Bound |M(c + iu)| for every u >= t by an integral of the modulus.

        It is taken by the trapezoid rule. Since log|A| and arg A at x + iy are the half sum and,
        over i, the half difference of log A(x + iy) and log A(x - iy), the modulus is analytic in
        x, too. At x + ia with a <= sigma it is at most e^((a^2 + y^2) / 2 s^2) cos(theta / 2)^-c
        times the integrand of M(c) at x, theta the angle at the height a + y <= 2 sigma: what
        depends on t is e^(-t (arg A(x + i(a + y)) - arg A(x + i(a - y))) / 2) <= 1, since arg A
        rises with the height as long as all its terms lie in one sector of the angle pi / 2.
        """
        part = min(self._decays(float(t)))[1]
        y, eta, c = exact(part) * exact(self.sigma), exact(self.eta), exact(self.c)
        law, s2 = self.law, self.law.noise**2
        side = -1 if self.direction == "add" else 1
        result = ZERO
        for n in range(self.first, self.last + 1):
            x = acb(eta * n, side * y)
            log = -(x * x) / (2 * s2)
            removed = law.log_ratio(x)
            loss = -removed if self.direction == "add" else removed
            if self.direction == "replace-one":
                loss = loss - law.log_ratio(-x)
            log = log + c * loss if self.direction == "add" else log + removed + c * loss
            result += (log.real - t * loss.imag).exp()
        return (result * eta / (2 * PI * s2).sqrt()).abs_upper() + self.error


def real_moment(law, b):
    """Return E[e^(bY)] of a mixture's loss at a real b > 0, in a ball."""
    power = int(b) + 1
    if law.direction == "remove" and power == b + 1 and power <= 6 and len(law.centers) <= 9:
        # E of the mixture's power over N(0, s^2): of each product e^(sum over pairs c_i c_j / s^2)
        result = ZERO
        for chosen in combinations_with_replacement(range(len(law.centers)), power):
            ways, weight, pairs = math.factorial(power), ONE, ZERO
            for i in set(chosen):
                ways //= math.factorial(chosen.count(i))
            for i, j in combinations(chosen, 2):
                pairs += law.centers[i] * law.centers[j]
            for i in chosen:
                weight = weight * law.weights[i]
            result += ways * weight * (pairs / law.noise**2).exp()
        return result
    nodes = _Nodes(law)
    nodes.prepare(float(b), MOST_NODES_ALONE)
    return nodes.moment
