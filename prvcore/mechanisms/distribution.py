"""Additive noise of a distribution of scipy.stats, by the logarithms of its functions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import OfArrays

__all__ = ["FromDistribution"]

_Floats: TypeAlias = NDArray[np.float64]
_Function: TypeAlias = Callable[[_Floats], _Floats]

_UNIT = 2.0**-53
_ERROR = 4e-15  # of the functions below; test_distributions.py measures less than a quarter of it
_NOTHING = -746.0  # the logarithm of what is no double
_BEYOND = -760.0
_CLOSE = 2.0**-51  # of the log ratios at both ends of an interval, over 1 + their size
_HALVINGS = 2200  # more than take the widest interval of doubles to neighbouring ones
_MOST_ERROR = 2.0**-12  # that the core takes
_FAR = 20.0  # nats: from some loss above this on the core takes e^loss times P's tail
_CHECKED = 129  # places at which noise is looked at that is not known
_BENT = 1e-6  # of slopes: second differences above this part of them are no rounding
_MOST_SHIFT, _MOST_OFFSET = 1e5, 1e6  # in units of the noise


class _Noise(NamedTuple):
    """Noise in a unit of its own, by logarithms that are off by `error` max(1, their size)."""

    log_density: _Function
    log_lower: _Function  # of the distribution function
    log_upper: _Function  # of the survival function
    error: float
    offset: float = 0.0  # what is added to places before functions are called, at most

    def mirrored(self) -> "_Noise":
        return _Noise(
            lambda x: self.log_density(-x),
            lambda x: self.log_upper(-x),
            lambda x: self.log_lower(-x),
            self.error,
            self.offset,
        )


# ---- The distributions that are known: log-concave, and their functions good to _ERROR -----------


def _normal() -> _Noise:
    from scipy.special import log_ndtr  # who has a distribution of scipy.stats has this

    half_log = 0.5 * math.log(2.0 * math.pi)
    return _Noise(lambda x: -0.5 * x * x - half_log, log_ndtr, lambda x: log_ndtr(-x), _ERROR)


def _laplace() -> _Noise:
    def upper(x: _Floats) -> _Floats:
        below: _Floats = np.log1p(-0.5 * np.exp(np.minimum(x, 0.0)))
        return np.where(x > 0.0, -x - math.log(2.0), below)

    return _Noise(lambda x: -np.abs(x) - math.log(2.0), lambda x: upper(-x), upper, _ERROR)


def _logistic() -> _Noise:
    def upper(x: _Floats) -> _Floats:
        found: _Floats = -np.logaddexp(0.0, x)
        return found

    return _Noise(lambda x: upper(x) + upper(-x), lambda x: upper(-x), upper, _ERROR)


def _gumbel() -> _Noise:
    def upper(x: _Floats) -> _Floats:
        # from 40 on the next term of the series is below a rounding
        near: _Floats = np.log(-np.expm1(-np.exp(-np.minimum(x, 40.0))))
        return np.where(x > 40.0, -x, near)

    return _Noise(lambda x: -x - np.exp(-x), lambda x: -np.exp(-x), upper, _ERROR)


def _hyperbolic_secant() -> _Noise:
    def upper(x: _Floats) -> _Floats:
        near: _Floats = np.log(2.0 / math.pi * np.arctan(np.exp(-np.minimum(x, 20.0))))
        return np.where(x > 20.0, math.log(2.0 / math.pi) - x, near)

    def density(x: _Floats) -> _Floats:
        size = np.abs(x)
        found: _Floats = math.log(2.0 / math.pi) - size - np.log1p(np.exp(-2.0 * size))
        return found

    return _Noise(density, lambda x: upper(-x), upper, _ERROR)


# By their names in scipy.stats, and whether they are symmetric about their location.
_KNOWN: dict[str, tuple[Callable[[], _Noise], bool]] = {
    "norm": (_normal, True),
    "laplace": (_laplace, True),
    "logistic": (_logistic, True),
    "hypsecant": (_hyperbolic_secant, True),
    "gumbel_r": (_gumbel, False),
    "gumbel_l": (lambda: _gumbel().mirrored(), False),
}


def _known_name(distribution: Any) -> str | None:
    """Return the name of a known distribution: of the very class, support and functions.

    An instance of the class may have another support, or functions of its own.
    """
    from scipy import stats

    family: Any = getattr(distribution, "dist", None)
    name = getattr(family, "name", None)
    if name not in _KNOWN or type(family) is not type(getattr(stats, name)):
        return None
    changed = vars(family).keys() - vars(getattr(stats, name)).keys()
    if changed or (family.a, family.b) != (-math.inf, math.inf):
        return None
    return str(name)


# ---- The mechanism -------------------------------------------------------------------------------


@public
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FromDistribution(OfArrays):
    """Additive noise of a distribution of ``scipy.stats`` with a log-concave density.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats
        Such as ``scipy.stats.logistic(scale=2)``. Known are norm, laplace, logistic, hypsecant,
        gumbel_r and gumbel_l. Of others, all reals must be possible, `log_concave` and `increasing`
        be stated, and their logpdf, logcdf and logsf be as exact as `error` says.
    sensitivity : float, default 1
        How far the number that the noise is added to moves at most if a record is added or removed,
        finite and > 0.
    increasing : bool, optional
        Which way that number moves: with True no added record ever lowers it, as in a count, and
        with False none ever raises it. If left out it may move either way, for which the noise must
        be known to be symmetric.
    log_concave : bool, default False
        Your statement that the logarithm of the density is concave. It is part of what bounds rest
        on: if it is wrong, so may they be. Known distributions need no statement.
    error : float, optional
        Your statement of how exact the functions of a distribution that is not known are: each
        value of logpdf, logcdf and logsf is within ``error * max(1, abs(value))`` of the exact one,
        in [1e-15, 1e-8]. By default 1e-13.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range; or the distribution is not known and a
        statement is missing, or is seen to be wrong.

    Notes
    -----
    The log-concave density makes the loss monotone in the noise, so that the pair of the greatest
    shift dominates all smaller ones. Bounds allow for the errors of the functions, of the place
    where the loss crosses a value, and of rounding, on both sides: "Tails that are told" in the
    page on bounds proves how. Statements are checked at some 129 places alone, out to 64 times half
    the distance of the quartiles; that refuses tails that are much too heavy, and proves nothing.

    Noise that is not known to be symmetric has one pair for records that are removed and another
    for those that are added. It is neither sampled nor a part of other mechanisms:
    `PoissonSubsampled`, `RandomAllocation` and their like refuse it.

    A constant that is added to the noise, such as its location, changes nothing. For records that
    are replaced, give twice the sensitivity and keep ``neighbors="add-or-remove"``.

    Two such mechanisms are equal if they are made with the same distribution object, or with known
    distributions of the same class and scale, and with the same other arguments.

    References
    ----------
    .. [1] Saumard, Wellner, "Log-concavity and strong log-concavity: a review", Statistics Surveys
       8 (2014), arXiv:1404.5886.

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
    increasing: bool | None = None
    log_concave: bool = False
    error: float | None = None

    def __post_init__(self) -> None:
        self._check(sensitivity=_arguments.positive)
        for name in ("increasing", "log_concave"):
            value = getattr(self, name)
            if not isinstance(value, bool) and not (value is None and name == "increasing"):
                raise TypeError(f"{name} must be True or False, got {value!r}")
        if self.error is not None:
            self._check(
                error=lambda value, name: _arguments.real(
                    value, name, "in [1e-15, 1e-8]", lambda x: 1e-15 <= x <= 1e-8
                )
            )
        distribution = self.distribution
        if callable(distribution) or not all(
            hasattr(distribution, name) for name in ("dist", "args", "kwds", "logpdf", "logcdf")
        ):
            raise TypeError(
                "distribution must be a continuous one of scipy.stats with its parameters, such as "
                f"scipy.stats.logistic(scale=2), got {distribution!r}"
            )
        self._standard()

    def _standard(self) -> tuple[_Noise, float, bool]:
        """Return the noise in a unit of its own, the sensitivity in that unit, and its symmetry."""
        name = _known_name(self.distribution)
        if name is not None:
            make, symmetric = _KNOWN[name]
            noise, unit = make(), _scale_of(self.distribution)
        else:
            noise, unit = _stated(self)
            symmetric = False
        if self.increasing is None and not symmetric:
            raise ValueError(
                "increasing must be stated where noise is not known to be symmetric: whether added "
                "records never lower (True) or never raise (False) the number it is added to"
            )
        shift = self.sensitivity / unit
        if not 0.0 < shift <= _MOST_SHIFT:
            raise ValueError(
                f"sensitivity must be > 0 and at most {_MOST_SHIFT:g} times the scale of the noise "
                f"in doubles, got {self.sensitivity!r} where the scale is {unit!r}"
            )
        return noise, shift, symmetric

    def __repr__(self) -> str:
        distribution = self.distribution
        named = (f"{name}={value!r}" for name, value in distribution.kwds.items())
        made = f"{distribution.dist.name}({', '.join([*map(repr, distribution.args), *named])})"
        parts = [made, f"sensitivity={self.sensitivity!r}"]
        for name, default in (("increasing", None), ("log_concave", False), ("error", None)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)!r}")
        return f"FromDistribution({', '.join(parts)})"

    def _key(self) -> tuple[Any, ...]:
        name = _known_name(self.distribution)
        noise = ("", id(self.distribution), 0.0)
        if name is not None:
            noise = (name, 0, _scale_of(self.distribution))
        way = {None: 0, False: 1, True: 2}[self.increasing]
        rest = (way, self.log_concave, 0.0 if self.error is None else self.error)
        return ("FromDistribution", *noise, self.sensitivity, *rest)

    def _handle(self) -> core.Handle:
        noise, shift, symmetric = self._standard()
        # A number that a record raises: with the record it is higher by the shift.
        raised = noise.mirrored() if self.increasing is False else noise
        return core.tails(partial(_tails_of_pair, raised, shift, symmetric), symmetric)


def _scale_of(distribution: Any) -> float:
    """Return the scale of a known distribution, which has no other parameter but its location."""

    def scale_of(loc: Any = 0.0, scale: Any = 1.0) -> float:
        _arguments.real(loc, "loc", "finite", math.isfinite)
        return _arguments.positive(scale, "scale")

    return scale_of(*distribution.args, **distribution.kwds)


# ---- Distributions that are not known ------------------------------------------------------------


def _stated(mechanism: FromDistribution) -> tuple[_Noise, float]:
    """Return noise whose properties the user states, in units of half its middle half."""
    distribution = mechanism.distribution
    if not mechanism.log_concave:
        raise ValueError(
            "log_concave must be stated where the distribution is not known: log_concave=True says "
            "that the logarithm of its density is concave, on which bounds then rest, got "
            f"{distribution.dist.name}"
        )
    if tuple(map(float, distribution.support())) != (-math.inf, math.inf):
        raise ValueError(
            f"distribution must be on all reals, got the support {distribution.support()!r}"
        )
    low, middle, high = (float(distribution.ppf(part)) for part in (0.25, 0.5, 0.75))
    unit = 0.5 * (high - low)
    if not (math.isfinite(low + high) and unit > 0.0 and abs(middle) <= _MOST_OFFSET * unit):
        raise ValueError(
            f"the middle of the distribution must be within {_MOST_OFFSET:g} of its widths of 0, "
            f"got quartiles {low!r}, {middle!r} and {high!r}: subtract a constant"
        )
    log_unit = math.log(unit)

    def at(function: Any, x: _Floats) -> _Floats:
        with np.errstate(all="ignore"):
            found: _Floats = np.asarray(function(middle + unit * x), dtype=np.float64)
        return found

    error = 1e-13 if mechanism.error is None else mechanism.error
    noise = _Noise(
        lambda x: at(distribution.logpdf, x) + log_unit,
        lambda x: at(distribution.logcdf, x),
        lambda x: at(distribution.logsf, x),
        # with the logarithm of the unit, and its rounding
        (error + 8.0 * _UNIT) * (1.0 + abs(log_unit)),
        abs(middle) / unit,
    )
    _refuse_bent(distribution, noise)
    return noise, unit


def _refuse_bent(distribution: Any, noise: _Noise) -> None:
    """Raise ValueError if the density is seen not to be log-concave."""
    with np.errstate(all="ignore"):
        outer = np.geomspace(2.0**-4, 64.0, _CHECKED // 2)
        places = np.concatenate([-outer[::-1], [0.0], outer])
        heights = noise.log_density(places)
        seen = np.isfinite(heights)
        places, heights = places[seen], heights[seen]
        slopes = np.diff(heights) / np.diff(places)
        sizes = noise.error * np.maximum(np.abs(heights), 1.0)  # that heights are off by
        off = (sizes[:-1] + sizes[1:]) / np.diff(places)
    if np.isnan(heights).any() or slopes.size < 2:
        raise ValueError(
            f"logpdf of the distribution is no number near its middle: {distribution!r}"
        )
    allowed = _BENT * (1.0 + np.abs(slopes[:-1]) + np.abs(slopes[1:])) + off[:-1] + off[1:]
    bent = np.flatnonzero(np.diff(slopes) > allowed)
    if bent.size:
        raise ValueError(
            "log_concave=True is stated, but the logarithm of the density is not concave: at "
            f"{places[bent[0] + 1]:.3g} of half the distance of the quartiles from the median its "
            "slope rises"
        )


# ---- Tails, as the core takes them ---------------------------------------------------------------


def _tails_of_pair(
    noise: _Noise, shift: float, symmetric: bool, is_reversed: bool, losses: _Floats
) -> tuple[_Floats, _Floats, _Floats, float]:
    # The reverse of the pair is that of the mirrored noise: reflect the outcomes.
    if is_reversed and not symmetric:
        noise = noise.mirrored()
    with np.errstate(all="ignore"):
        return _tails(noise, shift, losses)


class _Cuts(NamedTuple):
    """Places c: the events are noise above c. And what the crossings of losses are off by."""

    places: _Floats
    off: _Floats


def _end(log_tail: _Function, sign: float) -> float:
    """Return a place beyond which there is nothing."""
    place = sign
    while not log_tail(np.array([place]))[0] < _BEYOND:
        place *= 1.25
        if not math.isfinite(place):
            raise ValueError("the distribution has tails that do not end within the doubles")
    return place


def _known(values: _Floats) -> _Floats:
    """Refuse values that are no numbers: infinite logarithms less infinite logarithms."""
    if np.isnan(values).any():
        raise ValueError(
            "logpdf, logsf or logcdf of the distribution is infinite or no number where bounds "
            "need it: write these in logarithms, and not as the logarithm of what underflows"
        )
    return values


def _ratio(noise: _Noise, shift: float, places: _Floats) -> _Floats:
    found: _Floats = noise.log_density(places - shift) - noise.log_density(places)
    return found


def _slope(noise: _Noise, places: _Floats) -> _Floats:
    """Return a bound of the slope of the log density: of a concave function chords bound it."""
    step = np.maximum(np.abs(places), 1.0) * 2.0**-8
    here = noise.log_density(places)
    ahead = (noise.log_density(places + step) - here) / step
    behind = (here - noise.log_density(places - step)) / step
    found: _Floats = 1.1 * np.maximum(np.abs(ahead), np.abs(behind)) + 1e-6
    return found


def _uncertain(noise: _Noise, shift: float, places: _Floats) -> _Floats:
    """Return how far places, and places less the shift, are off by rounding of these and of it."""
    found: _Floats = 8.0 * _UNIT * (np.abs(places) + shift + noise.offset)
    return found


def _ratio_error(noise: _Noise, shift: float, places: _Floats) -> _Floats:
    moved = places - shift
    sizes = np.maximum(np.abs(noise.log_density(moved)), 1.0)
    sizes = sizes + np.maximum(np.abs(noise.log_density(places)), 1.0)
    slopes = _slope(noise, moved) + _slope(noise, places)
    found: _Floats = (noise.error + 2.0 * _UNIT) * sizes
    return found + 1.2 * _uncertain(noise, shift, places) * slopes


def _cuts(noise: _Noise, shift: float, losses: _Floats) -> _Cuts:
    """Return where the log ratio crosses each loss, from below.

    Each crossing lies between two places that were tried. In each round these come nearer by two
    tries on both sides of a guess, or else by half. What is tried is for speed only.
    """
    ends = np.array([_end(noise.log_lower, -1.0), _end(noise.log_upper, 1.0) + shift])
    lowest, highest = _known(_ratio(noise, shift, ends)).tolist()
    end_errors = _known(_ratio_error(noise, shift, ends)).tolist()
    low, high = np.full(losses.shape, ends[0]), np.full(losses.shape, ends[1])
    at_low, at_high = np.full(losses.shape, lowest), np.full(losses.shape, highest)
    whole, empty = lowest > losses, highest <= losses
    open_ = ~(whole | empty)

    def try_at(i: NDArray[np.intp], places: _Floats) -> None:
        inside = (places > low[i]) & (places < high[i])
        i, places = i[inside], places[inside]
        found = _known(_ratio(noise, shift, places))
        above = found > losses[i]
        high[i[above]], at_high[i[above]] = places[above], found[above]
        low[i[~above]], at_low[i[~above]] = places[~above], found[~above]

    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        wide = at_high - at_low > _CLOSE * (1.0 + np.abs(losses))
        open_ &= wide & (middle > low) & (middle < high)
        i = np.flatnonzero(open_)
        if not i.size:
            break
        width = high[i] - low[i]
        rise = (losses[i] - at_low[i]) / (at_high[i] - at_low[i])
        chord = low[i] + width * np.where(np.isfinite(rise), rise, 0.5)
        # A chord is off by some part of the width's square, in units of the noise.
        margin = np.maximum(width * np.minimum(width, 0.125), np.spacing(np.abs(chord)))
        try_at(i, chord - margin)
        try_at(i, chord + margin)
        slow = i[high[i] - low[i] > 0.5 * width]
        try_at(slow, 0.5 * (low[slow] + high[slow]))
    off = at_high - at_low + _ratio_error(noise, shift, low) + 2.0 * _UNIT * np.abs(losses)
    off = np.where(whole, np.maximum(end_errors[0] - (lowest - losses), 0.0), off)
    off = np.where(empty, np.maximum(end_errors[1] - (losses - highest), 0.0), off)
    places = np.where(whole, -np.inf, np.where(empty, np.inf, low))
    return _Cuts(np.maximum.accumulate(places), _known(off))


def _signed(log_lower: _Floats, log_upper: _Floats) -> tuple[_Floats, NDArray[np.bool_]]:
    """Return the smaller tails with their signs, and which are upper ones."""
    upper = np.maximum.accumulate(log_upper < log_lower)
    tail: _Floats = np.where(upper, np.exp(log_upper), -np.exp(log_lower))
    return tail, upper


def _tails(noise: _Noise, shift: float, losses: _Floats) -> tuple[_Floats, _Floats, _Floats, float]:
    """Return tails of Q and P, e^loss times P's upper tail, and the error of all of these.

    P is the noise, Q the noise moved up by the shift.
    """
    cuts = _cuts(noise, shift, losses)
    places, moved = cuts.places, cuts.places - shift
    inside = np.isfinite(places)
    logs = [
        np.where(inside, function(np.where(inside, at, 0.0)), np.where(places > 0.0, *ends))
        for function, at, ends in (
            (noise.log_lower, moved, (0.0, -np.inf)),
            (noise.log_upper, moved, (-np.inf, 0.0)),
            (noise.log_lower, places, (0.0, -np.inf)),
            (noise.log_upper, places, (-np.inf, 0.0)),
        )
    ]
    lower_q, upper_q, lower_p, upper_p = map(_known, logs)
    tail_q, is_upper_q = _signed(lower_q, upper_q)
    tail_p, is_upper_p = _signed(lower_p, upper_p)
    scaled: _Floats = np.exp(np.minimum(losses + upper_p, 0.5))

    def error_of(log_tail: _Floats, at: _Floats) -> _Floats:
        """Return the relative error of a tail: of its logarithm, and of the place."""
        at = np.where(inside, at, 0.0)
        hazard = np.exp(noise.log_density(at) - log_tail)
        eta = _uncertain(noise, shift, np.where(inside, places, 0.0))
        # The hazard of a log-concave tail grows by no more than a fifth on so short a way.
        short = eta * (hazard + _slope(noise, at)) <= 0.05
        size = (noise.error + 2.0 * _UNIT) * np.maximum(np.abs(log_tail), 1.0) + 4.0 * _UNIT
        found: _Floats = np.where(short, 1.2 * eta * hazard, np.inf) + size
        return found

    log_q = np.where(is_upper_q, upper_q, lower_q)
    log_p = np.where(is_upper_p, upper_p, lower_p)
    some = (np.maximum(upper_q, upper_p) > _NOTHING) & (np.maximum(lower_q, lower_p) > _NOTHING)
    # Where P's upper tail is no double, its product with e^loss may be one.
    far = inside & (upper_q > _NOTHING) & (losses > _FAR)
    off = np.where(some | ~inside, cuts.off, 0.0)
    errors = [
        off,
        np.where(inside & (log_q > _NOTHING), error_of(log_q, moved), 0.0),
        np.where(inside & (log_p > _NOTHING), error_of(log_p, places), 0.0),
        np.where(far, error_of(upper_p, places) + 2.0 * _UNIT * np.abs(losses), 0.0),
    ]
    error = float(np.max(errors))
    if not error < _MOST_ERROR:
        raise ValueError(
            "the functions of the distribution are not exact enough where bounds need them: at "
            f"worst they are off by {error:.3g}, of losses or of tails. Either error is large, or "
            "logsf and logcdf are infinite too early, or the sensitivity is far above the scale"
        )
    return tail_q, tail_p, scaled, error
