"""A mechanism on a Poisson sample, in which a record is with probability p.

With (P, Q) the pair of the mechanism, Q where the record is present, the pair is (P, (1-p) P + p Q)
if the record is removed, and ((1-p) Q + p P, Q) if it is added, where Q is the law without the
record. For t > 0,

    sup_S (1-p) P(S) + p Q(S) - t P(S) = p sup_S Q(S) - (t - 1 + p) / p P(S)

if t > 1 - p, else 1 - t; and

    sup_S Q(S) - t ((1-p) Q(S) + p P(S)) = (1 - t (1-p)) sup_S Q(S) - t p / (1 - t (1-p)) P(S)

if t (1-p) < 1, else 0.
"""

from flint import arb

from .atoms import Atoms
from .balls import between

__all__ = ["Sampled", "sampled"]

_ROUNDS = 120


def sampled(pair, probability, direction):
    """Return the pair on a Poisson sample."""
    if probability.is_zero():  # the laws are the same, whatever the pair
        return Atoms([(arb(1), arb(1))])
    if hasattr(pair, "sampled"):
        return pair.sampled(probability, direction)
    return Sampled(pair, probability, direction)


class Sampled:
    """The pair of another one on a Poisson sample."""

    def __init__(self, base, probability, direction):
        self.base, self.p, self.removes = base, probability, direction == "remove"
        self.attained = base.attained

    def greatest_loss(self):
        """Return an upper bound of all finite losses, or None, and the mass of infinite loss."""
        greatest, infinite = self.base.greatest_loss()
        if greatest is None:
            return None, self.p * infinite if self.removes else arb(0)
        if self.removes:
            return (1 - self.p + self.p * greatest.exp()).log(), self.p * infinite
        if not infinite.is_zero():
            return None, arb(0)
        return -(1 - self.p + self.p * (-greatest).exp()).log(), arb(0)

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        if self.removes:
            excess = t - 1 + self.p
            if excess <= 0:
                return 1 - t
            if excess > 0:
                return self.p * self.base.delta(excess / self.p)
        else:
            left = 1 - t * (1 - self.p)
            if left <= 0:
                return arb(0)
            if left > 0:
                return left * self.base.delta(t * self.p / left)
        return between(arb(0), arb(1))

    def power(self, rate):
        """Return Q(S) of a set, or a mixture of sets, for which P(S) is at most the rate."""
        rate = rate.lower()
        if rate >= 1:
            return arb(1)
        if self.removes:
            return (1 - self.p) * rate + self.p * self.base.power(rate)
        return self._power_if_added(rate)

    def _power_if_added(self, rate):
        """Halve an interval of base rates a with (1-p) power(a) + p a at most the rate.

        A test may be made weaker at will, so it does no harm if `power` is below the greatest one.
        """
        low, high = arb(0), rate  # a test is at least as powerful as chance
        for _ in range(_ROUNDS):
            middle = ((low + high) / 2).mid()
            if (1 - self.p) * self.base.power(middle).lower() + self.p * middle <= rate:
                low = middle
            else:
                high = middle
        return self.base.power(low).lower() if low > 0 else arb(0)
