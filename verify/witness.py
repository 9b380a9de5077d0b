"""A witness as a file has it: JSON, in which doubles are hexadecimal, so that they are exact."""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path

from .refusal import Refused, require

__all__ = ["Lattice", "bound", "checksum", "lattice", "number", "read"]

FORMAT = "prvcore witness 1"
_MOST_POINTS = 1 << 24


@dataclass(frozen=True)
class Lattice:
    """Masses of a step's losses, exact rational numbers, as they are composed.

    The loss of points[i] is offset + spacing * points[i]. The error bounds that the witness states
    are applied: a lattice that should lie above its mechanism has larger masses and losses by them,
    one below has smaller ones. Then one above has more mass than 1. The excess is taken from its
    least losses, which no proof is needed for: what is checked is what this leaves.
    """

    points: list[int]
    masses: list[Fraction]
    infinite: Fraction
    offset: Fraction
    spacing: Fraction

    def losses(self):
        """Return the exact losses."""
        return [self.offset + self.spacing * point for point in self.points]


def number(text, what):
    """Return a double of a witness, which must be finite and have its one spelling.

    Of another spelling, with more digits or a smaller exponent, the number read may be another.
    """
    try:
        value = float.fromhex(text)
    except (OverflowError, TypeError, ValueError):
        value = inf
    is_hexadecimal = isfinite(value) and value.hex() == text
    require(is_hexadecimal, f"{what} is no hexadecimal double: {text!r}")
    return Fraction(value)


def bound(text, what):
    """Return a double of a claim, which may be infinite."""
    return inf if text == "inf" else number(text, what)


def lattice(stated, above):
    """Return a lattice with its stated errors applied."""
    masses = [number(text, "a mass") for text in stated["masses"]]
    points = stated["points"]
    require(all(type(point) is int for point in points), "a lattice point is no integer")
    require(len(points) == len(masses) > 0, "a lattice has not one mass for each point")
    require(all(a < b for a, b in pairwise(points)), "lattice points do not rise")
    require(points[-1] - points[0] < _MOST_POINTS, "a lattice has too many points")
    require(min(masses) >= 0, "a mass is negative")
    error = 1 + number(stated["relative_error"], "a relative error")
    shift = number(stated["shift"], "a shift")
    infinite = number(stated["mass_at_infinity"], "a mass at infinity")
    off = number(stated["error_at_infinity"], "the error of a mass at infinity")
    require(error >= 1 and shift >= 0 and off >= 0 and infinite >= 0, "a stated error is negative")
    offset, spacing = number(stated["offset"], "an offset"), number(stated["spacing"], "a spacing")
    require(spacing > 0, "a spacing is not positive")
    if above:
        infinite = min(infinite + off, Fraction(1))
        masses = [m * error for m in masses]
        excess = sum(masses) + infinite - 1
        require(excess >= 0, "all masses of a lattice above are together less than 1")
        for i, mass in enumerate(masses):
            masses[i] -= min(mass, excess)
            excess -= min(mass, excess)
        return Lattice(points, masses, infinite, offset + shift, spacing)
    infinite = max(infinite - off, Fraction(0))
    return Lattice(points, [m / error for m in masses], infinite, offset - shift, spacing)


def checksum(rest):
    """Return the digest of a witness without its checksum, in one spelling of JSON.

    It tells what was damaged by accident. Whoever changes a witness by intent can compute it anew,
    and the proof alone tells whether what it says is still true.
    """
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(pairs):
    """Return an object of JSON, which must not have a name twice: readers would differ."""
    fields = dict(pairs)
    require(len(fields) == len(pairs), f"a name stands twice in {[name for name, _ in pairs]}")
    return fields


def read(path):
    """Return the witness of a file."""
    try:
        witness = json.loads(Path(path).read_bytes(), object_pairs_hook=_fields)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the file is no JSON: {error}") from None
    require(isinstance(witness, dict), "the file is no witness")
    require(witness.get("format") == FORMAT, f"the format is not {FORMAT!r}")
    return witness
