"""Lattices composed in integers, with every rounding counted.

Delta is E (1 - e^(epsilon - Y))_+ of the sum Y of all losses. With a *tilt* t >= 0, a mass a at a
loss y is written down as a e^(t y), in multiples of a small unit, so that losses about epsilon have
most of what is written, however rare they are. Composing two laws is multiplying polynomials, which
is exact in integers. Then masses are rounded down to multiples of the unit, and negligible ends are
dropped. A bound from below needs no more. For one from above, what was lost is counted: as only y >
epsilon adds to delta, at most (1 - e^(epsilon - y)) e^(-t y) <= e^(-t epsilon) for each unit, what
was lost adds no more than so much. The tilt and the cuts change only how close a bound is.

The mass at infinity has a formula. From above, all masses of a lattice are 1. From below, what it
lacks counts as a loss below all others, which adds nothing but in a sum with a loss of infinity.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log, log2

from flint import arb, arb_poly, ctx, fmpz_poly

from .balls import ball

__all__ = ["Composition"]

_CUT_BITS = 52  # all that is cut, and all that is rounded, is about this small a part of delta
_GUARD_BITS = 20
_ROUNDS = 24  # that halve an interval of tilts
_MOST_TILT = 1 << 20
_LEAST_SCALE = arb(2) ** -(1 << 60)


@dataclass
class _Law:
    """Tilted masses of the points first + i, in units of 2^-bits of all, and what was lost."""

    first: int
    masses: fmpz_poly
    lost: int


class Composition:
    """The composition of lattices of one spacing, each `counts[j]` times.

    `delta_about` and `epsilon` say which part of the curve matters, for speed and closeness alone.
    """

    def __init__(self, lattices, counts, above, delta_about, epsilon):
        self.above, self.spacing = above, lattices[0].spacing
        self.steps, zeros = sum(counts), max(-_log2(delta_about), 0.0)
        parts = list(zip(lattices, counts, strict=True))
        self.offset = sum(count * lattice.offset for lattice, count in parts)
        tilt, log_height = _tilt(parts, float(epsilon))
        cut_bits = _CUT_BITS + max(log_height / log(2) + zeros, 0.0)
        self.bits = ceil(cut_bits + log2(self.steps)) + _GUARD_BITS
        self.allowed = 2.0 ** (self.bits - cut_bits) / self.steps  # to be cut off for each step
        law, self.scale, finite = None, arb(1), arb(1)
        with ctx.workprec(self.bits + 64 + ceil(zeros)):
            self.rate = ball(Fraction(tilt) * self.spacing)
            for lattice, count in parts:
                power = self._power(self._law_of(lattice, count), count)
                law = power if law is None else self._product(law, power, self.steps)
                finite *= (1 - ball(lattice.infinite)) ** count
            self.law, self.infinite = law, 1 - finite

    def delta(self, epsilon):
        """Return a bound of delta at an exact epsilon, as a ball."""
        law, reach = self.law, (epsilon - self.offset) / self.spacing
        start = max(floor(reach) + 1, law.first)
        with ctx.workprec(self.bits + 64):
            masses = arb_poly(law.masses.right_shift(start - law.first))
            step, ratio = (-self.rate).exp(), ball(-self.spacing).exp()
            beyond = ball(start - reach)  # how far the first one is from epsilon, in points
            down = (beyond * ball(-self.spacing)).exp()
            total = (masses(step) - masses(step * ratio) * down) * (-self.rate * beyond).exp()
            lost = law.lost if self.above else 0
            height = self.scale * (-self.rate * ball(reach)).exp() / arb(2) ** self.bits
            return (total + lost) * height + self.infinite

    def _law_of(self, lattice, count):
        """Return the law of a step, and note its scale as often as it is composed."""
        stated = zip(lattice.points, lattice.masses, strict=True)
        points = [(point, ball(mass)) for point, mass in stated if mass > 0]
        tilted = [(point, mass * (self.rate * point).exp()) for point, mass in points]
        scale = sum((mass for _, mass in tilted), arb(0)).mid().max(_LEAST_SCALE)
        self.scale *= scale**count
        first, unit, lost = lattice.points[0], arb(2) ** self.bits / scale, 0
        masses = [0] * (lattice.points[-1] - first + 1)
        for point, mass in tilted:
            number = mass * unit
            masses[point - first] = number.lower().floor().unique_fmpz()
            lost += number.upper().ceil().unique_fmpz() - masses[point - first]
        return self._trimmed(_Law(first, fmpz_poly(masses), lost), 1)

    def _product(self, one, other, parts):
        """Return the law of a sum, which has so many losses of steps as its parts."""
        exact = one.masses * other.masses
        masses = exact // 2**self.bits  # no coefficient is negative: rounded down, by less than 1
        lost = one.lost * (other.masses(1) + other.lost) + one.masses(1) * other.lost
        lost = (lost >> self.bits) + 1 + exact.length()
        return self._trimmed(_Law(one.first + other.first, masses, lost), parts)

    def _power(self, law, count):
        """Return the law of `count` losses, by squaring."""
        result, done = law, 1
        for bit in bin(count)[3:]:
            result, done = self._product(result, result, 2 * done), 2 * done
            if bit == "1":
                result, done = self._product(result, law, done + 1), done + 1
        return result

    def _trimmed(self, law, parts):
        """Cut the ends off the law of so many parts."""
        masses, allowed = law.masses, int(self.allowed * parts)
        length = masses.length()
        low, cut_low = _end(masses, range(length), allowed)
        high, cut_high = _end(masses, range(length - 1, low - 1, -1), allowed)
        kept = masses.truncate(length - high).right_shift(low)
        return _Law(law.first + low, kept, law.lost + cut_low + cut_high)


def _end(masses, places, allowed):
    """Return how many masses of these places are no more than is allowed, and their sum."""
    cut = 0
    for number, place in enumerate(places):
        if cut + masses[place] > allowed:
            return number, cut
        cut += masses[place]
    return len(places), cut


def _tilt(parts, epsilon):
    """Return about the t at which E e^(t (Y - epsilon)) is least, and its logarithm there."""
    rows = []
    for lattice, count in parts:
        masses = zip(map(float, lattice.masses), map(float, lattice.losses()), strict=True)
        row = [(mass, loss) for mass, loss in masses if mass > 0]
        rows += [(count, row)] if row else []  # else it has no finite losses

    def logarithm(t):
        """Return the logarithm, and its derivative."""
        value, slope = -t * epsilon, -epsilon
        for count, row in rows:
            most = row[-1][1]
            terms = [(mass * exp(t * (loss - most)), loss) for mass, loss in row]
            total = sum(term for term, _ in terms)
            value += count * (t * most + log(total))
            slope += count * sum(term * loss for term, loss in terms) / total
        return value, slope

    low, high = 0.0, 1.0
    while high < _MOST_TILT and logarithm(high)[1] < 0:
        low, high = high, 2 * high
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if logarithm(middle)[1] < 0 else (low, middle)
    return high, logarithm(high)[0]


def _log2(number):
    """Return about the logarithm of an exact number > 0."""
    return log2(number) if number > 2**-1000 else log2(number * 2**1000) - 1000
