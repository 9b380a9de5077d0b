"""Pairs that dominate a mechanism, but that no data sets are known to have."""

from flint import arb

from .atoms import MOST_ATOMS
from .balls import ball, between
from .refusal import require

__all__ = ["BoundedRange", "Choice", "FixedSize", "FromAbove", "binomial_above"]


class FromAbove:
    """A pair of which no data sets are known to have it."""

    attained = False

    def __init__(self, pair):
        self.delta, self.greatest_loss = pair.delta, pair.greatest_loss


class BoundedRange:
    """The curve of all mechanisms whose losses lie in some interval of the length r.

    With E = e^r it is the greatest of those of all randomized responses of losses log(s) and
    log(s) - r, (E - s) (1 - t / s) / (E - 1) for s / E <= t <= s: that of s = sqrt(E t).
    """

    attained = False

    def __init__(self, length):
        self.length, self.most = length, length.exp()

    def greatest_loss(self):
        """Return the greatest loss, and the mass of infinite loss."""
        return self.length, arb(0)

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        inner = (self.most.sqrt() - t.sqrt()) ** 2 / (self.most - 1)
        if t > self.most:
            return arb(0)
        if t * self.most < 1:
            return 1 - t
        if t < self.most and t * self.most > 1:
            return inner
        return between(inner, between(arb(0), arb(0).max(1 - t)))


class FixedSize:
    """The curve of a mechanism on a sample of fixed size, if a record is replaced.

    With (P, Q) the pair of the mechanism and p the part of the records in the sample, it is that of
    the pair (P, (1-p) P + p Q) at t >= 1. As the relation is symmetric, delta(t) is at most
    1 - t + t delta(1 / t) below.
    """

    attained = False

    def __init__(self, mixed):
        self.mixed = mixed

    def greatest_loss(self):
        """Return the greatest finite loss, or None, and the mass of infinite loss."""
        greatest, infinite = self.mixed.greatest_loss()  # the bound below t = 1 is no constant
        return None if greatest is None else greatest.max(arb(0)), infinite

    def delta(self, t):
        """Return a bound of sup_S Q(S) - t P(S)."""
        if t >= 1:
            return self.mixed.delta(t)
        below = 1 - t + t * self.mixed.delta(1 / t)
        return below if t < 1 else between(below, self.mixed.delta(t))


class Choice:
    """The curve of a choice between pairs that is disclosed: the mean of theirs.

    The choice of another pair than the last one may count as an infinite loss.
    """

    attained = False

    def __init__(self, weighted):
        self.weighted = weighted

    def greatest_loss(self):
        """Return the greatest finite loss, or None, and the mass of infinite loss."""
        *others, (weight, pair) = self.weighted
        greatest, infinite = pair.greatest_loss()
        return greatest, sum((weight for weight, _ in others), weight * infinite)

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        return sum((weight * pair.delta(t) for weight, pair in self.weighted), arb(0))


def binomial_above(trials, p, least):
    """Return the probability of `least` successes or more, 0 < least <= trials.

    The quotients of terms fall: once one is 1/2 or less, all further terms add less than the last.
    """
    logs = [ball(n + 1).lgamma() for n in (trials, least, trials - least)]
    odds = p / (1 - p)
    term = (logs[0] - logs[1] - logs[2] + least * p.log() + (trials - least) * (1 - p).log()).exp()
    total = arb(0)
    for successes in range(least, trials + 1):
        require(successes - least < MOST_ATOMS, "the data set is too large")
        total, quotient = total + term, odds * (trials - successes) / (successes + 1)
        if 2 * quotient <= 1 and term <= total * 2.0**-192:
            return between(total, total + term)
        term *= quotient
    return total
