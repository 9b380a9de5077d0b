"""An odometer: readings of what is spent that hold together, wherever one stops."""

import math
from typing import Any, NamedTuple

from prvcore import _arguments
from prvcore._bounds import ScalarBounds
from prvcore._names import hinting, known_elsewhere, public
from prvcore.budgets.accountant import Accountant
from prvcore.budgets.chain import Link

__all__ = ["OdometerReading", "PrivacyOdometer"]


@public
class OdometerReading(NamedTuple):
    """What an odometer says at one time.

    Attributes
    ----------
    epsilon : Bounds
        Of all that had run, at `delta`, nats.
    delta : float
        The part of the odometer's delta that this reading takes.
    number : int
        How many readings had been taken with this one.

    """

    epsilon: ScalarBounds
    delta: float
    number: int


class _Taken(Link):
    """So many readings have been taken."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        # The last one alone: those before it are of no use, and a chain is pickled by recursion.
        return _Taken, (self.last().number,)


@public
@known_elsewhere
class PrivacyOdometer:
    """Readings of what is spent that hold together, wherever one stops.

    Parameters
    ----------
    accountant : Accountant
        What has run.
    delta : float
        For all readings together, a probability in [0, 1].
    readings : int, optional
        How many will be taken at most, >= 1: each takes ``delta / readings``. Left out, there may
        be any number, and the j-th takes ``delta / (j (j + 1))``.
    taken : int, default 0
        How many have been taken already, where a run is restored.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind or out of its range.

    Notes
    -----
    A bound of epsilon at delta holds for a time that is fixed in advance. Who looks at the spent
    budget and at outputs, and stops when they please, chooses the time by what they see. Let P and
    Q be the distributions of all that is put out until then, on two neighbouring data sets, and let
    the j-th reading have (e_j, d_j). For every set S of outcomes, since the part of S in which one
    stops at j can be told from what had run by then,

        Q(S) = sum_j Q(S, stop at j) <= sum_j e^(e_j) P(S, stop at j) + d_j,

    and the d_j sum to at most delta. In particular the whole is (e, delta)-DP where one never stops
    at a reading above e. The mechanisms themselves must not depend on outputs, as in a
    `PrivacyFilter` that is not adaptive, nor may the times at which readings are taken.

    Examples
    --------
    >>> import prvcore as prv
    >>> accountant = prv.Accountant()
    >>> odometer = prv.PrivacyOdometer(accountant, delta=1e-5, readings=10)
    >>> for epoch in range(3):
    ...     accountant.step(noise_multiplier=1.1, sampling_probability=1e-2, count=100)
    ...     reading = odometer.read()
    >>> reading.number
    3

    """

    __slots__ = ("_accountant", "_delta", "_last", "_readings")

    @hinting
    def __init__(
        self,
        accountant: Accountant,
        delta: float,
        *,
        readings: int | None = None,
        taken: int = 0,
    ) -> None:
        if not isinstance(accountant, Accountant):
            raise TypeError(f"accountant must be an Accountant, got {accountant!r}")
        self._accountant = accountant
        self._delta = _arguments.probability(delta, "delta")
        self._readings = readings
        if readings is not None:
            self._readings = _arguments.integer(readings, "readings", 1, 2**53)
        self._last = _Taken(_arguments.count(taken, "taken"))  # or one before it

    @property
    def accountant(self) -> Accountant:
        """What has run."""
        return self._accountant

    @property
    def delta(self) -> float:
        """For all readings together, a probability."""
        return self._delta

    @property
    def readings(self) -> int | None:
        """How many will be taken at most, None for any number."""
        return self._readings

    @property
    def taken(self) -> int:
        """How many have been taken."""
        return self._newest().number

    def _newest(self) -> _Taken:
        self._last = last = self._last.last()
        return last

    def read(self) -> OdometerReading:
        """Take a reading.

        Returns
        -------
        OdometerReading
            Its epsilon is that of all that has run, at this reading's part of delta.

        Raises
        ------
        ValueError
            As many readings have been taken as were said.

        """
        while True:
            last = self._newest()
            number = last.number + 1
            if self.readings is not None and number > self.readings:
                raise ValueError(
                    f"readings must be at most {self.readings}, and all have been taken"
                )
            parts = number * (number + 1) if self.readings is None else self.readings
            # a quotient rounded up would let the parts exceed the whole
            share = math.nextafter(self.delta / parts, 0.0) if parts > 1 else self.delta
            epsilon = self._accountant.epsilon(share)
            # Another thread may have taken this part meanwhile, and then what was read is not told.
            if last.extend(_Taken(number)):
                return OdometerReading(epsilon, share, number)

    def __repr__(self) -> str:
        return (
            f"PrivacyOdometer({self.accountant!r}, delta={self.delta!r}, "
            f"readings={self.readings!r}, taken={self.taken})"
        )
