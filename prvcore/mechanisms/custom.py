"""One's own mechanisms: by functions or by a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore.mechanisms.base import Mechanism, OfArrays

__all__ = ["FromCDFs", "FromPrivacyCurve", "FromTable"]

# It returns what numpy makes an array of; ArrayLike would be a thousand characters in `help`.
_Function: TypeAlias = Callable[[NDArray[np.float64]], Any]


@public
@dataclass(frozen=True, slots=True)
class FromCDFs(Mechanism):
    """One's own mechanism, by the distribution functions of its privacy loss.

    Parameters
    ----------
    cdf_q : callable
        ``cdf_q(losses)`` returns Q(loss <= losses[i]), where the loss is log(dQ/dP). It is called
        with a one-dimensional float64 array of increasing losses and must return an array of the
        same shape: a function of scalars has to be vectorised. Rises to ``1 - mass_at_infinity``.
    cdf_p : callable
        The same with the outcome drawn from P.
    mass_at_infinity : float, default 0
        Q's mass of outcomes that P never has, in [0, 1].
    neighbors : {"add-or-remove", "replace-one", "any"}, default "add-or-remove"
        What it is stated for: data sets of which one has a record more, data sets that differ in
        the value of one record, or both. It has to bound them in either order.
    attained : bool, default True
        Whether two data sets have this pair. If not, it bounds privacy loss from above alone:
        lower bounds of a composition count it as nothing, and no mechanism but `PoissonSubsampled`
        may contain it.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    The functions are called while a curve is queried, perhaps from several threads at once, and at
    losses far outside of where the mass is. What they raise comes out of the query unchanged;
    values that leave [0, 1], decrease, or belong to no pair raise ValueError there. Each value is
    taken to have an absolute error of up to 2^-51, which widens the bounds.

    Two such mechanisms are equal if their functions are; a mechanism is picklable if they are.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> mechanism = FromCDFs(norm(loc=0.5).cdf, norm(loc=-0.5).cdf)  # Gaussian(1)

    """

    cdf_q: _Function
    cdf_p: _Function
    mass_at_infinity: float = 0.0
    neighbors: str = "add-or-remove"
    attained: bool = True

    def __post_init__(self) -> None:
        self._check(
            cdf_q=_arguments.function,
            cdf_p=_arguments.function,
            mass_at_infinity=_arguments.probability,
            neighbors=_relation,
            attained=_arguments.flag,
        )

    def _key(self) -> tuple[Any, ...]:
        functions = id(self.cdf_q), id(self.cdf_p)
        return ("FromCDFs", *functions, self.mass_at_infinity, *_statement(self))

    def _missing_mass(self) -> str | None:
        found = _at_farthest_loss(self.cdf_q)
        return _arguments.missing_mass("cdf_q", "loss", found, 1.0 - found, self.mass_at_infinity)

    def _handle(self) -> core.Handle:
        return _stated(self, core.cdfs(self.cdf_q, self.cdf_p, self.mass_at_infinity))


@public
@dataclass(frozen=True, slots=True, eq=False)
class FromTable(OfArrays):
    """One's own mechanism, by a table of its privacy loss.

    P has the mass ``probability * exp(-loss)`` at each loss, and the rest of its mass where Q has
    none. If these masses sum to more than 1, by up to 1e-9, they are divided by their sum, which
    makes all losses higher by its logarithm, to within 1e-18: such a table is a pair but for
    rounding, and the bounds are those of the raised losses. The pair is taken to dominate in both
    directions of the neighbouring relation that `neighbors` names.

    Parameters
    ----------
    losses : array_like of float, shape (n,)
        Nats, finite and strictly increasing, n >= 1.
    probabilities : array_like of float, shape (n,)
        Q's masses, >= 0. Together with `mass_at_infinity` they sum to 1 within 1e-9, and are then
        normalised.
    mass_at_infinity : float, default 0
        Q's mass of outcomes that P never has, in [0, 1].
    neighbors : {"add-or-remove", "replace-one", "any"}, default "add-or-remove"
        What it is stated for: data sets of which one has a record more, data sets that differ in
        the value of one record, or both. It has to bound them in either order.
    attained : bool, default True
        Whether two data sets have this pair. If not, it bounds privacy loss from above alone:
        lower bounds of a composition count it as nothing, and no mechanism but `PoissonSubsampled`
        may contain it.

    Attributes
    ----------
    losses, probabilities : ndarray of float64, shape (n,)
        Copies, read-only.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range, or P would have more mass than 1.

    """

    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    mass_at_infinity: float = 0.0
    neighbors: str = "add-or-remove"
    attained: bool = True

    def __post_init__(self) -> None:
        self._check(
            losses=_arguments.frozen_vector,
            probabilities=_arguments.frozen_vector,
            mass_at_infinity=_arguments.probability,
            neighbors=_relation,
            attained=_arguments.flag,
        )
        _arguments.table(self.losses, self.probabilities, self.mass_at_infinity)

    def _handle(self) -> core.Handle:
        return _stated(self, core.table(self.losses, self.probabilities, self.mass_at_infinity))


@public
@dataclass(frozen=True, slots=True)
class FromPrivacyCurve(Mechanism):
    """One's own mechanism, by its privacy curve.

    Parameters
    ----------
    delta : callable
        ``delta(epsilons)`` returns the curve at each epsilon, negative ones too. It is called with
        a one-dimensional float64 array of increasing epsilons and must return an array of the same
        shape: a function of scalars has to be vectorised. In [0, 1], non-increasing, convex in
        e^epsilon, at least 1 - e^epsilon, and falling to `mass_at_infinity`.
    mass_at_infinity : float, default 0
        The limit of the curve at infinite epsilon, in [0, 1].
    neighbors : {"add-or-remove", "replace-one", "any"}, default "add-or-remove"
        What it is stated for: data sets of which one has a record more, data sets that differ in
        the value of one record, or both. It has to bound them in either order.
    attained : bool, default True
        Whether two data sets have this pair. If not, it bounds privacy loss from above alone:
        lower bounds of a composition count it as nothing, and no mechanism but `PoissonSubsampled`
        may contain it.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    The function is called while a curve is queried, perhaps from several threads at once, and at
    epsilons so large that e^epsilon overflows. What it raises comes out of the query unchanged;
    values that belong to no curve raise ValueError there.

    A privacy curve fixes a dominating pair [1]_. Two such mechanisms are equal if their functions
    are; a mechanism is picklable if its function is.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567.

    Examples
    --------
    >>> import numpy as np
    >>> perfect = FromPrivacyCurve(lambda epsilons: -np.expm1(np.minimum(epsilons, 0.0)))

    """

    delta: _Function
    mass_at_infinity: float = 0.0
    neighbors: str = "add-or-remove"
    attained: bool = True

    def __post_init__(self) -> None:
        self._check(
            delta=_arguments.function,
            mass_at_infinity=_arguments.probability,
            neighbors=_relation,
            attained=_arguments.flag,
        )

    def _key(self) -> tuple[Any, ...]:
        return ("FromPrivacyCurve", id(self.delta), self.mass_at_infinity, *_statement(self))

    def _missing_mass(self) -> str | None:
        found = _at_farthest_loss(self.delta)
        return _arguments.missing_mass("delta", "epsilon", found, found, self.mass_at_infinity)

    def _handle(self) -> core.Handle:
        return _stated(self, core.curve(self.delta, self.mass_at_infinity))


def _at_farthest_loss(function: _Function) -> float:
    return float(np.asarray(function(np.array([_arguments.FARTHEST_LOSS])))[0])


_Own: TypeAlias = FromCDFs | FromTable | FromPrivacyCurve
_RELATIONS = ("add-or-remove", "replace-one", "any")  # as the core numbers them


def _relation(value: object, name: str) -> str:
    return _arguments.choice(value, name, _RELATIONS)


def _statement(mechanism: _Own) -> tuple[str, bool]:
    return mechanism.neighbors, mechanism.attained


def _stated(mechanism: _Own, handle: core.Handle) -> core.Handle:
    relation, attained = _statement(mechanism)
    if (relation, attained) == (_RELATIONS[0], True):
        return handle  # as the core takes it
    return core.stated(handle, _RELATIONS.index(relation), attained)
