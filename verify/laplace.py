"""Laplace noise: densities e^(-|x|) / 2 and e^(-|x - a|) / 2, in units of the scale.

The loss is |x| - |x - a|, which rises from -a at x <= 0 to a at x >= a. With x between, P(X > x) =
e^-x / 2 and Q(X > x) = 1 - e^(x - a) / 2; the loss 2x - a is e if x = (a + e) / 2, and there Q -
e^e P = 1 - e^((e - a) / 2).
"""

from flint import arb

from .balls import between

__all__ = ["Laplace"]


class Laplace:
    """The pair of a sensitivity over the scale."""

    attained = True  # by some data sets

    def __init__(self, shift):
        self.shift = shift

    def greatest_loss(self):
        """Return the greatest loss, and the mass of infinite loss."""
        return self.shift, arb(0)

    def delta(self, t):
        """Return sup_S Q(S) - t P(S)."""
        most = self.shift.exp()
        if t >= most:
            return arb(0)
        if t * most <= 1:
            return 1 - t
        inner = 1 - (t / most).sqrt()
        if t < most and t * most > 1:
            return inner
        return between(inner, between(arb(0), arb(0).max(1 - t)))

    def power(self, rate):
        """Return Q(S) of a set, or a mixture of sets, for which P(S) is at most the rate.

        The straight parts, where a part of the outcomes of the greatest or the least loss is
        rejected, are the tangents of the curved part at its ends. So the curved part bounds the
        power from below everywhere.
        """
        ratio = self.shift.exp()
        if rate >= 1:
            return arb(1)
        if 2 * rate * ratio <= 1:
            return rate * ratio
        if 2 * rate >= 1:
            return 1 - (1 - rate) / ratio
        return 1 - 1 / (4 * rate * ratio)
