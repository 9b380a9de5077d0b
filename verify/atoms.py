"""Pairs of discrete distributions, of outcomes in the order of their likelihood ratios."""

from flint import arb

from .balls import ball, between
from .refusal import require

__all__ = ["MOST_ATOMS", "Atoms"]

MOST_ATOMS = 1 << 20


class Atoms:
    """The pair of outcomes (q, p), p > 0, with q / p not falling, and a mass of Q where P has none.

    Outcomes may be left out, of smaller ratios than all of these and of greater ones. `left_out`
    bounds the mass of either law on either side. `losses` are the exact logarithms of the ratios,
    if they are rational numbers, and -inf for q = 0.
    """

    attained = True  # by some data sets

    def __init__(self, outcomes, infinite=None, left_out=None, losses=None):
        self.outcomes, self.left_out, self.losses = outcomes, left_out, losses
        self.infinite = arb(0) if infinite is None else infinite
        q, p = self.infinite, arb(0)
        if left_out is not None:
            q = between(q, q + left_out)
        self._above = [(q, p)]  # of all outcomes from number -i on
        for outcome in reversed(outcomes):
            q, p = q + outcome[0], p + outcome[1]
            self._above.append((q, p))

    def greatest_loss(self):
        """Return the greatest finite loss, or None, and the mass of infinite loss."""
        if self.left_out is not None:
            return None, self.infinite
        q, p = self.outcomes[-1]  # a bound may be the very number, so that it is best exact
        return ball(self.losses[-1]) if self.losses and q > 0 else (q / p).log(), self.infinite

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        n = len(self.outcomes)
        first = self._first(lambda q, p: q > t * p)  # from here on, all outcomes belong to S
        start = self._first(lambda q, p: not q < t * p)  # before it, none does
        q, p = self._above[n - first]
        total = q - t * p
        for number in range(start, first):
            q, p = self.outcomes[number]
            total += arb(0).max(q - t * p)
        if start > 0 or self.left_out is None:
            return total
        return between(total, total + self.left_out)

    def power(self, rate):
        """Return Q(S) of a set, or a mixture of sets, for which P(S) is at most the rate."""
        n = len(self.outcomes)
        first = self._first_place(lambda number: self._above[n - number][1] <= rate)
        q, p = self._above[n - first]
        if first == 0:
            return q
        more_q, more_p = self.outcomes[first - 1]
        if not more_p > 0:  # a weaker test does no harm
            return q
        part = arb(0).max(((rate - p) / more_p).min(arb(1)))
        return q + part * more_q

    def times(self, other):
        """Return the pair of both, of which nothing is left out and all losses are exact.

        Outcomes of the same loss are one outcome: no test needs to tell them apart.
        """
        require(
            self.losses is not None and other.losses is not None,
            "a mechanism without exact losses among several on the same records is not covered",
        )
        require(len(self.losses) * len(other.losses) <= MOST_ATOMS, "there are too many losses")
        found = {}
        for loss, (q, p) in zip(self.losses, self.outcomes, strict=True):
            for more, (other_q, other_p) in zip(other.losses, other.outcomes, strict=True):
                before = found.get(loss + more, (arb(0), arb(0)))
                found[loss + more] = (before[0] + q * other_q, before[1] + p * other_p)
        losses = sorted(found)
        # As a sum of positive terms, of which none is lost in rounding, however small it is.
        infinite = self.infinite + (1 - self.infinite) * other.infinite
        return Atoms([found[loss] for loss in losses], infinite, losses=losses)

    def sampled(self, probability, direction):
        """Return the pair on a Poisson sample."""
        keep = 1 - probability
        if direction == "remove":
            outcomes = [(keep * p + probability * q, p) for q, p in self.outcomes]
            return Atoms(outcomes, probability * self.infinite, self.left_out)
        outcomes = [(q, keep * q + probability * p) for q, p in self.outcomes]
        if not self.infinite.is_zero():  # which may hold no number but 0
            outcomes.append((self.infinite, keep * self.infinite))
        return Atoms(outcomes, None, self.left_out)

    def _first(self, holds):
        return self._first_place(lambda n: n == len(self.outcomes) or holds(*self.outcomes[n]))

    def _first_place(self, holds):
        """Return a number at which `holds` is true, the first if it stays true from then on."""
        low, high = 0, len(self.outcomes)
        while low < high:
            middle = (low + high) // 2
            if holds(middle):
                high = middle
            else:
                low = middle + 1
        return high
