"""Privacy losses of single mechanisms, in balls, written down from their definitions.

A mechanism has outcomes w with densities P and Q. In the direction 'remove' the pair of a mechanism
on a Poisson sample is A = (1-p)P + pQ against B = P, in 'add' it is A = Q against B = (1-p)Q + pP.
The loss is log(A/B) with w drawn from A. A law has the curve of its pair at every real epsilon, the
mass `infinite` of A where B has none, and the greatest finite loss `top`.
"""

import numpy as np

from .balls import (
    INFINITY,
    ONE,
    ZERO,
    TooSlowError,
    arb,
    clamp,
    exact,
    hull,
    never_below,
    normal_tail,
    positive_part,
    total,
)


def sampled_curve(base, p, direction, x):
    """Return the curve of a Poisson sample from that of the mechanism itself."""
    growth, rest = x.exp(), 1 - p
    if direction == "remove":
        # A - g B = p (Q - g' P), g' = (g - (1 - p)) / p
        inner = growth - rest
        if inner > 0:
            return p * base.curve((inner / p).log())
        edge = -x.expm1()
        return edge if inner <= 0 else hull(positive_part(edge), p)
    # A - g B = r (Q - (g p / r) P), r = 1 - g (1 - p)
    r = 1 - growth * rest
    if r > 0:
        return r * base.curve((growth * p / r).log())
    return ZERO if r <= 0 else hull(ZERO, r.abs_upper())


def mirrored_curve(curve, x):
    """Return delta of a symmetric pair from that above 0: delta(-e) = 1 - e^-e + e^-e delta(e)."""
    if x >= 0:
        return curve(x)
    if x < 0:
        return -x.expm1() + x.exp() * curve(-x)
    return hull(curve(x.abs_upper()), -(-x.abs_upper()).expm1() + curve(ZERO))


# ---- Finitely many losses --------------------------------------------------------------------


class Atoms:
    """Losses with masses under A.

    missing bounds the mass of A that is not written down, wherever its losses lie. Where step is
    given, losses[i] is losses[0] + i * step.
    """

    smooth = False

    def __init__(self, losses, masses, infinite=ZERO, missing=ZERO, step=None):
        self.losses, self.masses = list(losses), list(masses)
        self.infinite, self.missing, self.step = infinite, missing, step

    @property
    def top(self):
        if self.missing > 0:
            return INFINITY  # unknown, and never asked
        top = -INFINITY
        for loss in self.losses:
            top = top.max(loss)
        return top

    def finite(self, x):
        """Return delta at x, but for the mass at infinity, and for what is missing."""
        return total(
            mass * positive_part(-(x - loss).expm1())
            for loss, mass in zip(self.losses, self.masses, strict=True)
            if not loss < x
        )

    def curve(self, x):
        value = self.finite(x) + self.infinite
        return hull(value, value + self.missing) if self.missing > 0 else value

    def moment(self, z):
        """Return E[e^(zY)] of the finite losses."""
        terms = zip(self.losses, self.masses, strict=True)
        return sum((mass * (z * loss).exp() for loss, mass in terms), 0 * z)


class DiscretePair:
    """Outcomes with the masses q and p, and losses log(q/p); what Q has alone, and what P has."""

    def __init__(self, q, p, losses, only_q=ZERO, only_p=ZERO, missing=ZERO, step=None):
        self.q, self.p, self.losses = q, p, losses
        self.only_q, self.only_p, self.missing, self.step = only_q, only_p, missing, step

    def curve(self, x):
        return Atoms(self.losses, self.q, self.only_q, self.missing).curve(x)

    def sampled(self, p, direction):
        if p == 1:
            return Atoms(self.losses, self.q, self.only_q, self.missing, self.step)
        if direction == "remove":
            masses = [(1 - p) * b + p * a for a, b in zip(self.q, self.p, strict=True)]
            losses = [(p * loss.expm1()).log1p() for loss in self.losses]
            if self.only_p > 0:
                masses.append((1 - p) * self.only_p)
                losses.append((-p).log1p())
            return Atoms(losses, masses, p * self.only_q, self.missing)
        losses = [-(p * (-loss).expm1()).log1p() for loss in self.losses]
        masses = list(self.q)
        if self.only_q > 0:
            masses.append(self.only_q)
            losses.append(-(-p).log1p())
        return Atoms(losses, masses, ZERO, self.missing)

    def folded(self, p):
        """Return the law of a sample of fixed size; the pair is its own reverse."""
        if p == 1:
            return self.sampled(ONE, "remove")
        losses, masses, apart, still = [], [], self.only_q, ZERO
        for q, b, loss in zip(self.q, self.p, self.losses, strict=True):
            if loss > 0:
                above = (p * loss.expm1()).log1p()
                losses += [above, -above]
                masses += [(1 - p) * b + p * q, b]
                apart += q - b
            elif not loss < 0:
                still += q
        losses.append(ZERO)
        masses.append(still + (1 - p) * apart)
        return Atoms(losses, masses, p * self.only_q, self.missing)


APART = DiscretePair([], [], [], only_q=ONE, only_p=ONE)  # no outcome in common, as without noise


# ---- Smooth losses ---------------------------------------------------------------------------


class GaussianPair:
    """N(0, 1) against N(mu, 1), mu^2 given."""

    def __init__(self, variance):
        self.variance = variance
        self.mu = variance.sqrt()
        self.top = INFINITY

    def curve(self, x):
        a, half = x / self.mu, self.mu / 2
        return normal_tail(a - half) - x.exp() * normal_tail(a + half)

    def sampled(self, p, direction):
        if p == 1:
            return GaussianLaw(self.variance)
        return SampledGaussianLaw(self, p, direction)

    def folded(self, p):
        return FoldedLaw(self, p)


class LaplacePair:
    """Laplace noise against its shift by mu scales."""

    def __init__(self, mu):
        self.mu = self.top = mu

    def curve(self, x):
        return positive_part(-((x - self.mu) / 2).expm1()).max(never_below(x))

    def sampled(self, p, direction):
        return LaplaceLaw(self.mu) if p == 1 else SampledLaw(self, p, direction)

    def folded(self, p):
        return FoldedLaw(self, p)


class RangePair:
    """Bounded range, by the pair that dominates it."""

    def __init__(self, width):
        self.mu = self.top = width

    def curve(self, x):
        inside = clamp(x, -self.mu, self.mu)
        value = ((inside - self.mu) / 2).expm1() ** 2 / -(-self.mu).expm1()
        return value.max(never_below(x))

    def sampled(self, p, direction):
        return RangeLaw(self.mu) if p == 1 else SampledLaw(self, p, direction)

    def folded(self, p):
        return FoldedLaw(self, p)


class Smooth:
    smooth, infinite = True, ZERO


class GaussianLaw(Smooth):
    """Of any number of Gaussian steps without sampling; variances add up."""

    def __init__(self, variance):
        self.variance, self.top = variance, INFINITY

    def curve(self, x):
        return GaussianPair(self.variance).curve(x)

    def moment(self, z):
        return (self.variance * (z + z * z) / 2).exp()

    def decay(self, c, t):
        """Bound |E e^((c + iu) Y)| / E e^(cY) for every u >= t."""
        return (-self.variance * t * t / 2).exp()


class LaplaceLaw(Smooth):
    """Of a Laplace step without sampling."""

    def __init__(self, mu):
        self.mu = self.top = mu
        # the moment is a sum of coefficient * z^i (z+1)^j e^(z shift) / (2 z + 1)
        self.terms = [(ONE, 0, 1, mu), ((-mu).exp(), 1, 0, -mu)]

    def curve(self, x):
        return LaplacePair(self.mu).curve(x)

    def moment(self, z):
        mu = self.mu
        return ((z + 1) * (z * mu).exp() + z * (-(z + 1) * mu).exp()) / (2 * z + 1)

    def decay(self, c, t):
        # |z + 1| / |2 z + 1| falls in t; |z| / |2 z + 1| rises to 1/2
        falls = ((c + 1) ** 2 + t * t).sqrt() / ((2 * c + 1) ** 2 + 4 * t * t).sqrt()
        top = (c * self.mu).exp() * (falls + (-(2 * c + 1) * self.mu).exp() / 2)
        return (top / self.moment(c)).min(ONE)


class RangeLaw(Smooth):
    """Of the pair of a bounded range."""

    def __init__(self, mu):
        self.mu = self.top = mu
        scale = 1 / -(-mu).expm1()
        self.terms = [(scale, 0, 0, mu), (-scale * (-mu).exp(), 0, 0, -mu)]

    def curve(self, x):
        return RangePair(self.mu).curve(x)

    def moment(self, z):
        mu = self.mu
        return ((z * mu).exp() - (-(z + 1) * mu).exp()) / (2 * z + 1) / -(-mu).expm1()

    def decay(self, c, t):
        mu = self.mu
        top = ((c * mu).exp() + (-(c + 1) * mu).exp()) / -(-mu).expm1()
        top = top / ((2 * c + 1) ** 2 + 4 * t * t).sqrt()
        return (top / self.moment(c)).min(ONE)


class SampledLaw(Smooth):
    """Of one step on a Poisson sample."""

    def __init__(self, base, p, direction):
        self.base, self.p, self.direction = base, p, direction
        if direction == "remove":
            self.top = (p * base.top.expm1()).log1p()
        else:
            self.top = -(p * (-base.top).expm1()).log1p()

    def curve(self, x):
        return sampled_curve(self.base, self.p, self.direction, x)


class FoldedLaw(Smooth):
    """Of one step on a sample of fixed size: A - g B = p (Q - g' P), g' = 1 + (g - 1) / p."""

    def __init__(self, base, p):
        self.base, self.p = base, p
        self.top = (p * base.top.expm1()).log1p() if base.top < INFINITY else INFINITY

    def curve(self, x):
        def above(e):
            return self.p * self.base.curve((e.expm1() / self.p).log1p())

        return mirrored_curve(above, x)


class ChoiceLaw(Smooth):
    """Of a choice that is known, of parts (weight, law)."""

    def __init__(self, parts):
        self.parts = parts
        self.infinite = total(weight * law.infinite for weight, law in parts)
        self.top = ZERO
        for _, law in parts:
            self.top = self.top.max(law.top)

    def curve(self, x):
        return total(weight * law.curve(x) for weight, law in self.parts)


class ProgressionLaw(Smooth):
    """Of one loss, and of very many with equal masses, which advance by equal steps: doubles."""

    def __init__(self, loss, mass, losses, each):
        self.loss, self.mass, self.losses, self.each = loss, mass, losses, each
        self.step = exact(losses[1]) - exact(losses[0])
        self.top = exact(losses[-1])

    def curve(self, x):
        if not x.is_exact():
            raise TooSlowError("very many losses")
        count = len(self.losses)
        first = int(np.searchsorted(self.losses, float(x), side="right"))
        value = self.mass * positive_part(-(x - self.loss).expm1())
        if first == count:
            return value
        # sum of 1 - e^(x - l - i step) over i = first .. count - 1
        low = exact(self.losses[first])
        sum_of_powers = ((first - count) * self.step).expm1() / (-self.step).expm1()
        return value + self.each * (count - first - (x - low).exp() * sum_of_powers)


class MixtureLaw(Smooth):
    """Of N(0, s^2) against a mixture of N(c_i, s^2), c_i >= 0.

    'remove' has the mixture as A, 'add' as B; 'replace-one' has it against its mirror image. With
    R(x) the logarithm of the mixture's density over that of N(0, s^2), the loss at noise x is R(x),
    -R(x) and R(x) - R(-x), and log(A / N(0, s^2)) is R(x), 0 and R(x).
    """

    def __init__(self, noise, centers, weights, direction):
        self.noise, self.centers, self.weights = noise, centers, weights
        self.direction = direction
        self.still = total(w for c, w in zip(centers, weights, strict=True) if c == 0)
        self.widest = ZERO
        for c in centers:
            self.widest = self.widest.max(c)
        self.top = INFINITY
        if direction == "add" and self.still > 0:
            self.top = -self.still.log()

    def log_ratio(self, x):
        """Return R(x), of a real or a complex x."""
        s2 = self.noise**2
        terms = zip(self.centers, self.weights, strict=True)
        return sum((w * (c * (x - c / 2) / s2).exp() for c, w in terms), 0 * x).log()

    def loss(self, x):
        if self.direction == "remove":
            return self.log_ratio(x)
        if self.direction == "add":
            return -self.log_ratio(x)
        return self.log_ratio(x) - self.log_ratio(-x)

    def _above(self, z, sign):
        """Return the mass of the mixture, or of its mirror image, above z."""
        terms = zip(self.centers, self.weights, strict=True)
        return total(w * normal_tail((z - sign * c) / self.noise) for c, w in terms)

    def _below(self, z):
        terms = zip(self.centers, self.weights, strict=True)
        return total(w * normal_tail((c - z) / self.noise) for c, w in terms)

    def _at(self, z, growth):
        """Return A - growth * B of the outcomes with losses above that of z."""
        if self.direction == "add":
            return normal_tail(-z / self.noise) - growth * self._below(z)
        other = normal_tail(z / self.noise) if self.direction == "remove" else self._above(z, -1)
        return self._above(z, 1) - growth * other

    def curve(self, x):
        if self.direction == "remove" and self.still > 0 and x <= self.still.log():
            return -x.expm1()
        if self.direction == "add" and x >= self.top:
            return ZERO
        # the loss rises with z, or falls for 'add'
        sign = -1 if self.direction == "add" else 1

        def side(z):
            loss = self.loss(z)
            return (loss > x) - (loss < x)

        reach, low, high = self.noise + self.widest, None, None
        for _ in range(60):
            if low is None and side(-sign * reach) < 0:
                low = -sign * reach
            if high is None and side(sign * reach) > 0:
                high = sign * reach
            if low is not None and high is not None:
                break
            reach = 2 * reach
        growth = x.exp()
        if low is None or high is None:
            # where no outcome is surely on one side, the best set is all, none or unknown
            raise TooSlowError("a loss that is hardly reached")
        for _ in range(140):
            middle = ((low + high) / 2).mid()
            where = side(middle)
            if where == 0:  # so close to the threshold that its ball has it
                low, high = self._around(side, middle, low, high)
                break
            low, high = (low, middle) if where > 0 else (middle, high)
        # any threshold gives a set, and the best one is between the two
        value = self._at(hull(low, high), growth)
        least = self._at(((low + high) / 2).mid(), growth)
        return hull(least, value.max(least)).max(never_below(x))

    @staticmethod
    def _around(side, middle, low, high):
        """Return the narrowest interval around `middle` of which the sides are known."""
        for bits in range(130, 0, -10):
            beside = (high - low) * arb(2) ** -bits
            if side(middle - beside) < 0 < side(middle + beside):
                return middle - beside, middle + beside
            if side(middle - beside) > 0 > side(middle + beside):
                return middle + beside, middle - beside
        return low, high


class SampledGaussianLaw(MixtureLaw):
    """Of one Gaussian step on a Poisson sample: the mixture of one and no step."""

    def __init__(self, base, p, direction):
        super().__init__(1 / base.mu, [ZERO, ONE], [1 - p, p], direction)
        self.base, self.p = base, p

    def curve(self, x):
        return sampled_curve(self.base, self.p, self.direction, x)
