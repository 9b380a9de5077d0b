"""Compose mechanisms, and bound the epsilon or delta of the composition."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

from numpy.typing import ArrayLike

from prvcore._arguments import Array, Scalar
from prvcore._bounds import ArrayBounds, Bounds, EitherBounds, ScalarBounds
from prvcore._curve import PrivacyCurve
from prvcore._names import hinting, public
from prvcore._progress import ProgressOption
from prvcore._settings import (
    ComposeOptions,
    Discretization,
    Engine,
    Neighbors,
    QueryOptions,
    check_known,
)
from prvcore._steps import Counts, Mechanisms, pairs
from prvcore.mechanisms.base import Mechanism

__all__ = ["compose", "delta_from_eps", "eps_from_delta"]


@public
@hinting
def compose(
    mechanisms: Mechanisms,
    counts: Counts = None,
    *,
    eps_error: float | None = None,
    delta_error: float | None = None,
    neighbors: Neighbors = "add-or-remove",
    discretization: Discretization = "bracketing",
    engine: Engine = "auto",
    mesh_size: float | None = None,
    delta_relative_error: float = 1e-3,
) -> PrivacyCurve:
    """Compose mechanisms that run one after another on the same data.

    Parameters
    ----------
    mechanisms : Mechanism or iterable
        One mechanism, or several: a bare mechanism runs once, a pair ``(mechanism, count)`` runs
        `count` times. Their order does not matter. Without any mechanism delta(0) is 0.
    counts : int or iterable of int, optional
        How often each mechanism runs: one integer for one mechanism, or one for each of the bare
        `mechanisms`. Each >= 0, sum at most 2^53.
    eps_error : float, optional
        Greatest width ``upper - lower`` in epsilon at a queried point, nats, finite and > 0. The
        default is ``1e-3 * max(epsilon, 1e-3)``; for mean-matching it is 0.1, the paper's
        eps_error. If it is above epsilon, `lower` may be 0.
    delta_error : float, optional
        The paper's delta_error, in (0, 1), by default 1e-10. Used by mean-matching only.
    neighbors : {"add-or-remove", "add", "remove", "replace-one"}
        How neighbouring data sets differ: by one record added, one removed, or the worse of the
        two (the same for symmetric mechanisms); or by one record replaced by another. In the latter
        case noise has twice the sensitivity, since sensitivities are those to one record added or
        removed, and a Poisson sample has another pair. ValueError if no dominating pair of a
        mechanism is known for these neighbours.
    discretization : {"bracketing", "mean-matching"}
        ``"bracketing"`` composes a lattice that dominates the mechanisms and one that they dominate
        [2]_, exponentially tilted so that a delta of any size keeps its relative accuracy; bounds
        include rounding. ``"mean-matching"`` is Algorithms 1 and 2 of the paper [1]_ with the
        bounds of its Theorem 5.5, in double precision; it refuses a delta that rounding would
        swamp.
    engine : {"auto", "convolution", "spectrum"}
        How ``"bracketing"`` composes: by transforms over a window of lattice points, whose number
        grows about like sqrt(count), or by the spectrum at some hundred frequencies, whatever the
        count. Both give certified bounds; ``"auto"`` takes the one predicted to be cheaper, or
        counts large losses where these are rare (``"jumps"``, which cannot be asked for), and
        `PrivacyCurve.error_budget` says which. ValueError if the spectrum is asked for and falls
        too slowly.
    mesh_size : float, optional
        Spacing of the lattice, nats, finite and > 0. By default it follows from the width asked. If
        it is given, the width follows from it, with an AccuracyWarning if the width is above an
        `eps_error` that is given too (for a delta, if it is above `delta_relative_error` as well).
    delta_relative_error : float, default 1e-3
        Bounds of a delta are also close enough if ``upper - lower`` is at most this fraction of
        ``upper``, in [0, 1). With 0 only the width in epsilon counts, which may take many times as
        long; but no width finer than 1e-9 of delta, since near 1 doubles tell no more. Used by
        bracketing only; it has no effect on an epsilon, a power, a mu or a Renyi divergence.

    Returns
    -------
    PrivacyCurve
        The composition, which answers for epsilons and deltas.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range; the message names it.

    Notes
    -----
    This call computes no bounds: the queries do. Equal mechanisms are merged.

    References
    ----------
    .. [1] Gopi, Lee, Wutschitz, "Numerical composition of differential privacy", NeurIPS 2021,
       arXiv:2106.02848.
    .. [2] Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots: tighter discrete
       approximations of privacy loss distributions", PETS 2022, arXiv:2207.04380.

    Examples
    --------
    >>> import prvcore as prv
    >>> step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
    >>> curve = prv.compose([(step, 1000), prv.Laplace(scale=20)])
    >>> lower, estimate, upper = curve.epsilon(1e-7)

    """
    return PrivacyCurve(
        pairs(mechanisms, counts),
        eps_error=eps_error,
        delta_error=delta_error,
        neighbors=neighbors,
        discretization=discretization,
        engine=engine,
        mesh_size=mesh_size,
        delta_relative_error=delta_relative_error,
    )


@overload
def eps_from_delta(
    curve: PrivacyCurve | Mechanisms,
    delta: Scalar,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> ScalarBounds: ...
@overload
def eps_from_delta(
    curve: PrivacyCurve | Mechanisms,
    delta: Array,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> ArrayBounds: ...
@overload
def eps_from_delta(
    curve: PrivacyCurve | Mechanisms,
    delta: ArrayLike,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> EitherBounds: ...
@public
@partial(hinting, options=ComposeOptions)
def eps_from_delta(
    curve: PrivacyCurve | Mechanisms,
    delta: ArrayLike,
    counts: Counts = None,
    *,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[ComposeOptions],
) -> Bounds[Any]:
    """Bound epsilon at each delta: ``compose(...).epsilon(delta)`` in one call.

    Parameters
    ----------
    curve : PrivacyCurve, Mechanism or iterable
        A curve, or `mechanisms` as `compose` takes them.
    delta : float or array_like of float, any shape
        Probabilities in [0, 1].
    counts : int or iterable of int, optional
        As `compose` takes it; not with a curve.
    progress, memory_limit
        As `PrivacyCurve.epsilon` takes them.
    **options
        The keyword arguments of `compose`; not with a curve.

    Returns
    -------
    Bounds
        Nats: floats for a scalar, else arrays of the shape of `delta`.

    Raises
    ------
    TypeError
        If `counts` or an option is given with a curve.

    See Also
    --------
    compose, PrivacyCurve.epsilon : the other errors, and the warnings.

    Examples
    --------
    >>> import prvcore as prv
    >>> step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
    >>> bounds = prv.eps_from_delta(step, 1e-7, counts=1000)

    """
    _refuse_swapped("eps_from_delta", curve, "delta", delta)
    return curve_of("eps_from_delta", curve, counts, options)._query(
        "epsilon", delta, progress, memory_limit
    )


@overload
def delta_from_eps(
    curve: PrivacyCurve | Mechanisms,
    epsilon: Scalar,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> ScalarBounds: ...
@overload
def delta_from_eps(
    curve: PrivacyCurve | Mechanisms,
    epsilon: Array,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> ArrayBounds: ...
@overload
def delta_from_eps(
    curve: PrivacyCurve | Mechanisms,
    epsilon: ArrayLike,
    counts: Counts = None,
    **options: Unpack[QueryOptions],
) -> EitherBounds: ...
@public
@partial(hinting, options=ComposeOptions)
def delta_from_eps(
    curve: PrivacyCurve | Mechanisms,
    epsilon: ArrayLike,
    counts: Counts = None,
    *,
    progress: ProgressOption = False,
    memory_limit: int | None = None,
    **options: Unpack[ComposeOptions],
) -> Bounds[Any]:
    """Bound delta at each epsilon: ``compose(...).delta(epsilon)`` in one call.

    Parameters
    ----------
    curve, counts, progress, memory_limit, **options
        As `eps_from_delta` takes them.
    epsilon : float or array_like of float, any shape
        Nats, of either sign and infinite too, but not nan.

    Returns
    -------
    Bounds
        Probabilities: floats for a scalar, else arrays of the shape of `epsilon`.

    See Also
    --------
    eps_from_delta, PrivacyCurve.epsilon : the same errors and warnings.
    PrivacyCurve.delta : the width of the bounds.

    """
    _refuse_swapped("delta_from_eps", curve, "epsilon", epsilon)
    return curve_of("delta_from_eps", curve, counts, options)._query(
        "delta", epsilon, progress, memory_limit
    )


def _refuse_swapped(function: str, curve: object, name: str, point: object) -> None:
    """Raise TypeError if curve and point were given in the wrong order."""
    parts = point if isinstance(point, list | tuple) else [point]
    if any(isinstance(part, Mechanism | PrivacyCurve) for part in parts):
        raise TypeError(
            f"{function} takes the curve or mechanisms first and {name} second, "
            f"{function}(mechanisms, {name}), got {curve!r} first and {point!r} second"
        )


def curve_of(function: str, curve: Any, counts: Any, options: ComposeOptions) -> PrivacyCurve:
    """Return a curve as it is, or the one that mechanisms are composed to for this function."""
    check_known(function, options, ComposeOptions)
    if not isinstance(curve, PrivacyCurve):
        return compose(curve, counts, **options)
    if counts is not None or options:
        given = ", ".join([*(["counts"] if counts is not None else []), *options])
        raise TypeError(f"a PrivacyCurve is already composed: {given} must not be given with it")
    return curve
