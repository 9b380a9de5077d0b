"""What a search for a parameter has found: the value, and the bounds that prove it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from prvcore import _pickling
from prvcore._bounds import ScalarBounds
from prvcore._curve import PrivacyCurve
from prvcore._names import known_elsewhere, public
from prvcore._outward import DOWN, UP, formatted, rounded
from prvcore._report import OfCurve
from prvcore._targets import Target
from prvcore.mechanisms.base import Mechanism

__all__ = ["Calibration"]

_Rounded = TypeVar("_Rounded", str, float)


@public
@known_elsewhere
@dataclass(frozen=True, slots=True)
class Calibration(_pickling.Pickled):
    """The cheapest value of a parameter that meets a target, and the proof that it is.

    Attributes
    ----------
    parameter : str
        As given to `calibrate`.
    value : float or int
        The least noise, the greatest sampling probability, or the most steps. For a schedule, also
        one of a single mechanism, it is the factor by which all its noises or probabilities are
        multiplied (`is_factor`), or the number of times that the whole schedule is repeated;
        `mechanisms` has the parameters themselves. If the target is met without noise, it is 0, or,
        for noise that must be > 0, a value without any effect.
    is_factor : bool
        Whether `value` and `next_value` multiply the parameters of the mechanisms that were given,
        instead of being the parameter itself or a number of steps.
    bounds : Bounds
        Bounds of `quantity` with this value, all of which meet the target: ``bounds.upper <=
        target``, or for a Bayes risk ``bounds.lower >= target``.
    next_value : float, int or None
        The next cheaper value: by the tolerance, or one step more. None if there is no cheaper
        value: if the target is met without noise, with sampling probability 1, or with the greatest
        number of steps.
    next_bounds : Bounds or None
        The same with the next value, not all of which meet the target.
    mechanisms : tuple of (Mechanism, int)
        The mechanisms given, with the value; `compose` takes them.
    curve : PrivacyCurve
        The composition of these mechanisms, and of those that have run before.
        Its bounds of `quantity` equal `bounds`, to the bit if no mechanisms have run before.
    quantity : {"epsilon", "advantage", "power", "bayes_risk", "gaussian_mu"}
        What the target is about: ``curve.epsilon(at)``, ``curve.total_variation()``,
        ``curve.power(at)``, ``curve.bayes_risk(at)`` or ``curve.gaussian_mu(at)``.
    target : float
        The greatest value of `quantity` that meets the target; of a Bayes risk, the least.
    at : float or None
        The delta, false positive rate, prior or least delta of the target; an advantage has none.
    monotone : bool
        Whether privacy is known to fall from `value` to all cheaper values, so that none of them
        need be tried. It is False if the scale of a `DiscreteGaussian` was chosen.
    compositions : int
        Number of compositions that were bounded.
    fine_compositions : int
        Number of these whose bounds are as close as the tolerance asks; the others were coarse.

    Notes
    -----
    ``f"{found:.3f}"`` and ``round(found, 3)`` are `value`, rounded to where the target is met:
    noise up, a sampling probability down. They raise ValueError if `monotone` is False and `value`
    has more digits, since more noise may then have a larger epsilon. If it is True,
    ``f"{found.value:.3f}"`` and ``round(found.value, 3)`` are the same.

    """

    parameter: str
    value: float | int
    is_factor: bool
    bounds: ScalarBounds
    next_value: float | int | None
    next_bounds: ScalarBounds | None
    mechanisms: tuple[tuple[Mechanism, int], ...]
    curve: PrivacyCurve
    quantity: str
    target: float
    at: float | None
    monotone: bool
    compositions: int
    fine_compositions: int

    @property
    def proven(self) -> bool:
        """Whether no cheaper value meets the target, by any way of accounting.

        It is True if there is no next value, or if privacy is `monotone` and no value between the
        bounds at the next value meets the target: the lower one (of a Bayes risk the upper one)
        belongs to data sets that exist. Rounding, more steps
        than 1 / tolerance, or a dominating pair that no known data sets have
        (`PrivacyCurve.attained`) may leave only the other bound beyond the target.
        """
        if self.next_bounds is None:
            return True
        return self.monotone and self._aim.is_missed(self.next_bounds)

    def report(self, digits: int = 4) -> str:
        """Return the sentences for a paper or a data sheet, about `value` and its `bounds`.

        Parameters
        ----------
        digits : int, default 4
            How many significant digits the bounds have, in [1, 17].

        See Also
        --------
        PrivacyCurve.report : the same of a curve.

        """
        origin = OfCurve(self.quantity, self._aim.at, self.curve)
        return origin.report(self.bounds.lower, self.bounds.upper, digits)

    @property
    def epsilon(self) -> float | None:
        """The target, nats; None if the target is no epsilon."""
        return self.target if self.quantity == "epsilon" else None

    @property
    def delta(self) -> float | None:
        """The delta of a target epsilon or mu; None for other targets."""
        return self.at if self.quantity in ("epsilon", "gaussian_mu") else None

    @property
    def _aim(self) -> Target:
        return Target(self.quantity, 0.0 if self.at is None else self.at, self.target)

    def __format__(self, specification: str) -> str:
        """Return `value` in the format that floats take, rounded to where the target is met."""
        if not specification:
            return str(self)
        if isinstance(self.value, int):
            return format(self.value, specification)
        return self._safe(partial(formatted, self.value, specification))

    def __round__(self, decimals: int = 0) -> float | int:
        """Return `value` with so many decimals, rounded to where the target is met."""
        if isinstance(self.value, int):
            return self.value
        found: float = self._safe(partial(rounded, self.value, decimals))
        return found

    def _safe(self, round_to: Callable[[str], _Rounded]) -> _Rounded:
        """Return `value` rounded to more noise or a smaller probability, where epsilon is less."""
        down, up = round_to(DOWN), round_to(UP)
        if down != up and not self.monotone:
            raise ValueError(
                f"{self.parameter} {self.value!r} must not be rounded: epsilon is not known to be "
                "less at more noise"
            )
        return down if self.parameter == "sampling_probability" else up
