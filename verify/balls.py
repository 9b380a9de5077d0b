"""Balls of python-flint: intervals that hold a real number, of which all arithmetic is certain."""

from fractions import Fraction

from flint import arb, ctx, fmpq

__all__ = ["BITS", "ball", "between", "normal_above", "set_precision", "text"]

BITS = 192


def set_precision(bits: int = BITS) -> None:
    """Let balls have so many bits from here on."""
    ctx.prec = bits


def ball(number: Fraction | float) -> arb:
    """Return the ball of an exact number."""
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def between(low: arb, high: arb) -> arb:
    """Return a ball that holds both balls, and all that lies between."""
    return low.union(high)


def normal_above(z: arb) -> arb:
    """Return the probability that a standard normal number is above z."""
    return (z / arb(2).sqrt()).erfc() / 2


def text(number: arb) -> str:
    """Return about a number, for messages."""
    return number.str(20, radius=False)
