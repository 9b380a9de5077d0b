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
