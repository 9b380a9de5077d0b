"""DiscretizePRV and ComposePRV, in plain numpy long double, to be read beside the paper.

Nothing here is fast. A privacy random variable (PRV) is any object with the methods

``cdf(y)``
    probability of a finite loss at most `y`, for an array `y`;
``conditional_mean(L)``
    ``E[Y | |Y| <= L]``;
``log_moment(tilts)``
    ``log E[exp(tilt * Y)]`` for an array of positive tilts;

and the attribute ``infinity``, its mass at infinite loss. The moments must be those of the
direction (add or remove) in which they are the larger, for they size the window on both sides.

The transforms are long double from numpy 2.0 on; rounding is not covered by the bounds.

References
----------
.. [1] Gopi, Lee, Wutschitz, "Numerical composition of differential privacy", NeurIPS 2021,
   arXiv:2106.02848.
"""

# ruff: noqa: N803, N806 (L is the paper's name)

from typing import NamedTuple

import numpy as np

TILTS = np.geomspace(0.02, 200.0, 100)


class LatticePmf(NamedTuple):
    """Masses of the losses ``i * h + shift``, i = -n..n, given that the loss is finite."""

    masses: np.ndarray
    h: np.longdouble
    shift: np.longdouble
    infinity: np.longdouble = np.longdouble(0)

    @property
    def losses(self):
        """The support, ascending."""
        n = len(self.masses) // 2
        return np.arange(-n, n + 1) * self.h + self.shift


def discretize(cdf, mean, L, h, infinity=0.0):
    """Discretize a PRV so that the mean is kept (DiscretizePRV).

    Parameters
    ----------
    cdf : callable
        Distribution function F_Y of the finite losses.
    mean : float
        ``E[Y | |Y| <= L]``.
    L, h : float
        Truncation, in ``h/2 + h*Z``, and mesh size (nats).
    infinity : float, optional
        Mass at infinite loss.

    Returns
    -------
    LatticePmf
        Its shift mu satisfies ``|mu| <= h/2``.
    """
    L, h = np.longdouble(L), np.longdouble(h)
    n = int(np.rint((L - h / 2) / h))
    i = np.arange(-n, n + 1)
    edges = (np.arange(-n, n + 2) - np.longdouble(0.5)) * h

    q = np.diff(cdf(edges))  # q_i = F(ih + h/2) - F(ih - h/2)
    q = q / q.sum()
    mu = np.longdouble(mean) - (i * h * q).sum()
    if not abs(mu) <= h / 2 * (1 + 1e-9):
        raise ValueError(f"mean = {mean} cannot be the mean given |Y| <= {L}: the shift is {mu}")
    return LatticePmf(q, h, mu, np.longdouble(infinity))


def compose(pmfs, counts):
    """Convolve lattice pmfs of one length and mesh modulo 2L (ComposePRV).

    Parameters
    ----------
    pmfs : sequence of LatticePmf
    counts : sequence of int
        How often each is composed with itself.

    Returns
    -------
    LatticePmf
        Losses reduced modulo ``2L = (2n + 1) h`` to (-L, L].
    """
    size, h = len(pmfs[0].masses), pmfs[0].h
    spectrum, shift, log_finite = 1, np.longdouble(0), np.longdouble(0)
    for pmf, count in zip(pmfs, counts, strict=True):
        if len(pmf.masses) != size or pmf.h != h:
            raise ValueError("pmfs must share one lattice")
        spectrum = spectrum * _power(np.fft.rfft(np.fft.ifftshift(pmf.masses)), count)
        shift += count * pmf.shift
        log_finite += count * np.log1p(-pmf.infinity)
    masses = np.fft.fftshift(np.fft.irfft(spectrum, size))

    turns = int(np.rint(shift / h))  # whole cells of the shift rotate, what is left stays a shift
    return LatticePmf(np.roll(masses, turns), h, shift - turns * h, -np.expm1(log_finite))


def _power(z, exponent):
    """Integer power by repeated squaring: its relative error is about exponent * eps."""
    result = np.ones_like(z)
    while exponent:
        if exponent & 1:
            result = result * z
        z, exponent = z * z, exponent >> 1
    return result


def delta(pmf, epsilon):
    """Delta of a discretized loss, ``E[(1 - exp(epsilon - Y))_+]``, summed from the top down."""
    above = pmf.losses > epsilon
    terms = -pmf.masses[above] * np.expm1(epsilon - pmf.losses[above])
    return pmf.infinity + (1 - pmf.infinity) * np.cumsum(terms[::-1])[-1:].sum()


def epsilon(pmf, delta):
    """Smallest epsilon, of either sign, at which `pmf` has at most `delta` (inf if none)."""
    target = (delta - pmf.infinity) / (1 - pmf.infinity)
    if target <= 0:
        return np.longdouble(np.inf)
    x = pmf.losses
    q_above = np.cumsum(pmf.masses[::-1])[::-1]  # suffix sums of q and of q e^(-x)
    p_above = np.cumsum((pmf.masses * np.exp(-x))[::-1])[::-1]

    # Between two lattice points delta is q_above - e^epsilon p_above of the upper one. The
    # crossing is searched from the top, where rounding has not yet made the curve wavy.
    too_much = np.flatnonzero(q_above - np.exp(x) * p_above > target)
    first = too_much[-1] + 1 if too_much.size else 0
    if first == len(x):  # rounding hides so small a delta in the whole window
        return np.longdouble(np.inf)
    if q_above[first] <= target:
        return np.longdouble(-np.inf)
    return np.log((q_above[first] - target) / p_above[first])


def renyi_epsilon(log_moments, delta, tilts=TILTS):
    """Upper bound on epsilon from moments: ``delta(eps) <= M(t) e^(-t eps) g(t)`` for every t.

    ``g(t) = t^t / (1 + t)^(1 + t)`` is the maximum over s > 0 of ``e^(-t s) (1 - e^(-s))``; the
    Renyi divergence of order ``1 + t`` is ``log M(t) / t``.
    """
    log_g = tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts)
    return max(0.0, np.min((log_moments + log_g - np.log(delta)) / tilts))


def mesh_size(counts, eps_error, delta_error):
    """Choose the mesh of Theorem 5.5."""
    return np.longdouble(eps_error) / _eps_error_per_mesh(counts, delta_error)


def eps_error_of(counts, h, delta_error):
    """Invert `mesh_size`: the eps_error that Theorem 5.5 promises at mesh `h`."""
    return float(h * _eps_error_per_mesh(counts, delta_error))


def _eps_error_per_mesh(counts, delta_error):
    return np.sqrt(np.longdouble(sum(counts)) / 2 * np.log(12 / np.longdouble(delta_error)))


def truncation(prvs, counts, eps_error, delta_error):
    """Choose the truncation L of Theorem 5.5, rounded up to ``h/2 + h*Z``.

    The theorem asks for L to be at least so large. Of those that are, the first is taken for which
    the transform is fast: ``2L/h`` odd, with prime factors up to 7.
    """
    h, total = mesh_size(counts, eps_error, delta_error), sum(counts)
    log_moments = [prv.log_moment(TILTS) for prv in prvs]
    composed = sum(k * moments for k, moments in zip(counts, log_moments, strict=True))
    L = 2 + max(
        eps_error + renyi_epsilon(composed, delta_error / 4),
        *(renyi_epsilon(moments, delta_error / (8 * total)) for moments in log_moments),
    )
    return odd_smooth_number(2 * L / h) * h / 2


def odd_smooth_number(least):
    """Find the smallest odd number >= `least` without prime factors above 7."""
    bits = range(int(np.log2(float(least))) + 2)
    return min(
        number
        for number in (3**a * 5**b * 7**c for a in bits for b in bits for c in bits)
        if number >= least
    )


def compose_prvs(prvs, counts, eps_error, delta_error):
    """Discretize and compose as Theorem 5.5 asks.

    Parameters
    ----------
    prvs : sequence of PRVs
        See the head of this module.
    counts : sequence of int
    eps_error, delta_error : float
        The errors of the theorem.

    Returns
    -------
    LatticePmf
    """
    h = mesh_size(counts, eps_error, delta_error)
    L = truncation(prvs, counts, eps_error, delta_error)
    pmfs = [discretize(prv.cdf, prv.conditional_mean(L), L, h, prv.infinity) for prv in prvs]
    return compose(pmfs, counts)


def epsilon_bounds(composed, target_delta, eps_error, delta_error):
    """Bound epsilon by Theorem 5.5, rounding aside: ``(lower, estimate, upper)``."""
    lower = epsilon(composed, target_delta + delta_error) - eps_error
    estimate = epsilon(composed, target_delta)
    upper = epsilon(composed, target_delta - delta_error) + eps_error
    return tuple(max(0.0, float(bound)) for bound in (lower, estimate, upper))


def delta_bounds(composed, target_epsilon, eps_error, delta_error):
    """Bound delta by Theorem 5.5, rounding aside: ``(lower, estimate, upper)``."""
    lower = delta(composed, target_epsilon + eps_error) - delta_error
    estimate = delta(composed, target_epsilon)
    upper = delta(composed, target_epsilon - eps_error) + delta_error
    return tuple(min(max(0.0, float(bound)), 1.0) for bound in (lower, estimate, upper))
