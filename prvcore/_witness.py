"""What an answer rests on, as values that JSON can hold and that others can check."""

from __future__ import annotations

import hashlib
import json
from math import isinf
from typing import TYPE_CHECKING, Any

from prvcore._core.status import VERSION
from prvcore.files.mechanisms import mechanism_to_dict

if TYPE_CHECKING:
    from prvcore._core.composition import Composition
    from prvcore._steps import Steps

__all__ = ["witness_of"]

_FORMAT = "prvcore witness 1"

# The verifier sums laws of fewer points than this.
_MOST_POINTS = 2**20

# Lattices that bound from below leave out masses below this, where doubles have fewer bits.
_LEAST_MASS = 2.0**-960

_NORMAL = {"Gaussian", "NoisyCount"}
_DISCRETE = {"ApproximateDP", "DiscreteLaplace", "PureDP", "RandomizedResponse"}
_ALONE = _NORMAL | {
    "ApproximateDP",
    "BoundedRange",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FromTable",
    "GroupPoissonSubsampledGaussian",
    "Laplace",
    "MixtureOfGaussians",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "PureDP",
    "RandomizedResponse",
    "SubsampledWithoutReplacement",
    "TruncatedPoissonSubsampledGaussian",
}
# What the verifier has formulas of, by the place where the mechanism stands.
_COVERED = {
    "alone": _ALONE,
    "on a sample": _ALONE - {"GroupPoissonSubsampledGaussian"},
    "among mechanisms on the same records": _NORMAL | _DISCRETE,
}
_SAMPLED_TABLE = "FromTable on a sample"
_FROM_ABOVE = {"BoundedRange", "SubsampledWithoutReplacement", "TruncatedPoissonSubsampledGaussian"}
_FROM_ABOVE |= {_SAMPLED_TABLE}


def witness_of(
    composition: Composition,
    steps: Steps,
    given: str,
    value: float,
    settings: dict[str, Any],
    how: dict[str, Any],
) -> dict[str, Any]:
    """Return the witness of the bounds at a delta or an epsilon; ValueError if there is none."""
    if settings["discretization"] != "bracketing":
        raise ValueError("a witness has lattices that bracket: discretization must be 'bracketing'")
    steps = tuple((mechanism, count) for mechanism, count in steps if count)
    try:
        plain: list[dict[str, Any]] = [
            {"mechanism": mechanism_to_dict(m), "count": count} for m, count in steps
        ]
    except TypeError as error:  # a function has no parameters that a file can hold
        raise ValueError(f"no witness can be given: {error}") from None
    kinds = {kind for step in plain for kind in _covered_kinds(step["mechanism"])}
    # What no data sets are known to have bounds nothing from below.
    from_above = bool(kinds & _FROM_ABOVE) or not composition.attained(settings["neighbors"])
    sides = ["above"] if from_above else ["above", "below"]
    best: dict[str, dict[str, Any]] = {}
    lower, _, upper = composition.witness(
        given == "delta", value, lambda shown: _keep_best(best, shown), **settings, **how
    )
    if not best:
        raise ValueError(
            f"a witness at {given} = {value!r} would be empty, since the bounds {lower!r} and "
            f"{upper!r} follow without lattices"
        )
    if from_above:
        lower = 0.0
    found = {
        "format": _FORMAT,
        "program": f"prvcore {VERSION}",
        "steps": plain,
        "neighbors": settings["neighbors"],
        "question": {given: _hexadecimal(value)},
        "claim": {"lower": _hexadecimal(lower), "upper": _hexadecimal(upper)},
        "lattices": {
            direction: {side: [_lattice(y, side) for y in kept[side][side]] for side in sides}
            for direction, kept in best.items()
        },
        "passes": {
            direction: {side: _told(kept[side]) for side in sides}
            for direction, kept in best.items()
        },
    }
    return {**found, "checksum": _checksum(found)}


def _checksum(found: dict[str, Any]) -> str:
    """Return what tells files that were damaged: a digest of all else, in one spelling of JSON."""
    text = json.dumps(found, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _keep_best(best: dict[str, dict[str, Any]], shown: dict[str, Any]) -> None:
    """Keep a pass if no other of its direction has a better bound from above, or from below."""
    lower, _, upper = shown["bounds"]
    for direction in ("remove", "add") if shown["symmetric"] else (shown["direction"],):
        kept = best.setdefault(direction, {"above": shown, "below": shown})
        if upper < kept["above"]["bounds"][2]:
            kept["above"] = shown
        if lower > kept["below"]["bounds"][0]:
            kept["below"] = shown


def _lattice(y: dict[str, Any], side: str) -> dict[str, Any]:
    """Return a lattice without points that have no mass."""
    least = _LEAST_MASS if side == "below" else 0.0
    points = [(i, m) for i, m in zip(y["index"], y["mass"], strict=True) if m > least]
    points = points or [(y["index"][0], 0.0)]
    return {
        "offset": _hexadecimal(y["offset"]),
        "spacing": _hexadecimal(y["spacing"]),
        "points": [point for point, _ in points],
        "masses": [_hexadecimal(mass) for _, mass in points],
        "mass_at_infinity": _hexadecimal(y["infinite_mass"]),
        "error_at_infinity": _hexadecimal(y["infinite_error"]),
        "relative_error": _hexadecimal(y["relative"]),
        "shift": _hexadecimal(y["shift"]),
    }


def _told(shown: dict[str, Any]) -> dict[str, Any]:
    """Return how a pass composed its lattices, and the parts of its width."""
    lower, _, upper = shown["bounds"]
    return {
        "lower": _hexadecimal(lower),
        "upper": _hexadecimal(upper),
        "engine": shown["engine"],
        "tilt": _hexadecimal(shown["tilt"]),
        "mesh_size": _hexadecimal(shown["mesh_size"]),
        "transform_length": shown["transform_length"],
        "width": {name: _hexadecimal(part) for name, part in shown["width"].items()},
    }


def _hexadecimal(value: float) -> str:
    return str(value) if isinf(value) else value.hex()


def _covered_kinds(mechanism: dict[str, Any], within: str = "alone") -> set[str]:
    """Return the kinds of a mechanism and its parts.

    ValueError for one that the verifier has no formula of where it stands.
    """
    kind = mechanism["type"]
    if kind not in _COVERED[within]:
        where = "" if within == "alone" else f" {within}"
        raise ValueError(
            f"no witness can be given of {kind}{where}: the verifier does not cover it"
        )
    _require_within(mechanism)
    kinds = {kind}
    if kind in ("PoissonSubsampled", "SubsampledWithoutReplacement"):
        kinds |= _covered_kinds(mechanism["mechanism"], "on a sample")
        if "FromTable" in kinds:  # it does not say which of two data sets has the record
            kinds.add(_SAMPLED_TABLE)
    if kind == "Composed":
        parts = {part["type"] for part, _ in mechanism["mechanisms"]}
        for part, _ in mechanism["mechanisms"]:
            kinds |= _covered_kinds(part, "among mechanisms on the same records")
        if parts & _NORMAL and parts & _DISCRETE:
            raise ValueError(
                "no witness can be given of normal noise and discrete mechanisms on the same "
                "records: the verifier does not cover them together"
            )
    return kinds


def _require_within(mechanism: dict[str, Any]) -> None:
    """Raise ValueError for parameters that the verifier has no formulas for, or too few points."""
    kind, change = mechanism["type"], mechanism.get("sensitivity", 1)
    why = None
    if 0.0 in (mechanism.get("noise_multiplier"), mechanism.get("deviation")):
        why = "without noise"
    if kind == "DiscreteLaplace" and 2 * change >= _MOST_POINTS:
        why = "of so large a sensitivity"
    if kind == "DiscreteGaussian" and 80 * mechanism["scale"] + 4 * change + 4 >= _MOST_POINTS:
        why = "of so large a scale"
    if kind == "TruncatedPoissonSubsampledGaussian":
        is_cut = mechanism["maximum_batch_size"] < mechanism["dataset_size"]
        if is_cut and mechanism["sampling_probability"] in (0.0, 1.0):
            why = "that takes no record or all of them"
    if why is not None:
        raise ValueError(f"no witness can be given of {kind} {why}: the verifier does not cover it")
