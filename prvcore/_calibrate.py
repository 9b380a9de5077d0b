"""Choose noise, sampling probability or steps so that a privacy target is met."""

from typing import Any

from prvcore import _arguments
from prvcore._bounds import Bounds
from prvcore._calibration import Calibration
from prvcore._core.composition import Composition
from prvcore._curve import PrivacyCurve
from prvcore._errors import PrecisionError
from prvcore._names import by_name, public
from prvcore._outward import RoundedDown, RoundedUp
from prvcore._progress import ProgressOption, reported
from prvcore._report import OfCurve
from prvcore._scaled_steps import PARAMETERS, Parameter, scaled_steps
from prvcore._settings import ComposeOptions, Engine, Neighbors, memory_limit_of
from prvcore._steps import Counts, Mechanisms, pairs, refuse_mixed_groups
from prvcore._targets import target_of
from prvcore.mechanisms.base import Mechanism

__all__ = ["calibrate"]

_NUDGE, _MOST_NUDGES = 2.0**-48, 64
_LEAST_TOLERANCE, _GREATEST_TOLERANCE, _TOLERANCE = 1e-9, 0.1, 1e-4


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
        delta is below every mass of infinite loss. Also if only a sampling probability of 0 or
        infinite noise meets it, as an advantage of 0, or if rounding hides which others do, as an
        advantage of 1e-12 of sampled noise.
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
    _arguments.choice(parameter, "parameter", tuple(PARAMETERS))
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
    scaled = scaled_steps(mechanisms, counts, parameter)
    start = PrivacyCurve(scaled.steps, neighbors=neighbors, engine=engine)
    before = _before(after, start.neighbors)
    memory_limit = memory_limit_of(memory_limit)
    with reported(progress) as tell:
        search = _together(before, start).calibrate(
            scaled.name,
            len(before.mechanisms),
            quantity=target.quantity,
            at=target.at,
            target=target.value,
            tolerance=tolerance,
            neighbors=start.neighbors,
            engine=start.engine,
            memory_limit=memory_limit,
            all_changed=not before.mechanisms and scaled.changes_all,
            progress=tell,
        )
    factor, eps_error, found = search[:3]
    next_factor, next_eps_error, next_found, monotone, compositions, fine_compositions = search[3:]
    last = next_factor != next_factor
    same = bool(before.mechanisms) or scaled.same_in_core
    if factor == 0.0 and scaled.name == "noise":
        factor = scaled.least_noise()
        same = same and factor == 0.0

    # an advantage is a delta, which is to be as close as the search has found it
    options: ComposeOptions = {"neighbors": neighbors, "engine": engine}
    if target.quantity == "advantage":
        options["delta_relative_error"] = 0.0

    def curve_at(factor: float, eps_error: float) -> PrivacyCurve:
        asked: ComposeOptions = {**options, "eps_error": eps_error}
        return PrivacyCurve([*before._steps, *scaled.at(factor)], **asked)

    curve, bounds = curve_at(factor, eps_error), Bounds(*found)
    next_bounds = None if last else Bounds(*next_found)
    if not same:
        # The core multiplies what it has made of the parameters, which may round otherwise.
        for _ in range(_MOST_NUDGES):
            bounds = target.bounds(curve, memory_limit)
            if target.is_met(bounds):
                break
            factor *= 1.0 + _NUDGE if scaled.name == "noise" else 1.0 - _NUDGE
            curve = curve_at(factor, eps_error)
        else:
            raise PrecisionError(
                f"rounding of {parameter} moves {target} by more than it can be told apart"
            )
        if not last:
            next_bounds = target.bounds(curve_at(next_factor, next_eps_error), memory_limit)
    return Calibration(
        parameter=parameter,
        value=_shown_safely(scaled.value(factor), parameter) if monotone else scaled.value(factor),
        is_factor=scaled.is_factor,
        bounds=bounds._of(OfCurve(target.quantity, target.at, curve)),
        next_value=None if last else scaled.value(next_factor),
        next_bounds=next_bounds,
        mechanisms=scaled.at(factor),
        curve=curve,
        quantity=target.quantity,
        target=target.value,
        at=None if target.quantity == "advantage" else target.at,
        monotone=monotone,
        compositions=compositions,
        fine_compositions=fine_compositions,
    )


def steps_left(
    mechanism: Mechanism,
    *,
    epsilon: float,
    delta: float,
    after: "Mechanisms",
    neighbors: Neighbors = "add-or-remove",
    engine: Engine = "auto",
    progress: "ProgressOption" = False,
    memory_limit: int | None = None,
) -> int | None:
    """Return how many runs a budget allows after others, None where it has been exceeded.

    Arguments are those of `calibrate`, whose number of steps it is but for what bounds as close as
    the tolerance asks leave open.
    """
    target = target_of({"epsilon": epsilon, "delta": delta})
    start = PrivacyCurve([(mechanism, 1)], neighbors=neighbors, engine=engine)
    before = _before(after, start.neighbors)
    _together(before, start)  # refuses what cannot be composed
    memory_limit = memory_limit_of(memory_limit)
    with reported(progress) as tell:
        return before._composition.steps_left(
            mechanism._build(start.neighbors),
            epsilon=target.value,
            delta=target.at,
            tolerance=_TOLERANCE,
            neighbors=start.neighbors,
            engine=start.engine,
            memory_limit=memory_limit,
            progress=tell,
        )


def _together(before: PrivacyCurve, start: PrivacyCurve) -> Composition:
    """Return the composition of what has run before, in its place, and what is to be scaled."""
    if not before.mechanisms:
        return start._composition
    together = [*before._steps, *start._steps]
    refuse_mixed_groups(mechanism for mechanism, count in together if count)
    handles = tuple(mechanism._build(start.neighbors) for mechanism, _ in together)
    return Composition(handles, tuple(count for _, count in together))


def _before(after: Any, neighbors: Neighbors) -> PrivacyCurve:
    """Return the composition of what has run before, for the neighbours that are asked about."""
    if not isinstance(after, PrivacyCurve):
        return PrivacyCurve(pairs(after, None, "after"), neighbors=neighbors)
    if after.neighbors != neighbors:
        raise ValueError(
            f"after must be a curve of the same neighbors, got neighbors={after.neighbors!r} in it "
            f"where {neighbors!r} are asked about"
        )
    return after


def _shown_safely(value: float, parameter: str) -> float:
    """Return a value that is rounded to where its target is met, where it is shown."""
    if isinstance(value, int):
        return value
    return RoundedDown(value) if parameter == "sampling_probability" else RoundedUp(value)
