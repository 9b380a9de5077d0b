"""Additive noise by its distribution functions, such as those of scipy.stats."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import OfArrays

__all__ = ["FromDistribution"]

_FUNCTIONS = ("logpdf", "cdf", "sf", "logsf", "isf", "support")
_LEAST_TAIL, _CHECKED = 1e-12, 257  # quantiles at which the noise is looked at
_BENT = 1e-7  # of the log density: second differences above this are no rounding
_HALVINGS = 100  # of an interval of doubles


@public
@dataclass(frozen=True, slots=True, eq=False)
class FromDistribution(OfArrays):
    """Additive noise of a continuous distribution, by the functions that `scipy.stats` has.

    Parameters
    ----------
    distribution : frozen distribution
        Of `scipy.stats`, or any object with the methods ``logpdf``, ``cdf``, ``sf``, ``logsf``,
        ``isf`` and ``support`` of arrays. Noise on all reals, symmetric about 0, with a log-concave
        density.
    sensitivity : float, default 1
        How far the number that the noise is added to moves at most, finite and > 0.
    error : float, default 1e-12
        What a computed delta of one use may be off by, in (0, 1e-3]. It must be at least the sum
        of twice the relative error of ``sf`` and of the exponential of ``logsf``, and of the
        absolute error of differences of ``logpdf`` where ``sf`` is above `error`.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, or the distribution is seen not to be
        such noise.

    Notes
    -----
    *Assumed*: the functions are those of one distribution, to `error`; the density f is symmetric
    about 0 and log-concave. *Checked* at 257 quantiles, down to tails of 1e-12: symmetry of the
    tails, and second differences of the log density. That refuses Cauchy and Student noise and
    mixtures; it is no proof for densities that bend between these quantiles.

    *Why one pair dominates.* If f is log-concave, ``f(w - s) / f(w)`` does not fall in w, so that
    the best sets are ``w > c``, and the hockey-stick divergence at e^epsilon is ``max over c of S(c
    - s) - e^epsilon S(c)`` with the survival function S. Each term grows with s, so the greatest
    shift dominates all shifts up to it; symmetry makes shifts of either sign alike.

    *Why the upper bound holds.* Let D(epsilon) be that maximum, where c is found by bisection of
    the log ratio; a c whose log ratio is off by h loses at most h times the mass of Q between it
    and the best c, since the value changes by ``Q (1 - e^(epsilon - log ratio))``. So the
    computed D is off by `error` at most. The curve given to the core is ``D + (1 - D) e`` with
    ``e = error / (1 - D(0))``, as if the noise were left out with probability e: it is at least
    the exact D, since 1 - D does not fall with epsilon. At epsilon < 0 the identity ``1 - D(-x) =
    e^-x (1 - D(x))`` of symmetric noise is used. The lower bound is that of the widened curve: it
    may lie above the exact epsilon by what e in the delta of each use is worth. Deltas below e
    times the number of uses have no finite epsilon.

    Two such mechanisms are equal if `scipy.stats` has frozen both with the same arguments, or if
    their distributions are the same object.

    Examples
    --------
    >>> import prvcore as prv
    >>> from scipy.stats import logistic
    >>> noise = prv.FromDistribution(logistic(scale=2), sensitivity=1)
    >>> f"{prv.compose(noise, 10).epsilon(1e-6):.2f}"
    '[3.81, 3.82]'

    """

    distribution: Any
    sensitivity: float = 1.0
    error: float = 1e-12

    def __post_init__(self) -> None:
        self._check(
            sensitivity=_arguments.positive,
            error=lambda value, name: _arguments.real(
                value, name, "in (0, 1e-3]", lambda x: 0.0 < x <= 1e-3
            ),
        )
        if callable(self.distribution):  # a family of scipy.stats, without its parameters
            raise TypeError(
                f"distribution must be frozen, as norm(scale=2) is, got {self.distribution!r}"
            )
        missing = [name for name in _FUNCTIONS if not hasattr(self.distribution, name)]
        if missing:
            raise TypeError(
                f"distribution must be a frozen continuous one of scipy.stats, with the method "
                f"{missing[0]}, got {self.distribution!r}"
            )
        _refuse_other_noise(self.distribution, self.error)

    def _key(self) -> tuple[Any, ...]:
        family = getattr(self.distribution, "dist", None)
        noise: Any = id(self.distribution)
        if isinstance(getattr(family, "name", None), str):  # frozen by scipy.stats
            options = tuple(sorted(self.distribution.kwds.items()))
            noise = (type(family).__qualname__, self.distribution.args, options)
        return ("FromDistribution", noise, self.sensitivity, self.error)

    def _left_out(self) -> float:
        """Return the probability of the widened curve that the noise is left out."""
        both = 2.0 * float(self.distribution.sf(0.5 * self.sensitivity))  # 1 - D(0)
        return min(self.error / both, 1.0) if both > 0.0 else 1.0

    def _delta(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the widened curve, which lies on or above the exact one."""
        size = np.abs(epsilons)
        kept = (1.0 - self._left_out()) * (1.0 - self._at(size))
        values = 1.0 - np.where(epsilons < 0.0, np.exp(-size), 1.0) * kept
        # what rounding makes rise is moved up before it, never down
        raised: NDArray[np.float64] = np.maximum.accumulate(values[::-1])[::-1]
        return raised

    def _at(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return D at epsilons >= 0, to `error`."""
        shift, noise = self.sensitivity, self.distribution
        with np.errstate(all="ignore"):
            low = np.full(epsilons.shape, 0.5 * shift)  # where the log ratio is 0
            high = np.maximum(2.0 * low, 1.0)
            # where no mass of Q is left beyond, D is 0 whatever the ratio is
            while (short := (self._ratio(high) < epsilons) & (noise.sf(high - shift) > 0.0)).any():
                high = np.where(short, 2.0 * high, high)
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                if ((middle == low) | (middle == high)).all():
                    break
                short = self._ratio(middle) < epsilons
                low, high = np.where(short, middle, low), np.where(short, high, middle)
            above = noise.sf(high - shift)
            value = above - np.exp(epsilons + noise.logsf(high))
        found: NDArray[np.float64] = np.clip(np.nan_to_num(value, nan=0.0), 0.0, 1.0)
        return found

    def _ratio(self, outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log ratio of the densities, infinite where neither is a double."""
        found = self.distribution.logpdf(outcomes - self.sensitivity)
        found = found - self.distribution.logpdf(outcomes)
        ratio: NDArray[np.float64] = np.where(np.isnan(found), np.inf, found)
        return ratio

    def _handle(self) -> core.Handle:
        return core.curve(self._delta, self._left_out())


def _refuse_other_noise(noise: Any, error: float) -> None:
    """Raise ValueError if the noise is seen to be asymmetric, bounded or not log-concave."""
    if tuple(map(float, noise.support())) != (-np.inf, np.inf):
        raise ValueError(f"distribution must be on all reals, got the support {noise.support()!r}")
    half = np.geomspace(0.5, _LEAST_TAIL, _CHECKED // 2 + 1)
    places = np.asarray(noise.isf(half), dtype=float)
    upper, lower = np.asarray(noise.sf(places)), np.asarray(noise.cdf(-places))
    if not (np.isfinite(places).all() and (np.abs(upper - lower) <= error + 1e-9 * upper).all()):
        raise ValueError(
            "distribution must be symmetric about 0: a constant added to noise has no effect, so "
            "leave loc out"
        )
    places = np.unique(np.concatenate([-places, places]))
    heights = np.asarray(noise.logpdf(places), dtype=float)
    slopes = np.diff(heights) / np.diff(places)
    allowed = _BENT * (np.abs(slopes[:-1]) + np.abs(slopes[1:]) + 1.0 / places[-1])
    bent = np.flatnonzero(np.diff(slopes) > allowed)
    if bent.size or not np.isfinite(heights).all():
        where = float(places[bent[0] + 1]) if bent.size else float("nan")
        raise ValueError(
            "distribution must have a log-concave density, whose likelihood ratio is monotone, got "
            f"one that is not near {where:.4g}"
        )
