"""A lattice against its mechanism: above it, or below it, at every epsilon.

The curve of a lattice of masses a_j at losses y_j and a mass b at infinity is, with t = e^epsilon,

    D(t) = b + sum over y_j > epsilon of a_j (1 - t e^-y_j):

linear between the e^y_j, falling, and b beyond the last. The mechanism's is convex and falls from 1
at t = 0. So

* D lies above it everywhere if it does at 0 and at every e^y_j: between two of them, D is a chord's
  height or more, and a convex function is below its chords. At 0 it is the sum of all masses, which
  is 1 (`witness.lattice`);
* D is the maximum of 0 and of the lines A_i - t B_i, A_i = b + sum over j >= i of a_j, B_i = sum
  over j >= i of a_j e^-y_j. It lies below the mechanism's curve everywhere if for each i some test
  S has Q(S) >= A_i and P(S) <= B_i, as Q(S) - t P(S) is then at least that line, and at most the
  curve.
"""

from flint import arb

from .balls import ball, text
from .refusal import Refused, require

__all__ = ["check"]


def check(lattice, pair, above, name):
    """Raise Refused unless the lattice lies above the pair's curve, or below it."""
    points = [(a, y) for a, y in zip(lattice.masses, lattice.losses(), strict=True) if a > 0]
    q, p = ball(lattice.infinite), arb(0)
    compare = _check_above if above else _check_below
    compare(points, q, p, pair, name)


def _check_above(points, q, p, pair, name):
    for mass, loss in reversed(points):
        t = ball(loss).exp()
        value, true = q - t * p, pair.delta(t)
        if not value >= true:
            raise Refused(
                f"{name}: at the knot {float(loss)!r} the lattice has delta = {text(value)}, "
                f"the mechanism {text(true)}"
            )
        q, p = q + ball(mass), p + ball(mass) / t


def _check_below(points, q, p, pair, name):
    _, infinite = pair.greatest_loss()
    require(q <= infinite, f"{name}: the mass at infinity is more than the mechanism's")
    for mass, loss in reversed(points):
        q, p = q + ball(mass), p + ball(mass) / ball(loss).exp()
        power = pair.power(p)
        if not q <= power:
            raise Refused(
                f"{name}: from the point {float(loss)!r} on, the lattice has Q = {text(q)} and "
                f"P = {text(p)}, for which a test has no more than Q = {text(power)}"
            )
