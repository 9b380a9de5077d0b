"""Quotients of parameters, rounded to the side that is safe."""

import math
import sys
from fractions import Fraction


def quotient_rounded_down(numerator: float, denominator: float) -> float:
    """Return the largest float that is at most the exact quotient of finite floats > 0.

    Where the quotient is a scale of noise, the rounded one is no more noise than there is.
    """
    found = numerator / denominator
    if math.isinf(found):  # the exact quotient is above all floats
        return sys.float_info.max
    if Fraction(found) * Fraction(denominator) > Fraction(numerator):
        return math.nextafter(found, 0.0)
    return found


def quotient_rounded_up(numerator: int, denominator: int) -> float:
    """Return the least float that is at least the exact quotient of integers > 0, which is <= 1.

    Where the quotient is a share of the records, the rounded one is no smaller share.
    """
    found = numerator / denominator
    if Fraction(found) < Fraction(numerator, denominator):
        return math.nextafter(found, 1.0)
    return found
