"""Koskela et al.'s Fourier accountant, in plain numpy long double, to be read beside the papers.

A loss is rounded up to the grid ``i * h`` for an upper bound of delta (their omega^R) and down for
a lower bound (omega^L). What the transform adds, since it is periodic and sees [-L, L) alone, is
bounded for every lambda > 0 by

    error = (e^(k a+) + sum_{j=1..k} e^(j a+) + sum_{j=1..k} e^(j a-)) e^(-lambda L) / (1 - e^(-2 lambda L)),
    a+ = log E[e^(lambda Y)],   a- = log E[e^(-lambda Y)],

with Y the rounded loss. Both roundings lie h apart in every step, so that the bounds are k * h
apart in epsilon: to halve that the grid has to be halved.

PRVs are those of compose_prv.py; here `log_moment` must hold for negative tilts too. Rounding of
floating point is not covered.

References
----------
.. [1] Koskela, Jälkö, Prediger, Honkela, "Tight differential privacy for discrete-valued mechanisms
   and for the subsampled Gaussian mechanism using FFT", AISTATS 2021, arXiv:2006.07134.
.. [2] Koskela, Honkela, "Computing differential privacy guarantees for heterogeneous compositions
   using FFT", arXiv:2102.12412.
"""  # noqa: E501

# ruff: noqa: N803, N806 (L is the papers' name)

from typing import NamedTuple

import numpy as np

from .compose_prv import TILTS, LatticePmf, compose, delta, epsilon, odd_smooth_number


class Composed(NamedTuple):
    """Both roundings after composition, and the bound of what the transform has added."""

    down: LatticePmf
    up: LatticePmf
    error: float


def round_losses(cdf, L, h):
    """Round a loss to the grid, down and up (omega^L and omega^R).

    Parameters
    ----------
    cdf : callable
        Distribution function of the loss.
    L, h : float
        Truncation, in ``h/2 + h*Z``, and mesh size (nats).

    Returns
    -------
    down, up : LatticePmf
        On ``i * h``, i = -n..n; what is rounded to other points is left out.
    """
    L, h = np.longdouble(L), np.longdouble(h)
    n = int(np.rint((L - h / 2) / h))
    cells = np.diff(cdf(np.arange(-n - 1, n + 2) * h))  # of ((i-1) h, i h], i = -n..n+1
    return LatticePmf(cells[1:], h, np.longdouble(0)), LatticePmf(cells[:-1], h, np.longdouble(0))


def log_errors(prv, k, h, tilts=TILTS):
    """Return the logarithm of the papers' sums, without the factor with L, for each lambda.

    Rounding moves a loss by h at most, and its log-moments by ``lambda * h``.
    """
    up = prv.log_moment(tilts) + tilts * h
    down = prv.log_moment(-tilts) + tilts * h
    return np.logaddexp.reduce([k * up, log_geometric(up, k), log_geometric(down, k)])


def log_geometric(a, k):
    """Return the logarithm of ``sum_{j=1..k} e^(j a)``; 2m terms are (1 + e^(m a)) times m."""
    total, terms = np.array(a), 1
    for bit in bin(k)[3:]:
        total, terms = total + np.logaddexp(0, terms * a), 2 * terms
        if bit == "1":
            total, terms = np.logaddexp(total, (terms + 1) * a), terms + 1
    return total


def truncation(prv, k, h, error, tilts=TILTS):
    """Choose the smallest L for which some lambda bounds the transform's part by `error`.

    Returns
    -------
    L : long double
        In ``h/2 + h*Z``, with a fast transform, see compose_prv.truncation.
    """
    # e^(-lambda L) / (1 - e^(-2 lambda L)) = error / sum, solved for e^(-lambda L)
    excess = log_errors(prv, k, h, tilts) - np.log(error)
    L = np.min((excess + np.log((1 + np.sqrt(1 + 4 * np.exp(-2 * excess))) / 2)) / tilts)
    return odd_smooth_number(2 * L / h) * np.longdouble(h) / 2


def compose_rounded(prv, k, h, delta_error):
    """Compose k times at mesh `h`, in a window where the transform adds `delta_error` at most.

    Parameters
    ----------
    prv : PRV
    k : int
    h : float
        Mesh size, nats.
    delta_error : float
        Bound of truncation and periodicity, in (0, 1).

    Returns
    -------
    Composed
    """
    down, up = (
        compose([pmf], [k]) for pmf in round_losses(prv.cdf, truncation(prv, k, h, delta_error), h)
    )
    return Composed(down, up, delta_error)


def delta_bounds(composed, target_epsilon):
    """Bound delta at an epsilon: ``(lower, upper)``."""
    lower = delta(composed.down, target_epsilon) - composed.error
    upper = delta(composed.up, target_epsilon) + composed.error
    return max(0.0, float(lower)), min(1.0, float(upper))


def epsilon_bounds(composed, target_delta):
    """Bound epsilon at a delta: ``(lower, upper)``."""
    lower = epsilon(composed.down, target_delta + composed.error)
    upper = epsilon(composed.up, target_delta - composed.error)
    return max(0.0, float(lower)), max(0.0, float(upper))
