"""Delta of Gaussian noise on Poisson samples, by integrals of mpmath."""

import mpmath


def one_step(noise, p, epsilon):
    """Return delta of one sampled step at any epsilon, a record removed, by its closed form."""
    below = mpmath.expm1(epsilon) + p
    if below <= 0:
        return -mpmath.expm1(epsilon)
    z = noise * mpmath.log(below / p) + 1 / (2 * noise)
    return p * mpmath.ncdf(1 / noise - z) - below * mpmath.ncdf(-z)


def two_steps(first, second, epsilon):
    """Return delta of two sampled steps and its error: of one, at what the other leaves."""
    noise, p = first

    def integrand(z):
        more = p * mpmath.expm1((z - 1 / (2 * noise)) / noise)  # the ratio of the densities, less 1
        return mpmath.npdf(z) * (1 + more) * one_step(*second, epsilon - mpmath.log1p(more))

    # where this one alone reaches epsilon, the other one's part falls steeply
    edge = noise * mpmath.log1p(mpmath.expm1(epsilon) / p) + 1 / (2 * noise)
    near = [edge + sign * mpmath.mpf(2) ** -k for k in range(1, 14, 2) for sign in (-1, 1)]
    knots = sorted([mpmath.mpf(k) for k in range(-15, 32)] + near + [edge])
    return mpmath.quad(integrand, knots, error=True)
