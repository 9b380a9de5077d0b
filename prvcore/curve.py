"""Compose mechanisms and bound the epsilon or delta of the whole."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments, _pickling
from prvcore._accounting import Composition
from prvcore.errors import AccuracyWarning
from prvcore.mechanisms import Mechanism

__all__ = [
    "Bounds",
    "ErrorBudget",
    "PrivacyCurve",
    "Progress",
    "compose",
    "delta_from_eps",
    "eps_from_delta",
    "get_memory_limit",
    "set_memory_limit",
]

_NEIGHBORS = ("add-or-remove", "add", "remove", "replace-one")
_DISCRETIZATIONS = ("bracketing", "mean-matching")
_ENGINES = ("auto", "convolution", "spectrum")
_EPS_RELATIVE_ERROR = 1e-3
_EPS_FLOOR = 1e-3
_MEAN_MATCHING_EPS_ERROR = 0.1
_MEAN_MATCHING_DELTA_ERROR = 1e-10

_Steps = tuple[tuple[Mechanism, int], ...]

_memory_limit = 2**30

# nats: the core's PRV_WIDEST_CELL
WIDEST_MESH = 100.0


def get_memory_limit() -> int:
    """Return the memory limit in bytes; 2^30 (1 GiB) unless it was set.

    Returns
    -------
    int
        Bytes that the largest buffers of one query may take together.

    """
    return _memory_limit


def set_memory_limit(limit: int) -> None:
    """Set how much memory one query may take, for all later queries of the process.

    Parameters
    ----------
    limit : int
        Bytes that the largest buffers of one query may take together, in [1, 2^63 - 1]. Queries
        that run at the same time have the limit each.

    Raises
    ------
    TypeError, ValueError
        `limit` is not an integer, or is out of its range.

    """
    global _memory_limit
    _memory_limit = _arguments.integer(limit, "limit", 1, 2**63 - 1)


class Bounds(NamedTuple):
    """What is known of a number: ``0 <= lower <= estimate <= upper``.

    Attributes
    ----------
    lower, upper : float or ndarray of float64
        The exact value lies between them.
    estimate : float or ndarray of float64
        A value between them that is usually much closer to the exact one; it promises nothing more.

    """

    lower: float | NDArray[np.float64]
    estimate: float | NDArray[np.float64]
    upper: float | NDArray[np.float64]


class ErrorBudget(NamedTuple):
    """Where the distance of the bounds comes from at one queried point.

    The first four are in epsilon (nats) and say how much each cause takes of the width in the last
    pass. They sum to `width` where that pass has both bounds of the answer; to more than it where a
    bound was clipped (epsilon at 0, delta at 0 or 1, rounding included) or an earlier pass, or the
    other direction, had a better one.

    Attributes
    ----------
    discretization : float
        Losses were moved onto a lattice.
    truncation : float
        Losses outside the cells were put to the ends.
    wrap_around : float
        The transform is periodic and folds the tails into its window.
    rounding : float
        Floating point.
    width : float
        ``upper - lower`` in epsilon; of a delta, by the slope of the curve there.
    direction : {"add", "remove", "add-or-remove", "replace-one"}
        The neighbouring relation that decided the upper bound.
    engine : {"convolution", "spectrum", "none"}
        How the last pass composed; none where nothing had to be.
    mesh_size : float
        Step of the lattice, nats; of a spectrum, the step of the uniform lattice that is as good.
    tilt : float
        Exponential tilt under which the losses were composed.
    cells : int
        Cells of all distinct mechanisms together.
    transform_length : int
        Length of the FFT; 0 where none was needed.
    transforms : int
        How many were executed.
    frequencies : int
        At which the spectrum was summed; 0 for a convolution.
    accurate : bool
        Whether the width asked was reached.

    """

    discretization: float
    truncation: float
    wrap_around: float
    rounding: float
    width: float
    direction: str
    engine: str
    mesh_size: float
    tilt: float
    cells: int
    transform_length: int
    transforms: int
    frequencies: int
    accurate: bool


class Progress(NamedTuple):
    """How far a query or a calibration has come, as `progress` functions get it.

    Attributes
    ----------
    question, questions : int
        Which of the points asked is being answered, from 0, and how many there are.
    compositions : int
        That a calibration has bounded so far; 0 in a query.
    passes : int
        Finished on this point, all directions together.
    width : float
        Of its bounds so far, nats; infinite at first.
    width_asked : float
        Nats; 0 at first.
    fraction : float
        Of the whole call, a guess in [0, 1] that never falls.

    """

    question: int
    questions: int
    compositions: int
    passes: int
    width: float
    width_asked: float
    fraction: float


def _listener(
    progress: Callable[[Progress], object] | None,
) -> Callable[[tuple[Any, ...]], object] | None:
    """Return what the C core's fields are given to."""
    if progress is None:
        return None
    if not callable(progress):
        raise TypeError(f"progress must be a function of a Progress, or None, got {progress!r}")
    return lambda fields: progress(Progress(*fields))


class PrivacyCurve:
    """The privacy of a composition: delta as a function of epsilon, and the reverse.

    Made by `compose`. Immutable, hashable where its mechanisms are, picklable where they are, and
    safe to query from several threads at once; the GIL is released while a query computes.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        Distinct mechanisms, in an order that does not depend on how they were given.
    counts : tuple of int
        How often each runs.
    neighbors, discretization, engine : str
        As given to `compose`.
    eps_error, delta_error, mesh_size : float or None
        As given to `compose`; None is the default.

    """

    __slots__ = (
        "_composition",
        "_steps",
        "delta_error",
        "discretization",
        "engine",
        "eps_error",
        "mesh_size",
        "neighbors",
    )

    neighbors: str
    discretization: str
    engine: str
    eps_error: float | None
    delta_error: float | None
    mesh_size: float | None
    _steps: _Steps
    _composition: Composition

    def __init__(
        self,
        steps: Iterable[tuple[Mechanism, int]],
        *,
        eps_error: float | None = None,
        delta_error: float | None = None,
        neighbors: str = "add-or-remove",
        discretization: str = "bracketing",
        engine: str = "auto",
        mesh_size: float | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "neighbors", _arguments.choice(neighbors, "neighbors", _NEIGHBORS))
        set_(
            self,
            "discretization",
            _arguments.choice(discretization, "discretization", _DISCRETIZATIONS),
        )
        set_(self, "engine", _arguments.choice(engine, "engine", _ENGINES))
        if engine == "spectrum" and discretization == "mean-matching":
            raise ValueError(
                "engine must be 'auto' or 'convolution' with discretization 'mean-matching', got "
                "'spectrum'"
            )
        if eps_error is not None:
            eps_error = _arguments.positive(eps_error, "eps_error")
        if mesh_size is not None:
            mesh_size = _arguments.positive(mesh_size, "mesh_size")
            if mesh_size > WIDEST_MESH:
                raise ValueError(f"mesh_size must be in (0, {WIDEST_MESH:g}], got {mesh_size!r}")
        if delta_error is not None:
            delta_error = _arguments.open_probability(delta_error, "delta_error")
            if discretization != "mean-matching":
                raise ValueError(
                    "delta_error must be None unless discretization is 'mean-matching', got "
                    f"{delta_error!r}: bracketing has no error in delta that is not in its bounds"
                )
        set_(self, "eps_error", eps_error)
        set_(self, "delta_error", delta_error)
        set_(self, "mesh_size", mesh_size)
        set_(self, "_steps", _merged(steps))
        # at once, so that what the C core refuses is refused here and not at the first query
        handles = tuple(mechanism._build(self.neighbors) for mechanism, _ in self._steps)
        set_(self, "_composition", Composition(handles, self.counts))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"PrivacyCurve is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"PrivacyCurve is immutable: {name} cannot be deleted")

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Distinct mechanisms, in an order that does not depend on how they were given."""
        return tuple(mechanism for mechanism, _ in self._steps)

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each of the mechanisms runs."""
        return tuple(count for _, count in self._steps)

    def epsilon(
        self, delta: ArrayLike, *, progress: Callable[[Progress], object] | None = None
    ) -> Bounds:
        """Bound the epsilon at which the composition is (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float or array_like of float, any shape
            Probabilities in [0, 1].
        progress : callable, optional
            Called with a `Progress` between stages, in the thread of the query. What it raises ends
            the query and comes out of it.

        Returns
        -------
        Bounds
            Nats, >= 0: floats for a scalar, else arrays of the shape of `delta`. 0 where `delta` is
            at or above delta(0), infinite where it is below the mass of infinite loss. The greatest
            loss where it is that mass: if it is 0, or of one mechanism that was given it and runs
            once. The mass of more steps is rounded, and `delta` may be on either side of it: within
            some 1e-14 of it the bounds are 0 and infinite.

        Raises
        ------
        TypeError, ValueError
            A point asked is not a real number in its range; a mesh that was asked for needs more
            memory than the limit; a function of one of the mechanisms returned what no pair has,
            or something else than an array of real numbers.
        PrecisionError
            Mean-matching cannot resolve so small a delta.

        Warns
        -----
        AccuracyWarning
            The bounds hold, but the memory limit, rounding over very many steps, or a `mesh_size`
            kept them wider than was asked.

        Notes
        -----
        For each delta a few passes, each finer than the one before. A pass of a spectrum takes some
        hundred frequencies times the atoms of the distinct mechanisms, whatever the counts are; one
        of a convolution N log N operations, with N the width of the composed loss over the mesh
        size. `error_budget` says which was taken. Mean-matching transforms once for all deltas.

        """
        return self._query("epsilon", delta, stacklevel=3, progress=progress)

    def delta(
        self, epsilon: ArrayLike, *, progress: Callable[[Progress], object] | None = None
    ) -> Bounds:
        """Bound the delta at which the composition is (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float or array_like of float, any shape
            Nats, of either sign and infinite too, but not nan.
        progress : callable, optional
            As in `epsilon`.

        Returns
        -------
        Bounds
            Probabilities: floats for a scalar, else arrays of the shape of `epsilon`. The width
            asked of the curve is one in epsilon: that of delta is the same times the slope of the
            curve.

        See Also
        --------
        epsilon : raises and warns of the same, and costs as much.

        """
        return self._query("delta", epsilon, stacklevel=3, progress=progress)

    def power(self, false_positive_rate: ArrayLike) -> Bounds:
        """Bound the power of every test that tells the neighbouring data sets apart.

        The true positive rate of a membership inference attack, for one.

        Parameters
        ----------
        false_positive_rate : float or array_like of float, any shape
            Type I errors of the test, in [0, 1].

        Returns
        -------
        Bounds
            Of the greatest power that a test with this type I error can have, the greater of the
            directions asked: floats for a scalar, else arrays. No attack, whatever it knows and
            computes, has a power above `upper`.

        Raises
        ------
        TypeError, ValueError
            As `epsilon` does.

        Notes
        -----
        The infimum over all real epsilons of ``delta(epsilon) + exp(epsilon) *
        false_positive_rate`` [1]_: some ten to fifty deltas for each rate.

        References
        ----------
        .. [1] Dong, Roth, Su, "Gaussian differential privacy", JRSS B 84 (2022), Proposition 2.12,
           arXiv:1905.02383.

        """
        return self._bound(
            "power", _arguments.probabilities(false_positive_rate, "false_positive_rate")
        )

    def trade_off(self, false_positive_rate: ArrayLike) -> Bounds:
        """Bound the trade-off function: the least type II error at each type I error.

        Parameters
        ----------
        false_positive_rate : float or array_like of float, any shape
            Type I errors, in [0, 1].

        Returns
        -------
        Bounds
            Type II errors, ``1 - power``; privacy guarantees `lower`.

        See Also
        --------
        power : raises the same, and costs as much; keeps relative accuracy where it is small.

        """
        lower, estimate, upper = self.power(false_positive_rate)
        return Bounds(1.0 - upper, 1.0 - estimate, 1.0 - lower)

    def total_variation(self) -> Bounds:
        """Bound the total variation distance of the output distributions, which is delta(0).

        Returns
        -------
        Bounds
            Floats in [0, 1]. Whoever guesses, with even odds at the start, which of the two data
            sets was used is right with probability ``(1 + total_variation) / 2`` at most;
            ``true positive rate - false positive rate`` of any membership test is at most that.

        """
        return self._query("delta", 0.0, stacklevel=3)

    def gaussian_mu(
        self, delta: ArrayLike, *, progress: Callable[[Progress], object] | None = None
    ) -> Bounds:
        """Bound the mu of the Gaussian mechanism that is no more private, down to a delta.

        Parameters
        ----------
        delta : float or array_like of float, any shape
            The least delta that counts, in (0, 1].
        progress : callable, optional
            As in `epsilon`.

        Returns
        -------
        Bounds
            Of the least mu such that ``self.delta(e) <= max(delta_mu(e), delta)`` for every
            epsilon ``e >= 0``, where ``delta_mu`` is the privacy curve of
            ``Gaussian(noise_multiplier=1 / mu)``. So with mu = `upper`, each (epsilon, d)-DP
            guarantee of that mechanism with ``epsilon >= 0`` and ``d >= delta`` is one of the
            composition; with any mu below `lower`, one of them is not. Infinite where the mass of
            infinite loss is not below `delta`. Floats for a scalar, else arrays.

        Raises
        ------
        TypeError, ValueError
            A `delta` is not in (0, 1], or as `epsilon` raises.

        Notes
        -----
        Without a least delta this is Gaussian differential privacy [1]_, which for most
        compositions says little: mu is then decided by losses that hardly ever occur. The mu of
        1000 steps with noise multiplier 0.8 and sampling probability 0.001, for instance, would be
        that of 1000 steps without sampling, nearly. Whoever composes two compositions by their mus,
        ``sqrt(mu_1**2 + mu_2**2)``, loses the certificate: add the curves instead.

        A mu above some 14 has a delta(0) that rounds to 1. How far it is from 1 is then bounded by
        moments alone: `upper` is about a tenth above `lower`, a multiple of it if the mu of a
        single step is above 75, and infinite for mechanisms given by functions. `estimate` tells
        nothing of epsilons near 0 then.

        The curve is asked at some ten to 400 epsilons. Between two of them delta lies below the
        chord in exp(epsilon), and the Gaussian curve is shown to lie above that.

        References
        ----------
        .. [1] Dong, Roth, Su, "Gaussian differential privacy", JRSS B 84 (2022), Definition 2.6 and
           Corollary 2.13, arXiv:1905.02383.

        """
        least = _arguments.points(delta, "delta", "in (0, 1]", 5e-324, 1.0)
        return self._bound("gaussian_mu", least, progress)

    def renyi_divergence(
        self, order: ArrayLike, *, progress: Callable[[Progress], object] | None = None
    ) -> Bounds:
        """Bound the Renyi divergence of the composition: its RDP curve.

        Parameters
        ----------
        order : float or array_like of float, any shape
            Orders alpha in (1, 1e6].
        progress : callable, optional
            As in `epsilon`.

        Returns
        -------
        Bounds
            Nats, the greater of the directions asked: the composition is (alpha, `upper`)-RDP
            [1]_. Floats for a scalar, else arrays. Infinite where there is mass at infinite loss.

        Raises
        ------
        TypeError, ValueError
            An order is out of its range, or a mechanism is given by functions, of which nobody
            knows the tails.

        Notes
        -----
        ``log(E[exp((alpha - 1) * loss)]) / (alpha - 1)``, whose steps add up. Each is bounded by
        cells of its noise, to about 2e-5 of itself, whatever `eps_error` and the engine are;
        discrete Gaussian noise at orders above some 38 scale / sensitivity more coarsely. For
        epsilons and deltas use `epsilon` and `delta`: those that follow from Renyi divergences are
        larger.

        References
        ----------
        .. [1] Mironov, "Renyi differential privacy", CSF 2017, arXiv:1702.07476.

        """
        orders = _arguments.points(order, "order", "in (1, 1e6]", np.nextafter(1.0, 2.0), 1e6)
        return self._bound("renyi_divergence", orders, progress)

    def _bound(
        self,
        quantity: str,
        points: NDArray[np.float64],
        progress: Callable[[Progress], object] | None = None,
    ) -> Bounds:
        flat = np.ascontiguousarray(points).reshape(-1)
        bounds = np.empty((flat.size, 3))
        self._composition.bound(
            quantity, flat, bounds, progress=_listener(progress), **self._core_options()
        )
        return _shaped(bounds, points)

    def error_budget(
        self, *points: object, delta: float | None = None, epsilon: float | None = None
    ) -> ErrorBudget:
        """Say where the distance of the bounds comes from at one point.

        Parameters
        ----------
        *points
            Refused: the point is given by its name.
        delta : float, optional
            The point at which `epsilon` would be asked, a probability in [0, 1].
        epsilon : float, optional
            The point at which `delta` would be asked, not nan. Exactly one of the two is given.

        Returns
        -------
        ErrorBudget
            The parts of the width in epsilon, and how the bounds were computed.

        Raises
        ------
        TypeError, ValueError
            Both or none of `delta` and `epsilon` are given, or one that is no scalar in its range.

        """
        if points:
            raise TypeError(
                "error_budget takes its point by name, as error_budget(delta=...) or "
                f"error_budget(epsilon=...), got {', '.join(map(repr, points))}"
            )
        if delta is not None and epsilon is None:
            name, point = "delta", _arguments.probabilities(delta, "delta")
        elif epsilon is not None and delta is None:
            name, point = "epsilon", _arguments.extended_reals(epsilon, "epsilon")
        else:
            raise TypeError(
                "error_budget takes exactly one of delta and epsilon, "
                f"got delta={delta!r} and epsilon={epsilon!r}"
            )
        if point.ndim:
            raise TypeError(f"{name} must be a scalar, got an array of shape {point.shape}")
        _, reports = self._ask(delta is not None, point.reshape(1))
        return ErrorBudget(*reports[0])

    def _query(
        self,
        wanted: str,
        points: ArrayLike,
        stacklevel: int,
        progress: Callable[[Progress], object] | None = None,
    ) -> Bounds:
        if wanted == "epsilon":
            points = _arguments.probabilities(points, "delta")
        else:
            points = _arguments.extended_reals(points, "epsilon")
        bounds, reports = self._ask(
            wanted == "epsilon", np.ascontiguousarray(points).reshape(-1), progress=progress
        )
        self._warn(reports, stacklevel + 1)
        return _shaped(bounds, points)

    def _ask(
        self,
        for_epsilon: bool,
        points: NDArray[np.float64],
        memory_limit: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> tuple[NDArray[np.float64], list[Any]]:
        bounds = np.empty((points.size, 3))
        options = self._core_options()
        if memory_limit is not None:
            options["memory_limit"] = memory_limit
        reports = self._composition.query(
            for_epsilon, points, bounds, progress=_listener(progress), **options
        )
        return bounds, reports

    def _core_options(self) -> dict[str, Any]:
        eps_error, delta_error = self.eps_error, self.delta_error
        if self.discretization == "mean-matching":
            eps_error = _MEAN_MATCHING_EPS_ERROR if eps_error is None else eps_error
        return {
            "discretization": self.discretization,
            "neighbors": self.neighbors,
            "engine": self.engine,
            "eps_error": 0.0 if eps_error is None else eps_error,
            "eps_relative_error": _EPS_RELATIVE_ERROR,
            "eps_floor": _EPS_FLOOR,
            "delta_error": _MEAN_MATCHING_DELTA_ERROR if delta_error is None else delta_error,
            "mesh_size": 0.0 if self.mesh_size is None else self.mesh_size,
            "memory_limit": _memory_limit,
        }

    def _warn(self, reports: list[Any], stacklevel: int) -> None:
        budgets = [ErrorBudget(*report) for report in reports]
        wide = [budget for budget in budgets if not budget.accurate]
        if wide and all(budget.rounding >= 0.3 * budget.width for budget in wide):
            cause = "rounding in double precision"
            advice = "Raise eps_error"
        elif wide and (missing := self._missing_mass()):
            cause = missing
            advice = "State mass_at_infinity, or mend the function"
        elif wide and self.engine == "spectrum":
            cause = "engine = 'spectrum'"
            advice = "Leave engine out, or raise eps_error"
        elif wide:
            cause = f"the memory limit of {_memory_limit} bytes"
            advice = "Raise eps_error, or the limit by prvcore.set_memory_limit"
        elif self._mesh_is_too_coarse(budgets):
            cause = f"mesh_size = {self.mesh_size!r}"
            advice = "Lower mesh_size or leave it out, or raise eps_error"
        else:
            return
        widest = max(budget.width for budget in budgets)
        warnings.warn(
            f"{cause} kept the bounds up to {widest:.3g} apart in epsilon, wider than "
            f"{self._width()}; they hold all the same. {advice}",
            AccuracyWarning,
            stacklevel=stacklevel,
        )

    def _missing_mass(self) -> str | None:
        """Say which function does not get to the limit that its mass_at_infinity states."""
        for mechanism in self.mechanisms:
            if (found := mechanism._missing_mass()) is not None:
                return found
        return None

    def _mesh_is_too_coarse(self, budgets: list[ErrorBudget]) -> bool:
        wanted = self.eps_error
        if wanted is None or self.mesh_size is None or self.discretization == "mean-matching":
            return False
        return any(budget.width > wanted for budget in budgets)

    def _width(self) -> str:
        if self.eps_error is not None:
            return f"eps_error = {self.eps_error!r}"
        if self.discretization == "mean-matching":
            return f"eps_error = {_MEAN_MATCHING_EPS_ERROR!r}"
        return f"eps_error = {_EPS_RELATIVE_ERROR:g} * max(epsilon, {_EPS_FLOOR:g})"

    def _settings(self) -> dict[str, Any]:
        return {
            "eps_error": self.eps_error,
            "delta_error": self.delta_error,
            "neighbors": self.neighbors,
            "discretization": self.discretization,
            "engine": self.engine,
            "mesh_size": self.mesh_size,
        }

    def _with_steps(self, steps: Iterable[tuple[Mechanism, int]]) -> PrivacyCurve:
        """Return the curve of other steps under the same settings."""
        return PrivacyCurve(steps, **self._settings())

    def __add__(self, other: object) -> PrivacyCurve:
        """Compose with what another curve of the same settings composes."""
        if not isinstance(other, PrivacyCurve):
            return NotImplemented
        mine, others = self._settings(), other._settings()
        for name, value in mine.items():
            if value != others[name]:
                raise ValueError(
                    f"curves that are added must have the same settings, got {name}={value!r} and "
                    f"{name}={others[name]!r}"
                )
        return self._with_steps(self._steps + other._steps)

    def __mul__(self, times: object) -> PrivacyCurve:
        """Compose with itself, `times` (an integer >= 0) in all."""
        if isinstance(times, bool) or not isinstance(times, Integral):
            return NotImplemented
        if times < 0:
            raise ValueError(f"a curve is multiplied by integers >= 0, got {times!r}")
        steps = tuple((mechanism, count * int(times)) for mechanism, count in self._steps)
        return self._with_steps(steps)

    __rmul__ = __mul__

    def _identity(self) -> tuple[Any, ...]:
        return (self._steps, *self._settings().values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivacyCurve):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self)
        return _pickling.restored, (_pickling.VERSION, kind, (self._steps,), self._settings())

    def __repr__(self) -> str:
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self._steps)
        parts = [f"[{steps}]", f"neighbors={self.neighbors!r}"]
        parts.append(f"discretization={self.discretization!r}")
        if self.engine != "auto":
            parts.append(f"engine={self.engine!r}")
        if self.mesh_size is not None:
            parts.append(f"mesh_size={self.mesh_size!r}")
        parts.append(self._width().replace(" = ", "="))
        if self.discretization == "mean-matching":
            parts.append(f"delta_error={self.delta_error or _MEAN_MATCHING_DELTA_ERROR!r}")
        return f"PrivacyCurve({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(repr(mechanism))}</td><td>{count:,}</td></tr>"
            for mechanism, count in self._steps
        )
        settings = [f"neighbors {self.neighbors}", self.discretization]
        if self.engine != "auto":
            settings.append(f"engine {self.engine}")
        if self.mesh_size is not None:
            settings.append(f"mesh_size {self.mesh_size!r}")
        settings.append(self._width())
        return (
            "<table><caption>PrivacyCurve</caption>"
            f"<thead><tr><th>mechanism</th><th>count</th></tr></thead><tbody>{rows}</tbody>"
            f"<tfoot><tr><td colspan=2>{escape('; '.join(settings))}</td></tr></tfoot></table>"
        )

    def plot(self, kind: str = "delta", ax: Any = None, **options: Any) -> Any:
        """Draw the curve with its certified band; needs matplotlib.

        Parameters
        ----------
        kind : {"delta", "trade-off", "steps"}
            delta against epsilon; least type II error against type I error of any test between the
            neighbouring data sets; or epsilon at one delta while all counts grow together.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if left out.
        **options
            Of ``"delta"``: `epsilons`, an array of nats. Of ``"trade-off"``:
            `false_positive_rates`, an array in [0, 1]. Of ``"steps"``: `delta`, and `multiples`,
            integers >= 1 by which all counts are multiplied. Each may be left out, but `delta`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            matplotlib is not installed.
        TypeError, ValueError
            An argument is of another kind or out of its range.

        """
        from prvcore import plotting

        return plotting.plot(self, kind, ax, **options)


def compose(
    mechanisms: Mechanism | Iterable[Mechanism | tuple[Mechanism, int]],
    counts: int | Iterable[int] | None = None,
    *,
    eps_error: float | None = None,
    delta_error: float | None = None,
    neighbors: str = "add-or-remove",
    discretization: str = "bracketing",
    engine: str = "auto",
    mesh_size: float | None = None,
) -> PrivacyCurve:
    """Compose mechanisms that run one after another on the same data.

    Parameters
    ----------
    mechanisms : Mechanism or iterable
        One mechanism, or several: a bare mechanism runs once, a pair ``(mechanism, count)`` that
        often. Their order does not matter. No mechanism at all is the identity.
    counts : int or iterable of int, optional
        How often each mechanism runs: one integer for one mechanism, or as many as there are bare
        `mechanisms`. Each >= 0, sum at most 2^53.
    eps_error : float, optional
        Greatest width ``upper - lower`` in epsilon at a queried point, nats, finite and > 0. Left
        out, ``1e-3 * max(epsilon, 1e-3)``, or 0.1 for mean-matching, where it is the paper's
        eps_error.
    delta_error : float, optional
        The paper's delta_error, in (0, 1), 1e-10 if left out. Of mean-matching alone.
    neighbors : {"add-or-remove", "add", "remove", "replace-one"}
        Which neighbouring data sets: with one record more, one less, or the worse of the two; where
        a mechanism is symmetric all are the same. Or with one record in place of another: noise
        then has twice the sensitivity, which is always that to one record more or less, and a
        Poisson sample a pair of its own. ValueError names a mechanism of which no dominating pair
        is known for these neighbours.
    discretization : {"bracketing", "mean-matching"}
        ``"bracketing"`` composes a lattice that dominates the mechanisms and one that they dominate
        [2]_, exponentially tilted so that a delta of any size keeps its relative accuracy; bounds
        include rounding. ``"mean-matching"`` is Algorithms 1 and 2 of the paper [1]_ with the
        bounds of its Theorem 5.5, in double precision; it refuses a delta that rounding would
        swamp.
    engine : {"auto", "convolution", "spectrum"}
        How ``"bracketing"`` composes: by transforms over a window of mesh points, whose number
        grows about like sqrt(count), or by the spectrum at some hundred frequencies, whatever the
        count. Both give certified bounds; ``"auto"`` takes the one predicted to be cheaper, and
        `PrivacyCurve.error_budget` tells which. A spectrum that was asked for and falls too slowly
        is a ValueError.
    mesh_size : float, optional
        Step of the lattice, nats, finite and > 0. Left out, it follows from the width asked; given,
        the width is what this mesh gives, with an AccuracyWarning if that is above an `eps_error`
        given too.

    Returns
    -------
    PrivacyCurve
        To be asked for its epsilons and deltas.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range; the message names it.

    Notes
    -----
    Only prepares: all computing is done by the queries. Mechanisms that are equal are merged.

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
        _pairs(mechanisms, counts),
        eps_error=eps_error,
        delta_error=delta_error,
        neighbors=neighbors,
        discretization=discretization,
        engine=engine,
        mesh_size=mesh_size,
    )


def eps_from_delta(
    curve: PrivacyCurve | Mechanism | Iterable[Mechanism | tuple[Mechanism, int]],
    delta: ArrayLike,
    counts: int | Iterable[int] | None = None,
    **options: Any,
) -> Bounds:
    """Bound epsilon at each delta: ``compose(...).epsilon(delta)`` in one call.

    Parameters
    ----------
    curve : PrivacyCurve, Mechanism or iterable
        A curve, or `mechanisms` as `compose` takes them.
    delta : float or array_like of float, any shape
        Probabilities in [0, 1].
    counts : int or iterable of int, optional
        As `compose` takes it; not with a curve.
    **options
        The keyword arguments of `compose`; not with a curve.

    Returns
    -------
    Bounds
        Nats: floats for a scalar, else arrays of the shape of `delta`.

    Raises
    ------
    TypeError
        `counts` or an option is given with a curve.

    See Also
    --------
    compose, PrivacyCurve.epsilon : what else is raised and warned of.

    Examples
    --------
    >>> import prvcore as prv
    >>> step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
    >>> bounds = prv.eps_from_delta(step, 1e-7, counts=1000)

    """
    _refuse_swapped("eps_from_delta", curve, "delta", delta)
    return _curve_of(curve, counts, options)._query("epsilon", delta, stacklevel=3)


def delta_from_eps(
    curve: PrivacyCurve | Mechanism | Iterable[Mechanism | tuple[Mechanism, int]],
    epsilon: ArrayLike,
    counts: int | Iterable[int] | None = None,
    **options: Any,
) -> Bounds:
    """Bound delta at each epsilon: ``compose(...).delta(epsilon)`` in one call.

    Parameters
    ----------
    curve, counts, **options
        As `eps_from_delta` takes them.
    epsilon : float or array_like of float, any shape
        Nats, of either sign and infinite too, but not nan.

    Returns
    -------
    Bounds
        Probabilities: floats for a scalar, else arrays of the shape of `epsilon`.

    See Also
    --------
    eps_from_delta, PrivacyCurve.epsilon : raise and warn of the same.
    PrivacyCurve.delta : what the width is.

    """
    _refuse_swapped("delta_from_eps", curve, "epsilon", epsilon)
    return _curve_of(curve, counts, options)._query("delta", epsilon, stacklevel=3)


def _refuse_swapped(function: str, curve: object, name: str, point: object) -> None:
    """Say so where what belongs second was given first."""
    parts = point if isinstance(point, list | tuple) else [point]
    if any(isinstance(part, Mechanism | PrivacyCurve) for part in parts):
        raise TypeError(
            f"{function} takes the curve or mechanisms first and {name} second, "
            f"{function}(mechanisms, {name}), got {curve!r} first and {point!r} second"
        )


def _curve_of(curve: Any, counts: Any, options: dict[str, Any]) -> PrivacyCurve:
    if not isinstance(curve, PrivacyCurve):
        return compose(curve, counts, **options)
    if counts is not None or options:
        given = ", ".join([*(["counts"] if counts is not None else []), *options])
        raise TypeError(f"a PrivacyCurve is already composed: {given} must not be given with it")
    return curve


def _pairs(mechanisms: Any, counts: Any) -> list[tuple[Mechanism, int]]:
    if isinstance(mechanisms, Mechanism):
        return [(mechanisms, 1 if counts is None else _arguments.count(counts, "counts"))]
    try:
        items = list(mechanisms)
    except TypeError:
        raise TypeError(
            "mechanisms must be a mechanism, or an iterable of mechanisms and (mechanism, count) "
            f"pairs, got {mechanisms!r}"
        ) from None
    if counts is None:
        return [_pair(item, i) for i, item in enumerate(items)]
    for i, item in enumerate(items):
        if not isinstance(item, Mechanism):
            raise TypeError(
                f"mechanisms[{i}] must be a mechanism where counts is given, got {item!r}"
            )
    try:
        numbers = list(counts)
    except TypeError:
        numbers = None
    if numbers is None or len(numbers) != len(items):
        found = repr(counts) if numbers is None else f"{len(numbers)} of them"
        raise ValueError(
            f"counts must be a sequence of {len(items)} integers, one for each of "
            f"mechanisms, got {found}"
        )
    checked = [_arguments.count(number, f"counts[{i}]") for i, number in enumerate(numbers)]
    return list(zip(items, checked, strict=True))


def _pair(item: Any, i: int) -> tuple[Mechanism, int]:
    if isinstance(item, Mechanism):
        return item, 1
    if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], Mechanism):
        return item[0], _arguments.count(item[1], f"the count of mechanisms[{i}]")
    raise TypeError(
        f"mechanisms[{i}] must be a mechanism or a pair (mechanism, count), got {item!r}"
    )


def _merged(steps: Iterable[tuple[Mechanism, int]]) -> _Steps:
    """Return one step for each distinct mechanism, in an order that is theirs alone."""
    steps = list(steps)
    _arguments.total_count([count for _, count in steps])
    if len(steps) < 2:
        return tuple(steps)
    keyed = [(mechanism._key(), type(mechanism).__name__, mechanism, n) for mechanism, n in steps]
    keyed.sort(key=lambda entry: entry[:2])
    merged = []
    for _, group in groupby(keyed, key=lambda entry: entry[0]):
        (_, _, mechanism, first), *others = group
        merged.append((mechanism, first + sum(entry[3] for entry in others)))
    return tuple(merged)


def _shaped(bounds: NDArray[np.float64], points: NDArray[np.float64]) -> Bounds:
    """Return bounds of shape (n, 3) as the caller gave his n points."""
    if points.ndim == 0:
        return Bounds(*bounds[0].tolist())
    return Bounds(*(np.ascontiguousarray(part).reshape(points.shape) for part in bounds.T))
