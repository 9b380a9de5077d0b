"""The privacy curve of a composition, and bounds of its quantities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from prvcore import _arguments, _plot
from prvcore._arguments import Array, FloatArray, Scalar
from prvcore._bounds import (
    ArrayBounds,
    Bounds,
    EitherBounds,
    ErrorBudget,
    ScalarBounds,
    scalar,
    shaped,
)
from prvcore._composed_steps import ComposedSteps
from prvcore._core.composition import History
from prvcore._errors import AccuracyWarning
from prvcore._names import by_name, hinting, known_elsewhere, public
from prvcore._progress import ProgressOption, reported
from prvcore._report import OfCurve
from prvcore._settings import How, memory_limit_of
from prvcore._warnings import warn_caller, why_share_is_wide, why_wide
from prvcore._witness import witness_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivacyCurve"]


@public
@known_elsewhere
class PrivacyCurve(ComposedSteps):
    """The privacy of a composition: delta as a function of epsilon, and the reverse.

    `compose` makes it. It is immutable, hashable and picklable if its mechanisms are, and safe to
    query from several threads at once; the GIL is released while a query computes.

    A query takes a scalar or an array of any shape, and its bounds are floats or arrays of that
    shape. `progress`, `memory_limit`, errors and warnings are described at `epsilon`, and are the
    same for every query.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        Distinct mechanisms, in an order that does not depend on the order in which they were given.
    counts : tuple of int
        How often each runs.
    neighbors, discretization, engine : str
        As given to `compose`.
    eps_error, delta_error, mesh_size : float or None
        As given to `compose`; None is the default.
    delta_relative_error : float
        As given to `compose`.

    """

    __slots__ = ()

    @overload
    def epsilon(self, delta: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def epsilon(self, delta: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def epsilon(self, delta: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    @hinting
    def epsilon(
        self,
        delta: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the epsilon at which the composition is (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float or array_like of float
            Probabilities in [0, 1].
        progress : bool or callable, default False
            Whether to show a bar, or a function to call between stages: see `Progress`.
        memory_limit : int, optional
            Bytes that the largest buffers may take together; by default that of
            `get_memory_limit`.

        Returns
        -------
        Bounds
            Nats, >= 0. If `delta` is at or above delta(0), 0; if it is below the mass of infinite
            loss, infinite. If it equals that mass, the largest finite loss, provided that the mass
            is known exactly: it is 0, or was given for a single mechanism that runs once. Otherwise
            the mass is a rounded product, and for deltas within about 1e-14 of it the bounds are
            epsilon at a delta that is a little more, and infinite, with an AccuracyWarning.

        Raises
        ------
        TypeError, ValueError
            If a point is not a real number in its range; if a `mesh_size` needs more memory than
            the limit; if a function of a mechanism returns values that no pair has, or anything but
            an array of real numbers.
        PrecisionError
            If mean-matching cannot resolve so small a delta.

        Warns
        -----
        AccuracyWarning
            If bounds are wider than asked, because of the memory limit, of rounding over very many
            steps, or of a `mesh_size`. They hold nevertheless.
        UnattainedWarning
            If they are, because no data sets are known for which the upper bound is exact
            (`attained` is False). No setting brings them closer.

        Notes
        -----
        Each delta takes a few passes, each finer than the one before. A pass of a spectrum costs
        some hundred frequencies times the atoms of the distinct mechanisms, whatever the counts
        are; a pass of a convolution costs N log N operations, with N the width of the composed loss
        over the mesh size. `error_budget` says which engine was used. Mean-matching transforms once
        for all deltas. What passes for one point have found may serve the next in an array, so that
        a point asked alone may have bounds of other bits, which hold as well.

        """
        return self._query("epsilon", delta, progress, memory_limit)

    @overload
    def delta(self, epsilon: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def delta(self, epsilon: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def delta(self, epsilon: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    @hinting
    def delta(
        self,
        epsilon: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the delta at which the composition is (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float or array_like of float
            Nats, of either sign and infinite too, but not nan.
        progress, memory_limit
            As in the method `epsilon`.

        Returns
        -------
        Bounds
            Probabilities. ``upper - lower`` is at most `delta_relative_error` of ``upper``, or the
            width asked in epsilon times the slope of the curve, whichever is met first.

        See Also
        --------
        epsilon : the same errors, warnings and costs.

        """
        return self._query("delta", epsilon, progress, memory_limit)

    @overload
    def power(self, false_positive_rate: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def power(self, false_positive_rate: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def power(self, false_positive_rate: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    def power(
        self,
        false_positive_rate: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the greatest power of a test that tells the neighbouring data sets apart.

        The power is, for example, the true positive rate of a membership inference attack.

        Parameters
        ----------
        false_positive_rate : float or array_like of float
            Type I errors of the test, in [0, 1].
        progress, memory_limit
            As in `epsilon`.

        Returns
        -------
        Bounds
            The greatest power of a test with this type I error, the greater of the
            directions asked. No attack, whatever it knows and computes, has a power above `upper`.

        Warns
        -----
        AccuracyWarning
            If the relative width of the bounds is more than some times the width asked, which is
            one in epsilon. The bounds hold nevertheless.
        UnattainedWarning
            If it is, because no data sets are known for which `upper` is exact.

        Notes
        -----
        The power is the infimum over all real epsilons of ``delta(epsilon) + exp(epsilon) *
        false_positive_rate`` [1]_. It costs some ten to fifty deltas for each rate.

        References
        ----------
        .. [1] Dong, Roth, Su, "Gaussian differential privacy", JRSS B 84 (2022), Proposition 2.12,
           arXiv:1905.02383.

        """
        rates = _arguments.probabilities(false_positive_rate, "false_positive_rate")
        return self._bound("power", rates, progress, memory_limit)

    @overload
    def trade_off(self, false_positive_rate: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def trade_off(self, false_positive_rate: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def trade_off(self, false_positive_rate: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    def trade_off(
        self,
        false_positive_rate: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the trade-off function: the least type II error at each type I error.

        Parameters
        ----------
        false_positive_rate : float or array_like of float
            Type I errors, in [0, 1].
        progress, memory_limit
            As in `epsilon`.

        Returns
        -------
        Bounds
            Type II errors, ``1 - power``; the error of every test is at least `lower`.

        See Also
        --------
        power : the same errors, warnings and costs; it keeps its relative accuracy if it is small.

        """
        rates = _arguments.probabilities(false_positive_rate, "false_positive_rate")
        lower, estimate, upper = self._bound("power", rates, progress, memory_limit, "trade_off")
        errors = Bounds(_complement(upper, -1.0), 1.0 - estimate, _complement(lower, 1.0))
        return errors._of(OfCurve("trade_off", rates, self))

    @overload
    def bayes_risk(self, prior: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def bayes_risk(self, prior: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def bayes_risk(self, prior: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    def bayes_risk(
        self,
        prior: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the least chance of a wrong guess which of two neighbouring data sets was used.

        A guess is right with probability at most ``1 - lower``, whatever the guesser computes and
        whatever else is known of the records.

        Parameters
        ----------
        prior : float or array_like of float
            Probability in [0, 1], before the output is seen, of one of both data sets: with
            ``neighbors="remove"`` of the one that has the record, with ``"add"`` of the one that
            lacks it, and with the other relations of either, whichever makes the guess easier.
        progress, memory_limit
            As in `epsilon`.

        Returns
        -------
        Bounds
            Probabilities in [0, min(prior, 1 - prior)]: more privacy is a larger risk. No guess
            errs less often than `lower`, and for some two data sets one errs no more often than
            `upper`.

        Warns
        -----
        AccuracyWarning, UnattainedWarning
            As `power`.

        Notes
        -----
        The Bayes risk is ``prior * (1 - delta(log((1 - prior) / prior)))``, since the guess for the
        set S of outputs errs with probability ``prior * (1 - Q(S)) + (1 - prior) * P(S)``; at even
        odds it is ``(1 - total_variation) / 2``. Its width is the one asked in epsilon, but no less
        than 1e-9 of the prior.

        """
        priors = _arguments.probabilities(prior, "prior")
        return self._bound("bayes_risk", priors, progress, memory_limit)

    def total_variation(
        self, *, progress: ProgressOption = False, memory_limit: int | None = None
    ) -> ScalarBounds:
        """Bound the total variation distance of the output distributions, which is delta(0).

        Parameters
        ----------
        progress, memory_limit
            As in `epsilon`.

        Returns
        -------
        Bounds
            Floats in [0, 1]. With even odds at the start, a guess which of the two data sets was
            used is right with probability at most ``(1 + total_variation) / 2``. For any membership
            test, ``true positive rate - false positive rate`` is at most ``total_variation``.

        """
        return self._query("delta", 0.0, progress, memory_limit)

    @overload
    def gaussian_mu(self, delta: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def gaussian_mu(self, delta: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def gaussian_mu(self, delta: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    def gaussian_mu(
        self,
        delta: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the mu of the Gaussian mechanism that is no more private, down to a delta.

        Parameters
        ----------
        delta : float or array_like of float
            The least delta that counts, in (0, 1].
        progress, memory_limit
            As in `epsilon`.

        Returns
        -------
        Bounds
            Bounds of the least mu with ``self.delta(e) <= max(delta_mu(e), delta)`` for every
            epsilon ``e >= 0``, where ``delta_mu`` is the privacy curve of
            ``Gaussian(noise_multiplier=1 / mu)``. With mu = `upper`, each (epsilon, d)-DP
            guarantee of that mechanism with ``epsilon >= 0`` and ``d >= delta`` is a guarantee of
            the composition; with any mu below `lower`, one of them is not. Infinite if the mass of
            infinite loss is not below `delta`.

        Warns
        -----
        AccuracyWarning, UnattainedWarning
            As `power`.

        Notes
        -----
        Without a least delta, mu is that of Gaussian differential privacy [1]_, which says little
        about most compositions, since losses that hardly ever occur decide it. For example, the mu
        of 1000 steps with noise multiplier 0.8 and sampling probability 0.001 would be nearly that
        of 1000 steps without sampling. To compose two compositions, add their curves: the formula
        ``sqrt(mu_1**2 + mu_2**2)`` loses the certificate.

        If mu is above some 14, delta(0) rounds to 1, and only moments bound its distance from 1:
        `upper` is then about a tenth above `lower`, several times `lower` if the mu of a single
        step is above 75, and infinite for mechanisms given by functions. `estimate` then ignores
        epsilons near 0.

        The curve is queried at some ten to 400 epsilons. Between two of them delta lies below the
        chord in exp(epsilon), and the Gaussian curve is shown to lie above the chord.

        References
        ----------
        .. [1] Dong, Roth, Su, "Gaussian differential privacy", JRSS B 84 (2022), Definition 2.6 and
           Corollary 2.13, arXiv:1905.02383.

        """
        least = _arguments.points(delta, "delta", "in (0, 1]", 5e-324, 1.0)
        return self._bound("gaussian_mu", least, progress, memory_limit)

    @overload
    def renyi_divergence(self, order: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def renyi_divergence(self, order: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def renyi_divergence(self, order: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    def renyi_divergence(
        self,
        order: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the Renyi divergence of the composition: its RDP curve.

        Parameters
        ----------
        order : float or array_like of float
            Orders alpha in (1, 1e6].
        progress
            As in `epsilon`.
        memory_limit : int, optional
            Checked, but without effect: a divergence takes at most some 8 MB, whatever is asked.

        Returns
        -------
        Bounds
            Nats, the greater of the directions asked: the composition is (alpha, `upper`)-RDP
            [1]_. Infinite if there is mass at infinite loss.

        Warns
        -----
        UnattainedWarning
            As `power`.

        Raises
        ------
        TypeError, ValueError
            If an order is out of range, or if a mechanism is given by functions, whose tails are
            unknown, or is made of others (`Composed`, `RandomAllocation` and samples of these).

        Notes
        -----
        The divergence is ``log(E[exp((alpha - 1) * loss)]) / (alpha - 1)``, and those of steps add
        up. Each is bounded by cells of its noise, with a relative width of about 2e-5, whatever
        `eps_error` and the engine are. The width is larger for discrete Gaussian noise at orders
        above some 38 scale / sensitivity, and for Laplace noise and bounded range if the divergence
        is below some 1e-9. For epsilons and deltas use `epsilon` and `delta`: the epsilons and
        deltas that follow from Renyi divergences are larger.

        References
        ----------
        .. [1] Mironov, "Renyi differential privacy", CSF 2017, arXiv:1702.07476.

        """
        orders = _arguments.points(order, "order", "in (1, 1e6]", np.nextafter(1.0, 2.0), 1e6)
        return self._bound("renyi_divergence", orders, progress, memory_limit)

    def _bounded(self, quantity: str, point: float, memory_limit: int) -> ScalarBounds:
        """Return bounds of a quantity at one point, without a warning."""
        bounds = np.empty((1, 3))
        self._composition.bound(
            quantity,
            np.array([point]),
            bounds,
            memory_limit=memory_limit,
            **self._settings.of_core(),
        )
        return scalar(bounds)._of(OfCurve(quantity, point, self))

    def _bound(
        self,
        quantity: str,
        points: FloatArray,
        progress: ProgressOption,
        memory_limit: int | None,
        asked_as: str | None = None,
    ) -> Bounds[Any]:
        flat = np.ascontiguousarray(points).reshape(-1)
        bounds = np.empty((flat.size, 3))
        memory_limit = memory_limit_of(memory_limit)
        with reported(progress) as tell:
            reports = self._composition.bound(
                quantity,
                flat,
                bounds,
                memory_limit=memory_limit,
                progress=tell,
                **self._settings.of_core(),
            )
        warning = why_share_is_wide(self, asked_as or quantity, bounds, reports, memory_limit)
        if warning is not None:
            warn_caller(warning)
        return shaped(bounds, points)._of(OfCurve(quantity, points, self))

    @by_name
    def report(
        self, *, delta: float | None = None, epsilon: float | None = None, digits: int = 4
    ) -> str:
        """Return the sentences for a paper or a data sheet.

        Parameters
        ----------
        delta : float, optional
            Where epsilon is reported, a probability in [0, 1].
        epsilon : float, optional
            Where delta is reported, nats, finite. Exactly one of the two is given.
        digits : int, default 4
            How many significant digits the bounds have, in [1, 17].

        Returns
        -------
        str
            The bounds, rounded outwards, the neighbours, the mechanisms in words, with their
            parameters, and the version.

        See Also
        --------
        TrainingSchedule.report : names the data set, the batches and the epochs, too.

        Raises
        ------
        TypeError, ValueError
            If not exactly one point is given, `digits` is no integer in its range, or as `epsilon`
            and `delta` raise.

        Examples
        --------
        >>> import prvcore as prv
        >>> step = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
        >>> print(prv.compose(step, 1000).report(delta=1e-7))  # doctest: +ELLIPSIS
        At delta = 1e-07, epsilon is at most 0.70... (exact value in [0.70..., 0.70...]...) ...

        """
        given, point = _one_point(delta, epsilon)
        bounds = self.epsilon(point) if given == "delta" else self.delta(point)
        return bounds.report(digits)

    def error_budget(
        self,
        *points: object,
        delta: float | None = None,
        epsilon: float | None = None,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> ErrorBudget:
        """Say where the width of the bounds comes from at one point.

        Parameters
        ----------
        *points
            Refused: give the point by name.
        delta : float, optional
            The point at which `epsilon` would be asked, a probability in [0, 1].
        epsilon : float, optional
            The point at which `delta` would be asked, not nan. Exactly one of the two is given.
        progress, memory_limit
            As in the method `epsilon`.

        Returns
        -------
        ErrorBudget
            The parts of the width in epsilon, and how the bounds were computed.

        Raises
        ------
        TypeError, ValueError
            If both or none of `delta` and `epsilon` are given, or one is no scalar in its range.

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
        memory_limit = memory_limit_of(memory_limit)
        _, reports = self._ask(delta is not None, point.reshape(1), progress, memory_limit)
        return ErrorBudget(*reports[0])

    @by_name
    def witness(
        self,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> dict[str, Any]:
        """Return bounds with all that others need to prove them: see the page on witnesses.

        Parameters
        ----------
        delta : float, optional
            Where epsilon is bounded, a probability in [0, 1].
        epsilon : float, optional
            Where delta is bounded, nats, finite. Exactly one of the two is given.
        progress, memory_limit
            As in the method `epsilon`.

        Returns
        -------
        dict
            Strings, numbers, lists and such dicts, which `json` writes exactly: the mechanisms, the
            neighbours, the question, the claim, and the lattices from which it follows. The command
            ``prvcore verify`` proves the claim.

        Raises
        ------
        TypeError, ValueError
            If not exactly one point is given, or as `epsilon` and `delta` raise; if the bounds
            follow without lattices; if the mechanisms are none that the verifier covers.

        Notes
        -----
        The bounds claimed are as close as those of `epsilon` and `delta`, but they need not be the
        same numbers: lattices are convolved in both directions even where a formula or another
        engine would be faster.

        Examples
        --------
        >>> import prvcore as prv
        >>> witness = prv.compose(prv.Laplace(2.0), 10).witness(delta=1e-6)
        >>> f"{float.fromhex(witness['claim']['upper']):.3f}"
        '4.999'

        """
        given, point = _one_point(delta, epsilon)
        memory_limit = memory_limit_of(memory_limit)
        with reported(progress) as tell:
            return witness_of(
                self._composition,
                self._steps,
                given,
                point,
                self._settings.of_core(),
                {"memory_limit": memory_limit, "progress": tell},
            )

    def _query(
        self,
        wanted: str,
        points: ArrayLike,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Return bounds, and warn if they are too wide."""
        bounds, warning = self._answer(wanted, points, progress, memory_limit)
        if warning is not None:
            warn_caller(warning)
        return bounds

    def _answer(
        self,
        wanted: str,
        points: ArrayLike,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
        history: History | None = None,
    ) -> tuple[Bounds[Any], AccuracyWarning | None]:
        """Return bounds, and a warning if they are too wide."""
        if wanted == "epsilon":
            points = _arguments.probabilities(points, "delta")
        else:
            points = _arguments.extended_reals(points, "epsilon")
        memory_limit = memory_limit_of(memory_limit)
        flat = np.ascontiguousarray(points).reshape(-1)
        bounds, reports = self._ask(wanted == "epsilon", flat, progress, memory_limit, history)
        found = shaped(bounds, points)
        if history is None:  # else the accountant says whether its curve is kept
            found._of(OfCurve(wanted, points, self))
        return found, why_wide(self, wanted, bounds, reports, memory_limit)

    def _ask(
        self,
        for_epsilon: bool,
        points: FloatArray,
        progress: ProgressOption,
        memory_limit: int,
        history: History | None = None,
    ) -> tuple[FloatArray, list[Any]]:
        bounds = np.empty((points.size, 3))
        with reported(progress) as tell:
            reports = self._composition.query(
                for_epsilon,
                points,
                bounds,
                memory_limit=memory_limit,
                progress=tell,
                history=history,
                **self._settings.of_core(),
            )
        return bounds, reports

    def _is_within(self, epsilon: float, delta: float, width: float) -> bool | None:
        """Return whether the upper bound of epsilon is within a budget, no closer than it takes.

        None if bounds that are at most `width` apart leave both sides possible.
        """
        bounds = np.empty((1, 3))
        settings = {**self._settings.of_core(), "eps_error": width}
        self._composition.query(
            True,
            np.array([delta]),
            bounds,
            memory_limit=memory_limit_of(None),
            threshold=epsilon,
            **settings,
        )
        lower, _, upper = bounds[0]
        if upper <= epsilon:
            return True
        return False if lower > epsilon else None

    @overload
    def plot(
        self,
        kind: Literal["delta"] = "delta",
        ax: Axes | None = None,
        *,
        epsilons: ArrayLike | None = None,
    ) -> Axes: ...
    @overload
    def plot(
        self,
        kind: Literal["trade-off"],
        ax: Axes | None = None,
        *,
        false_positive_rates: ArrayLike | None = None,
    ) -> Axes: ...
    @overload
    def plot(
        self,
        kind: Literal["steps"],
        ax: Axes | None = None,
        *,
        delta: float,
        multiples: Iterable[int] | None = None,
    ) -> Axes: ...
    def plot(self, kind: str = "delta", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the curve with its certified band; needs matplotlib.

        Parameters
        ----------
        kind : {"delta", "trade-off", "steps"}
            delta against epsilon; the least false negative rate against the false positive rate of
            any test between the neighbouring data sets; or epsilon at one delta while all counts
            grow together.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.
        **options
            For ``"delta"``: `epsilons`, an array of nats. For ``"trade-off"``:
            `false_positive_rates`, an array in [0, 1]. For ``"steps"``: `delta`, and `multiples`,
            integers >= 1 by which all counts are multiplied. All but `delta` are optional.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            If an argument has the wrong type or is out of range.

        """
        return _plot.plot(self, kind, ax, **options)


def _complement(part: float | FloatArray, side: float) -> float | FloatArray:
    """Return 1 - part, parts in [0, 1], rounded down where `side` is -1, up where it is 1."""
    nearest = 1.0 - part
    missed = (1.0 - nearest) - part  # exact, as 1 is not below part (Dekker's fast two-sum)
    found = np.where(side * missed > 0.0, np.nextafter(nearest, side * np.inf), nearest)
    return found if np.ndim(part) else float(found)


def _one_point(delta: float | None, epsilon: float | None) -> tuple[str, float]:
    """Return which of the two is given, exactly one, and its value."""
    if (delta is None) == (epsilon is None):
        raise TypeError("exactly one of delta and epsilon must be given")
    if delta is not None:
        return "delta", _arguments.probability(delta, "delta")
    return "epsilon", _arguments.real(epsilon, "epsilon", "finite", math.isfinite)
