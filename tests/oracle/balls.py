"""Numbers that are known to lie in a ball, by Arb: every operation rounds outwards.

A double becomes a ball of radius 0. What is compared with a ball is compared as Arb compares:
`a < b` is true only if it holds of every pair of numbers in the two balls.
"""

import math

import flint
from flint import arb

PRECISION = 160  # bits
ZERO, ONE, INFINITY = arb(0), arb(1), arb.pos_inf()

flint.ctx.prec = PRECISION


class TooSlowError(Exception):
    """The oracle gives up: the value would take too long, or comes out in too wide a ball."""


class Precision:
    """Work with so many bits inside a `with`."""

    def __init__(self, bits):
        self.bits = bits

    def __enter__(self):
        self.before, flint.ctx.prec = flint.ctx.prec, self.bits

    def __exit__(self, *_):
        flint.ctx.prec = self.before


def exact(x):
    """Return a double, an integer or a ball as a ball."""
    if isinstance(x, arb):
        return x
    if isinstance(x, int):
        return arb(x)
    x = float(x)
    if math.isinf(x):
        return INFINITY if x > 0 else -INFINITY
    return arb(x)


def positive_part(x):
    """Return max(x, 0)."""
    return x.max(ZERO)


def clamp(x, low, high):
    """Return x moved into [low, high]."""
    return x.max(low).min(high)


def hull(low, high):
    """Return a ball that has both, and all between."""
    return low.union(high)


def normal_tail(x):
    """Return the mass that a standard normal variable has above x."""
    return (x / arb(2).sqrt()).erfc() / 2


def total(terms):
    """Return the sum."""
    result = ZERO
    for term in terms:
        result += term
    return result


def never_below(epsilon):
    """Return (1 - e^epsilon)_+, below which no delta is."""
    return positive_part(-epsilon.expm1())


def between(x):
    """Return both ends of a ball, as floats that lie outside of it."""
    low, high = float(x.lower()), float(x.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
