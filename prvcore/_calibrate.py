"""Choose noise, sampling probability or steps so that a privacy target is met."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from prvcore import _arguments, _pickling
from prvcore._bounds import Bounds, ScalarBounds
from prvcore._core.composition import Composition
from prvcore._curve import PrivacyCurve
from prvcore._errors import PrecisionError
from prvcore._names import by_name, public
from prvcore._outward import DOWN, UP, formatted, rounded
from prvcore._progress import ProgressOption, reported
from prvcore._report import report_of_target
from prvcore._settings import ComposeOptions, Engine, Neighbors, memory_limit_of
from prvcore._steps import Counts, Mechanisms, pairs, refuse_mixed_groups
from prvcore._targets import Target, target_of
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from prvcore.mechanisms.subsampled import (
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
)

__all__ = ["Calibration", "calibrate"]

_Rounded = TypeVar("_Rounded", str, float)
Parameter: TypeAlias = Literal["noise_multiplier", "scale", "sampling_probability", "steps"]
# What the C core calls each.
_PARAMETERS = {
    "noise_multiplier": "noise",
    "scale": "noise",
    "sampling_probability": "sampling_probability",
    "steps": "steps",
}
_MOST_START = 2**17  # as a scale: discrete Gaussian noise of some more has too many values
_LEAST_SCALE = 2.0**-10  # of noise on integers: e^-1024, what falls on others, is no double
_NUDGE, _MOST_NUDGES = 2.0**-48, 64
_LEAST_TOLERANCE, _GREATEST_TOLERANCE = 1e-9, 0.1


@public
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
    has more digits, since more noise may then have a larger epsilon.

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

    def report(self) -> str:
        """Return the sentences for a paper or a data sheet, about `value` and its `bounds`.

        See Also
        --------
        PrivacyCurve.report : the same of a curve.

        """
        return report_of_target(
            self.curve, self.quantity, self.at, self.bounds, self.curve.attained
        )

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


@public
@by_name
def calibrate(
    mechanisms: "Mechanisms",  # in quotes as `help` shows it, which has no use for all that it is
    counts: "Counts" = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    advantage: float | None = None,
    power: float | None = None,
    false_positive_rate: float | None = None,
    bayes_risk: float | None = None,
    prior: float | None = None,
    mu: float | None = None,
    parameter: Parameter = "noise_multiplier",
    tolerance: float = 1e-4,
    neighbors: Neighbors = "add-or-remove",
    engine: Engine = "auto",
    after: "PrivacyCurve | Mechanisms" = (),
    progress: "ProgressOption" = False,
    memory_limit: int | None = None,
) -> Calibration:
    """Find the cheapest value of a parameter at which a composition meets a privacy target.

    Parameters
    ----------
    mechanisms : Mechanism or iterable
        As for `compose`. For a single bare mechanism, `value` is the parameter
        itself, and the search starts at the parameter it has. For an iterable, a schedule, even if
        it has one mechanism only, `value` is one factor for all mechanisms that have the parameter;
        the others stay as they are. For a `Composed`, which has several noises, `value` is one
        factor for all of them. `Calibration.is_factor` tells which.
    counts : int or iterable of int, optional
        As for `compose`. If `parameter` is ``"steps"``, all mechanisms with their counts together
        are one step.
    epsilon, delta : float, optional
        Target: (epsilon, delta)-DP; nats, finite and >= 0, and a probability in [0, 1]. Exactly one
        target is given, of this and the next four.
    advantage : float, optional
        Target: the greatest ``true positive rate - false positive rate`` of a membership test, in
        [0, 1]: `PrivacyCurve.total_variation`.
    power, false_positive_rate : float, optional
        Target: the greatest true positive rate of a test with this false positive rate;
        probabilities, the rate in (0, 1): `PrivacyCurve.power`.
    bayes_risk, prior : float, optional
        Target: the least chance of a wrong guess which of the two data sets was used, if one of
        them had this prior; probabilities, the prior in (0, 1): `PrivacyCurve.bayes_risk`.
    mu : float, optional
        Target, with `delta`: the greatest mu, finite and >= 0, down to the least delta `delta` in
        (0, 1]: `PrivacyCurve.gaussian_mu`.
    parameter : {"noise_multiplier", "scale", "sampling_probability", "steps"}
        The parameter to be chosen: the least noise (the first two are the same, by the names that
        mechanisms use), the greatest sampling probability, or the greatest number of steps.
    tolerance : float, default 1e-4
        Relative distance of `value` and `next_value`, in [1e-9, 0.1]. A number of steps is exact,
        but beyond ``1 / tolerance`` steps the width of the bounds may cost a fraction of them,
        below the tolerance.
    neighbors, engine
        As for `compose`.
    after : PrivacyCurve or iterable, optional
        Mechanisms that have run before and stay as they are, as for `compose`, or a curve
        of the same `neighbors`. The target is for all mechanisms together.
    progress, memory_limit
        As for `PrivacyCurve.epsilon`.

    Returns
    -------
    Calibration
        The value, the bounds of epsilon there, and those at the next value.

    Raises
    ------
    TargetError
        If no value meets the target: mechanisms without the parameter are above it already, or
        delta is below every mass of infinite loss.
    PrecisionError
        If rounding of the parameter moves the quantity across the target.
    TypeError, ValueError
        If not exactly one target is given, if an argument has the wrong type or is out of range, if
        no mechanism has the parameter, or
        if a parameter to be scaled is 0.

    Notes
    -----
    The certified bound on the private side decides, so the value is safe. It is also tight: bounds
    are made so close that at the next value even the other bound misses the target
    (`Calibration.proven`). Privacy grows, by any of these measures, with more noise, a smaller
    sampling probability and fewer steps, since each is post-processing, so no value beyond the next
    need be tried.

    The scale of a `DiscreteGaussian` is an exception: epsilon may rise with it, most below the
    sensitivity, but at any scale. The value is as safe, but a value below `next_value` may meet the
    target too, and nothing is `proven`. The search for a single such mechanism starts at a scale
    that depends on its sensitivity only, so `value` does not depend on its present scale; for a
    schedule it does.

    Examples
    --------
    >>> import prvcore as prv
    >>> step = prv.PoissonSubsampledGaussian(noise_multiplier=1, sampling_probability=0.01)
    >>> found = prv.calibrate(step, 1000, epsilon=8, delta=1e-5)
    >>> found.bounds.upper <= 8 < found.next_bounds.upper
    True
    >>> prv.calibrate(step, epsilon=8, delta=1e-5, parameter="steps").next_bounds.lower > 8
    True
    >>> found = prv.calibrate(step, 1000, power=0.1, false_positive_rate=0.01)
    >>> found.curve.power(0.01).upper <= 0.1
    True

    A list is a schedule, of which a factor is found:

    >>> scaled = prv.calibrate([(step, 1000)], epsilon=8, delta=1e-5)
    >>> found.is_factor, scaled.is_factor
    (False, True)

    """
    name = _PARAMETERS[_arguments.choice(parameter, "parameter", tuple(_PARAMETERS))]
    target = target_of(
        {
            "epsilon": epsilon,
            "delta": delta,
            "advantage": advantage,
            "power": power,
            "false_positive_rate": false_positive_rate,
            "bayes_risk": bayes_risk,
            "prior": prior,
            "mu": mu,
        }
    )
    tolerance = _arguments.real(
        tolerance,
        "tolerance",
        f"in [{_LEAST_TOLERANCE:g}, {_GREATEST_TOLERANCE:g}]",
        lambda x: _LEAST_TOLERANCE <= x <= _GREATEST_TOLERANCE,
    )
    alone = isinstance(mechanisms, Mechanism)
    steps = pairs(mechanisms, counts)
    if name == "steps":
        if not any(count for _, count in steps):
            raise ValueError("counts must not be 0 throughout where parameter is 'steps'")
    else:
        steps = [(_started(mechanism, name, parameter, alone), n) for mechanism, n in steps]
        if alone and name == "noise":
            steps = [(_restarted(mechanism), n) for mechanism, n in steps]
        if all(mechanism._parameter(name) is None or not count for mechanism, count in steps):
            raise ValueError(f"no mechanism that runs has a {parameter}, got {mechanisms!r}")

    start = PrivacyCurve(steps, neighbors=neighbors, engine=engine)
    before = _before(after, start.neighbors)
    composition = start._composition
    if before.mechanisms:
        together = [*before._steps, *start._steps]
        refuse_mixed_groups(mechanism for mechanism, count in together if count)
        handles = tuple(mechanism._build(start.neighbors) for mechanism, _ in together)
        composition = Composition(handles, tuple(count for _, count in together))
    memory_limit = memory_limit_of(memory_limit)
    with reported(progress) as tell:
        (
            factor,
            eps_error,
            found,
            next_factor,
            next_eps_error,
            next_found,
            monotone,
            compositions,
            fine,
        ) = composition.calibrate(
            name,
            len(before.mechanisms),
            quantity=target.quantity,
            at=target.at,
            target=target.value,
            tolerance=tolerance,
            neighbors=start.neighbors,
            engine=start.engine,
            memory_limit=memory_limit,
            progress=tell,
        )
    last = next_factor != next_factor
    same = before.mechanisms or _same_in_core(steps, name)
    if factor == 0.0 and name == "noise":
        factor = _least_noise([mechanism for mechanism, _ in steps])
        same = same and factor == 0.0

    # an advantage is a delta, which is to be as close as the search has found it
    options: ComposeOptions = {"neighbors": neighbors, "engine": engine}
    if target.quantity == "advantage":
        options["delta_relative_error"] = 0.0

    def curve_at(factor: float, eps_error: float) -> PrivacyCurve:
        asked: ComposeOptions = {**options, "eps_error": eps_error}
        return PrivacyCurve([*before._steps, *_all_scaled(steps, name, factor)], **asked)

    scaled_together = not alone or (name == "noise" and steps[0][0]._scales_together())
    is_factor = scaled_together and name != "steps"

    def value_of(factor: float) -> float | int:
        if name == "steps":
            return int(factor)
        if is_factor:
            return factor
        value = _scaled(*steps[0], name, factor)[0]._parameter(name)
        assert value is not None  # refused above
        return value

    curve = curve_at(factor, eps_error)
    bounds = Bounds(*found)
    next_bounds = None if last else Bounds(*next_found)
    if not same:
        # The core multiplies what it has made of the parameters, which may round otherwise.
        for _ in range(_MOST_NUDGES):
            bounds = target.bounds(curve, memory_limit)
            if target.is_met(bounds):
                break
            factor *= 1.0 + _NUDGE if name == "noise" else 1.0 - _NUDGE
            curve = curve_at(factor, eps_error)
        else:
            raise PrecisionError(
                f"rounding of {parameter} moves {target} by more than it can be told apart"
            )
        if not last:
            following = curve_at(next_factor, next_eps_error)
            next_bounds = target.bounds(following, memory_limit)
    return Calibration(
        parameter=parameter,
        value=value_of(factor),
        is_factor=is_factor,
        bounds=bounds,
        next_value=None if last else value_of(next_factor),
        next_bounds=next_bounds,
        mechanisms=_all_scaled(steps, name, factor),
        curve=curve,
        quantity=target.quantity,
        target=target.value,
        at=None if target.quantity == "advantage" else target.at,
        monotone=monotone,
        compositions=compositions,
        fine_compositions=fine,
    )


def _before(after: Any, neighbors: Neighbors) -> PrivacyCurve:
    """Return the composition of what has run before, for the neighbours that are asked about."""
    if not isinstance(after, PrivacyCurve):
        return PrivacyCurve(pairs(after, None), neighbors=neighbors)
    if after.neighbors != neighbors:
        raise ValueError(
            f"after must be a curve of the same neighbors, got neighbors={after.neighbors!r} in it "
            f"where {neighbors!r} are asked about"
        )
    return after


def _least_noise(mechanisms: list[Mechanism]) -> float:
    """Return a factor that leaves no noise, or hardly any where a mechanism must have some."""
    scales = []
    for mechanism in mechanisms:
        scale = mechanism._parameter("noise")
        if scale is not None:
            try:
                mechanism._with("noise", 0.0)
            except ValueError:
                scales.append(scale)
    return _LEAST_SCALE / max(scales) if scales else 0.0


def _same_in_core(steps: list[tuple[Mechanism, int]], name: str) -> bool:
    """Return whether what the core makes of a factor has the bits of what is made here.

    A number of steps changes no mechanism; one mechanism with one number of noise is made of the
    product in either place. Several may come in another order, or become equal.
    """
    if name == "steps":
        return True
    if len(steps) > 1:
        return False
    mechanism = steps[0][0]
    while isinstance(mechanism, PoissonSubsampled | SubsampledWithoutReplacement):
        mechanism = mechanism.mechanism
    return isinstance(
        mechanism,
        Gaussian | PoissonSubsampledGaussian | Laplace | DiscreteGaussian | DiscreteLaplace,
    )


def _all_scaled(
    steps: list[tuple[Mechanism, int]], name: str, factor: float
) -> tuple[tuple[Mechanism, int], ...]:
    return tuple(_scaled(mechanism, count, name, factor) for mechanism, count in steps)


def _started(mechanism: Mechanism, name: str, parameter: str, alone: bool) -> Mechanism:
    """Return the mechanism with a parameter that can be multiplied, if it has it."""
    base = mechanism.mechanism if isinstance(mechanism, PoissonSubsampled) else None
    if name == "sampling_probability" and base is not None and base._parameter(name) is not None:
        raise ValueError(
            f"{mechanism!r} is sampled more than once: no one sampling_probability is meant"
        )
    if mechanism._parameter(name) != 0.0:
        return mechanism
    if not alone:
        raise ValueError(
            f"{parameter} must be > 0 in each mechanism of a schedule, got {mechanism!r}: "
            "no factor changes it"
        )
    return mechanism._with(name, 1.0)


def _restarted(mechanism: Mechanism) -> Mechanism:
    """Return discrete Gaussian noise, sampled or not, of a scale that its own has no part in."""
    base = mechanism
    while isinstance(base, PoissonSubsampled | SubsampledWithoutReplacement):
        base = base.mechanism
    if not isinstance(base, DiscreteGaussian):
        return mechanism
    return mechanism._with("noise", float(min(base.sensitivity, _MOST_START)))


def _scaled(mechanism: Mechanism, count: int, name: str, factor: float) -> tuple[Mechanism, int]:
    if name == "steps":
        return mechanism, count * int(factor)
    value = mechanism._parameter(name)
    if value is None:
        return mechanism, count
    value *= factor
    if name == "sampling_probability":
        value = min(value, 1.0)  # 1 / probability times probability is 1
    return mechanism._with(name, value), count
