"""A filter: lets an accountant record only what keeps its history within a budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from prvcore import _arguments, _pickling
from prvcore._bounds import Bounds, ScalarBounds
from prvcore._errors import BudgetExceededError
from prvcore._names import by_name, hinting, known_elsewhere, public
from prvcore._steps import Mechanisms
from prvcore.budgets.accountant import Accountant, _Held, _step_of, _Version
from prvcore.mechanisms.base import Mechanism, check_mechanism
from prvcore.mechanisms.guarantees import ApproximateDP, PureDP
from prvcore.mechanisms.noise import Gaussian
from prvcore.mechanisms.subsampled import PoissonSubsampled, PoissonSubsampledGaussian

__all__ = ["PrivacyFilter"]


_MOST = 2**53  # steps that are composed
_WIDTH = 1e-5  # of the bounds that decide, at least, over the budget's epsilon
_STORED = Fraction(
    1, 2**40
)  # of a budget: the sum of decimal numbers as stored is hardly this far off


class _Known(NamedTuple):
    """What is known of a version of an accountant, by its number, and of a mechanism after it."""

    number: int
    mechanism: Mechanism
    run: int  # how many of it this filter has let through in a row, just before this version
    within: bool  # whether the version is known to be within the budget
    fit: int  # so many more of the mechanism are known to fit
    exceed: int | None  # and so many are known not to, or not decided; None: nothing is known

    def left(self) -> int | None:
        """Return how many more fit, None where that is not known."""
        return self.fit if self.exceed == self.fit + 1 else None

    def next_guess(self, count: int) -> int:
        """Return how many to ask about, where it is not known whether `count` fit.

        Who adds one after another would ask about each. So as many as have run are looked at, or
        half of what is not known: the number of questions grows like the logarithm of the counts.
        """
        if self.exceed is None:
            return max(count, self.run)
        return max(count, (self.fit + self.exceed) // 2)


@public
@known_elsewhere
class PrivacyFilter:
    """Lets an accountant record only what keeps its history within a budget.

    Parameters
    ----------
    accountant : Accountant
        What has run, and where the steps are recorded. It may have a history already.
    epsilon : float
        Budget, nats, finite and >= 0.
    delta : float
        Budget, a probability in [0, 1].
    adaptive : bool, default False
        Whether the parameters of a mechanism may depend on what earlier ones have put out.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range, or an accountant has options with which
        `calibrate` does not work: ``discretization="mean-matching"`` or a `mesh_size`.

    Notes
    -----
    Whether steps fit is decided by bounds of epsilon that are made as close as it takes to tell,
    but no closer than 1e-5 of the budget, or than rounding allows: what cannot be told is refused.
    That takes one composition, or two where the same mechanism is added again and again.

    The rule for a budget that is to be used up to its end: equality fits. If all that has run is
    `PureDP` or `ApproximateDP`, what fits by the sums of the epsilons and of the deltas is let
    through. The sums are exact sums of the floats: a filter that rounded each sum would let through
    more and more beyond the budget. So 0.375 and 0.625 use up 1.0, but 0.1 and 0.9 do not fit, by
    3e-17: as binary floats both are a little larger than written. If decimal numbers are meant to
    fit, make the budget a little larger, such as 1 + 1e-9; the error says so. Of other mechanisms,
    leave room for 1e-5 of the budget.

    What the filter promises: with the steps that it let through, whoever sees all outputs, and when
    it was stopped, sees something that is (`epsilon`, `delta`)-DP.

    Not adaptive: what is offered to the filter must not depend on outputs (a schedule, a clock, the
    size of a data set that is public), but stopping may, in any way. For all that the filter would
    ever let through is one composition that is fixed in advance and within the budget, and a run
    that stops early shows a function of it.

    Adaptive: parameters may depend on outputs too, and only Gaussian mechanisms without sampling
    are let through, for which budgets add up just as if they were fixed in advance [1]_ [2]_. The
    exact curves of other mechanisms do not, in general: a filter that composes them as if they
    were fixed is not valid [3]_ [4]_, but for families that compositions order totally. What does
    add up, for all mechanisms, are Renyi divergences of one order [5]_ and the epsilons of pure
    ones [6]_; no filter of these is offered here. Where parameters have to depend on outputs,
    account for a schedule that is fixed in advance, and run at each step anything with at least its
    noise and at most its sampling probability. What others add to the accountant counts: once
    something is among it that is not Gaussian, the filter lets nothing through.

    References
    ----------
    .. [1] Smith, Thakurta, "Fully adaptive composition for Gaussian differential privacy",
       arXiv:2210.17520.
    .. [2] Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential
       privacy", ICLR 2023, arXiv:2209.15596.
    .. [3] "f-DP filters: validity and approximate solutions", 2026, arXiv:2602.06756.
    .. [4] "Natural privacy filters are not always free: a characterization of free natural
       filters", 2026, arXiv:2602.15815.
    .. [5] Feldman, Zrnic, "Individual privacy accounting via a Renyi filter", NeurIPS 2021,
       arXiv:2008.11193.
    .. [6] Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters: pay-as-you-go
       composition", NeurIPS 2016, arXiv:1605.08294.

    Examples
    --------
    >>> import prvcore as prv
    >>> budget = prv.PrivacyFilter(prv.Accountant(), epsilon=1.0, delta=1e-7)
    >>> steps = 0
    >>> while budget.allows(noise_multiplier=0.8, sampling_probability=1e-3, count=1000):
    ...     budget.step(noise_multiplier=0.8, sampling_probability=1e-3, count=1000)
    ...     steps += 1000
    >>> steps
    5000
    >>> budget.remaining_steps(noise_multiplier=0.8, sampling_probability=1e-3)
    434

    """

    __slots__ = ("_accountant", "_adaptive", "_delta", "_epsilon", "_known")

    @hinting
    def __init__(
        self, accountant: Accountant, epsilon: float, delta: float, *, adaptive: bool = False
    ) -> None:
        if not isinstance(accountant, Accountant):
            raise TypeError(f"accountant must be an Accountant, got {accountant!r}")
        if not isinstance(adaptive, bool):
            raise TypeError(f"adaptive must be True or False, got {adaptive!r}")
        self._accountant = accountant
        self._epsilon = _arguments.non_negative(epsilon, "epsilon")
        self._delta = _arguments.probability(delta, "delta")
        self._adaptive = adaptive
        self._known: _Known | None = None
        self._check_history(accountant._newest())
        accountant._refuse_uncalibrated()

    @property
    def accountant(self) -> Accountant:
        """What has run, and where the steps are recorded."""
        return self._accountant

    @property
    def epsilon(self) -> float:
        """Budget, nats."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """Budget, a probability."""
        return self._delta

    @property
    def adaptive(self) -> bool:
        """Whether the parameters of a mechanism may depend on what earlier ones have put out."""
        return self._adaptive

    @by_name
    def step(
        self,
        *,
        noise_multiplier: float,
        sampling_probability: float = 1.0,
        count: int = 1,
        beside: Mechanisms = (),
    ) -> None:
        """Record steps of DP-SGD if they are within the budget.

        To be called before the steps are run.

        Parameters
        ----------
        noise_multiplier, sampling_probability, count, beside
            As `Accountant.step` takes them.

        Raises
        ------
        BudgetExceededError
            They are not; nothing is recorded then.
        TypeError, ValueError
            As `Accountant.step`; or the filter is adaptive, and the step is sampled or has
            something beside it.

        """
        self.add(_step_of(noise_multiplier, sampling_probability, beside), count)

    @hinting
    def add(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record a mechanism of any kind if it is within the budget.

        Parameters
        ----------
        mechanism, count
            As `Accountant.add` takes them.

        Raises
        ------
        BudgetExceededError
            It is not; nothing is recorded then.
        TypeError, ValueError
            As `Accountant.add`; or the filter is adaptive, and the mechanism is not Gaussian.

        """
        count = _arguments.count(count, "count")
        while True:
            version = self._accountant._newest()
            known = self._decided(mechanism, count, version)
            if count > known.fit:
                left = known.left()
                told = "" if left is None else f": {left} are left"
                hint = self._by_rounding(mechanism, count, version)
                raise BudgetExceededError(
                    f"{count} more of {mechanism!r} would exceed epsilon = {self.epsilon!r} at "
                    f"delta = {self.delta!r}{told}{hint}"
                )
            # what another thread has recorded meanwhile counts, too
            if not count or self._accountant._add_after(version, mechanism, count):
                break
        if count:
            self._known = known._replace(
                number=version.number + 1,
                run=known.run + count,
                within=True,
                fit=known.fit - count,
                exceed=None if known.exceed is None else known.exceed - count,
            )

    @by_name
    def allows(
        self,
        *,
        noise_multiplier: float,
        sampling_probability: float = 1.0,
        count: int = 1,
        beside: Mechanisms = (),
    ) -> bool:
        """Return whether `step` would record these steps."""
        count = _arguments.count(count, "count")
        mechanism = _step_of(noise_multiplier, sampling_probability, beside)
        return count <= self._decided(mechanism, count, self._accountant._newest()).fit

    @by_name
    def remaining_steps(
        self,
        *,
        noise_multiplier: float,
        sampling_probability: float = 1.0,
        beside: Mechanisms = (),
    ) -> int:
        """Return how many such steps of DP-SGD are left."""
        mechanism = _step_of(noise_multiplier, sampling_probability, beside)
        return self._left(mechanism, self._accountant._newest())

    def spent(self) -> ScalarBounds:
        """Bound the epsilon spent so far at the delta of the budget, nats."""
        # Looked at before what is asked: what is added later leaves no less.
        known, number = self._known, self._accountant._end().number
        bounds = self._accountant.epsilon(self.delta)
        within = known is not None and known.within and known.number == number
        if not within or self._accountant._end().number != number:
            return bounds
        # All that has run was let through, by closer bounds than these.
        clipped = Bounds(*(min(float(part), self.epsilon) for part in bounds))
        return clipped._of(bounds._origin)

    def __repr__(self) -> str:
        return (
            f"PrivacyFilter({self.accountant!r}, epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adaptive={self.adaptive})"
        )

    def _left(self, mechanism: Mechanism, version: _Version) -> int:
        """Return how many more of a mechanism may follow the version, which has what it holds."""
        known = self._of(mechanism, version)
        left = known.left()
        if left is None:
            found = self._accountant._remaining(
                version.content(), mechanism, self.epsilon, self.delta
            )
            # what has been decided stays so, by bounds that were closer
            left = max(found or 0, known.fit)
            within = known.within or found is not None
            self._known = known._replace(within=within, fit=left, exceed=left + 1)
        return left

    def _decided(self, mechanism: Mechanism, count: int, version: _Version) -> _Known:
        """Return what is known once it is decided whether `count` more may follow the version."""
        known = self._of(mechanism, version)
        if count > known.fit and (known.exceed is None or count < known.exceed):
            _arguments.total_count([version.steps, count])
            guess = min(known.next_guess(count), _MOST - version.steps)
            known = self._after_asking(known, guess, version)
            if guess > count > known.fit:
                known = self._after_asking(known, count, version)
        self._known = known
        return known

    def _after_asking(self, known: _Known, count: int, version: _Version) -> _Known:
        if self._fit(known.mechanism, count, version.content()):
            return known._replace(within=True, fit=count)
        return known._replace(exceed=count)

    def _fit(self, mechanism: Mechanism, count: int, held: _Held) -> bool:
        """Return whether so many more are known to be within the budget."""
        curve = self._accountant._followed_by(held, mechanism, count)
        return bool(
            curve._is_within(self.epsilon, self.delta, _WIDTH * self.epsilon)
        ) or _add_up_within(curve.mechanisms, curve.counts, self.epsilon, self.delta)

    def _by_rounding(self, mechanism: Mechanism, count: int, version: _Version) -> str:
        """Return what to do if decimal numbers fit but for how they are stored, else nothing."""
        curve = self._accountant._followed_by(version.content(), mechanism, count)
        sums = _sums(curve.mechanisms, curve.counts)
        if sums is None:
            return ""
        names, budgets = ("epsilon", "delta"), (self.epsilon, self.delta)
        for name, total, budget in zip(names, sums, budgets, strict=True):
            excess = total - Fraction(budget)
            if 0 < excess <= _STORED * Fraction(budget):
                return (
                    f". The {name}s add up to {float(excess):.2g} more than the budget, because "
                    "most decimal numbers are stored as binary ones that are a little larger or "
                    f"smaller. If they are meant to fit, make the budget of the filter a little "
                    f"larger, for example {name}={float(budget) * (1.0 + 1e-9)!r}"
                )
        return ""

    def _of(self, mechanism: Mechanism, version: _Version) -> _Known:
        """Return what is known of the mechanism after the version, which has what it holds."""
        known = self._known
        if known is not None and known.number == version.number and known.mechanism == mechanism:
            return known
        self._check(mechanism)
        within = known is not None and known.number == version.number and known.within
        if known is None or known.number != version.number:
            self._check_history(version)
        return _Known(version.number, mechanism, 0, within, 0, None)

    def __getstate__(self) -> tuple[Any, ...]:
        # Without what is known: a restored accountant counts its versions anew, so that the number
        # of one of them may be that of another version here.
        return _pickling.VERSION, self._accountant, self._epsilon, self._delta, self._adaptive

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _pickling.check(type(self), state[0])
        _, self._accountant, self._epsilon, self._delta, self._adaptive = state
        self._known = None

    def _check_history(self, version: _Version) -> None:
        for mechanism, _ in version.content().history():
            self._check(mechanism)

    def _check(self, mechanism: Mechanism) -> None:
        check_mechanism(mechanism)
        if self.adaptive and not _is_gaussian(mechanism):
            raise ValueError(
                f"mechanism must be Gaussian without sampling in an adaptive filter, got "
                f"{mechanism!r}"
            )


def _is_gaussian(mechanism: Mechanism) -> bool:
    if isinstance(mechanism, PoissonSubsampled):
        return mechanism.sampling_probability == 1.0 and _is_gaussian(mechanism.mechanism)
    if isinstance(mechanism, PoissonSubsampledGaussian):
        return mechanism.sampling_probability == 1.0
    return isinstance(mechanism, Gaussian)


def _sums(
    mechanisms: tuple[Mechanism, ...], counts: tuple[int, ...]
) -> tuple[Fraction, Fraction] | None:
    """Return the exact sums of epsilons and of deltas, None if not all are guarantees of these."""
    epsilons = deltas = Fraction(0)
    for mechanism, count in zip(mechanisms, counts, strict=True):
        if not isinstance(mechanism, PureDP | ApproximateDP):
            return None
        epsilons += count * Fraction(mechanism.epsilon)
        deltas += count * Fraction(getattr(mechanism, "delta", 0.0))
    return epsilons, deltas


def _add_up_within(
    mechanisms: tuple[Mechanism, ...], counts: tuple[int, ...], epsilon: float, delta: float
) -> bool:
    """Return whether guarantees add up, exactly, to no more than a budget (basic composition)."""
    sums = _sums(mechanisms, counts)
    return sums is not None and sums[0] <= Fraction(epsilon) and sums[1] <= Fraction(delta)
