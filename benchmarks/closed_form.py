"""The privacy curve of the Gaussian mechanism, in closed form."""

import math


def gaussian_delta(epsilon, mu):
    """Evaluate delta of N(mu, 1) against N(0, 1), to about 1e-13 relatively.

    ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)`` (Balle, Wang, ICML 2018), with
    the common factor of both terms taken out, so that neither underflows alone.
    """
    from scipy.special import erfcx

    a = (epsilon / mu - mu / 2) / math.sqrt(2)
    b = (epsilon / mu + mu / 2) / math.sqrt(2)  # b^2 - a^2 = epsilon
    if a < 0:  # erfcx would overflow
        return (math.erfc(a) - math.exp(epsilon) * math.erfc(b)) / 2
    return math.exp(-a * a) * (erfcx(a) - erfcx(b)) / 2


def gaussian_epsilon(delta, mu):
    """Invert `gaussian_delta` by bisection; 0 where `delta` is at or above delta(0)."""
    low, high = 0.0, 1.0
    if gaussian_delta(low, mu) <= delta:
        return 0.0
    while gaussian_delta(high, mu) > delta:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if gaussian_delta(middle, mu) > delta else (low, middle)
    return high
