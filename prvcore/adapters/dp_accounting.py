"""dp-accounting with the bounds of prvcore: its events, and its privacy loss distributions.

Needs dp-accounting 0.4 or later.

Conversions keep the side of a bound. A privacy loss distribution of dp-accounting with
``pessimistic_estimate=True`` dominates its mechanism: its delta is at least the mechanism's at
every epsilon. `mechanisms_from_pld` makes of it tables that dominate it in turn, and
`pld_from_curve` makes one that dominates the composition of a curve. So upper bounds remain upper
bounds of the mechanism on either way, and after any composition on the other side; lower bounds of
a table do not become lower bounds of the mechanism. What is not covered is the rounding of
dp-accounting's own double precision, which its estimates leave out: of the order of 1e-15 in delta
for each operation, which matters where delta is not far larger.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import dp_accounting
import numpy as np
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from prvcore import _arguments
from prvcore._bounds import Bounds, ScalarBounds
from prvcore._compose import compose
from prvcore._curve import PrivacyCurve
from prvcore._outward import RoundedUp
from prvcore._settings import WidthOptions
from prvcore.adapters._events import (
    ALONE,
    NEIGHBORS,
    NON_PRIVATE,
    RULES,
    as_one,
    refusal,
    steps_of,
)
from prvcore.budgets.accountant import Accountant
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.custom import FromTable

__all__ = [
    "EventRow",
    "PRVCoreAccountant",
    "TablesOfPLD",
    "mechanism_from_event",
    "mechanisms_from_pld",
    "pld_from_curve",
    "table_of_events",
]

_WIDTH = 0.02  # of bounds, over the distance of losses, at least
_SHARE = 2.5e-4  # of the loss itself, which is a quarter of the default of `compose`
_FAR = 2.0  # nats: losses farther apart ask for a width that is no larger a part of their distance
# Losses below these have little mass, and 1 - delta there is near the rounding of delta, where
# bounds are slow to come; what is raised to the lowest loss only adds to delta.
_LOWEST, _LOW_TAIL = -8.0, 1e-9


class PRVCoreAccountant(dp_accounting.PrivacyAccountant):
    """A `dp_accounting.PrivacyAccountant` whose answers are certified upper bounds.

    Parameters
    ----------
    neighboring_relation : dp_accounting.NeighboringRelation
        ADD_OR_REMOVE_ONE, unless another is given. REPLACE_ONE is ``neighbors="replace-one"``;
        noise is over the bound of each record, so that a replaced record changes a sum by twice as
        much. Under REPLACE_SPECIAL a record is replaced by one that adds nothing to any sum.
    **options
        The keyword arguments of `prvcore.compose` other than `neighbors`.

    Raises
    ------
    TypeError, ValueError
        `neighboring_relation` is no such relation; `neighbors` is given, which it says; or an
        option is none of `compose`, or out of its range.

    Notes
    -----
    `table_of_events` says which events it takes under which relation. An event that it does not
    take, or with parameters or counts out of their range, is refused by `compose`, as dp-accounting
    wants it, with the reason; `supports` tells it before.

    Truncated samples are of data sets of the size stated, and no others. An event that states a
    guarantee alone (EpsilonDelta, ExponentialMechanism, PermuteAndFlip) has the upper bound that
    all mechanisms with the guarantee have, and the lower bound of some of them.

    After a non-private event epsilon is infinite at every delta, 1 too, as dp-accounting wants it.

    Examples
    --------
    >>> from dp_accounting import dp_event  # doctest: +SKIP
    >>> noise = dp_event.GaussianDpEvent(0.8)  # doctest: +SKIP
    >>> step = dp_event.PoissonSampledDpEvent(1e-3, noise)  # doctest: +SKIP
    >>> PRVCoreAccountant().compose(step, 1000).get_epsilon(1e-7)  # doctest: +SKIP

    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        **options: Unpack[WidthOptions],
    ) -> None:
        if neighboring_relation not in NEIGHBORS:
            raise ValueError(
                f"neighboring_relation must be a NeighboringRelation, got {neighboring_relation!r}"
            )
        if "neighbors" in options:
            raise TypeError(
                "PRVCoreAccountant takes no neighbors, which neighboring_relation says, got "
                f"neighbors={dict(options)['neighbors']!r}"
            )
        super().__init__(neighboring_relation)
        self._neighbors = NEIGHBORS[neighboring_relation]
        self._accountant = Accountant(neighbors=self._neighbors, **options)

    @property
    def accountant(self) -> Accountant:
        """What was composed."""
        return self._accountant

    def get_epsilon(self, target_delta: float) -> float:
        """Return the upper bound of epsilon, nats."""
        return RoundedUp(self.bounds(target_delta).upper)

    def get_delta(self, target_epsilon: float) -> float:
        """Return the upper bound of delta."""
        return RoundedUp(self.accountant.delta(target_epsilon).upper)

    def bounds(self, target_delta: float) -> ScalarBounds:
        """Return both bounds of epsilon, nats."""
        bounds = self.accountant.epsilon(target_delta)
        if any(mechanism == NON_PRIVATE for mechanism, _ in self.accountant.history):
            return Bounds(math.inf, math.inf, math.inf)
        return bounds

    def _maybe_compose(
        self, event: dp_event.DpEvent, count: int, do_compose: bool
    ) -> dp_accounting.PrivacyAccountant.CompositionErrorDetails | None:
        # all of it is looked at before anything is recorded
        steps: list[tuple[Mechanism, int]] = []
        if not do_compose:  # `supports` asks with a count of 0, in which products of counts vanish
            count = count or 1
        total, left = self.accountant.steps, [(event, count)]
        while left:
            part, times = left.pop()
            try:
                times = _arguments.count(times, "count")
                if isinstance(part, dp_event.SelfComposedDpEvent):
                    left.append((part.event, _arguments.count(part.count, "count") * times))
                    continue
                if isinstance(part, dp_event.ComposedDpEvent):
                    if not isinstance(part.events, list | tuple):
                        raise TypeError(f"events must be a list, got {part.events!r}")
                    left.extend((inner, times) for inner in reversed(part.events))
                    continue
                for mechanism, number in steps_of(part, self.neighboring_relation):
                    mechanism._build(self._neighbors)  # what the C core refuses is refused here
                    steps.append((mechanism, _arguments.count(number * times, "count")))
                    _arguments.total_count([total, number * times])
                    total += number * times
            except (RecursionError, TypeError, ValueError) as error:
                message = str(error) or "it is nested too deeply"
                return self.CompositionErrorDetails(invalid_event=part, error_message=message)
        if do_compose:
            self._accountant._add_all(steps)
        return None


def mechanism_from_event(
    event: dp_event.DpEvent,
    neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
) -> Mechanism | None:
    """Return the mechanism of one event that is no composition.

    Parameters
    ----------
    event : dp_event.DpEvent
        Of a kind that `table_of_events` does not refuse.
    neighboring_relation : dp_accounting.NeighboringRelation
        For which the mechanism is to be composed.

    Returns
    -------
    Mechanism or None
        None where the event does nothing.

    Raises
    ------
    TypeError, ValueError
        The event is of another kind, or is refused under that relation, or has parameters out of
        their range.

    """
    steps = steps_of(event, neighboring_relation)
    if not steps:
        return None
    return as_one(steps)


class EventRow(NamedTuple):
    """What becomes of one kind of event of dp-accounting: a row of `table_of_events`.

    Attributes
    ----------
    event : str
        Name of the class.
    mechanism : str
        What it is mapped to, "a composition", or "refused".
    refused : dict of NeighboringRelation to str
        The reason for each relation under which all events of the kind are refused.

    """

    event: str
    mechanism: str
    refused: dict[NeighboringRelation, str]


def table_of_events() -> list[EventRow]:
    """Return what becomes of each kind of event that the installed dp-accounting has.

    Returns
    -------
    list of EventRow
        In the order of their names. An event whose mechanism is named may still be refused for its
        parameters, with a reason, or for what runs on its sample.

    """
    kinds = sorted(
        name
        for name, kind in vars(dp_event).items()
        if isinstance(kind, type) and issubclass(kind, dp_event.DpEvent)
    )
    rows = []
    for kind in kinds:
        refused = {relation: refusal(kind, relation) for relation in NEIGHBORS}
        reasons = {relation: reason for relation, reason in refused.items() if reason}
        mapped = RULES[kind][0] if kind in RULES else ALONE.get(kind, "refused")
        mechanism = "refused" if len(reasons) == len(NEIGHBORS) else mapped
        rows.append(EventRow(kind, mechanism, reasons))
    return rows


class TablesOfPLD(NamedTuple):
    """A privacy loss distribution of dp-accounting as mechanisms, one for each direction.

    Attributes
    ----------
    remove, add : FromTable
        What dominates the distribution where a record is removed, and where one is added. It bounds
        privacy loss from above alone: no two data sets are known to have it. Compose
        each with other mechanisms under ``neighbors="remove"`` and ``neighbors="add"``; the worse
        of both is the answer. Where the distribution is symmetric both are equal, and one
        composition under any `neighbors` does.

    """

    remove: FromTable
    add: FromTable

    def epsilon(self, delta: float, count: int = 1, **options: Unpack[WidthOptions]) -> float:
        """Return an upper bound of the epsilon of so many of the mechanism.

        Parameters
        ----------
        delta : float
            Probability in [0, 1].
        count : int, default 1
            How often it runs.
        **options
            The keyword arguments of `prvcore.compose` other than `neighbors`.

        Returns
        -------
        float
            Nats.

        """
        remove = compose(self.remove, count, neighbors="remove", **options)
        add = compose(self.add, count, neighbors="add", **options)
        return max(remove.epsilon(delta).upper, add.epsilon(delta).upper)


def mechanisms_from_pld(pld: PrivacyLossDistribution) -> TablesOfPLD:
    """Return tables that dominate a pessimistic privacy loss distribution of dp-accounting.

    Parameters
    ----------
    pld : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        Made with ``pessimistic_estimate=True``, which is the default there.

    Returns
    -------
    TablesOfPLD
        Its losses and masses. Rounding and clipping leave sums that are not 1, and masses at losses
        so low that no pair has them. Those are moved up, and what is missing is put to infinite
        loss, both of which only add to delta; what is too much is taken from the lowest losses,
        which leaves delta above them, and makes it the largest that a pair can have below.

    Raises
    ------
    TypeError, ValueError
        `pld` is of another kind, or is optimistic.

    """
    if not isinstance(pld, PrivacyLossDistribution):
        raise TypeError(f"pld must be a PrivacyLossDistribution, got {pld!r}")
    return TablesOfPLD(_table(pld._pmf_remove), _table(pld._pmf_add))


def _table(pmf: pld_pmf.PLDPmf) -> FromTable:
    if not pmf._pessimistic_estimate:
        raise ValueError("pld must be pessimistic: what an optimistic one says is no upper bound")
    dense = pmf.to_dense_pmf()
    places = np.flatnonzero(dense._probs > 0.0)
    losses = (places + dense._lower_loss) * dense._discretization
    masses, at_infinity = dense._probs[places], float(dense._infinity_mass)
    rest = _rest(masses, at_infinity)
    if rest < 0.0:
        # What is too much goes from the lowest losses. Above them delta stays; below them it is now
        # the line over e^epsilon down from 1, which no convex curve exceeds that begins at 1 too.
        first = int(np.searchsorted(np.cumsum(masses), -rest, side="right"))
        first = min(first, len(masses) - 1)
        losses, masses = losses[first:], masses[first:].copy()
        masses[0] = max(0.0, _rest(masses[1:], at_infinity))
        if _rest(masses, at_infinity) < 0.0:
            masses[0] = math.nextafter(masses[0], 0.0)
    losses, masses = _with_possible_reverse(losses, masses)
    rest = _rest(masses, at_infinity)
    if rest > 0.0:
        at_infinity = min(1.0, math.nextafter(at_infinity + rest, 1.0))
    return FromTable(losses, masses, at_infinity, attained=False)


def _rest(masses: np.ndarray, at_infinity: float) -> float:
    return math.fsum([1.0, -at_infinity, *-masses])


def _with_possible_reverse(losses: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move masses up to a loss above which the sum of mass * e^(-loss) is at most 1.

    It is for every pair, but not where rounding has left masses at the lowest losses. A mass at a
    higher loss only adds to delta.
    """
    with np.errstate(over="ignore"):
        weights = np.exp(-losses)
        above = np.cumsum((masses * weights)[::-1])[::-1]
        below = np.concatenate(([0.0], np.cumsum(masses)[:-1]))
        possible = np.flatnonzero(above + below * weights <= 1.0)
    first = int(possible[0]) if possible.size else 0  # none: `compose` says that it is no pair
    kept = masses[first:].copy()
    kept[0] += below[first]
    return losses[first:], kept


def pld_from_curve(
    curve: PrivacyCurve,
    *,
    value_discretization_interval: float = 1e-4,
    points: int = 1000,
    tail: float = 1e-15,
) -> PrivacyLossDistribution:
    """Return a privacy loss distribution of dp-accounting that dominates a composition.

    Parameters
    ----------
    curve : PrivacyCurve
        What is dominated, in both directions; its own `neighbors` is not looked at.
    value_discretization_interval : float, default 1e-4
        Losses are multiples of it, nats; dp-accounting composes only what has the same.
    points : int, default 1000
        About how many losses, >= 2, evenly between the ends.
    tail : float, default 1e-15
        Delta at the ends of the losses, in (0, 1): about the mass at infinite loss.

    Returns
    -------
    dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        Pessimistic. Its delta at the losses is the curve's upper bound, or below where that of
        the neighbours shows that the exact one is; between them it is a line in e^epsilon [1]_.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, or the composition has infinite loss
        with a probability of `tail` or more, so that there is no end.

    Notes
    -----
    Asks the curve at all points, in both directions, a fraction of a millisecond each for few
    mechanisms. Where its `eps_error` was left out, a fiftieth of the distance h of the losses is
    asked, or ``h**2 / 16`` or up to 2.5e-4 of the loss if that is more; the lines between them add
    an error of second order, ``h**2 / 8`` in epsilon or more.

    The exact delta is convex in e^epsilon, so that any line between two upper bounds is above it
    in between. Hence bounds may be left out, and those are that do not fit a convex curve.

    References
    ----------
    .. [1] Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots: tighter discrete
       approximations of privacy loss distributions", PETS 2022, arXiv:2207.04380.

    """
    if not isinstance(curve, PrivacyCurve):
        raise TypeError(f"curve must be a PrivacyCurve, got {curve!r}")
    interval = _arguments.positive(value_discretization_interval, "value_discretization_interval")
    points = _arguments.integer(points, "points", 2, 10**7)
    tail = _arguments.open_probability(tail, "tail")
    remove, add = (_changed(curve, neighbors=direction) for direction in ("remove", "add"))
    return PrivacyLossDistribution(
        *(
            _pessimistic(
                here,
                max(_LOWEST, -_end(there, max(tail, _LOW_TAIL))),
                _end(here, tail),
                interval,
                points,
            )
            for here, there in ((remove, add), (add, remove))
        )
    )


def _changed(curve: PrivacyCurve, **changes: Any) -> PrivacyCurve:
    names = (
        "eps_error",
        "delta_error",
        "neighbors",
        "discretization",
        "engine",
        "mesh_size",
        "delta_relative_error",
    )
    steps = zip(curve.mechanisms, curve.counts, strict=True)
    return PrivacyCurve(steps, **{name: getattr(curve, name) for name in names} | changes)


def _end(curve: PrivacyCurve, tail: float) -> float:
    """Return an epsilon at which delta is at most `tail`."""
    end = float(curve.epsilon(tail).upper)
    if math.isinf(end):
        raise ValueError(f"tail must be above the mass at infinite loss of {curve!r}, got {tail!r}")
    return end


def _pessimistic(
    curve: PrivacyCurve, low: float, high: float, interval: float, points: int
) -> pld_pmf.PLDPmf:
    first, last = math.floor(low / interval), math.ceil(high / interval)
    places = np.unique(np.linspace(first, last, min(points, last - first + 1)).round().astype(int))
    losses = places * interval
    deltas = np.minimum.accumulate(_upper_deltas(curve, losses))
    kept = _convex(losses, deltas)
    return pld_pmf.create_pmf_pessimistic_connect_dots(interval, places[kept], deltas[kept])


def _upper_deltas(curve: PrivacyCurve, losses: np.ndarray) -> np.ndarray:
    if curve.eps_error is not None or curve.mesh_size is not None or len(losses) < 2:
        deltas: np.ndarray = _changed(curve, delta_relative_error=0.0).delta(losses).upper
        return deltas
    # near epsilon 0 the default would ask for far more than lines between the losses keep
    least = _width(float(np.diff(losses).min()))
    share = np.maximum(_SHARE * np.abs(losses), np.finfo(float).tiny)
    widths = np.maximum(least, np.exp2(np.floor(np.log2(share))))
    deltas = np.empty(len(losses))
    for width in np.unique(widths):
        same = widths == width
        # what is composed again differs by as much in epsilon, not in delta
        close = _changed(curve, eps_error=float(width), delta_relative_error=0.0)
        deltas[same] = close.delta(losses[same]).upper
    return deltas


def _width(distance: float) -> float:
    """Return the width in epsilon that is worth asking of deltas at losses so far apart.

    The line over e^epsilon between two of them lies `distance`**2 / 8 or more above the curve: half
    of that costs a quarter more at most.
    """
    return distance * max(_WIDTH, min(distance, _FAR) / 16.0)


def _convex(epsilons: np.ndarray, deltas: np.ndarray) -> list[int]:
    """Return the indices of the corners of the convex hull from below, over e^epsilon.

    The first corner, which has no index, is delta 1 where e^epsilon is 0.
    """
    x, y = np.concatenate(([-np.inf], epsilons)), np.concatenate(([1.0], deltas))
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2:]
            # of a, in the mixture of a and i that lies at b
            share = math.expm1(x[b] - x[i]) / math.expm1(x[a] - x[i])
            if y[b] < y[i] + share * (y[a] - y[i]):
                break
            corners.pop()
        corners.append(i)
    return [corner - 1 for corner in corners[1:]]
