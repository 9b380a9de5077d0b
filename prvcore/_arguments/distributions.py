"""Checks of what says a distribution of losses: tables, CDFs and privacy curves.

What is grossly wrong is refused here, with the place; the C core looks closer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prvcore._arguments.arrays import refuse
from prvcore._arguments.types import FloatArray

MAX_COMPONENTS = 2**12  # the core's PRV_MAX_COMPONENTS
_ROUNDING = 2.0**-51  # of a function's values: four units of 2^-53, which the bounds allow for
_GROSS_ERROR = 1e-9  # of probability; what is finer is for the C core to judge
_SAMPLES = 65
FARTHEST_LOSS = 2.0**13  # nats: the core's first look at a function goes no farther


def table(losses: FloatArray, masses: FloatArray, mass_at_infinity: float) -> None:
    """Refuse a table of a privacy loss that is not a probability distribution."""
    if losses.shape != masses.shape:
        raise ValueError(
            "probabilities must have one entry for each of losses, "
            f"got {masses.size} for {losses.size}"
        )
    falls = np.flatnonzero(np.diff(losses) <= 0.0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            "losses must be strictly increasing, "
            f"got {float(losses[i])!r} before {float(losses[i + 1])!r} at index {i + 1}"
        )
    refuse(masses < 0.0, "probabilities", masses, ">= 0")
    total = math.fsum(masses) + mass_at_infinity
    if not abs(total - 1.0) <= 1e-9:
        raise ValueError(
            "probabilities and mass_at_infinity must sum to 1 within 1e-9, "
            f"got probabilities with sum {math.fsum(masses)!r} and "
            f"mass_at_infinity {mass_at_infinity!r}"
        )
    with np.errstate(over="ignore", under="ignore"):
        reverse = float(np.sum(masses[masses > 0.0] * np.exp(-losses[masses > 0.0])) / total)
    if not reverse <= 1.0 + _GROSS_ERROR:
        raise ValueError(
            "the sum of probability * exp(-loss), which is P's mass, must be at most 1, got "
            f"{reverse!r}: losses are log(dQ/dP), and probabilities are Q's"
        )


def components(sensitivities: FloatArray, probabilities: FloatArray) -> None:
    """Refuse what is no distribution of sensitivities."""
    if sensitivities.shape != probabilities.shape:
        raise ValueError(
            "probabilities must have one entry for each of sensitivities, "
            f"got {probabilities.size} for {sensitivities.size}"
        )
    if sensitivities.size > MAX_COMPONENTS:
        raise ValueError(
            f"sensitivities must have at most {MAX_COMPONENTS} entries, got {sensitivities.size}"
        )
    refuse(sensitivities < 0.0, "sensitivities", sensitivities, ">= 0")
    refuse(probabilities < 0.0, "probabilities", probabilities, ">= 0")
    total = math.fsum(probabilities)
    if not abs(total - 1.0) <= 1e-9:
        raise ValueError(f"probabilities must sum to 1 within 1e-9, got a sum of {total!r}")


def missing_mass(
    name: str, point: str, found: float, beyond: float, mass_at_infinity: float
) -> str | None:
    """Say that a function is not near its limit at the farthest loss, None if it is."""
    if abs(beyond - mass_at_infinity) <= _GROSS_ERROR:
        return None
    return (
        f"{name} is {found!r} at {point} {FARTHEST_LOSS!r}, where mass_at_infinity = "
        f"{mass_at_infinity!r} leaves a mass of {beyond - mass_at_infinity:.3g} to finite losses "
        "beyond, which"
    )


def check_cdf(
    name: str, losses: FloatArray, values: FloatArray, mass_at_infinity: float = 0.0
) -> None:
    """Refuse values of a CDF that leave [0, 1] or decrease, both by more than their rounding."""
    _refuse_values(_no_probability(values), name, "in [0, 1]", losses, values)
    _refuse_values(
        values > 1.0 - mass_at_infinity + 2.0 * _ROUNDING,
        name,
        f"of at most 1 - mass_at_infinity, mass_at_infinity = {mass_at_infinity!r}",
        losses,
        values,
    )
    falls = np.flatnonzero(np.diff(values) < -2.0 * _ROUNDING)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"{name} must not decrease, got {float(values[i])!r} at loss {float(losses[i])!r} "
            f"and {float(values[i + 1])!r} at loss {float(losses[i + 1])!r}"
        )


def check_cdf_pair(losses: FloatArray, values_q: FloatArray, values_p: FloatArray) -> None:
    """Refuse two CDFs that grossly miss dP = e^(-loss) dQ; the C core looks closer."""
    pick = _thinned(losses.size)
    x, m, n = losses[pick], np.diff(values_q[pick]), np.diff(values_p[pick])
    bad = _no_pair(x, m, n)
    if bad.size:
        swapped = "" if _no_pair(x, n, m).size else ". Exchanged they would: is cdf_q the first?"
        i = int(bad[0])
        raise ValueError(
            "cdf_q and cdf_p must belong to one pair: cdf_p must rise by between e^-b and e^-a "
            f"times what cdf_q rises from loss a to b, got {float(n[i])!r} against "
            f"{float(m[i])!r} from {float(x[i])!r} to {float(x[i + 1])!r}{swapped}"
        )


def _no_pair(x: FloatArray, m: FloatArray, n: FloatArray) -> NDArray[np.intp]:
    """Return between which losses x rises n of P cannot belong to rises m of Q."""
    with np.errstate(over="ignore", invalid="ignore"):
        least, most = np.exp(-x[1:]) * m, np.exp(-x[:-1]) * m
        slack = _GROSS_ERROR * (1.0 + np.exp(-x[:-1]))
        return np.flatnonzero((n < least - slack) | (n > most + slack))


def check_curve(
    name: str, epsilons: FloatArray, values: FloatArray, mass_at_infinity: float
) -> None:
    """Refuse values of a privacy curve outside [0, 1], increasing, not convex or too low.

    They leave [0, 1] by more than their rounding, and do the rest grossly; the C core looks closer.
    """
    _refuse_values(_no_probability(values), name, "in [0, 1]", epsilons, values, "epsilon")
    pick = _thinned(epsilons.size)
    x, d = epsilons[pick], values[pick]
    rises = np.flatnonzero(np.diff(d) > _GROSS_ERROR)
    if rises.size:
        i = int(rises[0])
        raise ValueError(
            f"{name} must not increase, got {float(d[i])!r} at epsilon {float(x[i])!r} "
            f"and {float(d[i + 1])!r} at epsilon {float(x[i + 1])!r}"
        )
    # the chord over e^epsilon, written with differences so that e^epsilon never overflows
    share = -np.expm1(x[:-2] - x[1:-1]) / -np.expm1(x[:-2] - x[2:]) * np.exp(x[1:-1] - x[2:])
    chord = d[:-2] + share * (d[2:] - d[:-2])
    bad = np.flatnonzero(d[1:-1] > chord + _GROSS_ERROR)
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"{name} must be convex in e^epsilon, got {d[i : i + 3].tolist()!r} "
            f"at the epsilons {x[i : i + 3].tolist()!r}"
        )
    _refuse_values(
        values < mass_at_infinity - 2.0 * _ROUNDING,
        name,
        f"of at least mass_at_infinity = {mass_at_infinity!r}",
        epsilons,
        values,
        "epsilon",
    )
    low = values < -np.expm1(np.minimum(epsilons, 0.0)) - _GROSS_ERROR
    _refuse_values(low, name, "of at least 1 - e^epsilon", epsilons, values, "epsilon")


def _refuse_values(
    bad: NDArray[Any],
    name: str,
    requirement: str,
    at: FloatArray,
    values: FloatArray,
    point: str = "loss",
) -> None:
    found = np.flatnonzero(bad)
    if found.size:
        i = int(found[0])
        raise ValueError(
            f"{name} must return values {requirement}, "
            f"got {float(values[i])!r} at {point} {float(at[i])!r}"
        )


def _no_probability(values: FloatArray) -> NDArray[np.bool_]:
    """Return where values are outside [0, 1] by more than rounding, or nan."""
    return ~((values >= -_ROUNDING) & (values <= 1.0 + _ROUNDING))


def _thinned(length: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, length - 1, min(length, _SAMPLES)).astype(np.intp))
