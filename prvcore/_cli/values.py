"""Values of options: what the text of an argument says."""

from __future__ import annotations

import argparse
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from prvcore.dpsgd.samplers import other_batches

_MOST_WHOLE_DIGITS = 30  # 1e999999 is no number to write out


def number(text: str) -> float:
    """Return a number, or the quotient of two: 256/60000."""
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be a number, or a quotient such as 256/60000, got {text!r}{_of_percent(text)}"
        ) from None


def _of_percent(text: str) -> str:
    """Say how a share that is told in percent is written."""
    try:
        return f": write {Decimal(text.removesuffix('%')) / 100:f}" if text.endswith("%") else ""
    except InvalidOperation:
        return ""


def whole_number(text: str) -> int:
    """Return a whole number: 1000000, or 1e6."""
    try:
        value = Decimal(text)
        is_short = value.is_finite() and value.adjusted() < _MOST_WHOLE_DIGITS
        if is_short and value == value.to_integral_value():
            return int(value)
    except InvalidOperation:
        pass
    raise argparse.ArgumentTypeError(f"must be a whole number such as 1000 or 1e6, got {text!r}")


def unshuffled(text: str) -> str:
    """Return the name of a sampler or loader; a shuffle is none of those that have bounds."""
    told = other_batches(text, "prvcore shuffled")
    if told is not None:
        raise argparse.ArgumentTypeError(f"must not be {text!r}: {told}")
    return text


def number_of_bytes(text: str) -> int:
    """Return a number of bytes, of which there may be 1GB (1e9) or 1GiB (2^30)."""
    found = re.fullmatch(r"([0-9.eE+]+?)\s*(?:([kKMGT])(i?)B)?", text)
    if found is not None:
        digits, prefix, binary = found.groups()
        power = "KMGT".index(prefix.upper()) + 1 if prefix else 0
        try:
            return int(Decimal(digits) * (1024 if binary else 1000) ** power)
        except (InvalidOperation, ValueError, OverflowError):
            pass
    raise argparse.ArgumentTypeError(
        f"must be a number of bytes such as 500000000, 500MB or 2GiB, got {text!r}"
    )
